/* SPDX-License-Identifier: Apache-2.0
 *
 * An evaluation as JSON. Pure functions; any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_BASE_EVALUATION_JSON_H
#define NB_SERVER_BASE_EVALUATION_JSON_H

#include "core/base/buffer.h"
#include "core/engine/engine.h"

/* Appends {"model", "positive", "windows": [{"window", ...}, ...], "threshold"}; "threshold" only
 * if one was requested. A figure that is undefined is null. */
int nb_json_evaluation(struct nb_buffer *out, struct nb_string model,
                       const struct nb_evaluation_report *report);

/* The same for a model whose documents have several labels: {"model", "scores", "documents",
 * "micro_f1", "macro_f1", "mean_average_precision", "exact", "log_loss", "labels": {"label":
 * {"documents", "given", "precision", "recall", "f1", "average_precision", "threshold"}, ...}}. */
int nb_json_evaluation_several(struct nb_buffer *out, struct nb_string model,
                               const struct nb_multilabel_fit *fit);

struct nb_emitter;
/* Writes the effect of documents without a label as members of an open object: "state", "progress"
 * while the effect is being measured, and the figures. */
void nb_emit_unlabelled(struct nb_emitter *e, const struct nb_unlabelled_report *report);
/* Writes a member of this name: the figures over all documents that have a score, for a comparison
 * with another evaluation; null if no document has a score. */
void nb_emit_figures(struct nb_emitter *e, const char *name,
                     const struct nb_evaluation_report *report);

#endif
