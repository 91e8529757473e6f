/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/quarantine/judge.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"

int nb_judge_init(struct nb_judge *judge, struct nb_engine *engine, struct nb_live *live)
{
    *judge = (struct nb_judge){.engine = engine, .live = live};
    judge->published = nb_live_settings(live);
    judge->learner = nb_learner_new(0);
    return judge->learner != NULL ? 0 : NB_NO_MEMORY;
}

void nb_judge_deinit(struct nb_judge *judge)
{
    nb_learner_free(&judge->learner);
    nb_published_release(&judge->published);
    nb_family_deinit(&judge->family);
    free(judge->features);
    nb_buffer_deinit(&judge->record);
    nb_stored_score_lists_deinit(&judge->lists);
}

/* Features that the model does not have, or has no more, are part of the document as they are when
 * it is learned. */
static int take_features(struct nb_judge *j, const struct nb_quarantined *q)
{
    struct nb_unpacker u = nb_unpacker_of(q->features.bytes, q->features.length);
    if (nb_array_reserve(&j->features, &j->room, q->feature_count, sizeof *j->features) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < q->feature_count; i++) {
        struct nb_quarantined_feature f = nb_quarantined_next(&u);
        j->features[i] = (struct nb_feature){.id = f.id, .count = f.count};
    }
    return 0;
}

static int score(struct nb_judge *j, const struct nb_quarantined *q)
{
    const struct nb_model *counts = j->live->counts;
    assert(counts != NULL && j->published != NULL);
    nb_model_read_lock(counts);
    nb_stack_weights_read_lock(j->published->weights);
    int rc = take_features(j, q);
    uint32_t label = nb_model_find_label(counts, q->label);
    j->has_label = label != UINT32_MAX;
    if (rc == 0)
        rc = nb_learner_score_features(j->learner, j->published, counts, j->features,
                                       q->feature_count, j->has_label ? label : 0, &j->record);
    nb_stack_weights_unlock(j->published->weights);
    nb_model_unlock(counts);
    if (rc == 0 && j->published->settings.parent != NULL)
        rc = nb_family_keep_score(&j->family, j->engine, j->live, j->features, q->feature_count,
                                  j->has_label ? label : 0, &j->record);
    return rc;
}

static void choose(struct nb_judge *j)
{
    const struct nb_stored_score *s = &j->scored;
    double most = -1;
    assert(s->size == 0 || (s->labels != NULL && s->probabilities != NULL));
    j->has_verdict = s->size > 0;
    for (uint32_t i = 0; i < s->size; i++) {
        if (j->has_label && s->labels[i] == s->label)
            j->probability = s->probabilities[i];
        if (s->probabilities[i] > most) {
            most = s->probabilities[i];
            j->best = s->labels[i];
        }
    }
}

int nb_judge_one(struct nb_judge *j, const struct nb_quarantined *q, struct nb_error *error)
{
    j->record.length = 0;
    j->has_verdict = false;
    j->probability = 0;
    j->scored = (struct nb_stored_score){.size = 0};
    j->has_label = false;
    if (q->untrain)
        return 0;
    int rc = score(j, q);
    /* With these settings nothing is scored before it is learned. */
    if (rc == 0 && j->record.length == 0)
        return 0;
    if (rc == 0)
        rc = nb_stored_score_read((struct nb_string){j->record.bytes, j->record.length}, &j->lists,
                                  &j->scored, error);
    if (rc == 0)
        choose(j);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}
