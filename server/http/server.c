/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/server.h"

#include <assert.h>
#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/number.h"
#include "core/base/platform/platform.h"
#include "server/http/access.h"
#include "server/http/tls.h"
#include "server/http/tokens.h"
#include "server/http/user_map.h"

static void free_one(struct nb_configuration *c)
{
    nb_access_free(&c->access);
    nb_tls_free(&c->tls);
    nb_user_map_free(&c->users);
    nb_config_deinit(&c->config);
    free(c);
}

int nb_configuration_new(struct nb_config *config, const struct nb_configuration **made,
                         struct nb_error *error)
{
    struct nb_configuration *c = calloc(1, sizeof *c);
    *made = NULL;
    if (c == NULL) {
        nb_config_deinit(config);
        return nb_error_no_memory(error);
    }
    c->config = *config;
    *config = (struct nb_config){0};
    atomic_init(&c->holders, 1);
    int rc = nb_access_new(&c->config, &c->access, error);
    if (rc == 0)
        rc = nb_tls_new(&c->config, &c->tls, error);
    if (rc == 0)
        rc = nb_user_map_read(c->config.filter_user_map, &c->users, error);
    if (rc != 0)
        free_one(c);
    else
        *made = c;
    return rc;
}

/* Returns the configuration for changing its count of holders, the only member that changes. */
static struct nb_configuration *changeable(const struct nb_configuration *configuration)
{
    union {
        const struct nb_configuration *held;
        struct nb_configuration *own;
    } c = {.held = configuration};
    return c.own;
}

void nb_configuration_release(const struct nb_configuration **configuration)
{
    if (*configuration == NULL)
        return;
    struct nb_configuration *c = changeable(*configuration);
    unsigned before = atomic_fetch_sub(&c->holders, 1);
    assert(before > 0);
    if (before == 1)
        free_one(c);
    *configuration = NULL;
}

/* ---- the one in force ------------------------------------------------------------------------ */

void nb_configurations_begin(struct nb_server *server, const struct nb_configuration *first)
{
    (void)pthread_mutex_init(&server->lock, NULL); /* cannot fail with the GNU library */
    atomic_fetch_add(&changeable(first)->holders, 1);
    server->in_force = first;
}

void nb_configurations_end(struct nb_server *server)
{
    nb_configuration_release(&server->in_force);
    (void)pthread_mutex_destroy(&server->lock); /* fails only when locked: a bug */
}

const struct nb_configuration *nb_configurations_take(struct nb_server *server)
{
    pthread_mutex_lock(&server->lock);
    const struct nb_configuration *taken = server->in_force;
    assert(atomic_load(&changeable(taken)->holders) > 0); /* the server's own hold */
    atomic_fetch_add(&changeable(taken)->holders, 1);
    pthread_mutex_unlock(&server->lock);
    return taken;
}

void nb_configurations_put(struct nb_server *server, const struct nb_configuration *next)
{
    pthread_mutex_lock(&server->lock);
    const struct nb_configuration *old = server->in_force;
    assert(old != next && atomic_load(&changeable(next)->holders) > 0);
    server->in_force = next;
    pthread_mutex_unlock(&server->lock);
    nb_configuration_release(&old);
}

enum { RATE_MOST = 1000000000 };

/* The seconds of a unit of time; 0 for a text that is not a unit. */
static double seconds_of(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } UNITS[] = {{"s", 1}, {"second", 1}, {"m", 60}, {"minute", 60}, {"h", 3600}, {"hour", 3600}};
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        if (strcmp(unit, UNITS[i].name) == 0)
            return UNITS[i].seconds;
    }
    return 0;
}

int nb_rate_read(const char *text, const char *option, struct nb_rate *rate, struct nb_error *error)
{
    size_t digits = strcspn(text, "/");
    bool has_unit = text[digits] == '/';
    double seconds = has_unit ? seconds_of(text + digits + 1) : 1;
    uint64_t number;
    bool is_number = nb_number_read_whole((struct nb_string){text, digits}, &number);
    if (!is_number || number > RATE_MOST || seconds == 0 || (!has_unit && number != 0))
        return nb_error_set(error, NB_INVALID,
                            "%s: '%.60s' is no rate; write a number and a unit, such as 10/second "
                            "or 600/minute, or 0 for no limit",
                            option, text);
    *rate = (struct nb_rate){(double)number / seconds, (double)number};
    return 0;
}

