/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected counts: fractional counts of documents whose labels are known only with some probability
 * (core/bayes/em.h), to be added to a model's own counts. A document that has the label v
 * with the share r counts r times in n_wv, d_wv and D_v.
 *
 * Values of fields (core/base/attribute.h) are counted like words, and summed by part. Numbers are
 * also summed by field and label: exactly for documents whose label is certain, else as mean and
 * variance weighted by share.
 *
 * Expected counts are indexed by the model's rows when they were made. A row that has since got
 * another feature has no expected counts. Immutable, shared by reference count; any thread.
 */
#ifndef NB_CORE_BAYES_EXPECTED_H
#define NB_CORE_BAYES_EXPECTED_H

#include <stdatomic.h>

#include "core/base/feature.h"
#include "core/bayes/em.h"
#include "core/counts/model.h"

struct nb_expected_cell {
    uint32_t label; /* number in the model */
    double occurrences, documents;
};

/* The numbers of one label and one attribute. */
struct nb_expected_numbers {
    struct nb_moments whole; /* of documents that have the label with share 1 */
    struct nb_normal shared; /* of other documents, weighted by share */
};

struct nb_expected {
    atomic_uint references;
    uint32_t rows;                       /* only rows below this number have cells */
    uint64_t *ids;                       /* of each row; owned */
    size_t *begin;                       /* rows + 1, into `cells`; owned */
    struct nb_expected_cell *cells;      /* owned */
    uint32_t labels;                     /* all label numbers are below this */
    double *documents;                   /* D_v; owned */
    double *occurrences;                 /* n_v of a field, at v * (NB_FIELDS + 1) + field; owned */
    double *presences;                   /* the same for d_wv; field NB_FIELDS: all token fields */
    uint64_t vocabulary[NB_FIELDS + 1];  /* features of the model and these documents */
    unsigned attributes;                 /* 0: no fields; all members below are unset */
    double *part_occurrences;            /* n_v of a part, at v * 2 * attributes + part; owned */
    double *part_presences;              /* the same for d_wv; in the block of part_occurrences */
    uint64_t *part_vocabulary;           /* by part; owned */
    struct nb_expected_numbers *numbers; /* at v * attributes + attribute; owned */
};

/* The columns of a document matrix, as features of a model; all borrowed. */
struct nb_expected_columns {
    uint32_t count;
    const uint32_t *rows;            /* row in the model, of each column */
    const uint64_t *ids;             /* feature of each column */
    const bool *learned;             /* whether the feature is in the model's vocabulary */
    unsigned attributes;             /* of the settings */
    const uint64_t *part_vocabulary; /* of the model, by part: 2 * attributes entries */
};

/* Makes expected counts from documents and the shares of their labels. numbers[v] is the number
 * that label v of `shares` (v below `labels`) has in the model; UINT32_MAX leaves the label out.
 * `vocabulary`: the model's. The caller gets one reference. Returns 0 or NB_NO_MEMORY. */
int nb_expected_new(const struct nb_expected_columns *columns,
                    const struct nb_em_documents *documents, const struct nb_em *shares,
                    const uint32_t *numbers, uint32_t labels,
                    const uint64_t vocabulary[NB_FIELDS + 1], struct nb_expected **expected);
/* Takes one more reference. */
struct nb_expected *nb_expected_use(struct nb_expected *expected);
/* Releases a reference and sets *expected to NULL; *expected may be NULL already. */
void nb_expected_release(struct nb_expected **expected);
/* Bytes of memory used; 0 for NULL. */
size_t nb_expected_memory(const struct nb_expected *expected);

/* Sets *cells to the cells of the model's row, whose feature is `id`, sorted by label. Returns
 * their number; with 0, *cells may be unchanged. */
static inline size_t nb_expected_find(const struct nb_expected *expected, uint32_t row, uint64_t id,
                                      const struct nb_expected_cell **cells)
{
    if (row >= expected->rows || expected->ids[row] != id)
        return 0;
    *cells = expected->cells + expected->begin[row];
    return expected->begin[row + 1] - expected->begin[row];
}

