/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc network: keeps, shows, learns and asks Bayes nets.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/source_flag.h"
#include "server/client/commands/commands.h"
#include "server/client/files/write_file.h"
#include "server/client/generative/network_learned.h"
#include "server/client/generative/network_question.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

struct network_options {
    struct nb_flag_list of, given;
    const char *source;
    double alpha, prior;
    uint64_t separators;
};

/* Fields of a model: as many as a network has nodes beside the label. */
enum { FIELDS_MOST = 255 };

enum { SEPARATORS_DEFAULT = 256 };

static const struct network_options DEFAULTS = {
    .alpha = .01, .prior = 1, .separators = SEPARATORS_DEFAULT};

static const struct nb_flag FLAGS[] = {
    {"of", 'o', NB_FLAG_LIST, "NODE", offsetof(struct network_options, of), 0, 0,
     "query: a node whose probabilities are wanted; may be repeated (default: all)"},
    {"given", 'g', NB_FLAG_LIST, "NODE=STATE", offsetof(struct network_options, given), 0, 0,
     "query: what is known; independent: NODE alone; may be repeated"},
    {"alpha", 'a', NB_FLAG_NUMBER, "P", offsetof(struct network_options, alpha), 1e-12, 1,
     "learn, from: share of independent pairs that a test joins by mistake (default: .01)"},
    {"separators", 0, NB_FLAG_COUNT, "N", offsetof(struct network_options, separators), 0, 256,
     "learn, from: most nodes of a set that separates two (default: any number)"},
    {"prior", 'p', NB_FLAG_NUMBER, "N", offsetof(struct network_options, prior), 0, 1e6,
     "learn, from: added to each count of the tables (default: 1)"},
    NB_SOURCE_FLAG(struct network_options),
};

/* ---- one request ----------------------------------------------------------------------------- */

static int request_json(const struct nb_client *client, const char *method, const char *path,
                        json_t **reply, struct nb_error *error)
{
    const struct nb_call_request request = {.method = method, .path = path};
    return nb_call_once(&client->daemon, &request, reply, error);
}

/* Without a body, of /v1/networks/NETWORK. */
static int simple(const struct nb_client *client, const char *method, const char *network,
                  json_t **reply, struct nb_error *error)
{
    struct nb_buffer path = {0};
    int rc = nb_path_network(&path, network, "") == 0
                 ? request_json(client, method, path.bytes, reply, error)
                 : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    return rc;
}

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

/* The file is the body. */
static int send_file(const struct nb_client *client, const char *method, const char *path,
                     const char *name, const char *type, json_t **reply, struct nb_error *error)
{
    FILE *file = open_body(name, error);
    if (file == NULL)
        return error->code;
    const struct nb_call_request request = {
        .method = method, .path = path, .type = type, .give = give_file, .user = file};
    int rc = nb_call_once(&client->daemon, &request, reply, error);
    if (ferror(file) != 0)
        rc = nb_error_set(error, NB_IO, "%s cannot be read", name);
    if (file != stdin)
        (void)fclose(file);
    return rc;
}

/* ---- list, show, delete ---------------------------------------------------------------------- */

static void print_names(const json_t *page)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(page, "networks"), i, row)
    {
        bool is_damaged = strcmp(nb_answer_text(row, "state"), "damaged") == 0;
        (void)printf("%s%s\n", nb_shown(nb_answer_text(row, "name")).text,
                     is_damaged ? " (damaged)" : "");
    }
}

static int list(const struct nb_client *client, struct nb_error *error)
{
    char after[NB_SHOWN_BYTES] = "";
    int rc = 0;
    do {
        struct nb_buffer path = {0};
        json_t *page = NULL;
        if (nb_buffer_puts(&path, "/v1/networks") != 0 || nb_buffer_append(&path, "", 1) != 0)
            rc = nb_error_no_memory(error);
        path.length -= rc == 0;
        if (rc == 0 && nb_path_query(&path, "after", *after != '\0' ? after : NULL) != 0)
            rc = nb_error_no_memory(error);
        if (rc == 0)
            rc = request_json(client, "GET", path.bytes, &page, error);
        if (rc == 0 && client->json)
            rc = nb_answer_print(page, error);
        else if (rc == 0)
            print_names(page);
        (void)snprintf(after, sizeof after, "%s", nb_answer_text(page, "next"));
        json_decref(page);
        nb_buffer_deinit(&path);
    } while (rc == 0 && *after != '\0');
    return rc;
}

static int show(const struct nb_client *client, const char *network, struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = simple(client, "GET", network, &reply, error);
    if (rc == 0)
        rc = nb_answer_print(reply, error);
    json_decref(reply);
    return rc;
}

