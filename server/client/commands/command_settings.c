/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc create and set: makes a model with settings, or changes the settings of one.
 */
#include <stdlib.h>
#include <string.h>

#include "server/client/base/client_answer.h"
#include "server/client/base/client_settings.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/client/terminal/terminal.h"

#define ONLY_IF_NEW "If-None-Match: *" /* RFC 9110, section 13.1.2 */

struct create_options {
    const char *preset, *source;
    struct nb_flag_list settings;
};

static const struct create_options DEFAULTS = {.preset = NULL};

static const struct nb_flag CREATE_FLAGS[] = {
    {"preset", 'p', NB_FLAG_TEXT, "PRESET", offsetof(struct create_options, preset), 0, 0,
     "text (the default), mail (raw mails) or book (the textbook to the\nletter)"},
    {"set", 0, NB_FLAG_LIST, "NAME=VALUE", offsetof(struct create_options, settings), 0, 0,
     "a setting of the model; may be repeated"},
    NB_SOURCE_FLAG(struct create_options),
};

static const struct nb_flag SET_FLAGS[] = {
    NB_SOURCE_FLAG(struct create_options),
};

/* The body has all settings that differ from the defaults of the preset. */
static const struct nb_exchange SENDING = {
    .method = "PUT",
    .path = "/v1/models/{model}",
    .query = {{"source", NB_FLAG_TEXT, offsetof(struct create_options, source), false}},
    .text = "{model}: created, with the preset {settings.preset}\n",
};

/* ---- create ---------------------------------------------------------------------------------- */

static int run_create(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct create_options *options = user;
    json_t *settings = json_pack("{s:s*}", "preset", options->preset), *row = NULL;
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count), settings,
                                            .headers = ONLY_IF_NEW,
                                            .headers_size = sizeof ONLY_IF_NEW};
    int rc = settings == NULL
                 ? nb_error_set(error, NB_CLIENT_USAGE, "the name of the preset is not UTF-8")
                 : 0;
    for (size_t i = 0; rc == 0 && i < options->settings.count; i++)
        rc = nb_settings_put(settings, options->settings.items[i], error);
    if (rc == 0)
        rc = nb_exchange_ask(&SENDING, &asked, &row, error);
    if (rc == NB_CONFLICT)
        rc = nb_error_set(error, NB_EXISTS,
                          "there is a model '%s' already: bayesc set changes its settings",
                          client->model);
    if (rc == 0)
        rc = nb_exchange_show(&SENDING, &asked, row, error);
    json_decref(row);
    json_decref(settings);
    return rc;
}

/* ---- set ------------------------------------------------------------------------------------- */

/* Adds the settings that stay. A PUT resets every setting that it leaves out, so it must repeat
 * those that stay, unless the preset changes: then the defaults of the new preset are wanted. */
static void keep_others(json_t *changes, json_t *settings)
{
    const char *name;
    json_t *value;
    void *next;
    if (json_object_get(changes, "preset") == NULL)
        (void)json_object_update_missing(changes, settings);
    json_object_foreach_safe(changes, next, name, value)
    {
        if (json_is_null(value) && !json_is_null(json_object_get(settings, name)))
            (void)json_object_del(changes, name);
    }
}

static void print_changes(const struct nb_client *client, json_t *before, const json_t *after)
{
    const char *name;
    const json_t *old;
    bool has_changed = false;
    json_object_foreach(before, name, old)
    {
        const json_t *new = json_object_get(after, name);
        if (json_equal(old, new))
            continue;
        char *was = json_dumps(old, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
        char *is = json_dumps(new, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
        (void)printf("%s: %s is %s now, it was %s\n", nb_shown(client->model).text,
                     nb_shown(name).text, nb_shown(is != NULL ? is : "").text,
                     nb_shown(was != NULL ? was : "").text);
        has_changed = true;
        free(was);
        free(is);
    }
    if (!has_changed)
        (void)printf("%s: nothing has changed\n", nb_shown(client->model).text);
}

static int run_set(struct nb_client *client, const void *user, char **arguments, size_t count,
                   struct nb_error *error)
{
    json_t *changes = json_object(), *before = NULL, *after = NULL;
    const struct nb_exchange_input asked = {NB_ASKED(client, user, arguments, count),
                                            .body = changes};
    int rc = count > 0 ? 0
                       : nb_error_set(error, NB_CLIENT_USAGE,
                                      "set needs settings: NAME=VALUE (bayesc show %s lists them)",
                                      client->model);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_settings_put(changes, arguments[i], error);
    if (rc == 0)
        rc = nb_answer_get(client, "", &before, error);
    json_t *settings = json_object_get(before, "settings");
    keep_others(changes, settings);
    if (rc == 0)
        rc = nb_exchange_ask(&SENDING, &asked, &after, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(after, error);
    else if (rc == 0)
        print_changes(client, settings, json_object_get(after, "settings"));
    json_decref(after);
    json_decref(before);
    json_decref(changes);
    return rc;
}

const struct nb_command NB_COMMAND_CREATE = {
    .name = "create",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Makes a model with settings",
    .details =
        "Without it the first document makes a model, with the preset mail if that is a mail, and\n"
        "text if not. It is refused when there is a model of this name.\n"
        "\n"
        "  bayesc create tickets --preset text --set max_age=31536000\n"
        "  bayesc create tickets --set 'fields={\"price\":\"number\"}'\n",
    NB_COMMAND_FLAGS(CREATE_FLAGS, DEFAULTS),
    .most = 1,
    .patience = 60,
    .run = run_create,
};

const struct nb_command NB_COMMAND_SET = {
    .name = "set",
    .arguments = "[MODEL] NAME=VALUE...",
    .model_from = 1,
    .takes_settings = true,
    .summary = "Changes settings of a model",
    .details =
        "NAME= alone gives a setting its default. The others stay, unless preset changes: then\n"
        "those that are not named become what the new preset says. `bayesc show` lists the\n"
        "settings and says what one means.\n"
        "\n"
        "  bayesc set mail near_duplicates=3 max_age=31536000\n",
    NB_COMMAND_FLAGS(SET_FLAGS, DEFAULTS),
    .least = 1,
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_set,
};
