/* SPDX-License-Identifier: Apache-2.0 */
#include "server/configure.h"

#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/buffer.h"
#include "core/base/platform/platform.h"
#include "core/engine/engine.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/base/time.h"
#include "server/events/events.h"
#include "server/http/access.h"
#include "server/http/address.h"
#include "server/http/server.h"
#include "server/http/tokens.h"
#include "server/mail/filter_options.h"
#include "server/nodes/nodes.h"
#include "server/options.h"

/* On a machine of 32 bits the option may name more than fits into the address space. */
static uint64_t map_size_of(const struct nb_config *config)
{
    const uint64_t most = NB_PLATFORM_MAP_MOST;
    if (config->map_size <= most)
        return config->map_size;
    nb_log(
        NB_LOG_WARNING,
        "[store] map_size is more than the address space of this machine has room for bytes=%llu "
        "used=%llu",
        (unsigned long long)config->map_size, (unsigned long long)most);
    return most;
}

void nb_engine_settings_of(const struct nb_config *config, struct nb_engine_settings *settings)
{
    nb_engine_settings_init(settings);
    settings->directory = config->data;
    settings->tokenizer = (struct nb_tokenizer_limits){
        .tokens = (size_t)config->tokens,
        .mail_bytes = (size_t)config->mail_bytes,
        .mail_parts = (size_t)config->mail_parts,
        .mail_depth = (size_t)config->mail_depth,
        .header_bytes = (size_t)config->header_bytes,
        .work = (size_t)config->work,
    };
    settings->auto_create = config->auto_create;
    settings->keep_words = config->keep_words;
    settings->map_size = map_size_of(config);
    settings->journal = config->journal;
    settings->memory = config->memory;
    settings->disk = config->disk;
    settings->replay_features = config->replay_features;
    settings->group_documents = config->group_documents;
    settings->superseded_seconds = config->superseded_seconds;
    settings->labels = (uint32_t)config->labels;
    settings->quarantine_documents = config->quarantine_documents;
    settings->quarantine_bytes = config->quarantine_bytes;
    settings->models = (uint32_t)config->models;
}

int nb_engine_settings_share(const struct nb_config *config, unsigned char key[NB_KEY_BYTES],
                             struct nb_engine_settings *settings, struct nb_error *error)
{
    if (config->nodes_database[0] == '\0')
        return 0;
    if (config->nodes_key_file[0] == '\0')
        return nb_error_set(error, NB_INVALID, "[nodes] needs a key_file, the same on all nodes");
    uint64_t follow;
    int rc = nb_nodes_read_follow(config, &follow, error);
    if (rc != 0)
        return rc;
    settings->shared = true;
    settings->streams = (unsigned)config->nodes_streams;
    settings->refit_units = UINT64_MAX;
    settings->key = key;
    return nb_nodes_read_key(config->nodes_key_file, key, error);
}

int nb_configure_read(const struct nb_options *options, struct nb_config *config,
                      struct nb_error *error)
{
    int rc = nb_config_init(config, error);
    if (rc == 0 && options->config != NULL)
        rc = nb_config_load(config, options->config, error);
    if (rc == 0)
        rc = nb_config_environment(config, environ, error);
    if (rc == 0 && options->data != NULL)
        rc = nb_config_set(config, "store", "data", options->data, "--data", error);
    if (rc == 0 && options->listen != NULL)
        rc = nb_config_set(config, "server", "listen", options->listen, "--listen", error);
    return rc == 0 ? nb_filter_check_config(config, error) : rc;
}

void nb_configure_warn(const struct nb_config *config)
{
    if (config->former[0] != '\0')
        nb_log(NB_LOG_WARNING, "the configuration has names of an earlier version: %s",
               config->former);
}

/* Refuses an address that other machines can reach if clients need no tokens: whoever reaches the
 * port could read and change every model. */
static int check_address(const struct nb_configuration *made, const char *address,
                         struct nb_error *error)
{
    const struct nb_config *config = &made->config;
    bool is_loopback = false;
    int rc = nb_listen_is_loopback(address, &is_loopback, error);
    if (rc != 0 || is_loopback || nb_access_asks(made->access) || config->insecure)
        return rc;
    return nb_error_set(error, NB_INVALID,
                        "%s can be reached from other machines, and there are no [tokens]: set "
                        "some, listen on 127.0.0.1 or [::1], or write 'insecure = yes' to [server] "
                        "when the network itself keeps strangers out",
                        address);
}

static int check_origins(const struct nb_configuration *made, struct nb_error *error)
{
    const char *origins = made->config.http_origins;
    bool has_tokens = made->access->tokens.count > 0 || made->access->has_file;
    int rc = nb_origins_check(origins, error);
    if (rc != 0 || nb_list_count(origins) == 0 || has_tokens)
        return rc;
    return nb_error_set(error, NB_INVALID,
                        "[http] origins lets pages of other sites in with a token only, and there "
                        "are no [tokens]: set some, or leave origins empty");
}

int nb_configure_make(struct nb_config *config, const struct nb_configuration **made,
                      struct nb_error *error)
{
    int rc = nb_configuration_new(config, made, error);
    if (rc == 0)
        rc = check_address(*made, (*made)->config.listen, error);
    if (rc == 0 && (*made)->config.tls_listen[0] != '\0')
        rc = check_address(*made, (*made)->config.tls_listen, error);
    if (rc == 0)
        rc = check_origins(*made, error);
    if (rc == 0)
        rc = nb_events_check(&(*made)->config, error);
    if (rc != 0)
        nb_configuration_release(made);
    return rc;
}

