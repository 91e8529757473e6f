/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc create and set: makes a model with settings, or changes the settings of one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "core/base/string.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

/* The body has all settings that differ from the defaults of the preset. */
static const struct nb_exchange SENDING = {
    .method = "PUT",
    .path = "/v1/models/{model}",
    .query = {"source"},
    .text = "{model}: created, with the preset {settings.preset}\n",
};

/* The daemon's doubts about the settings: names of labels and values that no document has. */
static void print_warnings(const json_t *reply)
{
    size_t i;
    const json_t *warning;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
    {
        nb_message("warning: %s", json_string_value(warning));
    }
}

/* ---- create ---------------------------------------------------------------------------------- */

static int run_create(struct nb_asked *asked, struct nb_error *error)
{
    const struct nb_command_options *options = asked->options;
    json_t *row = NULL;
    asked->body = json_pack("{s:s*}", "preset", options->preset);
    asked->header = "If-None-Match: *"; /* only if it is new: RFC 9110, section 13.1.2 */
    int rc = asked->body == NULL
                 ? nb_error_set(error, NB_CLIENT_USAGE, "the name of the preset is not UTF-8")
                 : 0;
    for (size_t i = 0; rc == 0 && i < options->settings.count; i++)
        rc = nb_settings_put(asked->body, options->settings.items[i], error);
    if (rc == 0)
        rc = nb_exchange_check_model(asked->client, error);
    if (rc == 0)
        rc = nb_exchange_ask(&SENDING, asked, &row, error);
    if (rc == NB_CONFLICT)
        rc = nb_error_set(error, NB_EXISTS,
                          "there is a model '%s' already: bayesc set changes its settings",
                          asked->client->model);
    if (rc == 0)
        rc = nb_exchange_show(&SENDING, asked, row, error);
    json_decref(row);
    json_decref(asked->body);
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
        char *was = nb_answer_dump(old);
        char *is = nb_answer_dump(new);
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

static int run_set(struct nb_asked *asked, struct nb_error *error)
{
    json_t *before = NULL, *after = NULL;
    int rc = asked->count > 0
                 ? 0
                 : nb_error_set(error, NB_CLIENT_USAGE,
                                "set needs settings: NAME=VALUE (bayesc show %s lists them)",
                                asked->client->model);
    asked->body = json_object();
    for (size_t i = 0; i < asked->count && rc == 0; i++)
        rc = nb_settings_put(asked->body, asked->arguments[i], error);
    if (rc == 0)
        rc = nb_model_get(asked->client, &before, error);
    json_t *settings = json_object_get(before, "settings");
    keep_others(asked->body, settings);
    if (rc == 0)
        rc = nb_exchange_ask(&SENDING, asked, &after, error);
    if (rc == 0 && asked->client->json)
        rc = nb_answer_print(after, error);
    else if (rc == 0)
        print_changes(asked->client, settings, json_object_get(after, "settings"));
    if (rc == 0)
        print_warnings(after);
    json_decref(after);
    json_decref(before);
    json_decref(asked->body);
    return rc;
}

static const struct nb_flag CREATE_FLAGS[] = {NB_TEXT("preset", 'p', preset),
                                              NB_LIST("set", 0, settings), NB_SOURCE_FLAG};

const struct nb_command NB_COMMAND_CREATE = {
    .name = "create",
    .model_from = 1,
    NB_FLAGS(CREATE_FLAGS),
    .most = 1,
    .patience = 60,
    .run = run_create,
};

static const struct nb_flag SET_FLAGS[] = {NB_SOURCE_FLAG};

const struct nb_command NB_COMMAND_SET = {
    .name = "set",
    .model_from = 1,
    .takes_settings = true,
    NB_FLAGS(SET_FLAGS),
    .least = 1,
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_set,
};

/* bayesc show prints the settings of a model and their meanings, in the words of the daemon's own
 * description of its interface; bayesc stats prints its counts and most telling tokens. */
#define SETTINGS_COLUMNS "setting=@|value=:j"

/* ---- show ------------------------------------------------------------------------------------ */

static int no_setting(const json_t *settings, const char *name, struct nb_error *error)
{
    const char *near = NULL, *known;
    json_t *value, *object = (json_t *)(uintptr_t)settings; /* its iterators only read it */
    json_object_foreach(object, known, value)
    {
        if (nb_near_is(nb_string_of(name), nb_string_of(known)))
            near = known;
    }
    return nb_error_set(
        error, NB_NOT_FOUND, "there is no setting '%s'%s%s%s (bayesc show MODEL lists them)", name,
        near != NULL ? ": did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

static int explain(const json_t *settings, const json_t *meanings, const char *name,
                   struct nb_error *error)
{
    const json_t *value = json_object_get(settings, name), *row = json_object_get(meanings, name);
    if (value == NULL)
        return no_setting(settings, name, error);
    char *text = nb_answer_dump(value);
    char *usual = nb_answer_dump(json_object_get(row, "x-default"));
    (void)printf("%s = %s\n", nb_shown(name).text, nb_shown(text != NULL ? text : "").text);
    if (usual != NULL)
        (void)printf("default of the preset text: %s\n", nb_shown(usual).text);
    nb_terminal_wrap(nb_answer_text(row, "description"), 0, 0, stdout);
    free(text);
    free(usual);
    return 0;
}

static int run_show(struct nb_asked *asked, struct nb_error *error)
{
    static const struct nb_exchange DESCRIBING = {.method = "GET", .path = "/openapi.json"};
    const struct nb_client *client = asked->client;
    json_t *row = NULL, *interface = NULL;
    int rc = nb_model_get(client, &row, error);
    json_t *settings = json_object_get(row, "settings");
    if (rc == 0 && asked->count > 0)
        rc = nb_exchange_ask(&DESCRIBING, asked, &interface, error);
    const json_t *meanings =
        nb_answer_member(interface, nb_string_of("components.schemas.Settings.properties"));
    for (size_t i = 0; i < asked->count && rc == 0 && !client->json; i++)
        rc = explain(settings, meanings, asked->arguments[i], error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0 && asked->count == 0)
        nb_table_print_rows(SETTINGS_COLUMNS, settings, stdout);
    json_decref(interface);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_SHOW = {
    .name = "show",
    .model_from = 1,
    .most = SIZE_MAX,
    .patience = 10,
    .run = run_show,
};

/* ---- stats ----------------------------------------------------------------------------------- */

/* Puts the most telling tokens of each label into `telling`, an object. */
static int get_telling(struct nb_asked *asked, json_t *labels, json_t *telling,
                       struct nb_error *error)
{
    static const struct nb_exchange VOCABULARY = {
        .method = "GET", .path = "/v1/models/{model}/vocabulary", .query = {"limit=tokens"}};
    const char *name;
    const json_t *counts;
    int rc = 0;
    asked->more[0].name = "label";
    json_object_foreach(labels, name, counts)
    {
        json_t *listing = NULL;
        if (nb_answer_number(counts, "documents") == 0 || rc != 0)
            continue;
        asked->more[0].value = name;
        rc = nb_exchange_ask(&VOCABULARY, asked, &listing, error);
        (void)json_object_set_new(telling, name, listing);
    }
    return rc;
}

static void print_tokens(const char *label, const json_t *listing)
{
    struct nb_text_table table;
    size_t i;
    const json_t *row;
    nb_table_begin(&table, "token|>evidence|>count|>in others");
    json_array_foreach(json_object_get(listing, "tokens"), i, row)
    {
        const char *token = json_string_value(json_object_get(row, "token")), *name;
        const json_t *count, *evidence = json_object_get(row, "evidence");
        uint64_t own = 0, others = 0;
        json_object_foreach(json_object_get(row, "counts"), name, count)
        {
            *(strcmp(name, label) == 0 ? &own : &others) += (uint64_t)json_integer_value(count);
        }
        nb_table_cell(&table, "%s", token != NULL ? token : "(not kept)");
        /* null: the relative frequency of the label or that of the others is 0 */
        double infinite = own > 0 ? (double)INFINITY : -(double)INFINITY;
        nb_table_cell(&table, "%+.3f",
                      json_is_null(evidence) ? infinite : json_number_value(evidence));
        nb_table_cell(&table, "%s", nb_figure_of(own).text);
        nb_table_cell(&table, "%s", nb_figure_of(others).text);
    }
    (void)printf("\nmost telling for %s\n", nb_shown(label).text);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static void print_stats(const struct nb_asked *asked, json_t *row)
{
    const char *label;
    const json_t *listing;
    nb_exchange_text("{model}: {documents document}, {vocabulary word}\n\n", asked, row);
    nb_table_print_rows("label=@|>documents|>tokens", json_object_get(row, "labels"), stdout);
    json_object_foreach(json_object_get(row, "telling"), label, listing)
    {
        print_tokens(label, listing);
    }
    if (!asked->options->has_settings)
        return;
    (void)putchar('\n');
    nb_table_print_rows(SETTINGS_COLUMNS, json_object_get(row, "settings"), stdout);
}

static const struct nb_exchange STATS = {
    .method = "GET", .path = "/v1/models/{model}", .print = print_stats};

static int run_stats(struct nb_asked *asked, struct nb_error *error)
{
    json_t *row = NULL, *telling = json_object();
    int rc = nb_exchange_ask(&STATS, asked, &row, error);
    if (rc == 0 && asked->options->tokens > 0)
        rc = get_telling(asked, json_object_get(row, "labels"), telling, error);
    (void)json_object_set(row, "telling", telling);
    if (rc == 0)
        rc = nb_exchange_show(&STATS, asked, row, error);
    json_decref(telling);
    json_decref(row);
    return rc;
}

static const struct nb_flag STATS_FLAGS[] = {NB_COUNT("tokens", 'n', tokens, 10, 0, 10000),
                                             NB_SWITCH("settings", 's', has_settings)};

const struct nb_command NB_COMMAND_STATS = {
    .name = "stats",
    .model_from = 1,
    NB_FLAGS(STATS_FLAGS),
    .most = 1,
    .patience = 10,
    .run = run_stats,
};
