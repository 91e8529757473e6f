/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the weights independent of the order of training: decides how much a document teaches, and
 * when all weights are refitted. Pure functions on numbers that are stored with a model's weights
 * (nb_stack_weights_order). On the thread that changes the weights. Functions that add to the
 * numbers return 0, or NB_NO_MEMORY with nothing changed.
 *
 * If a folder of spam is trained and then a folder of ham, nearly each document has the label of
 * the document before it, and the bias follows the last label. So a document teaches with a smaller
 * weight if its label is far more frequent among recent documents than among all. The missing
 * weight goes to documents drawn at random from all current ones. Before the change there are D
 * documents, D_v of label v. Recent documents are counted in c_v and their sum C, which are
 * multiplied by 1 - 1/20 with each document:
 *
 *     pi = (D_y + 1) / (D + 2)          the share of the label y among all documents
 *     q  = (c_y + 2 pi) / (C + 2)       and among recent ones
 *     w  = min(1, 8 (pi / (1 - pi)) / (q / (1 - q)))
 *
 * The document teaches with weight w, and 1 - w is added to a credit. For each whole unit of the
 * credit, a document is drawn and teaches with weight 1, by its leave-one-out inputs. In a mixed
 * stream w is 1.
 *
 * A document teaches nothing while at most one other document has its label: the counts of a label
 * with one document say more about the document than about the label.
 *
 * The weights are refitted (core/model/refit.h) by the following rules. k_v are the changes
 * to documents of v, S is the sum of 1 - w and N the number of documents learned, all since the
 * last refit began.
 *
 *     D <= 1000:  k_v >= max(4, D_v - k_v) for some v, and among the first 200 documents
 *                 k_v >= max(4, (D_v - k_v) / 4), or the second of two labels begins to teach; and
 *                 the k_v sum to D / 20; or, as long as every document has taught with weight 1, as
 *                 in a mixed stream, to D / 2, and among the first 200 documents to D / 5
 *     D > 1000:   S >= 0.2 D;  or S_v, the part of S from label v, is >= max(0.02 D, 0.75 D_v):
 *                 most of the label was not taught, and N >= 0.1 D;  or, when the writer has
 *                 nothing to do, S >= 0.02 D and S >= N / 2
 *     any D:      more than D / 10 documents were relabelled, replaced or forgotten, not counting
 *                 those removed by ageing; or, when the writer has nothing to do, at least
 *                 max(4, D / 100)
 */
#ifndef NB_CORE_MODEL_ORDER_H
#define NB_CORE_MODEL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/random.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/live.h"
#include "core/stack/weights.h"

/* Returns the weight of a document, above 0 and at most 1. Among `documents` other documents,
 * `of_label` have its label. */
double nb_order_weight(const struct nb_weights *order, uint32_t label, uint64_t of_label,
                       uint64_t documents);
/* Returns the weight that a stored score (core/model/learner.h) marks first (`nth` 0) or
 * second. */
double nb_stored_score_weight(struct nb_string stored, unsigned nth);
/* Whether a document teaches if `others` other documents have its label. */
bool nb_order_teaches(uint64_t others);
/* Whether a label with `documents` documents has just got the first one that teaches. */
bool nb_order_begins_to_teach(uint64_t documents);
/* Notes that a document of the label has taught with this weight. The model now has `documents`
 * documents. */
int nb_order_count(struct nb_weights *order, uint32_t label, double weight, uint64_t documents);
/* Subtracts 1 from the credit, if it is at least 1, and returns whether it did. Needs no memory:
 * nb_order_count has allocated it. */
bool nb_order_take_credit(struct nb_weights *order);

/* Whether a model with this many documents is refitted as it grows. Larger models are refitted when
 * much was not taught. */
bool nb_order_is_small(uint64_t documents);

/* Whether the model was trained label by label: of about its last 10,000 documents, a fifth of the
 * weight was not taught when they came. Then most of their scores (before learning) come from a
 * model that had learned little of their label, or of the others. */
bool nb_order_is_skewed(const struct nb_weights *order);

/* The random numbers for drawing a document that teaches again, a refit's sample and the order of
 * its passes, or the order in which a new twin learns. Seeded by the numbers of documents counted
 * and of refits begun, which are stored with the weights. So a model that learns the same documents
 * in the same order draws the same ones, regardless of other models and of the number of REFIT
 * entries in between. A refit on request is seeded by the number of documents that the model has:
 * what was learned and taken back before leaves no trace in it. */