/* Sets an option's string to the list of the tokens of a role. */
static int hide_list(char **option, const struct nb_tokens *tokens, enum nb_role role)
{
    struct nb_buffer list = {0};
    int rc = nb_tokens_list(tokens, role, &list);
    if (rc == 0)
        rc = nb_buffer_append(&list, "", 1);
    if (rc != 0) {
        nb_buffer_deinit(&list);
        return rc;
    }
    free(*option);
    *option = list.bytes;
    return 0;
}

int nb_configure_hide(struct nb_config *config, struct nb_error *error)
{
    struct nb_tokens tokens;
    int rc = nb_tokens_read(&tokens, config, error);
    if (rc != 0)
        return rc;
    if (hide_list(&config->tokens_classify, &tokens, NB_ROLE_CLASSIFY) != 0 ||
        hide_list(&config->tokens_train, &tokens, NB_ROLE_TRAIN) != 0 ||
        hide_list(&config->tokens_admin, &tokens, NB_ROLE_ADMIN) != 0)
        rc = nb_error_no_memory(error);
    nb_tokens_deinit(&tokens);
    return rc;
}

void nb_configure_log(const struct nb_config *config)
{
    nb_log_set_level((enum nb_log_level)config->log_level);
    nb_log_set_form(config->log_format == 1 ? nb_json_log_line : NULL);
}

void nb_configure_apply(struct nb_server *server, const struct nb_config *config)
{
    nb_configure_log(config);
    nb_budgets_limit(server->budgets, config);
}

/* ---- again ----------------------------------------------------------------------------------- */

struct changes {
    struct nb_buffer live, restart, unset; /* "[group] key, [group] key" */
};

/* Appends the name of an option. Without memory the log names fewer options. */
static void add_name(struct nb_buffer *list, const struct nb_option *option)
{
    (void)nb_buffer_printf(list, "%s[%s] %s", list->length > 0 ? ", " : "", option->group,
                           option->key);
}

static void note(void *user, const struct nb_option *option, bool is_unset)
{
    struct changes *changes = user;
    add_name(option->change == NB_LIVE ? &changes->live : &changes->restart, option);
    if (is_unset)
        add_name(&changes->unset, option);
}

static void report(const struct changes *changes)
{
    const struct nb_buffer *live = &changes->live, *restart = &changes->restart;
    const struct nb_buffer *unset = &changes->unset;
    if (live->length > 0)
        nb_log(NB_LOG_INFO, "configuration read again changed=\"%.*s\"", (int)live->length,
               live->bytes);
    else
        nb_log(NB_LOG_INFO, "configuration read again, nothing to change");
    if (restart->length > 0)
        nb_log(NB_LOG_WARNING, "restart needed for a change of options=\"%.*s\"",
               (int)restart->length, restart->bytes);
    if (unset->length > 0)
        nb_log(NB_LOG_WARNING, "options are set no more, their defaults hold options=\"%.*s\"",
               (int)unset->length, unset->bytes);
}

/* A reload never lets a daemon stop requiring tokens: a token file that was emptied, or that is
 * only half written when it is read, looks like a file without tokens. */
static int check_still_asks(const struct nb_access *running, const struct nb_access *next,
                            struct nb_error *error)
{
    if (running->has_file && !next->has_file)
        return nb_error_set(
            error, NB_INVALID,
            "the file of tokens is gone: without it nobody might be asked for a token "
            "any more; a restart takes that for what is wanted");
    if (nb_access_asks(running) && !nb_access_asks(next))
        return nb_error_set(
            error, NB_INVALID,
            "there are no [tokens] any more, no file of tokens and no [tls] client_ca: "
            "nobody would be asked for a token; a restart takes that for what is wanted");
    return 0;
}

/* Puts the options in `next`, which were read from the sources, in force. Takes over its
 * strings. */
static int go_over(struct nb_server *server, struct nb_config *next, struct changes *changes,
                   struct nb_error *error)
{
    const struct nb_configuration *running = nb_configurations_take(server);
    const struct nb_configuration *made = NULL;
    int rc = nb_config_carry_over(next, &running->config, note, changes, error);
    if (rc == 0)
        rc = nb_configure_make(next, &made, error);
    if (rc == 0)
        rc = check_still_asks(running->access, made->access, error);
    nb_configuration_release(&running);
    if (rc != 0) {
        nb_configuration_release(&made);
        return rc;
    }
    nb_configure_apply(server, &made->config);
    nb_engine_keep_superseded(server->engine, made->config.superseded_seconds);
    nb_configurations_put(server, made);
    return 0;
}

void nb_configure_again(const struct nb_options *options, struct nb_server *server)
{
    struct nb_config next = {0};
    struct nb_error error = {0};
    struct changes changes = {0};
    int rc = nb_configure_read(options, &next, &error);
    if (rc == 0)
        nb_configure_warn(&next);
    if (rc == 0)
        rc = go_over(server, &next, &changes, &error);
    if (rc == 0)
        report(&changes);
    else
        nb_log(NB_LOG_ERROR, "configuration not read again, the old one stays in force: %s",
               error.text);
    nb_config_deinit(&next);
    nb_buffer_deinit(&changes.live);
    nb_buffer_deinit(&changes.restart);
    nb_buffer_deinit(&changes.unset);
}
