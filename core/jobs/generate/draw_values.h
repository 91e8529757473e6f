/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the values that a document of a label has, before they are reported. For
 * core/jobs/generate/generate.c alone. One thread.
 *
 * Each field draws from a series of its own, made of the seed and its place in the settings: first
 * whether the document has a value, with the share of the label's documents that have one; then of
 * each value in the order of the rows. So the values depend on the counts, the order of the rows
 * and the seed, but not on the store's key.
 *
 * A category has the value with the least ln(-ln u) - ln P / T, u uniform in (0, 1): then each
 * value is drawn with its share (Gumbel 1954; the exponential clocks of Efraimidis and Spirakis
 * 2006). A set has a value where logit(u) is below logit(P) / T. A text has words at positions.
 * With structure tan, categories are drawn from the root of the tree on, and P is conditional on
 * the parent's value, if the document has one.
 */
#ifndef NB_CORE_JOBS_GENERATE_DRAW_VALUES_H
#define NB_CORE_JOBS_GENERATE_DRAW_VALUES_H

#include <stddef.h>

#include "core/base/random.h"
#include "core/jobs/generate/label_walk.h"

/* Words drawn in one walk over the rows; only the document takes memory. Each position of the
 * document is a reservoir of one item (Chao 1982): when the weights of the words so far, this one's
 * included, sum to W, the word takes the place with probability w / W; at the end each word has it
 * with its share of all. The next word that takes the place is found without a random number for
 * each word (Efraimidis and Spirakis 2006, exponential jumps): it is the first at which the sum
 * reaches W / u, u uniform in (0, 1]. A position changes about ln |V| times; a heap finds the
 * position that changes next. */
struct nb_position {
    double next; /* the sum of weights at which another word takes the place */
    uint64_t feature;
    struct nb_random random; /* its own: what a position draws does not depend on the others */
    uint32_t row;
    uint32_t place; /* its place in the document */
};

/* All zeros: no positions; any word may be offered. */
struct nb_positions {
    struct nb_position *heap; /* owned; `next` of a node is at most that of its children */
    size_t length;
    double power;             /* 1 / temperature */
    double sum;               /* sum of the weights so far; 0: no word can be drawn */
    double last, last_weight; /* count plus addend of the last word, and its weight: most repeat */
};

/* Makes `length` empty positions (less than 2^32), whose series are those of the seed and their
 * places, so that a longer document begins with the shorter one. The caller deinits in any case.
 * Returns 0 or NB_NO_MEMORY. */
int nb_positions_begin(struct nb_positions *positions, size_t length, uint64_t seed,
                       double temperature);
void nb_positions_deinit(struct nb_positions *positions);

/* Offers a word to all positions; `count` is the word's count plus its addend, which together are
 * proportional to P(w | v): the divisor that all words of the label share is left out. */
void nb_positions_offer(struct nb_positions *positions, uint64_t feature, uint32_t row,
                        double count);

/* Ends the walk: the positions stand as in the document. */
void nb_positions_sort(struct nb_positions *positions);

/* Texts of fields, drawn before they are reported: each by the multinomial model of its field's own
 * words (core/bayes/attribute_scores.h: nb_text_word_of). Its length is Poisson with the
 * mean of the label's texts of the field, as the length of a document in Blei, Ng and Jordan 2003
 * (section 3): the two sums that the model keeps, of words and of documents, determine nothing
 * more.  */

/* Draws the length of a text with `mean` words, at least 0, and makes its positions, with seed and
 * length from two numbers of the series. A text ends after *left words at the latest; its length is
 * subtracted from *left. The caller deinits in any case. Returns 0 or NB_NO_MEMORY. */
int nb_draw_text_begin(struct nb_positions *text, struct nb_random *series, double mean,
                       double temperature, size_t *left);

struct nb_drawn_value {
    uint64_t feature;
    uint32_t row;
    bool is_there;
    double key; /* of a category: the least key so far */
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

/* Draws the values from the series of `seed`; the texts have at most `words_most` words together.
 * Takes one walk over the rows, a second one for texts, and with structure tan 32
 * bytes for each value of a category. The caller deinits in any case. Returns 0, NB_CONFLICT (the
 * label has no documents) or NB_NO_MEMORY. */
int nb_draw_values(struct nb_label_walk *walk, uint64_t seed, double temperature, size_t words_most,
                   struct nb_drawn_values *drawn, struct nb_error *error);
void nb_drawn_values_deinit(struct nb_drawn_values *drawn);

#endif
