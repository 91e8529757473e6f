/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/label_there.h"

#include "core/base/label.h"

int nb_live_label(const struct nb_live *live, struct nb_string name, uint32_t *number,
                  struct nb_error *error)
{
    struct nb_level_hint hint = {0};
    *number = nb_model_find_label(live->counts, name);
    if (*number != UINT32_MAX)
        return 0;
    const uint32_t *sorted = nb_model_labels_sorted(live->counts);
    uint32_t count = nb_model_label_count(live->counts);
    for (uint32_t i = 0; i < count; i++)
        nb_level_hint_add(&hint, name, nb_model_label_name(live->counts, sorted[i]));
    return nb_error_set(error, NB_NOT_FOUND, "model '%s' has no label '%.*s'%s", live->name,
                        (int)name.length, name.bytes, hint.text);
}
