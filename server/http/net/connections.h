/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the open connections of all protocols, in all and for each address (the limits of [server]
 * and the gauge of the metrics), answers those for which there is no place, and closes connections
 * that were answered before the whole request had arrived. Any thread.
 */
#ifndef NB_SERVER_HTTP_NET_CONNECTIONS_H
#define NB_SERVER_HTTP_NET_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct nb_connections;
struct nb_linger;
struct nb_server;

/* Makes the counters. `server` is borrowed. Returns NULL when there is no memory. */
struct nb_connections *nb_connections_new(struct nb_server *server);
void nb_connections_free(struct nb_connections **connections);

enum nb_connection_place {
    NB_PLACE,         /* there is a place, and the connection is counted */
    NB_PLACE_PROBE,   /* the same, but only for a health check */
    NB_PLACE_FULL,    /* there are as many connections as the configuration allows */
    NB_PLACE_ADDRESS, /* there are as many as allowed from this address */
    NB_PLACE_MEMORY   /* there is no memory */
};

/* Places above `connections` for health checks from this machine. */
enum { NB_PLACES_FOR_PROBES = 16 };

/* Counts a connection from an IPv4 or IPv6 address or a Unix socket, if there is a place. The last
 * places are for clients on this machine. These clients and the configured proxies may have any
 * number of connections. Every other address may have connections_per_address; for IPv6 each
 * network of 64 bits counts as one address, because every customer has at least one such network
 * (RFC 6177). */
enum nb_connection_place nb_connections_open(struct nb_connections *connections,
                                             const struct sockaddr *address);

/* Counts a closed connection out. */
void nb_connections_close(struct nb_connections *connections, const struct sockaddr *address);

/* ---- no place -------------------------------------------------------------------------------- */

/* Answers with a problem in HTTP, which a client of a line protocol takes for a failure, and passes
 * the file to `linger`. `place` is the reason why there is no place. */
void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place);

enum nb_probe { NB_PROBE_NO, NB_PROBE_MORE, NB_PROBE_YES };

/* Whether the first bytes of a connection request /healthz or /readyz. NB_PROBE_MORE: too few bytes
 * to tell. */
enum nb_probe nb_probe_sniff(const char *bytes, size_t length);

/* ---- lingering ------------------------------------------------------------------------------- */

/* Connections that were answered before the whole request had arrived. Closing such a socket makes
 * the kernel send a reset, which may destroy the reply before the client has read it; so further
 * input is read and dropped for a while (RFC 9112, 9.6), by one thread. */

/* Starts the thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_linger_start(struct nb_linger **linger);

/* Closes the remaining connections and ends the thread; NULL is allowed. */
void nb_linger_stop(struct nb_linger **linger);

/* Takes over a descriptor (a duplicate of the socket's): ends the sending direction, and closes the
 * descriptor when the client has closed, or after 5 seconds or 64 MiB. When too many linger already
 * it is closed at once. */
void nb_linger_add(struct nb_linger *linger, int file);

#endif
