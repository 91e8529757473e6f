/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits: the weights of a model are fitted anew on leave-one-out inputs of its living documents,
 * of all or of a sample. On the thread that changes the model.
 *
 * A refit is cut into slices of a fixed amount of work, some milliseconds, counted and not timed: a
 * replay does the same. It begins by an entry of the ledger: the change that gave the reason
 * (core/live/order.h), or a REFIT. Which documents it takes, and in which order, follows from the
 * numbers of the order (nb_order_random). While
 * it is under way, each change of the model runs one slice after it, and when the writer has
 * nothing else to do REFIT entries run one each. Where the order's numbers want it
 * (nb_order_wants_pass), the twin learns anew behind the stack, from all living documents, in the
 * same slices. The old weights, with the old twin, serve and learn until the new ones take their
 * place, after the last slice; the new ones learn from what comes during the twin's pass, too.
 *
 * What a refit has done so far is in memory alone. The numbers of the order say that one began: if
 * it is lost, with the process or with a commit that failed, it begins again, by a REFIT before the
 * next change of the model.
 */
#ifndef NB_CORE_LIVE_REFIT_H
#define NB_CORE_LIVE_REFIT_H

#include "core/live/live.h"
#include "core/live/order.h"
#include "core/store/ledger.h"
#include "core/store/rows.h"

/* A document of the ledger that a weight learns from. `{0}` is empty; reused. */
struct nb_drawn {
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_stack_inputs inputs; /* leave-one-out */
};
void nb_drawn_deinit(struct nb_drawn *drawn);
/* Reads the document of a living entry, and computes its inputs. *found is false where there is
 * nothing to learn: it is the only one of its label, or the ledger has it no more, as in a replay,
 * or not as it was written. The inputs are those of the twin of these weights, too (NULL: of none).
 * Any thread may call it under the model's read lock. Returns 0 or a code. */
int nb_drawn_read(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_published *published, const struct nb_view *view, uint64_t number,
                  const struct nb_stack_weights *twin, bool *found);
/* Whether a document that was found teaches (nb_order_teaches). */
bool nb_drawn_teaches(const struct nb_drawn *drawn, const struct nb_live *live);
/* Makes the model's list of living entries, unless it is there. Returns 0 or a code. */
int nb_refit_list(struct nb_live *live, const struct nb_view *view);

/* Begins a refit, in place of one that is under way. Returns 0 or a code; then the caller takes
 * back what the weights learned and drops the refit, here and below. */
int nb_refit_begin(struct nb_live *live, const struct nb_view *view, enum nb_order_refit why);
/* Why one begins by a REFIT that nobody asked for: the weights do not fit, or nb_order_wants_idle.
 */
enum nb_order_refit nb_refit_why(const struct nb_live *live);
/* Runs one slice, of `most` units of work. If there is none under way, nothing. */
enum { NB_REFIT_UNITS = 2500000 }; /* 5 to 8 ms */
int nb_refit_slice(struct nb_live *live, const struct nb_view *view, uint64_t most,
                   struct nb_drawn *drawn);
/* Drops one that is under way: the order's numbers still say that it began. */
void nb_refit_drop(struct nb_live *live);
/* The new weights while the twin's pass is under way: the steps of changes are theirs, too. Else
 * NULL. */
struct nb_stack_weights *nb_refit_weights(const struct nb_live *live);

/* Whether a REFIT must come before the next change of the model: the weights have missed documents
 * or are of other constants, or a refit was lost. */
bool nb_refit_is_due(const struct nb_live *live);
/* Whether one is due or under way: the writer writes one whenever nothing else waits. */
bool nb_refit_is_begun(const struct nb_live *live);
/* The same, and it needs not rest: the weights are wrong until it ends, or the model is no small
 * one (nb_order_is_small), which is fitted because much was not taught, or no document of it has
 * changed for NB_REFIT_REST. While documents come, each runs one slice; if the gaps between them
 * ran others, when the new weights take their place would depend on how fast they come. */
#define NB_REFIT_REST UINT64_C(200000000) /* nanoseconds */
bool nb_refit_is_next(const struct nb_live *live);
/* Whether it is begun but rests. */
bool nb_refit_rests(const struct nb_live *live);
/* The same as nb_refit_is_begun, or one should begin when the writer has had nothing else to do for
 * a while. */
bool nb_refit_is_wanted(const struct nb_live *live);
/* A document came or went: the twin has missed it if it is switched off. Returns 0 or NB_NO_MEMORY.
 */
int nb_refit_note_missed(struct nb_live *live);
/* Sets live->is_stale, live->wants_refit and live->is_skewed by what the weights are now. */
void nb_refit_note(struct nb_live *live);

#endif
