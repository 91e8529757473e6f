/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/decision.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "core/bayes/thresholds.h"
#include "core/engine/engine.h"
#include "core/model/verdict.h"
#include "server/api/evaluations.h"
#include "server/api/handlers.h"
#include "server/base/evaluation_json.h"
#include "server/base/json_values.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"

/* Reads ?scores: the scores that an evaluation, or a threshold from one, uses; by default those
 * before learning. Returns 0 or NB_INVALID. */
static int evaluation_scores(const struct nb_request *request, enum nb_score_kind *scores,
                             struct nb_error *error)
{
    struct nb_string asked = nb_request_query(request, "scores");
    *scores = NB_SCORES_BEFORE_LEARNING;
    if (asked.bytes == NULL)
        return 0;
    for (int kind = 0; kind < NB_SCORE_KINDS; kind++)
        if (nb_string_equals(asked, nb_score_kind_name((enum nb_score_kind)kind))) {
            *scores = (enum nb_score_kind)kind;
            return 0;
        }
    return nb_error_set(error, NB_INVALID,
                        "query parameter 'scores' must be 'before-learning' or 'leave-one-out'");
}

/* The evaluation of a model whose documents have several labels. */
static int evaluate_several(struct nb_request *request, struct nb_error *error)
{
    static const char *const OTHERS[] = {"positive", "target_fpr", "scores"};
    struct nb_multilabel_fit *fit;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
        if (nb_request_query(request, OTHERS[i]).bytes != NULL)
            return nb_error_set(error, NB_INVALID,
                                "query parameter '%s' does not go with several labels", OTHERS[i]);
    int rc = nb_engine_fit(request->server->engine, request->model, &fit, error);
    if (rc != 0)
        return rc;
    rc = nb_json_evaluation_several(&request->reply.body, request->model, fit);
    nb_multilabel_fit_release(&fit);
    return nb_reply_written(request, rc, error);
}

int nb_route_evaluation(struct nb_request *request, struct nb_error *error)
{
    if (nb_engine_is_several(request->server->engine, request->model))
        return evaluate_several(request, error);
    struct nb_string positive = nb_request_query(request, "positive");
    struct nb_evaluation_report report;
    double target = -1; /* none wanted */
    enum nb_score_kind scores;
    struct nb_buffer room = {0};
    int rc = positive.bytes == NULL ? 0 : nb_label_take(&positive, &room, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "target_fpr", 1, &target, error);
    if (rc == 0)
        rc = evaluation_scores(request, &scores, error);
    if (rc == 0)
        rc = nb_engine_evaluation(request->server->engine, request->model, positive, target, scores,
                                  &report, error);
    nb_buffer_deinit(&room);
    if (rc != 0)
        return rc;
    rc = nb_engine_tell_thresholds(request->server->engine, request->model, &report, error);
    if (rc != 0) {
        nb_evaluation_report_deinit(&report);
        return rc;
    }
    rc = nb_json_evaluation(&request->reply.body, request->model, &report);
    nb_evaluation_report_deinit(&report);
    if (rc == 0 && scores == NB_SCORES_BEFORE_LEARNING) {
        rc = nb_evaluation_add_challenger(request, error);
        if (rc != 0)
            return rc;
    }
    return nb_reply_written(request, rc, error);
}

/* ---- the query ------------------------------------------------------------------------------- */

struct numbers {
    double threshold, target, cost_fp, cost_fn, min_known;
    bool has_threshold, has_target, has_cost_fp, has_cost_fn, has_min_known;
};

static int read_numbers(const struct nb_request *request, struct numbers *n, struct nb_error *error)
{
    const struct {
        const char *name;
        double most;
        double *value;
        bool *is_given;
    } table[] = {{"threshold", 1, &n->threshold, &n->has_threshold},
                 {"target_fpr", 1, &n->target, &n->has_target},
                 {"cost_fp", DBL_MAX, &n->cost_fp, &n->has_cost_fp},
                 {"cost_fn", DBL_MAX, &n->cost_fn, &n->has_cost_fn},
                 {"min_known", 1, &n->min_known, &n->has_min_known}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof table / sizeof *table; i++) {
        *table[i].value = -1;
        rc = nb_request_query_number(request, table[i].name, table[i].most, table[i].value, error);
        *table[i].is_given = *table[i].value >= 0;
    }
    return rc;
}

