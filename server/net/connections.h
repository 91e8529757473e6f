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

/* Counts a connection from an IPv4 or IPv6 address. False: there are as many as the configuration
 * allows, or there is no memory; then it is not counted and must be closed. */
bool nb_connections_open(struct nb_connections *connections, const struct sockaddr *address);

/* Counts it out again. */
void nb_connections_close(struct nb_connections *connections, const struct sockaddr *address);

#endif
