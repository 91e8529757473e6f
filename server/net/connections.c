/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/connections.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/access/access.h"
#include "server/base/metrics.h"
#include "server/request/configuration.h"
#include "server/request/server.h"

enum { BUCKETS = 1024 }; /* as many addresses as there are connections by default */

struct address {
    struct address *next;
    struct nb_address key; /* of a whole network, for IPv6 */
    uint64_t count;        /* its connections; at least 1 */
};

struct nb_connections {
    struct nb_server *server;
    pthread_mutex_t lock; /* of the members below; no other lock is taken while it is held */
    uint64_t count;
    struct address *buckets[BUCKETS]; /* kept without a limit too: a reload may set one */
};

struct nb_connections *nb_connections_new(struct nb_server *server)
{
    struct nb_connections *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->server = server;
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return NULL;
    }
    return made;
}

void nb_connections_free(struct nb_connections **connections)
{
    struct nb_connections *c = *connections;
    if (c == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (c->buckets[i] != NULL) {
            struct address *next = c->buckets[i]->next;
            free(c->buckets[i]);
            c->buckets[i] = next;
        }
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
    *connections = NULL;
}

/* Returns the address that is counted as one client. */
static struct nb_address key_of(const struct nb_address *address)
{
    static const unsigned char V4[12] = {[10] = 0xff, [11] = 0xff};
    struct nb_address key = *address;
    if (memcmp(key.bytes, V4, sizeof V4) != 0)
        memset(key.bytes + 8, 0, 8);
    return key;
}

/* Returns the place of the pointer to the address's entry, even if there is none. (FNV-1a: an
 * attacker who fills one chain with addresses is still bound by the limit of connections.) */
static struct address **find(struct nb_connections *c, const struct nb_address *key)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof key->bytes; i++)
        hash = (hash ^ key->bytes[i]) * 16777619u;
    struct address **at = &c->buckets[hash % BUCKETS];
    while (*at != NULL && ((*at)->key.kind != key->kind ||
                           memcmp((*at)->key.bytes, key->bytes, sizeof key->bytes) != 0))
        at = &(*at)->next;
    return at;
}

static enum nb_connection_place add_address(struct nb_connections *c,
                                            const struct nb_address *address, uint64_t most)
{
    struct nb_address key = key_of(address);
    struct address **at = find(c, &key);
    if (*at == NULL) {
        *at = malloc(sizeof **at);
        if (*at == NULL)
            return NB_PLACE_MEMORY;
        **at = (struct address){.key = key};
    }
    assert(most > 0); /* 0 stands for no limit, and limit_of has read it so */
    if ((*at)->count >= most)
        return NB_PLACE_ADDRESS;
    (*at)->count++;
    return NB_PLACE;
}

/* Finds a place for this client, regardless of its address. */
static enum nb_connection_place find_place(uint64_t count, const struct nb_config *config,
                                           bool is_local)
{
    uint64_t most = config->connections;
    uint64_t kept =
        config->connections_reserved < most / 2 ? config->connections_reserved : most / 2;
    if (count < most - kept || (is_local && count < most))
        return NB_PLACE;
    return is_local && count < most + NB_PLACES_FOR_PROBES ? NB_PLACE_PROBE : NB_PLACE_FULL;
}

/* Returns how many connections the address may have. */
static uint64_t limit_of(const struct nb_configuration *now, const struct nb_address *address)
{
    uint64_t most = now->config.connections_per_address;
    bool is_free = most == 0 || nb_address_is_local(address) ||
                   nb_networks_have(&now->access->proxies, address);
    return is_free ? UINT64_MAX : most;
}

enum nb_connection_place nb_connections_open(struct nb_connections *connections,
                                             const struct sockaddr *from)
{
    struct nb_server *server = connections->server;
    struct nb_address address = nb_address_of(from);
    const struct nb_configuration *now = nb_configurations_take(server->configurations);
    uint64_t most = limit_of(now, &address);
    nb_configuration_release(&now);
    pthread_mutex_lock(&connections->lock);
    enum nb_connection_place place =
        find_place(connections->count, server->startup, nb_address_is_local(&address));
    if (place != NB_PLACE_FULL) {
        enum nb_connection_place added = add_address(connections, &address, most);
        place = added == NB_PLACE ? place : added;
    }
    bool is_counted = place == NB_PLACE || place == NB_PLACE_PROBE;
    connections->count += is_counted;
    pthread_mutex_unlock(&connections->lock);
    if (is_counted)
        nb_metrics_connection(server->metrics, 1);
    return place;
}

void nb_connections_close(struct nb_connections *connections, const struct sockaddr *from)
{
    struct nb_address address = nb_address_of(from), key = key_of(&address);
    pthread_mutex_lock(&connections->lock);
    assert(connections->count > 0);
    connections->count--;
    struct address **at = find(connections, &key), *entry = *at;
    assert(entry != NULL && entry->count > 0);
    if (--entry->count == 0) {
        *at = entry->next;
        free(entry);
    }
    pthread_mutex_unlock(&connections->lock);
    nb_metrics_connection(connections->server->metrics, -1);
}
