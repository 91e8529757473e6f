/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas and explanations read the counts of a feature by label through this header alone. Counts
 * from a second source would be added here. Any thread, under the model's read lock. The functions
 * are inline because scoring spends its time in them.
 */
#ifndef NB_CORE_COUNTS_COUNTS_H
#define NB_CORE_COUNTS_COUNTS_H

#include <assert.h>

#include "core/base/array.h"
#include "core/counts/model_private.h"

/* Whether the feature is in the vocabulary: some label has it. */
static inline bool nb_counts_any(struct nb_row row)
{
    return nb_row_is_used(row);
}

/* D_w: documents of all labels that have the feature. */
static inline uint64_t nb_counts_documents(const struct nb_model *model, struct nb_row row)
{
    return nb_row_documents(&model->pool, row);
}

/* Occurrences of the feature in all labels. */
static inline uint64_t nb_counts_occurrences(const struct nb_model *model, struct nb_row row)
{
    return nb_row_occurrences(&model->pool, row);
}

/* How many labels have the feature. */
static inline uint32_t nb_counts_labels(const struct nb_model *model, struct nb_row row)
{
    return nb_row_size(&model->pool, row);
}

/* Documents of a label; the function below: the sum of d_wv over the features of one field. */
static inline uint64_t nb_counts_of_label(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return model->labels[label]->documents;
}

static inline uint64_t nb_counts_presences(const struct nb_model *model, uint32_t label,
                                           unsigned field)
{
    assert(label < model->label_count && field < NB_FIELDS);
    return model->labels[label]->presences[field];
}

/* n_wv and d_wv of a label; zeros when it does not have the feature. */
static inline struct nb_cell nb_counts_of(const struct nb_model *model, struct nb_row row,
                                          uint32_t label)
{
    bool there;
    uint32_t place = nb_row_find(&model->pool, row, label, &there);
    return there ? nb_row_cell(&model->pool, row, place) : (struct nb_cell){.label = label};
}

/* D_w (`all`) and d_wv of one label (`own`), for models in which mostly two labels have counts. */
struct nb_two_documents {
    uint64_t all;
    uint32_t own;
};

/* As nb_counts_of_two, for a row of any form. */
static inline struct nb_two_documents nb_counts_of_two_else(const struct nb_model *model,
                                                            struct nb_row row, uint32_t label)
{
    struct nb_two_documents d = {.all = nb_row_documents(&model->pool, row)};
    d.own = nb_counts_of(model, row, label).documents;
    return d;
}

/* Returns D_w and d_wv of the label. Branches on which labels have the feature, or on whether the
 * row is wide, are unpredictable: so the function reads everything and masks the results. */
static inline struct nb_two_documents nb_counts_of_two(const struct nb_model *model, uint32_t row,
                                                       uint32_t label)
{
    uint16_t code = nb_model_packed(model, row)->code;
    uint64_t cells = *nb_wides_at(model->wides.segments, row, code);
    if (__builtin_expect(!nb_code_is_pair(code, cells), 0))
        return nb_counts_of_two_else(model, nb_model_row(model, row), label);
    uint32_t both = nb_code_pair_documents(code, cells);
    uint32_t one = nb_pair_documents(both, 0), other = nb_pair_documents(both, 1);
    return (struct nb_two_documents){.all = (uint64_t)one + other,
                                     .own = (one & -(uint32_t)(label == 0)) |
                                            (other & -(uint32_t)(label == 1))};
}

/* The addresses of rows and their wide cells: a copy for a loop over many rows, so that the
 * compiler need not reload them after the loop's stores. Valid under the same lock. */
struct nb_counts_rows {
    unsigned char *const *table;
    const struct nb_wide_segment *segments;
};

static inline struct nb_counts_rows nb_counts_rows(const struct nb_model *model)
{
    return (struct nb_counts_rows){model->rows.table, model->wides.segments};
}

