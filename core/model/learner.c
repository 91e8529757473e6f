/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learner.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/bayes/estimate.h"
#include "core/ledger/document_lists.h"
#include "core/model/known.h"
#include "core/model/order.h"
#include "core/model/refit.h"
#include "core/model/rewind.h"

struct nb_learner {
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_feature *features; /* owned; features of the document that is scored ... */
    uint32_t *rows;              /* owned; ... and their rows */
    size_t room, rows_room;
    double not_taught; /* 1 - weight of the last document that was learned */
    bool ready;        /* `inputs` belong to the document that is learned next */
    bool has_book;     /* `scores` are by the book, and of that document */
    uint32_t before;   /* label under which the weights had learned it; NB_STACK_NO_LABEL: none */
    bool is_restored;  /* the change ends here: the weights are as before the one it takes back */
    struct nb_drawn drawn;
    struct nb_rewind *rewind;       /* owned */
    struct nb_refit_reader *reader; /* owned */
    unsigned slices;                /* slices of refits, since nb_learner_slices */
    uint64_t slice;                 /* units of work of a slice */
};

struct nb_learner *nb_learner_new(uint64_t refit_units)
{
    struct nb_learner *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->slice = refit_units;
    l->reader = nb_refit_reader_new();
    l->rewind = nb_rewind_new();
    if (l->reader == NULL || l->rewind == NULL)
        nb_learner_free(&l);
    return l;
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
    free(l->rows);
    nb_drawn_deinit(&l->drawn);
    nb_refit_reader_free(&l->reader);
    nb_rewind_free(&l->rewind);
    free(l);
}

const char *nb_unseen_label(const char *label, uint64_t documents, double *probability)
{
    bool spam = strcmp(label, "spam") == 0;
    if (!spam && strcmp(label, "ham") != 0)
        return NULL;
    *probability = ((double)documents + 1) / ((double)documents + 2);
    return spam ? "ham" : "spam";
}

/* Raises the score to what the worst passage says, as a verdict does. */
static void raise_to_passage(struct nb_learner *l, const struct nb_published *published,
                             const struct nb_model *counts, uint64_t judged)
{
    struct nb_stack_judged of = nb_stack_judged_unpack(judged);
    uint32_t place = judged == 0 ? UINT32_MAX : nb_published_judged_place(published, counts);
    if (place >= l->scores.size)
        return;
    double whole = nb_stack_odds(&l->scores, place);
    struct nb_stack_margins margins = nb_stack_margins(published->weights, of.is_mail);
    (void)nb_stack_raise(&l->scores, place, nb_stack_passage_odds(whole, of.worst, margins));
}

/* Takes the features in the order of their rows, so that the score depends on the entry alone: the
 * sums of a replay are the same, bit for bit. */
static int take_features(struct nb_learner *l, const struct nb_model *counts,
                         const struct nb_rows *rows)
{
    if (nb_array_reserve(&l->features, &l->room, rows->size, sizeof *l->features) != 0 ||
        nb_array_reserve(&l->rows, &l->rows_room, rows->size, sizeof *l->rows) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < rows->size; i++) {
        uint32_t row = rows->counts[i].row;
        l->features[i] =
            (struct nb_feature){.id = nb_model_row_id(counts, row), .count = rows->counts[i].count};
        l->rows[i] = row;
    }
    return 0;
}

/* Whether a new document of the label, which is not in these counts yet, will teach. */
static bool will_teach(const struct nb_model *counts, uint32_t label)
{
    return label < nb_model_label_count(counts) &&
           nb_order_teaches(nb_model_documents(counts, label));
}

/* Computes the inputs of a stacked model from `rows`, or from `features` if `rows` is NULL. */
static int stack_inputs(struct nb_learner *l, const struct nb_published *published,
                        const struct nb_model *counts, const struct nb_rows *rows,
                        const struct nb_feature *features, size_t size, uint32_t label)
{
    bool keeps = will_teach(counts, label) && nb_drawn_keeps(counts, published->weights);
    nb_stack_inputs_twin(&l->inputs, published->weights, keeps);
    if (rows == NULL)
        return nb_stack_inputs(published->stack, counts, features, size, &l->inputs, NULL);
    return nb_stack_inputs_of_rows(published->stack, counts, rows->counts, rows->size,
                                   NB_STACK_NO_LABEL, &l->inputs);
}

