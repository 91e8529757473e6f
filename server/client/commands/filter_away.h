/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers between runs of bayesc filter that the daemon hangs, so that not every mail waits for
 * it. It is the circuit breaker of server/http/call/call.h with its state in a file.
 *
 * The file is in a folder of the user's own: $XDG_RUNTIME_DIR, /run/user/UID, or bayesc-UID in
 * $TMPDIR or /tmp. A folder is not used if it belongs to another user, is writable by others, or is
 * a symbolic link; without a folder the daemon is always asked. The modification time of the file
 * is that of the last request that failed slowly; the process that holds a lock on the file makes
 * the probe. One thread.
 */
#ifndef NB_SERVER_CLIENT_COMMANDS_FILTER_AWAY_H
#define NB_SERVER_CLIENT_COMMANDS_FILTER_AWAY_H

#include <stdbool.h>
#include <stdint.h>

struct nb_away {
    uint64_t pause; /* seconds; 0: nothing is remembered */
    /* Private to the functions below. */
    int folder, file; /* descriptors; -1: none. `file` is open for the probe only */
    char name[40];
};

/* Returns whether the daemon at `url` may be asked. nb_away_end must follow in any case. */
bool nb_away_begin(struct nb_away *away, const char *url, uint64_t pause);

/* Reports that a request that took `ns` has ended, with a reply or without one. `has_asked` is
 * false if no request was made. */
void nb_away_end(struct nb_away *away, bool has_asked, bool has_reply, uint64_t ns);

#endif
