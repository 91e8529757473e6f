/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/evaluation_json.h"

#include <math.h>

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *labels_of(const struct nb_evaluation *e, char *const *names)
{
    json_t *labels = json_object();
    for (size_t i = 0; i < e->label_count; i++) {
        const struct nb_evaluation_label *label = &e->labels[i];
        (void)json_object_set_new(labels, names[label->label],
                                  json_pack("{s:I, s:I, s:o, s:o, s:o}", "documents",
                                            (json_int_t)label->documents, "predicted",
                                            (json_int_t)label->predicted, "precision",
                                            number(label->precision), "recall",
                                            number(label->recall), "f1", number(label->f1)));
    }
    return labels;
}

static json_t *confusion_of(const struct nb_evaluation *e, char *const *names)
{
    json_t *confusion = json_object();
    for (size_t i = 0; i < e->confusion_count; i++) {
        const struct nb_evaluation_cell *cell = &e->confusion[i];
        const char *truth = names[e->labels[cell->truth].label];
        if (json_object_get(confusion, truth) == NULL)
            (void)json_object_set_new(confusion, truth, json_object());
        (void)json_object_set_new(json_object_get(confusion, truth),
                                  names[e->labels[cell->predicted].label],
                                  json_integer((json_int_t)cell->documents));
    }
    return confusion;
}

static json_t *pairs_of(const struct nb_evaluation *e, char *const *names)
{
    json_t *pairs = json_array();
    for (size_t i = 0; i < e->pair_count; i++)
        (void)json_array_append_new(
            pairs, json_pack("{s:s, s:s, s:I}", "label", names[e->labels[e->pairs[i].truth].label],
                             "given", names[e->labels[e->pairs[i].predicted].label], "documents",
                             (json_int_t)e->pairs[i].documents));
    return pairs;
}

static json_t *reliability_of(const struct nb_evaluation *e)
{
    json_t *bins = json_array();
    for (size_t i = 0; i < NB_EVALUATION_BINS; i++)
        (void)json_array_append_new(bins, json_pack("{s:f, s:f, s:I, s:o, s:o}", "from",
                                                    (double)i / NB_EVALUATION_BINS, "to",
                                                    (double)(i + 1) / NB_EVALUATION_BINS,
                                                    "documents", (json_int_t)e->bins[i].documents,
                                                    "confidence", number(e->bins[i].confidence),
                                                    "accuracy", number(e->bins[i].accuracy)));
    return bins;
}

static json_t *roc_of(const struct nb_evaluation *e)
{
    json_t *points = json_array();
    for (size_t i = 0; i < e->point_count; i++)
        (void)json_array_append_new(
            points, json_pack("{s:o, s:f, s:f}", "threshold", number(e->points[i].threshold),
                              "false_positive_rate", e->points[i].false_positive_rate,
                              "true_positive_rate", e->points[i].true_positive_rate));
    return points;
}

json_t *nb_evaluation_json(const struct nb_evaluation *e, char *const *labels)
{
    const struct {
        const char *name;
        double value;
    } rates[] = {
        {"accuracy", e->accuracy},
        {"macro_f1", e->macro_f1},
        {"one_minus_roca_percent", e->one_minus_roca},
        {"lam_percent", e->lam},
        {"false_positive_rate", e->false_positive_rate},
        {"false_negative_rate", e->false_negative_rate},
        {"log_loss", e->log_loss},
        {"brier", e->brier},
        {"ece", e->ece},
    };
    json_t *figures = json_object();
    (void)json_object_set_new(figures, "window", json_null());
    (void)json_object_set_new(figures, "documents", json_integer((json_int_t)e->documents));
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        (void)json_object_set_new(figures, rates[i].name, number(rates[i].value));
    (void)json_object_set_new(figures, "labels", labels_of(e, labels));
    (void)json_object_set_new(figures, "confusion", confusion_of(e, labels));
    (void)json_object_set_new(figures, "confusion_most", json_integer(NB_EVALUATION_CELLS));
    (void)json_object_set_new(figures, "confusion_left_out",
                              json_integer((json_int_t)e->confusion_left_out));
    (void)json_object_set_new(figures, "worst_pairs", pairs_of(e, labels));
    (void)json_object_set_new(figures, "reliability", reliability_of(e));
    (void)json_object_set_new(figures, "roc", roc_of(e));
    return figures;
}
