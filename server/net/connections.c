/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/connections.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/metrics.h"
#include "server/request/configuration.h"
#include "server/request/server.h"

enum { BUCKETS = 1024 }; /* as many addresses as there are connections by default */

struct address {
    struct address *next;
    uint8_t bytes[16]; /* IPv6; an IPv4 address is followed by zeros */
    sa_family_t family;
    uint64_t count; /* its connections; at least 1 */
};

struct nb_connections {
    struct nb_server *server;
    pthread_mutex_t lock; /* of what stands below; nothing else is taken while it is held */
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

static struct address key_of(const struct sockaddr *address)
{
    struct address key = {.family = address->sa_family};
    if (address->sa_family == AF_INET6)
        memcpy(key.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else if (address->sa_family == AF_INET) /* a Unix socket: all its clients count as one */
        memcpy(key.bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return key;
}

/* The place of the pointer to the address's entry, also when there is none. (FNV-1a: an attacker
 * who fills one chain with addresses is still bound by the limit of connections.) */
static struct address **find(struct nb_connections *c, const struct address *key)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof key->bytes; i++)
        hash = (hash ^ key->bytes[i]) * 16777619u;
    struct address **at = &c->buckets[hash % BUCKETS];
    while (*at != NULL && ((*at)->family != key->family ||
                           memcmp((*at)->bytes, key->bytes, sizeof key->bytes) != 0))
        at = &(*at)->next;
    return at;
}

static bool add_address(struct nb_connections *c, const struct sockaddr *address, uint64_t most)
{
    struct address key = key_of(address), **at = find(c, &key);
    if (*at == NULL) {
        *at = malloc(sizeof key);
        if (*at == NULL)
            return false;
        **at = key;
    }
    bool is_allowed = (*at)->count < most;
    (*at)->count += is_allowed;
    return is_allowed;
}

bool nb_connections_open(struct nb_connections *connections, const struct sockaddr *address)
{
    struct nb_server *server = connections->server;
    const struct nb_configuration *now = nb_configurations_take(server->configurations);
    uint64_t most = now->config.connections_per_address;
    nb_configuration_release(&now);
    pthread_mutex_lock(&connections->lock);
    bool is_allowed = connections->count < server->startup->connections &&
                      add_address(connections, address, most == 0 ? UINT64_MAX : most);
    connections->count += is_allowed;
    pthread_mutex_unlock(&connections->lock);
    if (is_allowed)
        nb_metrics_connection(connections->server->metrics, 1);
    return is_allowed;
}

void nb_connections_close(struct nb_connections *connections, const struct sockaddr *address)
{
    pthread_mutex_lock(&connections->lock);
    assert(connections->count > 0);
    connections->count--;
    struct address key = key_of(address), **at = find(connections, &key), *entry = *at;
    if (entry != NULL && --entry->count == 0) {
        *at = entry->next;
        free(entry);
    }
    pthread_mutex_unlock(&connections->lock);
    nb_metrics_connection(connections->server->metrics, -1);
}
