/* SPDX-License-Identifier: Apache-2.0 */
#include "server/offline.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "core/archive/repair/repair.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/base/time.h"
#include "server/configure.h"
#include "server/http/server.h"
#include "server/http/tokens.h"
#include "server/join.h"
#include "server/nodes/nodes.h"
#include "server/options.h"

static void print_difference(void *user, const char *line)
{
    (void)fprintf(user, "%s\n", line);
}

/* Compares every count with the documents of the ledger. */
static int verify(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_verify(&settings, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: every count is what the documents say\n", config->data);
    return rc;
}

/* Rebuilds the store from its ledger. */
static int rebuild(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_rebuild(&settings, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: rebuilt; nothing differed\n", config->data);
    else if (rc > 0)
        (void)printf("%s: rebuilt; what differed is above, the old file is data.mdb.old\n",
                     config->data);
    return rc;
}

/* Puts the backup in the file `backup` into the data directory, which has no store. */
static int restore(const struct nb_config *config, const char *backup, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_restore(&settings, backup, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: restored; every count is what the documents say\n", config->data);
    else if (rc > 0)
        (void)printf(
            "%s: restored; what differs is above: it differed in the store that was saved, "
            "bayesd --rebuild mends it\n",
            config->data);
    return rc;
}

static int check_config(struct nb_config *config, struct nb_error *error)
{
    const struct nb_configuration *made;
    int rc = nb_configure_make(config, &made, error);
    nb_configuration_release(&made);
    if (rc == 0)
        (void)puts("the configuration is in order");
    return rc;
}

static int print_config(struct nb_config *config, struct nb_error *error)
{
    int rc = nb_configure_hide(config, error);
    if (rc != 0)
        return rc;
    rc = nb_config_print(config, false, stdout);
    return rc == 0 ? 0 : nb_error_set(error, rc, "standard output cannot be written");
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Says on standard error when the change takes effect, because a program may read the token from
 * standard output. */
static void say_when(void)
{
    (void)fputs(
        "bayesd: a daemon that is running takes it up on SIGHUP (systemctl reload bayesd)\n",
        stderr);
}

struct making {
    const struct nb_config *config;
    struct nb_token token;
};

static int read_options(const struct nb_options *options, struct nb_token *token,
                        struct nb_error *error)
{
    const char *models = options->models != NULL ? options->models : "*";
    *token = (struct nb_token){.role = nb_role_read(nb_string_of(options->role))};
    if (!nb_token_is_name(nb_string_of(options->token)))
        return nb_error_set(error, NB_INVALID,
                            "--new-token: a name has 1 to 64 letters, digits and ._-@");
    if (token->role == NB_ROLE_NONE)
        return nb_error_set(error, NB_INVALID, "--role: it must be classify, train or admin");
    if (strlen(models) >= sizeof token->models || !nb_models_are_patterns(nb_string_of(models)))
        return nb_error_set(error, NB_INVALID,
                            "--models: patterns are names of models with * and ?, separated by "
                            "commas, of %zu bytes together, such as 'user-*,mail'",
                            sizeof token->models - 1);
    (void)snprintf(token->name, sizeof token->name, "%s", options->token);
    (void)snprintf(token->models, sizeof token->models, "%s", models);
    return 0;
}

static int add(void *user, struct nb_tokens *tokens, struct nb_error *error)
{
    const struct making *making = user;
    struct nb_tokens configured;
    int rc = nb_tokens_read(&configured, making->config, error);
    if (rc != 0)
        return rc;
    struct nb_string name = nb_string_of(making->token.name);
    bool is_taken =
        nb_tokens_named(tokens, name) != NULL || nb_tokens_named(&configured, name) != NULL;
    nb_tokens_deinit(&configured);
    if (is_taken)
        return nb_error_set(error, NB_EXISTS, "there is a token %s already: revoke it first",
                            making->token.name);
    if (tokens->count == NB_TOKEN_FILE_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "there are %d tokens, as many as there may be",
                            NB_TOKEN_FILE_MOST);
    return nb_tokens_add(tokens, &making->token, error);
}

/* Makes a token, writes its hash to the file, and prints it: it is kept nowhere else. */
static int make_token(const struct nb_options *options, const struct nb_config *config,
                      struct nb_error *error)
{
    struct making making = {.config = config};
    char path[NB_TOKEN_FILE_PATH], text[NB_TOKEN_TEXT], created[NB_JSON_TIME_BYTES];
    int rc = read_options(options, &making.token, error);
    if (rc != 0)
        return rc;
    nb_json_format_time(nb_clock_now() / 1000 * 1000, created);
    (void)snprintf(making.token.created, sizeof making.token.created, "%.*s", NB_TOKEN_DATE - 1,
                   created);
    nb_token_make(&making.token, text);
    nb_token_file_path(config, path);
    rc = nb_token_file_update(path, add, &making, error);
    if (rc != 0)
        return rc;
    if (puts(text) == EOF || fflush(stdout) != 0)
        return nb_error_set(error, NB_IO,
                            "the token could not be printed: revoke it, and make another one");
    say_when();
    return 0;
}

/* Lists the tokens of the file. A file that does not exist has none. */
static int list_tokens(const struct nb_config *config, struct nb_error *error)
{
    char path[NB_TOKEN_FILE_PATH];
    struct nb_tokens tokens = {.all = NULL};
    nb_token_file_path(config, path);
    int rc = nb_token_file_read(path, &tokens, error);
    for (size_t i = 0; i < tokens.count && rc == 0; i++) {
        const struct nb_token *token = &tokens.all[i];
        (void)printf("%-24s %-8s %-24s %s\n", token->name, nb_role_name(token->role),
                     token->created, token->models); /* main checks standard output at the end */
    }
    nb_tokens_deinit(&tokens);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

static int take_out(void *user, struct nb_tokens *tokens, struct nb_error *error)
{
    const char *name = user;
    size_t kept = 0, count = tokens->count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tokens->all[i].name, name) != 0)
            tokens->all[kept++] = tokens->all[i];
    }
    tokens->count = kept;
    if (kept < count)
        return 0;
    return nb_error_set(error, NB_NOT_FOUND,
                        "there is no token %s in the file; bayesd --list-tokens shows those that "
                        "are, and tokens of the configuration are removed there",
                        name);
}

static int revoke_token(const struct nb_options *options, const struct nb_config *config,
                        struct nb_error *error)
{
    char path[NB_TOKEN_FILE_PATH], name[NB_TOKEN_NAME];
    if (!nb_token_is_name(nb_string_of(options->token)))
        return nb_error_set(error, NB_INVALID,
                            "--revoke-token: a name has 1 to 64 letters, digits and ._-@");
    (void)snprintf(name, sizeof name, "%s", options->token);
    nb_token_file_path(config, path);
    int rc = nb_token_file_update(path, take_out, name, error);
    if (rc == 0)
        say_when();
    return rc;
}

int nb_offline_act(const struct nb_options *options, struct nb_config *config,
                   struct nb_error *error)
{
    switch (options->action) {
    case NB_ACTION_CHECK_CONFIG:
        return check_config(config, error);
    case NB_ACTION_PRINT_CONFIG:
        return print_config(config, error);
    case NB_ACTION_VERIFY:
        return verify(config, error);
    case NB_ACTION_REBUILD:
        return rebuild(config, error);
    case NB_ACTION_RESTORE:
        return restore(config, options->backup, error);
    case NB_ACTION_JOIN:
        return nb_join(config, options->peer, error);
    case NB_ACTION_NODES_INIT:
        return nb_nodes_init(config, error);
    case NB_ACTION_NEW_TOKEN:
        return make_token(options, config, error);
    case NB_ACTION_LIST_TOKENS:
        return list_tokens(config, error);
    case NB_ACTION_REVOKE_TOKEN:
        return revoke_token(options, config, error);
    case NB_ACTION_SERVE:
    case NB_ACTION_VERSION:
    case NB_ACTION_HELP:
    default:
        break;
    }
    assert(false);
    return NB_INVALID;
}
