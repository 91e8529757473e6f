/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staged_batch.h"

#include <assert.h>

const char *nb_status_name(enum nb_status status)
{
    static const char *const NAMES[NB_STATUSES] = {
        [NB_LEARNED] = "learned",         [NB_UNCHANGED] = "unchanged",
        [NB_RELABELLED] = "relabelled",   [NB_UPDATED] = "updated",
        [NB_FORGOTTEN] = "forgotten",     [NB_NEAR_DUPLICATE] = "near_duplicate",
        [NB_QUARANTINED] = "quarantined", [NB_STORED] = "stored",
        [NB_QUEUED] = "queued",
    };
    assert(status < NB_STATUSES);
    return NAMES[status];
}
