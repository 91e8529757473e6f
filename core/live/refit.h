/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits: new weights of a model are fitted to leave-one-out inputs of all its living documents, or
 * of a sample. On the thread that changes the model.
 *
 * A refit is cut into slices of some milliseconds. Their work is counted and not timed, so that a
 * replay does the same. A refit begins with an entry of the ledger: the change that gave the reason
 * (core/live/order.h), or a REFIT. Its documents and their order follow from the numbers of
 * core/live/order.h (nb_order_random). While it is under way, each change of the model runs one
 * slice, and when the writer is idle, REFIT entries run one each. If nb_order_wants_pass says so, a
 * new twin then learns from all living documents, in the same slices. The old weights, with the old
 * twin, are used and learn until the new ones replace them after the last slice. During the twin's
 * pass the new ones learn from changes, too.
 *
 * The progress of a refit is kept in memory only. The stored numbers say that one began: if it is
 * lost, because the process ended or a commit failed, it begins again with a REFIT entry before the
 * next change of the model.
 *
 * The inputs of the documents of a slice are computed on several threads: the counts do not change
 * meanwhile, and the fit takes the inputs in the order of the sample, so it is as of one thread.
 */
#ifndef NB_CORE_LIVE_REFIT_H
#define NB_CORE_LIVE_REFIT_H

#include "core/coding/rows.h"
#include "core/live/live.h"
#include "core/live/order.h"
#include "core/store/ledger.h"

/* A document of the ledger that the weights learn from. `{0}` is empty; reused. */
struct nb_drawn {
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_stack_inputs inputs; /* leave-one-out */
    uint64_t others; /* of nb_drawn_lesson: documents of the same label, if it is there */
};
void nb_drawn_deinit(struct nb_drawn *drawn);
/* Reads the document of a living entry, and computes its inputs, including those of the twin of
 * `twin` (NULL: none). *found is false if there is nothing to learn: the document is the only one
 * of its label, or the entry is no longer in the ledger (as in a replay), or was changed. Any
 * thread may call it under the model's read lock. Returns 0 or a code. */
int nb_drawn_read(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_published *published, const struct nb_view *view, uint64_t number,
                  const struct nb_stack_weights *twin, bool *found);
/* The same on the thread that changes the model, of a document that is to teach: one that does not
 * (nb_order_teaches) is not found, and its inputs are not computed. */
int nb_drawn_lesson(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                    uint64_t number, const struct nb_stack_weights *twin, bool *found);
/* Whether inputs of a document that is to teach should be kept for the twin of `twin`. */
bool nb_drawn_keeps(const struct nb_model *counts, const struct nb_stack_weights *twin);
/* Teaches a document to the twin of `weights`, from inputs that it has without itself. Computes
 * them again, from its rows, if the twin needs more of them. On the same thread. Returns 0 or a
 * code. */
int nb_drawn_teach_twin(const struct nb_live *live, struct nb_stack_weights *weights,
                        struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label,
                        double weight);
/* Makes the model's list of living entries, unless it exists. Returns 0 or a code. */
int nb_refit_list(struct nb_live *live, const struct nb_view *view);

/* Begins a refit, and drops one that is under way. Returns 0 or a code. After an error, here and
 * below, the caller rolls the weights back and drops the refit. */
int nb_refit_begin(struct nb_live *live, const struct nb_view *view, enum nb_order_refit why);
/* The reason of a refit that begins with a REFIT entry without a request: the weights are of other
 * constants or have missed documents, or nb_order_wants_idle.
 */
enum nb_order_refit nb_refit_why(const struct nb_live *live);
/* Memory and threads for reading documents; used for one slice after the other. */
struct nb_refit_reader;
/* NULL: out of memory. */
struct nb_refit_reader *nb_refit_reader_new(void);
void nb_refit_reader_free(struct nb_refit_reader **reader);
/* Runs one slice, of `most` units of work. Does nothing if no refit is under way. */
enum { NB_REFIT_UNITS = 2500000 }; /* 5 to 8 ms of one thread */
int nb_refit_slice(struct nb_live *live, const struct nb_view *view, uint64_t most,
                   struct nb_refit_reader *reader);
/* Drops the refit that is under way. The stored numbers still say that it began. */
void nb_refit_drop(struct nb_live *live);
/* The new weights during the twin's pass, when they learn from changes, too; else NULL. */
struct nb_stack_weights *nb_refit_weights(const struct nb_live *live);

/* Whether a REFIT entry is needed before the next change of the model: the weights have missed
 * documents or are of other constants, or a refit was lost. */
bool nb_refit_is_due(const struct nb_live *live);
/* Whether a refit is due or under way: the writer then writes a REFIT entry whenever it is idle. */
bool nb_refit_is_begun(const struct nb_live *live);
/* Whether the next slice may run now: a refit is begun, and its weights are wrong until it ends, or
 * the model is not small (nb_order_is_small), or no document of it has changed for NB_REFIT_REST. A
 * small model rests while documents arrive, because each of them runs a slice: if slices also ran
 * in the gaps, the moment when the new weights replace the old ones would depend on the speed of
 * training. */
#define NB_REFIT_REST UINT64_C(200000000) /* nanoseconds */
bool nb_refit_is_next(const struct nb_live *live);
/* Whether a refit is begun but rests. */
bool nb_refit_rests(const struct nb_live *live);
/* Whether a refit is begun, or should begin when the writer has been idle for a while. */
bool nb_refit_is_wanted(const struct nb_live *live);
/* Notes that a document was added or removed, which the twin has missed if it is switched off.
 * Returns 0 or NB_NO_MEMORY.
 */
int nb_refit_note_missed(struct nb_live *live);
/* Sets live->is_stale, live->wants_refit and live->is_skewed from the present weights. */
void nb_refit_note(struct nb_live *live);

#endif
