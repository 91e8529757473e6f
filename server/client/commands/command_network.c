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
#include "server/client/commands/exchange.h"
#include "server/http/call/path.h"

struct network_options {
    struct nb_flag_list of, given;
    const char *source;
    double alpha, prior;
    uint64_t separators;
};

/* The most fields of a model: a network has one node for each, and one for the label. */
enum { FIELDS_MOST = 255 };

enum { SEPARATORS_DEFAULT = 256 };

static const struct network_options DEFAULTS = {
    .alpha = .01, .prior = 1, .separators = SEPARATORS_DEFAULT};

static const struct nb_flag FLAGS[] = {
    {"of", 'o', NB_FLAG_LIST, offsetof(struct network_options, of), 0, 0},
    {"given", 'g', NB_FLAG_LIST, offsetof(struct network_options, given), 0, 0},
    {"alpha", 'a', NB_FLAG_NUMBER, offsetof(struct network_options, alpha), 1e-12, 1},
    {"separators", 0, NB_FLAG_COUNT, offsetof(struct network_options, separators), 0, 256},
    {"prior", 'p', NB_FLAG_NUMBER, offsetof(struct network_options, prior), 0, 1e6},
    NB_SOURCE_FLAG(struct network_options),
};

#define AT(member) offsetof(struct network_options, member)

#define SOURCE                                                                                     \
    {                                                                                              \
        "source", NB_FLAG_TEXT, AT(source), false                                                  \
    }
#define LEARNING                                                                                   \
    {"alpha", NB_FLAG_NUMBER, AT(alpha), false}, {"prior", NB_FLAG_NUMBER, AT(prior), false},      \
    {                                                                                              \
        "separators", NB_FLAG_COUNT, AT(separators), false                                         \
    }

/* ---- list, show, delete ---------------------------------------------------------------------- */

static const struct nb_exchange LISTING = {.method = "GET", .path = "/v1/networks"};
static const struct nb_exchange SHOWING = {.method = "GET", .path = "/v1/networks/{0}"};
static const struct nb_exchange DELETING = {
    .method = "DELETE", .path = "/v1/networks/{0}", .text = ""};

/* Prints each page as soon as it arrives. */
static int print_page(void *user, json_t *page, struct nb_error *error)
{
    const struct nb_exchange_input *asked = user;
    size_t i;
    const json_t *row;
    if (asked->client->json)
        return nb_answer_print(page, error);
    json_array_foreach(json_object_get(page, "networks"), i, row)
    {
        bool is_damaged = strcmp(nb_answer_text(row, "state"), "damaged") == 0;
        (void)printf("%s%s\n", nb_shown(nb_answer_text(row, "name")).text,
                     is_damaged ? " (damaged)" : "");
    }
    return 0;
}

static int list(const struct nb_exchange_input *asked, struct nb_error *error)
{
    struct nb_exchange_input pages = *asked;
    return nb_exchange_pages(&LISTING, asked, print_page, &pages, error);
}

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

