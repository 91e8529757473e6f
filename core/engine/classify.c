/* SPDX-License-Identifier: Apache-2.0
 *
 * Classifying: the caller's thread tokenizes the document and makes one pass over the counts, under
 * the model's read lock.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/engine/batch.h"
#include "core/evaluate/drift.h"
#include "core/family/family.h"
#include "core/live/learner.h"
#include "core/live/names.h"
#include "core/live/registry.h"
#include "core/remember/note.h"
#include "core/score/levels.h"

struct nb_verdict_private {
    struct nb_engine *engine;
    struct nb_live *live; /* that was asked; it and its family hold the labels' names */
    struct nb_family family;
    /* Who decides: the model, or without documents its parent. NULL: both do, as family.blend. */
    struct nb_live *judge;
    struct nb_published *published; /* borrowed from the family: whose formulas decide */
    struct nb_bag bag;
    /* How the bag was made. */
    bool has_bag;
    struct nb_tokenizer_settings seen_by;
    unsigned char key[NB_KEY_BYTES];
    struct nb_scores scores; /* by the book */
    struct nb_stack_inputs inputs;
    struct nb_scores stacked;
    double *calibrated; /* owned; probabilities by the map of a model by the book */
    size_t calibrated_room;
    double moderation; /* by which these, and the evidence for them, were multiplied */
    struct nb_evidence *evidence;
    struct nb_levels levels;
    struct nb_features_coder *coder; /* owned; NULL until something is kept */
    size_t label_room, document_room, evidence_room, explanation_room;
};

void nb_verdict_init(struct nb_verdict *verdict)
{
    *verdict = (struct nb_verdict){0};
}

void nb_verdict_deinit(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    if (p != NULL) {
        nb_family_deinit(&p->family);
        if (p->live != NULL)
            nb_registry_release(p->engine, &p->live);
        nb_bag_deinit(&p->bag);
        nb_scores_deinit(&p->scores);
        nb_stack_inputs_deinit(&p->inputs);
        nb_scores_deinit(&p->stacked);
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
        nb_family_end(&p->family);
    if (p != NULL && p->live != NULL)
        nb_registry_release(p->engine, &p->live);
    verdict->size = verdict->explanation_count = 0;
}

static int prepare(struct nb_verdict *verdict, struct nb_engine *engine)
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

static int find_evidence(struct nb_verdict_private *p, size_t *count)
{
    const struct nb_published *published = p->published;
    bool stacked = nb_published_is_stacked(published);
    int rc = 0;
    if (p->judge == NULL)
        nb_blend_explain(&p->family.blend, p->bag.features, p->bag.size,
                         stacked ? &p->stacked : &p->scores, stacked, p->evidence, count);
    else if (stacked)
        rc = nb_stack_explain(published->stack, p->judge->counts, published->weights,
                              p->bag.features, p->bag.size, &p->inputs, &p->stacked, p->evidence,
                              count);
    else
        rc = nb_explain(published->scorer, p->judge->counts, p->bag.features, p->bag.size,
                        &p->scores, p->evidence, count);
    for (size_t i = 0; rc == 0 && stacked && i < *count; i++)
        p->evidence[i].evidence *= p->moderation;
    return rc;
}

/* Who the evidence comes from, in a model that has a parent. */
static void name_sources(struct nb_verdict *verdict)
{
    const struct nb_family *family = &verdict->private_->family;
    verdict->source_count = family->count > 1 ? family->speaker_count : 0;
    for (size_t i = 0; i < verdict->source_count; i++)
        verdict->sources[i] = family->live[family->speakers[i]]->name;
}

static void put_shares(struct nb_verdict *verdict, const struct nb_evidence *e,
                       struct nb_explained *x)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_feature *feature = e->feature == SIZE_MAX ? NULL : &p->bag.features[e->feature];
    if (p->judge == NULL)
        nb_blend_shares(&p->family.blend, feature, x->shares);
    else
        x->shares[0] = 1;
}