enum nb_order_draw { NB_DRAW_LESSON, NB_DRAW_SAMPLE, NB_DRAW_PASS };
struct nb_random nb_order_random(const struct nb_weights *order, enum nb_order_draw what);

/* ---- refits ---------------------------------------------------------------------------------- */

/* Notes that a document of the label was added, removed or changed; `of_label` documents have the
 * label now. `amount` is added to k_v in a small model (it is 1), or to S_v in a large one (it is
 * the weight that was not taught). k_v and S_v are one stored number: if a label was new when the
 * model became large, a refit for it comes some documents earlier. `back`: the document was
 * relabelled, replaced or forgotten. */
int nb_order_note(struct nb_weights *order, uint32_t label, uint64_t of_label, double amount,
                  bool back);

/* Notes that a document of the label was taken back: it does not count for k_v any more. */
int nb_order_note_forgotten(struct nb_weights *order, uint32_t label);

/* Whether the last `documents` may be taken back and learned again for the sake of the one before
 * them (core/model/rewind.h). All of them must have been learned since the last refit, which fitted
 * the weights to the documents at once. On average one document is learned again for each that
 * comes, and up to 1,024 at once. */
bool nb_order_may_rewind(const struct nb_weights *order, size_t documents);
/* Notes that `documents` were. */
int nb_order_note_rewind(struct nb_weights *order, size_t documents);

/* Notes that the second of two labels has got its first document that teaches. */
int nb_order_note_start(struct nb_weights *order);

/* Why a refit should begin now. */
enum nb_order_reason {
    NB_ORDER_NONE,
    NB_ORDER_GROWN,   /* small model, much of it is new */
    NB_ORDER_SKEWED,  /* much was not taught */
    NB_ORDER_REVISED, /* much was relabelled, replaced or forgotten: the weights are wrong */
};
enum nb_order_reason nb_order_reason(const struct nb_weights *order, uint64_t documents);
/* Whether a refit should begin if the writer is idle. */
bool nb_order_wants_idle(const struct nb_weights *order, uint64_t documents);

/* Why a refit begins, and so what it must do. */
enum nb_order_refit {
    NB_REFIT_OF_GROWTH,
    NB_REFIT_OF_SKEW, /* when the writer was idle: much was not taught, or some was revised */
    NB_REFIT_STALE,   /* the weights are wrong until it ends: they have missed documents, or learned
                         from too many that are gone */
    NB_REFIT_ASKED,   /* requested: no trace of forgotten documents may remain, so the twin learns
                         anew, too */
};
/* Notes that a refit begins, of a model with `documents` documents: sets S, N, all k_v and the
 * number of revised documents to 0. If the previous refit was lost, this one takes over its duties.
 */
int nb_order_begin_refit(struct nb_weights *order, enum nb_order_refit why, uint64_t documents);
/* Returns the greatest number of documents to which a refit that has begun fits the weights. The
 * model has `documents` documents and `labels` labels. If a small model is fitted as it grows, and
 * every document has taught with weight 1, the number is 250, or 25 for each label if that is more.
 * If a large model is fitted as it grows, it is 1,000, or 25 for each label. Else it is UINT64_MAX
 * (core/model/refit.c has bounds of its own). */
uint64_t nb_order_sample_most(const struct nb_weights *order, enum nb_order_refit why,
                              uint64_t documents, uint32_t labels);
/* Notes that the refit ends, with weights for the constants of this fingerprint
 * (nb_stack_fingerprint). */
int nb_order_end_refit(struct nb_weights *order, double fingerprint);
/* Whether a refit began and has not ended, even if it was lost when the process ended. */
bool nb_order_is_refitting(const struct nb_weights *order);
/* Whether the weights of a model with `documents` documents are wrong until the present refit ends:
 * it began as NB_REFIT_STALE, or more than a tenth of the documents was relabelled, replaced or
 * forgotten since the refit before it, even if during this one. */
bool nb_order_is_stale(const struct nb_weights *order, uint64_t documents);

