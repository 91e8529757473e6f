/* SPDX-License-Identifier: Apache-2.0
 *
 * The two protocols of systemd that a daemon speaks: the state of the service, and entries of the
 * journal. Both are datagrams to a Unix socket, so no library is needed. Without systemd nothing
 * happens.
 */
#ifndef NB_SERVER_BASE_SYSTEMD_H
#define NB_SERVER_BASE_SYSTEMD_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* Reports a state of the service such as "READY=1" on the socket in NOTIFY_SOCKET (sd_notify(3));
 * without that variable it does nothing. Main thread. A service manager that does not listen is not
 * an error. */
void nb_notify(const char *state);

/* Opens the journal if standard error is the journal's stream. Returns whether it is. Call it once,
 * before other threads start. */
bool nb_journal_open(void);

/* Appends a field of an entry: `name` is of [A-Z_], the value any bytes. 0 or NB_NO_MEMORY. */
int nb_journal_field(struct nb_buffer *entry, const char *name, struct nb_string value);

/* Sends an entry's fields. 0, or NB_IO when there is no journal or it refuses the entry. Any
 * thread. */
int nb_journal_send(const struct nb_buffer *entry);

#endif
