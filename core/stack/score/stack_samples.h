/* SPDX-License-Identifier: Apache-2.0
 *
 * The leave-one-out inputs of many documents, as a fit keeps them until it has learned from them:
 * about 20 bytes for each label and field that a document has. They belong to one thread.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_SAMPLES_H
#define NB_CORE_STACK_SCORE_STACK_SAMPLES_H

#include "core/stack/score/stack.h"

/* A document: the values of those groups that it has, [group][expert][column], and behind them
 * those of its attributes, likewise. With two labels the second column is minus the first, and is
 * left out. */
struct nb_stack_sample {
    size_t first; /* of its values */
    uint32_t label;
    uint32_t groups;        /* 1u << group */
    size_t first_attribute; /* of the numbers of its attributes */
    uint32_t attributes;    /* how many it has */
};

struct nb_stack_samples {
    struct nb_stack_inputs inputs; /* of the sample at hand; its labels are those of all */
    uint32_t *places; /* owned; of its labels among those of the inputs that are taken over */
    struct nb_stack_sample *list; /* owned */
    size_t size, room;
    double *values; /* owned; of all samples */
    size_t value_count, value_room;
    uint8_t *attributes; /* owned; of all samples: numbers */
    size_t attribute_count, attribute_room;
};

void nb_stack_samples_init(struct nb_stack_samples *s);
void nb_stack_samples_deinit(struct nb_stack_samples *s);
/* Bytes that the samples take. */
size_t nb_stack_samples_memory(const struct nb_stack_samples *s);

/* How many experts the inputs are of; 0: there are none yet. */
unsigned nb_stack_samples_experts(const struct nb_stack_samples *s);

/* Takes the inputs of a document over. Of more than two labels, ones that the first document's
 * inputs did not have are left out. Returns 0, NB_CONFLICT (a label of the first document's inputs
 * is missing, or there were at most two, and are others) or NB_NO_MEMORY. */
int nb_stack_samples_add(struct nb_stack_samples *s, const struct nb_stack_inputs *inputs,
                         uint32_t label);

/* Puts a sample into s->inputs. Returns 0 or NB_NO_MEMORY. */
int nb_stack_samples_take(struct nb_stack_samples *s, const struct nb_stack_sample *sample);

/* Frees the samples. How many there were, and their labels, stays. */
void nb_stack_samples_drop(struct nb_stack_samples *s);

#endif
