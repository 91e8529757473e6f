/* SPDX-License-Identifier: Apache-2.0
 *
 * What libmicrohttpd 0.9.75 answers by itself (a malformed head or chunk, a head that is too long)
 * is HTML, after a wrong length its head is sent twice, and after too many parameters of a query
 * nothing is sent. It has no callback for these replies, but it queues them with its own public
 * function, MHD_queue_response, through the dynamic linker. So library.c defines this function:
 * what calls it by this name is the library.
 *
 * A library that calls its own functions directly sends its own replies as before: one that is
 * linked statically, or that is built so. tests/api/test_refusals.py shows it. Requests that are
 * well formed are answered the same.
 */
#ifndef NB_SERVER_HTTP_LIBRARY_H
#define NB_SERVER_HTTP_LIBRARY_H

#include <microhttpd.h>
#include <stddef.h>

#include "core/base/error.h"

/* Problems (RFC 9457) that are written to a socket as they are, because no request has come to a
 * route yet. Any thread. */
enum { NB_REFUSAL_BYTES = 1024 };

/* Writes it to a socket without TLS, and that nothing follows; never waits. A client that does not
 * take it has gone. Returns its length. */
size_t nb_refusal_send(int file, unsigned status, const char *detail);

/* Finds the library's functions. Main thread, before the library is used. Returns 0 or NB_IO. */
int nb_library_find(struct nb_error *error);

/* Answers with a problem in place of the library, and lingers: what the library still sends fails,
 * and it closes the connection. `status` is the one that it chose. On the connection's thread. */
void nb_library_refuse(struct MHD_Connection *connection, unsigned status);

/* The library's MHD_queue_response, for replies of ours; found by nb_library_find. */
typedef enum MHD_Result nb_library_queue_response(struct MHD_Connection *connection,
                                                  unsigned status, struct MHD_Response *response);
extern nb_library_queue_response *nb_library_queue;

#endif