/* Whether a document has a known feature, or a number. */
static bool has_evidence(const struct nb_model *counts, const struct nb_rows *rows,
                         const struct nb_feature *features, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint32_t row = rows != NULL ? rows->counts[i].row : nb_model_find(counts, features[i].id);
        uint64_t id = rows != NULL ? nb_model_row_id(counts, row) : features[i].id;
        if (nb_feature_is_number(id) || (row != NB_NO_ROW && !nb_model_row_is_unused(counts, row)))
            return true;
    }
    return false;
}

/* Without evidence the score is the prior, as in a verdict; the weights learn from the stack's own.
 */
static int stack_score(struct nb_learner *l, const struct nb_published *published,
                       const struct nb_model *counts, bool is_prior, uint64_t judged)
{
    int rc = is_prior ? nb_score(published->scorer, counts, NULL, 0, &l->scores, NULL)
                      : nb_stack_score(published->weights, &l->inputs, &l->scores);
    if (rc == 0 && !is_prior)
        raise_to_passage(l, published, counts, judged);
    if (rc == 0 && !is_prior)
        (void)nb_scores_moderate_by(&l->scores, counts, NB_LABELS_NONE);
    if (rc == 0 && l->scores.size == 1)
        (void)nb_unseen_label(nb_model_label_name(counts, l->scores.labels[0]).bytes,
                              nb_model_documents(counts, l->scores.labels[0]),
                              l->scores.probabilities);
    l->ready = rc == 0;
    return rc;
}

static int score(struct nb_learner *l, const struct nb_published *published,
                 const struct nb_model *counts, const struct nb_rows *rows,
                 const struct nb_feature *features, size_t size, uint32_t label, uint64_t judged)
{
    if (nb_published_is_stacked(published)) {
        int rc = stack_inputs(l, published, counts, rows, features, size, label);
        return rc != 0 ? rc
                       : stack_score(l, published, counts,
                                     !has_evidence(counts, rows, features, size), judged);
    }
    if (rows == NULL)
        return nb_score(published->scorer, counts, features, size, &l->scores, NULL);
    if (take_features(l, counts, rows) != 0)
        return NB_NO_MEMORY;
    struct nb_found found = {.rows = l->rows};
    return nb_score_found(published->scorer, counts, l->features, size, &found, &l->scores, NULL);
}

/* Scores `rows`, or `features` if `rows` is NULL, and appends the score to `record`. */
static int keep_score(struct nb_learner *l, const struct nb_published *published,
                      const struct nb_model *counts, const struct nb_rows *rows,
                      const struct nb_feature *features, size_t size, uint32_t label,
                      uint64_t judged, struct nb_buffer *record)
{
    nb_learner_reset(l);
    l->scores.size = 0;
    if (nb_published_is_several(published))
        return 0; /* a fit scores all documents (core/stack/multilabel_fit.h) */
    if (!nb_published_is_stacked(published) && nb_settings_walk_vocabulary(&published->settings))
        return 0; /* too slow to do for every document that is learned */
    int rc = score(l, published, counts, rows, features, size, label, judged);
    if (rc == NB_CONFLICT)
        l->scores.size = 0; /* the first document: nothing is learned yet */
    else if (rc != 0)
        return rc;
    l->has_book = rc == 0 && !nb_published_is_stacked(published);
    return nb_stored_score_keep(&l->scores, label, record);
}

int nb_learner_score(struct nb_learner *l, const struct nb_published *published,
                     const struct nb_model *counts, const struct nb_rows *rows, uint32_t label,
                     uint64_t judged, struct nb_buffer *record)
{
    return keep_score(l, published, counts, rows, NULL, rows->size, label, judged, record);
}

