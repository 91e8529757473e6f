/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that were answered before the whole request had arrived. Closing such a socket makes
 * the kernel send a reset, which may destroy the reply before the client has read it; so further
 * input is read and dropped for a while (RFC 9112, 9.6). It has one thread; any thread may add
 * connections.
 */
#ifndef NB_SERVER_NET_LINGER_H
#define NB_SERVER_NET_LINGER_H

#include <stddef.h>

#include "server/net/connections.h"

struct nb_linger;

/* The reply to a client for which there is no place, and the clients that are let in even then. Any
 * thread. */

/* Answers with a problem in HTTP, which a client of a line protocol takes for a failure, and passes
 * the file to `linger`. `place` is the reason why there is no place. */
void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place);

enum nb_probe { NB_PROBE_NO, NB_PROBE_MORE, NB_PROBE_YES };

/* Whether the first bytes of a connection request /healthz or /readyz. NB_PROBE_MORE: too few bytes
 * to tell. */
enum nb_probe nb_probe_sniff(const char *bytes, size_t length);

/* Starts the thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_linger_start(struct nb_linger **linger);

/* Closes the remaining connections and ends the thread; NULL is allowed. */
void nb_linger_stop(struct nb_linger **linger);

/* Takes over a descriptor (a duplicate of the socket's): ends the sending direction, and closes the
 * descriptor when the client has closed, or after 5 seconds or 64 MiB. When too many linger already
 * it is closed at once. */
void nb_linger_add(struct nb_linger *linger, int file);

#endif
