/* SPDX-License-Identifier: Apache-2.0 */
#include "core/live/learner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/live/stored_score.h"

struct nb_learner {
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_feature *features; /* owned */
    size_t room;                 /* of `features` */
    bool ready;                  /* `inputs` are those of the document that is learned next */
};

struct nb_learner *nb_learner_new(void)
{
    return calloc(1, sizeof(struct nb_learner));
}

void nb_learner_free(struct nb_learner **learner)
{
    struct nb_learner *l = *learner;
    *learner = NULL;
    if (l == NULL)
        return;
    nb_stack_inputs_deinit(&l->inputs);
    nb_scores_deinit(&l->scores);
    free(l->features);
    free(l);
}

const char *nb_unseen_label(const struct nb_model *counts, uint32_t only_label, double *probability)
{
    const char *name = nb_model_label_name(counts, only_label).bytes;
    bool spam = strcmp(name, "spam") == 0;
    if (!spam && strcmp(name, "ham") != 0)
        return NULL;
    double documents = (double)nb_model_documents(counts, only_label);
    *probability = (documents + 1) / (documents + 2);
    return spam ? "ham" : "spam";
}

/* In the order of their rows, so that the score is a function of the entry: the sums of a replay
 * are the same to the bit. */
static int take_features(struct nb_learner *l, const struct nb_model *counts,
                         const struct nb_rows *rows)
{
    if (nb_array_reserve(&l->features, &l->room, rows->size, sizeof *l->features) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < rows->size; i++)
        l->features[i] = (struct nb_feature){.id = nb_model_row_id(counts, rows->counts[i].row),
                                             .count = rows->counts[i].count};
    return 0;
}

static int score(struct nb_learner *l, const struct nb_published *published,
                 const struct nb_model *counts, size_t size)
{
    if (!nb_published_is_stacked(published))
        return nb_score(published->scorer, counts, l->features, size, &l->scores, NULL);
    int rc = nb_stack_inputs(published->stack, counts, l->features, size, &l->inputs, NULL);
    if (rc == 0)
        rc = nb_stack_score(published->weights, &l->inputs, &l->scores);
    if (rc == 0 && l->scores.size == 1)
        (void)nb_unseen_label(counts, l->scores.labels[0], l->scores.probabilities);
    l->ready = rc == 0;
    return rc;
}

int nb_learner_score(struct nb_learner *l, const struct nb_published *published,
                     const struct nb_model *counts, const struct nb_rows *rows, uint32_t label,
                     struct nb_buffer *record)
{
    l->ready = false;
    l->scores.size = 0;
    if (!nb_published_is_stacked(published) && nb_settings_walk_vocabulary(&published->settings))
        return 0; /* for every document that is learned, that would cost too much */
    if (take_features(l, counts, rows) != 0)
        return NB_NO_MEMORY;
    int rc = score(l, published, counts, rows->size);
    if (rc == NB_CONFLICT)
        l->scores.size = 0; /* the first document: there is nothing to score it by */
    else if (rc != 0)
        return rc;
    return nb_stored_score_keep(&l->scores, label, record);
}

void nb_learner_reset(struct nb_learner *l)
{
    l->ready = false;
}

int nb_learner_teach(struct nb_learner *l, const struct nb_published *published, uint32_t label)
{
    if (!l->ready)
        return 0;
    assert(nb_published_is_stacked(published));
    l->ready = false;
    return nb_stack_learn(published->weights, &l->inputs, label);
}
