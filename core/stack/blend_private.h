/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a blend, for core/stack/blend and its tests. Rules as in core/stack/blend.h.
 */
#ifndef NB_CORE_STACK_BLEND_PRIVATE_H
#define NB_CORE_STACK_BLEND_PRIVATE_H

#include <math.h>

#include "core/stack/blend.h"
#include "core/stack/stack_attributes.h"

struct nb_blend_value {
    uint64_t id;
    uint32_t rows[NB_BLEND_MOST];
    uint32_t place; /* place of its attribute in `present` */
};

struct nb_blend_attributes {
    struct nb_present_attributes present;
    struct nb_blend_value *values; /* owned; in the order of the bag */
    size_t size, room;
    double *offsets; /* owned; [place][expert][label] */
    size_t offset_room;
    double *work; /* owned; the block of these arrays, by label: */
    double *sums, *stack, *twin;
    struct nb_normal *own, *rest; /* owned; by label: numbers of the attribute read last */
    struct nb_normal all;
    size_t work_room, own_room, rest_room;
};

static inline const struct nb_stack_bank *nb_blend_bank(const struct nb_blend *b)
{
    return nb_stack_bank(&b->stack, b->size);
}

/* x of an expert and a group, by label. */
static inline double *nb_blend_x(const struct nb_blend *b, unsigned e, unsigned group)
{
    return b->x + ((size_t)e * NB_STACK_GROUPS + group) * b->size;
}

static inline double *nb_blend_twin_sums(const struct nb_blend *b, unsigned field)
{
    return b->twin + (size_t)field * b->size;
}

/* A sum of the view for a label over a field, or over all token fields (NB_FIELDS); and V. */
double nb_blend_sum(const struct nb_blend *b, uint32_t place, unsigned field, bool presences);
double nb_blend_vocabulary(const struct nb_blend *b, unsigned field);
/* Sets *w to the weights of all sources together, for models of so many labels. */
void nb_blend_put_weights(const struct nb_blend *b, uint32_t labels, struct nb_stack_mix *w);

/* Puts the view's counts of a feature into the blend: `rows[i]` is its row in source i, or
 * NB_NO_ROW. Returns whether a document has the feature. */
bool nb_blend_read(struct nb_blend *b, const uint32_t rows[NB_BLEND_MOST]);
/* The rows of a feature in all sources. */
void nb_blend_find(const struct nb_blend *b, uint64_t id, uint32_t rows[NB_BLEND_MOST]);

/* Computes the offsets of a field unless they exist. */
void nb_blend_put_offsets(struct nb_blend *b, unsigned field);
/* By the book: computes sums, denominators and the priors, from which the scores start. */
void nb_blend_put_sums(struct nb_blend *b);
/* Makes b->values for a model whose parent gives p, or for a single source. Places of labels are
 * the same there as in the blend. Returns 0 or NB_NO_MEMORY. */
int nb_blend_put_values(struct nb_blend *b);
/* Adds a feature of NB_FIELD_VALUE to the products, and counts it. */
void nb_blend_add_value(struct nb_blend *b, const struct nb_feature *feature,
                        struct nb_scores *book);
/* Adds the products of a document to the scores, and resets them for the next document. */
void nb_blend_end_values(struct nb_blend *b);
/* Sets *evidence of a value for one label over another; returns whether it is evidence. */
bool nb_blend_explain_value(struct nb_blend *b, const struct nb_feature *feature, uint32_t best,
                            uint32_t second, double *evidence);
/* u of a feature; the bias of a label for an expert; the bias of a label for the twin. */
double nb_blend_slot(const struct nb_blend *b, uint64_t id);
double nb_blend_bias(const struct nb_blend *b, unsigned e, uint32_t place);
double nb_blend_twin_bias(const struct nb_blend *b, uint32_t place);

/* sign(r) |r|^power. */
static inline double nb_blend_power(double power, double r)
{
    double size = fabs(r);
    bool is_root = !(power < 1.5) && !(power > 1.5); /* exact as a double */
    return is_root ? r * sqrt(size) : copysign(pow(size, power), r);
}

/* Whether a document counts a word once. */
static inline bool nb_blend_is_binary(const struct nb_blend *b)
{
    return b->settings->event_model == NB_EVENT_BINARY;
}

static inline bool nb_blend_has_twin(const struct nb_blend *b)
{
    return b->is_stacked && b->stack.twin && b->size > 1;
}

#endif
