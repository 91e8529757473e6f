/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of an evaluation.
 */
#include "server/json/evaluation_json.h"

#include "server/json/emit.h"

static void emit_labels(struct nb_emitter *e, const struct nb_evaluation *evaluation, char **names)
{
    nb_emit_member_open(e, "labels", '{');
    for (size_t i = 0; i < evaluation->label_count; i++) {
        const struct nb_evaluation_label *label = &evaluation->labels[i];
        nb_emit_name(e, nb_string_of(names[i]));
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "documents", label->documents);
        nb_emit_member_u64(e, "predicted", label->predicted);
        nb_emit_member_short_double(e, "precision", label->precision);
        nb_emit_member_short_double(e, "recall", label->recall);
        nb_emit_member_short_double(e, "f1", label->f1);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
}

/* Writes the row of one true label. `*cell` is the next cell that is not zero; it moves behind this
 * row. */
static void emit_confusion_row(struct nb_emitter *e, const struct nb_evaluation *evaluation,
                               size_t truth, size_t *cell, char **names)
{
    bool is_whole = evaluation->label_count <= NB_EVALUATION_WHOLE_TABLE;
    for (size_t predicted = 0; predicted < evaluation->label_count; predicted++) {
        const struct nb_evaluation_cell *next = &evaluation->confusion[*cell];
        bool is_there = *cell < evaluation->confusion_count && next->truth == truth;
        if (!is_there && !is_whole)
            break;
        if (is_there && !is_whole)
            predicted = next->predicted;
        bool is_next = is_there && next->predicted == predicted;
        nb_emit_name(e, nb_string_of(names[predicted]));
        nb_emit_u64(e, is_next ? next->documents : 0);
        *cell += is_next;
    }
}

