/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of an evaluation.
 */
#include "server/base/evaluation_json.h"

#include <math.h>

#include "server/base/emit.h"
#include "server/base/window_json.h"

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

static void emit_threshold(struct nb_emitter *e, const struct nb_evaluation_report *report)
{
    nb_emit_member_open(e, "threshold", '{');
    nb_emit_member_short_double(e, "target_fpr", report->target_rate);
    nb_emit_member_short_double(e, "threshold", report->threshold);
    nb_emit_member_short_double(e, "achieved_fpr", report->achieved);
    nb_emit_close(e, '}');
}

/* The thresholds of the model's setting. */
static void emit_thresholds(struct nb_emitter *e, const struct nb_evaluation_report *report)
{
    nb_emit_member_open(e, "thresholds", '{');
    for (size_t i = 0; i < report->threshold_count; i++) {
        const struct nb_told_threshold *t = &report->thresholds[i];
        nb_emit_name(e, nb_string_of(t->label));
        nb_emit_open(e, '{');
        nb_emit_member_short_double(e, "threshold", t->threshold); /* null: none is known */
        if (t->wished > 0) {
            nb_emit_member_short_double(e, "wished_precision", t->wished);
            nb_emit_member_short_double(
                e, "precision", t->given > 0 ? (double)t->right / (double)t->given : (double)NAN);
            nb_emit_member_u64(e, "given", t->given);
            nb_emit_member_text(e, "scores", nb_score_kind_name(t->scores));
        }
        nb_emit_close(e, '}');
    }
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
        nb_emit_window(&e, report->windows[i], &report->evaluations[i], report->labels);
    nb_emit_close(&e, ']');
    if (report->has_threshold)
        emit_threshold(&e, report);
    if (report->threshold_count > 0)
        emit_thresholds(&e, report);
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
    nb_emit_rates(e, all);
    nb_emit_close(e, '}');
}

/* ---- several labels -------------------------------------------------------------------------- */

static double ratio_of(double part, double all)
{
    return all > 0 ? part / all : (double)NAN;
}

/* The harmonic mean of precision and recall; NAN if the label has no document and is never given.
 */
static double f1_of(const struct nb_multilabel_figures *f)
{
    return ratio_of(2 * (double)f->right, (double)(f->documents + f->given));
}

static void emit_label_figures(struct nb_emitter *e, const char *label,
                               const struct nb_multilabel_figures *f)
{
    nb_emit_name(e, nb_string_of(label));
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, "documents", f->documents);
    nb_emit_member_u64(e, "given", f->given);
    nb_emit_member_short_double(e, "precision", ratio_of((double)f->right, (double)f->given));
    nb_emit_member_short_double(e, "recall", ratio_of((double)f->right, (double)f->documents));
    nb_emit_member_short_double(e, "f1", f1_of(f));
    nb_emit_member_short_double(e, "average_precision", f->average_precision);
    nb_emit_member_short_double(e, "threshold", 1 / (1 + exp(-f->threshold)));
    nb_emit_close(e, '}');
}

/* The means over the labels that have documents, and the F1 of all decisions together (van
 * Rijsbergen 1979; Yang and Liu 1999). */
static void emit_means(struct nb_emitter *e, const struct nb_multilabel_fit *fit)
{
    double right = 0, both = 0, f1 = 0, precision = 0, labels = 0;
    for (uint32_t l = 0; l < fit->labels; l++) {
        const struct nb_multilabel_figures *f = &fit->figures[l];
        if (f->documents == 0)
            continue;
        labels++;
        right += (double)f->right;
        both += (double)(f->documents + f->given);
        f1 += f1_of(f);
        precision += f->average_precision;
    }
    nb_emit_member_short_double(e, "micro_f1", ratio_of(2 * right, both));
    nb_emit_member_short_double(e, "macro_f1", ratio_of(f1, labels));
    nb_emit_member_short_double(e, "mean_average_precision", ratio_of(precision, labels));
}

int nb_json_evaluation_several(struct nb_buffer *out, struct nb_string model,
                               const struct nb_multilabel_fit *fit)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    nb_emit_member_text(&e, "scores", nb_score_kind_name(NB_SCORES_LEAVE_ONE_OUT));
    nb_emit_member_u64(&e, "documents", fit->documents);
    emit_means(&e, fit);
    nb_emit_member_short_double(&e, "exact", fit->exact);
    nb_emit_member_short_double(&e, "log_loss", fit->log_loss);
    nb_emit_member_open(&e, "labels", '{');
    for (uint32_t l = 0; l < fit->labels; l++)
        if (fit->figures[l].documents > 0)
            emit_label_figures(&e, fit->names[l], &fit->figures[l]);
    nb_emit_close(&e, '}');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
