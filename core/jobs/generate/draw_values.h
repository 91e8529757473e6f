/* SPDX-License-Identifier: Apache-2.0
 *
 * Which values a document of a label has, drawn and not yet told. For
 * core/jobs/generate/sample_values.c alone. One thread.
 *
 * Each field draws from a series of its own, made of the seed and its place in the settings: first
 * whether the document has a value, with the share of the label's documents that have one; then of
 * each value in the order of the rows. So what is drawn is a function of the counts, the order of
 * the rows and the seed, and not of the store's key.
 *
 * A category has the value with the least ln(-ln u) - ln P / T, u uniform in (0, 1): then each has
 * it with its share (Gumbel 1954; the exponential clocks of Efraimidis and Spirakis 2006). A set
 * has a value where logit(u) is below logit(P) / T. A text has words at positions (draw_texts.h).
 * With structure tan categories are drawn from
 * the root of the tree on, and P is that given the parent's value, if the document has one.
 */
#ifndef NB_CORE_JOBS_GENERATE_DRAW_VALUES_H
#define NB_CORE_JOBS_GENERATE_DRAW_VALUES_H

#include "core/base/random.h"
#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"
#include "core/jobs/generate/positions.h"

struct nb_drawn_value {
    uint64_t feature;
    uint32_t row;
    bool is_there;
    double key; /* of a category: the least so far */
};

struct nb_drawn_member {
    struct nb_drawn_value value;
    size_t attribute;
};

struct nb_drawn_values {
    bool *has;                         /* owned; by attribute: the document has a value of it */
    struct nb_drawn_value *categories; /* owned; by attribute */
    struct nb_drawn_member *members;   /* owned; of sets, by attribute, then by row */
    size_t member_count, member_room;
    struct nb_positions *texts; /* owned; by attribute */
    size_t attributes;
};

/* Draws them. Takes one walk over the rows, a second one for texts, and with structure tan 32 bytes
 * for each value of a category. The caller deinits in any case. Returns 0, NB_CONFLICT (the label
 * has no documents) or NB_NO_MEMORY. */
int nb_draw_values(struct nb_label_walk *walk, const struct nb_sampling *sampling,
                   struct nb_drawn_values *drawn, struct nb_error *error);
void nb_drawn_values_deinit(struct nb_drawn_values *drawn);

#endif
