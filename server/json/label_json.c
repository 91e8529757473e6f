/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/label_json.h"

#include "core/base/label/label.h"
#include "core/engine/engine.h"

int nb_label_take(struct nb_string *label, struct nb_buffer *room, struct nb_error *error)
{
    if (nb_label_normalize(label, room) != 0)
        return nb_error_no_memory(error);
    if (nb_label_is_lossy(*label))
        return nb_error_set(error, NB_UNUSABLE,
                            "`label` has U+FFFD, which stands for bytes that were lost in a wrong "
                            "charset; send it as UTF-8");
    return nb_check_label(*label, error);
}
