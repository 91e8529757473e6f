/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/verdict_several.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/explain.h"
#include "core/counts/counts.h"

/* The model's fit; NULL: it has none. */
static const struct nb_multilabel_fit *fit_of(const struct nb_verdict_private *p)
{
    return p->chain.refined == NULL ? NULL : p->chain.refined->several;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* Looks up the rows of the bag: p->several.rows get those that the model has, p->several.places
 * their places in the bag. */
static int find_rows(struct nb_verdict_private *p, const struct nb_model *counts,
                     struct nb_multilabel_document *document)
{
    size_t size = p->bag.size;
    if (nb_array_reserve(&p->rows, &p->row_room, size, sizeof *p->rows) != 0 ||
        nb_array_reserve(&p->several.rows, &p->several.row_room, size, sizeof *p->several.rows) !=
            0 ||
        nb_array_reserve(&p->several.places, &p->several.place_room, size,
                         sizeof *p->several.places) != 0)
        return NB_NO_MEMORY;
    nb_model_find_all(counts, p->bag.features, size, p->rows);
    *document =
        (struct nb_multilabel_document){.rows = p->several.rows, .without = NB_MULTILABEL_NONE};
    for (size_t i = 0; i < size; i++) {
        const struct nb_feature *feature = &p->bag.features[i];
        enum nb_field field = nb_feature_field(feature->id);
        if (field >= NB_FIELDS)
            continue;
        if (p->rows[i] == NB_NO_ROW || nb_model_row_is_unused(counts, p->rows[i])) {
            double tf = feature->count <= 1 ? 1 : 1 + log((double)feature->count);
            document->unknown += nb_multilabel_is_word(field) ? tf * tf : 0;
            continue;
        }
        p->several.rows[document->size] = (struct nb_row_count){p->rows[i], feature->count};
        p->several.places[document->size++] = (uint32_t)i;
    }
    return 0;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static int make_room(struct nb_verdict *verdict, size_t labels)
{
    struct nb_verdict_private *p = verdict->private_;
    bool good = nb_array_reserve(&verdict->labels, &p->label_room, labels + 1,
                                 sizeof *verdict->labels) == 0 &&
                nb_array_reserve(&verdict->documents, &p->document_room, labels + 1,
                                 sizeof *verdict->documents) == 0 &&
                nb_array_reserve(&p->several.probabilities, &p->several.probability_room,
                                 labels + 1, sizeof *p->several.probabilities) == 0 &&
                nb_array_reserve(&p->several.log_odds, &p->several.log_odds_room, labels + 1,
                                 sizeof *p->several.log_odds) == 0 &&
                nb_array_reserve(&p->several.is_given, &p->several.given_room, labels + 1,
                                 sizeof *p->several.is_given) == 0;
    verdict->probabilities = p->several.probabilities;
    verdict->log_scores = p->several.log_odds;
    verdict->is_given = p->several.is_given;
    return good ? 0 : NB_NO_MEMORY;
}

/* The threshold that the settings give a label, else that of the fit; a probability. */
static double threshold_of(const struct nb_settings *settings, const char *label, double log_odds)
{
    const struct nb_label_threshold *set = nb_settings_threshold(settings, label);
    return set != NULL ? set->number : 1 / (1 + exp(-log_odds));
}

/* Notes a label that is nearer to its threshold than those before. */
static void note_nearest(struct nb_verdict *verdict, size_t at, double threshold)
{
    double probability = verdict->probabilities[at];
    double margin = probability < threshold ? (threshold - probability) / threshold
                    : threshold < 1         ? (probability - threshold) / (1 - threshold)
                                            : 0;
    if (at == 0 || margin < verdict->margin) {
        verdict->margin = margin;
        verdict->nearest = at;
    }
}

/* Lists the labels that have documents, with their numbers in `scores` in p->several.numbers. */
static int fill(struct nb_verdict *verdict, const struct nb_multilabel_labels *labels)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_settings *settings = &p->published->settings;
    const struct nb_multilabel_scores *scores = &p->several.scores;
    if (nb_array_reserve(&p->several.numbers, &p->several.number_room, labels->count + 1,
                         sizeof *p->several.numbers) != 0)
        return NB_NO_MEMORY;
    verdict->size = verdict->best = verdict->nearest = 0;
    verdict->margin = 1;
    for (uint32_t l = 0; l < labels->count; l++) {
        size_t at = verdict->size;
        double probability = 1 / (1 + exp(-scores->log_odds[l]));
        if (labels->documents[l] == 0)
            continue;
        verdict->labels[at] = labels->names[l];
        verdict->documents[at] = labels->documents[l];
        verdict->log_scores[at] = scores->log_odds[l];
        verdict->probabilities[at] = probability;
        double threshold = threshold_of(settings, labels->names[l], scores->threshold[l]);
        verdict->is_given[at] = probability >= threshold;
        note_nearest(verdict, at, threshold);
        p->several.numbers[at] = l;
        if (scores->log_odds[l] > verdict->log_scores[verdict->best])
            verdict->best = at;
        verdict->size++;
    }
    return 0;
}

static void fill_rest(struct nb_verdict *verdict)
{
    struct nb_verdict_private *p = verdict->private_;
    verdict->stacked = p->published->settings.decision == NB_DECISION_STACKED;
    verdict->tells_calibrated = verdict->stacked;
    verdict->calibrated = verdict->stacked && fit_of(p) != NULL;
    verdict->total = p->bag.positions;
    verdict->known = 0;
    for (size_t i = 0; i < p->bag.size; i++)
        if (nb_feature_is_token(p->bag.features[i].id) && p->rows[i] != NB_NO_ROW &&
            !nb_model_row_is_unused(p->chain.live[0]->counts, p->rows[i]))
            verdict->known += p->bag.features[i].count;
    verdict->truncated = p->bag.truncated;
    verdict->has_evidence = verdict->known > 0;
    verdict->of_labels = (double)NAN;
    verdict->threshold = -1;
}

/* ---- the explanation ------------------------------------------------------------------------- */

static int explained_label(struct nb_verdict *verdict, size_t *place, struct nb_error *error)
{
    *place = verdict->best;
    if (verdict->explain_label == NULL)
        return 0;
    for (size_t i = 0; i < verdict->size; i++)
        if (strcmp(verdict->labels[i], verdict->explain_label) == 0) {
            *place = i;
            return 0;
        }
    return nb_error_about(error,
                          nb_error_set(error, NB_NOT_FOUND,
                                       "explain_label: no document has the label '%.64s'",
                                       verdict->explain_label),
                          "label_not_found", "explain_label");
}

static void put_row(struct nb_verdict *verdict, size_t at, const struct nb_evidence *row)
{
    const struct nb_verdict_private *p = verdict->private_;
    struct nb_explained *x = &verdict->explanation[at];
    *x = (struct nb_explained){.evidence = row->evidence, .shares = {1}};
    if (row->feature == NB_NO_FEATURE)
        return;
    x->token = p->bag.texts[row->feature];
    x->count = p->bag.features[row->feature].count;
    x->field = nb_feature_field(p->bag.features[row->feature].id);
}

static int explain(struct nb_verdict *verdict, const struct nb_multilabel_document *document,
                   size_t most, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    size_t place, room = document->size + 1, wanted = room < most + 1 ? room : most + 1;
    int rc = explained_label(verdict, &place, error);
    if (rc == 0)
        rc = nb_array_reserve(&p->several.evidence, &p->several.evidence_room, room,
                              sizeof *p->several.evidence);
    if (rc == 0)
        rc = nb_array_reserve(&p->evidence, &p->evidence_room, 2 * room, sizeof *p->evidence);
    if (rc == 0)
        rc = nb_array_reserve(&verdict->explanation, &p->explanation_room, wanted,
                              sizeof *verdict->explanation);
    if (rc != 0)
        return rc;
    double rest = nb_multilabel_explain(p->published->multilabel, p->chain.live[0]->counts,
                                        fit_of(p), document, &p->several.scores,
                                        p->several.numbers[place], p->several.evidence);
    memset(verdict->field_evidence, 0, sizeof verdict->field_evidence);
    for (size_t i = 0; i < document->size; i++) {
        uint32_t feature = p->several.places[i];
        double part = p->several.evidence[i];
        p->evidence[i] = (struct nb_evidence){.evidence = part, .feature = feature};
        verdict->field_evidence[nb_feature_field(p->bag.features[feature].id)] += part;
    }
    nb_evidence_sort(p->evidence, document->size, most, p->evidence + room);
    const struct nb_evidence bias = {.evidence = rest, .feature = NB_NO_FEATURE};
    for (size_t i = 0; i < wanted; i++)
        put_row(verdict, i, i + 1 == wanted ? &bias : &p->evidence[i]);
    verdict->explanation_count = wanted;
    verdict->second = place;
    return 0;
}

static int nothing_learned(const struct nb_verdict_private *p, struct nb_error *error)
{
    const struct nb_refined *refined = p->chain.refined;
    bool is_told = refined != NULL && *refined->reason != '\0';
    return nb_error_set(error, NB_CONFLICT, "%s",
                        is_told ? refined->reason
                                : "the model has learned no document with a label yet");
}

int nb_verdict_score_several(struct nb_verdict *verdict, size_t most, struct nb_error *error)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_model *counts = p->chain.live[0]->counts;
    struct nb_multilabel_document document;
    struct nb_multilabel_labels labels;
    p->published = p->chain.published[0];
    struct nb_multilabel *multilabel = p->published->multilabel;
    int rc = find_rows(p, counts, &document);
    if (rc == 0)
        rc = nb_multilabel_score(multilabel, counts, fit_of(p), &document, &p->several.scores);
    if (rc == NB_CONFLICT)
        return nothing_learned(p, error);
    if (rc == 0)
        rc = nb_multilabel_labels(multilabel, counts, &labels);
    if (rc == 0)
        rc = make_room(verdict, labels.count);
    if (rc == 0)
        rc = fill(verdict, &labels);
    if (rc == 0 && verdict->size == 0)
        return nothing_learned(p, error);
    if (rc != 0)
        return rc;
    fill_rest(verdict);
    return most > 0 ? explain(verdict, &document, most, error) : 0;
}
