/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc create and set: makes a model with settings, or changes the settings of one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label.h"
#include "core/base/string.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/http/call/path.h"

#define ONLY_IF_NEW "If-None-Match: *" /* RFC 9110, section 13.1.2 */

struct create_options {
    const char *preset, *source;
    struct nb_flag_list settings;
};

static const struct create_options DEFAULTS = {.preset = NULL};

static const struct nb_flag CREATE_FLAGS[] = {
    {"preset", 'p', NB_FLAG_TEXT, offsetof(struct create_options, preset), 0, 0},
    {"set", 0, NB_FLAG_LIST, offsetof(struct create_options, settings), 0, 0},
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
        rc = nb_exchange_check_model(client, error);
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
    if (rc == 0)
        print_warnings(after);
    json_decref(after);
    json_decref(before);
    json_decref(changes);
    return rc;
}

const struct nb_command NB_COMMAND_CREATE = {
    .name = "create",
    .model_from = 1,
    NB_COMMAND_FLAGS(CREATE_FLAGS, DEFAULTS),
    .most = 1,
    .patience = 60,
    .run = run_create,
};

const struct nb_command NB_COMMAND_SET = {
    .name = "set",
    .model_from = 1,
    .takes_settings = true,
    NB_COMMAND_FLAGS(SET_FLAGS, DEFAULTS),
    .least = 1,
    .most = SIZE_MAX,
    .patience = 60,
    .run = run_set,
};

/* bayesc show prints the settings of a model and their meanings, in the words of the daemon's own
 * description of its interface; bayesc stats prints its counts and most telling tokens. */
static const struct nb_table_column SETTINGS_COLUMNS[] = {
    NB_COLUMN("setting", "@", NB_CELL_TEXT, 0),
    NB_COLUMN("value", NULL, NB_CELL_JSON, 0),
};

/* ---- show ------------------------------------------------------------------------------------ */

/* Gets the daemon's description of each setting, by name. *meanings is owned by the caller. */
static int get_meanings(const struct nb_client *client, json_t **meanings, struct nb_error *error)
{
    json_t *interface = NULL;
    const struct nb_call_request request = {.method = "GET", .path = "/openapi.json"};
    int rc = nb_call_once(&client->daemon, &request, &interface, error);
    json_t *schemas = json_object_get(json_object_get(interface, "components"), "schemas");
    *meanings = json_incref(json_object_get(json_object_get(schemas, "Settings"), "properties"));
    json_decref(interface);
    return rc;
}

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
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
    char *usual = json_dumps(json_object_get(row, "x-default"), JSON_ENCODE_ANY | JSON_COMPACT);
    (void)printf("%s = %s\n", nb_shown(name).text, nb_shown(text != NULL ? text : "").text);
    if (usual != NULL)
        (void)printf("default of the preset text: %s\n", nb_shown(usual).text);
    nb_terminal_wrap(nb_answer_text(row, "description"), 0, 0, stdout);
    free(text);
    free(usual);
    return 0;
}

