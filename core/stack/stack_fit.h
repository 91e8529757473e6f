/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights fitted anew: the leave-one-out inputs of many documents are collected, and weights learn
 * from them in several passes, beginning with the start values. One thread; a fit belongs to one
 * model.
 *
 * A weight then depends on the documents and their counts alone, not on the order of learning. The
 * sums of squares are divided by 3, because each document came in 3 passes: so the steps that
 * follow are as large as after one pass. The losses are those of the last pass alone, scaled to the
 * number of documents of the model: L times M(D) / M(n), with M(k) = memory (1 - (1 -
 * 1/memory)^k), the sum of k ones that fade.
 */
#ifndef NB_CORE_STACK_STACK_FIT_H
#define NB_CORE_STACK_STACK_FIT_H

#include "core/base/random.h"
#include "core/stack/stack.h"

struct nb_stack_fit;

enum { NB_STACK_FIT_PASSES = 3 };

/* With the settings of the stack, for `size` documents, which have these numbers (copied). The
 * order of each pass is drawn from `random`. NULL: out of memory. */
struct nb_stack_fit *nb_stack_fit_new(const struct nb_stack *stack, struct nb_random random,
                                      const uint64_t *numbers, uint32_t size);
void nb_stack_fit_free(struct nb_stack_fit **fit);
/* Bytes that it takes; 0 for NULL. */
size_t nb_stack_fit_memory(const struct nb_stack_fit *fit);

/* Sets *number to that of the next document whose inputs are wanted. false: there is none left. */
bool nb_stack_fit_next(struct nb_stack_fit *fit, uint64_t *number);
/* Returns the last `count` documents from nb_stack_fit_next unread; they come next again. */
void nb_stack_fit_return(struct nb_stack_fit *fit, size_t count);
/* Takes the inputs of a document over, about 20 bytes for each label and field that the document
 * has. Of more than two labels, ones that the first document's inputs did not have are left out.
 * Returns 0, NB_CONFLICT (a label of the first document's inputs is missing, or there were at most
 * two, and are others) or NB_NO_MEMORY. */
int nb_stack_fit_add(struct nb_stack_fit *fit, const struct nb_stack_inputs *inputs,
                     uint32_t label);
/* Does one step after all inputs are added, unless all passes are done. Sets *cost to its cost, in
 * units of about two nanoseconds. Returns 0 or NB_NO_MEMORY. */
int nb_stack_fit_step(struct nb_stack_fit *fit, uint64_t *cost);
bool nb_stack_fit_is_done(const struct nb_stack_fit *fit);

/* When all passes are done, of a model of so many documents: the weights are as after one pass, and
 * the inputs are freed. */
void nb_stack_fit_close(struct nb_stack_fit *fit, uint64_t documents);
/* The weights of the fit, with the twin's start values. After nb_stack_fit_close they may learn
 * further, and their twin; the caller commits what they learn. */
struct nb_stack_weights *nb_stack_fit_weights(struct nb_stack_fit *fit);
/* Puts the weights of a closed fit in the place of those for as many labels as the inputs had;
 * weights for the other number of labels stay. `with_twin`: and the twin, which the fit loses. All
 * of it at once, under the lock of `weights`, which is taken; can be rolled back. Returns 0, or
 * NB_NO_MEMORY with nothing changed. */
int nb_stack_fit_finish(struct nb_stack_fit *fit, bool with_twin, struct nb_stack_weights *weights);

/* A number for the constants of the stack, and the start values: weights that were fitted with
 * others do not fit. `with_twin`: for weights of which the twin has seen the documents, too. Above
 * 0, and exact as a double. */
double nb_stack_fingerprint(const struct nb_stack *stack, bool with_twin);
/* Returns the fingerprint of the stack when the fit began. */
double nb_stack_fit_fingerprint(const struct nb_stack_fit *fit);

#endif
