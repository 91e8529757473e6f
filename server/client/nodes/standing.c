/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/nodes/standing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/client/base/answer.h"
#include "server/client/nodes/members.h"
#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

enum {
    DIGESTS_MOST = 10, /* times that digests are asked for while changes go on */
    PAUSE_NANOSECONDS = 200000000
};
static const char STATUS[] = "status", CHECK[] = "check";

/* ---- asking ---------------------------------------------------------------------------------- */

static const json_t *standing_of(const struct nb_listed_node *node)
{
    return json_object_get(node->ready, "nodes");
}

static void get_ready(const struct nb_client *client, struct nb_listed_node *node)
{
    json_decref(node->ready);
    node->ready = NULL;
    node->why = (struct nb_error){.code = 0};
    if (nb_nodes_ask(client, node->url, "/readyz", &node->ready, &node->why) == 0 &&
        standing_of(node) == NULL)
        (void)nb_error_set(&node->why, NB_UNUSABLE, "it is none of several nodes: no [nodes]");
}

static const char *name_of(const struct nb_listed_node *node)
{
    return node->url != NULL ? node->url : nb_answer_text(node->member, "name");
}

/* 0, or the code of the first node that did not say how it stands. */
static int get_all_ready(const struct nb_client *client, struct nb_listed_node *nodes, size_t count,
                         struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].is_asked)
            get_ready(client, &nodes[i]);
        if (rc == 0 && nodes[i].why.code != 0)
            rc = nb_error_set(error, nodes[i].why.code, "%s: %s", name_of(&nodes[i]),
                              nodes[i].why.text);
    }
    return rc;
}

/* How many streams the changes of the nodes are spread over, as the first of them says. */
static size_t streams_of(const struct nb_listed_node *nodes, size_t count)
{
    size_t streams = 0;
    for (size_t i = 0; streams == 0 && i < count; i++)
        streams = json_array_size(json_object_get(standing_of(&nodes[i]), "streams"));
    return streams == 0 ? 1 : streams;
}

/* The number of the last change of a stream that the node has applied. */
static uint64_t applied_of(const struct nb_listed_node *node, size_t stream)
{
    const json_t *here = standing_of(node);
    const json_t *streams = json_object_get(here, "streams");
    if (streams == NULL)
        return nb_answer_number(here, "applied");
    uint64_t applied = nb_answer_number(json_array_get(streams, stream), "applied");
    return applied == 0 ? 0 : applied * json_array_size(streams) + stream;
}

/* Of what the node knows of a stream when it has come to `number`; none if it is past that. */
static int get_digest(const struct nb_client *client, struct nb_listed_node *node, size_t stream,
                      uint64_t number, struct nb_error *error)
{
    char path[64];
    json_decref(node->digest);
    node->digest = NULL;
    (void)snprintf(path, sizeof path, "/v1/state/digest?%s=%llu", number > 0 ? "at" : "stream",
                   number > 0 ? (unsigned long long)number : (unsigned long long)stream);
    int rc = nb_nodes_ask(client, node->url, path, &node->digest, &node->why);
    return rc == 0 || rc == NB_CONFLICT
               ? 0
               : nb_error_set(error, rc, "%s: %s", node->url, node->why.text);
}

static bool follows(const struct nb_listed_node *node, size_t stream)
{
    const json_t *streams = json_object_get(standing_of(node), "streams");
    return streams == NULL ||
           json_is_true(json_object_get(json_array_get(streams, stream), "follows"));
}

/* The first that has said how it stands and follows the stream, from `i` on; `count`: there is
 * none. */
static size_t next_ready(const struct nb_listed_node *nodes, size_t count, size_t stream, size_t i)
{
    while (i < count && (nodes[i].ready == NULL || !follows(&nodes[i], stream)))
        i++;
    return i;
}

/* The digests of all at the number of the one that is furthest. */
static int get_digests(const struct nb_client *client, struct nb_listed_node *nodes, size_t count,
                       size_t stream, struct nb_error *error)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t applied = applied_of(&nodes[i], stream);
        number = applied > number ? applied : number;
    }
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (nodes[i].ready != NULL && follows(&nodes[i], stream))
            rc = get_digest(client, &nodes[i], stream, number, error);
    return rc;
}

