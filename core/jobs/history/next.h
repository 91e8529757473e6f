/* SPDX-License-Identifier: Apache-2.0
 *
 * Suggests which documents to label next: those without a label that would teach the model most,
 * from the history and the store. Any thread; a call takes long and belongs to one thread.
 *
 * A document teaches more the less sure the model is of its label: uncertainty sampling (Lewis and
 * Gale 1994, for two labels: the probability nearest to 1/2). With more labels the measure is the
 * margin of the winner over the runner-up (Scheffer, Decomain and Wrobel 2001), which gives the
 * same order for two labels. The least sure documents are often near-duplicates, and one of them
 * teaches as much as all. So documents are chosen one by one, each time the one with the greatest
 *
 *     (1 - margin) * (1 - greatest similarity to one that is chosen)
 *
 * as maximal marginal relevance does for search results (Carbonell and Goldstein 1998); similarity
 * is the Jaccard similarity of the features, as core/ledger/entries/near_duplicate_list.h estimates
 * it.
 */
#ifndef NB_CORE_JOBS_HISTORY_NEXT_H
#define NB_CORE_JOBS_HISTORY_NEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/jobs/history/history_listing.h"
#include "core/ledger/entries/near_duplicate_list.h"

/* A document that would teach much (core/jobs/history/next.h). */
struct nb_next_document {
    struct nb_buffer id;        /* owned; may have NUL bytes */
    char *verdict;              /* owned; the label that wins */
    char *message_id, *subject; /* owned; may be empty */
    char *words;                /* owned; some words of the text, with blanks between */
    double probability, margin; /* of the winner; over the runner-up */
    int64_t time;               /* milliseconds since 1970: of the verdict, or when it was stored */
    bool is_remembered;         /* the history has it; else it is stored */
};

/* The candidates: documents that are read from the store and classified by the present model. One
 * thread; for core/jobs/history alone. */
enum {
    NB_NEXT_SLICE = 50, /* documents that are read in one snapshot, and classified after it */
    NB_NEXT_ROWS = 40,
};

struct nb_next_candidate {
    struct nb_next_document document; /* owned until it is chosen */
    struct nb_signature signature;
    uint32_t rows[NB_NEXT_ROWS]; /* of a stored document: its newest words in the model */
    size_t row_count;
    double worth; /* 1 - margin, times 1 - the greatest similarity to a chosen one */
};

/* A document that was read but not classified yet. */
struct nb_next_read {
    struct nb_buffer stored; /* owned: the record of a verdict, or the bag of an entry */
    struct nb_buffer id;     /* owned: of an entry */
    int64_t time;
    uint64_t tokens;
};

/* A verdict of the history. */
struct nb_next_unsure {
    double probability; /* of its winner, when it was given */
    uint64_t number;
};

struct nb_next_pool {
    struct nb_reading reading;
    struct nb_string model;         /* borrowed */
    struct nb_next_candidate *kept; /* owned: the least sure candidates, in any order */
    size_t kept_count, kept_room;
    uint64_t looked_at; /* documents that were judged */
    struct nb_bag bag;  /* of the last one that was read */
    /* Members for the search alone. */
    size_t most; /* documents of each kind that are judged */
    struct nb_next_read slice[NB_NEXT_SLICE];
    size_t count;
    struct nb_next_unsure *unsure; /* owned */
    size_t unsure_count;
    size_t judged; /* of the present kind */
    uint64_t at;   /* number of the verdict, or the entry, or index in `unsure`, that comes next */
    size_t passed; /* verdicts */
    uint64_t newest; /* number of the newest verdict */
    bool has_ended;  /* the present kind */
    struct nb_rows rows;
    struct nb_verdict verdict;
};

struct nb_next_stop {
    bool (*wanted)(void *user); /* NULL: never */
    void *user;
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
