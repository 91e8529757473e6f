/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits: new weights of a model are fitted to leave-one-out inputs of all its current documents,
 * or of a sample; of none if all documents have the same label. On the thread that changes the
 * model.
 *
 * A refit is cut into slices of some milliseconds. Slices are limited by counted work and not by
 * time, so that a replay does the same. A refit begins with an entry of the ledger: the change that
 * gave the reason (core/model/order.h), or a REFIT. Its documents and their order follow from
 * the numbers of core/model/order.h (nb_order_random). While it is under way, each change of
 * the model runs one slice, and when the writer is idle, REFIT entries run one each. If
 * nb_order_wants_pass says so, a new twin then learns from all current documents, in the same
 * slices. Until the last slice ends, the old weights, with the old twin, stay in use and go on
 * learning; then the new ones replace them. During the twin's pass the new weights learn from
 * changes, too.
 *
 * The progress of a refit is kept in memory only. The stored numbers say that one began: if it is
 * lost, because the process ended or a commit failed, it begins again with a REFIT entry before the
 * next change of the model.
 *
 * The inputs of the documents of a slice are computed on several threads: the counts do not change
 * meanwhile, and the fit takes the inputs in the order of the sample, so the result is the same as
 * with one thread.
 */
#ifndef NB_CORE_MODEL_REFIT_H
#define NB_CORE_MODEL_REFIT_H

#include "core/model/known.h"
#include "core/model/live.h"
#include "core/model/order.h"

struct nb_view;

/* ---- whether a refit is due ------------------------------------------------------------------ */

/* Decides whether a model's weights are refitted (refit.h), why, and whether now. On the thread
 * that changes the model. */

/* Whether a REFIT entry is needed before the next change of the model: the weights have missed
 * documents or were fitted for other constants, or a refit was lost. */
bool nb_refit_is_due(const struct nb_live *live);
/* Whether the next slice may run now: a refit has begun, and either the weights are wrong until it
 * ends, or the model is not small (nb_order_is_small), or none of its documents has changed for
 * NB_REFIT_REST. A small model rests while documents arrive, because each of them runs a slice: if
 * slices also ran in the gaps, the moment when the new weights replace the old ones would depend on
 * the speed of training. */
#define NB_REFIT_REST UINT64_C(200000000) /* nanoseconds */
bool nb_refit_is_next(const struct nb_live *live);
/* Whether a refit has begun but rests. */
bool nb_refit_rests(const struct nb_live *live);
/* Whether a refit has begun, or should begin when the writer has been idle for a while. */
bool nb_refit_is_wanted(const struct nb_live *live);
/* Notes that a document was added or removed, which the twin has missed if it is switched off.
 * Returns 0 or NB_NO_MEMORY.
 */
int nb_refit_note_missed(struct nb_live *live);
/* Sets live->is_stale, live->wants_refit and live->is_skewed from the present weights. */
void nb_refit_note(struct nb_live *live);
/* Returns the reason for a refit that begins with a REFIT entry but was not requested: the weights
 * were fitted for other constants or have missed documents, or nb_order_wants_idle.
 */
enum nb_order_refit nb_refit_why(const struct nb_live *live);

/* Reads the next documents of a refit's sample, or of its pass, on several threads, and counts
 * their cost. On the thread that changes the model. For core/model/refit.c and the owner of
 * its memory. */
enum { NB_REFIT_AT_ONCE = 32 }; /* documents that are read at once, at most */

struct nb_refit_reading {
    struct nb_drawn drawn;
    bool is_current; /* its entry was not superseded */
    int code;        /* result of the last step */
};

/* Memory and threads for reading documents; used for one slice after the other. */
struct nb_refit_reader {
    struct nb_helpers *helpers;
    const struct nb_live *live;          /* model of the slice under way */
    const struct nb_stack_weights *twin; /* twin whose inputs are computed, too; NULL: none */
    struct nb_known_teacher known;       /* the writer's */
    size_t size;
    struct nb_refit_reading readings[NB_REFIT_AT_ONCE];
};
/* NULL: out of memory. */
struct nb_refit_reader *nb_refit_reader_new(void);
void nb_refit_reader_free(struct nb_refit_reader **reader);

struct nb_refit_reader; /* core/model/refit.h */

/* Makes the model's list of current entries, unless it exists. Returns 0 or a code. */
int nb_refit_list(struct nb_live *live, const struct nb_view *view);

/* Begins a refit, and drops one that is under way. Returns 0 or a code. After an error, here and
 * below, the caller rolls the weights back and drops the refit. */
int nb_refit_begin(struct nb_live *live, const struct nb_view *view, enum nb_order_refit why);
/* Runs one slice, of `most` units of work. Does nothing if no refit is under way. */
enum { NB_REFIT_UNITS = 2500000 }; /* 5 to 8 ms of one thread */
int nb_refit_slice(struct nb_live *live, const struct nb_view *view, uint64_t most,
                   struct nb_refit_reader *reader);
/* Drops the refit that is under way. The stored numbers still say that it began. */
void nb_refit_drop(struct nb_live *live);
/* The new weights during the twin's pass, when they learn from changes, too; else NULL. */
struct nb_stack_weights *nb_refit_weights(const struct nb_live *live);

#endif
