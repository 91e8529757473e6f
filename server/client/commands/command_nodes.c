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

/* Prints a row for each node. Only the row of the node that was asked has its own figures. */
static void print_status(json_t *said)
{
    static const struct nb_table_column COLUMNS[] = {
        NB_COLUMN("name", "name", NB_CELL_NAME, 0),
        NB_COLUMN("node", "url", NB_CELL_NAME, 0),
        NB_COLUMN(">heard", "seconds", NB_CELL_NUMBER, 0),
        NB_COLUMN(">applied", "applied", NB_CELL_NUMBER, 0),
        NB_COLUMN(">behind", "behind", NB_CELL_NUMBER, 0),
        NB_COLUMN("same", "same", NB_CELL_BOOL, 0),
        NB_COLUMN("version", "version", NB_CELL_NAME, 0),
        NB_COLUMN("connected", "connected", NB_CELL_BOOL, 0),
        NB_COLUMN(">queued", "queued", NB_CELL_NUMBER, 0),
        NB_COLUMN("reason", "reason", NB_CELL_NAME, 0),
    };
    json_t *members = json_object_get(said, "members"), *member;
    size_t i;
    json_array_foreach(members, i, member)
    {
        if (json_is_true(json_object_get(member, "self")))
            (void)json_object_update_missing(member, json_object_get(said, "nodes"));
    }
    nb_table_rows_print(NB_COLUMNS(COLUMNS), members, stdout);
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
        int judged = judge_status(said, &why);
        if (client->json)
            rc = nb_answer_print(said, error);
        else
            print_status(said);
        if (rc == 0 && judged != 0)
            rc = nb_error_set(error, judged, "%s", why.text);
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
    struct nb_error why; /* that nodes differ, or why the first node without a digest gave none */
};

/* Notes what is wrong with a node, unless something worse is noted. */
static void complain(struct check *c, int code, const char *url, const char *why)
{
    if (c->why.code == 0 || (code == NB_CORRUPT && c->why.code != NB_CORRUPT))
        (void)nb_error_set(&c->why, code, "%s: %s", nb_shown(url).text, why);
}

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
        else
            complain(c, NB_CALL_UNREACHABLE, nb_answer_text(member, "name"),
                     url[0] == '\0' ? "it tells no URL"
                                    : "it tells no URL of https, as the first one has");
    }
}

/* Adds the digests of a stream: the present one of the first node, and those of the others at its
 * number, which they have to reach. A node that does not follow the stream gives none. Returns
 * NB_CONFLICT when a node has passed that number. */
static int ask_digests(struct check *c, size_t stream, json_t *rows)
{
    const json_t *first = NULL;
    for (size_t i = 0; i < c->count; i++) {
        char path[64];
        struct nb_error why;
        json_t *row;
        (void)snprintf(path, sizeof path, "/v1/state/digest?%s=%llu",
                       first != NULL ? "at" : "stream",
                       first != NULL ? (unsigned long long)nb_answer_number(first, "number")
                                     : (unsigned long long)stream);
        int rc = ask(c->client, c->urls[i], path, &row, &why);
        if (rc == NB_CONFLICT && first != NULL)
            return rc;
        if (rc != 0 && rc != NB_NOT_FOUND && rc != NB_CONFLICT)
            complain(c, rc, c->urls[i], why.text);
        row = rc == 0 ? row : json_object();
        (void)json_object_set_new(row, "url", json_string(c->urls[i]));
        (void)json_array_append_new(rows, row);
        first = first == NULL && rc == 0 ? row : first;
        if (rc == 0 &&
            !json_equal(json_object_get(first, "digest"), json_object_get(row, "digest")))
            complain(c, NB_CORRUPT, c->urls[i], "it and others have not learned the same");
    }
    return 0;
}

/* A node has only the digest of its present number, so this is repeated while changes go on. */
static int check_stream(struct check *c, size_t stream, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        json_t *rows = json_array();
        int rc = ask_digests(c, stream, rows);
        if (rc == 0)
            (void)json_array_extend(c->rows, rows);
        json_decref(rows);
        if (rc == 0)
            return 0;
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return nb_error_set(error, NB_CALL_BUSY,
                        "changes go on, or %s is behind: the nodes are never at one number",
                        nb_shown(c->urls[0]).text);
}

/* Nodes that differ are worse than a node that does not answer. */
static int run_check(const struct nb_client *client, char **urls, size_t count,
                     struct nb_error *error)
{
    static const struct nb_table_column COLUMNS[] = {
        NB_COLUMN("node", "url", NB_CELL_NAME, 0),
        NB_COLUMN(">number", "number", NB_CELL_NUMBER, 0),
        NB_COLUMN("digest", "digest", NB_CELL_NAME, 0),
    };
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
        rc = check_stream(&c, k, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(c.rows, error);
    else if (rc == 0)
        nb_table_rows_print(NB_COLUMNS(COLUMNS), c.rows, stdout);
    if (rc == 0 && c.why.code != 0)
        rc = nb_error_set(error, c.why.code, "%s", c.why.text);
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