/* Numbers have no occurrences. */
static void put_counts(struct nb_verdict *verdict, const struct nb_evidence *e,
                       struct nb_explained *x)
{
    const struct nb_verdict_private *p = verdict->private_;
    if (p->judge == NULL || e->feature == SIZE_MAX)
        return;
    const struct nb_model *counts = p->judge->counts;
    uint32_t row = nb_model_find(counts, p->bag.features[e->feature].id);
    x->has_counts = row != NB_NO_ROW;
    if (row == NB_NO_ROW)
        return;
    x->counts[0] = nb_model_count(counts, row, p->scores.labels[verdict->best]);
    x->counts[1] = nb_model_count(counts, row, p->scores.labels[verdict->second]);
}

static void sum_fields(struct nb_verdict *verdict, size_t count)
{
    const struct nb_verdict_private *p = verdict->private_;
    memset(verdict->field_evidence, 0, sizeof verdict->field_evidence);
    for (size_t i = 0; i < count; i++) {
        const struct nb_evidence *e = &p->evidence[i];
        if (e->feature == SIZE_MAX)
            continue;
        unsigned field = nb_feature_field(p->bag.features[e->feature].id);
        if (field < NB_FIELDS)
            verdict->field_evidence[field] += e->evidence;
    }
}

static int explain(struct nb_verdict *verdict, size_t most)
{
    struct nb_verdict_private *p = verdict->private_;
    size_t count = 0;
    int rc =
        nb_array_reserve(&p->evidence, &p->evidence_room, p->bag.size + 1, sizeof *p->evidence);
    if (rc == 0)
        rc = find_evidence(p, &count);
    assert(rc != 0 || count > 0);
    if (rc == 0)
        nb_evidence_sort(p->evidence, count - 1, most);
    size_t wanted = count < most + 1 ? count : most + 1;
    if (rc == 0)
        rc = nb_array_reserve(&verdict->explanation, &p->explanation_room, wanted,
                              sizeof *verdict->explanation);
    if (rc != 0)
        return rc;
    verdict->second = verdict->stacked ? p->stacked.second : p->scores.second;
    for (size_t i = 0; i < wanted; i++) {
        /* The prior's row is the last of all and stays the last of the chosen. */
        const struct nb_evidence *e = &p->evidence[i + 1 == wanted ? count - 1 : i];
        struct nb_explained *x = &verdict->explanation[i];
        *x = (struct nb_explained){.evidence = e->evidence};
        if (e->feature != SIZE_MAX) {
            x->token = p->bag.texts[e->feature];
            if (e->given != 0)
                x->given = p->bag.texts[e->given - 1];
            x->field = nb_feature_field(p->bag.features[e->feature].id);
            x->count = p->bag.features[e->feature].count;
        }
        put_shares(verdict, e, x);
        put_counts(verdict, e, x);
    }
    name_sources(verdict);
    verdict->explanation_count = wanted;
    sum_fields(verdict, count);
    return 0;
}

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

/* The labels' documents are there. */
static void moderate(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    for (size_t i = 0; i < p->stacked.size; i++)
        p->stacked.documents[i] = verdict->documents[i];
    p->moderation = nb_scores_moderate(&p->stacked);
    const struct nb_refined *refined = nb_family_refined(&p->family);
    if (refined != NULL)
        p->moderation *= nb_scores_cool(&p->stacked, refined->temperature);
}

/* The probabilities, winner and runner-up of a model by the book whose map is of the labels that
 * there are. An explanation is then of these two. */
