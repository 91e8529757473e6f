/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of bayesc, one file each, and what several of them do. Main thread.
 */
#ifndef NB_CLIENT_COMMANDS_H
#define NB_CLIENT_COMMANDS_H

#include "server/client/call.h"
#include "server/client/pipeline.h"
#include "server/client/source.h"
#include "server/client/terminal.h"

extern const struct nb_command NB_COMMAND_TRAIN, NB_COMMAND_UNTRAIN, NB_COMMAND_CLASSIFY,
    NB_COMMAND_EXPLAIN, NB_COMMAND_FILTER, NB_COMMAND_MODELS, NB_COMMAND_STATS, NB_COMMAND_EVALUATE,
    NB_COMMAND_EXPORT, NB_COMMAND_IMPORT;

/* A run over all documents of the paths, through a pipeline. */
struct nb_run {
    const struct nb_client *client;
    const struct nb_source_options *source;
    const char *operation; /* behind /v1/models/MODEL */
    const char *verb;      /* of the progress bar: "trained" */
    size_t connections;
    bool with_label; /* each document must have a label, and it is sent */
    bool is_mixed;   /* sent in a shuffled order (always the same), after all was read */
    bool is_quiet;   /* no progress bar */
    /* Called in the order of the documents; a code below 0 ends the run. */
    int (*take)(void *user, const struct nb_outcome *outcome, struct nb_error *error);
    void *user;

    /* Filled by the run. */
    struct nb_pipeline *pipeline;
    struct nb_progress progress;
    uint64_t unread;    /* files that could not be read: each was said on standard error */
    uint64_t refused;   /* documents that the daemon did not take: likewise */
    uint64_t documents; /* that it took */
};

/* Documents that are refused are counted and said, and not given to `take`. Returns 0 or a code. */
int nb_run_documents(struct nb_run *run, char *const *paths, size_t count, struct nb_error *error);

/* EX_DATAERR when something was refused or could not be read, else 0. */
int nb_run_status(const struct nb_run *run);

/* Prints a JSON value and a line feed on standard output. */
int nb_print_json(const json_t *value, struct nb_error *error);

/* GETs /v1/models/MODEL and `rest`. */
int nb_get(const struct nb_client *client, const char *rest, json_t **value,
           struct nb_error *error);

#endif
