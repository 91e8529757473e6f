/* SPDX-License-Identifier: Apache-2.0 */
#include "server/options.h"

#include <getopt.h>
#include <stdbool.h>
#include <string.h>

static const struct option LONG[] = {
    {"config", required_argument, NULL, 'c'},
    {"data", required_argument, NULL, 'd'},
    {"listen", required_argument, NULL, 'l'},
    {"check-config", no_argument, NULL, 'C'},
    {"print-config", no_argument, NULL, 'P'},
    {"verify", no_argument, NULL, 'V'},
    {"rebuild", no_argument, NULL, 'R'},
    {"restore", required_argument, NULL, 'b'},
    {"join", required_argument, NULL, 'j'},
    {"nodes-init", no_argument, NULL, 'N'},
    {"version", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"new-token", required_argument, NULL, 'n'},
    {"role", required_argument, NULL, 'r'},
    {"models", required_argument, NULL, 'm'},
    {"list-tokens", no_argument, NULL, 't'},
    {"revoke-token", required_argument, NULL, 'x'},
    {NULL, 0, NULL, 0},
};

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
        out); /* what cannot be printed is seen by the reader */
}

static void set_action(struct nb_options *options, enum nb_action action)
{
    /* --help and --version win over whatever stands beside them. */
    if (action > options->action)
        options->action = action;
}

static int take(struct nb_options *options, int option)
{
    switch (option) {
    case 'c':
        options->config = optarg;
        return 0;
    case 'd':
        options->data = optarg;
        return 0;
    case 'l':
        options->listen = optarg;
        return 0;
    case 'C':
        set_action(options, NB_ACTION_CHECK_CONFIG);
        return 0;
    case 'P':
        set_action(options, NB_ACTION_PRINT_CONFIG);
        return 0;
    case 'V':
        set_action(options, NB_ACTION_VERIFY);
        return 0;
    case 'R':
        set_action(options, NB_ACTION_REBUILD);
        return 0;
    case 'b':
        options->backup = optarg;
        set_action(options, NB_ACTION_RESTORE);
        return 0;
    case 'j':
        options->peer = optarg;
        set_action(options, NB_ACTION_JOIN);
        return 0;
    case 'N':
        set_action(options, NB_ACTION_NODES_INIT);
        return 0;
    case 'n':
        options->token = optarg;
        set_action(options, NB_ACTION_NEW_TOKEN);
        return 0;
    case 'x':
        options->token = optarg;
        set_action(options, NB_ACTION_REVOKE_TOKEN);
        return 0;
    case 't':
        set_action(options, NB_ACTION_LIST_TOKENS);
        return 0;
    case 'r':
        options->role = optarg;
        return 0;
    case 'm':
        options->models = optarg;
        return 0;
    case 'v':
        set_action(options, NB_ACTION_VERSION);
        return 0;
    case 'h':
        set_action(options, NB_ACTION_HELP);
        return 0;
    default:
        return NB_INVALID;
    }
}

int nb_options_read(int argc, char **argv, struct nb_options *options, struct nb_error *error)
{
    *options = (struct nb_options){.action = NB_ACTION_SERVE, .arguments = argv};
    optind = 0; /* of glibc: begins anew, for tests that read several command lines */
    opterr = 0; /* the message is ours */
    int option;
    while ((option = getopt_long(argc, argv, ":", LONG, NULL)) != -1) {
        const char *at = argv[optind - 1];
        if (option == ':')
            return nb_error_set(error, NB_INVALID, "%s needs a value", at);
        if (take(options, option) != 0)
            return nb_error_set(error, NB_INVALID, "%s is no option", at);
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
