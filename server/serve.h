/* SPDX-License-Identifier: Apache-2.0
 *
 * All that serves on the one port, in the order in which it starts and stops. Main thread.
 */
#ifndef NB_SERVER_SERVE_H
#define NB_SERVER_SERVE_H

#include "core/base/error.h"
#include "server/net/listen.h"

struct nb_server;
struct nb_serving;

/* Begins to serve on listening sockets (see listen.h), which it takes over; -1 stands for none.
 * `server` is borrowed until nb_serve_stop. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_serve_start(struct nb_server *server, const int sockets[NB_LISTEN_SOCKETS],
                   struct nb_serving **serving, struct nb_error *error);

/* Accepts no more connections; refuses requests on those that are open; waits for running requests,
 * as long as the configuration's stop_seconds; breaks off those that are left; ends the threads.
 * The engine must be open until this has returned. */
void nb_serve_stop(struct nb_serving **serving);

#endif
