/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc nodes: shows the state of several nodes as one of them knows it (GET /v1/nodes), and
 * checks whether all have learned the same (GET /v1/state/digest of each).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/base/text_table.h"
#include "server/client/commands/commands.h"

enum {
    NODES_MOST = 64,
    SILENT_SECONDS = 60, /* a node reports every second */
    DIGESTS_MOST = 10,   /* attempts to get digests while changes go on */
    PAUSE_NANOSECONDS = 200000000
};

static int ask(const struct nb_client *client, const char *url, const char *path, json_t **value,
               struct nb_error *error)
{
    struct nb_call_target target = client->daemon;
    const struct nb_call_request request = {.method = "GET", .path = path};
    target.url = url;
    target.patience = 0; /* do not wait for a node: one that is not ready must be seen */
    *value = NULL;
    return nb_call_once(&target, &request, value, error);
}

/* Asks the node at the URL for its own state and for what it knows of the other nodes. */
static int ask_nodes(const struct nb_client *client, const char *url, json_t **said,
                     struct nb_error *error)
{
    int rc = ask(client, url, "/v1/nodes", said, error);
    return rc == 0 && !json_is_object(json_object_get(*said, "nodes"))
               ? nb_error_set(error, NB_UNUSABLE, "%s: it is none of several nodes: no [nodes]",
                              url)
               : rc;
}

/* ---- status ---------------------------------------------------------------------------------- */

static void add_number(struct nb_text_table *table, const json_t *object, const char *name)
{
    bool is_there = json_object_get(object, name) != NULL;
    nb_table_cell(table, "%s", is_there ? nb_figure_of(nb_answer_number(object, name)).text : "-");
}

static void add_text(struct nb_text_table *table, const char *text)
{
    nb_table_cell(table, "%s", text[0] == '\0' ? "-" : nb_shown(text).text);
}

static const char *said_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value == NULL ? "" : json_is_true(value) ? "yes" : "no";
}

