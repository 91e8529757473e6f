/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that speak a line protocol (line_routes.h): each carries one request and one reply
 * and is then closed. One thread reads and writes all of them: it calls nb_line_client_go when a
 * socket is ready, which never waits. A pool of threads works on complete requests. So a slow
 * client costs a descriptor and the bytes that it has sent, never a thread.
 */
#ifndef NB_SERVER_MAIL_LINE_H
#define NB_SERVER_MAIL_LINE_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_server;
struct sockaddr;

struct nb_line_client; /* a connection */
struct nb_lines;       /* the state that all connections share */

/* Starts `threads` threads. `wake` is a bell, which rings when nb_lines_finished has a
 * connection to return. `server` is borrowed until nb_lines_stop. Returns 0, NB_NO_MEMORY or
 * NB_IO. */
int nb_lines_start(struct nb_server *server, unsigned threads, int wake, struct nb_lines **lines,
                   struct nb_error *error);

/* Ends the threads; *lines may be NULL. No request may be suspended. Connections that were at work
 * can be freed afterwards. */
void nb_lines_stop(struct nb_lines **lines);

/* Makes a connection whose first bytes, `first`, nb_line_sniff has found to be NB_SNIFF_LINE. The
 * bytes are still in the socket `file`, which is borrowed, as is the client's address.
 * nb_lines_finished returns `owner`. Returns NULL without memory. */
struct nb_line_client *nb_line_client_new(struct nb_lines *lines, int file,
                                          const struct sockaddr *address, struct nb_string first,
                                          void *owner);

/* Frees a connection that is not at work. A request that was not answered counts as one whose
 * client has gone. */
void nb_line_client_free(struct nb_line_client **line);

/* Returns the number of bytes of the request that have arrived. */
size_t nb_line_client_received(const struct nb_line_client *line);

enum nb_line_next {
    NB_LINE_READ,  /* go on when there is something to read */
    NB_LINE_WRITE, /* go on when there is room to write */
    NB_LINE_WORK,  /* it is at work: do not touch it until nb_lines_finished returns it */
    NB_LINE_OVER,  /* free it and close the socket */
    NB_LINE_LINGER /* the same, but the client may still be sending (http/net/connections.h) */
};

/* Reads or writes as much as it can without waiting. */
enum nb_line_next nb_line_client_go(struct nb_line_client *line);

/* Returns the owner of a connection that has finished its work and wants to go on; NULL when there
 * is no other. */
void *nb_lines_finished(struct nb_lines *lines);

#endif
