/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of a document's values of attributes (core/base/attribute.h) in the stack: each
 * attribute is a group of its own, beside those of the fields, with a weight of its own for each
 * expert. For core/stack/stack*.c and their tests; rules as in core/stack/stack.h.
 *
 * The formulas are those of a field, with T_v, T and V of the attribute. So a category is one
 * feature, with x_v = scale * e_v; a set or a text has as many features as values or words. The
 * mere presence of a value is no evidence. Attributes are not part of the total of all fields,
 * because one value would vanish there beside the words of a text. An attribute without a value in
 * the document adds nothing and learns nothing.
 *
 * A number, even one that no document has, is read as in core/bayes/numbers.h with the
 * expert's a: by two Gaussians or by its bin, as the settings say. Only the stack uses this
 * evidence, not the twin: the twin's weight of a single number would rest on few documents.
 *
 * Values are few, so there are no short cuts as for fields, and no sums are kept between documents.
 */
#ifndef NB_CORE_STACK_STACK_ATTRIBUTES_H
#define NB_CORE_STACK_STACK_ATTRIBUTES_H

#include "core/base/attribute.h"
#include "core/stack/stack_private.h"

/* An attribute of which the document has values, with the counts that its evidence needs. */
struct nb_present_attribute {
    uint32_t number;   /* of the attribute in the settings */
    uint32_t features; /* n_f: its features in the document, unseen ones too */
    uint32_t unique;   /* u_f: those of them that no other document has */
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

/* Counts a feature in part `part` of NB_FIELD_VALUE for its attribute; `is_unique`: no other
 * document has the feature. Returns the attribute's place in the list. */
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
    uint32_t row;   /* NB_NO_ROW: no document has the value */
    uint32_t place; /* place of its attribute in `present` */
    /* The value is evidence: a document other than the left-out one has it; or it is a number, and
     * numbers differ. */
    bool says;
};

struct nb_stack_attributes {
    struct nb_present_attributes present;
    uint32_t experts;              /* number of experts when `x` was computed */
    struct nb_stack_value *values; /* owned */
    size_t size, room;
    double *x;       /* owned; [place][expert][label's place], as x of the fields */
    double *offsets; /* owned; [place][expert][column] */
    double *r;       /* owned; for the twin: [value][column]; with two labels the first's */
    size_t x_room, offset_room, r_room;
    const struct nb_numbers *numbers; /* borrowed from the view; NULL: no number is cut */
};

void nb_stack_attributes_free(struct nb_stack_attributes **attributes);
/* Forgets the document, if there was one. */
void nb_stack_attributes_empty(struct nb_stack_inputs *inputs);
/* Notes a feature of NB_FIELD_VALUE, whose row is `row` or NB_NO_ROW. Out of memory, it marks the
 * inputs as failed. */
void nb_stack_attributes_note(struct nb_stack_inputs *inputs, uint64_t id, uint32_t row,
                              bool is_unique);
/* Computes the inputs of the noted values and adds to the twin's part. Call it after the inputs of
 * the fields and of the twin are computed. Returns 0 or NB_NO_MEMORY. */
int nb_stack_attributes_put(const struct nb_stack_pass *p);
/* Adds to the twin's part what nb_stack_attributes_put added, by the present weights. For kept
 * inputs of two labels. */
void nb_stack_attributes_twin_again(const struct nb_stack_inputs *inputs);
/* Makes room for the inputs of `count` attributes, for code that reads stored inputs. Returns 0 or
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

/* x_w of the twin for the features of the attribute at a place. */
double nb_stack_attribute_share(const struct nb_stack_inputs *inputs, uint32_t place);

/* r_v of a value that is evidence, for an expert and the label at place `v` of the view. */
double nb_stack_value_reading(const struct nb_stack_pass *p, const struct nb_stack_value *value,
                              unsigned e, uint32_t v);

/* The sum of e_v r_v over the columns, for a value that is evidence; e_v are the errors of struct
 * nb_stack_evidence. The inputs must have been kept for a twin. */
double nb_stack_value_gradient(const struct nb_stack_inputs *inputs, size_t value);

#endif
