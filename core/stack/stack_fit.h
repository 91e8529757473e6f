/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits weights anew: collects the leave-one-out inputs of many documents, and lets weights learn
 * from them in several passes, beginning with the start values. One thread; a fit belongs to one
 * model.
 *
 * The weights then depend only on the documents and their counts, not on the order of learning. The
 * sums of squares are divided by 3, because each document was learned in 3 passes, so that later
 * steps are as large as after one pass. The losses are those of the last pass alone, scaled to the
 * number of documents of the model: L times M(D) / M(n). M(k) = memory (1 - (1 - 1/memory)^k) is
 * what k losses of 1 sum to, if each loss multiplies the sum before it by 1 - 1/memory.
 */
#ifndef NB_CORE_STACK_STACK_FIT_H
#define NB_CORE_STACK_STACK_FIT_H

#include "core/base/random.h"
#include "core/stack/stack.h"

struct nb_stack_fit;

enum { NB_STACK_FIT_PASSES = 3 };

/* Begins a fit with the settings of the stack, for the `size` documents with these numbers
 * (copied). `random` determines the order of each pass. NULL: out of memory. */
struct nb_stack_fit *nb_stack_fit_new(const struct nb_stack *stack, struct nb_random random,
                                      const uint64_t *numbers, uint32_t size);
void nb_stack_fit_free(struct nb_stack_fit **fit);
/* Bytes of memory; 0 for NULL. */
size_t nb_stack_fit_memory(const struct nb_stack_fit *fit);

/* Sets *number to the number of the next document whose inputs are wanted. False: none is left. */
bool nb_stack_fit_next(struct nb_stack_fit *fit, uint64_t *number);
/* Gives back the last `count` documents of nb_stack_fit_next, which will return them again. */
void nb_stack_fit_return(struct nb_stack_fit *fit, size_t count);
/* Copies the inputs of a document: about 20 bytes for each label and each field of the document.
 * With more than two labels, labels that the first document's inputs did not have are ignored.
 * Returns 0, NB_CONFLICT (a label of the first document's inputs is missing, or there were at most
 * two labels and their number has changed) or NB_NO_MEMORY. */
int nb_stack_fit_add(struct nb_stack_fit *fit, const struct nb_stack_inputs *inputs,
                     uint32_t label);
/* Does one step after all inputs are added, unless all passes are done. Sets *cost to its cost, in
 * units of about two nanoseconds. Returns 0 or NB_NO_MEMORY. */
int nb_stack_fit_step(struct nb_stack_fit *fit, uint64_t *cost);
bool nb_stack_fit_is_done(const struct nb_stack_fit *fit);

/* Ends the fit after all passes, for a model of `documents` documents: scales the weights' state to
 * that after one pass, and frees the inputs. */
void nb_stack_fit_close(struct nb_stack_fit *fit, uint64_t documents);
/* The weights of the fit, with the twin's start values. After nb_stack_fit_close they and their
 * twin may learn further; the caller commits what they learn. */
struct nb_stack_weights *nb_stack_fit_weights(struct nb_stack_fit *fit);
/* Replaces, in `weights`, the set for as many labels as the inputs had (two, or more) by that of a
 * closed fit; the other set stays. `with_twin`: also moves the twin out of the fit. Takes the lock
 * of `weights` once, so that all changes appear together; they can be rolled back. Returns 0, or
 * NB_NO_MEMORY with nothing changed. */
int nb_stack_fit_finish(struct nb_stack_fit *fit, bool with_twin, struct nb_stack_weights *weights);

/* Returns a number that identifies the constants of the stack and the start values: weights that
 * were fitted with another number are unsuitable. `with_twin`: for weights whose twin has learned
 * the documents, too. The number is above 0 and exact as a double. */
double nb_stack_fingerprint(const struct nb_stack *stack, bool with_twin);
/* Returns the fingerprint of the stack when the fit began. */
double nb_stack_fit_fingerprint(const struct nb_stack_fit *fit);

#endif
