/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacked scores of a model where documents without a label come in: those of its own counts, and
 * its parents', and those with what EM expects beside them, as a linear opinion pool
 * (core/bayes/book/scores.h) whose share and temperature were fitted on documents that were left
 * out (core/em/em_guard.h).
 *
 * The stack's weights were fitted to own counts. With expected counts its scores are right more
 * often, and too sure where EM has given a whole topic to the wrong label; what they are worth
 * beside the others is what the pool has learned. tests/bench/README.md has figures.
 *
 * Threads: as core/model/parents/parent_chain.h, under its locks, of a chain whose
 * nb_parent_chain_refined is not NULL and which is stacked.
 */
#ifndef NB_CORE_MODEL_PARENTS_POOLED_H
#define NB_CORE_MODEL_PARENTS_POOLED_H

#include "core/bayes/book/explain.h"
#include "core/bayes/book/scores.h"
#include "core/model/parents/parent_chain.h"
#include "core/stack/score/stack.h"

/* Zero-initialize it, and use it for one document after another. */
struct nb_pooled {
    double part; /* of the expected counts in the winner's probability, 0 to 1 */
    /* private */
    bool has_inputs;
    struct nb_stack_inputs inputs; /* owned */
    struct nb_scores own;          /* owned */
    struct nb_blend blend;         /* of a model with parents, without expected counts */
    double moderation;             /* of the own evidence */
    struct nb_evidence *rows;      /* owned; the own ones */
    size_t room;
    uint32_t *found; /* owned; the rows of the features, in their order */
    size_t found_room;
};
void nb_pooled_deinit(struct nb_pooled *pooled);

/* Pools `stacked`, which nb_blend_score gave of this bag, with the own scores, which are moderated
 * as ever; `documents` of `stacked` are set. Its log scores are ln P afterwards. Returns 0 or
 * NB_NO_MEMORY. */
int nb_pooled_score(struct nb_pooled *pooled, struct nb_parent_chain *chain,
                    const struct nb_feature *features, size_t size, struct nb_scores *stacked);

/* What each feature adds to ln(P(best)/P(second)) of `stacked`, of the same bag and after
 * nb_pooled_score: its evidence by both, each by its part in the winner's probability. The last row
 * is what is missing to the whole: the biases, and what two opinions are together that no sum of
 * rows is. `rows` has room for size + 1. Returns 0 or NB_NO_MEMORY. */
int nb_pooled_explain(struct nb_pooled *pooled, struct nb_parent_chain *chain,
                      const struct nb_feature *features, size_t size,
                      const struct nb_scores *stacked, struct nb_evidence *rows, size_t *count);

/* Multiplies `rows`, the evidence with expected counts, by `factor`, and adds `own`, the evidence
 * without them, multiplied by `own_factor`. Every feature of `own` is in `rows`, both are in the
 * order of their features. The last row of each, which is no feature's, is neither read nor
 * changed. Returns the sum of the rows that were changed. For nb_pooled_explain. */
double nb_pooled_add_rows(const struct nb_evidence *own, size_t own_count, double own_factor,
                          struct nb_evidence *rows, size_t count, double factor);

/* Log-odds of one label against another by both: `own` moderated, `with` as the blend gives it. */
double nb_pooled_odds(const struct nb_refined *refined, double own, double with);

#endif
