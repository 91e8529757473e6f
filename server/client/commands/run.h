/* SPDX-License-Identifier: Apache-2.0
 *
 * What train, untrain, classify and explain have in common: all documents of the paths go through a
 * pipeline. Main thread.
 */
#ifndef NB_CLIENT_RUN_H
#define NB_CLIENT_RUN_H

#include "server/client/commands/new_label.h"
#include "server/client/files/files.h"
#include "server/client/send/pipeline.h"
#include "server/client/terminal/progress.h"

struct nb_run {
    const struct nb_client *client;
    const struct nb_files_options *files;
    const char *operation; /* of the request: what follows /v1/models/MODEL */
    const char *source;    /* recorded with each change (see source_flag.h), or NULL */
    const char *verb;      /* for the progress bar: "trained" */
    size_t connections;
    bool with_label;       /* each document must have a label, and it is sent */
    bool takes_unlabelled; /* with `with_label`: one that has none is sent with a null label */
    bool is_guarded;  /* labels that may be mistyped are asked about or refused (new_label.h) */
    bool is_attached; /* the daemon takes the mails that are attached to the documents */
    bool is_mixed;    /* everything is read first, then sent in a shuffled, repeatable order */
    bool is_quiet;    /* no progress bar */
    bool is_counted;  /* an interruption ends it with NB_STOPPING, when all that was sent is done */
    bool wants_refused; /* `take` is called with every refused document */
    /* Called in the order of the documents; a code below 0 ends the run. */
    int (*take)(void *user, const struct nb_outcome *outcome, struct nb_error *error);
    int (*head)(void *user, struct nb_string row, struct nb_error *error); /* see struct nb_files */
    struct nb_table_form *form; /* see struct nb_files; or NULL */
    void *user;

    /* Set by the run. */
    struct nb_pipeline *pipeline;
    struct nb_new_label labels;
    struct nb_progress progress;
    uint64_t unread;    /* files that could not be read; reported on standard error */
    uint64_t refused;   /* documents that the daemon refused; reported too */
    uint64_t remarks;   /* about files */
    uint64_t documents; /* that the daemon took */
    uint64_t total;     /* documents that there are; 0: it is not known */
};

/* Runs. A document that the daemon refuses is counted and reported, and not given to `take`, except
 * for one that is not found (NB_NOT_FOUND), and with `wants_refused`. Returns 0 or a code. */
int nb_run_documents(struct nb_run *run, char *const *paths, size_t count, struct nb_error *error);

/* EX_DATAERR when something was refused or could not be read, else 0. */
int nb_run_status(const struct nb_run *run);

#endif
