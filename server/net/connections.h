/* SPDX-License-Identifier: Apache-2.0
 *
 * How many connections are open, whatever they speak, in all and from each address: the limits of
 * [server] and the gauge of the metrics. Any thread.
 */
#ifndef NB_SERVER_NET_CONNECTIONS_H
#define NB_SERVER_NET_CONNECTIONS_H

#include <stdbool.h>
#include <sys/socket.h>

struct nb_connections;
struct nb_server;

/* `server` is borrowed. NULL when there is no memory. */
struct nb_connections *nb_connections_new(struct nb_server *server);
void nb_connections_free(struct nb_connections **connections);

enum nb_connection_place {
    NB_PLACE,         /* there is one, and it is counted */
    NB_PLACE_PROBE,   /* the same, but only for a question whether the daemon is well */
    NB_PLACE_FULL,    /* there are as many connections as the configuration allows */
    NB_PLACE_ADDRESS, /* as many from this address */
    NB_PLACE_MEMORY   /* there is no memory */
};

/* Connections above `connections`, from this machine, for questions whether the daemon is well. */
enum { NB_PLACES_FOR_PROBES = 16 };

/* Counts a connection from an IPv4 or IPv6 address or a Unix socket, if there is a place. The last
 * places are for clients on this machine. These, and the proxies of the configuration, may have any
 * number of them; of the others each address, and of IPv6 each network of 64 bits, which is what
 * one customer has at least (RFC 6177), connections_per_address. */
enum nb_connection_place nb_connections_open(struct nb_connections *connections,
                                             const struct sockaddr *address);

/* Counts it out again. */
void nb_connections_close(struct nb_connections *connections, const struct sockaddr *address);

#endif
