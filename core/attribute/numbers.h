/* SPDX-License-Identifier: Apache-2.0
 *
 * The attributes of a model that are numbers: what a number says of each label. With a density for
 * each, a continuous attribute adds its logarithm to a label's score (Mitchell 1997, section 6.9;
 * John and Langley 1995). A number that no document of the label had says as much as any other.
 *
 * Threads: as in core/attribute/attribute_scores.h, of which this is a part.
 */
#ifndef NB_CORE_ATTRIBUTE_NUMBERS_H
#define NB_CORE_ATTRIBUTE_NUMBERS_H

#include "core/attribute/gaussian.h"
#include "core/estimate/estimate.h"
#include "core/model/counts.h"

/* Of an attribute. */
struct nb_number_counts {
    bool is_number;
    struct nb_moments all; /* of all labels */
};

/* All zeros: there are none. */
struct nb_numbers {
    size_t count;                    /* of attributes, of whatever kind; 0: none is a number */
    uint32_t size;                   /* of labels */
    const uint32_t *names;           /* label numbers; borrowed */
    struct nb_number_counts *counts; /* by attribute; owned */
    struct nb_gaussian *gaussians;   /* [attribute * size + place]; owned */
    size_t room;                     /* of `gaussians` */
    double added; /* to the variances; 0: no number varies, and none says anything */
};

/* Makes them of the model's counts as they are, for labels that all have documents; `names` must
 * stay. Returns 0 or NB_NO_MEMORY. */
int nb_numbers_make(struct nb_numbers *numbers, const struct nb_settings *settings,
                    const struct nb_model *model, const uint32_t *names, uint32_t size);
void nb_numbers_deinit(struct nb_numbers *numbers);
size_t nb_numbers_memory(const struct nb_numbers *numbers);

/* Whether an attribute is a number. */
static inline bool nb_numbers_have(const struct nb_numbers *numbers, size_t attribute)
{
    return attribute < numbers->count && numbers->counts[attribute].is_number;
}

/* Whether a value of such an attribute says anything. */
bool nb_numbers_say(const struct nb_numbers *numbers, uint64_t id);

/* What a value that says anything brings to the label at `place`. */
struct nb_factor nb_numbers_factor(const struct nb_numbers *numbers, uint64_t id, uint32_t place);

/* How telling it is for the label at `place`: ln of its density less that of a Gaussian of the
 * numbers of all other labels together. 0 of what says nothing. */
double nb_numbers_evidence(const struct nb_numbers *numbers, const struct nb_model *model,
                           uint64_t id, uint32_t place);

#endif