/* Prints a row for each node. Only the row of the node that was asked has its own figures. */
static void print_status(const json_t *said)
{
    static const char *const HEAD[] = {"name", "node",    ">heard",    ">applied", ">behind",
                                       "same", "version", "connected", ">queued",  "reason"};
    const json_t *members = json_object_get(said, "members"), *member;
    struct nb_text_table table;
    size_t i;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(members, i, member)
    {
        bool is_self = json_is_true(json_object_get(member, "self"));
        const json_t *here = is_self ? json_object_get(said, "nodes") : NULL;
        add_text(&table, nb_answer_text(member, "name"));
        add_text(&table, nb_answer_text(member, "url"));
        add_number(&table, member, "seconds");
        add_number(&table, member, "applied");
        add_number(&table, member, "behind");
        add_text(&table, said_of(member, "same"));
        add_text(&table, nb_answer_text(member, "version"));
        add_text(&table, said_of(here, "connected"));
        add_number(&table, here, "queued");
        add_text(&table, nb_answer_text(here, "reason"));
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* Returns the code of the worst state in the reply. */
static int judge_status(const json_t *said, struct nb_error *error)
{
    const json_t *here = json_object_get(said, "nodes"), *member;
    int rc = 0;
    size_t i;
    if (!json_is_true(json_object_get(here, "connected")))
        rc = nb_error_set(error, NB_CALL_BUSY, "it does not follow the database: %s",
                          nb_shown(nb_answer_text(here, "reason")).text);
    json_array_foreach(json_object_get(said, "members"), i, member)
    {
        struct nb_shown name = nb_shown(nb_answer_text(member, "name"));
        if (json_is_false(json_object_get(member, "same")))
            return nb_error_set(error, NB_CORRUPT, "%s has not learned the same", name.text);
        if (rc == 0 && nb_answer_number(member, "seconds") >= SILENT_SECONDS)
            rc = nb_error_set(error, NB_CALL_UNREACHABLE, "no word of %s for %llu seconds",
                              name.text, (unsigned long long)nb_answer_number(member, "seconds"));
    }
    return rc;
}

static int run_status(const struct nb_client *client, const char *url, struct nb_error *error)
{
    struct nb_error why;
    json_t *said;
    int rc = ask_nodes(client, url, &said, error);
    if (rc == 0) {
        if (!client->json)
            print_status(said);
        rc = client->json ? nb_answer_print(said, error) : 0;
        if (rc == 0 && judge_status(said, &why) != 0)
            rc = nb_error_set(error, why.code, "%s", why.text);
    }
    json_decref(said);
    return rc;
}

/* ---- check ----------------------------------------------------------------------------------- */

struct check {
    const struct nb_client *client;
    const char *urls[NODES_MOST];
    size_t count, streams;
    json_t *rows;        /* for each stream a list of the nodes' digests; null: no digest */
    struct nb_error why; /* why the first node without a digest gave none */
};

/* Adds the URLs of all members that the first node lists. Anyone who can write the tables can put
 * any URL there. So if the first URL is https, the access token goes to https URLs only. */
static void find(struct check *c, const json_t *said)
{
    bool is_https = strncmp(c->urls[0], "https://", 8) == 0;
    const json_t *member;
    size_t i;
    json_array_foreach(json_object_get(said, "members"), i, member)
    {
        const char *url = nb_answer_text(member, "url");
        bool is_good = url[0] != '\0' && (!is_https || strncmp(url, "https://", 8) == 0);
        if (json_is_true(json_object_get(member, "self")) || c->count == NODES_MOST)
            continue;
        if (is_good)
            c->urls[c->count++] = url;
        else if (c->why.code == 0)
            (void)nb_error_set(&c->why, NB_CALL_UNREACHABLE, "%s tells no URL%s",
                               nb_shown(nb_answer_text(member, "name")).text,
                               url[0] == '\0' ? "" : " of https, as the first one has");
    }
}

/* Asks a node for its digest when it reaches `number`, or for the present one if `number` is 0.
 * *digest stays NULL when the node does not follow the stream. */
static int ask_digest(struct check *c, size_t which, size_t stream, uint64_t number,
                      json_t **digest)
{
    char path[64];
    struct nb_error why;
    (void)snprintf(path, sizeof path, "/v1/state/digest?%s=%llu", number > 0 ? "at" : "stream",
                   number > 0 ? (unsigned long long)number : (unsigned long long)stream);
    int rc = ask(c->client, c->urls[which], path, digest, &why);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc != 0 && rc != NB_CONFLICT && c->why.code == 0)
        (void)nb_error_set(&c->why, rc, "%s: %s", nb_shown(c->urls[which]).text, why.text);
    return rc;
}

/* Puts the digests of all nodes, at the number of the most advanced node, into `row`. Returns
 * NB_CONFLICT when a node has passed that number. */
static int ask_row(struct check *c, size_t stream, json_t *row)
{
    uint64_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        json_t *digest = NULL;
        (void)ask_digest(c, i, stream, 0, &digest);
        uint64_t number = nb_answer_number(digest, "number");
        most = number > most ? number : most;
        (void)json_array_append_new(row, digest != NULL ? digest : json_null());
    }
    for (size_t i = 0; i < c->count; i++) {
        json_t *digest = NULL;
        const json_t *now = json_array_get(row, i);
        if (!json_is_object(now) || nb_answer_number(now, "number") == most)
            continue;
        if (ask_digest(c, i, stream, most, &digest) == NB_CONFLICT)
            return NB_CONFLICT;
        (void)json_array_set_new(row, i, digest != NULL ? digest : json_null());
    }
    return 0;
}

/* Gets the digests of a stream. A node has only the digest of its present number, so this is
 * repeated while changes go on. */
static int ask_stream(struct check *c, size_t stream, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        json_t *row = json_array();
        if (ask_row(c, stream, row) == 0)
            return json_array_append_new(c->rows, row) == 0 ? 0 : nb_error_no_memory(error);
        json_decref(row);
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return nb_error_set(error, NB_CALL_BUSY,
                        "changes go on, and the nodes are never at one number");
}

