/* SPDX-License-Identifier: Apache-2.0
 *
 * What EM reads of a model: its documents without a label, a sample of those with one, and its
 * counts, as matrices over the same columns. With parents the counts are those of the view
 * (core/blend/blend.h), of the words that the model has, and labels are those of all. For
 * core/unlabelled alone.
 *
 * The documents stand in the order of the hashes of their ids, and the sample is of those with the
 * least ones: so who is in it, and with whom in a fold, depends on the documents alone, and not on
 * when they were learned or relabelled, nor on the store that they are in.
 *
 * The bags come from the ledger, some hundred in one snapshot, so that nobody waits for it; the
 * counts some thousand rows at a time, under the model's read lock. What changes meanwhile may be
 * in it or not.
 */
#ifndef NB_CORE_UNLABELLED_CORPUS_H
#define NB_CORE_UNLABELLED_CORPUS_H

#include "core/expected/expected.h"
#include "core/unlabelled/viewed.h"

struct nb_engine;

/* All arrays are owned. */
struct nb_corpus_part {
    size_t count, room;
    uint64_t *orders;             /* of each document, the hash of its id; they ascend */
    size_t *begin, *middle, *end; /* as in struct nb_em_documents */
    size_t begin_room, middle_room, end_room;
    uint32_t *labels; /* of each document a place in nb_corpus.numbers; of those with a label */
    size_t label_room;
    uint32_t *columns, *counts; /* rows instead of columns, until all are read */
    size_t size, column_room, count_room;
};

struct nb_corpus {
    struct nb_corpus_part unlabelled, labelled;
    /* Columns: words of the model and of these documents, and then their other features, among them
     * words that the settings leave out. */
    uint32_t words, columns;
    uint32_t *rows; /* owned, as the following */
    uint64_t *ids;
    bool *learned;
    uint64_t vocabulary[NB_FIELDS + 1]; /* of the model */
    uint32_t labels;                    /* that have documents */
    uint32_t *numbers;                  /* of each; UINT32_MAX: a parent's alone */
    double *documents;                  /* of each, of the model itself */
    double *word_counts;                /* n_wv or d_wv, at w * labels + v; of all documents */
    struct nb_viewed viewed;            /* with parents, the labels once more; else empty */
};
void nb_corpus_deinit(struct nb_corpus *corpus);

enum {
    NB_CORPUS_DOCUMENTS_MOST = 200000,
    NB_CORPUS_CELLS_MOST = 16 * 1024 * 1024,  /* words times labels: 128 MB for each table */
    NB_CORPUS_SHARES_MOST = 48 * 1024 * 1024, /* documents without a label times labels: 400 MB */
    NB_CORPUS_USES_MOST = 48 * 1024 * 1024,   /* features of all documents: 400 MB */
};

/* Reads all documents without a label of the family's model, and up to `sample` of the others.
 * Words are those that min_count and skip_top of the settings leave (choice.h). `is_binary`: the
 * counts are of documents. `stop` (NULL: never) ends it with NB_STOPPING. The caller deinits
 * *corpus in any case. Returns 0, NB_TOO_LARGE (what is above), NB_STOPPING, or what reading the
 * store can return. */
int nb_corpus_read(struct nb_engine *engine, struct nb_family *family, bool is_binary,
                   size_t sample, bool (*stop)(void *user), void *user, struct nb_corpus *corpus,
                   struct nb_error *error);

static inline struct nb_em_documents nb_corpus_documents(const struct nb_corpus_part *part)
{
    return (struct nb_em_documents){part->count, part->begin,   part->middle,
                                    part->end,   part->columns, part->counts};
}

static inline struct nb_expected_columns nb_corpus_columns(const struct nb_corpus *corpus)
{
    return (struct nb_expected_columns){corpus->columns, corpus->rows, corpus->ids,
                                        corpus->learned};
}

#endif
