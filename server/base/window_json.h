/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of one evaluation as JSON: of the daemon over its newest verdicts, of bayesc over
 * documents that it has read. Pure functions; any thread.
 */
#ifndef NB_SERVER_BASE_WINDOW_JSON_H
#define NB_SERVER_BASE_WINDOW_JSON_H

#include "core/model/evaluation.h"
#include "server/base/emit.h"

/* Writes an object with all figures. `window` is the number of newest verdicts, 0: all of them.
 * `names` are those of the evaluation's labels, in their order. */
void nb_emit_window(struct nb_emitter *e, uint64_t window, const struct nb_evaluation *evaluation,
                    char *const *names);

/* Writes the figures that are one number each as members of an open object. */
void nb_emit_rates(struct nb_emitter *e, const struct nb_evaluation *evaluation);

#endif
