/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc sample: draws a document of a label from a model, or shows the estimates that it would be
 * drawn from.
 */
#include <stdio.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"

struct sample_options {
    const char *label;
    uint64_t length, seed, estimates;
    double temperature, interval;
};

static const struct sample_options DEFAULTS = {.length = 50, .temperature = 1, .interval = 0.95};

static const struct nb_flag FLAGS[] = {
    {"label", 'l', NB_FLAG_TEXT, offsetof(struct sample_options, label), 0, 0},
    {"length", 'n', NB_FLAG_COUNT, offsetof(struct sample_options, length), 0, 1e7},
    {"seed", 's', NB_FLAG_COUNT, offsetof(struct sample_options, seed), 0, 9e15},
    {"temperature", 't', NB_FLAG_NUMBER, offsetof(struct sample_options, temperature), 0.05, 100},
    {"estimates", 'e', NB_FLAG_COUNT, offsetof(struct sample_options, estimates), 0, 1e7},
    {"interval", 0, NB_FLAG_NUMBER, offsetof(struct sample_options, interval), 1e-6, 0.999999},
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
    nb_table_rows_print(NB_COLUMNS(FIELD_COLUMNS), fields, stdout);
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
    .model_from = 1,
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = 1,
    .patience = 10,
    .run = run_sample,
};

/* bayesc cluster: finds topics among the documents without a label. */
struct cluster_options {
    uint64_t clusters, restarts, seed;
    bool all, members, apply;
    const char *by;
};

static const struct cluster_options CLUSTER_DEFAULTS = {.restarts = 8, .seed = 1};

static const struct nb_flag CLUSTER_FLAGS[] = {
    {"clusters", 'k', NB_FLAG_COUNT, offsetof(struct cluster_options, clusters), 1, 200},
    {"restarts", 'r', NB_FLAG_COUNT, offsetof(struct cluster_options, restarts), 1, 100},
    {"seed", 's', NB_FLAG_COUNT, offsetof(struct cluster_options, seed), 0, 9e15},
    {"all", 'a', NB_FLAG_SWITCH, offsetof(struct cluster_options, all), 0, 0},
    {"members", 0, NB_FLAG_SWITCH, offsetof(struct cluster_options, members), 0, 0},
    {"apply", 0, NB_FLAG_SWITCH, offsetof(struct cluster_options, apply), 0, 0},
    {"by", 0, NB_FLAG_TEXT, offsetof(struct cluster_options, by), 0, 0},
};

enum { CELL = 160 };

struct cell {
    char text[CELL];
    size_t length;
};

static void append(struct cell *cell, const char *space, const char *text)
{
    int more = snprintf(cell->text + cell->length, CELL - cell->length, "%s%s",
                        cell->length > 0 ? space : "", text);
    if (more < 0 || cell->length + (size_t)more >= CELL)
        cell->text[cell->length] = '\0'; /* words that do not fit are left out */
    else
        cell->length += (size_t)more;
}

/* Adds the most telling words, then the values of categories, as many as fit in a line. */
static void add_words(struct nb_text_table *table, const char *name, const json_t *cluster)
{
    (void)name;
    struct cell cell = {.length = 0};
    const json_t *word;
    size_t i;
    json_array_foreach(json_object_get(cluster, "words"), i, word)
    {
        append(&cell, " ", nb_shown(nb_answer_text(word, "token")).text);
    }
    json_array_foreach(json_object_get(cluster, "values"), i, word)
    {
        append(&cell, " ", nb_shown(nb_answer_text(word, "token")).text);
    }
    nb_table_cell(table, "%s", cell.text);
}

/* Adds each field of numbers with its mean and deviation. */
static void add_numbers(struct nb_text_table *table, const char *row_name, const json_t *cluster)
{
    (void)row_name;
    struct cell cell = {.length = 0};
    const char *name;
    json_t *number;
    json_object_foreach(json_object_get(cluster, "numbers"), name, number)
    {
        char figures[CELL];
        (void)snprintf(figures, sizeof figures, "%.40s %.6g (%.3g)", nb_shown(name).text,
                       json_number_value(json_object_get(number, "mean")),
                       json_number_value(json_object_get(number, "deviation")));
        append(&cell, ", ", figures);
    }
    nb_table_cell(table, "%s", cell.text);
}

static void print_clusters(json_t *reply)
{
    static const struct nb_table_column NUMBERS = {.head = "mean (deviation)", .add = add_numbers};
    static const struct nb_table_column LABEL = NB_COLUMN("label", "label", NB_CELL_TEXT, 0);
    const json_t *clusters = json_object_get(reply, "clusters");
    size_t count = 3;
    struct nb_table_column columns[5] = {
        NB_COLUMN(">", NULL, NB_CELL_INDEX, 0),
        NB_COLUMN(">documents", "documents", NB_CELL_COUNT, 0),
        {.head = "words", .add = add_words},
    };
    if (json_object_get(json_array_get(clusters, 0), "numbers") != NULL)
        columns[count++] = NUMBERS;
    if (json_object_get(reply, "labelled") != NULL)
        columns[count++] = LABEL;
    nb_table_rows_print(columns, count, clusters, stdout);
}

static void print_members(const json_t *reply)
{
    const json_t *cluster, *id;
    size_t i, j;
    json_array_foreach(json_object_get(reply, "clusters"), i, cluster)
    {
        json_array_foreach(json_object_get(cluster, "members"), j, id)
        {
            (void)printf("%zu\t%s\n", i + 1, nb_shown(json_string_value(id)).text);
        }
    }
}

static void print_reply(const struct nb_exchange_input *asked, json_t *reply)
{
    const struct cluster_options *options = asked->options;
    if (options->members)
        print_members(reply);
    else
        print_clusters(reply);
}

#define CLUSTER_AT(member) offsetof(struct cluster_options, member)

static int put_choice(const struct nb_exchange_input *asked, json_t *body, struct nb_error *error)
{
    const struct cluster_options *options = asked->options;
    json_t *choice =
        json_pack("{s:s, s:s, s:s*}", "clusters", "auto", "documents",
                  options->all ? "all" : "unlabelled", "apply", options->apply ? "labels" : NULL);
    return json_object_update_new(body, choice) == 0 ? 0 : nb_error_no_memory(error);
}

static const struct nb_exchange CLUSTERING = {
    .method = "POST",
    .path = "/v1/models/{model}/cluster",
    .query = {{"source", NB_FLAG_TEXT, CLUSTER_AT(by), false}},
    .body = {{"clusters", NB_FLAG_COUNT, CLUSTER_AT(clusters), true},
             {"restarts", NB_FLAG_COUNT, CLUSTER_AT(restarts), false},
             {"seed", NB_FLAG_COUNT, CLUSTER_AT(seed), false},
             {"members", NB_FLAG_SWITCH, CLUSTER_AT(members), false}},
    .fill = put_choice,
    .print = print_reply,
};

const struct nb_command NB_COMMAND_CLUSTER = {
    .name = "cluster",
    .model_from = 1,
    NB_COMMAND_FLAGS(CLUSTER_FLAGS, CLUSTER_DEFAULTS),
    .most = 1,
    .patience = 600,
    .exchange = &CLUSTERING,
};
