/* SPDX-License-Identifier: Apache-2.0
 *
 * The mail filter itself: libmilter's callbacks, which gather a mail, ask about it, and carry out
 * the verdict. The only file that knows libmilter. libmilter runs a thread for each connection;
 * these functions are for the main thread.
 */
#ifndef NB_MILTER_FILTER_H
#define NB_MILTER_FILTER_H

#include "server/milter/ask.h"
#include "server/milter/options.h"

/* Opens the socket: a mail server may connect from now on, and waits for nb_milter_start. Both
 * arguments are borrowed until the program ends. NB_NO_MEMORY, NB_IO. */
int nb_milter_open(const struct nb_milter_options *options, struct nb_ask *ask,
                   struct nb_error *error);

/* Serves in threads of its own until nb_milter_stop, or a signal that libmilter itself takes: then
 * SIGTERM is sent to the calling thread. It and SIGINT and SIGHUP are blocked in all threads.
 * NB_IO. */
int nb_milter_start(struct nb_error *error);

/* Removes the socket if it is a file: for a program that cannot go on after nb_milter_open. */
void nb_milter_remove_socket(const struct nb_milter_options *options);

/* Takes no more connections, removes the socket, and waits for the mails that are being checked, no
 * longer than their time-out. Returns whether all connections have ended: if not, their threads
 * still run. */
bool nb_milter_stop(void);

#endif