int nb_learner_score_features(struct nb_learner *l, const struct nb_published *published,
                              const struct nb_model *counts, const struct nb_feature *features,
                              size_t size, uint32_t label, struct nb_buffer *record)
{
    return keep_score(l, published, counts, NULL, features, size, label, 0, record);
}

void nb_learner_reset(struct nb_learner *l)
{
    l->ready = l->has_book = false;
}

/* ---- the document of a change ---------------------------------------------------------------- */

/* Computes the leave-one-out inputs of the document of a change. Sets *has to whether there are
 * any. */
static int inputs_of(struct nb_learner *l, const struct nb_live *live,
                     const struct nb_stack_weights *weights, const struct nb_lesson *lesson,
                     bool *has)
{
    nb_stack_inputs_twin(&l->inputs, weights, nb_drawn_keeps(live->counts, weights));
    int rc = nb_stack_inputs_of_rows(live->published->stack, live->counts, lesson->rows->counts,
                                     lesson->rows->size, lesson->label, &l->inputs);
    *has = rc == 0;
    return rc == NB_CONFLICT ? 0 : rc;
}

/* Trains the new weights of a refit with the document, too. Its inputs are computed again, because
 * the twin's part must come from the new weights. The other inputs are leave-one-out, so they are
 * the same as before the document was counted. */
static int learn_ahead(struct nb_learner *l, const struct nb_live *live,
                       const struct nb_lesson *lesson, double weight)
{
    struct nb_stack_weights *weights = nb_refit_weights(live);
    bool has;
    if (weights == NULL)
        return 0;
    int rc = inputs_of(l, live, weights, lesson, &has);
    return rc == 0 && has
               ? nb_drawn_teach(live, weights, &l->inputs, lesson->rows, lesson->label, weight)
               : rc;
}

/* Trains the weights with the document. The step is smaller if recent documents have its label more
 * often than all documents do (nb_order_weight). */
static int step(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    uint64_t documents = nb_model_documents_all(live->counts);
    uint64_t of_label = nb_model_documents(live->counts, lesson->label);
    bool teaches = nb_order_teaches(of_label - 1);
    bool has = l->ready;
    assert(documents > 0 && of_label > 0);
    double weight = nb_order_weight(order, lesson->label, of_label - 1, documents - 1);
    l->not_taught = 1 - weight;
    int rc = has || !teaches ? 0 : inputs_of(l, live, live->published->weights, lesson, &has);
    if (rc == 0 && has && nb_known_wants(live))
        rc = nb_known_teach(&l->reader->known, live, &l->inputs, NULL, lesson->rows, lesson->label);
    if (rc == 0 && has && teaches)
        rc = nb_drawn_teach(live, live->published->weights, &l->inputs, lesson->rows, lesson->label,
                            weight);
    if (rc == 0 && teaches)
        rc = learn_ahead(l, live, lesson, weight);
    if (rc == 0 && documents == 1)
        rc = nb_order_set_fingerprint(order, nb_stack_fingerprint(live->published->stack, true));
    return rc != 0 ? rc : nb_order_count(order, lesson->label, weight, documents);
}

static int replay_to(struct nb_learner *l, struct nb_live *live, const struct nb_view *view,
                     uint64_t number, struct nb_stack_weights *weights)
{
    bool found = false;
    int rc = weights == NULL ? 0 : nb_drawn_lesson(&l->drawn, live, view, number, weights, &found);
    return rc != 0 || !found ? rc
                             : nb_drawn_teach(live, weights, &l->drawn.inputs, &l->drawn.rows,
                                              l->drawn.entry.change.label, 1);
}

/* Draws a document from all current ones and trains with its leave-one-out inputs. */
static int replay_one(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_random random =
        nb_order_random(nb_stack_weights_order(live->published->weights), NB_DRAW_LESSON);
    int rc = nb_refit_list(live, lesson->view);
    if (rc != 0 || nb_current_entries_count(live->current) == 0)
        return rc;
    uint64_t number = nb_current_entries_draw(live->current, &random);
    rc = replay_to(l, live, lesson->view, number, live->published->weights);
    return rc != 0 ? rc : replay_to(l, live, lesson->view, number, nb_refit_weights(live));
}

