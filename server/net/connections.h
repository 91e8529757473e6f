/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the open connections of all protocols, in all and for each address: the limits of [server]
 * and the gauge of the metrics. Any thread.
 */
#ifndef NB_SERVER_NET_CONNECTIONS_H
#define NB_SERVER_NET_CONNECTIONS_H

#include <stdbool.h>
#include <sys/socket.h>

struct nb_connections;
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
 * network of 64 bits counts as one address, which one customer has at least (RFC 6177). */
enum nb_connection_place nb_connections_open(struct nb_connections *connections,
                                             const struct sockaddr *address);

/* Counts a closed connection out. */
void nb_connections_close(struct nb_connections *connections, const struct sockaddr *address);

#endif
