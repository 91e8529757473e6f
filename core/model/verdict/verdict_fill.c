/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets the members of a verdict from the scores.
 */
#include <assert.h>

#include "core/base/array.h"
#include "core/model/verdict/verdict_private.h"

static void fill_label(struct nb_verdict *verdict, size_t i)
{
    const struct nb_verdict_private *p = verdict->private_;
    uint32_t number = p->scores.labels[i];
    if (p->judge == NULL) {
        verdict->labels[i] = p->family.blend.labels[number].name;
        verdict->documents[i] = p->family.blend.labels[number].documents;
        return;
    }
    verdict->labels[i] = nb_model_label_name(p->judge->counts, number).bytes;
    verdict->documents[i] = nb_model_documents(p->judge->counts, number);
}

/* Called when verdict->documents is set. */
static int moderate(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    for (size_t i = 0; i < p->stacked.size; i++)
        p->stacked.documents[i] = verdict->documents[i];
    if (p->refined != NULL)
        return nb_pooled_score(&p->pooled, &p->family, p->bag.features, p->bag.size, &p->stacked);
    p->moderation = nb_scores_moderate(&p->stacked);
    return 0;
}

/* Sets probabilities, winner and runner-up of a model by the book from its calibration map, if the
 * map was fitted for the present labels. An explanation then compares these two. */
static int calibrate(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_calibration *map = p->published->settings.fitted;
    struct nb_scores *scores = &p->scores;
    verdict->tells_calibrated = p->published->settings.calibration != NB_CALIBRATION_NONE;
    if (map == NULL || p->judge == NULL || p->refined != NULL ||
        !nb_calibration_is_of(map, scores->labels, (uint32_t)scores->size))
        return 0;
    if (nb_array_reserve(&p->calibrated, &p->calibrated_room, scores->size,
                         sizeof *p->calibrated) != 0)
        return NB_NO_MEMORY;
    nb_calibration_apply(map, scores->labels, scores->log_scores, p->calibrated);
    nb_scores_choose(scores, p->calibrated);
    verdict->probabilities = p->calibrated;
    verdict->best = scores->best;
    verdict->calibrated = true;
    return 0;
}

int nb_verdict_fill(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    bool stacked = nb_published_is_stacked(p->published);
    const struct nb_scores *decisive = stacked ? &p->stacked : &p->scores;
    int rc =
        nb_array_reserve(&verdict->labels, &p->label_room, p->scores.size, sizeof *verdict->labels);
    if (rc == 0)
        rc = nb_array_reserve(&verdict->documents, &p->document_room, p->scores.size,
                              sizeof *verdict->documents);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < p->scores.size; i++)
        fill_label(verdict, i);
    if (stacked)
        rc = moderate(verdict);
    if (rc != 0)
        return rc;
    verdict->size = p->scores.size;
    verdict->log_scores = p->scores.log_scores;
    verdict->probabilities = decisive->probabilities;
    verdict->best = decisive->best;
    verdict->stacked = stacked;
    verdict->calibrated = stacked && nb_family_is_calibrated(&p->family);
    verdict->total = p->scores.total;
    verdict->known = p->scores.known;
    verdict->truncated = p->bag.truncated;
    verdict->tells_calibrated = stacked;
    return stacked ? 0 : calibrate(verdict);
}
