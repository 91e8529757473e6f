/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc sample: draws a document of a label from a model, or shows the estimates that it would be
 * drawn from.
 */
#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

struct sample_options {
    const char *label;
    uint64_t length, seed, estimates;
    double temperature, interval;
};

static const struct sample_options DEFAULTS = {.length = 50, .temperature = 1, .interval = 0.95};

static const struct nb_flag FLAGS[] = {
    {"label", 'l', NB_FLAG_TEXT, "LABEL", offsetof(struct sample_options, label), 0, 0,
     "the label of the document; needed"},
    {"length", 'n', NB_FLAG_COUNT, "N", offsetof(struct sample_options, length), 0, 1e7,
     "number of words (default: 50)"},
    {"seed", 's', NB_FLAG_COUNT, "N", offsetof(struct sample_options, seed), 0, 9e15,
     "another number gives another document (default: 0)"},
    {"temperature", 't', NB_FLAG_NUMBER, "T", offsetof(struct sample_options, temperature), 0.05,
     100, "less than 1 prefers frequent words, more makes all alike (default: 1)"},
    {"estimates", 'e', NB_FLAG_COUNT, "N", offsetof(struct sample_options, estimates), 0, 1e7,
     "instead of a document: the N most probable words, and their probabilities"},
    {"interval", 0, NB_FLAG_NUMBER, "P", offsetof(struct sample_options, interval), 1e-6, 0.999999,
     "with --estimates: the probability of the intervals (default: 0.95)"},
};

static int path_of(struct nb_buffer *rest, const struct sample_options *options)
{
    int rc = options->estimates > 0
                 ? nb_buffer_printf(rest, "/distribution?limit=%ju&interval=%.17g",
                                    (uintmax_t)options->estimates, options->interval)
                 : nb_buffer_printf(rest, "/sample?length=%ju&seed=%ju&temperature=%.17g",
                                    (uintmax_t)options->length, (uintmax_t)options->seed,
                                    options->temperature);
    return rc == 0 ? nb_path_query(rest, "label", options->label) : rc;
}

/* A number, a category, or a set with its members in one line. */
static void print_value(const char *field, const json_t *value)
{
    size_t i;
    const json_t *member;
    (void)printf("%s=", nb_shown(field).text);
    if (json_is_number(value))
        (void)printf("%.10g", json_number_value(value));
    else if (json_is_string(value))
        (void)fputs(nb_shown(json_string_value(value)).text, stdout);
    json_array_foreach(value, i, member)
    {
        (void)printf("%s%s", i > 0 ? ", " : "", nb_shown(json_string_value(member)).text);
    }

    (void)putchar('\n');
}

static void print_document(json_t *reply)
{
    size_t i;
    const char *field;
    const json_t *token;
    json_t *value;
    json_array_foreach(json_object_get(reply, "tokens"), i, token)
    {
        (void)printf("%s%s", i > 0 ? " " : "", nb_shown(json_string_value(token)).text);
    }

    (void)putchar('\n');
    json_object_foreach(json_object_get(reply, "values"), field, value)
    {
        print_value(field, value);
    }
}

/* Cells: a probability, and where its interval begins and ends. */
static void add_estimate(struct nb_text_table *table, const json_t *row)
{
    const json_t *interval = json_object_get(row, "interval");
    nb_table_cell(table, "%.4g", json_number_value(json_object_get(row, "probability")));
    for (size_t i = 0; i < 2; i++) {
        if (interval == NULL)
            nb_table_cell(table, "-");
        else
            nb_table_cell(table, "%.4g", json_number_value(json_array_get(interval, i)));
    }
}

static void print_estimates(const json_t *reply)
{
    static const char *const HEAD[] = {"", ">count", ">probability", ">from", ">to"};
    const json_t *prior = json_object_get(reply, "prior"), *row;
    const json_t *unseen = json_object_get(reply, "unseen");
    struct nb_text_table table;
    size_t i;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    nb_table_cell(&table, "(the label)");
    nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(prior, "documents")).text);
    add_estimate(&table, prior);
    json_array_foreach(json_object_get(reply, "tokens"), i, row)
    {
        nb_table_cell(&table, "%s", nb_answer_text(row, "token"));
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(row, "count")).text);
        add_estimate(&table, row);
    }

    if (unseen != NULL) {
        nb_table_cell(&table, "(any other word)");
        nb_table_cell(&table, "0");
        add_estimate(&table, unseen);
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* The values of one field, each in a row. */
static void add_values(struct nb_text_table *table, const json_t *field)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(field, "values"), i, row)
    {
        struct nb_shown name = nb_shown(nb_answer_text(field, "field"));
        nb_table_cell(table, "%s=%s", name.text, nb_answer_text(row, "value"));
        nb_table_cell(table, "%s", nb_figure_of(nb_answer_number(row, "count")).text);
        add_estimate(table, row);
    }
}

static void print_values(const json_t *fields)
{
    static const char *const HEAD[] = {"value", ">count", ">probability", ">from", ">to"};
    struct nb_text_table table;
    size_t i;
    const json_t *field;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(fields, i, field)
    {
        add_values(&table, field);
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static void add_field(struct nb_text_table *table, const json_t *field)
{
    static const char *const MOMENTS[] = {"mean", "deviation"};
    nb_table_cell(table, "%s", nb_answer_text(field, "field"));
    nb_table_cell(table, "%s", nb_figure_of(nb_answer_number(field, "documents")).text);
    nb_table_cell(table, "%s", nb_figure_of(nb_answer_number(field, "missing")).text);
    for (size_t i = 0; i < 2; i++) {
        const json_t *number = json_object_get(field, MOMENTS[i]);
        if (number == NULL)
            nb_table_cell(table, "-");
        else
            nb_table_cell(table, "%.4g", json_number_value(number));
    }
}

/* A table of the fields, if the settings name any, and one of the values. */
static void print_fields(const json_t *fields)
{
    static const char *const HEAD[] = {"field", ">documents", ">missing", ">mean", ">deviation"};
    struct nb_text_table table;
    size_t i;
    const json_t *field;
    if (fields == NULL)
        return;
    (void)putchar('\n');
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(fields, i, field)
    {
        add_field(&table, field);
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
    (void)putchar('\n');
    print_values(fields);
}

static int run_sample(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct sample_options *options = user;
    struct nb_buffer rest = {0};
    json_t *reply = NULL;
    if (options->label == NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "--label is missing: a document of which?");
    if (count == 1)
        client->model = arguments[0];
    int rc = path_of(&rest, options) == 0 ? nb_answer_get(client, rest.bytes, &reply, error)
                                          : nb_error_no_memory(error);
    nb_buffer_deinit(&rest);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0 && options->estimates > 0) {
        print_estimates(reply);
        print_fields(json_object_get(reply, "fields"));
    } else if (rc == 0)
        print_document(reply);
    json_decref(reply);
    return rc;
}

const struct nb_command NB_COMMAND_SAMPLE = {
    .name = "sample",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Draws a document of a label from a model",
    .details =
        "Its words are independent of each other, as naive Bayes takes them to be, and as "
        "frequent\n"
        "as in the documents of the label. Values of fields follow, a line for each. The same\n"
        "seed gives the same document as long as the model learns nothing. --estimates shows the\n"
        "probabilities of the label, its words and its values, with the intervals in which they\n"
        "are believed to lie.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = 1,
    .patience = 10,
    .run = run_sample,
};
