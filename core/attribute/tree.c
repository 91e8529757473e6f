/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attribute/tree.h"

#include <assert.h>
#include <string.h>

/* Of a column that is not in the tree yet: the best of those that are. */
struct link {
    int64_t weight;
    uint8_t from;
    bool is_done;
};

/* A column that has come into the tree offers itself as a parent. */
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

void nb_tree_make(struct nb_tree *tree, const struct nb_model *model)
{
    struct link links[NB_PAIR_FIELDS_MOST];
    *tree = (struct nb_tree){.pairs = nb_model_pairs(model)};
    if (tree->pairs == NULL)
        return;
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
        uint8_t column = column_of(tree, features[i].id);
        uint32_t row =
            column == NB_PAIR_NO_COLUMN ? NB_NO_ROW : nb_model_find(model, features[i].id);
        if (row == NB_NO_ROW || !nb_counts_any(nb_model_row(model, row)))
            continue;
        given->places[column] = i + 1;
        given->rows[column] = row;
    }
}

uint8_t nb_given_parent(const struct nb_given *given, const struct nb_tree *tree, uint64_t id)
{
    uint8_t column = tree->columns == 0 ? NB_PAIR_NO_COLUMN : column_of(tree, id);
    uint8_t parent = column == NB_PAIR_NO_COLUMN ? NB_PAIR_NO_COLUMN : tree->parents[column];
    return parent == NB_PAIR_NO_COLUMN || given->places[parent] == 0 ? NB_PAIR_NO_COLUMN : parent;
}
