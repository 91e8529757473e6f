/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents of the ledger that weights learn from once more: in refits, and when one is drawn
 * because a new one did not teach (order.h). Their inputs are computed without their own counts
 * (leave-one-out). Threads as each function says.
 */
#ifndef NB_CORE_MODEL_LEARN_DRAWN_H
#define NB_CORE_MODEL_LEARN_DRAWN_H

#include "core/ledger/coding/rows_coding.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/live.h"

/* A document of the ledger that the weights learn from. `{0}` is empty; reused. */
struct nb_drawn {
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_stack_inputs inputs; /* leave-one-out */
    uint64_t others; /* of nb_drawn_lesson: documents of the same label, if it is there */
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
