/* SPDX-License-Identifier: Apache-2.0
 *
 * Which words remain after min_count and skip_top, counted over documents with and without a label
 * together. A scorer that has the counts of both chooses the same words (core/bayes/book/scorer.h).
 * For core/em alone.
 */
#ifndef NB_CORE_EM_CHOICE_H
#define NB_CORE_EM_CHOICE_H

#include "core/bayes/settings/settings.h"
#include "core/counts/model.h"
#include "core/counts/word_rank.h"

struct nb_choice {
    bool filters;          /* false: all words remain, and nothing below is set */
    uint64_t *occurrences; /* owned; of each row */
    uint32_t rows;
    uint64_t least;
    bool skips;
    struct nb_word_rank skipped; /* the last word that skip_top leaves out */
};
void nb_choice_deinit(struct nb_choice *choice);

/* Counts the model's first `rows` rows, and the documents without a label: entry i of their `size`
 * features is counts[i] occurrences of the feature in row uses[i]. On success the caller deinits
 * *choice. Returns 0 or NB_NO_MEMORY. Takes the model's read lock for a few thousand rows at a
 * time.
 */
int nb_choice_make(struct nb_choice *choice, const struct nb_settings *settings,
                   const struct nb_model *model, uint32_t rows, const uint32_t *uses,
                   const uint32_t *counts, size_t size);

/* Whether the word in a row, whose feature is `id`, remains. */
bool nb_choice_has(const struct nb_choice *choice, uint32_t row, uint64_t id);

#endif
