/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the documents of an evaluation, one by one, as rows of numbers.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/counts/model.h"
#include "core/model/evaluate/evaluator_private.h"

#define NONE UINT32_MAX

static int number_labels(struct nb_evaluator *e)
{
    for (size_t i = 0; i < e->label_count; i++)
        if (e->labels[i] >= e->index_count)
            e->index_count = (size_t)e->labels[i] + 1;
    if (e->index_count > NB_LABELS_MOST + (size_t)1)
        return NB_TOO_LARGE;
    e->indices = malloc((e->index_count + 1) * sizeof *e->indices);
    if (e->indices == NULL)
        return NB_NO_MEMORY;
    memset(e->indices, 0xff, e->index_count * sizeof *e->indices); /* NONE */
    for (size_t i = 0; i < e->label_count; i++)
        e->indices[e->labels[i]] = (uint32_t)i;
    return 0;
}

int nb_evaluator_new(const uint32_t *labels, size_t label_count, size_t positive,
                     struct nb_evaluator **evaluator)
{
    assert(label_count == 0 || labels != NULL);
    struct nb_evaluator *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NB_NO_MEMORY;
    e->positive = positive;
    e->label_count = label_count;
    e->labels = calloc(label_count + 1, sizeof *e->labels);
    int rc = e->labels == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0 && label_count > 0)
        memcpy(e->labels, labels, label_count * sizeof *labels);
    if (rc == 0)
        rc = number_labels(e);
    if (rc != 0)
        nb_evaluator_free(&e);
    *evaluator = e;
    return rc;
}

void nb_evaluator_free(struct nb_evaluator **evaluator)
{
    struct nb_evaluator *e = *evaluator;
    if (e == NULL)
        return;
    free(e->labels);
    free(e->indices);
    free(e->rows);
    free(e->extras);
    free(e);
    *evaluator = NULL;
}

static uint32_t index_of(const struct nb_evaluator *e, uint32_t label)
{
    return label < e->index_count ? e->indices[label] : NONE;
}

static int make_room(struct nb_evaluator *e)
{
    assert(e->size <= e->room && (e->room == 0 || e->rows != NULL));
    if (e->size < e->room)
        return 0;
    size_t room = e->room < 64 ? 64 : e->room + e->room / 2;
    struct nb_evaluator_row *rows = reallocarray(e->rows, room, sizeof *rows);
    if (rows == NULL)
        return NB_NO_MEMORY;
    e->rows = rows;
    if (e->label_count != 2) {
        struct nb_evaluator_extra *extras = reallocarray(e->extras, room, sizeof *extras);
        if (extras == NULL)
            return NB_NO_MEMORY;
        e->extras = extras;
    }
    e->room = room;
    return 0;
}

static bool is_sound(const struct nb_stored_score *s)
{
    for (uint32_t i = 0; i < s->size; i++)
        if (!(s->probabilities[i] >= 0 && s->probabilities[i] <= 1))
            return false;
    return isfinite(s->log_odds);
}

/* Every label has the same probability, and the first by name wins the tie. */
static void take_unscored(const struct nb_evaluator *e, struct nb_evaluator_row *row,
                          struct nb_evaluator_extra *extra)
{
    double p = 1 / (double)e->label_count;
    row->probability = p;
    row->predicted = 0;
    row->rank = e->label_count == 2 ? 0 : p;
    *extra = (struct nb_evaluator_extra){.truth = p, .winner = p, .brier = 1 - p};
}

/* ln of a probability; 0 is taken as the smallest number above it. */
static double log_of(double probability)
{
    return log(fmax(probability, DBL_TRUE_MIN));
}

/* The part of Brier's sum from labels that a score does not list. Of many labels only the likeliest
 * are listed, and the true one if it was scored; the others share the rest equally. */
static double brier_of_unlisted(const struct nb_evaluator *e, const struct nb_stored_score *s)
{
    double left = 1, others = (double)e->label_count;
    bool has_truth = false;
    for (uint32_t i = 0; i < s->size; i++) {
        left -= s->probabilities[i];
        others -= index_of(e, s->labels[i]) != NONE;
        has_truth = has_truth || s->labels[i] == s->label;
    }
    others -= !has_truth; /* the label's first document: it had probability 0 */
    return left > 0 && others > 0 ? left * left / others : 0;
}

static void take_scored(const struct nb_evaluator *e, const struct nb_stored_score *s,
                        struct nb_evaluator_row *row, struct nb_evaluator_extra *extra)
{
    double best = -1, of_others = 0;
    uint32_t place = NONE; /* of the positive label in the list */
    *extra = (struct nb_evaluator_extra){.brier = 1 + brier_of_unlisted(e, s)};
    for (uint32_t i = 0; i < s->size; i++) {
        double p = s->probabilities[i];
        uint32_t index = index_of(e, s->labels[i]);
        if (index != NONE && p > best) {
            best = p;
            row->predicted = index;
        }
        if (index == e->positive)
            place = i;
        else
            of_others += p;
        if (s->labels[i] == s->label) {
            extra->truth = p;
            extra->brier += (1 - p) * (1 - p) - 1;
        } else {
            extra->brier += p * p;
        }
    }
    extra->winner = fmax(best, 0);
    row->probability = place != NONE ? s->probabilities[place] : 0;
    /* A model that has seen one label of two leaves the rest to the other. */
    if (place == NONE && s->size == 1 && e->label_count == 2)
        row->probability = 1 - of_others;
    if (e->label_count != 2)
        row->rank = row->probability;
    else if (s->size == 1)
        row->rank = log_of(row->probability) - log_of(1 - row->probability);
    else if (s->size == 2 && place != NONE)
        row->rank = place == 1 ? s->log_odds : -s->log_odds;
    else
        row->rank = log_of(row->probability) - log_of(of_others);
}

int nb_evaluator_add(struct nb_evaluator *e, const struct nb_stored_score *scored)
{
    struct nb_evaluator_row row = {.label = index_of(e, scored->label)};
    struct nb_evaluator_extra extra;
    if (row.label == NONE || !is_sound(scored))
        return NB_INVALID;
    int rc = make_room(e);
    if (rc != 0)
        return rc;
    if (scored->size == 0)
        take_unscored(e, &row, &extra);
    else
        take_scored(e, scored, &row, &extra);
    assert(row.predicted < e->label_count || e->label_count == 0);
    e->rows[e->size] = row;
    if (e->extras != NULL)
        e->extras[e->size] = extra;
    e->size++;
    return 0;
}

struct nb_evaluator_window nb_evaluator_window(const struct nb_evaluator *e, uint64_t most)
{
    size_t size = most == 0 || most > e->size ? e->size : (size_t)most;
    struct nb_evaluator_window w = {.size = size};
    if (size == 0)
        return w;
    w.rows = e->rows + (e->size - size);
    w.extras = e->extras == NULL ? NULL : e->extras + (e->size - size);
    for (size_t i = 0; i < size; i++)
        w.positives += w.rows[i].label == e->positive;
    w.negatives = size - w.positives;
    return w;
}