static int calibrate(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_calibration *map = p->published->settings.fitted;
    struct nb_scores *scores = &p->scores;
    verdict->tells_calibrated = p->published->settings.calibration != NB_CALIBRATION_NONE;
    if (map == NULL || p->judge == NULL ||
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

static int fill_verdict(struct nb_verdict *verdict)
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
        moderate(verdict);
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

static void leave_room_for_another(struct nb_verdict *verdict)
{
    assert(verdict->size == 1);
    verdict->unseen_label =
        nb_unseen_label(verdict->labels[0], verdict->documents[0], verdict->probabilities);
    verdict->unseen_probability = 1 - verdict->probabilities[0];
}

static void need(struct nb_verdict *verdict, const char *label, uint64_t documents)
{
    if (documents >= verdict->ready_documents)
        return;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing, "label '%s' has %llu of %llu documents",
             label, (unsigned long long)documents, (unsigned long long)verdict->ready_documents);
}

/* Whether one label has all documents where there should be two. */
static bool is_alone(struct nb_verdict *verdict)
{
    if (verdict->size >= 2 || verdict->ready_documents == 0)
        return false;
    verdict->ready = false;
    snprintf(verdict->missing, sizeof verdict->missing,
             "only the label '%s' has documents, there must be two labels", verdict->labels[0]);
    return true;
}

/* Whether there is enough training, and if not what is missing: of several labels the first. */
static void fill_ready(struct nb_verdict *verdict)
{
    assert(verdict->size > 0);
    verdict->ready = true;
    if (is_alone(verdict))
        return;
    for (size_t i = verdict->size; i > 0; i--)
        need(verdict, verdict->labels[i - 1], verdict->documents[i - 1]);
}

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

/* Whether a model has both labels, and of others only such as are not ready. */
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

/* Settings and names of labels may be others than when the verdict was made, and so may be who has
 * documents. Under the locks. */
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

/* The place of a label in the family's view. */
static uint32_t place_of(const struct nb_blend *blend, const char *label)
{
    uint32_t v = 0;
    while (v < blend->size && strcmp(blend->labels[v].name, label) != 0)
        v++;
    return v;
}

static int judge_together(struct nb_verdict_private *p, const char *const labels[2],
                          double *log_odds)
{
    struct nb_blend *blend = &p->family.blend;
    int rc = nb_family_blend(&p->family);
    uint32_t label = rc == 0 ? place_of(blend, labels[0]) : 0;
    uint32_t other = rc == 0 ? place_of(blend, labels[1]) : 0;
    if (rc == 0 && (!blend->is_stacked || label == blend->size || other == blend->size))
        rc = NB_CONFLICT;
    if (rc == 0)
        nb_blend_against(blend, p->bag.features, p->bag.size, label, other, log_odds);
    return rc;
}

int nb_verdict_against(struct nb_verdict *verdict, const char *const labels[2], double *probability)
{
    struct nb_verdict_private *p = verdict->private_;
    bool is_of_level = verdict->probabilities == p->levels.probabilities;
    if (!verdict->stacked || is_of_level || verdict->size < 3 || !has_two(verdict, labels))
        return NB_CONFLICT;
    double log_odds = 0;
    nb_family_lock(&p->family);
    int rc = nb_family_is_blended(&p->family) ? judge_together(p, labels, &log_odds)
                                              : judge_alone(p, labels, &log_odds);
    const struct nb_refined *refined = nb_family_refined(&p->family);
    if (refined != NULL)
        log_odds *= refined->temperature;
    nb_family_unlock(&p->family);
    if (rc != 0)
        return rc;
    double one = (double)documents_of(verdict, labels[0]);
    double other = (double)documents_of(verdict, labels[1]);
    double factor = nb_scores_moderation(log_odds, log(one / other), 1 / one + 1 / other);
    *probability = 1 / (1 + exp(-log_odds * factor));
    return 0;
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
    fill_ready(verdict);
    return 0;
}

static int score_stacked(struct nb_verdict_private *p)
{
    nb_stack_inputs_twin(&p->inputs, p->published->weights, false);
    int rc = nb_stack_inputs(p->published->stack, p->judge->counts, p->bag.features, p->bag.size,
                             &p->inputs, NULL);
    return rc != 0 ? rc : nb_stack_score(p->published->weights, &p->inputs, &p->stacked);
}

/* One member of the family has all documents: mostly, the model. */
static int score_alone(struct nb_verdict_private *p, struct nb_error *error)
{
    int rc = nb_score(p->published->scorer, p->judge->counts, p->bag.features, p->bag.size,
                      &p->scores, error);
    return rc == 0 && nb_published_is_stacked(p->published) ? score_stacked(p) : rc;
}

static int score_together(struct nb_verdict_private *p)
{
    int rc = nb_family_blend(&p->family);
    if (rc == 0)
        rc = nb_blend_score(&p->family.blend, p->bag.features, p->bag.size, &p->scores,
                            nb_published_is_stacked(p->published) ? &p->stacked : NULL);
    return rc;
}

static void choose_judge(struct nb_verdict_private *p)
{
    const struct nb_family *family = &p->family;
    unsigned first = family->speaker_count > 0 ? family->speakers[0] : 0;
    p->judge = nb_family_is_blended(family) ? NULL : family->live[first];
    p->published = family->published[first];
}

/* The one pass over the counts, under the read locks of the family. */
static int score(struct nb_verdict *verdict, size_t most, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_settings *settings = &p->family.published[0]->settings;
    nb_family_lock(&p->family);
    choose_judge(p);
    int rc = p->judge != NULL ? score_alone(p, error) : score_together(p);
    if (rc == 0)
        rc = fill_verdict(verdict);
    verdict->unseen_label = NULL;
    if (rc == 0 && verdict->stacked && verdict->size == 1)
        leave_room_for_another(verdict);
    verdict->ready_documents = settings->ready_documents;
    if (rc == 0)
        fill_ready(verdict);
    verdict->unsure_band = settings->unsure_band;
    verdict->keeps_history = settings->history > 0;
    verdict->keeps_subject = settings->history_subject;
    if (rc == 0 && most > 0)
        rc = explain(verdict, most);
    nb_family_unlock(&p->family);
    return rc;
}

static int tokenize(struct nb_engine *engine, const struct nb_live *live,
                    const struct nb_published *published, const struct nb_document *document,
                    struct nb_bag *bag, struct nb_error *error)
{
    struct nb_tokenizer_settings settings = nb_published_tokenizer(published);
    int rc = nb_values_check(document->values, settings.attributes, error);
    if (rc != 0)
        return rc;
    rc = nb_document_tokenize(document, live->key, &settings, &engine->settings.tokenizer, bag);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Whether the model sees what is in the bag already. Models share the key of the store, except
 * those that were imported from another one; attributes are each model's own. */
static bool sees_the_same(const struct nb_verdict_private *p, const struct nb_document *document,
                          const struct nb_published *published)
{
    struct nb_tokenizer_settings settings = nb_published_tokenizer(published);
    return p->has_bag && document->values.count == 0 && p->seen_by.mail_server == NULL &&
           settings.mail_server == NULL && p->seen_by.fields == settings.fields &&
           p->seen_by.max_count == settings.max_count &&
           memcmp(p->key, p->live->key->bytes, sizeof p->key) == 0;
}

static int fill_bag(struct nb_verdict_private *p, const struct nb_published *published,
                    const struct nb_document *document, struct nb_error *error)
{
    p->has_bag = false;
    int rc = tokenize(p->engine, p->live, published, document, &p->bag, error);
    if (rc != 0)
        return rc;
    p->has_bag = true;
    p->seen_by = nb_published_tokenizer(published);
    memcpy(p->key, p->live->key->bytes, sizeof p->key);
    return 0;
}

/* Two threads may make one at once: one of them is kept. */
static struct nb_drift *drift_of(struct nb_live *live)
{
    struct nb_drift *drift = atomic_load(&live->drift), *none = NULL;
    if (drift != NULL)
        return drift;
    drift = nb_drift_new();
    if (drift != NULL && !atomic_compare_exchange_strong(&live->drift, &none, drift)) {
        nb_drift_free(&drift);
        drift = none;
    }
    return drift;
}

/* Of two labels the probability of the last one by name, of more that of the winner. */
static void note_drift(struct nb_live *live, const struct nb_verdict *verdict)
{
    size_t place = verdict->size == 2 ? 1 : verdict->best;
    if (!verdict->ready || verdict->size < 2)
        return; /* few documents give other scores than many */
    struct nb_drift *drift = drift_of(live);
    if (drift != NULL)
        nb_drift_add(drift, (uint32_t)verdict->size, verdict->probabilities[place]);
}

static int classify(struct nb_engine *engine, struct nb_string model,
                    const struct nb_document *document, size_t most, bool is_again,
                    struct nb_verdict *verdict, struct nb_error *error)
{
    if (prepare(verdict, engine) != 0)
        return nb_error_no_memory(error);
    struct nb_verdict_private *p = verdict->private_;
    p->has_bag = p->has_bag && is_again;
    int rc = nb_registry_acquire(engine, model, false, &p->live, error);
    if (rc != 0)
        return rc;
    rc = nb_family_begin(&p->family, engine, p->live, error);
    if (rc == 0 && !sees_the_same(p, document, p->family.published[0]))
        rc = fill_bag(p, p->family.published[0], document, error);
    if (rc == 0)
        rc = score(verdict, most, error);
    if (rc == 0)
        note_drift(p->live, verdict);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_engine_classify(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, size_t most, struct nb_verdict *verdict,
                       struct nb_error *error)
{
    return classify(engine, model, document, most, false, verdict, error);
}

int nb_engine_classify_again(struct nb_engine *engine, struct nb_string model,
                             const struct nb_document *document, size_t most,
                             struct nb_verdict *verdict, struct nb_error *error)
{
    return classify(engine, model, document, most, true, verdict, error);
}

static int copy_bag(const struct nb_bag *from, struct nb_bag *to)
{
    nb_bag_reset(to);
    for (size_t i = 0; i < from->size; i++) {
        if (nb_bag_add_id(to, from->features[i].id, from->texts[i].bytes, from->texts[i].length) !=
            0)
            return NB_NO_MEMORY;
        to->features[to->size - 1].count = from->features[i].count;
    }
    to->positions = from->positions;
    to->truncated = from->truncated;
    return 0;
}

int nb_engine_classify_bag(struct nb_engine *engine, struct nb_string model,
                           const struct nb_bag *bag, size_t most, struct nb_verdict *verdict,
                           struct nb_error *error)
{
    if (prepare(verdict, engine) != 0)
        return nb_error_no_memory(error);
    struct nb_verdict_private *p = verdict->private_;
    p->has_bag = false;
    int rc = nb_registry_acquire(engine, model, false, &p->live, error);
    if (rc == 0)
        rc = nb_family_begin(&p->family, engine, p->live, error);
    if (rc == 0)
        rc = copy_bag(bag, &p->bag);
    if (rc == 0)
        rc = score(verdict, most, error);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

/* ---- the history ----------------------------------------------------------------------------- */

static int have_coder(struct nb_verdict_private *p)
{
    if (p->coder == NULL)
        p->coder = nb_features_coder_new();
    return p->coder == NULL ? NB_NO_MEMORY : 0;
}

static int append_id(const struct nb_live *live, const struct nb_document *document,
                     struct nb_string given, struct nb_buffer *id, struct nb_error *error)
{
    char made[NB_CONTENT_ID_LENGTH + 1];
    int rc = given.length > 0 ? nb_check_id(given, error) : 0;
    if (rc != 0)
        return rc;
    if (given.length == 0) {
        rc = nb_batch_make_id(live->id_key, document, made);
        given = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    if (rc == 0)
        rc = nb_buffer_append(id, given.bytes, given.length);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* The writer sleeps for a second when it has nothing to do: too long where much is noted. */
static void wake_writer(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue_lock);
    engine->remember = true;
    pthread_cond_signal(&engine->queue_filled);
    pthread_mutex_unlock(&engine->queue_lock);
}

int nb_engine_remember(struct nb_engine *engine, const struct nb_verdict *verdict,
                       const struct nb_document *document, const struct nb_remembered *about,
                       struct nb_buffer *id, bool *kept, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    size_t before = id->length;
    assert(verdict->size > 0);
    if (!verdict->keeps_history || p->live->number == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "the model '%s' keeps no history: its setting \"history\" says how "
                            "many verdicts it keeps",
                            p->live->name);
    int rc = nb_check_source(about->source, error);
    if (rc == 0)
        rc = append_id(p->live, document, about->id, id, error);
    if (rc != 0)
        return rc;
    struct nb_remember_note note = {.id = {id->bytes + before, id->length - before},
                                    .message_id = about->message_id,
                                    .subject = about->subject,
                                    .source = about->source,
                                    .verdict = nb_string_of(verdict->labels[verdict->best]),
                                    .probability = verdict->probabilities[verdict->best],
                                    .fields = p->seen_by.fields};
    *kept = have_coder(p) == 0 && nb_remember_note(engine, p->live, &note, &p->bag, p->coder) == 0;
    if (nb_remember_is_urgent(engine))
        wake_writer(engine);
    return 0;
}

int nb_engine_tokenize(struct nb_engine *engine, struct nb_string model,
                       const struct nb_document *document, struct nb_bag *bag,
                       struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    rc = tokenize(engine, live, published, document, bag, error);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc;
}
