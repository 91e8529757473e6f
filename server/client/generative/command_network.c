/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc network: keeps, shows, learns and asks Bayes nets.
 */
#include <assert.h>
#include <string.h>

#include "server/client/base/source_flag.h"
#include "server/client/commands/commands.h"
#include "server/client/generative/network_kept.h"
#include "server/client/generative/network_question.h"

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

static struct nb_network_wish wish_of(const struct network_options *options)
{
    return (struct nb_network_wish){.source = options->source,
                                    .alpha = options->alpha,
                                    .prior = options->prior,
                                    .separators = options->separators};
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
    const struct nb_network_wish wish = wish_of(options);
    switch (verb) {
    case LIST:
        return nb_network_list(client, error);
    case PUT:
        assert(second != NULL); /* VERB_ROWS demands it, as that of LEARN and FROM */
        return nb_network_put(client, name, second, options->source, error);
    case SHOW:
        return nb_network_show(client, name, error);
    case QUERY:
        return nb_network_ask(client, name, &options->of, &options->given, error);
    case INDEPENDENT:
        return nb_network_ask_independent(client, name, second, arguments[2], &options->given,
                                          error);
    case LEARN:
        assert(second != NULL);
        return nb_network_learn_file(client, name, second, &wish, error);
    case FROM:
        assert(second != NULL);
        return nb_network_learn_from(client, name, second, arguments + 2, count - 2, &wish, error);
    case DOT:
    case SVG:
        return nb_network_draw(client, name, VERB_ROWS[verb].name, second, error);
    case DELETE:
        return nb_network_delete(client, name, error);
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
    .unused = NB_UNUSED_MODEL,
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
