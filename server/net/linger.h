/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that were answered before all of the request had come. Closing such a socket makes
 * the kernel send a reset, which may destroy the reply before the client has read it; so what still
 * comes is read and dropped for a while (RFC 9112, 9.6). One thread of its own; add from any
 * thread.
 */
#ifndef NB_SERVER_NET_LINGER_H
#define NB_SERVER_NET_LINGER_H

#include <stddef.h>

#include "server/net/connections.h"

struct nb_linger;

/* What a client hears when there is no place for it, and which ones are let in all the same. Any
 * thread. */

/* Answers with a problem, in HTTP, which a client of a line protocol takes for a failure, and gives
 * the file to `linger`. `place` is none. */
void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place);

enum nb_probe { NB_PROBE_NO, NB_PROBE_MORE, NB_PROBE_YES };

/* Whether the first bytes of a connection ask for /healthz or /readyz; NB_PROBE_MORE: they may. */
enum nb_probe nb_probe_sniff(const char *bytes, size_t length);

/* Starts the thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_linger_start(struct nb_linger **linger);

/* Closes what is left and ends the thread; NULL is allowed. */
void nb_linger_stop(struct nb_linger **linger);

/* Takes over a descriptor (a duplicate of the socket's): tells the client that nothing more will
 * be sent, and closes it when the client has closed, after 5 seconds or 64 MiB. When too many
 * linger already it is closed at once. */
void nb_linger_add(struct nb_linger *linger, int file);

#endif
