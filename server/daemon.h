/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon itself: opens the engine, starts to serve, waits for a signal, and then stops and
 * closes everything in the opposite order. Main thread.
 */
#ifndef NB_SERVER_DAEMON_H
#define NB_SERVER_DAEMON_H

#include "core/base/error.h"
#include "server/base/listen.h"

struct nb_config;
struct nb_options;
struct nb_server;
struct nb_serving;

/* Begins to serve on listening sockets (see listen.h), which it takes over; -1 stands for none.
 * `server` is borrowed until nb_serve_stop. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_serve_start(struct nb_server *server, const int sockets[NB_LISTEN_SOCKETS],
                   struct nb_serving **serving, struct nb_error *error);

/* Stops accepting connections, refuses requests on open ones, waits stop_seconds for running
 * requests, breaks off the others, and ends the threads. The engine must be open until this has
 * returned. */
void nb_serve_stop(struct nb_serving **serving);

enum { NB_DAEMON_ANEW = 1 }; /* the program must start again, with the store of another node */

/* Serves with `config`, whose strings it takes over. On SIGHUP the sources that `options` names are
 * read again. Returns 0 after SIGTERM or SIGINT, NB_DAEMON_ANEW, or an error code. */
int nb_daemon_run(const struct nb_options *options, struct nb_config *config,
                  struct nb_error *error);

#endif
