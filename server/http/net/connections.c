/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/net/connections.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/error.h"
#include "core/base/platform/poller.h"
#include "core/base/system.h"
#include "server/base/metrics.h"
#include "server/http/access.h"
#include "server/http/library.h"
#include "server/http/server.h"

enum { BUCKETS = 1024 }; /* as many addresses as there are connections by default */

struct address {
    struct address *next;
    struct nb_address key; /* the address; for IPv6 that of the whole network */
    uint64_t count;        /* its open connections; at least 1 */
};

struct nb_connections {
    struct nb_server *server;
    pthread_mutex_t lock; /* guards the members below; no other lock is taken while it is held */
    uint64_t count;
    struct address *buckets[BUCKETS]; /* kept even without a limit, because a reload may set one */
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
    struct nb_address key = *address;
    if (!nb_address_is_v4(address))
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
    assert(most > 0); /* limit_of has replaced 0, which stands for no limit */
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
    const struct nb_configuration *now = nb_configurations_take(server);
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

void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place)
{
    assert(place != NB_PLACE && place != NB_PLACE_PROBE); /* those are served */
    unsigned status = place == NB_PLACE_ADDRESS ? 429 : 503;
    const char *detail = place == NB_PLACE_ADDRESS
                             ? "this address has as many connections as the option [server] "
                               "connections_per_address allows"
                         : place == NB_PLACE_MEMORY
                             ? "out of memory"
                             : "there are as many connections as the option [server] connections "
                               "allows";
    size_t length = nb_refusal_send(file, status, detail);
    nb_metrics_request(server->metrics, SIZE_MAX, status, 0, 0, length);
    nb_linger_add(linger, file);
}

enum nb_probe nb_probe_sniff(const char *bytes, size_t length)
{
    static const char *const PROBES[] = {"GET /healthz", "GET /readyz", "HEAD /healthz",
                                         "HEAD /readyz"};
    enum nb_probe found = NB_PROBE_NO;
    for (size_t i = 0; i < sizeof PROBES / sizeof *PROBES; i++) {
        size_t most = strlen(PROBES[i]);
        if (memcmp(bytes, PROBES[i], length < most ? length : most) != 0)
            continue;
        if (length <= most)
            found = NB_PROBE_MORE;
        else if (bytes[most] == ' ')
            return NB_PROBE_YES;
    }
    return found;
}

enum { LINGERING_MOST = 64, DROP_BYTES = 256 * 1024 };
static const uint64_t LINGER_NANOSECONDS = 5000000000u;
static const uint64_t LINGER_BYTES = (uint64_t)64 << 20;

struct lingering {
    int file;
    uint64_t since;
    uint64_t dropped;
};

struct nb_linger {
    pthread_t thread;
    int wake;             /* a bell */
    pthread_mutex_t lock; /* guards the members below; no other lock is taken while it is held */
    bool is_ending;
    size_t count;
    struct lingering all[LINGERING_MOST]; /* entries are removed by the thread alone */
};

static void forget(struct nb_linger *l, size_t index)
{
    assert(index < l->count);
    (void)close(l->all[index].file); /* an error changes nothing */
    l->all[index] = l->all[--l->count];
}

/* Reads the available bytes. Returns whether more may come. */
static bool drop(struct lingering *one, char *scratch)
{
    ssize_t n = recv(one->file, scratch, DROP_BYTES, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    one->dropped += (uint64_t)n;
    return n > 0 && one->dropped < LINGER_BYTES;
}

static void *linger_thread(void *user)
{
    struct nb_linger *l = user;
    char *scratch = malloc(DROP_BYTES);
    pthread_mutex_lock(&l->lock);
    while (!l->is_ending && scratch != NULL) {
        struct pollfd polled[LINGERING_MOST + 1] = {{.fd = l->wake, .events = POLLIN}};
        size_t count = l->count;
        for (size_t i = 0; i < count; i++)
            polled[i + 1] = (struct pollfd){.fd = l->all[i].file, .events = POLLIN};
        pthread_mutex_unlock(&l->lock);
        (void)poll(polled, count + 1, count > 0 ? 250 : -1); /* an error: try again */
        nb_bell_clear(l->wake);
        pthread_mutex_lock(&l->lock);
        uint64_t now = nb_clock_monotonic();
        for (size_t i = l->count; i-- > 0;)
            if (now - l->all[i].since > LINGER_NANOSECONDS || !drop(&l->all[i], scratch))
                forget(l, i);
    }
    pthread_mutex_unlock(&l->lock);
    free(scratch);
    return NULL;
}

int nb_linger_start(struct nb_linger **linger)
{
    struct nb_linger *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NB_NO_MEMORY;
    l->wake = nb_bell_new();
    if (l->wake < 0 || pthread_mutex_init(&l->lock, NULL) != 0)
        goto failed;
    if (pthread_create(&l->thread, NULL, linger_thread, l) == 0) {
        *linger = l;
        return 0;
    }
    pthread_mutex_destroy(&l->lock);
failed:
    if (l->wake >= 0)
        (void)close(l->wake);
    free(l);
    return NB_IO;
}

void nb_linger_stop(struct nb_linger **linger)
{
    struct nb_linger *l = *linger;
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_ending = true;
    pthread_mutex_unlock(&l->lock);
    nb_bell_ring(l->wake);
    pthread_join(l->thread, NULL);
    while (l->count > 0)
        forget(l, 0);
    pthread_mutex_destroy(&l->lock);
    (void)close(l->wake);
    free(l);
    *linger = NULL;
}

void nb_linger_add(struct nb_linger *linger, int file)
{
    assert(file >= 0);
    (void)shutdown(file, SHUT_WR); /* the client may be gone already */
    pthread_mutex_lock(&linger->lock);
    bool is_taken = linger->count < LINGERING_MOST;
    if (is_taken)
        linger->all[linger->count++] = (struct lingering){file, nb_clock_monotonic(), 0};
    pthread_mutex_unlock(&linger->lock);
    if (is_taken)
        nb_bell_ring(linger->wake);
    else
        (void)close(file);
}