/* Whether all that have said how they stand have said a digest, and of one number. */
static bool is_one_number(const struct nb_listed_node *nodes, size_t count, size_t stream)
{
    size_t first = next_ready(nodes, count, stream, 0);
    for (size_t i = first; i < count; i = next_ready(nodes, count, stream, i + 1))
        if (nodes[i].digest == NULL || nb_answer_number(nodes[i].digest, "number") !=
                                           nb_answer_number(nodes[first].digest, "number"))
            return false;
    return true;
}

/* The digest of one more stream; null: it does not follow that. */
static void keep_digests(struct nb_listed_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].ready == NULL)
            continue;
        if (nodes[i].digests == NULL)
            nodes[i].digests = json_array();
        (void)json_array_append_new(nodes[i].digests,
                                    nodes[i].digest != NULL ? nodes[i].digest : json_null());
        nodes[i].digest = NULL;
    }
}

/* A digest is of the number at which a node is: asked again while they go on. Of a node that does
 * not answer the code is returned, and the others have their digests. */
static int get_equal_digests_of(const struct nb_client *client, struct nb_listed_node *nodes,
                                size_t count, size_t stream, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        int missing = get_all_ready(client, nodes, count, error);
        struct nb_error why;
        int rc = get_digests(client, nodes, count, stream, &why);
        if (rc != 0)
            return nb_error_set(error, rc, "%s", why.text);
        if (is_one_number(nodes, count, stream)) {
            keep_digests(nodes, count);
            return missing;
        }
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return nb_error_set(error, NB_CALL_BUSY,
                        "changes go on, and the nodes are never at one number");
}

static int get_equal_digests(const struct nb_client *client, struct nb_listed_node *nodes,
                             size_t count, struct nb_error *error)
{
    struct nb_error other;
    int rc = get_equal_digests_of(client, nodes, count, 0, error);
    for (size_t i = 1; rc != NB_CALL_BUSY && i < streams_of(nodes, count); i++) {
        int one = get_equal_digests_of(client, nodes, count, i, rc == 0 ? error : &other);
        rc = rc == 0 ? one : rc;
    }
    return rc;
}

/* ---- telling --------------------------------------------------------------------------------- */

static int compare(const struct nb_listed_node *nodes, size_t count, struct nb_error *error)
{
    for (size_t k = 0; k < streams_of(nodes, count); k++) {
        size_t first = next_ready(nodes, count, k, 0);
        for (size_t i = first; i < count; i = next_ready(nodes, count, k, i + 1)) {
            const json_t *one = json_array_get(nodes[first].digests, k);
            const json_t *other = json_array_get(nodes[i].digests, k);
            if (json_is_object(one) && json_is_object(other) && !json_equal(one, other))
                return nb_error_set(error, NB_CORRUPT, "%s and %s have not learned the same",
                                    nodes[first].url, nodes[i].url);
        }
    }
    return 0;
}

static void add_number(struct nb_text_table *table, const json_t *object, const char *name)
{
    bool is_there = json_object_get(object, name) != NULL;
    nb_table_cell(table, "%s", is_there ? nb_figure_of(nb_answer_number(object, name)).text : "-");
}

/* What another node has heard of it. */
static void add_heard(struct nb_text_table *table, const struct nb_listed_node *node)
{
    const char *version = nb_answer_text(node->member, "version");
    nb_table_cell(table, "%s", nb_shown(nb_answer_text(node->member, "name")).text);
    add_number(table, node->member, "seconds");
    nb_table_cell(table, "%s", version[0] == '\0' ? "-" : nb_shown(version).text);
}

/* Of a node that was not asked, what another one has heard. */
static void add_status(struct nb_text_table *table, const struct nb_listed_node *node,
                       bool has_heard)
{
    const json_t *here = standing_of(node);
    const json_t *places = here != NULL ? here : node->member;
    bool is_connected = json_is_true(json_object_get(here, "connected"));
    nb_table_cell(table, "%s", node->url == NULL ? "-" : nb_shown(node->url).text);
    if (has_heard)
        add_heard(table, node);
    nb_table_cell(table, "%s", here == NULL ? "-" : is_connected ? "yes" : "no");
    add_number(table, places, "applied");
    add_number(table, places, "behind");
    add_number(table, here, "queued");
    nb_table_cell(table, "%s",
                  here == NULL ? node->why.text : nb_shown(nb_answer_text(here, "reason")).text);
}

/* Whether one node has named the others. */
static bool are_found(const struct nb_listed_node *nodes, size_t count)
{
    return count > 0 && nodes[0].member != NULL;
}

