/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc nodes: how far each of several nodes is, and whether all have learned the same.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

enum {
    NODES_MOST = 64,
    DIGESTS_MOST = 10, /* times that digests are asked for while changes go on */
    PAUSE_NANOSECONDS = 200000000
};

struct node {
    const char *url;
    json_t *ready, *digest; /* NULL: it has not said it */
    struct nb_error why;
};

static int ask(const struct nb_client *client, const char *url, const char *path, json_t **value,
               struct nb_error *error)
{
    struct nb_call_target target = client->daemon;
    const struct nb_call_request request = {.method = "GET", .path = path};
    target.url = url;
    return nb_call_once(&target, &request, value, error);
}

static void get_ready(const struct nb_client *client, struct node *node)
{
    if (ask(client, node->url, "/readyz", &node->ready, &node->why) == 0 &&
        json_object_get(node->ready, "cluster") == NULL)
        (void)nb_error_set(&node->why, NB_UNUSABLE, "it is none of several nodes: no [cluster]");
}

static bool is_node(const struct node *node)
{
    return json_object_get(node->ready, "cluster") != NULL;
}

static void get_digest(const struct nb_client *client, struct node *node)
{
    json_decref(node->digest);
    node->digest = NULL;
    if (is_node(node))
        (void)ask(client, node->url, "/v1/state/digest", &node->digest, &node->why);
}

/* Whether those that have said a digest have said it at one number. */
static bool is_one_number(const struct node *nodes, size_t count)
{
    const struct node *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].digest == NULL)
            continue;
        if (first == NULL)
            first = &nodes[i];
        if (nb_answer_number(nodes[i].digest, "number") !=
            nb_answer_number(first->digest, "number"))
            return false;
    }
    return true;
}

/* A digest is of the number at which a node is: asked again while they go on. */
static void get_digests(const struct nb_client *client, struct node *nodes, size_t count)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        for (size_t k = 0; k < count; k++)
            get_digest(client, &nodes[k]);
        if (is_one_number(nodes, count))
            return;
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
}

/* 0, or what is wrong with the first node that does not agree. */
static int compare(const struct node *nodes, size_t count, struct nb_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].digest == NULL)
            return nb_error_set(error, nodes[i].why.code, "%s: %s", nodes[i].url,
                                nodes[i].why.text);
    if (!is_one_number(nodes, count))
        return nb_error_set(error, NB_CALL_BUSY,
                            "changes go on, and the nodes are never at one number");
    for (size_t i = 1; i < count; i++)
        if (strcmp(nb_answer_text(nodes[i].digest, "digest"),
                   nb_answer_text(nodes[0].digest, "digest")) != 0)
            return nb_error_set(error, NB_CORRUPT, "%s and %s have not learned the same",
                                nodes[0].url, nodes[i].url);
    return 0;
}

static void print_nodes(const struct node *nodes, size_t count)
{
    static const char *const HEAD[] = {"node", "connected", ">applied", ">behind", "digest"};
    static const char *const NUMBERS[] = {"applied", "behind"};
    struct nb_table table;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    for (size_t i = 0; i < count; i++) {
        const json_t *cluster = json_object_get(nodes[i].ready, "cluster");
        bool is_connected = json_is_true(json_object_get(cluster, "connected"));
        nb_table_cell(&table, "%s", nodes[i].url);
        nb_table_cell(&table, "%s", cluster == NULL ? "-" : is_connected ? "yes" : "no");
        for (size_t k = 0; k < sizeof NUMBERS / sizeof NUMBERS[0]; k++)
            nb_table_cell(
                &table, "%s",
                cluster == NULL ? "-" : nb_figure_of(nb_answer_number(cluster, NUMBERS[k])).text);
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
        if (row != NULL && nodes[i].digest == NULL)
            (void)json_object_set_new(row, "error", json_string(nodes[i].why.text));
        (void)json_array_append_new(rows, row);
    }
    int rc =
        json_array_size(rows) == count ? nb_answer_print(rows, error) : nb_error_no_memory(error);
    json_decref(rows);
    return rc;
}

static int run_nodes(struct nb_client *client, const void *user, char **arguments, size_t count,
                     struct nb_error *error)
{
    struct node nodes[NODES_MOST] = {{.url = client->daemon.url}};
    (void)user;
    for (size_t i = 0; i < count; i++)
        nodes[i].url = arguments[i];
    count = count == 0 ? 1 : count;
    for (size_t i = 0; i < count; i++)
        get_ready(client, &nodes[i]);
    get_digests(client, nodes, count);
    int rc = 0;
    if (client->json)
        rc = print_json(nodes, count, error);
    else
        print_nodes(nodes, count);
    if (rc == 0)
        rc = compare(nodes, count, error);
    for (size_t i = 0; i < count; i++) {
        json_decref(nodes[i].ready);
        json_decref(nodes[i].digest);
    }
    return rc;
}

const struct nb_command NB_COMMAND_NODES = {
    .name = "nodes",
    .arguments = "[URL]...",
    .summary = "Shows how far each of several nodes is, and whether all have learned the same",
    .details =
        "Without a URL it is the daemon of --url alone. A digest is made of all that a node has\n"
        "learned, which changes wait for; the command fails when they differ, or a node does not\n"
        "say it.\n",
    .most = NODES_MOST,
    .run = run_nodes,
};