static int forget(const struct nb_client *client, const char *network, struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = simple(client, "DELETE", network, &reply, error);
    json_decref(reply);
    return rc;
}

/* ---- pictures -------------------------------------------------------------------------------- */

struct picture {
    const struct nb_client *client;
    const char *network, *format;
};

static int fetch_picture(void *user, FILE *out, struct nb_error *error)
{
    const struct picture *p = user;
    struct nb_buffer path = {0}, reply = {0};
    struct nb_call *call = NULL;
    int rc = nb_path_network(&path, p->network, "") == 0 &&
                     nb_path_query(&path, "format", p->format) == 0
                 ? nb_call_open(&p->client->daemon, &call, error)
                 : nb_error_no_memory(error);
    const struct nb_call_request request = {.method = "GET", .path = path.bytes};
    if (rc == 0)
        rc = nb_call_make(call, &request, &reply, error);
    if (rc == 0 && fwrite(reply.bytes, 1, reply.length, out) != reply.length)
        rc = nb_error_set(error, NB_IO, "the output cannot be written");
    nb_call_close(&call);
    nb_buffer_deinit(&reply);
    nb_buffer_deinit(&path);
    return rc;
}

static int draw(const struct nb_client *client, const char *network, const char *format,
                const char *file, struct nb_error *error)
{
    struct picture p = {client, network, format};
    if (file == NULL || strcmp(file, "-") == 0)
        return fetch_picture(&p, stdout, error);
    return nb_write_file(file, fetch_picture, &p, error);
}

/* ---- put and learn --------------------------------------------------------------------------- */

static void print_size(const char *network, const json_t *reply)
{
    const json_t *nodes = json_object_get(reply, "nodes"), *node;
    size_t i, arrows = 0;
    json_array_foreach(nodes, i, node)
    {
        arrows += json_array_size(json_object_get(node, "parents"));
    }

    (void)printf("%s: %s nodes, %s arrows\n", nb_shown(network).text,
                 nb_figure_of(json_array_size(nodes)).text, nb_figure_of(arrows).text);
}

