/* SPDX-License-Identifier: Apache-2.0 */
#include "server/options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/names.h"

static const struct {
    const char *name;
    enum nb_action action; /* the action that the option chooses; NB_ACTION_SERVE: none */
    size_t offset; /* of the member for its value in struct nb_options; 0: it takes no value */
} OPTIONS[] = {
#define VALUE(member) offsetof(struct nb_options, member)
    {"config", NB_ACTION_SERVE, VALUE(config)},
    {"data", NB_ACTION_SERVE, VALUE(data)},
    {"listen", NB_ACTION_SERVE, VALUE(listen)},
    {"role", NB_ACTION_SERVE, VALUE(role)},
    {"models", NB_ACTION_SERVE, VALUE(models)},
    {"check-config", NB_ACTION_CHECK_CONFIG, 0},
    {"print-config", NB_ACTION_PRINT_CONFIG, 0},
    {"verify", NB_ACTION_VERIFY, 0},
    {"rebuild", NB_ACTION_REBUILD, 0},
    {"restore", NB_ACTION_RESTORE, VALUE(backup)},
    {"join", NB_ACTION_JOIN, VALUE(peer)},
    {"nodes-init", NB_ACTION_NODES_INIT, 0},
    {"new-token", NB_ACTION_NEW_TOKEN, VALUE(token)},
    {"list-tokens", NB_ACTION_LIST_TOKENS, 0},
    {"revoke-token", NB_ACTION_REVOKE_TOKEN, VALUE(token)},
    {"version", NB_ACTION_VERSION, 0},
    {"help", NB_ACTION_HELP, 0},
#undef VALUE
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof OPTIONS[0] };

void nb_options_help(FILE *out)
{
    (void)fputs(
        "Usage: bayesd [OPTION]...\n"
        "Learns to tell texts apart from labelled documents, and classifies new ones, over HTTP.\n"
        "\n"
        "  --config FILE           read the configuration from FILE\n"
        "  --data DIR              keep the models in DIR\n"
        "  --listen ADDRESS:PORT   serve there; port 0 takes a free one\n"
        "  --check-config          say whether the configuration is in order, and end\n"
        "  --print-config          print the configuration that holds, and end\n"
        "  --verify                compare everything with the ledger, print what differs, and "
        "end;\n"
        "                          the daemon must not be running\n"
        "  --rebuild               make everything but the ledger anew from it, print what "
        "differed,\n"
        "                          and end; the old file stays as data.mdb.old\n"
        "  --restore FILE          put a backup (bayesc backup) into the data directory, which is "
        "empty;\n"
        "                          verify it, and end; FILE may be '-', standard input\n"
        "  --join URL              put the store of another one of several [nodes] into the data\n"
        "                          directory, verify it, and end: the next start goes on from "
        "there,\n"
        "                          and publishes again what the old store alone has\n"
        "  --nodes-init            make the tables of [nodes] in the database, print what a role\n"
        "                          needs that uses them, and end\n"
        "  --new-token NAME --role classify|train|admin [--models PATTERN,...]\n"
        "                          make an access token, print it once, and end; --models "
        "'user-*'\n"
        "                          restricts it to models of such names\n"
        "  --list-tokens           list the tokens that were made so, and end\n"
        "  --revoke-token NAME     remove one of them, and end\n"
        "  --version               print the version, and end\n"
        "  --help                  print this, and end\n"
        "\n"
        "A later source of a setting wins: default, file, environment (BAYESD_GROUP_KEY), command "
        "line.\n"
        "Exit status: 0 all is well, 1 it failed (--verify, --rebuild, --restore: something "
        "differs), 2 the "
        "command line is wrong.\n",
        out); /* if printing fails, the reader sees it */
}

/* --help and --version, the last of the actions, win over the other options on the line. */
static void take(struct nb_options *options, int which)
{
    size_t offset = OPTIONS[which].offset;
    if (offset > 0)
        memcpy((char *)options + offset, &optarg, sizeof optarg);
    if (OPTIONS[which].action > options->action)
        options->action = OPTIONS[which].action;
}

static int refuse(const char *given, struct nb_error *error)
{
    struct nb_string name = {given, strcspn(given, "=")};
    for (; name.length > 0 && name.bytes[0] == '-'; name.bytes++)
        name.length--;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (nb_near_is(name, nb_string_of(OPTIONS[i].name)))
            return nb_error_set(error, NB_INVALID, "%s is no option: did you mean --%s?", given,
                                OPTIONS[i].name);
    return nb_error_set(error, NB_INVALID, "%s is no option", given);
}

int nb_options_read(int argc, char **argv, struct nb_options *options, struct nb_error *error)
{
    struct option all[OPTION_COUNT + 1] = {{NULL, 0, NULL, 0}};
    for (int i = 0; i < OPTION_COUNT; i++)
        all[i] = (struct option){OPTIONS[i].name,
                                 OPTIONS[i].offset > 0 ? required_argument : no_argument, NULL, i};
    *options = (struct nb_options){.action = NB_ACTION_SERVE, .arguments = argv};
    optind = 0; /* restarts getopt_long of glibc, for tests that read several command lines */
    opterr = 0; /* bayesd writes its own message */
    int option;
    while ((option = getopt_long(argc, argv, ":", all, NULL)) != -1) {
        const char *at = argv[optind - 1];
        if (option == ':')
            return nb_error_set(error, NB_INVALID, "%s needs a value", at);
        if (option == '?')
            return refuse(at, error);
        take(options, option);
    }
    if (optind < argc)
        return nb_error_set(error, NB_INVALID, "%s is no option; bayesd takes no other arguments",
                            argv[optind]);
    bool is_new = options->action == NB_ACTION_NEW_TOKEN;
    if (options->action < NB_ACTION_VERSION && is_new != (options->role != NULL))
        return nb_error_set(error, NB_INVALID, "%s",
                            is_new ? "--new-token needs --role classify, train or admin"
                                   : "--role is for --new-token");
    if (options->action < NB_ACTION_VERSION && !is_new && options->models != NULL)
        return nb_error_set(error, NB_INVALID, "--models is for --new-token");
    return 0;
}
