/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts in how many documents of a label two values of different categories occur together, and
 * measures how much any two categories tell about each other when the label is known.
 * Tree-augmented naive Bayes uses both (core/bayes/tree.h). Integers only, in a table
 * that few models have: the others pay for one pointer.
 *
 * The table counts, for values x of A and y of B (documents that have both), n_xyv, n_xv, n_yv and
 * n_v, and keeps for each A and B
 *
 *     sum over v of (sum n_xyv ln n_xyv - sum n_xv ln n_xv - sum n_yv ln n_yv + n_v ln n_v)
 *
 * which is the conditional mutual information I(A; B | label) times the documents (Friedman, Geiger
 * and Goldszmidt 1997, section 4.1). Each n ln n is an integer multiple of 2^-24, so that taking
 * a document out undoes exactly what adding it did, and the order of the documents does not matter.
 *
 * The columns may include numeric attributes, for callers that cut them into bins
 * (core/bayes/bins.h): each different number is a value then, and nb_pairs_fold sums up
 * the numbers of a bin. So the borders of bins may move without counting again.
 *
 * Learning a document of k values costs 2 k (k - 1) look-ups. The table is not stored: it is
 * counted anew from the ledger when a model is loaded.
 *
 * Threads: as in core/counts/model.h.
 */
#ifndef NB_CORE_COUNTS_PAIRS_H
#define NB_CORE_COUNTS_PAIRS_H

#include "core/base/attribute.h"

struct nb_pairs;

enum {
    NB_PAIR_FIELDS_MOST = 64, /* categories of a model with pairs */
    NB_PAIRS_MOST = 1 << 22,  /* counts that are not 0: 128 MB at most */
    NB_PAIR_NO_COLUMN = 0xff
};
/* Stands for a row and means any value of an attribute. */
#define NB_PAIR_ANY(attribute) (UINT32_MAX - 1 - (uint32_t)(attribute))
/* NB_PAIR_BIN stands for a row and means a bin of an attribute's numbers. All its numbers are below
 * those of NB_PAIR_ANY and above all rows. */
enum { NB_PAIR_BINS_MOST = 64 };
#define NB_PAIR_BIN(attribute, bin)                                                                \
    (NB_PAIR_ANY(NB_ATTRIBUTES_MOST) - (uint32_t)(attribute)*NB_PAIR_BINS_MOST - (uint32_t)(bin))
#define NB_PAIR_ROWS_MOST NB_PAIR_BIN(NB_ATTRIBUTES_MOST, 0)
static inline bool nb_pair_is_bin(uint32_t value)
{
    return value > NB_PAIR_ROWS_MOST && value <= NB_PAIR_BIN(0, 0);
}
static inline uint32_t nb_pair_bin_attribute(uint32_t bin)
{
    return (NB_PAIR_BIN(0, 0) - bin) / NB_PAIR_BINS_MOST;
}

/* Returns an empty table whose columns are the categories among these attributes and, with
 * `with_numbers`, the numeric attributes; at most NB_PAIR_FIELDS_MOST. NULL: out of memory. */
struct nb_pairs *nb_pairs_new(struct nb_attributes attributes, bool with_numbers);
void nb_pairs_free(struct nb_pairs **pairs);
size_t nb_pairs_memory(const struct nb_pairs *pairs); /* NULL: 0 */

/* The rules by which nb_pairs_fold sums up values. */
struct nb_pair_fold {
    bool keeps[NB_PAIR_FIELDS_MOST];                 /* by column: whether it stays */
    uint32_t (*attribute)(void *user, uint32_t row); /* the attribute of a row */
    uint32_t (*value)(void *user, uint32_t row);     /* the row itself, or its bin */
    void *user;
};
/* Returns a table of the columns that `fold` keeps, in which each bin replaces its rows. Takes time
 * linear in the counts. NULL: out of memory. */
struct nb_pairs *nb_pairs_fold(const struct nb_pairs *pairs, const struct nb_pair_fold *fold);

/* The values of one document: at most one of each category, in the order of the attributes. */
struct nb_pair_values {
    size_t count;
    struct {
        uint32_t row;
        uint32_t attribute;
    } at[NB_PAIR_FIELDS_MOST];
};
/* Adds a value, unless the attribute is no category of the table, or has a value already. */
void nb_pair_values_add(struct nb_pair_values *values, const struct nb_pairs *pairs, uint32_t row,
                        uint32_t attribute);

/* Makes room for a document. Returns 0, NB_NO_MEMORY or NB_TOO_LARGE (rows near 2^32). */
int nb_pairs_reserve(struct nb_pairs *pairs, const struct nb_pair_values *values);
/* Adds (sign 1; after nb_pairs_reserve for the same values) or takes out (-1) a document. */
void nb_pairs_add(struct nb_pairs *pairs, uint32_t label, const struct nb_pair_values *values,
                  int sign);
/* Whether a document certainly fits: even if all of its pairs are new, the table has at most
 * NB_PAIRS_MOST counts. */
bool nb_pairs_fit(const struct nb_pairs *pairs, const struct nb_pair_values *values);

/* Returns in how many documents of `label` two rows of different attributes occur together. One of
 * them may be NB_PAIR_ANY. */
uint32_t nb_pairs_count(const struct nb_pairs *pairs, uint32_t one, uint32_t other, uint32_t label);

/* The categories, in the order of the attributes: how many, which attribute each is, and the column
 * of an attribute or NB_PAIR_NO_COLUMN. */
size_t nb_pairs_columns(const struct nb_pairs *pairs);
size_t nb_pairs_attribute(const struct nb_pairs *pairs, size_t column);
uint8_t nb_pairs_column(const struct nb_pairs *pairs, size_t attribute);
/* Conditional mutual information of two columns times documents, in units of 2^-24 nats. */
int64_t nb_pairs_weight(const struct nb_pairs *pairs, size_t one, size_t other);

#endif
