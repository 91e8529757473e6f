/* SPDX-License-Identifier: Apache-2.0
 *
 * Remembers from one bayesc filter to the next that the daemon hangs, so that not each mail waits
 * for it: the circuit breaker of server/call/breaker.h, with a file for its state.
 *
 * The file is in a folder of the user's own: $XDG_RUNTIME_DIR, /run/user/UID, or bayesc-UID in
 * $TMPDIR or /tmp. A folder that belongs to somebody else, that others may write to, or that is a
 * symbolic link is not used, and without a folder the daemon is always asked. The time of the file
 * is that of the last request that failed slowly; a lock on it is the probe. One thread.
 */
#ifndef NB_CLIENT_AWAY_H
#define NB_CLIENT_AWAY_H

#include <stdbool.h>
#include <stdint.h>

struct nb_away {
    uint64_t pause; /* seconds; 0: nothing is remembered */
    /* Private to the functions below. */
    int folder, file; /* descriptors; -1: none. `file` is open for the probe only */
    char name[40];
};

/* Whether the daemon at `url` may be asked. nb_away_end must follow in any case. */
bool nb_away_begin(struct nb_away *away, const char *url, uint64_t pause);

/* A request that took `ns` has ended, with a reply or without one; or there was none: `has_asked`
 * is false. */
void nb_away_end(struct nb_away *away, bool has_asked, bool has_reply, uint64_t ns);

#endif
