/* SPDX-License-Identifier: Apache-2.0
 *
 * The prior of P(w|v) if it is more than one number for all words and labels. Pure functions; any
 * thread.
 *
 *     one number           Dirichlet(a, ..., a), where a is the setting `smoothing`
 *     {"labels": {...}}    the same with a number for each label; a label that is not named has the
 *                          mean of the named labels
 *     {"alpha", "beta"}    Beta(alpha, beta) of a word's presence, with the Bernoulli model
 *     {"m", "p"}           the m-estimate (Mitchell 1997, equation 6.22): m virtual counts,
 *                          distributed by p; a Dirichlet prior with m p_w for each word w
 *     {"values", "default"}  Dirichlet(a_1, a_2, ...) with a number for each value of a field;
 *                          everything else, including words, has the default. In place of the
 *                          number of a value there may be one for each label: Dirichlet(a_1v,
 *                          a_2v, ...) for label v, where a label that is not named has the default
 */
#ifndef NB_CORE_BAYES_SMOOTHING_H
#define NB_CORE_BAYES_SMOOTHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/attribute.h"
#include "core/base/buffer.h"

/* Numbers given to labels by name, in the order of the names: a prior's weights, or smoothings.
 * Pure functions; any thread. */
struct nb_prior_weight {
    char *label; /* owned, UTF-8, NUL-terminated (labels hold no control characters) */
    double weight;
};

/* Frees a list and its labels; NULL does nothing. */
void nb_label_weights_free(struct nb_prior_weight *list, size_t count);
/* Sets *to to a copy of a list, which the caller owns; NULL for an empty list. Returns 0, or
 * NB_NO_MEMORY with *to unchanged. */
int nb_label_weights_copy(const struct nb_prior_weight *list, size_t count,
                          struct nb_prior_weight **to);

/* Returns the number of a label; for a label without one, the mean of all. */
double nb_label_weights_find(const struct nb_prior_weight *list, size_t count, const char *label);

/* Writes the stored form: how many there are, then names and numbers. */
void nb_label_weights_write(struct nb_packer *w, const struct nb_prior_weight *list, size_t count);
/* Reads it back into *list and *count, which are empty before and the caller's to free, also after
 * a failure. Returns 0, NB_CORRUPT or NB_NO_MEMORY. Neither order nor range is checked. */
int nb_label_weights_read(struct nb_unpacker *r, struct nb_prior_weight **list, size_t *count);

enum nb_smoothing_kind {
    NB_SMOOTHING_ONE,
    NB_SMOOTHING_LABELS,
    NB_SMOOTHING_BETA,
    NB_SMOOTHING_M,
    NB_SMOOTHING_VALUES
};
/* p of the m-estimate: the same for all words; the word's share of the counts of all labels; or the
 * parent's estimate of the word (core/stack/blend.h). */
enum nb_smoothing_p { NB_SMOOTHING_UNIFORM, NB_SMOOTHING_VOCABULARY, NB_SMOOTHING_PARENT };
extern const char *const nb_smoothing_p_names[]; /* as in JSON and in the store; NULL at the end */

/* The smoothing numbers of a value by label; none: it has one number for all labels. */
struct nb_value_labels {
    struct nb_prior_weight *list; /* owned; by label */
    size_t count;
};

/* The smoothing numbers of a field's values. */
struct nb_field_smoothing {
    char *field;                    /* owned; NUL-terminated */
    struct nb_prior_weight *values; /* owned; by value: `label` holds the value */
    size_t count;
    /* Owned; for each value its numbers by label, none for most; NULL: none for all. A value that
     * has some has the default in `values`. */
    struct nb_value_labels *labels;
};

/* The smoothing number of a feature. */
struct nb_value_smoothing {
    uint64_t id;
    double smoothing;
    uint32_t field, value; /* its places in `fields`, and in the values of the field */
};

/* The parameters of a kind other than ONE, in addition to the setting `smoothing`, which is alpha,
 * m or the default. All zeros: kind ONE. */
struct nb_smoothing {
    int kind;                       /* enum nb_smoothing_kind */
    double beta;                    /* BETA */
    int p;                          /* M: enum nb_smoothing_p */
    struct nb_prior_weight *labels; /* LABELS: owned; by label */
    size_t label_count;
    struct nb_field_smoothing *fields; /* VALUES: owned; by name */
    size_t field_count;
    struct nb_value_smoothing *values; /* owned; of all fields, by id; see nb_smoothing_hash */
    size_t value_count;
};
void nb_smoothing_deinit(struct nb_smoothing *smoothing);
/* Whether it is the m-estimate with p from the parent. */
static inline bool nb_smoothing_is_of_parent(const struct nb_smoothing *smoothing)
{
    return smoothing->kind == NB_SMOOTHING_M && smoothing->p == NB_SMOOTHING_PARENT;
}
/* Returns 0, or NB_NO_MEMORY with `to` as it was. */
int nb_smoothing_copy(struct nb_smoothing *to, const struct nb_smoothing *from);

/* Appends a field without values, whose name is copied. Returns 0 or NB_NO_MEMORY. */
int nb_smoothing_add_field(struct nb_smoothing *smoothing, struct nb_string field);
/* Fills `values` with the features of all fields' values, hashed with the key of a model that has
 * all of the fields. Returns 0 or NB_NO_MEMORY. */
int nb_smoothing_hash(struct nb_smoothing *smoothing, struct nb_attributes attributes,
                      const struct nb_key *key);
/* The place in `values` of the first entry with this id or a greater one. */
size_t nb_smoothing_place(const struct nb_smoothing *smoothing, uint64_t id);

/* The number of values[place] for a label. */
double nb_smoothing_of_label(const struct nb_smoothing *smoothing, size_t place, const char *label);

/* Writes the stored form of a kind other than ONE. */
void nb_smoothing_write(struct nb_packer *w, const struct nb_smoothing *smoothing);
/* Reads it back into `smoothing`, which holds zeros before and is the caller's to deinit, also
 * after a failure. Returns 0, NB_VERSION (a name that this program does not know), NB_CORRUPT or
 * NB_NO_MEMORY. Order and range are not checked. */
int nb_smoothing_read(struct nb_unpacker *r, struct nb_smoothing *smoothing);

#endif
