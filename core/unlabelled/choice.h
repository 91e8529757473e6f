/* SPDX-License-Identifier: Apache-2.0
 *
 * Which words min_count and skip_top leave, of documents with a label and without one together: as
 * a scorer chooses them that has the counts of both (core/score/scorer.h). For core/unlabelled
 * alone.
 */
#ifndef NB_CORE_UNLABELLED_CHOICE_H
#define NB_CORE_UNLABELLED_CHOICE_H

#include "core/model/model.h"
#include "core/model/settings.h"

struct nb_choice {
    bool filters;          /* else all words are left, and nothing below is set */
    uint64_t *occurrences; /* owned; of each row */
    uint32_t rows;
    uint64_t least;
    bool skips;
    uint64_t skip_occurrences, skip_id; /* of the last word that is left out */
};
void nb_choice_deinit(struct nb_choice *choice);

/* Of the model's first `rows` rows, and documents without a label that have counts[i] times the
 * feature of the row uses[i], `size` of them. On success the caller deinits *choice. Returns 0 or
 * NB_NO_MEMORY. Takes the model's read lock for some thousand rows at a time. */
int nb_choice_make(struct nb_choice *choice, const struct nb_settings *settings,
                   const struct nb_model *model, uint32_t rows, const uint32_t *uses,
                   const uint32_t *counts, size_t size);

/* Whether the word in a row, whose feature is `id`, is left. */
bool nb_choice_has(const struct nb_choice *choice, uint32_t row, uint64_t id);

#endif
