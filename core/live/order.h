/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights that do not depend on the order of training: how much a document teaches, and when all
 * weights are fitted anew. Pure functions on the numbers that a model's weights carry for it
 * (nb_stack_weights_order). On the thread that changes the weights. What adds to the numbers
 * returns 0 or NB_NO_MEMORY, and then nothing was changed.
 *
 * Who trains a folder of spam and then a folder of ham shows the weights no document of which the
 * label was in doubt: the bias follows what came last. So a document of a label that comes far more
 * often than its share of the documents teaches less, and what it does not teach is made up for by
 * documents that are drawn from all that are living. With D documents, D_v of label v, before the
 * change, and recent documents c_v, C of which each fades by a factor of 1 - 1/20 with the next:
 *
 *     pi = (D_y + 1) / (D + 2)          the share of the label y among all documents
 *     q  = (c_y + 2 pi) / (C + 2)       and among recent ones
 *     w  = min(1, 8 (pi / (1 - pi)) / (q / (1 - q)))
 *
 * The document teaches with weight w. 1 - w is credit; for each whole of it a document that is
 * drawn teaches with weight 1, by its leave-one-out inputs. In a mixed stream w is 1.
 *
 * A document of a label that at most one other document has teaches nothing, whenever it is its
 * turn: what a label of one document looks like says more of that document than of the label.
 *
 * The weights are fitted anew (core/live/refit.h) when, with k_v the changes to documents of v, S
 * the sum of 1 - w and N the number of documents learned, all since the last refit began,
 *
 *     D <= 1000:  k_v >= max(4, D_v - k_v) for some v, and among the first 200 documents
 *                 k_v >= max(4, (D_v - k_v) / 4), or the second of two labels begins to teach; and
 *                 the k_v sum to D / 20
 *     D > 1000:   S >= 0.2 D;  or the part S_v of S that is of label v is >= max(0.02 D, 0.75 D_v):
 *                 most of a label was not taught;  or, when the writer has nothing to do,
 *                 S >= 0.02 D and S >= N / 2
 *     any D:      more than D / 10 were relabelled, replaced or forgotten, but not of age; or, when
 *                 the writer has nothing to do, max(4, D / 100)
 */
#ifndef NB_CORE_LIVE_ORDER_H
#define NB_CORE_LIVE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/random.h"
#include "core/weights/weights.h"

/* The weight of a document of a label that `of_label` of `documents` have, itself not among them.
 * Above 0, at most 1. */
double nb_order_weight(const struct nb_weights *order, uint32_t label, uint64_t of_label,
                       uint64_t documents);
/* Whether a document teaches whose label so many others have. */
bool nb_order_teaches(uint64_t others);
/* Whether a label of so many documents has just got the first that teaches. */
bool nb_order_begins_to_teach(uint64_t documents);
/* A document of the label has taught with this weight; the model has so many now. */
int nb_order_count(struct nb_weights *order, uint32_t label, double weight, uint64_t documents);
/* Takes one from the credit, if there is a whole one; nb_order_count has made room for that. */
bool nb_order_take_credit(struct nb_weights *order);

/* Whether a model of so many documents is fitted as it grows; larger ones when much was not taught.
 */
bool nb_order_is_small(uint64_t documents);

/* Whether the model was trained label by label: a fifth of what about its last 10,000 documents had
 * to teach was not taught in their turn. Then most of them were scored before they were learned by
 * a model that had seen little of their label, or of the others. */
bool nb_order_is_skewed(const struct nb_weights *order);

/* What is drawn next: a document that teaches again, a refit's sample and the order of its passes,
 * the order in which the twin learns anew. A function of how many documents were counted and refits
 * began, which the weights carry: so a model that learns the same documents in the same order draws
 * the same ones, whatever other models learn and however many REFIT entries lie between. */
enum nb_order_draw { NB_DRAW_LESSON, NB_DRAW_SAMPLE, NB_DRAW_PASS };
struct nb_random nb_order_random(const struct nb_weights *order, enum nb_order_draw what);

/* ---- refits ---------------------------------------------------------------------------------- */

/* A document of the label came, went, or changed; `of_label` have the label now. `amount`: what
 * that adds to k_v, 1 in a small model, and to S_v, what it did not teach, in a large one (k_v and
 * S_v are one number: a refit that is due to a label that was new when the model became large comes
 * some documents earlier). `back`: it was relabelled, replaced or forgotten. */
int nb_order_note(struct nb_weights *order, uint32_t label, uint64_t of_label, double amount,
                  bool back);

/* The second of two labels has the first document that teaches; the other label had it before. */
int nb_order_note_start(struct nb_weights *order);

/* Why a refit should begin now. */
enum nb_order_reason {
    NB_ORDER_NONE,
    NB_ORDER_GROWN,   /* small, and much of it is new */
    NB_ORDER_SKEWED,  /* much was not taught */
    NB_ORDER_REVISED, /* much was relabelled, replaced or forgotten: the weights are wrong */
};
enum nb_order_reason nb_order_reason(const struct nb_weights *order, uint64_t documents);
/* Whether one should begin if the writer has nothing else to do. */
bool nb_order_wants_idle(const struct nb_weights *order, uint64_t documents);

/* Why a refit begins, and so what it must do. */
enum nb_order_refit {
    NB_REFIT_OF_GROWTH,
    NB_REFIT_OF_SKEW, /* of what was not taught, or was revised, while there was other work */
    NB_REFIT_STALE,   /* the weights are wrong until it ends: they have missed documents, or have
                         learned from too many that are gone */
    NB_REFIT_ASKED,   /* nothing of a forgotten document shall be left: the twin learns anew */
};
/* A refit begins, of a model of so many documents: S, N, all k_v and what was taken back are 0.
 * What a refit that was lost had to do, the next one does. */
int nb_order_begin_refit(struct nb_weights *order, enum nb_order_refit why, uint64_t documents);
/* It ends, with weights that fit the constants of this number (nb_stack_fingerprint). */
int nb_order_end_refit(struct nb_weights *order, double fingerprint);
/* Whether a refit began that has not ended: also one that was lost with the process. */
bool nb_order_is_refitting(const struct nb_weights *order);
/* Whether the weights of a model of so many documents are wrong until the refit that began ends: it
 * began as one that is NB_REFIT_STALE, or more than a tenth was relabelled, replaced or forgotten
 * since the refit before, be it while this one is under way. */
bool nb_order_is_stale(const struct nb_weights *order, uint64_t documents);

/* Whether the twin of a model of so many documents, of so many labels, shall learn anew from all of
 * them, once, when the refit has found the stack's weights: at most 250, or at most 1,000 and the
 * sum of 1 - w since its last pass is a 20th of them; from 1,001 to 5,000, and to 30,000 if that is
 * at most 600,000 times a label. To 30,000 with any number of labels where the refit is of skew, or
 * the weights were stale; always where it was asked for. Else replays carry it, and documents that
 * came last have taught it least. */
bool nb_order_wants_pass(const struct nb_weights *order, uint64_t documents, uint32_t labels);
/* That begins. If it is lost, the next refit has one. */
int nb_order_begin_pass(struct nb_weights *order);

/* For which constants the weights were fitted, or learned from the first document on. 0: they have
 * missed documents. */
double nb_order_fingerprint(const struct nb_weights *order);
int nb_order_set_fingerprint(struct nb_weights *order, double fingerprint);
/* The weights have missed a document; no refit is under way. Does nothing if they had missed one
 * already. */
int nb_order_forget(struct nb_weights *order);

#endif