static void print_status(const struct nb_listed_node *nodes, size_t count)
{
    static const char *const HEAD[] = {"node",    "connected", ">applied",
                                       ">behind", ">queued",   "reason"};
    static const char *const FOUND[] = {"node",     "name",    ">heard",  "version", "connected",
                                        ">applied", ">behind", ">queued", "reason"};
    bool is_found = are_found(nodes, count);
    struct nb_text_table table;
    nb_table_head(&table, is_found ? FOUND : HEAD,
                  is_found ? sizeof FOUND / sizeof FOUND[0] : sizeof HEAD / sizeof HEAD[0]);
    for (size_t i = 0; i < count; i++)
        add_status(&table, &nodes[i], is_found);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static void add_digest(struct nb_text_table *table, const struct nb_listed_node *node,
                       size_t stream)
{
    const json_t *said = json_array_get(node->digests, stream);
    const char *digest = nb_answer_text(said, "digest");
    nb_table_cell(table, "%s", nb_shown(name_of(node)).text);
    add_number(table, said, "number");
    nb_table_cell(table, "%s",
                  digest[0] != '\0'   ? nb_shown(digest).text
                  : node->url == NULL ? "it tells no URL"
                                      : node->why.text);
}

static void print_digests(const struct nb_listed_node *nodes, size_t count)
{
    static const char *const HEAD[] = {"node", ">number", "digest"};
    struct nb_text_table table;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    for (size_t i = 0; i < streams_of(nodes, count); i++)
        for (size_t k = 0; k < count; k++)
            add_digest(&table, &nodes[k], i);
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* A list where there are several streams. */
static json_t *digests_of(const struct nb_listed_node *node)
{
    return json_array_size(node->digests) == 1 ? json_array_get(node->digests, 0) : node->digests;
}

static int print_json(const struct nb_listed_node *nodes, size_t count, struct nb_error *error)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row =
            json_pack("{s:s*, s:O*, s:O*, s:O*}", "url", nodes[i].url, "member", nodes[i].member,
                      "ready", nodes[i].ready, "digest", digests_of(&nodes[i]));
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

static int print(const struct nb_client *client, bool has_digests,
                 const struct nb_listed_node *nodes, size_t count, struct nb_error *error)
{
    if (client->json)
        return print_json(nodes, count, error);
    (has_digests ? print_digests : print_status)(nodes, count);
    return 0;
}

static int look(const struct nb_client *client, bool checks, struct nb_listed_node *nodes,
                size_t count, struct nb_error *error)
{
    struct nb_error other;
    int rc = (checks ? get_equal_digests : get_all_ready)(client, nodes, count, error);
    int printed = print(client, checks, nodes, count, rc == 0 ? error : &other);
    if (rc == 0)
        rc = printed;
    /* That two differ is worse than that a third one is away. */
    if (checks && compare(nodes, count, &other) != 0)
        return nb_error_set(error, other.code, "%s", other.text);
    return rc;
}

/* NULL: there is no memory. */
static struct nb_listed_node *list_of(char **urls, size_t count)
{
    struct nb_listed_node *nodes = calloc(count, sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < count; i++)
        nodes[i] = (struct nb_listed_node){.url = urls[i], .is_asked = true};
    return nodes;
}

int nb_nodes_tell(const struct nb_client *client, char **arguments, size_t count,
                  struct nb_error *error)
{
    struct nb_listed_node *nodes = NULL;
    json_t *reply = NULL;
    size_t size = count - 1;
    int rc = 0;
    if (strcmp(arguments[0], STATUS) != 0 && strcmp(arguments[0], CHECK) != 0)
        return nb_error_set(error, NB_CLIENT_USAGE, "nodes %s: say nodes status or nodes check",
                            arguments[0]);
    if (size > NB_NODES_MOST)
        return nb_error_set(error, NB_CLIENT_USAGE, "more than %d nodes", NB_NODES_MOST);
    if (size <= 1)
        rc = nb_nodes_find(client, size == 0 ? client->daemon.url : arguments[1], &nodes, &size,
                           &reply, error);
    else
        nodes = list_of(arguments + 1, size);
    if (rc == 0 && nodes == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = look(client, strcmp(arguments[0], CHECK) == 0, nodes, size, error);
    for (size_t i = 0; nodes != NULL && i < size; i++) {
        json_decref(nodes[i].ready);
        json_decref(nodes[i].digest);
        json_decref(nodes[i].digests);
    }
    json_decref(reply);
    free(nodes);
    return rc;
}
