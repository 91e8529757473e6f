/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/access.h"

#include <stdlib.h>

#include "config/config.h"
#include "server/access/networks.h"
#include "server/access/rate.h"
#include "server/access/token_file.h"
#include "server/access/tokens.h"
#include "server/access/users.h"

struct nb_access {
    struct nb_tokens tokens;
    struct nb_networks trusted;
    struct nb_networks proxies;
    struct nb_users socket_users;
    struct nb_rate rate_classify, rate_train, rate_failures;
    bool has_file; /* of tokens */
    bool is_insecure;
    enum nb_role certificate_role; /* NB_ROLE_NONE: certificates are not asked for */
};

/* As the option [tls] client_role names them. */
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
        return 0; /* none was made yet */
    return nb_error_set(error, NB_INVALID,
                        "[tokens] file: there is no file %s; bayesd --new-token makes it", path);
}

int nb_access_new(const struct nb_config *config, struct nb_access **access, struct nb_error *error)
{
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

bool nb_access_has_file(const struct nb_access *access)
{
    return access->has_file;
}

bool nb_access_has_plain(const struct nb_access *access)
{
    return access->tokens.has_plain;
}

const struct nb_networks *nb_access_proxies(const struct nb_access *access)
{
    return &access->proxies;
}

const struct nb_rate *nb_access_rate_classify(const struct nb_access *access)
{
    return &access->rate_classify;
}

const struct nb_rate *nb_access_rate_train(const struct nb_access *access)
{
    return &access->rate_train;
}

const struct nb_rate *nb_access_rate_failures(const struct nb_access *access)
{
    return &access->rate_failures;
}

/* Whether whom the request comes from may check and learn mail. */
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
        grant.role = access->is_insecure || !peer->is_forwarded ? NB_ROLE_ADMIN : NB_ROLE_NONE;
        return grant;
    }
    const struct nb_token *known = nb_tokens_find(&access->tokens, token);
    if (known != NULL) {
        grant.token = known;
        grant.role = known->role;
        grant.name = known->name;
        grant.models = known->models;
    }
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
