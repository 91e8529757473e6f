/* SPDX-License-Identifier: Apache-2.0
 *
 * The attributes that a document has values of, each with what the weight of its evidence needs
 * (core/stack/score/stack_attributes.h, core/stack/blend/blend_attributes.h).
 *
 * Threads: a list belongs to one thread.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_PRESENT_H
#define NB_CORE_BAYES_ATTRIBUTE_PRESENT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/attribute.h"

struct nb_present_attribute {
    uint32_t number;   /* among those of the settings */
    uint32_t features; /* n_f: of the document, unseen ones too */
    uint32_t unique;   /* u_f: those that no other document has */
};

/* Zero-initialize it. */
struct nb_present_attributes {
    uint32_t count;
    struct nb_present_attribute list[NB_ATTRIBUTES_MOST];
    uint16_t places[NB_ATTRIBUTES_MOST]; /* by number: the place in `list` plus 1; 0: none */
};

static inline void nb_present_attributes_empty(struct nb_present_attributes *present)
{
    for (uint32_t place = 0; place < present->count; place++)
        present->places[present->list[place].number] = 0;
    present->count = 0;
}

/* Counts a feature of an attribute, which is part `part` of NB_FIELD_VALUE; `is_unique`: no other
 * document has it. Returns the attribute's place in the list. */
static inline uint32_t nb_present_attributes_add(struct nb_present_attributes *present,
                                                 unsigned part, bool is_unique)
{
    uint32_t number = part / 2;
    assert(number < NB_ATTRIBUTES_MOST);
    if (present->places[number] == 0) {
        present->list[present->count] = (struct nb_present_attribute){.number = number};
        present->places[number] = (uint16_t)++present->count;
    }
    struct nb_present_attribute *one = &present->list[present->places[number] - 1];
    one->features++;
    one->unique += is_unique;
    return present->places[number] - 1u;
}

#endif
