/* SPDX-License-Identifier: Apache-2.0
 *
 * The replies that libmicrohttpd sends by itself (for a malformed head or chunk, or a head that is
 * too long) are HTML; version 0.9.75 sends its head twice after a wrong length, and nothing after
 * too many query parameters. It has no callback for these replies, but it queues them with its own
 * public function, MHD_queue_response, through the dynamic linker (0.9.75 and 1.0.1 as Debian
 * builds them). So library.c defines this function: only the library calls it by this name.
 *
 * A library that calls its own functions directly, because it is linked statically or built that
 * way, sends its own replies as before. tests/api/test_refusals.py shows this. Well-formed requests
 * get the same answers either way.
 */
#ifndef NB_SERVER_HTTP_LIBRARY_H
#define NB_SERVER_HTTP_LIBRARY_H

#include <microhttpd.h>
#include <stddef.h>

#include "core/base/error.h"

/* Problems (RFC 9457) that are written directly to a socket, because the request has not reached a
 * route yet. Any thread. */
enum { NB_REFUSAL_BYTES = 1024 };

/* Writes a problem to a socket without TLS and ends the sending direction; never waits. Ignores a
 * client that cannot take it. Returns the length of the problem. */
size_t nb_refusal_send(int file, unsigned status, const char *detail);

/* Finds the library's functions. Main thread, before the library is used. Returns 0 or NB_IO. */
int nb_library_find(struct nb_error *error);

/* Answers with a problem in place of the library, and lingers: the library's further writes fail,
 * and it closes the connection. `status` is the status that the library chose. On the connection's
 * thread. */
void nb_library_refuse(struct MHD_Connection *connection, unsigned status);

/* The library's own MHD_queue_response, for bayesd's replies; found by nb_library_find. */
typedef enum MHD_Result nb_library_queue_response(struct MHD_Connection *connection,
                                                  unsigned status, struct MHD_Response *response);
extern nb_library_queue_response *nb_library_queue;

#endif