/* Whether a new twin must learn once from all documents (a pass) after the refit has fitted the
 * stack's weights. A pass is needed: always if the refit was requested; up to 30,000 documents if
 * the refit is NB_REFIT_OF_SKEW or the weights were stale; up to 250 documents, or 100 as long as
 * every document has taught with weight 1; up to 1,000 if the sum of 1 - w since the last pass is a
 * 20th of the documents; from 1,001 to 5,000, and up to 30,000 if documents times labels are at
 * most 600,000, if that sum is a fifth of the documents. Without a pass the twin learns from the
 * drawn documents alone, and least from the newest ones. */
bool nb_order_wants_pass(const struct nb_weights *order, uint64_t documents, uint32_t labels);
/* How often the twin learns from each document in the pass: twice if the refit was requested, or if
 * documents were relabelled, replaced or forgotten before it, since nothing of the old twin may
 * stay then; else once. */
unsigned nb_order_pass_times(const struct nb_weights *order);
/* Notes that a pass begins. If it is lost, the next refit has one. */
int nb_order_begin_pass(struct nb_weights *order);

/* The fingerprint of the constants that the weights were fitted for, or have learned with since the
 * first document. 0: they have missed documents. */
double nb_order_fingerprint(const struct nb_weights *order);
int nb_order_set_fingerprint(struct nb_weights *order, double fingerprint);
/* Notes, while no refit is under way, that the weights have missed a document. Does nothing if that
 * was noted before. */
int nb_order_forget(struct nb_weights *order);

/* ---- drawn documents ------------------------------------------------------------------------- */

/* Weights learn once more from documents of the ledger: in refits, and in place of new documents
 * that teach with less weight than 1. The inputs of such a document are computed without its own
 * counts (leave-one-out). The comment of each function names its threads. */

/* A document of the ledger from which the weights learn. `{0}` is empty; reused. */
struct nb_drawn {
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_stack_inputs inputs; /* leave-one-out */
    uint64_t others; /* set by nb_drawn_lesson: other documents of its label; 0: no such entry */
};
void nb_drawn_deinit(struct nb_drawn *drawn);
/* Reads the document of a current entry, and computes its inputs, including those from the twin of
 * `twin` (NULL: none). *found is false if there is nothing to learn: the document is the only one
 * of its label, or the entry is no longer in the ledger (as in a replay), or was changed. Any
 * thread may call it under the model's read lock. Returns 0 or a code. */
int nb_drawn_read(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_published *published, const struct nb_view *view, uint64_t number,
                  const struct nb_stack_weights *twin, bool *found);
/* As nb_drawn_read, for a document that is to teach, on the thread that changes the model. *found
 * is false, and no inputs are computed, if the document does not teach (nb_order_teaches). */
int nb_drawn_lesson(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                    uint64_t number, const struct nb_stack_weights *twin, bool *found);
/* Whether the inputs of a document that is to teach should be kept for the twin of `twin`. */
bool nb_drawn_keeps(const struct nb_model *counts, const struct nb_stack_weights *twin);
/* Teaches a document to the twin of `weights`, from its leave-one-out inputs. Computes the inputs
 * again, from the document's rows, if the twin needs more of them. On the thread that changes the
 * model. Returns 0 or a code. */
int nb_drawn_teach_twin(const struct nb_live *live, struct nb_stack_weights *weights,
                        struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label,
                        double weight);

/* Teaches the weights a document, as nb_drawn_teach_twin and then nb_stack_learn: the twin learns
 * first, from the scores that the stack had before this step. No other function does this. */
int nb_drawn_teach(const struct nb_live *live, struct nb_stack_weights *weights,
                   struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label,
                   double weight);

/* The two parts of nb_drawn_lesson. nb_drawn_entry reads the entry from the ledger, on the thread
 * that owns the transaction of `view`. nb_drawn_rest does the rest, on any thread while nobody
 * changes the model. Return 0; NB_NOT_FOUND, NB_CORRUPT or NB_CONFLICT, which say that there is
 * nothing to learn; or another code. */
int nb_drawn_entry(struct nb_drawn *drawn, const struct nb_live *live, const struct nb_view *view,
                   uint64_t number);
int nb_drawn_rest(struct nb_drawn *drawn, const struct nb_live *live,
                  const struct nb_stack_weights *twin);
/* Returns the code, or 0 if the code means that there is nothing to learn. */
int nb_drawn_unless_missing(int code);

#endif