/* ---- taking back ----------------------------------------------------------------------------- */

static bool are_same(const struct nb_rows *a, const struct nb_rows *b)
{
    return a != NULL && a->size == b->size &&
           (a->size == 0 || memcmp(a->counts, b->counts, a->size * sizeof *a->counts) == 0);
}

/* Takes back what the document taught under the label `taken`, by the weights of today. The counts
 * contain it under that label. */
static int unlearn(struct nb_learner *l, const struct nb_live *live,
                   struct nb_stack_weights *weights, const struct nb_lesson *lesson)
{
    uint64_t others = nb_model_documents(live->counts, lesson->taken) - 1;
    if (weights == NULL || !nb_order_teaches(others))
        return 0;
    nb_stack_inputs_twin(&l->inputs, weights, true);
    int rc = nb_stack_inputs_of_rows(live->published->stack, live->counts, lesson->old->counts,
                                     lesson->old->size, lesson->taken, &l->inputs);
    return rc != 0 ? (rc == NB_CONFLICT ? 0 : rc)
                   : nb_stack_unlearn(weights, &l->inputs, lesson->taken, lesson->weight);
}

/* Restores the weights of before the last lesson, and drops a refit that began with it. */
static int restore(struct nb_live *live)
{
    struct nb_stack_weights *weights = live->published->weights;
    int rc = nb_stack_lesson_take_back(weights);
    if (rc == 0 && !nb_order_is_refitting(nb_stack_weights_order(weights)))
        nb_refit_drop(live);
    return rc;
}

/* By the book the weights have only what `known` follows from. It is restored if the document was
 * the last one, else it stays. */
static int take_back_known(struct nb_stack_weights *weights, const struct nb_lesson *lesson)
{
    uint32_t before;
    int rc = 0;
    if (lesson->taken != NB_STACK_NO_LABEL &&
        nb_stack_lesson_is_of(weights, lesson->document, &before))
        rc = nb_stack_lesson_take_back(weights);
    if (rc == 0 && lesson->taken == NB_STACK_NO_LABEL)
        nb_stack_lesson_begin(weights, lesson->document, NB_STACK_NO_LABEL, lesson->is_replay);
    else
        nb_stack_lesson_forget(weights);
    return rc;
}

/* Takes back what the document taught under the label `taken`, with what later documents learned
 * otherwise because of it. */
static int take_back_lesson(struct nb_learner *l, struct nb_live *live,
                            const struct nb_lesson *lesson)
{
    bool is_newest;
    int rc = nb_rewind_begin(l->rewind, live, lesson->view, lesson->replaced, lesson->number,
                             &is_newest);
    if (rc == 0)
        rc = unlearn(l, live, live->published->weights, lesson);
    if (rc == 0)
        rc = nb_live_judged_unlearn(live, lesson->taken, lesson->taken_judged,
                                    is_newest ? 0 : lesson->number - lesson->replaced);
    if (rc == 0)
        rc = unlearn(l, live, nb_refit_weights(live), lesson);
    if (rc != 0)
        nb_rewind_cancel(l->rewind, live);
    return rc;
}

