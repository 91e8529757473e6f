/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP server: libmicrohttpd and nothing else of it is seen outside of http.c. Started and
 * stopped by the main thread; requests are worked on by a pool of threads.
 */
#ifndef NB_SERVER_HTTP_H
#define NB_SERVER_HTTP_H

#include "core/base/error.h"
#include "server/server.h"

struct nb_http;

/* Begins to serve on a listening socket (see listen.h), which it takes over. `server` is borrowed
 * until nb_http_stop. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_http_start(struct nb_server *server, int socket, struct nb_http **http,
                  struct nb_error *error);

/* Accepts no more connections; answers 503 on those that are open; waits for running requests, as
 * long as the configuration's stop_seconds; breaks off those that are left; ends the threads. The
 * engine must be open until this has returned. */
void nb_http_stop(struct nb_http **http);

#endif
