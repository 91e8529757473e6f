/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacked scores of a model to which documents without a label contribute. The scores from its own
 * and its parents' counts, and the scores from these counts plus those that EM expects, form a
 * linear opinion pool (core/bayes/scorer.h). Its share and temperature were fitted on left-out
 * documents (core/em/em_guard.h).
 *
 * The stack's weights were fitted to own counts. With expected counts its scores are right more
 * often, but too sure where EM has given a whole topic to the wrong label. The pool has learned how
 * much to trust them. tests/bench/README.md has figures.
 *
 * Threads: as core/model/parents.h, under its locks. The chain must be stacked, and
 * its nb_parent_chain_refined must not be NULL.
 */
#ifndef NB_CORE_MODEL_POOLED_H
#define NB_CORE_MODEL_POOLED_H

#include "core/bayes/explain.h"
#include "core/bayes/scorer.h"
#include "core/model/parents.h"
#include "core/stack/stack.h"

/* Zero-initialize it, and use it for one document after another. */
struct nb_pooled {
    double part; /* share of the expected counts in the winner's probability, 0 to 1 */
    /* private */
    bool has_inputs;
    struct nb_stack_inputs inputs; /* owned */
    struct nb_scores own;          /* owned */
    struct nb_blend blend;         /* for a model with parents, without expected counts */
    double moderation;             /* factor of the own evidence */
    struct nb_evidence *rows;      /* owned; the own evidence */
    size_t room;
    uint32_t *found; /* owned; the rows of the features, in their order */
    size_t found_room;
};
void nb_pooled_deinit(struct nb_pooled *pooled);

/* Pools `stacked`, the result of nb_blend_score for this bag, with the own scores, which are
 * moderated as usual. stacked->documents must be set. Its log scores are ln P afterwards. Returns 0
 * or NB_NO_MEMORY. */
int nb_pooled_score(struct nb_pooled *pooled, struct nb_parent_chain *chain,
                    const struct nb_feature *features, size_t size, struct nb_scores *stacked);

/* Sets `rows` to what each feature adds to ln(P(best)/P(second)) of `stacked`: its evidence in both
 * opinions, each weighted by its share in the winner's probability. Call it after nb_pooled_score,
 * for the same bag. The last row has the rest: the biases, and the part of the pool that is no sum
 * of rows. `rows` has room for size + 1. Returns 0 or NB_NO_MEMORY. */
int nb_pooled_explain(struct nb_pooled *pooled, struct nb_parent_chain *chain,
                      const struct nb_feature *features, size_t size,
                      const struct nb_scores *stacked, struct nb_evidence *rows, size_t *count);

/* Multiplies `rows`, the evidence with expected counts, by `factor`, and adds `own`, the evidence
 * without them, multiplied by `own_factor`. Every feature of `own` is in `rows`, both are in the
 * order of their features. The last row of each list belongs to no feature, and is neither read nor
 * changed. Returns the sum of the rows that were changed. For nb_pooled_explain. */
double nb_pooled_add_rows(const struct nb_evidence *own, size_t own_count, double own_factor,
                          struct nb_evidence *rows, size_t count, double factor);

/* Returns the pooled log-odds of one label against another, given the moderated log-odds `own` and
 * the blend's log-odds `with`. */
double nb_pooled_odds(const struct nb_refined *refined, double own, double with);

#endif
