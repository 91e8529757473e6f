/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents among which core/jobs/history/next.h chooses: read from the store and judged by the
 * model as it is now. One thread; for core/jobs/history alone.
 */
#ifndef NB_CORE_JOBS_HISTORY_NEXT_POOL_H
#define NB_CORE_JOBS_HISTORY_NEXT_POOL_H

#include "core/engine/engine.h"
#include "core/jobs/history/next_document.h"
#include "core/jobs/history/reading.h"
#include "core/ledger/entries/twins.h"

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

/* Returns 0, or a code and nothing is to be ended. */
int nb_next_pool_begin(struct nb_next_pool *pool, struct nb_engine *engine, struct nb_string model,
                       struct nb_error *error);

/* Judges up to `most` (at least 1) verdicts of the history whose document has no label, those
 * that were least sure when they were given, and as many of the first stored documents without a
 * label. Of 20,000 newest verdicts; the others are not looked at. Returns 0, NB_STOPPING, or as
 * nb_engine_classify. */
int nb_next_pool_fill(struct nb_next_pool *pool, size_t most, const struct nb_next_stop *stop,
                      struct nb_error *error);
void nb_next_pool_end(struct nb_next_pool *pool);

void nb_next_document_deinit(struct nb_next_document *document);

/* The first words of a bag, with blanks between: of a verdict, the first of the text. The caller's
 * to free; NULL: out of memory. */
char *nb_next_words(const struct nb_bag *bag);

#endif
