/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc cluster: finds topics among the documents without a label.
 */
#include <stdio.h>

#include "server/client/base/client_answer.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/exchange.h"
#include "server/client/terminal/table_rows.h"
#include "server/client/terminal/terminal.h"

struct cluster_options {
    uint64_t clusters, restarts, seed;
    bool all, members, apply;
    const char *by;
};

static const struct cluster_options DEFAULTS = {.restarts = 8, .seed = 1};

static const struct nb_flag FLAGS[] = {
    {"clusters", 'k', NB_FLAG_COUNT, "N", offsetof(struct cluster_options, clusters), 1, 200,
     "how many (default: as many as have the least BIC)"},
    {"restarts", 'r', NB_FLAG_COUNT, "N", offsetof(struct cluster_options, restarts), 1, 100,
     "random starts, of which the likeliest end counts (default: 8)"},
    {"seed", 's', NB_FLAG_COUNT, "N", offsetof(struct cluster_options, seed), 0, 9e15,
     "another number gives other starts (default: 1)"},
    {"all", 'a', NB_FLAG_SWITCH, NULL, offsetof(struct cluster_options, all), 0, 0,
     "documents with a label, too"},
    {"members", 0, NB_FLAG_SWITCH, NULL, offsetof(struct cluster_options, members), 0, 0,
     "instead of the words: the number of the cluster and the id of each document, by lines"},
    {"apply", 0, NB_FLAG_SWITCH, NULL, offsetof(struct cluster_options, apply), 0, 0,
     "gives the documents labels, cluster-1 and so on, which rename-label renames"},
    {"by", 0, NB_FLAG_TEXT, "NAME", offsetof(struct cluster_options, by), 0, 0,
     "with --apply: name recorded with the change (default: the name of the token, or http)"},
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
    nb_table_rows_print(columns, count, clusters);
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

#define AT(member) offsetof(struct cluster_options, member)

static const struct nb_exchange CLUSTERING = {
    .method = "POST",
    .path = "/v1/models/{model}/cluster",
    .query = {{"source", NB_FLAG_TEXT, AT(by), false}},
    .body = {{"clusters", NB_FLAG_COUNT, AT(clusters), true},
             {"restarts", NB_FLAG_COUNT, AT(restarts), false},
             {"seed", NB_FLAG_COUNT, AT(seed), false},
             {"members", NB_FLAG_SWITCH, AT(members), false}},
    .print = print_reply,
};

static int run_cluster(struct nb_client *client, const void *user, char **arguments, size_t count,
                       struct nb_error *error)
{
    const struct cluster_options *options = user;
    json_t *body =
        json_pack("{s:s, s:s, s:s*}", "clusters", "auto", "documents",
                  options->all ? "all" : "unlabelled", "apply", options->apply ? "labels" : NULL);
    const struct nb_exchange_input asked = {NB_ASKED(client, options, arguments, count),
                                            .body = body};
    int rc = body != NULL ? nb_exchange_run(&CLUSTERING, &asked, error) : nb_error_no_memory(error);
    json_decref(body);
    return rc;
}

const struct nb_command NB_COMMAND_CLUSTER = {
    .name = "cluster",
    .arguments = "[MODEL]",
    .model_from = 1,
    .summary = "Finds topics of documents without a label",
    .details =
        "A mixture over the words that documents have, their categories and their numbers. Each\n"
        "topic is told by its most telling words and values, and mean and deviation of numbers.\n"
        "The same seed gives the same topics.\n"
        "Nothing is changed, unless --apply gives each document a label.\n",
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .most = 1,
    .patience = 600,
    .run = run_cluster,
};
