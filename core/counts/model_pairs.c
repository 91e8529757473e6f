/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/model_pairs.h"

#include "core/counts/model_private.h"

const struct nb_pairs *nb_model_pairs(const struct nb_model *model)
{
    return model->pairs;
}

void nb_model_put_pairs(struct nb_model *model, struct nb_pairs **pairs)
{
    struct nb_pairs *old = model->pairs;
    if (old == NULL && *pairs == NULL)
        return;
    size_t bytes = nb_pairs_memory(*pairs);
    nb_model_write_lock(model);
    model->pairs = *pairs;
    nb_model_next_generation(model);
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, bytes - nb_pairs_memory(old));
    *pairs = NULL;
    nb_pairs_free(&old);
}

void nb_model_pair_values(const struct nb_model *model, const struct nb_pairs *pairs,
                          const struct nb_row_count *counts, size_t size,
                          struct nb_pair_values *values)
{
    values->count = 0;
    for (size_t i = 0; i < size; i++) {
        uint64_t id = nb_model_packed(model, counts[i].row)->id;
        if (nb_feature_field(id) == NB_FIELD_VALUE && !nb_part_is_presence(nb_feature_part(id)))
            nb_pair_values_add(values, pairs, counts[i].row, nb_feature_part(id) / 2);
    }
}

bool nb_model_pairs_fit(const struct nb_model *model, const struct nb_row_count *counts,
                        size_t size)
{
    struct nb_pair_values values;
    if (model->pairs == NULL)
        return true;
    nb_model_pair_values(model, model->pairs, counts, size, &values);
    return nb_pairs_fit(model->pairs, &values);
}

int nb_model_reserve_pairs(struct nb_model *model, const struct nb_row_count *counts, size_t size)
{
    struct nb_pair_values values;
    if (model->pairs == NULL)
        return 0;
    size_t before = nb_pairs_memory(model->pairs);
    nb_model_pair_values(model, model->pairs, counts, size, &values);
    int rc = nb_pairs_reserve(model->pairs, &values);
    atomic_fetch_add(&model->other_bytes, nb_pairs_memory(model->pairs) - before);
    return rc;
}

void nb_model_add_pairs(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                        size_t size, int sign)
{
    struct nb_pair_values values;
    if (model->pairs == NULL)
        return;
    nb_model_pair_values(model, model->pairs, counts, size, &values);
    nb_pairs_add(model->pairs, label, &values, sign);
}
