/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/generative/cluster_nodes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/client/base/answer.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

enum {
    DIGESTS_MOST = 10, /* times that digests are asked for while changes go on */
    PAUSE_NANOSECONDS = 200000000
};
static const char STATUS[] = "status", CHECK[] = "check";

struct node {
    const char *url;
    json_t *ready, *digest; /* NULL: it has not said it */
    struct nb_error why;
};

/* ---- asking ---------------------------------------------------------------------------------- */

static int ask(const struct nb_client *client, const char *url, const char *path, json_t **value,
               struct nb_error *error)
{
    struct nb_call_target target = client->daemon;
    const struct nb_call_request request = {.method = "GET", .path = path};
    target.url = url;
    target.patience = 0; /* a node that is not ready is what is looked for */
    return nb_call_once(&target, &request, value, error);
}

static const json_t *standing_of(const struct node *node)
{
    return json_object_get(node->ready, "cluster");
}

static void get_ready(const struct nb_client *client, struct node *node)
{
    json_decref(node->ready);
    node->ready = NULL;
    node->why = (struct nb_error){.code = 0};
    if (ask(client, node->url, "/readyz", &node->ready, &node->why) == 0 &&
        standing_of(node) == NULL)
        (void)nb_error_set(&node->why, NB_UNUSABLE, "it is none of several nodes: no [cluster]");
}

/* 0, or the code of the first node that did not say how it stands. */
static int get_all_ready(const struct nb_client *client, struct node *nodes, size_t count,
                         struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        get_ready(client, &nodes[i]);
        if (rc == 0 && nodes[i].why.code != 0)
            rc = nb_error_set(error, nodes[i].why.code, "%s: %s", nodes[i].url, nodes[i].why.text);
    }
    return rc;
}

/* Of what the node knows when it has come to `number`; none if it is past that. */
static int get_digest(const struct nb_client *client, struct node *node, uint64_t number,
                      struct nb_error *error)
{
    char path[64];
    json_decref(node->digest);
    node->digest = NULL;
    (void)snprintf(path, sizeof path, "/v1/state/digest?at=%llu", (unsigned long long)number);
    int rc =
        ask(client, node->url, number > 0 ? path : "/v1/state/digest", &node->digest, &node->why);
    return rc == 0 || rc == NB_CONFLICT
               ? 0
               : nb_error_set(error, rc, "%s: %s", node->url, node->why.text);
}

/* The digests of all at the number of the one that is furthest. */
static int get_digests(const struct nb_client *client, struct node *nodes, size_t count,
                       struct nb_error *error)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t applied = nb_answer_number(standing_of(&nodes[i]), "applied");
        number = applied > number ? applied : number;
    }
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = get_digest(client, &nodes[i], number, error);
    return rc;
}

/* Whether all have said a digest, and of one number. */
static bool is_one_number(const struct node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].digest == NULL || nb_answer_number(nodes[i].digest, "number") !=
                                           nb_answer_number(nodes[0].digest, "number"))
            return false;
    return true;
}

/* A digest is of the number at which a node is: asked again while they go on. */
static int get_equal_digests(const struct nb_client *client, struct node *nodes, size_t count,
                             struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        int rc = get_all_ready(client, nodes, count, error);
        if (rc == 0)
            rc = get_digests(client, nodes, count, error);
        if (rc != 0 || is_one_number(nodes, count))
            return rc;
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return nb_error_set(error, NB_CALL_BUSY,
                        "changes go on, and the nodes are never at one number");
}

/* ---- telling --------------------------------------------------------------------------------- */

static int compare(const struct node *nodes, size_t count, struct nb_error *error)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(nb_answer_text(nodes[i].digest, "digest"),
                   nb_answer_text(nodes[0].digest, "digest")) != 0)
            return nb_error_set(error, NB_CORRUPT, "%s and %s have not learned the same",
                                nodes[0].url, nodes[i].url);
    return 0;
}

