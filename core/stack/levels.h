/* SPDX-License-Identifier: Apache-2.0
 *
 * Hierarchical labels: "sci/space" and "sci/med" are one label, "sci", at level 1. A document has
 * one label, so labels exclude each other, and the probability of a label at a higher level is the
 * sum of the probabilities of its labels. Pure functions; any thread; one struct belongs to one
 * thread.
 */
#ifndef NB_CORE_STACK_LEVELS_H
#define NB_CORE_STACK_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum { NB_LEVEL_MOST = 32 /* a label of 64 bytes has no more parts */ };

/* Returns the length in bytes of the label's prefix at `level` (at least 1): the part before the
 * slash number `level`, or the whole label if it has fewer slashes. A slash counts only after a
 * character other than a slash, so that no part is empty. `label` is NUL-terminated. */
size_t nb_level_length(const char *label, unsigned level);

/* The scores of all labels. The arrays are in the order of the names. */
struct nb_level_scores {
    const char *const *labels; /* NUL-terminated */
    const uint64_t *documents;
    const double *log_scores, *probabilities;
    size_t size; /* at least 1 */
};

/* The labels of a level; zero-initialize it, and use it for one document after another. */
struct nb_levels {
    size_t size;
    const char **labels; /* in the order of their bytes, each once */
    uint64_t *documents;
    /* For each label, over its labels in struct nb_level_scores: ln of the sum of exp(log score),
     * and the sum of the probabilities, at most 1. If those probabilities are the soft-max of those
     * log scores, the same holds here. */
    double *log_scores, *probabilities;
    size_t best; /* the most probable; ties go to the first */

    /* private */
    struct nb_buffer names;
    struct nb_level_member *members;
    size_t room, member_room;
};
void nb_levels_deinit(struct nb_levels *levels);

/* Sums the scores at `level` (1 to NB_LEVEL_MOST). Nothing of `scores` is kept. Returns 0 or
 * NB_NO_MEMORY. */
int nb_levels_sum(struct nb_levels *levels, const struct nb_level_scores *scores, unsigned level);

#endif
