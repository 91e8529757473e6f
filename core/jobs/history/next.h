/* SPDX-License-Identifier: Apache-2.0
 *
 * Label next: the documents without a label that would teach most, from the history and of those
 * that are stored without one. Any thread; a call takes long and belongs to one thread.
 *
 * A document teaches the more the less sure the model is of it: uncertainty sampling (Lewis and
 * Gale 1994, for two labels: the probability nearest to 1/2). With more labels that is the margin
 * of the winner over the runner-up (Scheffer, Decomain and Wrobel 2001), which for two labels gives
 * the same order. The least sure ones are often near-duplicates of each other, and one of them
 * teaches what all do. So they are chosen one after the other, each time the one with the greatest
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

/* The documents among which core/jobs/history/next.h chooses: read from the store and judged by the
 * model as it is now. One thread; for core/jobs/history alone. */
enum {
    NB_NEXT_SLICE = 50, /* documents that are read in one snapshot, and judged behind it */
    NB_NEXT_ROWS = 40,
};

struct nb_next_candidate {
    struct nb_next_document document; /* owned until it is chosen */
    struct nb_signature signature;
    uint32_t rows[NB_NEXT_ROWS]; /* of a stored document: its words that came last into the model */
    size_t row_count;
    double worth; /* 1 - margin, times 1 - the greatest similarity to a chosen one */
};

/* A document that was read and is not judged yet. */
struct nb_next_read {
    struct nb_buffer stored; /* owned: of a verdict, its record; else of an entry, its bag */
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
    struct nb_next_candidate *kept; /* owned: the least sure ones, in any order */
    size_t kept_count, kept_room;
    uint64_t looked_at; /* documents that were judged */
    struct nb_bag bag;  /* of the last one that was read */
    /* Of the search alone. */
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

/* Finds up to `count` documents among those that are judged anew: up to `most` (at least 1) of the
 * verdicts whose document has no label, those that were least sure when they were given, of the
 * 20,000 newest; and the `most` first stored documents without a label. The caller deinits `next`
 * in any case. `stop` (NULL: never) is asked between some. Returns 0, NB_STOPPING, or as
 * nb_engine_classify. */
int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count, size_t most,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error);
void nb_next_deinit(struct nb_next *next);

#endif
