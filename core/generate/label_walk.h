/* SPDX-License-Identifier: Apache-2.0
 *
 * A label of a model that is in memory, and a walk over the words of the used vocabulary. For
 * core/generate/sample.c and distribution.c. One thread.
 */
#ifndef NB_CORE_GENERATE_LABEL_WALK_H
#define NB_CORE_GENERATE_LABEL_WALK_H

#include "core/live/live.h"
#include "core/score/explain.h"

struct nb_label_walk {
    struct nb_engine *engine;
    struct nb_live *live;           /* referenced */
    struct nb_published *published; /* referenced */
    uint32_t label;
    struct nb_walked_word *words; /* owned; of one step */
};

struct nb_walked_word {
    uint64_t feature, count;
    double addend; /* to the count */
    uint32_t row;
};

/* Finds and loads the model and finds its label. Returns 0, NB_NOT_FOUND, NB_DAMAGED, NB_IO or
 * NB_NO_MEMORY, with nothing to end. */
int nb_label_walk_begin(struct nb_label_walk *walk, struct nb_engine *engine,
                        struct nb_string model, struct nb_string label, struct nb_error *error);
void nb_label_walk_end(struct nb_label_walk *walk);

/* The law of the label's words. NB_CONFLICT (no documents) or NB_NO_MEMORY. */
int nb_label_walk_law(const struct nb_label_walk *walk, struct nb_word_law *law,
                      struct nb_error *error);

/* Calls `visit` for every word of the used vocabulary, in the order of the rows, with the law of
 * its step, outside of the lock. Returns as nb_label_walk_law. */
typedef void nb_label_walk_visit(void *user, const struct nb_word_law *law,
                                 const struct nb_walked_word *word);
int nb_label_walk_all(struct nb_label_walk *walk, nb_label_walk_visit *visit, void *user,
                      struct nb_error *error);

#endif