static int check_ways(const struct numbers *n, struct nb_error *error)
{
    bool by_cost = n->has_cost_fp || n->has_cost_fn;
    if (n->has_threshold + n->has_target + by_cost > 1)
        return nb_error_set(error, NB_INVALID,
                            "a decision is asked for in one way: query parameter 'threshold', "
                            "'target_fpr', or 'cost_fp' and 'cost_fn'");
    if (n->has_cost_fp != n->has_cost_fn)
        return nb_error_set(error, NB_INVALID, "query parameter '%s' is missing: costs come in two",
                            n->has_cost_fp ? "cost_fn" : "cost_fp");
    if (by_cost && n->cost_fp == 0 && n->cost_fn == 0)
        return nb_error_set(error, NB_INVALID,
                            "query parameters 'cost_fp' and 'cost_fn' must not both be 0");
    return 0;
}

static int read_positive(const struct nb_request *request, struct nb_decision_rule *rule,
                         struct nb_error *error)
{
    struct nb_string positive = nb_request_query(request, "positive");
    if (positive.bytes == NULL)
        return 0;
    struct nb_buffer room = {0};
    int rc = nb_label_take(&positive, &room, error);
    if (rc == 0 && !rule->is_asked)
        rc = nb_error_set(error, NB_INVALID,
                          "query parameter 'positive' needs 'threshold', 'target_fpr', or "
                          "'cost_fp' and 'cost_fn' beside it");
    if (rc == 0)
        memcpy(rule->positive, positive.bytes, positive.length); /* at most 64 bytes, as checked */
    rule->is_named = rc == 0;
    nb_buffer_deinit(&room);
    return rc;
}

static int take_from_evaluation(const struct nb_request *request, double target,
                                struct nb_decision_rule *rule, struct nb_error *error)
{
    struct nb_string positive = {rule->positive, strlen(rule->positive)};
    struct nb_threshold found;
    enum nb_score_kind scores;
    int rc = evaluation_scores(request, &scores, error);
    if (rc == 0 && nb_request_query(request, "scores").bytes == NULL)
        scores = nb_engine_threshold_scores(request->server->engine, request->model);
    if (rc == 0)
        rc = nb_evaluations_threshold(request->server->evaluations, request->model, positive,
                                      target, scores, &found, error);
    if (rc != 0)
        return rc;
    rule->threshold = found.threshold;
    memcpy(rule->positive, found.positive, sizeof rule->positive);
    snprintf(rule->source, sizeof rule->source,
             "which would have held a false-positive rate of %.6g (%.6g) over the last %llu "
             "documents, by their %s scores",
             target, found.achieved, (unsigned long long)found.documents,
             nb_score_kind_name(scores));
    return 0;
}

