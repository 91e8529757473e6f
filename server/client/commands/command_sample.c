/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc sample: draws a document of a label from a model, or shows the estimates that it would be
 * drawn from.
 */
#include <stdio.h>

#include "server/client/base/client_answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/client/terminal/table_rows.h"
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

/* Prints a number, a category, or a set with its members in one line. */
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

static void print_document(const struct nb_exchange_input *asked, json_t *reply)
{
    (void)asked;
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

/* Adds the beginning or the end of the interval of a probability. */
static void add_end(struct nb_text_table *table, const json_t *row, size_t end)
{
    const json_t *interval = json_object_get(row, "interval");
    if (interval == NULL)
        nb_table_cell(table, "-");
    else
        nb_table_cell(table, "%.4g", json_number_value(json_array_get(interval, end)));
}

static void add_from(struct nb_text_table *table, const char *name, const json_t *row)
{
    (void)name;
    add_end(table, row, 0);
}

static void add_to(struct nb_text_table *table, const char *name, const json_t *row)
{
    (void)name;
    add_end(table, row, 1);
}

/* The columns of an estimate, after the column that names its subject. */
#define ESTIMATE                                                                                   \
    NB_COLUMN(">count", "count", NB_CELL_COUNT, 0),                                                \
        NB_COLUMN(">probability", "probability", NB_CELL_GENERAL, 4),                              \
        {.head = ">from", .add = add_from},                                                        \
    {                                                                                              \
        .head = ">to", .add = add_to                                                               \
    }

static void print_estimates(json_t *reply)
{
    static const struct nb_table_column PRIOR[] = {
        NB_COLUMN("", "@", NB_CELL_TEXT, 0),
        NB_COLUMN(">count", "documents", NB_CELL_COUNT, 0),
        NB_COLUMN(">probability", "probability", NB_CELL_GENERAL, 4),
        {.head = ">from", .add = add_from},
        {.head = ">to", .add = add_to}};
    static const struct nb_table_column TOKEN[] = {NB_COLUMN("", "token", NB_CELL_TEXT, 0),
                                                   ESTIMATE};
    static const struct nb_table_column UNSEEN[] = {NB_COLUMN("", "@", NB_CELL_TEXT, 0), ESTIMATE};
    const json_t *unseen = json_object_get(reply, "unseen");
    struct nb_text_table table;
    nb_table_rows_head(&table, NB_COLUMNS(PRIOR));
    nb_table_rows_add(&table, NB_COLUMNS(PRIOR), "(the label)", 0, json_object_get(reply, "prior"));
    nb_table_rows_fill(&table, NB_COLUMNS(TOKEN), json_object_get(reply, "tokens"));
    if (unseen != NULL)
        nb_table_rows_add(&table, NB_COLUMNS(UNSEEN), "(any other word)", 0, unseen);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* Prints the values of all fields, each in a row: "field=value". */
static void print_values(const json_t *fields)
{
    static const struct nb_table_column VALUE[] = {NB_COLUMN("value", "@", NB_CELL_TEXT, 0),
                                                   ESTIMATE};
    struct nb_text_table table;
    size_t i, k;
    const json_t *field, *row;
    nb_table_rows_head(&table, NB_COLUMNS(VALUE));
    json_array_foreach(fields, i, field)
    {
        json_array_foreach(json_object_get(field, "values"), k, row)
        {
            char name[2 * NB_SHOWN_BYTES + 2];
            (void)snprintf(name, sizeof name, "%s=%s",
                           nb_shown(nb_answer_text(field, "field")).text,
                           nb_shown(nb_answer_text(row, "value")).text);
            nb_table_rows_add(&table, NB_COLUMNS(VALUE), name, k, row);
        }
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static const struct nb_table_column FIELD_COLUMNS[] = {
    NB_COLUMN("field", "field", NB_CELL_TEXT, 0),
    NB_COLUMN(">documents", "documents", NB_CELL_COUNT, 0),
    NB_COLUMN(">missing", "missing", NB_CELL_COUNT, 0),
    NB_COLUMN(">mean", "mean", NB_CELL_GENERAL, 4),
    NB_COLUMN(">deviation", "deviation", NB_CELL_GENERAL, 4),
};

/* Prints the estimates. For a model whose settings name fields it prints a table of the fields and
 * one of the values. */
static void print_distribution(const struct nb_exchange_input *asked, json_t *reply)
{
    const json_t *fields = json_object_get(reply, "fields");
    (void)asked;
    print_estimates(reply);
    if (fields == NULL)
        return;
    (void)putchar('\n');
    nb_table_rows_print(NB_COLUMNS(FIELD_COLUMNS), fields);
    (void)putchar('\n');
    print_values(fields);
}

#define AT(member) offsetof(struct sample_options, member)

static const struct nb_exchange SAMPLE = {
    .method = "GET",
    .path = "/v1/models/{model}/sample",
    .query = {{"label", NB_FLAG_TEXT, AT(label), false},
              {"length", NB_FLAG_COUNT, AT(length), false},
              {"seed", NB_FLAG_COUNT, AT(seed), false},
              {"temperature", NB_FLAG_NUMBER, AT(temperature), false}},
    .print = print_document,
};

static const struct nb_exchange DISTRIBUTION = {
    .method = "GET",
    .path = "/v1/models/{model}/distribution",
    .query = {{"label", NB_FLAG_TEXT, AT(label), false},
              {"limit", NB_FLAG_COUNT, AT(estimates), false},
              {"interval", NB_FLAG_NUMBER, AT(interval), false}},
    .print = print_distribution,
};

static int run_sample(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct sample_options *options = user;
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count)};
    if (options->label == NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "--label is missing: a document of which?");
    return nb_exchange_run(options->estimates > 0 ? &DISTRIBUTION : &SAMPLE, &asked, error);
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
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = 1,
    .patience = 10,
    .run = run_sample,
};