/* The roles in the order of the option [tls] client_role. */
static const enum nb_role ROLES[] = {NB_ROLE_CLASSIFY, NB_ROLE_TRAIN, NB_ROLE_ADMIN};

static int read_file(struct nb_access *access, const struct nb_config *config,
                     struct nb_error *error)
{
    char path[NB_TOKEN_FILE_PATH];
    nb_token_file_path(config, path);
    int rc = nb_token_file_read(path, &access->tokens, error);
    access->has_file = rc == 0;
    if (rc != NB_NOT_FOUND)
        return rc;
    if (config->tokens_file[0] == '\0')
        return 0; /* no token was made yet */
    return nb_error_set(error, NB_INVALID,
                        "[tokens] file: there is no file %s; bayesd --new-token makes it", path);
}

int nb_access_new(const struct nb_config *config, struct nb_access **access, struct nb_error *error)
{
    assert((size_t)config->tls_client_role < sizeof ROLES / sizeof ROLES[0]);
    struct nb_access *made = calloc(1, sizeof *made);
    *access = NULL;
    if (made == NULL)
        return nb_error_no_memory(error);
    made->is_insecure = config->insecure;
    if (config->tls_client_ca[0] != '\0')
        made->certificate_role = ROLES[config->tls_client_role];
    int rc = nb_tokens_read(&made->tokens, config, error);
    if (rc == 0)
        rc = read_file(made, config, error);
    if (rc == 0)
        rc = nb_networks_read(&made->trusted, config->tokens_trusted, "[tokens] trusted", error);
    if (rc == 0)
        rc = nb_networks_read(&made->proxies, config->proxies, "[server] proxies", error);
    if (rc == 0)
        rc = nb_users_read(&made->socket_users, config->socket_users, "[server] socket_users",
                           error);
    if (rc == 0)
        rc = nb_rate_read(config->rate_classify, "[server] rate_classify", &made->rate_classify,
                          error);
    if (rc == 0)
        rc = nb_rate_read(config->rate_train, "[server] rate_train", &made->rate_train, error);
    if (rc == 0)
        rc = nb_rate_read(config->rate_failures, "[server] rate_failures", &made->rate_failures,
                          error);
    if (rc != 0)
        nb_access_free(&made);
    *access = made;
    return rc;
}

void nb_access_free(struct nb_access **access)
{
    if (*access == NULL)
        return;
    nb_tokens_deinit(&(*access)->tokens);
    nb_networks_deinit(&(*access)->trusted);
    nb_networks_deinit(&(*access)->proxies);
    nb_users_deinit(&(*access)->socket_users);
    free(*access);
    *access = NULL;
}

bool nb_access_asks(const struct nb_access *access)
{
    return access->tokens.count > 0 || access->has_file || access->certificate_role != NB_ROLE_NONE;
}

/* ---- whom a request comes from --------------------------------------------------------------- */

void nb_forwarding_add(struct nb_forwarding *forwarding, struct nb_string field)
{
    struct nb_string *chain = forwarding->chain;
    forwarding->is_there = true;
    if (forwarding->count == NB_FORWARDED_MOST) {
        memmove(chain, chain + 1, (NB_FORWARDED_MOST - 1) * sizeof *chain);
        forwarding->count--;
    }
    assert(forwarding->count < NB_FORWARDED_MOST);
    chain[forwarding->count++] = field;
}

/* Takes the rightmost entry off a list "a, b, c". */
static struct nb_string take_last(struct nb_string *list)
{
    const char *comma = memrchr(list->bytes, ',', list->length);
    size_t before = comma != NULL ? (size_t)(comma - list->bytes) : 0;
    struct nb_string entry = nb_string_from(*list, comma != NULL ? before + 1 : 0);
    list->length = before;
    return nb_string_trim(entry);
}

/* Reads "192.0.2.1", "2001:db8::1", and what some proxies write: "192.0.2.1:1234" and
 * "[2001:db8::1]:1234". */
static bool read_entry(struct nb_string entry, struct nb_address *address)
{
    if (nb_address_read(entry, address) != 0)
        return true;
    bool is_literal = entry.length > 0 && entry.bytes[0] == '[';
    struct nb_string text = nb_string_from(entry, is_literal);
    const char *end =
        text.length > 0 ? memchr(text.bytes, is_literal ? ']' : ':', text.length) : NULL;
    if (end == NULL)
        return false;
    struct nb_address found;
    text.length = (size_t)(end - text.bytes);
    if (nb_address_read(text, &found) != (is_literal ? 128 : 32))
        return false;
    *address = found;
    return true;
}