static int put(const struct nb_client *client, const struct network_options *options,
               const char *network, const char *file, struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *reply = NULL;
    assert(file != NULL); /* VERB_ROWS demands it */
    int rc = nb_path_network(&path, network, "") == 0 &&
                     nb_path_query(&path, "source", options->source) == 0
                 ? send_file(client, "PUT", path.bytes, file, "application/json", &reply, error)
                 : nb_error_no_memory(error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_size(network, reply);
    json_decref(reply);
    nb_buffer_deinit(&path);
    return rc;
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

static int learn(const struct nb_client *client, const struct network_options *options,
                 const char *network, const char *file, struct nb_error *error)
{
    struct nb_buffer path = {0}, query = {0};
    json_t *reply = NULL;
    assert(file != NULL); /* VERB_ROWS demands it */
    int rc = nb_buffer_printf(&query, "/learn?alpha=%.17g&prior=%.17g&separators=%ju",
                              options->alpha, options->prior, (uintmax_t)options->separators);
    if (rc == 0)
        rc = nb_path_network(&path, network, query.bytes);
    if (rc == 0)
        rc = nb_path_query(&path, "source", options->source);
    rc = rc == 0 ? send_file(client, "POST", path.bytes, file, type_of(file), &reply, error)
                 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_network_print_learned(client, network, reply, error);
    json_decref(reply);
    nb_buffer_deinit(&query);
    nb_buffer_deinit(&path);
    return rc;
}

/* `arguments` are the network, the model, and fields. */
static int from(const struct nb_client *client, const struct network_options *options,
                char **arguments, size_t count, struct nb_error *error)
{
    const struct nb_network_wish wish = {.source = options->source,
                                         .alpha = options->alpha,
                                         .prior = options->prior,
                                         .separators = options->separators};
    assert(count >= 2); /* VERB_ROWS demands it */
    return nb_network_learn_from(client, arguments[0], arguments[1], arguments + 2, count - 2,
                                 &wish, error);
}

/* ---- which of them --------------------------------------------------------------------------- */

enum verb { LIST, PUT, SHOW, QUERY, INDEPENDENT, LEARN, FROM, DOT, SVG, DELETE, VERBS };

static const struct {
    const char *name, *arguments;
    size_t least, most; /* arguments behind the verb */
} VERB_ROWS[VERBS] = {
    [LIST] = {"list", "", 0, 0},
    [PUT] = {"put", "NETWORK FILE", 2, 2},
    [SHOW] = {"show", "NETWORK", 1, 1},
    [QUERY] = {"query", "NETWORK", 1, 1},
    [INDEPENDENT] = {"independent", "NETWORK NODE NODE", 3, 3},
    [LEARN] = {"learn", "NETWORK FILE", 2, 2},
    [FROM] = {"from", "NETWORK MODEL [FIELD]...", 2, 2 + FIELDS_MOST},
    [DOT] = {"dot", "NETWORK [FILE]", 1, 2},
    [SVG] = {"svg", "NETWORK [FILE]", 1, 2},
    [DELETE] = {"delete", "NETWORK", 1, 1},
};

static int find_verb(const char *name, size_t count, enum verb *verb, struct nb_error *error)
{
    for (int v = 0; v < VERBS; v++) {
        if (strcmp(VERB_ROWS[v].name, name) != 0)
            continue;
        *verb = (enum verb)v;
        if (count < VERB_ROWS[v].least || count > VERB_ROWS[v].most)
            return nb_error_set(error, NB_CLIENT_USAGE, "it is: bayesc network %s %s", name,
                                VERB_ROWS[v].arguments);
        return 0;
    }
    return nb_error_set(error, NB_CLIENT_USAGE,
                        "'%s' is none of list, put, show, query, independent, learn, from, "
                        "dot, svg, delete",
                        name);
}

/* Flags of another verb are a mistake, not nothing. */
static int check_flags(enum verb verb, const struct network_options *options,
                       struct nb_error *error)
{
    bool learns = options->alpha != DEFAULTS.alpha || options->prior != DEFAULTS.prior ||
                  options->separators != DEFAULTS.separators;
    bool may_learn = verb == LEARN || verb == FROM;
    if ((options->of.count > 0 && verb != QUERY) ||
        (options->given.count > 0 && verb != QUERY && verb != INDEPENDENT) ||
        (learns && !may_learn) || (options->source != NULL && !may_learn && verb != PUT))
        return nb_error_set(error, NB_CLIENT_USAGE, "an option is not one of `network %s`",
                            VERB_ROWS[verb].name);
    return nb_source_check(options->source, error);
}

static int run_verb(const struct nb_client *client, enum verb verb,
                    const struct network_options *options, char **arguments, size_t count,
                    struct nb_error *error)
{
    const char *name = count > 0 ? arguments[0] : "", *second = count > 1 ? arguments[1] : NULL;
    switch (verb) {
    case LIST:
        return list(client, error);
    case PUT:
        return put(client, options, name, second, error);
    case SHOW:
        return show(client, name, error);
    case QUERY:
        return nb_network_ask(client, name, &options->of, &options->given, error);
    case INDEPENDENT:
        return nb_network_ask_independent(client, name, second, arguments[2], &options->given,
                                          error);
    case LEARN:
        return learn(client, options, name, second, error);
    case FROM:
        return from(client, options, arguments, count, error);
    case DOT:
    case SVG:
        return draw(client, name, VERB_ROWS[verb].name, second, error);
    case DELETE:
        return forget(client, name, error);
    case VERBS:
        break;
    }
    return 0;
}

static int run_network(struct nb_client *client, const void *user, char **arguments, size_t count,
                       struct nb_error *error)
{
    enum verb verb = LIST;
    int rc = find_verb(arguments[0], count - 1, &verb, error);
    if (rc == 0)
        rc = check_flags(verb, user, error);
    return rc != 0 ? rc : run_verb(client, verb, user, arguments + 1, count - 1, error);
}

const struct nb_command NB_COMMAND_NETWORK = {
    .name = "network",
    .arguments =
        "list|put|show|query|independent|learn|from|dot|svg|delete [NETWORK] [ARGUMENT]...",
    .summary = "Keeps, shows, learns and asks Bayes nets",
    .details =
        "list                           the networks that there are\n"
        "put NETWORK FILE               keeps a network of nodes, parents and tables, in JSON\n"
        "show NETWORK                   prints it, in JSON\n"
        "query NETWORK                  probabilities of nodes, given what is known\n"
        "independent NETWORK NODE NODE  whether two nodes are independent, given others\n"
        "learn NETWORK FILE             learns it from rows: .csv, .ndjson, else JSON\n"
        "from NETWORK MODEL [FIELD]...  learns it from a model's documents: their categories and\n"
        "                               their label\n"
        "dot, svg NETWORK [FILE]        draws it: for Graphviz, or as a picture\n"
        "delete NETWORK                 deletes it\n"
        "\n"
        "FILE may be - for standard input or output.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .least = 1,
    .most = 3 + FIELDS_MOST,
    .patience = 60,
    .run = run_network,
};