static void emit_confusion(struct nb_emitter *e, const struct nb_evaluation *evaluation,
                           char **names)
{
    size_t cell = 0;
    nb_emit_member_open(e, "confusion", '{');
    for (size_t i = 0; i < evaluation->label_count; i++) {
        nb_emit_name(e, nb_string_of(names[i]));
        nb_emit_open(e, '{');
        emit_confusion_row(e, evaluation, i, &cell, names);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
    nb_emit_member_u64(e, "confusion_most", NB_EVALUATION_CELLS);
    nb_emit_member_u64(e, "confusion_left_out", evaluation->confusion_left_out);
}

static void emit_pairs(struct nb_emitter *e, const struct nb_evaluation *evaluation, char **names)
{
    nb_emit_member_open(e, "worst_pairs", '[');
    for (size_t i = 0; i < evaluation->pair_count; i++) {
        const struct nb_evaluation_cell *pair = &evaluation->pairs[i];
        nb_emit_open(e, '{');
        nb_emit_member_text(e, "label", names[pair->truth]);
        nb_emit_member_text(e, "given", names[pair->predicted]);
        nb_emit_member_u64(e, "documents", pair->documents);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

static void emit_reliability(struct nb_emitter *e, const struct nb_evaluation *evaluation)
{
    nb_emit_member_open(e, "reliability", '[');
    for (size_t i = 0; i < NB_EVALUATION_BINS; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_short_double(e, "from", (double)i / NB_EVALUATION_BINS);
        nb_emit_member_short_double(e, "to", (double)(i + 1) / NB_EVALUATION_BINS);
        nb_emit_member_u64(e, "documents", evaluation->bins[i].documents);
        nb_emit_member_short_double(e, "confidence", evaluation->bins[i].confidence);
        nb_emit_member_short_double(e, "accuracy", evaluation->bins[i].accuracy);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

static void emit_roc(struct nb_emitter *e, const struct nb_evaluation *evaluation)
{
    nb_emit_member_open(e, "roc", '[');
    for (size_t i = 0; i < evaluation->point_count; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_short_double(e, "threshold", evaluation->points[i].threshold);
        nb_emit_member_short_double(e, "false_positive_rate",
                                    evaluation->points[i].false_positive_rate);
        nb_emit_member_short_double(e, "true_positive_rate",
                                    evaluation->points[i].true_positive_rate);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

static void emit_calibration(struct nb_emitter *e, const struct nb_evaluation_report *report)
{
    const struct nb_report_calibration *c = &report->calibration;
    if (!report->is_calibrated)
        return;
    nb_emit_member_open(e, "calibration", '{');
    nb_emit_member_text(e, "method", c->method);
    nb_emit_member_u64(e, "scores", c->scores);
    nb_emit_member_short_double(e, "ece_before", c->before);
    nb_emit_member_short_double(e, "ece_after", c->after);
    nb_emit_close(e, '}');
}

static void emit_loss(struct nb_emitter *e, const char *key, const struct nb_unlabelled_loss *loss)
{
    nb_emit_member_open(e, key, '{');
    nb_emit_member_short_double(e, "log_loss", loss->log_loss);
    nb_emit_member_short_double(e, "accuracy", loss->accuracy);
    nb_emit_close(e, '}');
}

static void emit_measured(struct nb_emitter *e, const struct nb_unlabelled_report *r)
{
    nb_emit_member_u64(e, "measured", r->measured);
    if (r->measured == 0)
        return;
    emit_loss(e, "without", &r->without);
    emit_loss(e, "with", &r->with);
    nb_emit_member_u64(e, "folds", r->folds);
}

static void emit_found(struct nb_emitter *e, const struct nb_unlabelled_report *r)
{
    nb_emit_member_short_double(e, "weight", r->weight);
    if (r->is_pooled)
        nb_emit_member_short_double(e, "share", r->share);
    nb_emit_member_u64(e, "documents", r->documents);
    nb_emit_member_u64(e, "changed", r->changed);
    nb_emit_member_short_double(e, "seconds", r->seconds);
    if (r->reason[0] != '\0')
        nb_emit_member_text(e, "reason", r->reason);
    if (r->iterations > 0) {
        nb_emit_member_short_double(e, "smoothing", r->smoothing);
        nb_emit_member_u64(e, "iterations", r->iterations);
        nb_emit_member_short_double(e, "log_likelihood_first", r->first);
        nb_emit_member_short_double(e, "log_likelihood", r->log_likelihood);
    }
    emit_measured(e, r);
}

void nb_emit_unlabelled(struct nb_emitter *e, const struct nb_unlabelled_report *r)
{
    nb_emit_member_text(e, "state", nb_unlabelled_state_name(r->state));
    if (r->state == NB_UNLABELLED_RUNNING) {
        nb_emit_member_open(e, "progress", '{');
        nb_emit_member_u64(e, "fits", r->fits);
        nb_emit_member_u64(e, "of", r->fits_all);
        nb_emit_close(e, '}');
    }
    if (r->is_known)
        emit_found(e, r);
    else if (r->reason[0] != '\0')
        nb_emit_member_text(e, "reason", r->reason);
}

static void emit_hits(struct nb_emitter *e, const struct nb_evaluation *evaluation)
{
    nb_emit_member_u64(e, "documents", evaluation->documents);
    nb_emit_member_short_double(e, "accuracy", evaluation->accuracy);
    nb_emit_member_short_double(e, "macro_f1", evaluation->macro_f1);
}

static void emit_losses(struct nb_emitter *e, const struct nb_evaluation *evaluation)
{
    nb_emit_member_short_double(e, "one_minus_roca_percent", evaluation->one_minus_roca);
    nb_emit_member_short_double(e, "lam_percent", evaluation->lam);
    nb_emit_member_short_double(e, "false_positive_rate", evaluation->false_positive_rate);
    nb_emit_member_short_double(e, "false_negative_rate", evaluation->false_negative_rate);
    nb_emit_member_short_double(e, "log_loss", evaluation->log_loss);
    nb_emit_member_short_double(e, "brier", evaluation->brier);
    nb_emit_member_short_double(e, "ece", evaluation->ece);
}

static void emit_window(struct nb_emitter *e, const struct nb_evaluation_report *report, size_t i)
{
    const struct nb_evaluation *evaluation = &report->evaluations[i];
    nb_emit_open(e, '{');
    if (report->windows[i] > 0)
        nb_emit_member_u64(e, "window", report->windows[i]);
    else
        nb_emit_member_null(e, "window");
    emit_hits(e, evaluation);
    emit_labels(e, evaluation, report->labels);
    emit_confusion(e, evaluation, report->labels);
    emit_pairs(e, evaluation, report->labels);
    emit_losses(e, evaluation);
    emit_reliability(e, evaluation);
    emit_roc(e, evaluation);
    nb_emit_close(e, '}');
}

static void emit_threshold(struct nb_emitter *e, const struct nb_evaluation_report *report)
{
    nb_emit_member_open(e, "threshold", '{');
    nb_emit_member_short_double(e, "target_fpr", report->target_rate);
    nb_emit_member_short_double(e, "threshold", report->threshold);
    nb_emit_member_short_double(e, "achieved_fpr", report->achieved);
    nb_emit_close(e, '}');
}

static void emit_progress(struct nb_emitter *e, const struct nb_evaluation_report *report)
{
    nb_emit_member_open(e, "progress", '[');
    for (size_t i = 0; i < report->progress_count; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "documents", report->progress[i].documents);
        nb_emit_member_u64(e, "errors", report->progress[i].errors);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
}

int nb_json_evaluation(struct nb_buffer *out, struct nb_string model,
                       const struct nb_evaluation_report *report)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    nb_emit_member_text(&e, "positive", report->labels[report->positive]);
    nb_emit_member_text(&e, "scores", nb_score_kind_name(report->scores));
    emit_calibration(&e, report);
    if (report->unlabelled.state != NB_UNLABELLED_OFF) {
        nb_emit_member_open(&e, "unlabelled", '{');
        nb_emit_unlabelled(&e, &report->unlabelled);
        nb_emit_close(&e, '}');
    }
    nb_emit_member_open(&e, "windows", '[');
    for (size_t i = 0; i < report->window_count; i++)
        emit_window(&e, report, i);
    nb_emit_close(&e, ']');
    if (report->has_threshold)
        emit_threshold(&e, report);
    if (report->progress_count > 0)
        emit_progress(&e, report);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

void nb_emit_figures(struct nb_emitter *e, const char *name,
                     const struct nb_evaluation_report *report)
{
    nb_emit_key(e, name);
    if (report->window_count == 0) {
        nb_emit_raw(e, "null");
        return;
    }
    const struct nb_evaluation *all = &report->evaluations[report->window_count - 1];
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "positive", report->labels[report->positive]);
    emit_hits(e, all);
    emit_losses(e, all);
    nb_emit_close(e, '}');
}
