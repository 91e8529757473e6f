/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/filter/status.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

/* Returns the most probable label except the positive one and sets its probability; "" when there
 * is no other label. */
static const char *best_other(json_t *probabilities, const char *positive, double *most)
{
    const char *name, *best = "";
    const json_t *value;
    *most = 0;
    json_object_foreach(probabilities, name, value)
    {
        if (strcmp(name, positive) == 0 || (*best != '\0' && json_number_value(value) <= *most))
            continue;
        best = name;
        *most = json_number_value(value);
    }
    return best;
}

int nb_status_judge(const struct nb_status_thresholds *thresholds, const json_t *verdict,
                    struct nb_status *status)
{
    json_t *probabilities = json_object_get(verdict, "probabilities");
    const char *label = json_string_value(json_object_get(verdict, "label"));
    const char *positive = thresholds->positive;
    double other;
    const char *best = best_other(probabilities, positive, &other);
    *status = (struct nb_status){.note = ""};
    status->of_spam = json_number_value(json_object_get(probabilities, positive));
    status->is_spam = thresholds->spam_from >= 0 ? status->of_spam >= thresholds->spam_from
                                                 : label != NULL && strcmp(label, positive) == 0;
    status->is_unsure =
        !status->is_spam && thresholds->ham_to >= 0 && status->of_spam > thresholds->ham_to;
    if (!json_is_true(json_object_get(verdict, "ready"))) {
        status->is_spam = false;
        status->is_unsure = true;
        status->note = ", too little learned";
    }
    const char *evidence = json_string_value(json_object_get(verdict, "evidence"));
    if (evidence != NULL && strcmp(evidence, "none") == 0 && !status->is_unsure) {
        status->is_spam = false;
        status->is_unsure = true;
        status->note = ", no known token";
    }
    bool is_other = !status->is_spam && !status->is_unsure;
    (void)snprintf(status->name, sizeof status->name, "%s",
                   status->is_unsure ? "unsure"
                   : status->is_spam ? positive
                                     : best);
    status->probability = is_other ? other : status->of_spam;
    return nb_utf8_has_control(nb_string_of(status->name)) ? NB_INVALID : 0;
}

void nb_status_unknown(struct nb_status *status)
{
    *status = (struct nb_status){.name = "unsure",
                                 .probability = 0.5,
                                 .of_spam = 0.5,
                                 .is_unsure = true,
                                 .note = ", nothing learned"};
}