int nb_decision_read(const struct nb_request *request, struct nb_decision_rule *rule,
                     struct nb_error *error)
{
    struct numbers n;
    *rule = (struct nb_decision_rule){.is_asked = false};
    int rc = read_numbers(request, &n, error);
    if (rc == 0)
        rc = check_ways(&n, error);
    if (rc != 0)
        return rc;
    rule->is_asked = n.has_threshold || n.has_target || n.has_cost_fp;
    rule->has_min_known = n.has_min_known;
    rule->min_known = n.min_known;
    if (!n.has_target && nb_request_query(request, "scores").bytes != NULL)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'scores' needs 'target_fpr' beside it");
    rc = read_positive(request, rule, error);
    if (rc != 0)
        return rc;
    if (n.has_target)
        return take_from_evaluation(request, n.target, rule, error);
    if (n.has_threshold) {
        rule->threshold = n.threshold;
        rule->is_of_winner = !rule->is_named;
        snprintf(rule->source, sizeof rule->source, "given by the request");
    } else if (n.has_cost_fp) {
        rule->threshold = nb_decide_threshold(n.cost_fp, n.cost_fn);
        snprintf(rule->source, sizeof rule->source,
                 "from the costs: %.6g / (%.6g + %.6g), wrongly positive over both", n.cost_fp,
                 n.cost_fp, n.cost_fn);
    }
    return 0;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static size_t find_label(const struct nb_verdict *verdict, const char *label)
{
    size_t i = 0;
    while (i < verdict->size && strcmp(verdict->labels[i], label) != 0)
        i++;
    return i;
}

/* Finds the positive label: the one that the request names, else "spam" if the model has it, else
 * the last label by name, as in evaluations. If the model has more than two labels, the last one
 * would be arbitrary, and a rate or costs for it would mean nothing. */
static int find_positive(const struct nb_decision_rule *rule, const struct nb_verdict *verdict,
                         size_t *positive, struct nb_error *error)
{
    assert(verdict->size > 0);
    size_t spam = find_label(verdict, "spam");
    *positive = rule->is_named ? find_label(verdict, rule->positive) : spam;
    if (*positive < verdict->size)
        return 0;
    struct nb_level_hint hint = {0};
    for (size_t i = 0; i < verdict->size; i++)
        nb_level_hint_add(&hint, nb_string_of(rule->positive), nb_string_of(verdict->labels[i]));
    if (rule->is_named)
        return nb_error_about(error,
                              nb_error_set(error, NB_NOT_FOUND, "no document has the label '%s'%s",
                                           rule->positive, hint.text),
                              "label_not_found", "positive");
    if (verdict->size > 2)
        return nb_error_set(error, NB_CONFLICT,
                            "the model has %zu labels and none is 'spam': query parameter "
                            "'positive' must say which one a false-positive rate or costs are of",
                            verdict->size);
    *positive = verdict->size - 1;
    return 0;
}

enum { NUMBER_BYTES = 32 };

/* Prints the fewest digits that read back to the same number: a threshold may lie just above a
 * probability. Returns `text`. */
static const char *print_number(char text[NUMBER_BYTES], double number)
{
    static_assert(NUMBER_BYTES >= 25, "sign, 17 digits, point, and e-308");
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*g", digits, number);
        double again = strtod(text, NULL);
        if (again >= number && again <= number)
            break;
    }
    return text;
}

/* What is compared with a threshold, and the decisions above and below it. */
struct candidate {
    const char *label, *is_winner; /* is_winner: part of the sentence, or empty */
    const char *otherwise;
    double probability;
};

static void decide(const struct nb_decision_rule *rule, const struct candidate *c, double band,
                   struct nb_decision_made *made)
{
    char how[64] = "at or above", shown[NUMBER_BYTES], threshold[NUMBER_BYTES];
    switch (nb_decide(c->probability, rule->threshold, band)) {
    case NB_DECIDED_POSITIVE:
        made->label = c->label;
        break;
    case NB_DECIDED_OTHER:
        made->label = c->otherwise;
        snprintf(how, sizeof how, "below");
        break;
    case NB_DECIDED_UNSURE:
        made->label = "unsure";
        snprintf(how, sizeof how, "nearer than %.6g to", band);
        break;
    }
    snprintf(made->reason, sizeof made->reason,
             "the probability of '%s'%s, %s, is %s the threshold %s, %s", c->label, c->is_winner,
             print_number(shown, c->probability), how, print_number(threshold, rule->threshold),
             rule->source);
}

/* Returns whether there is no evidence for any label; then the decision is "unsure". */
static bool is_silent(const struct nb_verdict *verdict, struct nb_decision_made *made)
{
    made->label = "unsure";
    if (verdict->size == 1)
        snprintf(made->reason, sizeof made->reason, "only the label '%s' has documents",
                 verdict->labels[0]);
    else if (!verdict->has_evidence)
        snprintf(made->reason, sizeof made->reason,
                 "nothing of the document is known to the model");
    return verdict->size == 1 || !verdict->has_evidence;
}

bool nb_decision_is_wanted(const struct nb_decision_rule *rule, const struct nb_verdict *verdict)
{
    return verdict->is_given == NULL && (rule->is_asked || rule->has_min_known ||
                                         verdict->min_known > 0 || verdict->threshold >= 0);
}

