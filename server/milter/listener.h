/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds to libmilter what it lacks: counts connections, keeps mails from waiting for each other, and
 * stops without interrupting a check. Any thread may call the counters, only the main thread the
 * other functions.
 */
#ifndef NB_MILTER_LISTENER_H
#define NB_MILTER_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_listener_settings {
    const char *socket; /* where libmilter listens (milter_socket.h); borrowed until the end */
    size_t connections; /* most connections served at the same time */
};

/* Serves in the calling thread until the process gets SIGTERM, which must be blocked in all
 * threads: libmilter waits for it. nb_milter_register and nb_milter_socket_open come before.
 * Returns 0 or NB_IO. */
int nb_listener_run(const struct nb_listener_settings *settings, struct nb_error *error);

/* To be called afterwards: waits at most `patience` seconds for the mails that are being checked.
 * Returns whether all connections have ended; if not, threads of libmilter still run. */
bool nb_listener_finish(uint64_t patience);

/* Counts a connection that begins. Returns false when there are too many: then it must not be
 * served. */
bool nb_listener_admit(void);

/* Counts a connection that ends. */
void nb_listener_leave(void);

/* Counts the check of a mail: 1 when it begins, -1 when it ends. */
void nb_listener_count_checks(int change);

#endif
