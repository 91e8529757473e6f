/* SPDX-License-Identifier: Apache-2.0
 *
 * How the verdicts went over time: the documents of an evaluator in stretches, oldest first. As the
 * scores are those before learning, the same is the learning curve (prequential error: Dawid 1984;
 * Gama, Sebastiao and Rodrigues 2013). Pure computation; any thread.
 */
#ifndef NB_CORE_MODEL_EVALUATE_PROGRESS_H
#define NB_CORE_MODEL_EVALUATE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct nb_evaluator;

enum { NB_PROGRESS_STRETCHES = 50 }; /* at most */

struct nb_progress_stretch {
    uint64_t documents; /* at least one */
    uint64_t errors;    /* of these, verdicts that were wrong */
};

/* Divides all documents into stretches whose sizes differ by one at most; fewer documents than
 * stretches are one each. Returns how many there are. */
size_t nb_evaluator_progress(const struct nb_evaluator *evaluator,
                             struct nb_progress_stretch stretches[NB_PROGRESS_STRETCHES]);

#endif
