/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/tree.h"

#include <assert.h>
#include <string.h>

/* For a column outside the tree: its best parent inside. */
struct link {
    int64_t weight;
    uint8_t from;
    bool is_done;
};

/* Offers a column that joined the tree as a parent to the columns outside. */
static void offer(struct link *links, const struct nb_tree *tree, size_t from)
{
    links[from].is_done = true;
    for (size_t i = 0; i < tree->columns; i++) {
        if (links[i].is_done)
            continue;
        int64_t weight = nb_pairs_weight(tree->pairs, from, i);
        if (links[i].from != NB_PAIR_NO_COLUMN &&
            (weight < links[i].weight || (weight == links[i].weight && from > links[i].from)))
            continue;
        links[i].weight = weight;
        links[i].from = (uint8_t)from;
    }
}

static size_t strongest(const struct link *links, size_t columns)
{
    size_t best = columns;
    for (size_t i = 0; i < columns; i++)
        if (!links[i].is_done && (best == columns || links[i].weight > links[best].weight))
            best = i;
    assert(best < columns);
    return best;
}

/* ---- bins ------------------------------------------------------------------------------------ */

_Static_assert((int)NB_BINS_MOST <= (int)NB_PAIR_BINS_MOST, "a bin has a place among the values");

uint32_t nb_tree_value(const struct nb_tree *tree, uint64_t id, uint32_t row)
{
    if (!nb_feature_is_number(id))
        return row;
    size_t attribute = nb_feature_part(id) / 2;
    const struct nb_bins *bins = &tree->numbers->counts[attribute].bins;
    return NB_PAIR_BIN(attribute, nb_bins_find(bins, nb_decimal_fixed(id)));
}

size_t nb_tree_attribute(const struct nb_model *model, uint32_t value)
{
    return nb_pair_is_bin(value) ? nb_pair_bin_attribute(value)
                                 : nb_feature_part(nb_model_row_id(model, value)) / 2;
}

struct folding {
    const struct nb_tree *tree;
    const struct nb_model *model;
};

static uint32_t attribute_of_row(void *user, uint32_t row)
{
    const struct folding *f = user;
    return (uint32_t)nb_tree_attribute(f->model, row);
}

static uint32_t value_of_row(void *user, uint32_t row)
{
    const struct folding *f = user;
    return nb_tree_value(f->tree, nb_model_row_id(f->model, row), row);
}

/* Sets the columns to keep: categories, and numbers that are cut into bins. Returns whether any
 * column is a number. */
static bool choose(const struct nb_tree *tree, struct nb_pair_fold *fold)
{
    bool has_numbers = false;
    for (size_t i = 0; i < nb_pairs_columns(tree->pairs); i++) {
        size_t attribute = nb_pairs_attribute(tree->pairs, i);
        bool is_number = nb_numbers_have(tree->numbers, attribute);
        fold->keeps[i] = !is_number || tree->numbers->counts[attribute].is_cut;
        has_numbers = has_numbers || is_number;
    }
    return has_numbers;
}

static int fold_bins(struct nb_tree *tree, const struct nb_model *model)
{
    struct folding folding = {tree, model};
    struct nb_pair_fold fold = {
        .attribute = attribute_of_row, .value = value_of_row, .user = &folding};
    if (!choose(tree, &fold))
        return 0;
    tree->folded = nb_pairs_fold(tree->pairs, &fold);
    if (tree->folded == NULL)
        return NB_NO_MEMORY;
    tree->pairs = tree->folded;
    return 0;
}

/* ---- the tree -------------------------------------------------------------------------------- */

void nb_tree_deinit(struct nb_tree *tree)
{
    nb_pairs_free(&tree->folded);
}

int nb_tree_make(struct nb_tree *tree, const struct nb_model *model,
                 const struct nb_numbers *numbers)
{
    struct link links[NB_PAIR_FIELDS_MOST];
    nb_tree_deinit(tree);
    *tree = (struct nb_tree){.pairs = nb_model_pairs(model), .numbers = numbers};
    if (tree->pairs == NULL)
        return 0;
    if (fold_bins(tree, model) != 0)
        return NB_NO_MEMORY;
    tree->columns = nb_pairs_columns(tree->pairs);
    memset(tree->parents, NB_PAIR_NO_COLUMN, sizeof tree->parents);
    for (size_t i = 0; i < tree->columns; i++)
        links[i] = (struct link){.from = NB_PAIR_NO_COLUMN};
    for (size_t done = 0, next = 0; done < tree->columns; done++) {
        if (done > 0)
            next = strongest(links, tree->columns);
        tree->parents[next] = links[next].from;
        offer(links, tree, next);
    }
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

static uint8_t column_of(const struct nb_tree *tree, uint64_t id)
{
    if (nb_feature_field(id) != NB_FIELD_VALUE || nb_part_is_presence(nb_feature_part(id)))
        return NB_PAIR_NO_COLUMN;
    return nb_pairs_column(tree->pairs, nb_feature_part(id) / 2);
}

void nb_given_find(struct nb_given *given, const struct nb_tree *tree, const struct nb_model *model,
                   const struct nb_feature *features, size_t size)
{
    if (tree->columns == 0)
        return;
    memset(given->places, 0, sizeof given->places);
    for (size_t i = 0; i < size; i++) {
        uint64_t id = features[i].id;
        uint8_t column = column_of(tree, id);
        if (column == NB_PAIR_NO_COLUMN)
            continue;
        uint32_t row = nb_model_find(model, id);
        bool is_known = row != NB_NO_ROW && nb_counts_any(nb_model_row(model, row));
        if (!is_known && !nb_feature_is_number(id)) /* even an unknown number is in a bin */
            continue;
        given->places[column] = i + 1;
        given->values[column] = nb_tree_value(tree, id, row);
    }
}

uint8_t nb_given_parent(const struct nb_given *given, const struct nb_tree *tree, uint64_t id)
{
    uint8_t column = tree->columns == 0 ? NB_PAIR_NO_COLUMN : column_of(tree, id);
    uint8_t parent = column == NB_PAIR_NO_COLUMN ? NB_PAIR_NO_COLUMN : tree->parents[column];
    return parent == NB_PAIR_NO_COLUMN || given->places[parent] == 0 ? NB_PAIR_NO_COLUMN : parent;
}
