/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc nodes: shows the state of several nodes as one of them knows it (GET /v1/nodes), and
 * checks whether all have learned the same (GET /v1/state/digest of each).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
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
    target.patience = 0; /* do not wait: the output must show that a node is not ready */
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
    size_t count;
    json_t *rows;        /* for each stream the digests of the nodes, with the URLs of the nodes */
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

/* Puts a node's digest into its row: the one at `number`, which the node has to reach, or the
 * present one if `number` is 0. A node that does not follow the stream gives none. */
static int ask_digest(struct check *c, const char *url, size_t stream, uint64_t number, json_t *row)
{
    char path[64];
    struct nb_error why;
    json_t *digest;
    (void)snprintf(path, sizeof path, "/v1/state/digest?%s=%llu", number > 0 ? "at" : "stream",
                   number > 0 ? (unsigned long long)number : (unsigned long long)stream);
    int rc = ask(c->client, url, path, &digest, &why);
    (void)json_object_clear(row);
    (void)json_object_set_new(row, "url", json_string(url));
    if (rc == 0)
        (void)json_object_update(row, digest);
    json_decref(digest);
    if (rc != 0 && rc != NB_NOT_FOUND && rc != NB_CONFLICT && c->why.code == 0)
        (void)nb_error_set(&c->why, rc, "%s: %s", nb_shown(url).text, why.text);
    return rc;
}

/* Gets the digests of all nodes, first the present ones, then those at the number of the most
 * advanced node. Returns NB_CONFLICT when a node has passed that number. */
static int ask_row(struct check *c, size_t stream, json_t *rows)
{
    uint64_t most = 0;
    for (int round = 0; round < 2; round++) {
        bool is_first = round == 0;
        for (size_t i = 0; i < c->count; i++) {
            if (is_first)
                (void)json_array_append_new(rows, json_object());
            json_t *row = json_array_get(rows, i);
            if (!is_first &&
                (json_object_get(row, "digest") == NULL || nb_answer_number(row, "number") == most))
                continue;
            int rc = ask_digest(c, c->urls[i], stream, is_first ? 0 : most, row);
            if (!is_first && rc == NB_CONFLICT)
                return rc;
            uint64_t number = nb_answer_number(row, "number");
            most = number > most ? number : most;
        }
    }
    return 0;
}

/* Gets the digests of a stream. A node has only the digest of its present number, so this is
 * repeated while changes go on. */
static int ask_stream(struct check *c, size_t stream, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        json_t *rows = json_array();
        int rc = ask_row(c, stream, rows);
        if (rc == 0 && json_array_extend(c->rows, rows) != 0)
            rc = nb_error_no_memory(error);
        json_decref(rows);
        if (rc != NB_CONFLICT)
            return rc;
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
    size_t i;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(c->rows, i, row)
    {
        add_text(&table, nb_answer_text(row, "url"));
        add_number(&table, row, "number");
        add_text(&table, nb_answer_text(row, "digest"));
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* Returns the result as a code. Nodes that differ are worse than a node that does not answer. */
static int judge(const struct check *c, struct nb_error *error)
{
    const json_t *row, *first = NULL;
    size_t i;
    assert(c->count > 0);
    json_array_foreach(c->rows, i, row)
    {
        if (i % c->count == 0)
            first = NULL;
        if (json_object_get(row, "digest") == NULL)
            continue;
        first = first == NULL ? row : first;
        if (!json_equal(json_object_get(first, "digest"), json_object_get(row, "digest")) ||
            !json_equal(json_object_get(first, "number"), json_object_get(row, "number")))
            return nb_error_set(error, NB_CORRUPT, "%s and others have not learned the same",
                                nb_shown(nb_answer_text(row, "url")).text);
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
    size_t streams = json_array_size(json_object_get(json_object_get(said, "nodes"), "streams"));
    c.rows = json_array();
    for (size_t k = 0; rc == 0 && k < (streams == 0 ? 1 : streams); k++)
        rc = ask_stream(&c, k, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(c.rows, error);
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
    .unused = NB_UNUSED_MODEL,
    .least = 1,
    .most = NODES_MOST + 1,
    .run = run_nodes,
};
