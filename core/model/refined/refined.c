/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/refined/refined.h"

#include <assert.h>
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
    nb_scorer_free(&r->scorer);
    nb_expected_release(&r->expected);
    free(r);
}

int nb_refined_make_scorer(struct nb_refined *refined, const struct nb_settings *settings)
{
    const struct nb_besides besides = {.list = {{refined->expected, refined->weight}}, .count = 1};
    assert(refined->expected != NULL && refined->scorer == NULL);
    return nb_scorer_new_beside(settings, &besides, &refined->scorer);
}

size_t nb_refined_memory(const struct nb_refined *refined)
{
    if (refined == NULL || refined->expected == NULL)
        return 0;
    return nb_expected_memory(refined->expected) +
           (refined->scorer != NULL ? nb_scorer_memory(refined->scorer) : 0);
}
