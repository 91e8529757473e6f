/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the history of a model: the stored verdicts, newest first, and why a verdict was given. Any
 * thread; a call may wait for the disk and belongs to one thread.
 */
#ifndef NB_CORE_JOBS_HISTORY_HISTORY_LISTING_H
#define NB_CORE_JOBS_HISTORY_HISTORY_LISTING_H

#include "core/engine/engine.h"
#include "core/ledger/ledger.h"
#include "core/writer/remember.h"

/* Writes pending verdicts at once, before a history is read. Any thread. */

/* Writes the verdicts that wait for the histories, and waits for the disk. Returns 0 or a code. */
int nb_engine_history_write(struct nb_engine *engine, struct nb_error *error);

/* A model whose history is read; shared by the functions of core/jobs/history. One thread; for
 * core/jobs/history alone. */
struct nb_reading {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_view view; /* the caller's snapshot, while it holds one */
    struct nb_history_limits limits;
    struct nb_features_coder *coder; /* owned */
    struct nb_entry entry;
};

/* Writes the pending verdicts, and finds the model. If the disk is full, they are missing from what
 * is read. Returns 0, or a code; then there is nothing to end. */
int nb_reading_begin(struct nb_reading *reading, struct nb_engine *engine, struct nb_string model,
                     struct nb_error *error);
void nb_reading_end(struct nb_reading *reading);

/* Sets *is_stored to whether the document is learned or stored, and *label to its label (length 0:
 * none), whose name lives as long as the model. Returns 0 or a code; damage of the ledger is
 * reported as nb_live_note does. */
int nb_reading_label(struct nb_reading *reading, struct nb_string id, bool *is_stored,
                     struct nb_string *label, struct nb_error *error);

/* Translates `rc` for the caller: a damaged history does not make its model damaged. The history is
 * deleted when the next verdict is written. Returns the code and fills `error`. */
int nb_reading_tell(struct nb_reading *reading, int rc, const struct nb_error *why,
                    struct nb_error *error);

/* Conditions for verdicts. A string of length 0, and `is_labelled` NB_HISTORY_ANY, are no
 * condition. */
struct nb_history_options {
    struct nb_string verdict;  /* the label that won */
    struct nb_string source;   /* source of the request */
    struct nb_string contains; /* part of the id, Message-ID, Subject or From; no case */
    int64_t from, until;       /* milliseconds since 1970, both included */
    double least, most;        /* the probability, both included */
    enum { NB_HISTORY_ANY, NB_HISTORY_LABELLED, NB_HISTORY_UNLABELLED } is_labelled;
    uint64_t before; /* number of the row behind which the page begins; 0: from the newest */
    size_t skip;     /* rows that match and come before the page */
    size_t limit;    /* rows, at least 1 */
    bool is_counted; /* count all rows that match, not only those of the page */
};

/* A stored verdict; everything is borrowed for the call. */
struct nb_history_row {
    uint64_t number; /* ascends with time */
    struct nb_string id, message_id, subject, sender, source;
    int64_t time; /* milliseconds since 1970 */
    struct nb_string verdict;
    double probability;
    double known; /* the probability that the document is of any of the labels; NaN: not told */
    uint64_t tokens;
    bool is_stored;         /* the document is learned, or stored without a label */
    struct nb_string label; /* the document's label now; length 0: none */
};

/* What follows a page. */
struct nb_history_rest {
    uint64_t next;    /* number behind which the next page begins; 0: there is none */
    uint64_t total;   /* rows from `before` on that match, if they were counted */
    bool is_complete; /* `total` counts all: the verdicts were not too many to examine */
};

/* Calls `visit` for the verdicts that match, newest first, until it returns non-zero, and returns
 * that. Fills `rest`. A call examines at most 20,000 verdicts, so a page with a next one may have
 * fewer rows than `limit`, or none. Else returns 0, NB_NOT_FOUND (model), NB_DAMAGED, NB_IO or
 * NB_NO_MEMORY. */
int nb_engine_history(struct nb_engine *engine, struct nb_string model,
                      const struct nb_history_options *options,
                      int (*visit)(void *user, const struct nb_history_row *row), void *user,
                      struct nb_history_rest *rest, struct nb_error *error);

/* A verdict of the history, with the document as it was stored. */
struct nb_history_found {
    struct nb_history_row row; /* borrows from `stored` and `label` */
    struct nb_buffer stored;   /* owned */
    struct nb_bag bag;         /* owned: what the model saw then */
    char *label;               /* owned */
};
/* Finds the verdict about a document, and classifies the stored document into `verdict`, explained
 * by `explain` tokens. The caller deinits `found` in any case. Returns 0, NB_NOT_FOUND (model, or
 * no verdict about the document is kept), or as nb_engine_classify. */
int nb_engine_history_find(struct nb_engine *engine, struct nb_string model, struct nb_string id,
                           size_t explain, struct nb_history_found *found,
                           struct nb_verdict *verdict, struct nb_error *error);
void nb_history_found_deinit(struct nb_history_found *found);

/* ---- what to label next --------------------------------------------------------------------- */

/* A document that would teach much. */
struct nb_next_document {
    struct nb_buffer id; /* owned; may have NUL bytes */
    char *verdict;       /* owned; the label that wins; of several, that nearest its threshold */
    struct nb_buffer labels; /* owned; of several: the set that the model gives; else empty */
    char *message_id, *subject, *sender; /* owned; may be empty */
    char *words;                         /* owned; some words of the text, with blanks between */
    double probability, margin; /* of that label; its lead over the runner-up, or nb_verdict's */
    int64_t time;               /* milliseconds since 1970: of the verdict, or when it was stored */
    bool is_remembered;         /* the history has it; else it is stored */
};

struct nb_next {
    struct nb_next_document *documents; /* owned; the best first */
    size_t count;
    uint64_t looked_at; /* documents that were judged */
};

/* Finds up to `count` documents. It classifies two groups of documents without a label anew: of the
 * 20,000 newest verdicts, the `most` (at least 1) that were least sure when they were given; and
 * the first `most` stored documents. The caller deinits `next` in any case. `stop` (NULL: never) is
 * asked now and then. Returns 0, NB_STOPPING, or as nb_engine_classify. */
int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count, size_t most,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error);
void nb_next_deinit(struct nb_next *next);

#endif
