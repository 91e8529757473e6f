/* SPDX-License-Identifier: Apache-2.0
 *
 * libmilter: its socket, its threads, its stop. Mail servers reach it through the relay only. Any
 * thread may call the counters, only the main thread the other functions.
 */
#ifndef NB_MILTER_LISTENER_H
#define NB_MILTER_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* Opens libmilter's socket at `path`, borrowed until the program ends; call nb_milter_register
 * before. Returns 0 or NB_IO. */
int nb_milter_open(const char *path, struct nb_error *error);

/* Starts threads that serve until nb_milter_stop; call nb_milter_signals_block before. When
 * libmilter ends by itself, SIGTERM is sent to the calling thread. Returns 0 or NB_IO. */
int nb_milter_start(struct nb_error *error);

/* Makes libmilter accept no more connections and waits for the mails that are being checked, at
 * most for so many seconds. Returns whether all connections have ended; if not, their threads still
 * run. */
bool nb_milter_stop(uint64_t patience);

/* Count a connection, or the check of a mail: 1 when it begins, -1 when it ends. */
void nb_milter_count_sessions(int change);
void nb_milter_count_checks(int change);

#endif
