/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc stats: shows a model's counts and most telling tokens, and its settings on request.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/models/settings_table.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

struct stats_options {
    uint64_t tokens;
    bool has_settings;
};

static const struct stats_options DEFAULTS = {.tokens = 10};

static const struct nb_flag FLAGS[] = {
    {"tokens", 'n', NB_FLAG_COUNT, "N", offsetof(struct stats_options, tokens), 0, 10000,
     "number of the most telling tokens of each label (default: 10)"},
    {"settings", 's', NB_FLAG_SWITCH, NULL, offsetof(struct stats_options, has_settings), 0, 0,
     "the settings, too"},
};

static void print_labels(json_t *labels)
{
    static const char *const HEAD[] = {"label", ">documents", ">tokens"};
    struct nb_text_table table;
    const char *name;
    const json_t *counts;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_object_foreach(labels, name, counts)
    {
        nb_table_cell(&table, "%s", name);
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(counts, "documents")).text);
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(counts, "tokens")).text);
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

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
        /* null: a relative frequency of 0, of the label's own or of that of the others */
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

static void print_stats(const char *model, const json_t *row, json_t *vocabularies,
                        bool has_settings)
{
    const char *label;
    const json_t *listing;
    (void)printf("%s: %s documents, %s words\n\n", nb_shown(model).text,
                 nb_figure_of(nb_answer_number(row, "documents")).text,
                 nb_figure_of(nb_answer_number(row, "vocabulary")).text);
    print_labels(json_object_get(row, "labels"));
    json_object_foreach(vocabularies, label, listing)
    {
        print_tokens(label, listing);
    }

    if (!has_settings)
        return;
    (void)putchar('\n');
    nb_settings_table_print(json_object_get(row, "settings"));
}

static int run_stats(struct nb_client *client, const void *user, char **arguments, size_t count,
                     struct nb_error *error)
{
    const struct stats_options *options = user;
    json_t *row = NULL, *vocabularies = json_object();
    if (count == 1)
        client->model = arguments[0];
    int rc = nb_answer_get(client, "", &row, error);
    if (rc == 0 && options->tokens > 0)
        rc = get_vocabularies(client, json_object_get(row, "labels"), options->tokens, vocabularies,
                              error);
    if (rc == 0 && client->json) {
        (void)json_object_set(row, "telling", vocabularies);
        rc = nb_answer_print(row, error);
    } else if (rc == 0) {
        print_stats(client->model, row, vocabularies, options->has_settings);
    }
    json_decref(vocabularies);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_STATS = {
    .name = "stats",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Shows a model's counts and most telling tokens",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = 1,
    .patience = 10,
    .run = run_stats,
};
