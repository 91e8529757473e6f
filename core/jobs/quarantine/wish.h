/* SPDX-License-Identifier: Apache-2.0
 *
 * Which changes of a quarantine are to be applied or dropped. A plain value; any thread.
 */
#ifndef NB_CORE_JOBS_QUARANTINE_WISH_H
#define NB_CORE_JOBS_QUARANTINE_WISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"

/* Which changes; everything is borrowed. One matches if all that is given holds. */
struct nb_quarantine_wish {
    bool has_source;
    struct nb_string source;
    int64_t until; /* not those that came later; INT64_MAX: all. What nobody has seen stays */
    const struct nb_string *ids;
    size_t id_count; /* 0: of any id */
};

#endif
