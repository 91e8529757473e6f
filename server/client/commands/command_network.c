/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc network: stores, shows, learns and queries Bayes nets. Each verb is a row of VERBS: one
 * exchange with the daemon, or a function that reads or writes a file. A file named "-" is standard
 * input or output.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

/* The most fields of a model: a network has one node for each, and one for the label. */
enum { FIELDS_MOST = 255 };

/* ---- list, show, delete ---------------------------------------------------------------------- */

static void print_list(const struct nb_asked *asked, json_t *reply)
{
    size_t i;
    const json_t *row;
    (void)asked;
    json_array_foreach(json_object_get(reply, "networks"), i, row)
    {
        bool is_damaged = strcmp(nb_answer_text(row, "state"), "damaged") == 0;
        (void)printf("%s%s\n", nb_shown(nb_answer_text(row, "name")).text,
                     is_damaged ? " (damaged)" : "");
    }
}

static const struct nb_exchange LISTING = {.method = "GET",
                                           .path = "/v1/networks",
                                           .rows = "networks",
                                           .is_listing = true,
                                           .print = print_list};
static const struct nb_exchange SHOWING = {.method = "GET", .path = "/v1/networks/{0}"};
static const struct nb_exchange DELETING = {
    .method = "DELETE", .path = "/v1/networks/{0}", .text = ""};

/* ---- questions ------------------------------------------------------------------------------- */

/* "NODE=STATE": the last '=' ends the name of the node. */
static int add_evidence(json_t *evidence, const char *item, struct nb_error *error)
{
    const char *equals = strrchr(item, '=');
    if (equals == NULL || equals == item)
        return nb_error_set(error, NB_CLIENT_USAGE, "--given '%s' is not NODE=STATE", item);
    json_t *state = json_string(equals + 1);
    json_t *name = json_stringn(item, (size_t)(equals - item));
    int rc = name != NULL ? json_object_set(evidence, json_string_value(name), state) : -1;
    json_decref(name);
    json_decref(state);
    return rc == 0 ? 0 : nb_error_set(error, NB_CLIENT_USAGE, "--given '%s' is no UTF-8", item);
}

