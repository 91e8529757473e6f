/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/pooled.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

void nb_pooled_deinit(struct nb_pooled *pooled)
{
    if (pooled->has_inputs)
        nb_stack_inputs_deinit(&pooled->inputs);
    nb_scores_deinit(&pooled->own);
    nb_blend_deinit(&pooled->blend);
    free(pooled->rows);
    free(pooled->found);
    *pooled = (struct nb_pooled){0};
}

/* ---- scores ---------------------------------------------------------------------------------- */

static int score_chain(struct nb_pooled *pooled, const struct nb_parent_chain *chain,
                       const struct nb_feature *features, size_t size)
{
    const struct nb_besides none = {.count = 0};
    int rc = nb_parent_chain_blend_beside(chain, NULL, &none, &pooled->blend);
    return rc != 0 ? rc : nb_blend_score(&pooled->blend, features, size, NULL, &pooled->own);
}

static int score_own(struct nb_pooled *pooled, const struct nb_parent_chain *chain,
                     const struct nb_feature *features, size_t size)
{
    if (chain->contributor_count > 1)
        return score_chain(pooled, chain, features, size);
    const struct nb_published *published = chain->published[0];
    if (!pooled->has_inputs)
        nb_stack_inputs_init(&pooled->inputs);
    pooled->has_inputs = true;
    nb_stack_inputs_twin(&pooled->inputs, published->weights, false);
    if (nb_array_reserve(&pooled->found, &pooled->found_room, size, sizeof *pooled->found) != 0)
        return NB_NO_MEMORY;
    nb_model_find_all(chain->live[0]->counts, features, size, pooled->found);
    struct nb_found found = {.rows = pooled->found};
    int rc = nb_stack_inputs_found(published->stack, chain->live[0]->counts, features, size, &found,
                                   &pooled->inputs, NULL);
    return rc != 0 ? rc : nb_stack_score(published->weights, &pooled->inputs, &pooled->own);
}

int nb_pooled_score(struct nb_pooled *pooled, struct nb_parent_chain *chain,
                    const struct nb_feature *features, size_t size, struct nb_scores *stacked)
{
    const struct nb_refined *refined = nb_parent_chain_refined(chain);
    assert(refined != NULL);
    int rc = score_own(pooled, chain, features, size);
    if (rc != 0)
        return rc;
    assert(pooled->own.size == stacked->size); /* both list the labels with documents, by name */
    memcpy(pooled->own.documents, stacked->documents, stacked->size * sizeof *stacked->documents);
    pooled->moderation = nb_scores_moderate(&pooled->own);
    pooled->part = nb_scores_pool(stacked, refined->temperature, refined->share, &pooled->own);
    return 0;
}

/* ---- explanations ---------------------------------------------------------------------------- */

double nb_pooled_add_rows(const struct nb_evidence *own, size_t own_count, double own_factor,
                          struct nb_evidence *rows, size_t count, double factor)
{
    double sum = 0;
    size_t at = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        rows[i].evidence *= factor;
        while (at + 1 < own_count && own[at].feature < rows[i].feature)
            at++;
        if (at + 1 < own_count && own[at].feature == rows[i].feature)
            rows[i].evidence += own_factor * own[at].evidence;
        sum += rows[i].evidence;
    }
    return sum;
}

/* Explains the own scores. */
static int explain_own(struct nb_pooled *pooled, const struct nb_parent_chain *chain,
                       const struct nb_feature *features, size_t size, size_t *count)
{
    const struct nb_published *published = chain->published[0];
    if (chain->contributor_count > 1) {
        nb_blend_explain(&pooled->blend, features, size, &pooled->own, true, pooled->rows, count);
        return 0;
    }
    return nb_stack_explain(published->stack, chain->live[0]->counts, published->weights, features,
                            size, pooled->found, &pooled->inputs, &pooled->own, NULL, pooled->rows,
                            count);
}

int nb_pooled_explain(struct nb_pooled *pooled, struct nb_parent_chain *chain,
                      const struct nb_feature *features, size_t size,
                      const struct nb_scores *stacked, struct nb_evidence *rows, size_t *count)
{
    const struct nb_refined *refined = nb_parent_chain_refined(chain);
    size_t own_count = 0;
    assert(refined != NULL && pooled->own.size == stacked->size);
    if (nb_array_reserve(&pooled->rows, &pooled->room, size + 1, sizeof *pooled->rows) != 0)
        return NB_NO_MEMORY;
    pooled->own.best = stacked->best;
    pooled->own.second = stacked->second;
    int rc = explain_own(pooled, chain, features, size, &own_count);
    if (rc != 0)
        return rc;
    nb_blend_explain(&chain->blend, features, size, stacked, true, rows, count);
    double sum =
        nb_pooled_add_rows(pooled->rows, own_count, (1 - pooled->part) * pooled->moderation, rows,
                           *count, pooled->part * refined->temperature);
    rows[*count - 1].evidence =
        stacked->log_scores[stacked->best] - stacked->log_scores[stacked->second] - sum;
    return 0;
}

double nb_pooled_odds(const struct nb_refined *refined, double own, double with)
{
    double one = (1 - refined->share) / (1 + exp(-own)) +
                 refined->share / (1 + exp(-refined->temperature * with));
    double other = (1 - refined->share) / (1 + exp(own)) +
                   refined->share / (1 + exp(refined->temperature * with));
    return log(one) - log(other);
}
