/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/verdict/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/registry/registry.h"
#include "core/model/verdict/verdict_private.h"

enum nb_decided nb_decide(double probability, double threshold, double band)
{
    if (fabs(probability - threshold) < band)
        return NB_DECIDED_UNSURE;
    return probability >= threshold ? NB_DECIDED_POSITIVE : NB_DECIDED_OTHER;
}

double nb_decide_threshold(double false_positive, double false_negative)
{
    /* Divide first, because the sum of two large costs may overflow. */
    double most = fmax(false_positive, false_negative);
    false_positive /= most;
    false_negative /= most;
    return false_positive / (false_positive + false_negative);
}

size_t nb_decide_other(const double *probabilities, size_t size, size_t positive)
{
    size_t best = size;
    for (size_t i = 0; i < size; i++)
        if (i != positive && (best == size || probabilities[i] > probabilities[best]))
            best = i;
    return best;
}

void nb_verdict_init(struct nb_verdict *verdict)
{
    *verdict = (struct nb_verdict){0};
}

void nb_verdict_deinit(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL) {
        nb_parent_chain_deinit(&p->chain);
        if (p->live != NULL)
            nb_registry_release(p->engine, &p->live);
        nb_bag_deinit(&p->bag);
        nb_scores_deinit(&p->scores);
        nb_stack_inputs_deinit(&p->inputs);
        nb_scores_deinit(&p->stacked);
        free(p->rows);
        free(p->cells);
        nb_pooled_deinit(&p->pooled);
        free(p->evidence);
        free(p->calibrated);
        nb_levels_deinit(&p->levels);
        nb_features_coder_free(&p->coder);
    }
    free(p);
    free(verdict->labels);
    free(verdict->documents);
    free(verdict->explanation);
    nb_verdict_init(verdict);
}

void nb_verdict_reset(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL)
        nb_parent_chain_end(&p->chain);
    if (p != NULL && p->live != NULL)
        nb_registry_release(p->engine, &p->live);
    verdict->size = verdict->explanation_count = 0;
}

int nb_verdict_prepare(struct nb_verdict *verdict, struct nb_engine *engine)
{
    if (verdict->private_ == NULL) {
        verdict->private_ = calloc(1, sizeof *verdict->private_);
        if (verdict->private_ == NULL)
            return NB_NO_MEMORY;
        nb_scores_init(&verdict->private_->scores);
    }
    nb_verdict_reset(verdict);
    verdict->private_->engine = engine;
    return 0;
}

uint64_t nb_verdict_documents(const struct nb_verdict *verdict, const char *label)
{
    for (size_t i = 0; i < verdict->size; i++) {
        if (strcmp(verdict->labels[i], label) == 0)
            return verdict->documents[i];
    }
    return 0;
}