int nb_learner_take_back(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_stack_weights *weights = live->published->weights;
    uint32_t of_last = NB_STACK_NO_LABEL;
    bool is_same = are_same(lesson->rows, lesson->old);
    bool was_last = lesson->taken != NB_STACK_NO_LABEL &&
                    nb_stack_lesson_is_of(weights, lesson->document, &of_last);
    bool was_first = was_last && of_last == NB_STACK_NO_LABEL;
    bool is_back = was_last && !was_first && is_same && of_last == lesson->label;
    int rc = 0;
    l->is_restored = false;
    l->before = lesson->taken;
    if (lesson->is_aged) {
        nb_stack_lesson_forget(weights);
        return 0;
    }
    if (!nb_published_is_stacked(live->published))
        return take_back_known(weights, lesson);
    if (was_first || is_back) {
        rc = restore(live);
        l->before = of_last;
        l->is_restored = is_back || lesson->rows == NULL;
    }
    if (l->is_restored || lesson->rows == NULL)
        nb_stack_lesson_forget(weights);
    else if (is_same)
        nb_stack_lesson_begin(weights, lesson->document, l->before, lesson->is_replay);
    if (rc == 0 && l->before != NB_STACK_NO_LABEL && !l->is_restored)
        rc = take_back_lesson(l, live, lesson);
    if (lesson->rows != NULL && !is_same)
        nb_stack_lesson_begin(weights, lesson->document, NB_STACK_NO_LABEL, lesson->is_replay);
    l->ready = l->ready && l->before == NB_STACK_NO_LABEL;
    return rc;
}

void nb_learner_cancel(struct nb_learner *l, struct nb_live *live)
{
    nb_rewind_cancel(l->rewind, live);
}

/* ---- refits ---------------------------------------------------------------------------------- */

/* Whether the label has just got its first document that teaches, and the only other label has at
 * least as many documents: those did not teach while that label was alone. (With more labels,
 * weights that are fitted so early are worse than the start values.) */
static bool starts_beside_another(const struct nb_model *counts, uint32_t label)
{
    uint64_t documents = nb_model_documents(counts, label);
    uint32_t labels = nb_order_begins_to_teach(documents) ? nb_model_label_count(counts) : 0;
    unsigned others = 0;
    bool has_enough = false;
    for (uint32_t other = 0; other < labels; other++) {
        if (other == label || nb_model_documents(counts, other) == 0)
            continue;
        others++;
        has_enough = nb_model_documents(counts, other) >= documents;
    }
    return others == 1 && has_enough;
}

/* Counts the change for the decision about a refit. What the weights learned from a document that
 * was relabelled, replaced or forgotten is still in them. A document that was removed because of
 * its age is not counted: it was not learned wrongly, and newer ones have taken its place. */
static int note(const struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    bool is_taken = l->before != NB_STACK_NO_LABEL;
    bool is_moved = is_taken && (lesson->rows == NULL || l->before != lesson->label);
    bool is_small = nb_order_is_small(nb_model_documents_all(live->counts));
    int rc = 0;
    if (lesson->is_aged)
        return 0;
    if (lesson->rows != NULL)
        rc = nb_order_note(order, lesson->label, nb_model_documents(live->counts, lesson->label),
                           is_small ? 1 : l->not_taught, is_taken && !is_moved);
    if (rc == 0 && lesson->rows != NULL && starts_beside_another(live->counts, lesson->label))
        rc = nb_order_note_start(order);
    if (rc == 0 && is_moved)
        rc = lesson->rows == NULL && is_small
                 ? nb_order_note_forgotten(order, l->before)
                 : nb_order_note(order, l->before, nb_model_documents(live->counts, l->before),
                                 is_small ? 1 : 0, true);
    return rc;
}

/* Runs one slice of the refit that is under way, or begins one if there is a reason. */
static int refit(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    int rc = 0;
    if (live->fit == NULL) {
        enum nb_order_reason reason = nb_order_reason(order, nb_model_documents_all(live->counts));
        if (reason == NB_ORDER_NONE)
            return 0;
        rc = nb_refit_begin(live, lesson->view,
                            reason == NB_ORDER_REVISED ? NB_REFIT_STALE : NB_REFIT_OF_GROWTH);
    }
    l->slices++;
    return rc != 0 ? rc : nb_refit_slice(live, lesson->view, l->slice, l->reader);
}

