/* SPDX-License-Identifier: Apache-2.0
 *
 * libmilter's side that faces the system: the socket, the threads, the stop. The counters are for
 * any thread, all else for the main thread.
 */
#ifndef NB_MILTER_LISTENER_H
#define NB_MILTER_LISTENER_H

#include <stdbool.h>

#include "core/base/error.h"
#include "server/milter/command_line.h"

/* Opens the socket, after nb_milter_register: a mail server may connect from now on, and waits for
 * nb_milter_start. The options are borrowed until the program ends. NB_NO_MEMORY, NB_IO. */
int nb_milter_open(const struct nb_milter_options *options, struct nb_error *error);

/* Removes the socket if it is a file: for a program that cannot go on after nb_milter_open. */
void nb_milter_remove_socket(const struct nb_milter_options *options);

/* Serves in threads of its own until nb_milter_stop, or a signal that libmilter itself takes: then
 * SIGTERM is sent to the calling thread. It and SIGINT and SIGHUP are blocked in all threads.
 * NB_IO.
 */
int nb_milter_start(struct nb_error *error);

/* Takes no more connections, removes the socket, and waits for the mails that are being checked, no
 * longer than their time-out. Returns whether all connections have ended: if not, their threads
 * still run. */
bool nb_milter_stop(void);

/* A connection, or a check of a mail, has begun (1) or ended (-1). */
void nb_milter_count_sessions(int change);
void nb_milter_count_checks(int change);

#endif
