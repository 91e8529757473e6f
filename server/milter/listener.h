/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening for mail servers with libmilter: the socket, the threads, the stop. Any thread may call
 * the counters, only the main thread the other functions.
 */
#ifndef NB_MILTER_LISTENER_H
#define NB_MILTER_LISTENER_H

#include <stdbool.h>

#include "core/base/error.h"
#include "server/milter/command_line.h"

/* Opens the socket; call nb_milter_register before. From now on a mail server can connect, and
 * waits until nb_milter_start. The options are borrowed until the program ends. Returns 0,
 * NB_NO_MEMORY or NB_IO. */
int nb_milter_open(const struct nb_milter_options *options, struct nb_error *error);

/* Removes a Unix socket from its folder, for a program that cannot go on after nb_milter_open. */
void nb_milter_remove_socket(const struct nb_milter_options *options);

/* Starts threads that serve until nb_milter_stop. When libmilter ends by itself, SIGTERM is sent to
 * the calling thread. SIGTERM, SIGINT and SIGHUP must be blocked in all threads. Returns 0 or
 * NB_IO. */
int nb_milter_start(struct nb_error *error);

/* Accepts no more connections, removes the socket, and waits for the mails that are being checked,
 * at most for their time-out. Returns whether all connections have ended; if not, their threads
 * still run. */
bool nb_milter_stop(void);

/* Count a connection, or the check of a mail: 1 when it begins, -1 when it ends. */
void nb_milter_count_sessions(int change);
void nb_milter_count_checks(int change);

#endif
