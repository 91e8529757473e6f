/* SPDX-License-Identifier: Apache-2.0
 *
 * The attributes of a model that are numbers, and the evidence of a number for each label. By the
 * setting `number` the evidence is
 *
 * - the logarithm of its density under a Gaussian of the label's numbers (bins.h), also if no
 *   document had this number;
 * - that of the estimate of the bin that it lies in, of bins as the values of a category (bins.h);
 * - or the better predictor of the two (auto): the one with the smaller mean log-loss over the
 * documents that have a number, where each is predicted from its number alone by the numbers of all
 * others (leave-one-out). A label's prior there is its share of these others; documents of labels
 * with one number are passed over; the borders of bins, and what is added to variances, stay those
 * of all. Of more than 512 different numbers (number_loss.h) only 512 are left out: in their order
 * they are cut into so many groups of the same size, and one number of each, drawn by the place of
 * the group, stands for it. On a tie the Gaussian is taken. So the choice is a function of the
 * counts and the settings, and the same after a replay, on another node and after --rebuild.
 *
 * Gaussians follow from sums; for bins the different numbers are walked over once for each
 * generation of the counts, in their order (bins.h).
 *
 * Threads: as in core/bayes/attribute/attribute_scores.h, of which this is a part.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_NUMBERS_H
#define NB_CORE_BAYES_ATTRIBUTE_NUMBERS_H

#include "core/bayes/attribute/bins.h"
#include "core/counts/counts.h"

/* The numbers of an attribute. */
struct nb_number_counts {
    bool is_number;
    bool is_cut;           /* into bins, and these speak */
    struct nb_bins bins;   /* owned; with `number` bins and auto */
    struct nb_moments all; /* of all labels */
};

/* All zeros: there are none. */
struct nb_numbers {
    size_t count;                       /* of attributes, of whatever kind; 0: none is a number */
    uint32_t size;                      /* of labels */
    const uint32_t *names;              /* label numbers; borrowed */
    struct nb_number_counts *counts;    /* by attribute; owned */
    struct nb_gaussian *gaussians;      /* [attribute * size + place]; owned */
    struct nb_number_list list;         /* the numbers to cut into bins; owned */
    size_t room;                        /* of `gaussians` */
    const struct nb_settings *settings; /* borrowed */
    double added; /* to the variances; 0: no number varies, and none says anything */
};

/* Makes the numbers from the model's current counts, for labels that have documents; `names` and
 * `settings` must stay. Returns 0 or NB_NO_MEMORY. */
int nb_numbers_make(struct nb_numbers *numbers, const struct nb_settings *settings,
                    const struct nb_model *model, const uint32_t *names, uint32_t size);
void nb_numbers_deinit(struct nb_numbers *numbers);
/* Whether the settings let numbers of any attribute be cut into bins. */
bool nb_numbers_may_be_cut(const struct nb_settings *settings);
size_t nb_numbers_memory(const struct nb_numbers *numbers);

/* Whether an attribute is a number. */
static inline bool nb_numbers_have(const struct nb_numbers *numbers, size_t attribute)
{
    return attribute < numbers->count && numbers->counts[attribute].is_number;
}

/* The Gaussian of the label at `place`, also where bins speak; NULL where no number varies. */
const struct nb_gaussian *nb_numbers_gaussian(const struct nb_numbers *numbers, size_t attribute,
                                              uint32_t place);

/* Whether a value of a number attribute is evidence. */
bool nb_numbers_say(const struct nb_numbers *numbers, uint64_t id);

/* Returns the factor of a value that is evidence, for the label at `place`. */
struct nb_factor nb_numbers_factor(const struct nb_numbers *numbers, const struct nb_model *model,
                                   uint64_t id, uint32_t place);

/* How telling the value is for the label at `place`: ln of its density, or of the estimate of its
 * bin, less that for the numbers of all other labels together. 0 if the value is no evidence. */
double nb_numbers_evidence(const struct nb_numbers *numbers, const struct nb_model *model,
                           uint64_t id, uint32_t place);

#endif