static void print_digests(const struct check *c)
{
    static const char *const HEAD[] = {"node", ">number", "digest"};
    struct nb_text_table table;
    json_t *row;
    size_t k;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(c->rows, k, row)
    {
        for (size_t i = 0; i < c->count; i++) {
            add_text(&table, c->urls[i]);
            add_number(&table, json_array_get(row, i), "number");
            add_text(&table, nb_answer_text(json_array_get(row, i), "digest"));
        }
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* Prints the digest of each node; a list of digests if there are several streams. */
static int print_json(const struct check *c, struct nb_error *error)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < c->count; i++) {
        json_t *digests = json_array(), *row;
        size_t k;
        json_array_foreach(c->rows, k, row)(void)
            json_array_append(digests, json_array_get(row, i));
        (void)json_array_append_new(
            nodes, json_pack("{s:s, s:O}", "url", c->urls[i], "digest",
                             c->streams == 1 ? json_array_get(digests, 0) : digests));
        json_decref(digests);
    }
    int rc = nb_answer_print(nodes, error);
    json_decref(nodes);
    return rc;
}

/* Returns the result as a code. Nodes that differ are worse than a node that does not answer. */
static int judge(const struct check *c, struct nb_error *error)
{
    json_t *row, *one;
    size_t k, i;
    json_array_foreach(c->rows, k, row)
    {
        const json_t *first = NULL;
        json_array_foreach(row, i, one)
        {
            if (first != NULL && json_is_object(one) && !json_equal(first, one))
                return nb_error_set(error, NB_CORRUPT, "%s and others have not learned the same",
                                    nb_shown(c->urls[i]).text);
            first = first == NULL && json_is_object(one) ? one : first;
        }
    }
    return c->why.code == 0 ? 0 : nb_error_set(error, c->why.code, "%s", c->why.text);
}

static int run_check(const struct nb_client *client, char **urls, size_t count,
                     struct nb_error *error)
{
    struct check c = {.client = client, .urls = {client->daemon.url}, .count = 1};
    json_t *said;
    for (size_t i = 0; i < count; i++)
        c.urls[i] = urls[i];
    c.count = count > 1 ? count : 1;
    int rc = ask_nodes(client, c.urls[0], &said, error);
    if (rc == 0 && count <= 1)
        find(&c, said);
    c.streams = json_array_size(json_object_get(json_object_get(said, "nodes"), "streams"));
    c.streams = c.streams == 0 ? 1 : c.streams;
    c.rows = json_array();
    for (size_t k = 0; rc == 0 && k < c.streams; k++)
        rc = ask_stream(&c, k, error);
    if (rc == 0 && client->json)
        rc = print_json(&c, error);
    else if (rc == 0)
        print_digests(&c);
    if (rc == 0)
        rc = judge(&c, error);
    json_decref(c.rows);
    json_decref(said);
    return rc;
}

static int run_nodes(struct nb_client *client, const void *user, char **arguments, size_t count,
                     struct nb_error *error)
{
    (void)user;
    if (strcmp(arguments[0], "status") == 0 && count <= 2)
        return run_status(client, count == 2 ? arguments[1] : client->daemon.url, error);
    if (strcmp(arguments[0], "check") == 0 && count <= NODES_MOST + 1)
        return run_check(client, arguments + 1, count - 1, error);
    return nb_error_set(error, NB_CLIENT_USAGE,
                        "nodes %s: say nodes status [URL], or nodes check and %d URLs at most",
                        arguments[0], NODES_MOST);
}

const struct nb_command NB_COMMAND_NODES = {
    .name = "nodes",
    .arguments = "status|check [URL]...",
    .unused = NB_UNUSED_MODEL,
    .summary = "Looks at several nodes that share what they learn",
    .details =
        "status [URL]     shows how far each node has come ([nodes]), as the one at the URL, or "
        "at\n"
        "                 --url, has heard. It fails when that does not answer or must not learn,\n"
        "                 when a node says nothing, and when one has not learned the same\n"
        "check [URL]...   compares what they have learned at one number; of one URL, or of --url,\n"
        "                 those that tell their own ([nodes] url). It fails when two differ (65),\n"
        "                 when one does not answer (69), and when one does not come to the\n"
        "                 number, or changes go on all the time (75)\n",
    .least = 1,
    .most = NODES_MOST + 1,
    .run = run_nodes,
};