static int run_show(struct nb_client *client, const void *user, char **arguments, size_t count,
                    struct nb_error *error)
{
    json_t *row = NULL, *meanings = NULL;
    (void)user;
    int rc = nb_answer_get(client, "", &row, error);
    json_t *settings = json_object_get(row, "settings");
    if (rc == 0 && count > 0)
        rc = get_meanings(client, &meanings, error);
    for (size_t i = 0; i < count && rc == 0 && !client->json; i++)
        rc = explain(settings, meanings, arguments[i], error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0 && count == 0)
        nb_table_rows_print(NB_COLUMNS(SETTINGS_COLUMNS), settings, stdout);
    json_decref(meanings);
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

struct stats_options {
    uint64_t tokens;
    bool has_settings;
};

static const struct stats_options STATS_DEFAULTS = {.tokens = 10};

static const struct nb_flag STATS_FLAGS[] = {
    {"tokens", 'n', NB_FLAG_COUNT, offsetof(struct stats_options, tokens), 0, 10000},
    {"settings", 's', NB_FLAG_SWITCH, offsetof(struct stats_options, has_settings), 0, 0},
};

static const struct nb_table_column LABEL_COLUMNS[] = {
    NB_COLUMN("label", "@", NB_CELL_TEXT, 0),
    NB_COLUMN(">documents", "documents", NB_CELL_COUNT, 0),
    NB_COLUMN(">tokens", "tokens", NB_CELL_COUNT, 0),
};

/* Puts the vocabulary of each label into `vocabularies`, an object. */
static int get_vocabularies(const struct nb_client *client, json_t *labels, uint64_t tokens,
                            json_t *vocabularies, struct nb_error *error)
{
    const char *name;
    const json_t *counts;
    struct nb_buffer rest = {0};
    int rc = 0;
    json_object_foreach(labels, name, counts)
    {
        json_t *listing = NULL;
        rest.length = 0;
        if (nb_answer_number(counts, "documents") == 0 || rc != 0)
            continue;
        rc = nb_buffer_printf(&rest, "/vocabulary?limit=%ju", (uintmax_t)tokens);
        if (rc == 0)
            rc = nb_path_query(&rest, "label", name);
        rc = rc == 0 ? nb_answer_get(client, rest.bytes, &listing, error)
                     : nb_error_no_memory(error);
        if (rc == 0)
            (void)json_object_set_new(vocabularies, name, listing);
    }
    nb_buffer_deinit(&rest);
    return rc;
}

static void print_tokens(const char *label, const json_t *listing)
{
    static const char *const HEAD[] = {"token", ">evidence", ">count", ">in others"};
    struct nb_text_table table;
    size_t i;
    const json_t *row;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(json_object_get(listing, "tokens"), i, row)
    {
        const char *token = json_string_value(json_object_get(row, "token")), *name;
        const json_t *count;
        uint64_t own = 0, others = 0;
        json_object_foreach(json_object_get(row, "counts"), name, count)
        {
            *(strcmp(name, label) == 0 ? &own : &others) += (uint64_t)json_integer_value(count);
        }

        nb_table_cell(&table, "%s", token != NULL ? token : "(not kept)");
        /* null: the relative frequency of the label or that of the others is 0 */
        const json_t *evidence = json_object_get(row, "evidence");
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

static void print_stats(const struct nb_exchange_input *asked, json_t *row)
{
    const struct stats_options *options = asked->options;
    const char *label;
    const json_t *listing;
    nb_exchange_text("{model}: {documents document}, {vocabulary word}\n\n", asked, row);
    nb_table_rows_print(NB_COLUMNS(LABEL_COLUMNS), json_object_get(row, "labels"), stdout);
    json_object_foreach(json_object_get(row, "telling"), label, listing)
    {
        print_tokens(label, listing);
    }

    if (!options->has_settings)
        return;
    (void)putchar('\n');
    nb_table_rows_print(NB_COLUMNS(SETTINGS_COLUMNS), json_object_get(row, "settings"), stdout);
}

static const struct nb_exchange STATS = {
    .method = "GET", .path = "/v1/models/{model}", .print = print_stats};

static int run_stats(struct nb_client *client, const void *user, char **arguments, size_t count,
                     struct nb_error *error)
{
    const struct stats_options *options = user;
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    json_t *row = NULL, *vocabularies = json_object();
    int rc = nb_exchange_ask(&STATS, &asked, &row, error);
    if (rc == 0 && options->tokens > 0)
        rc = get_vocabularies(client, json_object_get(row, "labels"), options->tokens, vocabularies,
                              error);
    (void)json_object_set(row, "telling", vocabularies);
    if (rc == 0)
        rc = nb_exchange_show(&STATS, &asked, row, error);
    json_decref(vocabularies);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_STATS = {
    .name = "stats",
    .model_from = 1,
    NB_COMMAND_FLAGS(STATS_FLAGS, STATS_DEFAULTS),
    .most = 1,
    .patience = 10,
    .run = run_stats,
};
