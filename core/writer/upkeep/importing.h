/* SPDX-License-Identifier: Apache-2.0
 *
 * The imports under way. The data of an import are listed among the orphans; while it is under way
 * they must not be deleted. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_IMPORTING_H
#define NB_CORE_WRITER_UPKEEP_IMPORTING_H

#include "core/model/live/state.h"

/* An import under way, as the writer lists it. */
struct nb_importing {
    struct nb_importing *next;
    uint32_t number;
};

/* Whether an import under way has this model number. */
static inline bool nb_import_is_running(const struct nb_engine *engine, uint32_t number)
{
    for (const struct nb_importing *i = engine->importing; i != NULL; i = i->next)
        if (i->number == number)
            return true;
    return false;
}

#endif
