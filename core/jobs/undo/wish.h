/* SPDX-License-Identifier: Apache-2.0
 *
 * What an undo, or the deletion of a label, is asked for. A plain value; any thread.
 */
#ifndef NB_CORE_JOBS_UNDO_WISH_H
#define NB_CORE_JOBS_UNDO_WISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"

/* What is asked for; everything is borrowed. A document matches if all that is given holds. */
struct nb_undo_wish {
    bool has_source;
    struct nb_string source; /* of the change; empty: of changes without one */
    int64_t from, to;        /* milliseconds since 1970: from <= time < to */
    const struct nb_string *ids;
    size_t id_count; /* 0: of any id */
    /* Not empty: documents that have this label now. Then they are forgotten, and nothing that was
     * before is restored. */
    struct nb_string label;
};

#endif
