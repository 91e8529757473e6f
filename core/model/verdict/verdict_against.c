/* SPDX-License-Identifier: Apache-2.0
 *
 * One label against the only other one that has enough documents.
 */
#include <math.h>
#include <string.h>

#include "core/model/verdict/verdict_private.h"

/* Whether a model has both labels, and all its other labels are not ready. */
static bool has_two(const struct nb_verdict *verdict, const char *const labels[2])
{
    size_t found = 0;
    for (size_t i = 0; i < verdict->size; i++) {
        if (strcmp(verdict->labels[i], labels[0]) == 0 ||
            strcmp(verdict->labels[i], labels[1]) == 0)
            found++;
        else if (verdict->documents[i] >= verdict->ready_documents)
            return false;
    }
    return found == 2;
}

/* Called under the locks. Settings, names of labels and the models with documents may have changed
 * since the verdict was made, so they are checked again. */
static int judge_alone(const struct nb_verdict_private *p, const char *const labels[2],
                       double *log_odds)
{
    const struct nb_family *f = &p->family;
    unsigned first = f->speaker_count > 0 ? f->speakers[0] : 0;
    const struct nb_model *counts = f->live[first]->counts;
    const struct nb_published *published = f->published[first];
    uint32_t label = nb_model_find_label(counts, nb_string_of(labels[0]));
    uint32_t other = nb_model_find_label(counts, nb_string_of(labels[1]));
    if (!nb_published_is_stacked(published) || label == UINT32_MAX || other == UINT32_MAX)
        return NB_CONFLICT;
    return nb_stack_against(published->stack, counts, published->weights, p->bag.features,
                            p->bag.size, label, other, log_odds);
}

/* Index of a label in the family's view; blend->size: none. */
static uint32_t place_of(const struct nb_blend *blend, const char *label)
{
    uint32_t v = 0;
    while (v < blend->size && strcmp(blend->labels[v].name, label) != 0)
        v++;
    return v;
}

/* `refined`: expected counts of documents without a label are added; NULL: none. */
static int judge_together(struct nb_verdict_private *p, const struct nb_refined *refined,
                          const char *const labels[2], double *log_odds)
{
    struct nb_blend *blend = &p->family.blend;
    struct nb_besides besides = {.count = 0};
    if (refined != NULL)
        besides = (struct nb_besides){.list = {{refined->expected, refined->weight}}, .count = 1};
    int rc = nb_family_blend_beside(&p->family, NULL, &besides, blend);
    uint32_t label = rc == 0 ? place_of(blend, labels[0]) : 0;
    uint32_t other = rc == 0 ? place_of(blend, labels[1]) : 0;
    if (rc == 0 && (!blend->is_stacked || label == blend->size || other == blend->size))
        rc = NB_CONFLICT;
    if (rc == 0)
        rc = nb_blend_against(blend, p->bag.features, p->bag.size, label, other, log_odds);
    return rc;
}

int nb_verdict_against(struct nb_verdict *verdict, const char *const labels[2], double *probability)
{
    struct nb_verdict_private *p = verdict->private_;
    bool is_of_level = verdict->probabilities == p->levels.probabilities;
    if (!verdict->stacked || is_of_level || verdict->size < 3 || !has_two(verdict, labels))
        return NB_CONFLICT;
    double one = (double)nb_verdict_documents(verdict, labels[0]);
    double other = (double)nb_verdict_documents(verdict, labels[1]);
    double log_odds = 0, with = 0;
    nb_family_lock(&p->family);
    const struct nb_refined *refined = nb_family_refined(&p->family);
    int rc = p->family.speaker_count > 1 ? judge_together(p, NULL, labels, &log_odds)
                                         : judge_alone(p, labels, &log_odds);
    if (rc == 0 && refined != NULL)
        rc = judge_together(p, refined, labels, &with);
    nb_family_unlock(&p->family);
    if (rc != 0)
        return rc;
    log_odds *= nb_scores_moderation(log_odds, log(one / other), 1 / one + 1 / other);
    if (refined != NULL)
        log_odds = nb_pooled_odds(refined, log_odds, with);
    *probability = 1 / (1 + exp(-log_odds));
    return 0;
}
