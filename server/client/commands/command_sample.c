/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc sample: draws a document of a label from a model, or shows the estimates that it would be
 * drawn from.
 */
#include <stdio.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

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

static void print_document(const struct nb_asked *asked, json_t *reply)
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

/* Prints the estimates: the prior, the tokens and the share of any other word. For a model whose
 * settings name fields it prints a table of the fields and one of their values. */
#define ESTIMATE "|>count|>probability:.4g|>from=interval.0:.4g|>to=interval.1:.4g"

static void print_distribution(const struct nb_asked *asked, json_t *reply)
{
    json_t *prior = json_object_get(reply, "prior"), *fields = json_object_get(reply, "fields");
    const json_t *unseen = json_object_get(reply, "unseen"), *field, *row;
    struct nb_text_table table;
    size_t i, k;
    (void)asked;
    (void)json_object_set(prior, "count", json_object_get(prior, "documents"));
    nb_table_begin(&table, "=@" ESTIMATE);
    nb_table_row(&table, "=@" ESTIMATE, "(the label)", 0, prior);
    json_array_foreach(json_object_get(reply, "tokens"), i, row)
    {
        nb_table_row(&table, "=token" ESTIMATE, "", i, row);
    }
    if (unseen != NULL)
        nb_table_row(&table, "=@" ESTIMATE, "(any other word)", 0, unseen);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
    if (fields == NULL)
        return;
    (void)putchar('\n');
    nb_table_print_rows("field|>documents|>missing|>mean:.4g|>deviation:.4g", fields, stdout);
    (void)putchar('\n');
    nb_table_begin(&table, "value=@" ESTIMATE);
    json_array_foreach(fields, i, field)
    {
        json_array_foreach(json_object_get(field, "values"), k, row)
        {
            char name[2 * NB_SHOWN_BYTES + 2];
            (void)snprintf(name, sizeof name, "%s=%s",
                           nb_shown(nb_answer_text(field, "field")).text,
                           nb_shown(nb_answer_text(row, "value")).text);
            nb_table_row(&table, "value=@" ESTIMATE, name, k, row);
        }
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static const struct nb_exchange SAMPLE = {
    .method = "GET",
    .path = "/v1/models/{model}/sample",
    .query = {"label", "length", "seed", "temperature"},
    .print = print_document,
};

static const struct nb_exchange DISTRIBUTION = {
    .method = "GET",
    .path = "/v1/models/{model}/distribution",
    .query = {"label", "limit=estimates", "interval"},
    .print = print_distribution,
};

static int run_sample(struct nb_asked *asked, struct nb_error *error)
{
    if (asked->options->files.label == NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "--label is missing: a document of which?");
    return nb_exchange_run(asked->options->estimates > 0 ? &DISTRIBUTION : &SAMPLE, asked, error);
}

static const struct nb_flag FLAGS[] = {
    NB_TEXT("label", 'l', files.label),
    NB_COUNT("length", 'n', length, 50, 0, 1e7),
    NB_COUNT("seed", 's', seed, 0, 0, 9e15),
    NB_NUMBER("temperature", 't', temperature, 1, 0.05, 100),
    NB_COUNT("estimates", 'e', estimates, 0, 0, 1e7),
    NB_NUMBER("interval", 0, interval, 0.95, 1e-6, 0.999999),
};

const struct nb_command NB_COMMAND_SAMPLE = {
    .name = "sample",
    .model_from = 1,
    NB_FLAGS(FLAGS),
    .most = 1,
    .patience = 10,
    .run = run_sample,
};

/* bayesc cluster: finds topics among the documents without a label. */
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

/* Sets two members of a cluster that the table shows: "line", the most telling words, then the
 * values of categories, as many as fit in a line; and "means", each field of numbers with its mean
 * and deviation. */
static void sum_up(json_t *cluster)
{
    static const char *const LISTS[] = {"words", "values"};
    struct cell line = {.length = 0}, means = {.length = 0};
    const char *name;
    const json_t *word, *number;
    size_t i;
    for (size_t k = 0; k < 2; k++) {
        json_array_foreach(json_object_get(cluster, LISTS[k]), i, word)
        {
            append(&line, " ", nb_shown(nb_answer_text(word, "token")).text);
        }
    }
    json_object_foreach(json_object_get(cluster, "numbers"), name, number)
    {
        char figures[CELL];
        (void)snprintf(figures, sizeof figures, "%.40s %.6g (%.3g)", nb_shown(name).text,
                       json_number_value(json_object_get(number, "mean")),
                       json_number_value(json_object_get(number, "deviation")));
        append(&means, ", ", figures);
    }
    (void)json_object_set_new(cluster, "line", json_string(line.text));
    (void)json_object_set_new(cluster, "means", json_string(means.text));
}

static void print_clusters(json_t *reply)
{
    json_t *clusters = json_object_get(reply, "clusters"), *cluster;
    bool has_numbers = json_object_get(json_array_get(clusters, 0), "numbers") != NULL;
    char columns[96];
    size_t i;
    json_array_foreach(clusters, i, cluster)
    {
        sum_up(cluster);
    }
    (void)snprintf(columns, sizeof columns, ">=#|>documents|words=line:t%s%s",
                   has_numbers ? "|mean (deviation)=means:t" : "",
                   json_object_get(reply, "labelled") != NULL ? "|label:t" : "");
    nb_table_print_rows(columns, clusters, stdout);
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

static void print_reply(const struct nb_asked *asked, json_t *reply)
{
    if (asked->options->members)
        print_members(reply);
    else
        print_clusters(reply);
}

static int put_choice(const struct nb_asked *asked, json_t *body, struct nb_error *error)
{
    json_t *choice = json_pack("{s:s, s:s, s:s*}", "clusters", "auto", "documents",
                               asked->options->all ? "all" : "unlabelled", "apply",
                               asked->options->apply ? "labels" : NULL);
    return json_object_update_new(body, choice) == 0 ? 0 : nb_error_no_memory(error);
}

static const struct nb_flag CLUSTER_FLAGS[] = {
    NB_COUNT("clusters", 'k', clusters, 0, 1, 200),
    NB_COUNT("restarts", 'r', restarts, 8, 1, 100),
    NB_COUNT("seed", 's', seed, 1, 0, 9e15),
    NB_SWITCH("all", 'a', all),
    NB_SWITCH("members", 0, members),
    NB_SWITCH("apply", 0, apply),
    NB_BY_FLAG,
};

const struct nb_command NB_COMMAND_CLUSTER = {
    .name = "cluster",
    .model_from = 1,
    NB_FLAGS(CLUSTER_FLAGS),
    .most = 1,
    .patience = 600,
    .exchange =
        &(const struct nb_exchange){
            .method = "POST",
            .path = "/v1/models/{model}/cluster",
            .query = {"source=by"},
            .body = {"clusters", "restarts", "seed", "members"},
            .fill = put_choice,
            .print = print_reply,
        },
};
