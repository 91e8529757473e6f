/* SPDX-License-Identifier: Apache-2.0 */
#include "core/expected/refined.h"

#include <stdlib.h>

struct nb_refined *nb_refined_use(struct nb_refined *refined)
{
    atomic_fetch_add(&refined->references, 1);
    return refined;
}

void nb_refined_release(struct nb_refined **refined)
{
    struct nb_refined *r = *refined;
    *refined = NULL;
    if (r == NULL || atomic_fetch_sub(&r->references, 1) != 1)
        return;
    nb_expected_release(&r->expected);
    free(r);
}