/* n_wv of a label. */
static inline uint64_t nb_counts_occurrences_of(const struct nb_model *model, struct nb_row row,
                                                uint32_t label)
{
    if (nb_row_is_pair(row) && label < 2)
        return nb_pair_cell(row.cells, label).occurrences;
    return nb_counts_of(model, row, label).occurrences;
}

/* Numbers of cells of a spilled row: */
enum {
    NB_COUNTS_IN_A_LINE = 64 / sizeof(struct nb_spill),
    NB_COUNTS_FIRST =
        3 * NB_COUNTS_IN_A_LINE, /* in the first lines, which also hold the number of cells */
    NB_COUNTS_MOST = 128 * NB_COUNTS_IN_A_LINE /* prefetched at most */
};

/* Prefetches the first cells of a spilled row; the row itself has been read. */
NB_PREFETCHING void nb_counts_prefetch(const struct nb_model *model, struct nb_row row)
{
    if (!nb_row_is_spilled(row))
        return;
    const struct nb_spill *run = nb_row_run(&model->pool, row);
    for (unsigned i = 0; i < NB_COUNTS_FIRST; i += NB_COUNTS_IN_A_LINE)
        __builtin_prefetch(run + i);
}

/* Prefetches the other cells after the first have arrived. */
NB_PREFETCHING void nb_counts_prefetch_rest(const struct nb_model *model, struct nb_row row)
{
    if (!nb_row_is_spilled(row))
        return;
    const struct nb_spill *run = nb_row_run(&model->pool, row);
    uint32_t end = run->used < NB_COUNTS_MOST ? run->used : NB_COUNTS_MOST;
    for (uint32_t i = NB_COUNTS_FIRST; i < end; i += NB_COUNTS_IN_A_LINE)
        __builtin_prefetch(run + i);
}

/* Called for each label that has the feature, in the order of their numbers. */
typedef void nb_counts_visit(void *user, struct nb_cell cell);

/* Callers pass a constant `visit`, so that it is inlined. */
static inline __attribute__((always_inline)) void
nb_counts_each(const struct nb_model *model, struct nb_row row, nb_counts_visit *visit, void *user)
{
    if (!nb_row_is_spilled(row)) {
        struct nb_cell cells[2];
        uint32_t size = nb_row_unpack(row, cells);
        for (uint32_t i = 0; i < size; i++)
            visit(user, cells[i]);
        return;
    }
    const struct nb_spill *run = nb_row_run(&model->pool, row);
    for (uint32_t i = 0; i < run->used; i++)
        visit(user, (struct nb_cell){run[i].label, run[i].n, run[i].d});
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* The order in which `skip_top` leaves words out: more occurrences first. Of words with equally
 * many, the open bits of their ids decide, which are the same under every key
 * (core/base/feature.h). */
struct nb_word_rank {
    uint64_t occurrences, id; /* occurrences in all labels; id of the feature */
};

/* Returns the id with its open bits moved to the front. */
static inline uint64_t nb_word_open_first(uint64_t id)
{
    return id << (64 - NB_FEATURE_OPEN_BITS) | id >> NB_FEATURE_OPEN_BITS;
}

/* Compares two struct nb_word_rank, for qsort and heaps: the first in rank comes first. */
static inline int nb_word_rank_compare(const void *a, const void *b)
{
    const struct nb_word_rank *x = a, *y = b;
    uint64_t own = nb_word_open_first(x->id), other = nb_word_open_first(y->id);
    if (x->occurrences != y->occurrences)
        return x->occurrences > y->occurrences ? -1 : 1;
    return own < other ? -1 : own > other;
}

/* Whether the word ranks behind `last`, the last word that is left out. */
static inline bool nb_word_rank_is_behind(uint64_t occurrences, uint64_t id,
                                          const struct nb_word_rank *last)
{
    return occurrences != last->occurrences ? occurrences < last->occurrences
                                            : nb_word_open_first(id) > nb_word_open_first(last->id);
}

#endif