static void print_probabilities(const struct nb_exchange_input *asked, json_t *reply)
{
    static const char *const HEAD[] = {"node", "state", ">probability"};
    struct nb_text_table table;
    const char *node, *state;
    json_t *states;
    const json_t *p;
    (void)asked;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
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

static int put_evidence(const struct nb_exchange_input *asked, json_t *body, struct nb_error *error)
{
    const struct nb_flag_list *given = &((const struct network_options *)asked->options)->given;
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
    .body = {{"of", NB_FLAG_LIST, AT(of), false}},
    .fill = put_evidence,
    .print = print_probabilities,
};

static void print_independence(const struct nb_exchange_input *asked, json_t *reply)
{
    const struct nb_flag_list *given = &((const struct network_options *)asked->options)->given;
    bool is_independent = json_is_true(json_object_get(reply, "independent"));
    nb_exchange_text(is_independent ? "{1} and {2} are independent"
                                    : "{1} and {2} may depend on each other",
                     asked, reply);
    for (size_t i = 0; i < given->count; i++)
        (void)printf("%s%s", i == 0 ? " given " : ", ", nb_shown(given->items[i]).text);
    (void)putchar('\n');
}

/* Adds the list of arguments from `first` on. */
static int put_words(const struct nb_exchange_input *asked, const char *member, size_t first,
                     json_t *body, struct nb_error *error)
{
    json_t *words = json_array();
    int rc = json_object_set_new(body, member, words);
    for (size_t i = first; rc == 0 && i < asked->count; i++)
        rc = json_array_append_new(words, json_string(asked->arguments[i]));
    return rc == 0 ? 0 : nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
}

static int put_pair(const struct nb_exchange_input *asked, json_t *body, struct nb_error *error)
{
    return put_words(asked, "independent", 1, body, error);
}

static const struct nb_exchange ASKING_INDEPENDENT = {
    .method = "POST",
    .path = "/v1/networks/{0}/query",
    .body = {{"given", NB_FLAG_LIST, AT(given), false}},
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

static void print_learned(const struct nb_exchange_input *asked, json_t *reply)
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
static int put_model(const struct nb_exchange_input *asked, json_t *body, struct nb_error *error)
{
    if (json_object_set_new(body, "model", json_string(asked->arguments[1])) != 0)
        return nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
    return asked->count > 2 ? put_words(asked, "fields", 2, body, error) : 0;
}

static const struct nb_exchange LEARNING_FROM = {
    .method = "POST",
    .path = "/v1/networks/{0}",
    .query = {SOURCE},
    .body = {LEARNING},
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
static int send_file(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                     const char *type, struct nb_error *error)
{
    const char *name = asked->arguments[1];
    FILE *file = open_body(name, error);
    if (file == NULL)
        return error->code;
    struct nb_exchange_input sent = *asked;
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

static void print_size(const struct nb_exchange_input *asked, json_t *reply)
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
    .method = "PUT", .path = "/v1/networks/{0}", .query = {SOURCE}, .print = print_size};

static int put(const struct nb_exchange_input *asked, struct nb_error *error)
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
    .query = {LEARNING, SOURCE},
    .print = print_learned,
};

static int learn_file(const struct nb_exchange_input *asked, struct nb_error *error)
{
    return send_file(&LEARNING_FILE, asked, type_of(asked->arguments[1]), error);
}

struct picture {
    const struct nb_client *client;
    const char *network, *format;
};

static int fetch_picture(void *user, FILE *out, struct nb_error *error)
{
    const struct picture *p = user;
    struct nb_buffer path = {0};
    int rc = nb_path_network(&path, p->network, "") == 0 &&
                     nb_path_query(&path, "format", p->format) == 0
                 ? nb_fetch(p->client, "GET", path.bytes, out, NULL, NULL, error)
                 : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    return rc;
}

/* The verb, which stands before the arguments, names the format. */
static int draw(const struct nb_exchange_input *asked, struct nb_error *error)
{
    struct picture p = {asked->client, asked->arguments[0], asked->arguments[-1]};
    return nb_write_file(asked->count > 1 ? asked->arguments[1] : "-", fetch_picture, &p, error);
}

/* ---- the verbs ------------------------------------------------------------------------------- */

/* Which options a verb takes. */
enum { TAKES_OF = 1, TAKES_GIVEN = 2, TAKES_LEARNING = 4, TAKES_SOURCE = 8 };

static const struct verb {
    const char *name, *arguments;
    size_t least, most; /* number of arguments after the verb */
    unsigned takes;
    const struct nb_exchange *exchange; /* the request of the verb; NULL: `run` is called */
    int (*run)(const struct nb_exchange_input *asked, struct nb_error *error);
} VERBS[] = {
    {"list", "", 0, 0, 0, NULL, list},
    {"put", "NETWORK FILE", 2, 2, TAKES_SOURCE, NULL, put},
    {"show", "NETWORK", 1, 1, 0, &SHOWING, NULL},
    {"query", "NETWORK", 1, 1, TAKES_OF | TAKES_GIVEN, &QUERYING, NULL},
    {"independent", "NETWORK NODE NODE", 3, 3, TAKES_GIVEN, &ASKING_INDEPENDENT, NULL},
    {"learn", "NETWORK FILE", 2, 2, TAKES_LEARNING | TAKES_SOURCE, NULL, learn_file},
    {"from", "NETWORK MODEL [FIELD]...", 2, 2 + FIELDS_MOST, TAKES_LEARNING | TAKES_SOURCE,
     &LEARNING_FROM, NULL},
    {"dot", "NETWORK [FILE]", 1, 2, 0, NULL, draw},
    {"svg", "NETWORK [FILE]", 1, 2, 0, NULL, draw},
    {"delete", "NETWORK", 1, 1, 0, &DELETING, NULL},
};
enum { VERB_COUNT = sizeof VERBS / sizeof VERBS[0] };

static int find_verb(const char *name, size_t count, const struct verb **verb,
                     struct nb_error *error)
{
    for (size_t v = 0; v < VERB_COUNT; v++) {
        if (strcmp(VERBS[v].name, name) != 0)
            continue;
        *verb = &VERBS[v];
        if (count < VERBS[v].least || count > VERBS[v].most)
            return nb_error_set(error, NB_CLIENT_USAGE, "it is: bayesc network %s %s", name,
                                VERBS[v].arguments);
        return 0;
    }
    return nb_error_set(error, NB_CLIENT_USAGE,
                        "'%s' is none of list, put, show, query, independent, learn, from, "
                        "dot, svg, delete",
                        name);
}

/* Refuses flags of other verbs instead of ignoring them. */
static int check_flags(const struct verb *verb, const struct network_options *options,
                       struct nb_error *error)
{
    bool learns = options->alpha != DEFAULTS.alpha || options->prior != DEFAULTS.prior ||
                  options->separators != DEFAULTS.separators;
    unsigned given = (options->of.count > 0 ? TAKES_OF : 0U) |
                     (options->given.count > 0 ? TAKES_GIVEN : 0U) |
                     (learns ? TAKES_LEARNING : 0U) | (options->source != NULL ? TAKES_SOURCE : 0U);
    if ((given & ~verb->takes) != 0)
        return nb_error_set(error, NB_CLIENT_USAGE, "an option is not one of `network %s`",
                            verb->name);
    return 0;
}

static int run_network(struct nb_client *client, const void *user, char **arguments, size_t count,
                       struct nb_error *error)
{
    const struct nb_exchange_input asked = {NB_ASKED(client, user, arguments + 1, count - 1)};
    const struct verb *verb = NULL;
    int rc = find_verb(arguments[0], count - 1, &verb, error);
    if (rc == 0)
        rc = check_flags(verb, user, error);
    if (rc != 0)
        return rc;
    return verb->run != NULL ? verb->run(&asked, error)
                             : nb_exchange_run(verb->exchange, &asked, error);
}

const struct nb_command NB_COMMAND_NETWORK = {
    .unused = NB_UNUSED_MODEL,
    .name = "network",
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .least = 1,
    .most = 3 + FIELDS_MOST,
    .patience = 60,
    .run = run_network,
};
