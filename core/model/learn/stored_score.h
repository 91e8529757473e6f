/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of the score that a document got before it was learned: its true label, and the
 * probabilities of the labels. Pure functions on bytes; any thread.
 *
 * Stored form: a varint with the true label, a double with the log-odds (0 unless there are two
 * labels), and for each label a varint, its number, and a double, its probability.
 */
#ifndef NB_CORE_MODEL_LEARN_STORED_SCORE_H
#define NB_CORE_MODEL_LEARN_STORED_SCORE_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/bayes/book/scorer.h"
#include "core/model/evaluate/evaluate.h"

/* Appends the score of a document of this label. Of many labels only the 16 most probable are kept;
 * if the true one is not among them, it replaces the least probable. Returns 0 or NB_NO_MEMORY. */
int nb_stored_score_keep(const struct nb_scores *scores, uint32_t label, struct nb_buffer *record);
/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_stored_score_write(const struct nb_stored_score *scored, struct nb_buffer *out);

/* Owns the lists of a score that was read; reused. */
struct nb_stored_score_lists {
    uint32_t *labels;
    double *probabilities;
    size_t room;
};
/* Reads the stored form into `scored`, whose lists point into `lists` (emptied first). Returns 0,
 * NB_CORRUPT or NB_NO_MEMORY. */
int nb_stored_score_read(struct nb_string stored, struct nb_stored_score_lists *lists,
                         struct nb_stored_score *scored, struct nb_error *error);
void nb_stored_score_lists_deinit(struct nb_stored_score_lists *lists);

#endif
