/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/verdict.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/counts/counts.h"
#include "core/model/learner.h"
#include "core/model/registry.h"
#include "core/model/verdict_parts.h"
#include "core/model/verdict_several.h"

static void need(struct nb_verdict *verdict, const char *label, uint64_t documents)
{
    if (documents >= verdict->ready_documents)
        return;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing, "label '%s' has %llu of %llu documents",
             label, (unsigned long long)documents, (unsigned long long)verdict->ready_documents);
}

/* Whether only one label has documents, although two are needed. */
static bool is_alone(struct nb_verdict *verdict)
{
    if (verdict->size >= 2 || verdict->ready_documents == 0 || verdict->is_given != NULL)
        return false;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing,
             "only the label '%s' has documents, there must be two labels", verdict->labels[0]);
    return true;
}

/* Sets `ready` and `missing` by the setting ready_documents, in reverse order, so that `missing`
 * names the first label that has too few. */
static void verdict_fill_ready(struct nb_verdict *verdict)
{
    assert(verdict->size > 0);
    verdict->ready = true;
    if (is_alone(verdict))
        return;
    for (size_t i = verdict->size; i > 0; i--)
        need(verdict, verdict->labels[i - 1], verdict->documents[i - 1]);
}

/* The documents of a label; 0 if the verdict does not have it. */
static uint64_t documents_of(const struct nb_verdict *verdict, const char *label)
{
    for (size_t i = 0; i < verdict->size; i++) {
        if (strcmp(verdict->labels[i], label) == 0)
            return verdict->documents[i];
    }
    return 0;
}

void nb_verdict_need(struct nb_verdict *verdict, const char *const labels[], size_t count)
{
    verdict->ready = true;
    if (is_alone(verdict))
        return;
    for (size_t i = count; i > 0; i--)
        need(verdict, labels[i - 1], documents_of(verdict, labels[i - 1]));
}

double nb_published_threshold(const struct nb_published *published, size_t place,
                              struct nb_wish *found)
{
    const struct nb_label_threshold *set = &published->settings.thresholds[place];
    if (set->kind == NB_THRESHOLD_COSTS)
        return nb_decide_threshold(set->cost_fp, set->cost_fn);
    if (set->kind == NB_THRESHOLD_NUMBER)
        return set->number;
    const struct nb_wish wish = nb_wishes_found(published->wishes, place);
    if (found != NULL)
        *found = wish;
    return wish.threshold;
}

/* Sets the threshold of the label that wins. */
static void tell_threshold(struct nb_verdict *verdict)
{
    const struct nb_published *published = verdict->private_->chain.published[0];
    const struct nb_settings *settings = &published->settings;
    bool has_some = settings->threshold_count > 0;
    const char *winner = verdict->labels[verdict->best];
    verdict->threshold = has_some ? 0 : -1;
    verdict->set = has_some ? nb_settings_threshold(settings, winner) : NULL;
    if (verdict->set != NULL)
        verdict->threshold =
            nb_published_threshold(published, (size_t)(verdict->set - settings->thresholds), NULL);
}

int nb_verdict_at_level(struct nb_verdict *verdict, unsigned level)
{
    struct nb_levels *levels = &verdict->private_->levels;
    assert(verdict->size > 0 && verdict->explanation_count == 0);
    const struct nb_level_scores below = {verdict->labels, verdict->documents, verdict->log_scores,
                                          verdict->probabilities, verdict->size};
    if (nb_levels_sum(levels, &below, level) != 0)
        return NB_NO_MEMORY;
    assert(levels->size <= verdict->size);
    memcpy(verdict->labels, levels->labels, levels->size * sizeof *verdict->labels);
    memcpy(verdict->documents, levels->documents, levels->size * sizeof *verdict->documents);
    verdict->log_scores = levels->log_scores;
    verdict->probabilities = levels->probabilities;
    verdict->size = levels->size;
    verdict->best = levels->best;
    verdict_fill_ready(verdict);
    tell_threshold(verdict);
    return 0;
}