int nb_learner_refit(struct nb_learner *l, struct nb_live *live, const struct nb_view *view,
                     uint32_t part)
{
    int rc = 0;
    if (part > NB_REFIT_WHOLE)
        return NB_CORRUPT;
    if (!nb_published_is_stacked(live->published))
        return 0;
    if (part != NB_REFIT_SLICE)
        nb_stack_lesson_forget(live->published->weights);
    if (part != NB_REFIT_SLICE)
        rc = nb_refit_begin(live, view,
                            part == NB_REFIT_WHOLE ? NB_REFIT_ASKED : nb_refit_why(live));
    l->slices++;
    return rc != 0 ? rc : nb_refit_slice(live, view, l->slice, l->reader);
}

unsigned nb_learner_slices(struct nb_learner *l)
{
    unsigned slices = l->slices;
    l->slices = 0;
    return slices;
}

/* ---- a change -------------------------------------------------------------------------------- */

/* By the book only a new document teaches what is known: its scores are those without it. */
static int teach_known(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    if (nb_published_is_several(live->published))
        return 0;
    bool uses = nb_known_uses_scores(&live->published->settings,
                                     nb_model_labels_with_documents(live->counts));
    if (!nb_known_wants(live) || (uses && (!l->has_book || l->scores.size < 3)))
        return 0;
    return nb_known_teach(&l->reader->known, live, NULL, uses ? &l->scores : NULL, lesson->rows,
                          lesson->label);
}

int nb_learner_teach(struct nb_learner *l, struct nb_live *live, const struct nb_lesson *lesson)
{
    struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    if (!nb_published_is_stacked(live->published)) {
        nb_refit_drop(live);
        int code = nb_order_forget(order);
        code = code == 0 && lesson->rows != NULL ? teach_known(l, live, lesson) : code;
        /* A model whose documents have taught nothing yet stores no weights, and no lesson. */
        if (nb_weights_places(nb_stack_weights_known(live->published->weights)) == 0)
            nb_stack_lesson_forget(live->published->weights);
        return code;
    }
    bool learns = lesson->rows != NULL && !l->is_restored;
    bool is_back = l->before != NB_STACK_NO_LABEL; /* else nothing was taken back */
    int rc = is_back ? nb_rewind_end(l->rewind, live, lesson->rows, lesson->label) : 0;
    if (rc == 0 && learns)
        rc = step(l, live, lesson);
    l->ready = false;
    if (rc == 0 && learns)
        rc = nb_live_judged_learn(live, lesson->label, lesson->judged);
    if (rc == 0 && !l->is_restored)
        rc = note(l, live, lesson);
    if (rc == 0)
        rc = nb_refit_note_missed(live);
    if (rc == 0 && learns && nb_order_take_credit(order))
        rc = replay_one(l, live, lesson);
    return rc != 0 ? rc : refit(l, live, lesson);
}

/* Of many labels only the most probable and the true one are kept; the others share the rest
 * (core/model/evaluation.h). The true one is needed for the log-loss: it must not seem
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

static int write_weight(double weight, struct nb_packer *w)
{
    nb_pack_varint(w, NB_LABELS_MOST);
    nb_pack_double(w, weight);
    return w->code;
}

int nb_stored_score_keep_weight(const struct nb_live *live, uint32_t label, uint32_t taken,
                                struct nb_string old, struct nb_buffer *record)
{
    const struct nb_weights *order = nb_stack_weights_order(live->published->weights);
    bool is_known = label < nb_model_label_count(live->counts);
    uint64_t of_label = is_known ? nb_model_documents(live->counts, label) - (label == taken) : 0;
    uint64_t documents = nb_model_documents_all(live->counts) - (taken != NB_STACK_NO_LABEL);
    struct nb_packer w = {.out = record};
    if (record->length == 0 || !nb_published_is_stacked(live->published))
        return 0;
    double before = nb_stored_score_weight(old, 0);
    double weight = label == taken ? before : nb_order_weight(order, label, of_label, documents);
    if (weight < 1 || before < 1)
        (void)write_weight(weight, &w);
    return before < 1 ? write_weight(before, &w) : w.code;
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
        lists->probabilities[scored->size] = nb_unpack_double(&r);
        scored->size += lists->labels[scored->size] != NB_LABELS_MOST; /* or it is a weight */
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
