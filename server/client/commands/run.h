/* SPDX-License-Identifier: Apache-2.0
 *
 * What train, untrain, classify and explain have in common: all documents of the paths go through a
 * pipeline. Main thread.
 */
#ifndef NB_SERVER_CLIENT_COMMANDS_RUN_H
#define NB_SERVER_CLIENT_COMMANDS_RUN_H

#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/files/pipeline.h"

/* A guard against mistyped labels: the model would keep such a label, and the right label would
 * lack its documents. All zero at the beginning. */
struct nb_new_label {
    json_t *known;      /* owned: the labels of the model, by name; NULL before the first check */
    json_t *good;       /* owned: an object; its names are the labels that passed the check */
    uint64_t documents; /* of the model */
};

struct nb_run {
    struct nb_asked *asked;             /* with the options that say what is read, and how */
    const struct nb_exchange *exchange; /* the path of its requests and their query */
    const char *verb; /* for the progress bar: "trained"; NULL: nothing is changed, and no bar */
    bool with_label;  /* each document must have a label, unless it may be unlabelled, and it is
                         sent; labels are checked for mistyping (nb_new_label) */
    char separator;  /* the model's documents have several labels, with this between them in a label
                        that is read; NUL: they have one */
    bool is_mixed;   /* everything is read first, then sent in a shuffled, repeatable order */
    bool is_counted; /* after an interruption the run waits for the replies, then returns
                        NB_STOPPING */
    /* Called in the order of the documents; a code below 0 ends the run. */
    int (*take)(void *user, const struct nb_outcome *outcome, struct nb_error *error);
    int (*head)(void *user, struct nb_string row, struct nb_error *error); /* see struct nb_files */
    struct nb_table_form *form; /* see struct nb_files; or NULL */
    void *user;

    /* Set by the run. */
    bool reads_terminal; /* documents are typed: Ctrl-C ends the program at once */
    struct nb_files_options files;
    uint64_t rows; /* of tables, if the options name their source */
    struct nb_pipeline *pipeline;
    struct nb_new_label labels;
    struct nb_buffer label_set;
    struct nb_progress progress;
    /* What was printed on standard error: files that could not be read, documents that were
     * refused, also by the daemon, and remarks. */
    uint64_t news[NB_FILE_REMARK + 1];
    uint64_t documents; /* documents that the daemon accepted */
    uint64_t merged;    /* texts without an id that are the same document as one before */
    uint64_t total;     /* number of all documents; 0: not known */
};

/* Sends the documents. A refused document is counted and reported; `take` gets it only if it was
 * not found (NB_NOT_FOUND), or for a CSV. Returns 0 or a code. */
int nb_run_send(struct nb_run *run, struct nb_error *error);

/* Returns EX_DATAERR when a document was refused or a file could not be read, else 0. */
int nb_run_status(const struct nb_run *run);

#endif
