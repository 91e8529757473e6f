/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/stored_score.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/pack.h"
#include "core/bayes/book/estimate.h"

/* Of many labels only the most probable and the true one are kept; the others share the rest
 * (core/model/evaluate/evaluator.h). The true one is needed for the log-loss: it must not seem
 * impossible only because others are more probable. */
enum { LABELS_KEPT = 16 };

static size_t find_least(const struct nb_scores *scores, const size_t chosen[], size_t count)
{
    size_t least = 0;
    for (size_t k = 1; k < count; k++)
        if (scores->probabilities[chosen[k]] < scores->probabilities[chosen[least]])
            least = k;
    return least;
}

/* Sets the indexes of the LABELS_KEPT most probable labels, ascending. Returns their number. */
static size_t choose(const struct nb_scores *scores, size_t chosen[LABELS_KEPT])
{
    size_t count = 0;
    for (size_t i = 0; i < scores->size; i++) {
        if (count < LABELS_KEPT) {
            chosen[count++] = i;
            continue;
        }
        size_t least = find_least(scores, chosen, count);
        if (scores->probabilities[i] <= scores->probabilities[chosen[least]])
            continue;
        for (size_t k = least; k + 1 < count; k++)
            chosen[k] = chosen[k + 1];
        chosen[count - 1] = i;
    }
    return count;
}

/* Replaces the least probable of the chosen labels by the true one, unless that is chosen already.
 * Keeps the order. */
static void choose_truth(const struct nb_scores *scores, uint32_t label, size_t chosen[],
                         size_t count)
{
    size_t truth = 0;
    while (truth < scores->size && scores->labels[truth] != label)
        truth++;
    if (truth == scores->size) /* the label's first document */
        return;
    for (size_t k = 0; k < count; k++)
        if (chosen[k] == truth)
            return;
    size_t at = find_least(scores, chosen, count);
    for (; at + 1 < count && chosen[at + 1] < truth; at++)
        chosen[at] = chosen[at + 1];
    for (; at > 0 && chosen[at - 1] > truth; at--)
        chosen[at] = chosen[at - 1];
    chosen[at] = truth;
}

/* The log odds of two labels; finite even if one is impossible, or both are. */
static double log_odds_of(const struct nb_scores *scores)
{
    if (scores->size != 2)
        return 0;
    double odds = nb_log_evidence(scores->log_scores[1], scores->log_scores[0]);
    return fmax(-DBL_MAX, fmin(DBL_MAX, odds));
}

int nb_stored_score_keep(const struct nb_scores *scores, uint32_t label, struct nb_buffer *record)
{
    size_t chosen[LABELS_KEPT];
    uint32_t labels[LABELS_KEPT];
    double probabilities[LABELS_KEPT];
    size_t count = choose(scores, chosen);
    choose_truth(scores, label, chosen, count);
    for (size_t i = 0; i < count; i++) {
        labels[i] = scores->labels[chosen[i]];
        probabilities[i] = scores->probabilities[chosen[i]];
    }
    struct nb_stored_score scored = {.label = label,
                                     .log_odds = log_odds_of(scores),
                                     .size = (uint32_t)count,
                                     .labels = labels,
                                     .probabilities = probabilities};
    return nb_stored_score_write(&scored, record);
}

int nb_stored_score_write(const struct nb_stored_score *scored, struct nb_buffer *out)
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

static int make_room(struct nb_stored_score_lists *lists)
{
    size_t room = nb_array_room(lists->room, lists->room + 1, sizeof *lists->probabilities);
    if (nb_array_resize(&lists->labels, room, sizeof *lists->labels) != 0 ||
        nb_array_resize(&lists->probabilities, room, sizeof *lists->probabilities) != 0)
        return NB_NO_MEMORY;
    lists->room = room;
    return 0;
}

int nb_stored_score_read(struct nb_string stored, struct nb_stored_score_lists *lists,
                         struct nb_stored_score *scored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    *scored = (struct nb_stored_score){.label = (uint32_t)nb_unpack_bounded(&r, NB_LABELS_MOST)};
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

void nb_stored_score_lists_deinit(struct nb_stored_score_lists *lists)
{
    free(lists->labels);
    free(lists->probabilities);
    *lists = (struct nb_stored_score_lists){0};
}
