/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon itself: opens the engine, serves until a signal comes, and closes all in the opposite
 * order. Main thread.
 */
#ifndef NB_SERVER_DAEMON_H
#define NB_SERVER_DAEMON_H

#include "core/base/error.h"

struct nb_config;
struct nb_options;

enum { NB_DAEMON_ANEW = 1 }; /* the program is to begin anew, with the store of another node */

/* Serves with `config`, whose strings it takes over, and with `options`, which SIGHUP has read
 * again. Returns 0 after SIGTERM or SIGINT, NB_DAEMON_ANEW, or the code of what failed. */
int nb_daemon_run(const struct nb_options *options, struct nb_config *config,
                  struct nb_error *error);

#endif
