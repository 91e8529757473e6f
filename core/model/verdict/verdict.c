/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/verdict/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "core/model/registry/registry.h"
#include "core/model/verdict/verdict_private.h"

void nb_verdict_init(struct nb_verdict *verdict)
{
    *verdict = (struct nb_verdict){0};
}

void nb_verdict_deinit(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL) {
        nb_family_deinit(&p->family);
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
        nb_family_end(&p->family);
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
