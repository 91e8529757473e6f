/* SPDX-License-Identifier: Apache-2.0
 *
 * The query parameters ?threshold, ?target_fpr, ?cost_fp&cost_fn, ?positive and ?min_known of a
 * classification,
 * which say how verdicts become decisions. The thread that works on a request reads the rule once
 * and applies it to each verdict.
 *
 * A threshold without `positive` applies to the winning label: the decision is that label or
 * "unsure". With `positive`, with a false-positive rate and with costs, the threshold applies to
 * one label: the decision is that label, the most probable other label, or "unsure". When nothing
 * of the document is known, only the prior supports the verdict, and the decision is "unsure". With
 * `min_known`, or the model's setting of that name, a document whose probability to be of any of
 * the labels is below it is "none"; without a threshold beside it any other document has the
 * winning label. Without a parameter of the request the model's setting `thresholds` holds: a label
 * that wins with less than its threshold is "unsure".
 */
#ifndef NB_SERVER_API_DECISION_H
#define NB_SERVER_API_DECISION_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/engine/engine.h"
#include "server/http/request.h"

struct nb_request;
struct nb_verdict;

enum { NB_DECISION_LABEL = 65, NB_DECISION_TEXT = 512 };

struct nb_decision_rule {
    bool is_asked;     /* false: the request wants no decision */
    bool is_of_winner; /* the threshold applies to the winning label, not to a positive one */
    bool is_named;     /* the request names the positive label */
    double threshold;
    bool has_min_known; /* the request gives `min_known`; false: the model's setting holds */
    double min_known;
    char positive[NB_DECISION_LABEL]; /* NUL-terminated; empty: the default label */
    char source[160]; /* origin of the threshold, as part of the sentence in `reason` */
};

/* Reads the rule from the query. Returns 0; NB_INVALID when the query gives a threshold in more
 * than one way, gives only one of the two costs, or has a number out of range; with target_fpr also
 * the codes of nb_engine_evaluation. */
int nb_decision_read(const struct nb_request *request, struct nb_decision_rule *rule,
                     struct nb_error *error);

/* Whether the request, or the model's setting min_known or thresholds, wants a decision about the
 * verdict. */
bool nb_decision_is_wanted(const struct nb_decision_rule *rule, const struct nb_verdict *verdict);

/* A decision, as the reply shows it. */
struct nb_decision_made {
    const char *label; /* a label of the verdict, "unsure" or "none" */
    char reason[NB_DECISION_TEXT];
};

/* Applies the rule to a verdict. NB_NOT_FOUND: no document has the positive label. NB_CONFLICT: the
 * model has more than two labels, none of them "spam", and the request did not say which label its
 * rate or costs concern. */
int nb_decision_make(const struct nb_decision_rule *asked, const struct nb_verdict *verdict,
                     struct nb_decision_made *made, struct nb_error *error);

#endif
