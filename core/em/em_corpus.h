/* SPDX-License-Identifier: Apache-2.0
 *
 * The input of EM: a model's documents without a label, a sample of its documents with one, and its
 * counts, as matrices over the same columns. If the model has parents, the counts of its words and
 * the labels are those of the model and its parents together (core/stack/blend.h). For
 * core/em alone.
 *
 * If a model has fields, EM treats the values of categories and sets, like the words of texts, as
 * words in groups (core/bayes/em.h). Numbers are kept apart (em_numbers.h).
 *
 * Documents are sorted by the hash of their id, and the sample takes those with the smallest
 * hashes. So the sample and its folds depend on the documents alone, not on when they were learned
 * or relabelled, nor on the store.
 */
#ifndef NB_CORE_EM_EM_CORPUS_H
#define NB_CORE_EM_EM_CORPUS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/bayes/expected.h"
#include "core/bayes/settings.h"
#include "core/counts/counts.h"
#include "core/counts/model.h"
#include "core/model/parents.h"

/* Labels, priors and counts of a model and its parents together (their view,
 * core/stack/blend.h). The labels are sorted by name; all arrays are owned. */
struct nb_viewed {
    uint32_t count;    /* 0: the model has no documents */
    char **names;      /* owned, too */
    uint32_t *numbers; /* label numbers in the model; NB_BLEND_NO_LABEL: a parent's label only */
    double *documents; /* documents of the model itself, for each label */
    double *shares;    /* the priors */
};
/* Reads the labels and priors, under the chain's locks. The caller deinits *viewed in
 * any case. Returns 0 or NB_NO_MEMORY. */
int nb_viewed_read(struct nb_viewed *viewed, struct nb_parent_chain *chain);

/* Returns the index in `viewed` of the label at `place` in the view; UINT32_MAX: the label was
 * added since nb_viewed_read. The search starts at *at and moves it forward, because both lists are
 * sorted by name: begin with 0 and call with ascending places. */
uint32_t nb_viewed_label(const struct nb_viewed *viewed, const struct nb_blend *blend,
                         uint32_t place, uint32_t *at);

/* Writes the view's counts of the words `ids` to counts[word * viewed->count + label], a few
 * thousand words at a time under the chain's locks. Returns 0 or NB_NO_MEMORY. */
int nb_viewed_counts(const struct nb_viewed *viewed, struct nb_parent_chain *chain, bool is_binary,
                     const uint64_t *ids, uint32_t words, double *counts);

/* Documents of the corpus, either those with a label or those without. All arrays are owned. */
struct nb_corpus_part {
    size_t count, room;
    uint64_t *orders;             /* hash of each document's id, ascending */
    size_t *begin, *middle, *end; /* as in struct nb_em_documents */
    size_t begin_room, middle_room, end_room;
    uint32_t *labels;  /* index in nb_corpus.numbers, for each document with a label */
    uint64_t *numbers; /* of the entry of each document */
    size_t label_room, number_room;
    uint32_t *columns, *counts; /* rows of the model, until all documents are read */
    size_t size, column_room, count_room;
};

struct nb_corpus {
    struct nb_corpus_part unlabelled, labelled;
    /* The columns: first the words of the model and of these documents, then the documents' other
     * features, which include words that the settings leave out. */
    uint32_t words, columns;
    uint32_t *rows; /* row of each column; owned, like the arrays below */
    uint64_t *ids;
    bool *learned;
    uint32_t
        *groups; /* for each word, 0 or its field's number plus 1; NULL: the model has no fields */
    uint64_t vocabulary[NB_FIELDS + 1]; /* number of features in the model, for each field */
    unsigned attributes;                /* fields of the settings */
    uint64_t *part_vocabulary;          /* the same for each part of the fields; NULL: no parts */
    uint32_t labels;                    /* labels that have documents */
    uint32_t *numbers;   /* number in the model, for each label; UINT32_MAX: only a parent has it */
    double *documents;   /* documents in the model itself, for each label */
    double *word_counts; /* n_wv or d_wv of all documents with a label, at w * labels + v */
    struct nb_viewed viewed; /* labels of the view, if the model has parents; else empty */
};
void nb_corpus_deinit(struct nb_corpus *corpus);

enum {
    NB_CORPUS_DOCUMENTS_MOST = 200000,
    NB_CORPUS_CELLS_MOST = 16 * 1024 * 1024,  /* words times labels: 128 MB for each table */
    NB_CORPUS_SHARES_MOST = 48 * 1024 * 1024, /* documents without a label times labels: 400 MB */
    NB_CORPUS_USES_MOST = 48 * 1024 * 1024,   /* features of all documents: 400 MB */
    NB_CORPUS_NUMBERS_MOST = NB_CORPUS_SHARES_MOST, /* documents times fields of numbers */
};

/* Index of a label in corpus->numbers; UINT32_MAX: it had no documents. */
uint32_t nb_corpus_place(const struct nb_corpus *corpus, uint32_t label);

static inline struct nb_em_documents nb_corpus_documents(const struct nb_corpus_part *part)
{
    return (struct nb_em_documents){part->count, part->begin,   part->middle,
                                    part->end,   part->columns, part->counts};
}

static inline struct nb_expected_columns nb_corpus_columns(const struct nb_corpus *corpus)
{
    return (struct nb_expected_columns){corpus->columns,    corpus->rows,
                                        corpus->ids,        corpus->learned,
                                        corpus->attributes, corpus->part_vocabulary};
}

/* Makes the columns of a corpus: the rows of the model that EM sees as words, with their counts,
 * and the other rows that the documents have. Puts them into the documents in place of rows, words
 * first. Rows are read a few thousand at a time under the model's read lock, so that neither the
 * writer nor other readers wait long. Words are those that remain after min_count and skip_top.
 * `is_binary`: count documents instead of occurrences. Returns 0, NB_TOO_LARGE (a limit above is
 * exceeded) or NB_NO_MEMORY. For corpus_read.c alone. */
int nb_corpus_make_columns(struct nb_corpus *corpus, const struct nb_model *counts,
                           const struct nb_settings *settings, bool is_binary,
                           struct nb_error *error);

/* Reads all documents without a label of the chain's model, and up to `sample` of the
 * others. Words are those that remain after min_count and skip_top. `is_binary`:
 * count documents instead of occurrences. The reading ends with NB_STOPPING when `stop` (NULL:
 * never) returns true. The caller deinits *corpus in any case. Returns 0, NB_TOO_LARGE (a limit
 * above is exceeded), NB_STOPPING, or what reading the store can return. */
int nb_corpus_read(struct nb_engine *engine, struct nb_parent_chain *chain, bool is_binary,
                   size_t sample, bool (*stop)(void *user), void *user, struct nb_corpus *corpus,
                   struct nb_error *error);

/* Reads all documents with a label of a model, for a model whose documents have several: `labels`
 * are the model's label numbers, and columns stay rows. Otherwise as nb_corpus_read. The caller
 * deinits *part, which begins all zero, in any case. */
int nb_corpus_read_labelled(struct nb_engine *engine, struct nb_live *live,
                            bool (*stop)(void *user), void *user, struct nb_corpus_part *part,
                            struct nb_error *error);
void nb_corpus_part_deinit(struct nb_corpus_part *part);

#endif
