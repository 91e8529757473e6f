/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a request comes from, as far as its connection and its header fields tell. For the thread
 * that works on the request.
 *
 * The address of a connection is that of the last machine on the way. When that is a proxy, it says
 * nothing about the client; the proxy may name the client in X-Forwarded-For, where each proxy
 * appends the address that it was asked from. What stands left of an entry was sent by that
 * address, and is only worth something when that is itself a proxy that can be believed: so the
 * entries are read from the right.
 */
#ifndef NB_SERVER_ACCESS_PEER_H
#define NB_SERVER_ACCESS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "server/access/address.h"

struct nb_networks;

/* What the header fields tell of proxies. */
enum { NB_FORWARDED_MOST = 8 }; /* header fields; proxies that add a new one are few */
struct nb_forwarding {
    bool is_there; /* Forwarded, X-Forwarded-For or Via (RFC 7239; RFC 9110, 7.6.3) */
    struct nb_string chain[NB_FORWARDED_MOST]; /* of the last X-Forwarded-For, in their order */
    size_t count;
};

struct nb_peer {
    struct nb_address address; /* of the client, as far as it is known: for logs and limits */
    bool is_forwarded;         /* a proxy is on the way */
    bool is_proven;            /* the address is the client's own: it may prove a role */
    bool has_user;             /* it came over a Unix socket, from a process of `user` */
    uid_t user;
    const char *certificate; /* the common name in a certificate that was verified; or NULL. It
                                lives as long as the request */
};

/* Adds the next field X-Forwarded-For; of too many, the first ones are forgotten. */
void nb_forwarding_add(struct nb_forwarding *forwarding, struct nb_string field);

/* Finds out about the peer of `socket`. `proxies` are the ones whose X-Forwarded-For is believed.
 */
struct nb_peer nb_peer_of(int socket, const struct sockaddr *address,
                          const struct nb_forwarding *forwarding,
                          const struct nb_networks *proxies);

#endif
