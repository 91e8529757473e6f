/* SPDX-License-Identifier: Apache-2.0
 *
 * A label of a loaded model, a walk over the words of the used vocabulary, and a walk over the
 * values of attributes. For core/jobs/generate alone. One thread.
 */
#ifndef NB_CORE_JOBS_GENERATE_LABEL_WALK_H
#define NB_CORE_JOBS_GENERATE_LABEL_WALK_H

#include "core/bayes/attribute_scores.h"
#include "core/bayes/explain.h"
#include "core/model/live.h"

struct nb_label_walk {
    struct nb_engine *engine;
    struct nb_live *live;           /* referenced */
    struct nb_published *published; /* referenced */
    uint32_t label;
    struct nb_walked_word *words; /* owned; of one step */
};

struct nb_walked_word {
    uint64_t feature, count;
    double addend; /* added to the count */
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

/* How many attributes the model's settings have. */
static inline size_t nb_label_walk_attributes(const struct nb_label_walk *walk)
{
    return walk->published->settings.attribute_count;
}

/* Sets *law to the law of an attribute in the label's documents, and *documents to their number.
 * Returns as nb_label_walk_law. */
int nb_label_walk_attribute(const struct nb_label_walk *walk, size_t attribute,
                            struct nb_attribute_law *law, uint64_t *documents,
                            struct nb_error *error);

/* Calls `visit` for every row, in order, under the model's read lock, with the scores of the
 * attributes, and the label's place in them. Returns as nb_label_walk_law. */
typedef void nb_label_walk_visit_row(void *user, const struct nb_attribute_scores *scores,
                                     uint32_t row, uint32_t place);
int nb_label_walk_rows(const struct nb_label_walk *walk, nb_label_walk_visit_row *visit, void *user,
                       struct nb_error *error);

/* Calls `visit`, under the model's read lock, for every value of a category or a set that a
 * document has, in the order of the rows. Returns as nb_label_walk_law. */
struct nb_walked_value {
    uint64_t feature;
    uint32_t row;
    struct nb_value_law law;
};
typedef void nb_label_walk_visit_value(void *user, const struct nb_walked_value *value);
int nb_label_walk_values(const struct nb_label_walk *walk, nb_label_walk_visit_value *visit,
                         void *user, struct nb_error *error);

/* Calls `look` once under the model's read lock, with the scores of the attributes, and the label's
 * place in them. Returns as nb_label_walk_law. */
typedef void nb_label_walk_looker(void *user, const struct nb_attribute_scores *scores,
                                  uint32_t place);
int nb_label_walk_look(const struct nb_label_walk *walk, nb_label_walk_looker *look, void *user,
                       struct nb_error *error);

#endif