/* Follows the chain from the right, from proxy to proxy, up to the client. */
static void follow(struct nb_peer *peer, const struct nb_forwarding *forwarding,
                   const struct nb_networks *proxies)
{
    for (size_t i = forwarding->count; i-- > 0;) {
        struct nb_string list = forwarding->chain[i];
        do {
            if (!read_entry(take_last(&list), &peer->address))
                return; /* "unknown" and the like: the client cannot be identified */
            peer->is_proven = !nb_networks_have(proxies, &peer->address);
            if (peer->is_proven)
                return;
        } while (list.length > 0);
    }
    /* The chain has only proxies: its first entry is the client itself, if all entries were
     * kept. */
    peer->is_proven = forwarding->count < NB_FORWARDED_MOST;
}

static void find_user(struct nb_peer *peer, int socket)
{
    peer->has_user = peer->address.kind == NB_ADDRESS_FILE && nb_platform_peer(socket, &peer->user);
}

struct nb_peer nb_peer_of(const struct nb_sender *sender, const struct nb_networks *proxies)
{
    const struct nb_forwarding *forwarding = &sender->forwarding;
    struct nb_peer peer = {.address = sender->address,
                           .is_forwarded = forwarding->is_there,
                           .is_proven = !forwarding->is_there,
                           .certificate = sender->certificate};
    find_user(&peer, sender->socket);
    if (forwarding->count > 0 && nb_networks_have(proxies, &peer.address))
        follow(&peer, forwarding, proxies);
    return peer;
}

/* ---- what it may do -------------------------------------------------------------------------- */

/* Finds the token that the client sent, with the highest role if it occurs more than once; NULL
 * when it is not known. Takes the same time for every token. */
static const struct nb_token *find_token(const struct nb_tokens *tokens, struct nb_string shown)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    const struct nb_token *found = NULL;
    (void)crypto_hash_sha256(hash, (const unsigned char *)shown.bytes, shown.length);
    /* All tokens are compared, each in constant time: the duration reveals nothing. */
    for (size_t i = 0; i < tokens->count; i++) {
        const struct nb_token *one = &tokens->all[i];
        bool is_same = sodium_memcmp(one->hash, hash, sizeof hash) == 0;
        if (is_same && (found == NULL || one->role > found->role))
            found = one;
    }
    return shown.length > 0 ? found : NULL;
}

/* Whether the sender may check and learn mail without a token. */
static bool is_trusted(const struct nb_access *access, const struct nb_peer *peer)
{
    if (!peer->is_proven)
        return false;
    if (peer->has_user)
        return nb_users_have(&access->socket_users, peer->user);
    return nb_networks_have(&access->trusted, &peer->address);
}

struct nb_grant nb_access_grant(const struct nb_access *access, const struct nb_peer *peer,
                                struct nb_string token, bool is_for_mail)
{
    struct nb_grant grant = {.role = NB_ROLE_NONE, .name = "", .models = "*"};
    if (!nb_access_asks(access)) {
        grant.is_by_address = true;
        bool is_anybody = access->is_insecure || !peer->is_forwarded;
        grant.role = is_anybody && !peer->is_page ? NB_ROLE_ADMIN : NB_ROLE_NONE;
        return grant;
    }
    const struct nb_token *known = find_token(&access->tokens, token);
    if (known != NULL) {
        grant.token = known;
        grant.role = known->role;
        grant.name = known->name;
        grant.models = known->models;
    }
    if (peer->is_page) /* what proves the user of the browser says nothing about the page */
        return grant;
    if (peer->certificate != NULL && grant.role < access->certificate_role) {
        grant.role = access->certificate_role;
        grant.name = peer->certificate;
        grant.models = "*";
    }
    if (grant.role < NB_ROLE_TRAIN && is_for_mail && is_trusted(access, peer)) {
        grant.role = NB_ROLE_TRAIN;
        grant.models = "*";
        grant.is_by_address = true;
    }
    return grant;
}

struct nb_string nb_access_bearer(struct nb_string authorization)
{
    static const char SCHEME[] = "Bearer ";
    size_t length = sizeof SCHEME - 1;
    if (authorization.length <= length || !nb_string_starts_nocase(authorization, SCHEME))
        return (struct nb_string){NULL, 0};
    return nb_string_trim_start(nb_string_from(authorization, length), " ");
}