static void add_status(struct nb_table *table, const struct node *node)
{
    static const char *const NUMBERS[] = {"applied", "behind"};
    const json_t *cluster = standing_of(node);
    bool is_connected = json_is_true(json_object_get(cluster, "connected"));
    nb_table_cell(table, "%s", node->url);
    nb_table_cell(table, "%s", cluster == NULL ? "-" : is_connected ? "yes" : "no");
    for (size_t k = 0; k < sizeof NUMBERS / sizeof NUMBERS[0]; k++)
        nb_table_cell(table, "%s",
                      cluster == NULL ? "-"
                                      : nb_figure_of(nb_answer_number(cluster, NUMBERS[k])).text);
    nb_table_cell(table, "%s",
                  json_object_get(cluster, "queued") == NULL
                      ? "-"
                      : nb_figure_of(nb_answer_number(cluster, "queued")).text);
    nb_table_cell(table, "%s",
                  cluster == NULL ? node->why.text
                                  : nb_shown(nb_answer_text(cluster, "reason")).text);
}

static void print_status(const struct node *nodes, size_t count)
{
    static const char *const HEAD[] = {"node",    "connected", ">applied",
                                       ">behind", ">queued",   "reason"};
    struct nb_table table;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    for (size_t i = 0; i < count; i++)
        add_status(&table, &nodes[i]);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static void print_digests(const struct node *nodes, size_t count)
{
    static const char *const HEAD[] = {"node", ">number", "digest"};
    struct nb_table table;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = nb_answer_number(nodes[i].digest, "number");
        nb_table_cell(&table, "%s", nodes[i].url);
        nb_table_cell(&table, "%s", nodes[i].digest == NULL ? "-" : nb_figure_of(number).text);
        nb_table_cell(&table, "%s", nb_answer_text(nodes[i].digest, "digest"));
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static int print_json(const struct node *nodes, size_t count, struct nb_error *error)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_pack("{s:s, s:O*, s:O*}", "url", nodes[i].url, "ready", nodes[i].ready,
                                "digest", nodes[i].digest);
        if (row != NULL && nodes[i].why.code != 0)
            (void)json_object_set_new(row, "error", json_string(nodes[i].why.text));
        (void)json_array_append_new(rows, row);
    }
    int rc =
        json_array_size(rows) == count ? nb_answer_print(rows, error) : nb_error_no_memory(error);
    json_decref(rows);
    return rc;
}

/* ---- the commands ---------------------------------------------------------------------------- */

bool nb_cluster_is_of_nodes(const char *argument)
{
    return strcmp(argument, STATUS) == 0 || strcmp(argument, CHECK) == 0;
}

static int print(const struct nb_client *client, bool has_digests, const struct node *nodes,
                 size_t count, struct nb_error *error)
{
    if (client->json)
        return print_json(nodes, count, error);
    (has_digests ? print_digests : print_status)(nodes, count);
    return 0;
}

int nb_cluster_nodes(const struct nb_client *client, char **arguments, size_t count,
                     struct nb_error *error)
{
    struct node nodes[NB_CLUSTER_NODES_MOST] = {{.url = client->daemon.url}};
    struct nb_error unprinted;
    bool checks = strcmp(arguments[0], CHECK) == 0;
    size_t size = count == 1 ? 1 : count - 1;
    if (size > NB_CLUSTER_NODES_MOST)
        return nb_error_set(error, NB_CLIENT_USAGE, "more than %d nodes", NB_CLUSTER_NODES_MOST);
    for (size_t i = 1; i < count; i++)
        nodes[i - 1].url = arguments[i];
    int rc = (checks ? get_equal_digests : get_all_ready)(client, nodes, size, error);
    int printed = print(client, checks, nodes, size, rc == 0 ? error : &unprinted);
    if (rc == 0)
        rc = printed;
    if (rc == 0 && checks)
        rc = compare(nodes, size, error);
    for (size_t i = 0; i < size; i++) {
        json_decref(nodes[i].ready);
        json_decref(nodes[i].digest);
    }
    return rc;
}