static void print_probabilities(const struct nb_asked *asked, json_t *reply)
{
    struct nb_text_table table;
    const char *node, *state;
    json_t *states;
    const json_t *p;
    (void)asked;
    nb_table_begin(&table, "node|state|>probability");
    json_object_foreach(json_object_get(reply, "probabilities"), node, states)
    {
        bool is_first = true;
        json_object_foreach(states, state, p)
        {
            nb_table_cell(&table, "%s", is_first ? node : "");
            nb_table_cell(&table, "%s", state);
            nb_table_cell(&table, "%.6f", json_number_value(p));
            is_first = false;
        }
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static int put_evidence(const struct nb_asked *asked, json_t *body, struct nb_error *error)
{
    const struct nb_flag_list *given = &asked->options->given;
    json_t *evidence = json_object();
    int rc = json_object_set_new(body, "evidence", evidence) == 0 ? 0 : nb_error_no_memory(error);
    for (size_t i = 0; rc == 0 && i < given->count; i++)
        rc = add_evidence(evidence, given->items[i], error);
    return rc;
}

/* Asks for P(node | evidence) of the nodes in --of, or of all other nodes without --of. */
static const struct nb_exchange QUERYING = {
    .method = "POST",
    .path = "/v1/networks/{0}/query",
    .body = {"of"},
    .fill = put_evidence,
    .print = print_probabilities,
};

static void print_independence(const struct nb_asked *asked, json_t *reply)
{
    const struct nb_flag_list *given = &asked->options->given;
    bool is_independent = json_is_true(json_object_get(reply, "independent"));
    nb_exchange_text(is_independent ? "{1} and {2} are independent"
                                    : "{1} and {2} may depend on each other",
                     asked, reply);
    for (size_t i = 0; i < given->count; i++)
        (void)printf("%s%s", i == 0 ? " given " : ", ", nb_shown(given->items[i]).text);
    (void)putchar('\n');
}

/* Adds the list of arguments from `first` on. */
static int put_words(const struct nb_asked *asked, const char *member, size_t first, json_t *body,
                     struct nb_error *error)
{
    json_t *words = json_array();
    int rc = json_object_set_new(body, member, words);
    for (size_t i = first; rc == 0 && i < asked->count; i++)
        rc = json_array_append_new(words, json_string(asked->arguments[i]));
    return rc == 0 ? 0 : nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
}

static int put_pair(const struct nb_asked *asked, json_t *body, struct nb_error *error)
{
    return put_words(asked, "independent", 1, body, error);
}

static const struct nb_exchange ASKING_INDEPENDENT = {
    .method = "POST",
    .path = "/v1/networks/{0}/query",
    .body = {"given"},
    .fill = put_pair,
    .print = print_independence,
};

/* ---- learn from a model ---------------------------------------------------------------------- */

static void print_edges(const json_t *reply, const char *kind, const char *sign)
{
    size_t i;
    const json_t *pair;
    json_array_foreach(json_object_get(reply, kind), i, pair)
    {
        (void)printf("  %s %s %s\n", nb_shown(json_string_value(json_array_get(pair, 0))).text,
                     sign, nb_shown(json_string_value(json_array_get(pair, 1))).text);
    }
}

static void print_learned(const struct nb_asked *asked, json_t *reply)
{
    nb_exchange_text("{0}: learned from {rows row}\n", asked, reply);
    print_edges(reply, "directed", "->");
    print_edges(reply, "undirected", "-");
    if (!json_is_true(json_object_get(reply, "kept")))
        (void)printf("The tests contradict each other: no network has all of this, none is kept.\n"
                     "More rows, or another --alpha, may help. Directions in doubt:\n");
    print_edges(reply, "conflicts", "-");
}

/* Learns from the given fields or, if none is given, from all fields that are categories. */
static int put_model(const struct nb_asked *asked, json_t *body, struct nb_error *error)
{
    if (json_object_set_new(body, "model", json_string(asked->arguments[1])) != 0)
        return nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
    return asked->count > 2 ? put_words(asked, "fields", 2, body, error) : 0;
}

static const struct nb_exchange LEARNING_FROM = {
    .method = "POST",
    .path = "/v1/networks/{0}",
    .query = {"source"},
    .body = {"alpha", "prior", "separators"},
    .fill = put_model,
    .print = print_learned,
};

/* ---- files ----------------------------------------------------------------------------------- */

static ssize_t give_file(void *user, char *bytes, size_t room)
{
    FILE *file = user;
    size_t length = fread(bytes, 1, room, file);
    return length == 0 && ferror(file) != 0 ? -1 : (ssize_t)length;
}

static FILE *open_body(const char *name, struct nb_error *error)
{
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (file == NULL)
        (void)nb_error_errno(error, errno, name);
    return file;
}

/* Sends the file that the second argument names as the body. */
static int send_file(const struct nb_exchange *exchange, const struct nb_asked *asked,
                     const char *type, struct nb_error *error)
{
    const char *name = asked->arguments[1];
    FILE *file = open_body(name, error);
    if (file == NULL)
        return error->code;
    struct nb_asked sent = *asked;
    sent.give = give_file;
    sent.user = file;
    sent.type = type;
    json_t *reply = NULL;
    int rc = nb_exchange_ask(exchange, &sent, &reply, error);
    if (ferror(file) != 0)
        rc = nb_error_set(error, NB_IO, "%s cannot be read", name);
    if (file != stdin)
        (void)fclose(file);
    if (rc == 0)
        rc = nb_exchange_show(exchange, asked, reply, error);
    json_decref(reply);
    return rc;
}

static void print_size(const struct nb_asked *asked, json_t *reply)
{
    const json_t *nodes = json_object_get(reply, "nodes"), *node;
    size_t i, arrows = 0;
    json_array_foreach(nodes, i, node)
    {
        arrows += json_array_size(json_object_get(node, "parents"));
    }

    (void)printf("%s: %s, %s\n", nb_shown(asked->arguments[0]).text,
                 nb_counted(json_array_size(nodes), "node").text, nb_counted(arrows, "arrow").text);
}

static const struct nb_exchange PUTTING = {
    .method = "PUT", .path = "/v1/networks/{0}", .query = {"source"}, .print = print_size};

static int put(struct nb_asked *asked, struct nb_error *error)
{
    return send_file(&PUTTING, asked, "application/json", error);
}

static const char *type_of(const char *file)
{
    static const char *const types[][2] = {{".csv", "text/csv"},
                                           {".ndjson", "application/x-ndjson"},
                                           {".jsonl", "application/x-ndjson"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t length = strlen(file), end = strlen(types[i][0]);
        if (length >= end && strcmp(file + length - end, types[i][0]) == 0)
            return types[i][1];
    }
    return "application/json";
}

static const struct nb_exchange LEARNING_FILE = {
    .method = "POST",
    .path = "/v1/networks/{0}/learn",
    .query = {"alpha", "prior", "separators", "source"},
    .print = print_learned,
};

static int learn_file(struct nb_asked *asked, struct nb_error *error)
{
    return send_file(&LEARNING_FILE, asked, type_of(asked->arguments[1]), error);
}

static int fetch_picture(void *user, FILE *out, struct nb_error *error)
{
    return nb_exchange_fetch(&SHOWING, user, out, NULL, NULL, error);
}

/* The verb, which stands before the arguments, names the format. */
static int draw(struct nb_asked *asked, struct nb_error *error)
{
    asked->more[0].name = "format";
    asked->more[0].value = asked->arguments[-1];
    return nb_write_file(asked->count > 1 ? asked->arguments[1] : "-", fetch_picture, asked, error);
}

#define LEARNING "alpha prior separators source"

static const struct nb_subcommand VERBS[] = {
    {"list", "", 0, 0, "", &LISTING, NULL},
    {"put", "NETWORK FILE", 2, 2, "source", NULL, put},
    {"show", "NETWORK", 1, 1, "", &SHOWING, NULL},
    {"query", "NETWORK", 1, 1, "of given", &QUERYING, NULL},
    {"independent", "NETWORK NODE NODE", 3, 3, "given", &ASKING_INDEPENDENT, NULL},
    {"learn", "NETWORK FILE", 2, 2, LEARNING, NULL, learn_file},
    {"from", "NETWORK MODEL [FIELD]...", 2, 2 + FIELDS_MOST, LEARNING, &LEARNING_FROM, NULL},
    {"dot", "NETWORK [FILE]", 1, 2, "", NULL, draw},
    {"svg", "NETWORK [FILE]", 1, 2, "", NULL, draw},
    {"delete", "NETWORK", 1, 1, "", &DELETING, NULL},
};

static const struct nb_flag FLAGS[] = {
    NB_LIST("of", 'o', of),
    NB_LIST("given", 'g', given),
    NB_NUMBER("alpha", 'a', alpha, .01, 1e-12, 1),
    NB_COUNT("separators", 0, separators, 256, 0, 256),
    NB_NUMBER("prior", 'p', prior, 1, 0, 1e6),
    NB_SOURCE_FLAG,
};

const struct nb_command NB_COMMAND_NETWORK = {
    .name = "network",
    .unused = NB_UNUSED_MODEL,
    NB_FLAGS(FLAGS),
    NB_VERBS(VERBS),
    .least = 1,
    .most = 3 + FIELDS_MOST,
    .patience = 60,
};
