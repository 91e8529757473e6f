/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/window_json.h"

static void emit_labels(struct nb_emitter *e, const struct nb_evaluation *evaluation,
                        char *const *names)
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
                               size_t truth, size_t *cell, char *const *names)
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
                           char *const *names)
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

static void emit_pairs(struct nb_emitter *e, const struct nb_evaluation *evaluation,
                       char *const *names)
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

void nb_emit_rates(struct nb_emitter *e, const struct nb_evaluation *evaluation)
{
    nb_emit_member_u64(e, "documents", evaluation->documents);
    nb_emit_member_short_double(e, "accuracy", evaluation->accuracy);
    nb_emit_member_short_double(e, "macro_f1", evaluation->macro_f1);
    nb_emit_member_short_double(e, "one_minus_roca_percent", evaluation->one_minus_roca);
    nb_emit_member_short_double(e, "lam_percent", evaluation->lam);
    nb_emit_member_short_double(e, "false_positive_rate", evaluation->false_positive_rate);
    nb_emit_member_short_double(e, "false_negative_rate", evaluation->false_negative_rate);
    nb_emit_member_short_double(e, "log_loss", evaluation->log_loss);
    nb_emit_member_short_double(e, "brier", evaluation->brier);
    nb_emit_member_short_double(e, "ece", evaluation->ece);
}

void nb_emit_window(struct nb_emitter *e, uint64_t window, const struct nb_evaluation *evaluation,
                    char *const *names)
{
    nb_emit_open(e, '{');
    if (window > 0)
        nb_emit_member_u64(e, "window", window);
    else
        nb_emit_member_null(e, "window");
    nb_emit_rates(e, evaluation);
    emit_labels(e, evaluation, names);
    emit_confusion(e, evaluation, names);
    emit_pairs(e, evaluation, names);
    emit_reliability(e, evaluation);
    emit_roc(e, evaluation);
    nb_emit_close(e, '}');
}
