/* SPDX-License-Identifier: Apache-2.0
 *
 * Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997, section 4.1): beside the label
 * each category has at most one other category as its parent, and P(x|label) becomes P(x|parent's
 * value, label). The parents are the spanning tree with the largest sum of conditional mutual
 * information given the label (core/counts/pairs.h), which makes the documents most likely among
 * all such trees (Chow and Liu 1968). The tree is directed away from its root, the first category
 * of the settings.
 *
 * Numbers that are cut into bins are categories, too: all of them if the setting `number` is bins;
 * if it is auto, those whose bins predict better. The pair counts are then summed up by bin, once
 * for each generation of the counts.
 *
 * Prim's algorithm finds the tree in time of the square of the categories. Ties go to the category
 * that is first in the settings, then to the parent that is first there. So the tree is a function
 * of the documents alone.
 *
 * Threads: as in core/bayes/attribute_scores.h.
 */
#ifndef NB_CORE_BAYES_TREE_H
#define NB_CORE_BAYES_TREE_H

#include "core/bayes/numbers.h"
#include "core/counts/counts.h"
#include "core/counts/pairs.h"

/* The tree; a category is a column of the model's pairs. */
struct nb_tree {
    const struct nb_pairs *pairs;     /* borrowed from the model, or equal to `folded` */
    struct nb_pairs *folded;          /* owned; pairs with bins; NULL: no number is cut */
    const struct nb_numbers *numbers; /* borrowed */
    size_t columns;
    uint8_t parents[NB_PAIR_FIELDS_MOST]; /* by column; NB_PAIR_NO_COLUMN: the root */
};

/* A document's value of each category: its place in the bag plus 1 (0: no value), and the value, a
 * row or a bin. Only values that some learned document has. Unused if the tree has no columns. */
struct nb_given {
    size_t places[NB_PAIR_FIELDS_MOST];
    uint32_t values[NB_PAIR_FIELDS_MOST];
};

/* Makes the tree from the model's current counts. Replaces the previous one (at first all zeros).
 * The tree has no columns if the model has no pairs. Returns 0 or NB_NO_MEMORY. */
int nb_tree_make(struct nb_tree *tree, const struct nb_model *model,
                 const struct nb_numbers *numbers);
void nb_tree_deinit(struct nb_tree *tree);

/* Returns the number by which the tree's counts know the value with this id and row: its row, or
 * the number of its bin. */
uint32_t nb_tree_value(const struct nb_tree *tree, uint64_t id, uint32_t row);
/* The attribute of a row or bin. */
size_t nb_tree_attribute(const struct nb_model *model, uint32_t value);

/* Looks up the document's value of each category. */
void nb_given_find(struct nb_given *given, const struct nb_tree *tree, const struct nb_model *model,
                   const struct nb_feature *features, size_t size);

/* Returns the column of the parent of a feature's category if the document has the parent's value.
 * Else, or if the feature is no category, returns NB_PAIR_NO_COLUMN. */
uint8_t nb_given_parent(const struct nb_given *given, const struct nb_tree *tree, uint64_t id);

#endif
