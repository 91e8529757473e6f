/* SPDX-License-Identifier: Apache-2.0
 *
 * The numeric attributes of a model, and the evidence of a number for each label. Depending on the
 * setting `number` the evidence is
 *
 * - the logarithm of its density under a Gaussian of the label's numbers (bins.h), also if no
 *   document had this number;
 * - the logarithm of the estimate for its bin, where bins are values of a category (bins.h);
 * - or the better predictor of the two (auto): the one with the smaller mean log-loss over the
 * documents that have a number. Each document is predicted from its number alone by the numbers of
 * all others (leave-one-out). A label's prior is its share of these others; documents of labels
 * with one number are skipped; the borders of bins, and what is added to variances, stay those of
 * all documents. If there are more than 512 different numbers, only 512 are left out: the sorted
 * numbers are cut into 512 groups of the same size, and one number of each group, drawn by the
 * place of the group, stands for it. A tie goes to the Gaussian. So the choice is a function of the
 * counts and the settings, and is the same after a replay, on another node and after --rebuild.
 *
 * Gaussians follow from sums. For bins, one walk over the sorted different numbers is needed for
 * each generation of the counts (bins.h).
 *
 * Threads: as in core/bayes/attribute_scores.h, of which this is a part.
 */
#ifndef NB_CORE_BAYES_NUMBERS_H
#define NB_CORE_BAYES_NUMBERS_H

#include "core/bayes/bins.h"
#include "core/counts/counts.h"

/* ---- bins or Gaussians ----------------------------------------------------------------------- */

enum { NB_NUMBERS_COMPARED = 512 }; /* at most so many different numbers are left out */

/* An attribute whose numbers vary; all pointers are borrowed. */
struct nb_number_field {
    const struct nb_settings *settings;
    const uint32_t *names; /* label numbers */
    uint32_t size;         /* of labels */
    size_t attribute;
    const struct nb_bins *bins;
    const struct nb_moments *all;        /* of the numbers of all labels */
    const struct nb_gaussian *gaussians; /* by place */
    double added;                        /* added to variances */
};

/* Sets *bins_are_better to whether bins have the smaller loss over the attribute's numbers, or over
 * the sample that stands for them. Time: sampled numbers times labels, for each label that has
 * them, plus bins times labels squared, plus one look at every number. Returns 0 or NB_NO_MEMORY.
 */
int nb_number_compare(const struct nb_number_field *field, const struct nb_model *model,
                      const struct nb_number_span *numbers, bool *bins_are_better);

/* The numbers of an attribute. */
struct nb_number_counts {
    bool is_number;
    bool is_cut;           /* the evidence comes from bins */
    struct nb_bins bins;   /* owned; if the setting `number` is bins or auto */
    struct nb_moments all; /* of all labels */
};

/* All zeros: no numeric attributes. */
struct nb_numbers {
    size_t count;                       /* of attributes of any kind; 0: none is a number */
    uint32_t size;                      /* of labels */
    const uint32_t *names;              /* label numbers; borrowed */
    struct nb_number_counts *counts;    /* by attribute; owned */
    struct nb_gaussian *gaussians;      /* [attribute * size + place]; owned */
    struct nb_number_list list;         /* the numbers to cut into bins; owned */
    size_t room;                        /* of `gaussians` */
    const struct nb_settings *settings; /* borrowed */
    double added; /* added to variances; 0: no attribute's numbers vary, and none is evidence */
};

/* Makes the numbers from the model's current counts, for labels that have documents; `names` and
 * `settings` must outlive *numbers. Returns 0 or NB_NO_MEMORY. */
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

/* The Gaussian of the label at `place`, even if the evidence comes from bins; NULL if no
 * attribute's numbers vary. */
const struct nb_gaussian *nb_numbers_gaussian(const struct nb_numbers *numbers, size_t attribute,
                                              uint32_t place);

/* Whether a value of a number attribute is evidence. */
bool nb_numbers_say(const struct nb_numbers *numbers, uint64_t id);

/* Returns the factor of a value that is evidence, for the label at `place`. */
struct nb_factor nb_numbers_factor(const struct nb_numbers *numbers, const struct nb_model *model,
                                   uint64_t id, uint32_t place);

/* Returns how telling the value is for the label at `place`: ln of its density, or of the estimate
 * of its bin, minus the same for all other labels together. 0 if the value is no evidence. */
double nb_numbers_evidence(const struct nb_numbers *numbers, const struct nb_model *model,
                           uint64_t id, uint32_t place);

/* ---- readings of the stack ---------------------------------------------------------------------
 *
 * The evidence of a number for a label against all others together, as the stack reads counts
 * (core/stack/stack.h): with or without leave-one-out, and smoothed by its experts.
 *
 * - With Gaussians, the label's numbers have one Gaussian, and the numbers of all other labels have
 *   another. a / n of the variance of all numbers is added to the variance of n numbers, as if `a`
 *   numbers of all labels had been seen too: so a few similar numbers are weak evidence. A reading
 *   stays within +-NB_NUMBER_READING_MOST, since the tails of a Gaussian overstate the evidence.
 * - If numbers are cut into bins, a bin is a value of a category, with the formula of the stack, in
 *   which V is the number of bins. A bin that only the left-out document has counts as unseen. The
 *   borders of bins, and the choice between bins and Gaussians, stay those of all documents:
 * cutting anew for each left-out document would be a walk over all numbers.
 *
 * Threads: under the model's read lock. */
#define NB_NUMBER_READING_MOST 8.0

struct nb_number_reading {
    const struct nb_model *model; /* borrowed */
    const uint32_t *labels;       /* borrowed */
    unsigned attribute;
    nb_int128 fixed;
    uint32_t without;                 /* label of a left-out document, or NB_NUMBER_OF_ALL */
    const struct nb_numbers *numbers; /* borrowed; NULL: Gaussians are used */
    size_t bin;                       /* the number's bin, if numbers are cut */
    struct nb_moments all;            /* with Gaussians: numbers of all labels */
    double variance;                  /* of all labels; 0: the number is no evidence */
};
#define NB_NUMBER_OF_ALL UINT32_MAX

/* Prepares the reading of the number with this id, for labels that have documents. `numbers`: those
 * of the model, for the same labels in any order, if the settings allow bins; or NULL. `without`:
 * the label of a left-out document that has the same number; NB_NUMBER_OF_ALL: none is left out. */
struct nb_number_reading nb_number_reading(const struct nb_model *model,
                                           const struct nb_numbers *numbers, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without);

/* Whether the number is evidence: numbers differ, or a document has a number in its bin. */
bool nb_number_reading_says(const struct nb_number_reading *reading);

/* Returns ln of the probability, or density, of the number for the label at this place of `labels`,
 * less that for all other labels. Call it only if nb_number_reading_says; smoothing above 0. */
double nb_number_reading_of(const struct nb_number_reading *reading, uint32_t place,
                            double smoothing);

#endif
