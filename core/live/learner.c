/* SPDX-License-Identifier: Apache-2.0 */
#include "core/live/learner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/live/order.h"
#include "core/live/stored_score.h"
#include "core/store/ledger.h"
#include "core/store/living.h"

struct nb_learner {
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_feature *features; /* owned */
    size_t room;                 /* of `features` */
    bool ready;                  /* `inputs` are those of the document that is learned next */
    struct nb_entry drawn;       /* a document that was drawn, */
    struct nb_rows drawn_rows;   /* and its rows */
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
    nb_entry_deinit(&l->drawn);
    nb_rows_deinit(&l->drawn_rows);
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
                 const struct nb_model *counts, const struct nb_rows *rows)
{
    int rc = 0;
    if (!nb_published_is_stacked(published)) {
        rc = take_features(l, counts, rows);
        return rc != 0
                   ? rc
                   : nb_score(published->scorer, counts, l->features, rows->size, &l->scores, NULL);
    }
    rc = nb_stack_inputs_of_rows(published->stack, counts, rows->counts, rows->size,
                                 NB_STACK_NO_LABEL, &l->inputs);
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
    int rc = score(l, published, counts, rows);
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

/* ---- the document of a change ---------------------------------------------------------------- */

/* Inputs that the document of a change has without itself in the counts. *has: it has some. */
static int inputs_of(struct nb_learner *l, const struct nb_live *live, const struct nb_rows *rows,
                     uint32_t label, bool *has)
{
    int rc = nb_stack_inputs_of_rows(live->published->stack, live->counts, rows->counts, rows->size,
                                     label, &l->inputs);
    *has = rc == 0;
    return rc == NB_CONFLICT ? 0 : rc;
}

/* One step, of which the weight says how much: the recent documents have the label more often than
 * all of them, or not. */
static int step(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_stack_weights *weights = live->published->weights;
    struct nb_weights *order = nb_stack_weights_order(weights);
    uint64_t documents = nb_model_documents_all(live->counts);
    uint64_t of_label = nb_model_documents(live->counts, lesson->label);
    bool has = l->ready;
    assert(documents > 0 && of_label > 0);
    double weight = nb_order_weight(order, lesson->label, of_label - 1, documents - 1);
    int rc = has ? 0 : inputs_of(l, live, lesson->rows, lesson->label, &has);
    if (rc == 0 && has)
        rc = nb_stack_learn(weights, &l->inputs, lesson->label, weight);
    return rc != 0 ? rc : nb_order_count(order, lesson->label, weight);
}

/* ---- documents that are drawn ---------------------------------------------------------------- */

/* Reads a living document into l->drawn_rows. *found is false where the ledger has it no more, as
 * in a replay, or where it is damaged: then it teaches nothing. */
static int read_drawn(struct nb_learner *l, const struct nb_live *live, const struct nb_view *view,
                      uint64_t number, bool *found)
{
    const struct nb_change *change = &l->drawn.change;
    int rc = nb_ledger_read(view, number, &l->drawn, NULL);
    if (rc == 0 && (change->kind != NB_CHANGE_TRAIN || change->model != live->number ||
                    change->label >= nb_model_label_count(live->counts)))
        rc = NB_NOT_FOUND;
    if (rc == 0)
        rc = nb_bag_decode(change->bag, nb_model_rows(live->counts), &l->drawn_rows, NULL);
    for (size_t i = 0; rc == 0 && i < l->drawn_rows.size; i++)
        if (nb_model_is_dropped(nb_model_row_id(live->counts, l->drawn_rows.counts[i].row)))
            rc = NB_CORRUPT;
    *found = rc == 0;
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

/* A document that is drawn from all teaches as if it were the only one that is not learned yet. */
static int replay_one(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_random random = nb_random_of(live->number, lesson->number);
    bool good = false;
    int rc =
        live->living == NULL ? nb_living_load(lesson->view, live->number, &live->living, NULL) : 0;
    if (rc == 0 && nb_living_count(live->living) > 0)
        rc = read_drawn(l, live, lesson->view, nb_living_draw(live->living, &random), &good);
    if (rc == 0 && good)
        rc = inputs_of(l, live, &l->drawn_rows, l->drawn.change.label, &good);
    if (rc == 0 && good)
        rc = nb_stack_learn(live->published->weights, &l->inputs, l->drawn.change.label, 1);
    return rc;
}

int nb_learner_teach(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    int rc = 0;
    if (nb_published_is_stacked(live->published) && lesson->rows != NULL)
        rc = step(l, live, lesson);
    l->ready = false;
    if (rc == 0 && nb_published_is_stacked(live->published) &&
        nb_order_take_credit(nb_stack_weights_order(live->published->weights)))
        rc = replay_one(l, live, lesson);
    return rc;
}
