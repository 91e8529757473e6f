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

/* What is known of the nodes, and of what is wrong. */
struct nodes {
    const struct nb_client *client;
    const char *urls[NODES_MOST];
    size_t count;
    json_t *rows; /* of the table: members; or for each stream the digests, with URLs of nodes */
    struct nb_error why; /* that nodes differ, which is worst, or what was found first */
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

/* Notes what is wrong with a node, unless something worse is noted. */
static void complain(struct nodes *n, int code, const char *of, const char *why)
{
    if (n->why.code == 0 || (code == NB_CORRUPT && n->why.code != NB_CORRUPT))
        (void)nb_error_set(&n->why, code, "%s: %s", nb_shown(of).text, why);
}

/* ---- status ---------------------------------------------------------------------------------- */

/* Judges the members. Only the row of the node that was asked gets its own figures. */
static void status(struct nodes *n, json_t *said)
{
    json_t *here = json_object_get(said, "nodes"), *member;
    size_t i;
    n->rows = json_incref(json_object_get(said, "members"));
    if (!json_is_true(json_object_get(here, "connected")))
        (void)nb_error_set(&n->why, NB_CALL_BUSY, "it does not follow the database: %s",
                           nb_shown(nb_answer_text(here, "reason")).text);
    json_array_foreach(n->rows, i, member)
    {
        const char *name = nb_answer_text(member, "name");
        if (json_is_false(json_object_get(member, "same")))
            complain(n, NB_CORRUPT, name, "it has not learned the same");
        if (nb_answer_number(member, "seconds") >= SILENT_SECONDS)
            complain(n, NB_CALL_UNREACHABLE, name, "it has not reported for a minute");
        if (!n->client->json && json_is_true(json_object_get(member, "self")))
            (void)json_object_update_missing(member, here);
    }
}

/* ---- check ----------------------------------------------------------------------------------- */

/* Adds the URLs of all members that the first node lists. Anyone who can write the tables can put
 * any URL there. So if the first URL is https, the access token goes to https URLs only. */
static void find(struct nodes *n, const json_t *said)
{
    bool is_https = strncmp(n->urls[0], "https://", 8) == 0;
    const json_t *member;
    size_t i;
    json_array_foreach(json_object_get(said, "members"), i, member)
    {
        const char *url = nb_answer_text(member, "url");
        if (json_is_true(json_object_get(member, "self")) || n->count == NODES_MOST)
            continue;
        if (url[0] == '\0' || (is_https && strncmp(url, "https://", 8) != 0))
            complain(n, NB_CALL_UNREACHABLE, nb_answer_text(member, "name"),
                     "it tells no URL, or none of https as the first one has");
        else
            n->urls[n->count++] = url;
    }
}

/* Adds the digests of a stream: the present one of the first node, and those of the others at its
 * number, which they have to reach. A node that does not follow the stream gives none. Returns
 * NB_CONFLICT when a node has passed that number. */
static int ask_digests(struct nodes *n, size_t stream, json_t *rows)
{
    const json_t *first = NULL;
    for (size_t i = 0; i < n->count; i++) {
        char path[64];
        struct nb_error why;
        json_t *row;
        (void)snprintf(path, sizeof path, "/v1/state/digest?%s=%llu",
                       first != NULL ? "at" : "stream",
                       first != NULL ? (unsigned long long)nb_answer_number(first, "number")
                                     : (unsigned long long)stream);
        int rc = ask(n->client, n->urls[i], path, &row, &why);
        if (rc == NB_CONFLICT && first != NULL)
            return rc;
        if (rc != 0 && rc != NB_NOT_FOUND && rc != NB_CONFLICT)
            complain(n, rc, n->urls[i], why.text);
        row = rc == 0 ? row : json_object();
        (void)json_object_set_new(row, "url", json_string(n->urls[i]));
        (void)json_array_append_new(rows, row);
        first = first == NULL && rc == 0 ? row : first;
        if (rc == 0 &&
            !json_equal(json_object_get(first, "digest"), json_object_get(row, "digest")))
            complain(n, NB_CORRUPT, n->urls[i], "it and others have not learned the same");
    }
    return 0;
}

/* A node has only the digest of its present number, so this is repeated while changes go on. */
static int check_stream(struct nodes *n, size_t stream, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    for (int i = 0; i < DIGESTS_MOST; i++) {
        json_t *rows = json_array();
        int rc = ask_digests(n, stream, rows);
        if (rc == 0)
            (void)json_array_extend(n->rows, rows);
        json_decref(rows);
        if (rc == 0)
            return 0;
        (void)nanosleep(&pause, NULL); /* it may wake early */
    }
    return nb_error_set(error, NB_CALL_BUSY,
                        "changes go on, or %s is behind: the nodes are never at one number",
                        nb_shown(n->urls[0]).text);
}

static int check(struct nodes *n, const json_t *said, struct nb_error *error)
{
    size_t streams = json_array_size(json_object_get(json_object_get(said, "nodes"), "streams"));
    int rc = 0;
    n->rows = json_array();
    for (size_t k = 0; rc == 0 && k < (streams == 0 ? 1 : streams); k++)
        rc = check_stream(n, k, error);
    return rc;
}

/* Asks the first node about all, then does what the verb says. */
static int look(const struct nb_asked *asked, bool is_status, struct nb_error *error)
{
    struct nodes nodes = {.client = asked->client, .urls = {asked->client->daemon.url}};
    struct nodes *n = &nodes;
    json_t *said = NULL;
    for (size_t i = 0; i < asked->count; i++)
        n->urls[i] = asked->arguments[i];
    n->count = asked->count > 1 ? asked->count : 1;
    int rc = ask(n->client, n->urls[0], "/v1/nodes", &said, error);
    if (rc == 0 && !json_is_object(json_object_get(said, "nodes")))
        rc = nb_error_set(error, NB_UNUSABLE, "%s: it is none of several nodes: no [nodes]",
                          n->urls[0]);
    if (rc == 0 && is_status)
        status(n, said);
    else if (rc == 0 && asked->count <= 1)
        find(n, said);
    if (rc == 0 && !is_status)
        rc = check(n, said, error);
    if (rc == 0 && n->client->json)
        rc = nb_answer_print(is_status ? said : n->rows, error);
    else if (rc == 0)
        nb_table_print_rows(is_status ? "name|node=url|>heard=seconds|>applied|>behind|same|"
                                        "version|connected|>queued|reason"
                                      : "node=url|>number|digest",
                            n->rows, stdout);
    if (rc == 0 && n->why.code != 0)
        rc = nb_error_set(error, n->why.code, "%s", n->why.text);
    json_decref(n->rows);
    json_decref(said);
    return rc;
}

static int run_status(struct nb_asked *asked, struct nb_error *error)
{
    return look(asked, true, error);
}

static int run_check(struct nb_asked *asked, struct nb_error *error)
{
    return look(asked, false, error);
}

static const struct nb_subcommand VERBS[] = {
    {"status", "[URL]", 0, 1, "", NULL, run_status},
    {"check", "[URL]...", 0, NODES_MOST, "", NULL, run_check},
};

const struct nb_command NB_COMMAND_NODES = {
    .name = "nodes",
    .unused = NB_UNUSED_MODEL,
    .least = 1,
    .most = NODES_MOST + 1,
    NB_VERBS(VERBS),
};