static void fill_label(struct nb_verdict *verdict, size_t i)
{
    const struct nb_verdict_private *p = verdict->private_;
    uint32_t number = p->scores.labels[i];
    if (p->judge == NULL) {
        verdict->labels[i] = p->chain.blend.labels[number].name;
        verdict->documents[i] = p->chain.blend.labels[number].documents;
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
        return nb_pooled_score(&p->pooled, &p->chain, p->bag.features, p->bag.size, &p->stacked);
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

/* Whether a model has the feature: in a document of the label, or of any (NB_LABELS_NONE). */
static bool has_feature(const struct nb_model *counts, uint64_t id, uint32_t label)
{
    uint32_t row = nb_model_find(counts, id);
    if (row == NB_NO_ROW || nb_model_row_is_unused(counts, row))
        return false;
    return label == NB_LABELS_NONE ||
           nb_counts_of(counts, nb_model_row(counts, row), label).documents > 0;
}

/* Whether one of several models that decide together has the feature, in a document of the label
 * whose numbers in them are given (NULL: of any). */
static bool chain_has(const struct nb_parent_chain *chain, uint64_t id, const uint32_t numbers[])
{
    bool has = false;
    for (unsigned c = 0; c < chain->contributor_count && !has; c++)
        has = (numbers == NULL || numbers[c] != NB_BLEND_NO_LABEL) &&
              has_feature(chain->live[chain->contributors[c]]->counts, id,
                          numbers == NULL ? NB_LABELS_NONE : numbers[c]);
    return has;
}

/* Whether they have some feature of the bag. */
static bool any_has(const struct nb_verdict_private *p)
{
    bool has = false;
    for (size_t i = 0; i < p->bag.size && !has; i++)
        has = chain_has(&p->chain, p->bag.features[i].id, NULL);
    return has;
}

/* Counts the features of the bag, and those of the winner, for several models together. */
static void see_chain(struct nb_verdict_private *p, uint32_t winner)
{
    const uint32_t *numbers = p->chain.blend.labels[winner].numbers;
    p->seen = (struct nb_known_seen){{0}, {0}, {0}};
    for (size_t i = 0; i < p->bag.size; i++) {
        uint64_t id = p->bag.features[i].id;
        bool is_known = nb_feature_is_number(id) || chain_has(&p->chain, id, NULL);
        nb_known_add(&p->seen, id, is_known, is_known && chain_has(&p->chain, id, numbers));
    }
}

/* Sets whether there is evidence. */
static void see(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    bool stacked = nb_published_is_stacked(p->published);
    verdict->has_evidence = p->scores.known > 0;
    if (p->judge != NULL) {
        const uint32_t *fields = stacked && p->refined == NULL ? p->inputs.features : NULL;
        nb_known_see(p->bag.features, p->cells, p->bag.size, fields, &p->seen);
        verdict->has_evidence |= stacked && nb_known_count(&p->seen) > 0;
    } else if (stacked && !verdict->has_evidence) {
        verdict->has_evidence = any_has(p);
    }
    p->is_prior = stacked && !verdict->has_evidence;
}

/* The regression of the model that judges, or of the one in the chain that has learned most. */
static const struct nb_weights *regression(const struct nb_verdict_private *p)
{
    const struct nb_weights *most = NULL;
    if (p->judge != NULL)
        return nb_stack_weights_known(p->published->weights);
    for (unsigned c = 0; c < p->chain.contributor_count; c++) {
        struct nb_published *one = p->chain.published[p->chain.contributors[c]];
        const struct nb_weights *numbers = nb_stack_weights_known(one->weights);
        bool is_alike = nb_published_is_stacked(one) == nb_published_is_stacked(p->published);
        if (is_alike && (most == NULL || nb_known_taught(numbers) > nb_known_taught(most)))
            most = numbers;
    }
    return most;
}

/* Sets the probability that the document is of any of the labels. */
static void tell_known(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    bool has_scores = nb_known_uses_scores(&p->published->settings, verdict->size);
    const struct nb_weights *numbers = regression(p);
    const struct nb_scores *scores = verdict->stacked && !p->is_prior ? &p->stacked : &p->scores;
    uint32_t winner = p->scores.labels[scores->best];
    double x[NB_KNOWN_INPUTS];
    verdict->of_labels = (double)NAN;
    if (verdict->size < 2 || nb_known_taught(numbers) < NB_KNOWN_LEAST)
        return;
    if (p->judge == NULL)
        see_chain(p, winner);
    else if (has_scores)
        nb_known_see_foreign(p->judge->counts, p->bag.features, p->rows, p->bag.size, winner,
                             &p->seen);
    nb_known_put(&p->seen, has_scores ? scores : NULL, x);
    verdict->of_labels = nb_known_of(numbers, x);
}

/* Sets labels, documents, probabilities and winner from the scores. Under the locks, like
 * nb_verdict_explain. Returns 0 or NB_NO_MEMORY. */
static int verdict_fill(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    bool stacked = nb_published_is_stacked(p->published);
    see(verdict);
    const struct nb_scores *decisive = stacked && !p->is_prior ? &p->stacked : &p->scores;
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
    verdict->calibrated = stacked && nb_parent_chain_is_calibrated(&p->chain);
    verdict->total = p->scores.total;
    verdict->known = p->scores.known;
    verdict->truncated = p->bag.truncated;
    verdict->tells_calibrated = stacked;
    tell_known(verdict);
    return stacked ? 0 : calibrate(verdict);
}

static struct nb_found found_of(const struct nb_verdict_private *p)
{
    return (struct nb_found){.rows = p->rows, .cells = p->cells};
}

/* Returns by how much the passage that speaks most for spam raises the log-odds of spam, which are
 * `whole` by all of the text: 0 if it does not say enough. */
static double judge_passages(struct nb_verdict_private *p, const struct nb_published *published,
                             double whole, uint32_t place)
{
    const double sure = 20; /* log-odds above which no passage is asked */
    if (whole > sure ||
        !nb_stack_worst_passage(published->stack, published->weights, &p->inputs, place, &p->worst))
        return 0;
    struct nb_stack_margins margins =
        nb_stack_margins(published->weights, nb_stack_is_mail(&p->inputs));
    return nb_stack_passage_odds(whole, p->worst.log_odds, margins) - whole;
}

/* Lets that passage decide, in the verdict of one model or of several. */
static void raise_to_passage(struct nb_verdict_private *p, uint32_t place, double by)
{
    p->passage_place = place;
    p->raised = by;
    nb_stack_add_odds(&p->stacked, place, by);
}

/* Scores by the counts and weights of one model. */
static int score_by_one(struct nb_verdict_private *p, const struct nb_live *live,
                        const struct nb_published *published, struct nb_scores *scores)
{
    struct nb_found found = found_of(p);
    nb_stack_inputs_twin(&p->inputs, published->weights, false);
    int rc = nb_stack_inputs_found(published->stack, live->counts, p->bag.features, p->bag.size,
                                   &found, &p->inputs, NULL);
    return rc != 0 ? rc : nb_stack_score(published->weights, &p->inputs, scores);
}

static int score_stacked(struct nb_verdict_private *p)
{
    uint32_t place = nb_published_judged_place(p->published, p->judge->counts);
    p->inputs.wants_passages = place != UINT32_MAX;
    int rc = score_by_one(p, p->judge, p->published, &p->stacked);
    if (rc == 0 && p->inputs.wants_passages)
        raise_to_passage(p, place,
                         judge_passages(p, p->published, nb_stack_odds(&p->stacked, place), place));
    return rc;
}

/* Looks up and reads the rows once, for the scores and for the explanation. */
static int find_rows(struct nb_verdict_private *p, const struct nb_live *live)
{
    size_t size = p->bag.size;
    if (nb_array_reserve(&p->rows, &p->row_room, size, sizeof *p->rows) != 0 ||
        nb_array_reserve(&p->cells, &p->cell_room, size, sizeof *p->cells) != 0)
        return NB_NO_MEMORY;
    nb_model_find_cells(live->counts, p->bag.features, size, p->rows, p->cells);
    return 0;
}

/* Scores with expected counts of documents without a label; verdict_fill pools them with the
 * model's own scores.
 */
static int score_beside(struct nb_verdict_private *p)
{
    int rc = nb_parent_chain_blend(&p->chain);
    if (rc == 0)
        rc = nb_blend_score(&p->chain.blend, p->bag.features, p->bag.size, NULL, &p->stacked);
    return rc;
}

/* One model of the chain has all documents: usually the model itself. */
static int score_alone(struct nb_verdict_private *p, struct nb_error *error)
{
    int rc = find_rows(p, p->judge);
    struct nb_found found = found_of(p);
    if (rc == 0)
        rc = nb_score_found(nb_verdict_scorer(p), p->judge->counts, p->bag.features, p->bag.size,
                            &found, &p->scores, error);
    if (rc != 0 || !nb_published_is_stacked(p->published))
        return rc;
    return p->refined != NULL ? score_beside(p) : score_stacked(p);
}

/* The place of the label spam in the scores of several models together; UINT32_MAX: none. */
static uint32_t place_together(const struct nb_verdict_private *p)
{
    for (uint32_t place = 0; place < p->stacked.size; place++)
        if (strcmp(p->chain.blend.labels[p->stacked.labels[place]].name, "spam") == 0)
            return place;
    return UINT32_MAX;
}

/* Several models decide: the passages are judged by the ancestor that has no parent, alone, because
 * its margins are those of its own verdicts. The passage raises the verdict of all as much as that
 * of the ancestor, and at most to it: what other models have learned of the whole text still holds.
 */
static int judge_by_ancestor(struct nb_verdict_private *p)
{
    unsigned last = p->chain.contributors[p->chain.contributor_count - 1];
    const struct nb_live *live = p->chain.live[last];
    const struct nb_published *published = p->chain.published[last];
    uint32_t own = nb_published_judged_place(published, live->counts), place = place_together(p);
    if (place == UINT32_MAX || own == UINT32_MAX || !p->published->settings.passages)
        return 0;
    p->inputs.wants_passages = true;
    int rc = find_rows(p, live);
    if (rc == 0)
        rc = score_by_one(p, live, published, &p->passage_scores);
    if (rc != 0)
        return rc;
    double whole = nb_stack_odds(&p->passage_scores, own);
    double by = judge_passages(p, published, whole, own);
    double most = whole + by - nb_stack_odds(&p->stacked, place);
    raise_to_passage(p, place, fmax(0, fmin(by, most)));
    return 0;
}

static int score_together(struct nb_verdict_private *p)
{
    bool is_stacked = nb_published_is_stacked(p->published);
    int rc = nb_parent_chain_blend(&p->chain);
    if (rc == 0)
        rc = nb_blend_score(&p->chain.blend, p->bag.features, p->bag.size, &p->scores,
                            is_stacked ? &p->stacked : NULL);
    return rc == 0 && is_stacked && p->refined == NULL ? judge_by_ancestor(p) : rc;
}

static void choose_judge(struct nb_verdict_private *p)
{
    const struct nb_parent_chain *chain = &p->chain;
    unsigned first = chain->contributor_count > 0 ? chain->contributors[0] : 0;
    p->judge = chain->contributor_count > 1 ? NULL : chain->live[first];
    p->refined = nb_parent_chain_refined(chain);
    p->published = chain->published[first];
    bool has_fields = p->published->settings.attribute_count > 0;
    if (p->refined != NULL && has_fields && !nb_published_is_stacked(p->published))
        p->judge = NULL; /* the scorer has only the values of fields in its counts */
}

/* The chain's read locks are held over all reads of the counts. */
int nb_verdict_score(struct nb_verdict *verdict, size_t most, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_settings *settings = &p->chain.published[0]->settings;
    p->inputs.is_brief = most == 0;
    p->raised = 0;
    verdict->passage.label = NULL;
    p->worst.count = 0;
    bool are_several = nb_published_is_several(p->chain.published[0]);
    int rc;
    verdict->is_given = NULL;
    nb_parent_chain_lock(&p->chain);
    if (are_several) {
        rc = nb_verdict_score_several(verdict, most, error);
    } else {
        choose_judge(p);
        rc = p->judge != NULL ? score_alone(p, error) : score_together(p);
        if (rc == 0)
            rc = verdict_fill(verdict);
    }
    if (rc == 0 && !are_several && verdict->stacked &&
        verdict->size == 1) /* it leaves room for another one */
        (void)nb_unseen_label(verdict->labels[0], verdict->documents[0], verdict->probabilities);
    verdict->ready_documents = settings->ready_documents;
    if (rc == 0)
        verdict_fill_ready(verdict);
    if (rc == 0 && !are_several)
        tell_threshold(verdict);
    verdict->unsure_band = settings->unsure_band;
    verdict->min_known = settings->min_known;
    verdict->keeps_history = settings->history > 0;
    verdict->keeps_subject = settings->history_subject;
    if (rc == 0 && most > 0 && !are_several)
        rc = nb_verdict_explain(verdict, most);
    nb_parent_chain_unlock(&p->chain);
    return rc;
}

enum nb_decided nb_decide(double probability, double threshold, double band)
{
    if (fabs(probability - threshold) < band)
        return NB_DECIDED_UNSURE;
    return probability >= threshold ? NB_DECIDED_POSITIVE : NB_DECIDED_OTHER;
}

double nb_decide_threshold(double false_positive, double false_negative)
{
    /* Divide first, because the sum of two large costs may overflow. */
    double most = fmax(false_positive, false_negative);
    false_positive /= most;
    false_negative /= most;
    return false_positive / (false_positive + false_negative);
}

size_t nb_decide_other(const double *probabilities, size_t size, size_t positive)
{
    size_t best = size;
    for (size_t i = 0; i < size; i++)
        if (i != positive && (best == size || probabilities[i] > probabilities[best]))
            best = i;
    return best;
}

void nb_verdict_init(struct nb_verdict *verdict)
{
    *verdict = (struct nb_verdict){0};
}

void nb_verdict_deinit(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL) {
        nb_parent_chain_deinit(&p->chain);
        if (p->live != NULL)
            nb_registry_release(p->engine, &p->live);
        nb_bag_deinit(&p->bag);
        nb_scores_deinit(&p->scores);
        nb_stack_inputs_deinit(&p->inputs);
        nb_scores_deinit(&p->stacked);
        nb_scores_deinit(&p->whole);
        nb_scores_deinit(&p->passage_scores);
        free(p->rows);
        free(p->cells);
        free(p->own.features);
        free(p->own.rows);
        free(p->own.places);
        free(p->own.cells);
        nb_multilabel_scores_deinit(&p->several.scores);
        free(p->several.rows);
        free(p->several.places);
        free(p->several.numbers);
        free(p->several.probabilities);
        free(p->several.log_odds);
        free(p->several.evidence);
        free(p->several.is_given);
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
        nb_parent_chain_end(&p->chain);
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

/* ---- one label against the only other one with enough documents ------------------------------ */

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
    const struct nb_parent_chain *f = &p->chain;
    unsigned first = f->contributor_count > 0 ? f->contributors[0] : 0;
    const struct nb_model *counts = f->live[first]->counts;
    const struct nb_published *published = f->published[first];
    uint32_t label = nb_model_find_label(counts, nb_string_of(labels[0]));
    uint32_t other = nb_model_find_label(counts, nb_string_of(labels[1]));
    if (!nb_published_is_stacked(published) || label == UINT32_MAX || other == UINT32_MAX)
        return NB_CONFLICT;
    return nb_stack_against(published->stack, counts, published->weights, p->bag.features,
                            p->bag.size, label, other, log_odds);
}

/* Index of a label in the blend; blend->size: none. */
static uint32_t place_of(const struct nb_blend *blend, const char *label)
{
    uint32_t v = 0;
    while (v < blend->size && strcmp(blend->labels[v].name, label) != 0)
        v++;
    return v;
}

/* Computes the log-odds by all contributors. `refined`: adds the expected counts of documents
 * without a label; NULL: none. */
static int judge_together(struct nb_verdict_private *p, const struct nb_refined *refined,
                          const char *const labels[2], double *log_odds)
{
    struct nb_blend *blend = &p->chain.blend;
    struct nb_besides besides = {.count = 0};
    if (refined != NULL)
        besides = (struct nb_besides){.list = {{refined->expected, refined->weight}}, .count = 1};
    int rc = nb_parent_chain_blend_beside(&p->chain, NULL, &besides, blend);
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
    double one = (double)documents_of(verdict, labels[0]);
    double other = (double)documents_of(verdict, labels[1]);
    double log_odds = 0, with = 0;
    nb_parent_chain_lock(&p->chain);
    const struct nb_refined *refined = nb_parent_chain_refined(&p->chain);
    int rc = p->chain.contributor_count > 1 ? judge_together(p, NULL, labels, &log_odds)
                                            : judge_alone(p, labels, &log_odds);
    if (rc == 0 && refined != NULL)
        rc = judge_together(p, refined, labels, &with);
    nb_parent_chain_unlock(&p->chain);
    if (rc != 0)
        return rc;
    log_odds *= nb_scores_moderation(log_odds, log(one / other), 1 / one + 1 / other);
    if (refined != NULL)
        log_odds = nb_pooled_odds(refined, log_odds, with);
    *probability = 1 / (1 + exp(-log_odds));
    return 0;
}
