/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

int nb_stage_find_label(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *change = s->change;
    struct nb_string name = nb_buffer_string(&change->label);
    uint32_t count = nb_model_label_count(s->live->counts);
    change->label_number = NB_NO_LABEL;
    if (name.length == 0)
        return 0;
    change->label_number = nb_model_find_label(s->live->counts, name);
    if (change->label_number != UINT32_MAX)
        return 0;
    int rc = NB_TOO_LARGE;
    if (count < s->group->engine->settings.labels)
        rc = nb_model_label(s->live->counts, name, &change->label_number);
    if (rc == NB_TOO_LARGE) {
        s->refused = true;
        change->receipt.code = nb_error_set(
            &change->receipt.error, rc,
            "the model has %u labels already, the limit of the setting `labels`", count);
        return 0;
    }
    s->new_label = rc == 0;
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

bool nb_stage_is_label(const struct nb_stage *s, uint32_t label)
{
    return label == NB_NO_LABEL || label < nb_model_label_count(s->live->counts);
}

int nb_stage_touch_label(struct nb_stage *s, uint32_t label)
{
    return label == NB_NO_LABEL ? 0 : nb_group_touch_label(s->group, s->live, label);
}
