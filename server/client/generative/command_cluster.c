/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc cluster: topics of the documents without a label.
 */
#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/source_flag.h"
#include "server/client/base/wish.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"
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

static json_t *wish_of(const struct cluster_options *o)
{
    json_t *clusters =
        o->clusters == 0 ? json_string("auto") : json_integer((json_int_t)o->clusters);
    return json_pack("{s:o, s:I, s:I, s:s, s:b, s:s*}", "clusters", clusters, "restarts",
                     (json_int_t)o->restarts, "seed", (json_int_t)o->seed, "documents",
                     o->all ? "all" : "unlabelled", "members", (int)o->members, "apply",
                     o->apply ? "labels" : NULL);
}

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
        cell->text[cell->length] = '\0'; /* what does not fit is left out */
    else
        cell->length += (size_t)more;
}

/* The most telling words, then values of categories, as many as fit a line. */
static void add_words(struct nb_text_table *table, const json_t *cluster)
{
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

/* Each field of numbers with its mean and deviation. */
static void add_numbers(struct nb_text_table *table, const json_t *numbers)
{
    struct cell cell = {.length = 0};
    const char *name;
    json_t *number;
    json_object_foreach((json_t *)(uintptr_t)numbers, name, number)
    {
        char figures[CELL];
        (void)snprintf(figures, sizeof figures, "%.40s %.6g (%.3g)", nb_shown(name).text,
                       json_number_value(json_object_get(number, "mean")),
                       json_number_value(json_object_get(number, "deviation")));
        append(&cell, ", ", figures);
    }
    nb_table_cell(table, "%s", cell.text);
}

static void print_clusters(const json_t *reply)
{
    const json_t *clusters = json_object_get(reply, "clusters");
    bool are_labelled = json_object_get(reply, "labelled") != NULL;
    bool have_numbers = json_object_get(json_array_get(clusters, 0), "numbers") != NULL;
    const char *head[5] = {">", ">documents", "words"};
    struct nb_text_table table;
    const json_t *cluster;
    size_t columns = 3;
    size_t i;
    if (have_numbers)
        head[columns++] = "mean (deviation)";
    if (are_labelled)
        head[columns++] = "label";
    nb_table_head(&table, head, columns);
    json_array_foreach(clusters, i, cluster)
    {
        nb_table_cell(&table, "%zu", i + 1);
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(cluster, "documents")).text);
        add_words(&table, cluster);
        if (have_numbers)
            add_numbers(&table, json_object_get(cluster, "numbers"));
        if (are_labelled)
            nb_table_cell(&table, "%s", nb_shown(nb_answer_text(cluster, "label")).text);
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
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

static int ask(const struct nb_client *client, const struct cluster_options *options,
               json_t **reply, struct nb_error *error)
{
    struct nb_buffer path = {0};
    struct nb_call *call = NULL;
    int rc = nb_source_check(options->by, error);
    if (rc != 0)
        return rc;
    json_t *wish = wish_of(options);
    rc = wish != NULL && nb_path_model(&path, client->model, "/cluster") == 0 &&
                 nb_path_query(&path, "source", options->by) == 0
             ? nb_call_open(&client->daemon, &call, error)
             : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_wish_post(call, path.bytes, wish, reply, error);
    nb_call_close(&call);
    json_decref(wish);
    nb_buffer_deinit(&path);
    return rc;
}

static int run_cluster(struct nb_client *client, const void *user, char **arguments, size_t count,
                       struct nb_error *error)
{
    const struct cluster_options *options = user;
    json_t *reply = NULL;
    if (count == 1)
        client->model = arguments[0];
    int rc = ask(client, options, &reply, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0 && options->members)
        print_members(reply);
    else if (rc == 0)
        print_clusters(reply);
    json_decref(reply);
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
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = 1,
    .patience = 600,
    .run = run_cluster,
};
