/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of a document's values of attributes (core/base/attribute.h) in the stack: each
 * attribute is a group of its own, beside those of the fields, with a weight of its own for each
 * expert. For core/stack/stack*.c and their tests; rules as in core/stack/stack.h.
 *
 * The formulas are those of a field, where T_v, T and V are the attribute's: so a category is one
 * feature, of which x_v is scale * e_v, a set or a text as many as it has values or words. That a
 * document has a value at all is no evidence. The total of all fields has none of it: one value
 * would vanish in it beside the words of a text. An attribute without a value in the document
 * adds nothing, and learns nothing.
 *
 * A number has the reading of core/bayes/attribute/numbers.h with the expert's a, also when
 * nobody has seen it, by two Gaussians or by the bin that it lies in, as the settings say. Only the
 * stack has its evidence, not the twin: the weight of a single number would rest on few documents.
 *
 * Values are few, so there are no short cuts as for fields, and no sums are kept between documents.
 */
#ifndef NB_CORE_STACK_STACK_ATTRIBUTES_H
#define NB_CORE_STACK_STACK_ATTRIBUTES_H

#include "core/base/attribute.h"
#include "core/stack/stack_private.h"

/* An attribute that the document has values of, with what the weight of its evidence needs. */
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

struct nb_stack_value {
    uint64_t id;
    uint32_t row;   /* NB_NO_ROW: nobody has seen it */
    uint32_t place; /* of its attribute, in `present` */
    /* It is evidence: a document other than the left-out one has it; or numbers that differ. */
    bool says;
};

struct nb_stack_attributes {
    struct nb_present_attributes present;
    uint32_t experts;              /* as many as when `x` was computed */
    struct nb_stack_value *values; /* owned */
    size_t size, room;
    double *x;       /* owned; [place][expert][label's place], as those of the fields */
    double *offsets; /* owned; [place][expert][column] */
    double *r;       /* owned; of the twin: [value][column]; of two labels the first's */
    size_t x_room, offset_room, r_room;
    const struct nb_numbers *numbers; /* borrowed, of the view; NULL: none is cut */
};

void nb_stack_attributes_free(struct nb_stack_attributes **attributes);
/* Forgets the document, if there was one. */
void nb_stack_attributes_empty(struct nb_stack_inputs *inputs);
/* Notes a feature of NB_FIELD_VALUE, whose row is `row` or NB_NO_ROW. Without memory the inputs
 * have failed. */
void nb_stack_attributes_note(struct nb_stack_inputs *inputs, uint64_t id, uint32_t row,
                              bool is_unique);
/* Computes what was noted, when the inputs of the fields and the twin's are there, to which it
 * adds. Returns 0 or NB_NO_MEMORY. */
int nb_stack_attributes_put(const struct nb_stack_pass *p);
/* Adds to the twin's part what nb_stack_attributes_put did, of two labels' inputs that were kept,
 * by the weights as they are now. */
void nb_stack_attributes_twin_again(const struct nb_stack_inputs *inputs);
/* Makes room for the inputs of `count` attributes, for readers of stored ones. Returns 0 or
 * NB_NO_MEMORY. */
int nb_stack_attributes_room(struct nb_stack_inputs *inputs, uint32_t count, unsigned experts);

/* Returns x of the attribute at a place for an expert, by label's place. */
static inline double *nb_stack_attribute_x(const struct nb_stack_inputs *inputs, uint32_t place,
                                           unsigned e)
{
    const struct nb_stack_attributes *a = inputs->attributes;
    assert(place < a->present.count && e < a->experts);
    return a->x + ((size_t)place * a->experts + e) * inputs->size;
}

/* x_w of the twin, of the features of the attribute at a place. */
double nb_stack_attribute_share(const struct nb_stack_inputs *inputs, uint32_t place);

/* r_v of an expert for the label at a place of the view, of a value that says something. */
double nb_stack_value_reading(const struct nb_stack_pass *p, const struct nb_stack_value *value,
                              unsigned e, uint32_t v);

/* The sum over the columns of e_v r_v, of a value that says something; the inputs were kept for a
 * twin. Errors as in struct nb_stack_evidence. */
double nb_stack_value_gradient(const struct nb_stack_inputs *inputs, size_t value);

#endif
