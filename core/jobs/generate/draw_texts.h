/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of fields, drawn and not yet told: each by the multinomial model of its field's own words
 * (core/bayes/attribute/attribute_law.h: nb_text_word_of). Its length is Poisson with the mean of
 * the label's texts of the field, as Blei, Ng and Jordan 2003 (section 3) have that of a document:
 * the two sums that the model keeps, of words and of documents, say nothing more of it. For
 * core/jobs/generate/draw_values.c. One thread.
 */
#ifndef NB_CORE_JOBS_GENERATE_DRAW_TEXTS_H
#define NB_CORE_JOBS_GENERATE_DRAW_TEXTS_H

#include "core/jobs/generate/label_walk.h"
#include "core/jobs/generate/positions.h"

/* Draws the length of a text with `mean` words, at least 0, and makes its positions, with seed and
 * length from two numbers of the series. A text that would have more than *left words ends there;
 * *left falls by its length. The caller deinits in any case. Returns 0 or NB_NO_MEMORY. */
int nb_draw_text_begin(struct nb_positions *text, struct nb_random *series, double mean,
                       double temperature, size_t *left);

/* Draws the words of the texts, which are by attribute, in one walk over the rows; none where all
 * are empty. Returns as nb_label_walk_law. */
int nb_draw_texts(struct nb_label_walk *walk, struct nb_positions *texts, struct nb_error *error);

#endif
