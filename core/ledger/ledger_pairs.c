/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/ledger_pairs.h"

#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/ledger/rows_coding.h"

struct counting {
    const struct nb_model *model;
    struct nb_pairs *pairs;
    struct nb_rows rows;
};

static int count_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct counting *c = user;
    const struct nb_change *change = &entry->change;
    struct nb_pair_values values;
    int rc = nb_bag_decode(change->bag, nb_model_rows(c->model), &c->rows, error);
    if (rc != 0)
        return rc;
    if (change->label >= nb_model_label_count(c->model) ||
        !nb_model_have_features(c->model, c->rows.counts, c->rows.size))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a document has a label or a feature that is "
                            "not there");
    nb_model_pair_values(c->model, c->pairs, c->rows.counts, c->rows.size, &values);
    rc = nb_pairs_reserve(c->pairs, &values);
    if (rc != 0)
        return nb_error_set(error, rc, "the pairs of the values of a model find no room");
    nb_pairs_add(c->pairs, change->label, &values, 1);
    return 0;
}

int nb_ledger_pairs(const struct nb_view *view, uint32_t number, const struct nb_model *model,
                    const struct nb_settings *settings, struct nb_pairs **pairs,
                    struct nb_error *error)
{
    *pairs = NULL;
    if (settings->structure == NB_STRUCTURE_NAIVE)
        return 0;
    struct counting c = {.model = model,
                         .pairs = nb_pairs_new(nb_settings_attributes(settings),
                                               settings->number != NB_NUMBER_GAUSSIAN)};
    if (c.pairs == NULL)
        return nb_error_no_memory(error);
    int rc = 0;
    if (number != 0)
        rc = nb_ledger_walk_only(view, number, 0, NB_LEDGER_LABELLED, count_entry, &c, error);
    nb_rows_deinit(&c.rows);
    if (rc != 0)
        nb_pairs_free(&c.pairs);
    *pairs = c.pairs;
    return rc;
}