/* Tells the origin of the threshold of the label that wins. */
static void tell_setting(const struct nb_label_threshold *set, char *text, size_t room)
{
    if (set == NULL)
        snprintf(text, room, "as the model's setting thresholds has none for this label");
    else if (set->kind == NB_THRESHOLD_PRECISION)
        snprintf(text, room, "the model's setting thresholds, for a precision of %.6g",
                 set->number);
    else if (set->kind == NB_THRESHOLD_COSTS)
        snprintf(text, room, "the model's setting thresholds, from the costs: %.6g / (%.6g + %.6g)",
                 set->cost_fp, set->cost_fp, set->cost_fn);
    else
        snprintf(text, room, "as the model's setting thresholds says");
}

/* The rule of the model's setting for the label that wins, if the request gives no threshold. */
static struct nb_decision_rule rule_of_model(const struct nb_decision_rule *asked,
                                             const struct nb_verdict *verdict)
{
    struct nb_decision_rule rule = *asked;
    if (rule.is_asked || verdict->threshold < 0)
        return rule;
    rule.is_asked = rule.is_of_winner = true;
    rule.threshold = verdict->threshold;
    tell_setting(verdict->set, rule.source, sizeof rule.source);
    return rule;
}

/* Compares `known` with the least one that the request or the model's setting gives. Returns
 * whether that makes the decision: "none", or the winner if no threshold is asked for. */
static bool decide_known(const struct nb_decision_rule *rule, const struct nb_verdict *verdict,
                         struct nb_decision_made *made)
{
    double least = rule->has_min_known ? rule->min_known : verdict->min_known;
    bool is_none = nb_verdict_is_none(verdict, least);
    char shown[NUMBER_BYTES], bound[NUMBER_BYTES];
    if (!is_none && (rule->is_asked || !verdict->has_evidence || verdict->size == 1))
        return false;
    made->label = is_none ? "none" : verdict->labels[verdict->best];
    if (isnan(verdict->of_labels))
        snprintf(made->reason, sizeof made->reason,
                 "the model has too few documents to say whether a text is of any of its labels");
    else
        snprintf(made->reason, sizeof made->reason,
                 "the probability that the text is of any of the labels, %s, is %s %s, %s",
                 print_number(shown, verdict->of_labels), is_none ? "below" : "at or above",
                 print_number(bound, least),
                 rule->has_min_known ? "given by the request" : "the model's setting min_known");
    return true;
}

/* A label with a wished precision that no threshold is known to keep. */
static void tell_unknown(const struct nb_verdict *verdict, struct nb_decision_made *made)
{
    assert(verdict->set != NULL); /* the threshold above 1 is of this setting */
    made->label = "unsure";
    snprintf(made->reason, sizeof made->reason,
             "no threshold is known from which on '%s' is right in %.6g of its verdicts, as the "
             "model's setting thresholds wishes: too few documents, or too few that are sure",
             verdict->labels[verdict->best], verdict->set->number);
}

int nb_decision_make(const struct nb_decision_rule *asked, const struct nb_verdict *verdict,
                     struct nb_decision_made *made, struct nb_error *error)
{
    const struct nb_decision_rule of_model = rule_of_model(asked, verdict), *rule = &of_model;
    size_t chosen = verdict->best;
    assert(verdict->is_given == NULL && chosen < verdict->size); /* nb_decision_is_wanted */
    bool needs_positive = rule->is_asked && !rule->is_of_winner;
    int rc = needs_positive ? find_positive(rule, verdict, &chosen, error) : 0;
    if (rc != 0 || decide_known(rule, verdict, made) || is_silent(verdict, made))
        return rc;
    struct candidate candidate = {verdict->labels[chosen], "", "unsure",
                                  verdict->probabilities[chosen]};
    if (rule->is_of_winner)
        candidate.is_winner = ", the most probable label";
    else
        candidate.otherwise =
            verdict->labels[nb_decide_other(verdict->probabilities, verdict->size, chosen)];
    if (!asked->is_asked && verdict->threshold > 1) {
        tell_unknown(verdict, made);
        return 0;
    }
    /* A label without a threshold in the model's setting is decided whenever it wins. */
    bool has_threshold = asked->is_asked || verdict->threshold > 0;
    decide(rule, &candidate, has_threshold ? verdict->unsure_band : 0, made);
    return 0;
}
