/* SPDX-License-Identifier: Apache-2.0 */
#include "core/prequential.h"

#include <stdlib.h>
#include <string.h>

/* With many labels only the likeliest are kept; the rest counts as 0. */
enum { LABELS_KEPT = 16 };

void nb_prequential_deinit(struct nb_prequential *p)
{
    nb_stack_inputs_deinit(&p->inputs);
    nb_scores_deinit(&p->scores);
    free(p->features);
    *p = (struct nb_prequential){0};
}

void nb_prequential_stack_settings(const struct nb_settings *settings,
                                   struct nb_stack_settings *stack)
{
    nb_stack_settings_init(stack);
    stack->two.experts[0].smoothing = settings->sharp_smoothing;
    stack->two.experts[0].power = settings->sharp_power;
    stack->two.experts[1].smoothing = settings->robust_smoothing;
    stack->two.experts[1].power = settings->robust_power;
    stack->many.experts[0].smoothing = settings->many_smoothing;
    stack->many.experts[0].power = settings->many_power;
    stack->length = settings->length_power;
    stack->scale = settings->evidence_scale;
    stack->rate = settings->learning_rate;
    stack->mixing = settings->expert_mixing;
    stack->memory = settings->expert_memory;
}

const char *nb_prequential_unseen(const struct nb_model *counts, uint32_t only_label,
                                  double *probability)
{
    const char *name = nb_model_label_name(counts, only_label).bytes;
    bool spam = strcmp(name, "spam") == 0;
    if (!spam && strcmp(name, "ham") != 0)
        return NULL;
    double documents = (double)nb_model_documents(counts, only_label);
    *probability = (documents + 1) / (documents + 2);
    return spam ? "ham" : "spam";
}

/* ---- learning -------------------------------------------------------------------------------- */

static int take_features(struct nb_prequential *p, const struct nb_change *change)
{
    if (change->feature_count > p->room) {
        struct nb_feature *features =
            realloc(p->features, change->feature_count * sizeof *features);
        if (features == NULL)
            return NB_NO_MEMORY;
        p->features = features;
        p->room = change->feature_count;
    }
    for (size_t i = 0; i < change->feature_count; i++)
        p->features[i] =
            (struct nb_feature){.id = change->features[i].id, .count = change->features[i].count};
    return 0;
}

/* Scoring must not cost a walk over the vocabulary for each document that is learned. */
static bool is_cheap(const struct nb_settings *settings)
{
    return settings->event_model != NB_EVENT_BERNOULLI && settings->min_count == 0 &&
           settings->skip_top == 0;
}

/* The indices of the LABELS_KEPT most probable labels, in order of index. */
static size_t choose(const struct nb_scores *scores, size_t chosen[LABELS_KEPT])
{
    size_t count = 0;
    for (size_t i = 0; i < scores->size; i++) {
        if (count < LABELS_KEPT) {
            chosen[count++] = i;
            continue;
        }
        size_t least = 0;
        for (size_t k = 1; k < count; k++)
            if (scores->probabilities[chosen[k]] < scores->probabilities[chosen[least]])
                least = k;
        if (scores->probabilities[i] <= scores->probabilities[chosen[least]])
            continue;
        for (size_t k = least; k + 1 < count; k++)
            chosen[k] = chosen[k + 1];
        chosen[count - 1] = i;
    }
    return count;
}

static int write_scores(const struct nb_scores *scores, uint32_t label, struct nb_buffer *record)
{
    size_t chosen[LABELS_KEPT];
    uint32_t labels[LABELS_KEPT];
    double probabilities[LABELS_KEPT];
    size_t count = choose(scores, chosen);
    for (size_t i = 0; i < count; i++) {
        labels[i] = scores->labels[chosen[i]];
        probabilities[i] = scores->probabilities[chosen[i]];
    }
    struct nb_scored scored = {
        .label = label, .size = (uint32_t)count, .labels = labels, .probabilities = probabilities};
    if (scores->size == 2)
        scored.log_odds = scores->log_scores[1] - scores->log_scores[0];
    return nb_scored_write(&scored, record);
}

int nb_prequential_learn(struct nb_prequential *p, const struct nb_published *published,
                         const struct nb_model *counts, const struct nb_change *change,
                         struct nb_buffer *record)
{
    bool stacked = published->settings.decision == NB_DECISION_STACKED;
    if (!stacked && !is_cheap(&published->settings))
        return 0;
    int rc = take_features(p, change);
    p->scores.size = 0;
    if (rc == 0 && stacked)
        rc = nb_stack_inputs(published->stack, counts, p->features, change->feature_count,
                             &p->inputs, NULL);
    else if (rc == 0)
        rc = nb_score(published->scorer, counts, p->features, change->feature_count, &p->scores,
                      NULL);
    if (rc == NB_CONFLICT)
        return write_scores(&p->scores, change->label_number, record); /* the first document */
    if (rc == 0 && stacked)
        rc = nb_stack_score(published->weights, &p->inputs, &p->scores);
    if (rc == 0 && stacked && p->scores.size == 1)
        (void)nb_prequential_unseen(counts, p->scores.labels[0], p->scores.probabilities);
    if (rc == 0 && stacked)
        rc = nb_stack_learn(published->weights, &p->inputs, change->label_number);
    return rc != 0 ? rc : write_scores(&p->scores, change->label_number, record);
}

/* ---- stored scores --------------------------------------------------------------------------- */

int nb_scored_write(const struct nb_scored *scored, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_varint(&w, scored->label);
    nb_pack_double(&w, scored->log_odds);
    for (uint32_t i = 0; i < scored->size; i++) {
        nb_pack_varint(&w, scored->labels[i]);
        nb_pack_double(&w, scored->probabilities[i]);
    }
    return w.code;
}

static int make_room(struct nb_scored_lists *lists)
{
    size_t room = lists->room == 0 ? LABELS_KEPT : lists->room * 2;
    uint32_t *labels = realloc(lists->labels, room * sizeof *labels);
    if (labels != NULL)
        lists->labels = labels;
    double *probabilities = realloc(lists->probabilities, room * sizeof *probabilities);
    if (probabilities != NULL)
        lists->probabilities = probabilities;
    if (labels == NULL || probabilities == NULL)
        return NB_NO_MEMORY;
    lists->room = room;
    return 0;
}

int nb_scored_read(struct nb_string stored, struct nb_scored_lists *lists, struct nb_scored *scored,
                   struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    *scored = (struct nb_scored){.label = (uint32_t)nb_unpack_bounded(&r, NB_LABELS_MOST)};
    scored->log_odds = nb_unpack_double(&r);
    while (r.at < r.end && !r.failed) {
        if (scored->size == lists->room && make_room(lists) != 0)
            return nb_error_no_memory(error);
        lists->labels[scored->size] = (uint32_t)nb_unpack_bounded(&r, NB_LABELS_MOST);
        lists->probabilities[scored->size++] = nb_unpack_double(&r);
    }
    scored->labels = lists->labels;
    scored->probabilities = lists->probabilities;
    return nb_unpacker_done(&r) ? 0
                                : nb_error_set(error, NB_CORRUPT,
                                               "the store is damaged: a score does not read back");
}

void nb_scored_lists_deinit(struct nb_scored_lists *lists)
{
    free(lists->labels);
    free(lists->probabilities);
    *lists = (struct nb_scored_lists){0};
}
