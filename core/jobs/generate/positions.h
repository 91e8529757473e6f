/* SPDX-License-Identifier: Apache-2.0
 *
 * Words drawn in one walk over the rows, in memory for the document alone. Each position of the
 * document is a reservoir of one item (Chao 1982): when the weights of the words so far, this one's
 * included, sum to W, the word takes the place with probability w / W; at the end each word has it
 * with its share of all. The next word that does is found without a random number for each word
 * (Efraimidis and Spirakis 2006, exponential jumps): it is the first at which the sum reaches W /
 * u, u uniform in (0, 1]. A position changes about ln |V| times; a heap has the one that changes
 * next. For core/jobs/generate alone. One thread.
 */
#ifndef NB_CORE_JOBS_GENERATE_POSITIONS_H
#define NB_CORE_JOBS_GENERATE_POSITIONS_H

#include <stddef.h>

#include "core/base/random.h"

struct nb_position {
    double next; /* the sum of weights at which another word takes the place */
    uint64_t feature;
    struct nb_random random; /* its own: what a position draws does not depend on the others */
    uint32_t row;
    uint32_t place; /* in the document */
};

/* All zeros: there are none, and every word may be offered. */
struct nb_positions {
    struct nb_position *heap; /* owned; `next` of a node is at most that of its children */
    size_t length;
    double power;             /* 1 / temperature */
    double sum;               /* of the weights so far; 0: no word can be drawn */
    double last, last_weight; /* the count with its addend: most words have the same as others */
};

/* Makes `length` empty positions (less than 2^32), whose series are those of the seed and their
 * places, so that a longer document begins with the shorter one. The caller deinits in any case.
 * Returns 0 or NB_NO_MEMORY. */
int nb_positions_begin(struct nb_positions *positions, size_t length, uint64_t seed,
                       double temperature);
void nb_positions_deinit(struct nb_positions *positions);

/* Offers a word to all positions; `count` is its count with what is added to it, in proportion to
 * P(w | v): what all words of the label are divided by is left out. */
void nb_positions_offer(struct nb_positions *positions, uint64_t feature, uint32_t row,
                        double count);

/* Ends the walk: the positions stand as in the document. */
void nb_positions_sort(struct nb_positions *positions);

#endif