/* The expected counts of one label in the model's row; zeros if there are none. */
static inline struct nb_expected_cell nb_expected_of(const struct nb_expected *expected,
                                                     uint32_t row, uint64_t id, uint32_t label)
{
    const struct nb_expected_cell *cells = NULL;
    size_t low = 0, high = nb_expected_find(expected, row, id, &cells);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cells[middle].label == label)
            return cells[middle];
        if (cells[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    return (struct nb_expected_cell){.label = label};
}

/* n_v, or with `presences` the sum of d_wv, over a part of the attributes. */
static inline double nb_expected_part_sum(const struct nb_expected *expected, uint32_t label,
                                          unsigned part, bool presences)
{
    size_t at = (size_t)label * 2 * expected->attributes + part;
    if (label >= expected->labels || part >= 2 * expected->attributes)
        return 0;
    return presences ? expected->part_presences[at] : expected->part_occurrences[at];
}

/* n_v, or with `presences` the sum of d_wv, over a field. NB_FIELDS: over all token fields;
 * NB_FIRST_PART (core/counts/model.h) and above: over a part. */
static inline double nb_expected_sum(const struct nb_expected *expected, uint32_t label,
                                     unsigned field, bool presences)
{
    if (field >= NB_FIRST_PART)
        return nb_expected_part_sum(expected, label, field - NB_FIRST_PART, presences);
    size_t at = (size_t)label * (NB_FIELDS + 1) + field;
    if (label >= expected->labels)
        return 0;
    return presences ? expected->presences[at] : expected->occurrences[at];
}

/* Returns the numbers of a label and an attribute; NULL: none. */
static inline const struct nb_expected_numbers *
nb_expected_numbers_of(const struct nb_expected *expected, uint32_t label, unsigned attribute)
{
    return label < expected->labels && attribute < expected->attributes
               ? &expected->numbers[(size_t)label * expected->attributes + attribute]
               : NULL;
}

static inline double nb_expected_documents(const struct nb_expected *expected, uint32_t label)
{
    return label < expected->labels ? expected->documents[label] : 0;
}

/* Weighted sums of expected counts, which formulas add to a model's own counts. Label numbers and
 * rows are those of the model. A weight below 0 takes documents that the model has learned out
 * of its counts. Any thread. */
struct nb_beside {
    struct nb_expected *counts; /* borrowed */
    double weight;              /* weight of each document */
};
enum { NB_BESIDE_MOST = 2 };
struct nb_besides {
    struct nb_beside list[NB_BESIDE_MOST];
    unsigned count; /* 0: only the model's own counts are used */
};

/* The weighted sum of the cells of a row, whose feature is `id`, for one label. */
struct nb_expected_cell nb_besides_cell(const struct nb_besides *besides, uint32_t row, uint64_t id,
                                        uint32_t label);
/* As nb_besides_cell, summed over all labels below `labels` whose place is not UINT32_MAX. */
struct nb_expected_cell nb_besides_row(const struct nb_besides *besides, uint32_t row, uint64_t id,
                                       const uint32_t *places, uint32_t labels);
/* Returns how often the feature of a row occurs in the documents beside the model's: a whole
 * number, because weights are ignored, except that counts with a weight below 0 are subtracted. */
int64_t nb_besides_occurrences(const struct nb_besides *besides, uint32_t row, uint64_t id);

/* The weighted sum of D_v. The function below: the weighted sum of nb_expected_sum. */
double nb_besides_documents(const struct nb_besides *besides, uint32_t label);
double nb_besides_sum(const struct nb_besides *besides, uint32_t label, unsigned field,
                      bool presences);
/* Adds the weighted numbers of an attribute and a label to the model's (`own`). Removing documents
 * whose label is certain gives an exact result, since their numbers are among the model's. */
struct nb_normal nb_besides_numbers(const struct nb_besides *besides, uint32_t label,
                                    unsigned attribute, struct nb_moments own);
/* The vocabulary of a field or a part: the largest of the model's (`own`) and all of `besides`. */
uint64_t nb_besides_vocabulary(const struct nb_besides *besides, unsigned field, uint64_t own);

#endif
