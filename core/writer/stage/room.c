/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include <assert.h>

#include "core/counts/model_pairs.h"

/* No count may pass 32 bits; `margin` is more than one group can add. Only looked at when the label
 * is so large that it could be. */
static bool would_overflow(const struct nb_stage *s)
{
    static const uint32_t margin = UINT32_MAX / 16;
    const struct nb_model *counts = s->live->counts;
    uint32_t label = s->change->label_number;
    const struct nb_rows *rows = &s->change->delta.add;
    uint64_t occurrences = 0;
    if (label == NB_NO_LABEL)
        return false;
    assert(label < nb_model_label_count(counts));
    for (unsigned field = 0; field < NB_FIELDS; field++)
        occurrences += nb_model_occurrences(counts, label, field);
    for (unsigned part = 0; part < nb_model_parts(counts); part++)
        occurrences += nb_model_occurrences(counts, label, NB_FIRST_PART + part);
    if (occurrences < UINT32_MAX / 2)
        return false;
    for (size_t i = 0; i < rows->size; i++)
        if (nb_model_count(counts, rows->counts[i].row, label) > UINT32_MAX - margin)
            return true;
    return false;
}

/* A model with a structure counts pairs of values, which have a limit. */
static bool pairs_fit(const struct nb_stage *s)
{
    const struct nb_rows *rows = &s->change->delta.add;
    return nb_model_pairs_fit(s->live->counts, rows->counts, rows->size);
}

int nb_stage_check_room(struct nb_stage *s)
{
    if (would_overflow(s))
        return nb_stage_refuse(s, NB_TOO_LARGE,
                               "a feature of the label was counted 4 billion times");
    if (!pairs_fit(s))
        return nb_stage_refuse(
            s, NB_TOO_LARGE,
            "the model has as many pairs of values as \"structure\": \"tan\" has room for");
    return 0;
}
