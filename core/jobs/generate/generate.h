/* SPDX-License-Identifier: Apache-2.0
 *
 * Generation, the reverse of classification: what documents of a label are like. Documents drawn
 * from P(X | Y), and the estimates P(w | v) and P(v) with intervals, by the book's multinomial
 * model of the counts as they are (core/bayes/explain.h: nb_word_law). Any thread; the callers
 * wait for the disk.
 *
 * A walk over all rows takes the read lock for a step of rows at a time, so that the writer never
 * waits long. Each step is consistent in itself; training may go on between steps.
 */
#ifndef NB_CORE_JOBS_GENERATE_GENERATE_H
#define NB_CORE_JOBS_GENERATE_GENERATE_H

#include <stdbool.h>

#include "core/engine/engine.h"
#include "core/jobs/generate/beta.h"

/* At these temperatures a double can hold the powers of probabilities, whatever the counts are. */
#define NB_TEMPERATURE_LEAST 0.05
#define NB_TEMPERATURE_MOST 100.0

/* A document to draw. Words are independent given the label: each is drawn from P(w | v)^(1 /
 * temperature), normalized. Above 1 it flattens, below 1 it sharpens. */
struct nb_sampling {
    struct nb_string label;
    size_t length;     /* words */
    size_t words_most; /* limit for the texts of all fields together; the last one is cut off */
    uint64_t seed;
    double temperature; /* from NB_TEMPERATURE_LEAST to NB_TEMPERATURE_MOST */
};

/* Calls `word` (which returns 0 to go on) for each word of the document, in order; the string is
 * borrowed for the call. A document is a function of the counts and the seed, and begins with the
 * words of a shorter one. Words that were forgotten while it was drawn are left out. It takes one
 * walk over the rows and 32 bytes for each word of the document. Returns 0, what `word` returns,
 * NB_NOT_FOUND (model, label), NB_CONFLICT (the label has no words, and the model no fields, or the
 * texts of its words were not kept), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_generate_sample(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling,
                       int (*word)(void *user, struct nb_string word), void *user,
                       struct nb_error *error);

/* Receives the values of a document; everything is borrowed for the call. Each function returns 0
 * to go on. A string is a category's value, or a text: its words with spaces between them. */
struct nb_values_sink {
    int (*number)(void *user, struct nb_string field, double number);
    int (*string)(void *user, struct nb_string field, struct nb_string value);
    int (*set)(void *user, struct nb_string field); /* its members follow */
    int (*member)(void *user, struct nb_string value);
    void *user;
};

/* Draws a value for each field that the document has, in the order of the settings. The document
 * has a field as often as the label's documents do. Values follow
 * core/bayes/attribute_scores.h, each probability or density to the power 1 / temperature,
 * normalized; with structure tan along the tree; the length of a text is Poisson, with the mean of
 * the label's texts of the field, whatever the temperature is. The values are a function of the
 * counts, the order of the rows and the seed. Values that were forgotten meanwhile are left out. It
 * takes one walk over the rows, two with texts, none for a model without fields. Returns as
 * nb_generate_sample does; NB_CONFLICT: the label has no documents, or the texts of its values were
 * not kept. */
int nb_generate_values(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling, const struct nb_values_sink *sink,
                       struct nb_error *error);

/* A probability: its estimate, as the settings define it, and the equal-tailed interval of its
 * posterior. */
struct nb_posterior {
    double probability;
    struct nb_interval interval;
};

struct nb_label_posterior {
    uint64_t documents, documents_all;
    bool is_prior_estimated; /* else the settings give it, and it has no interval */
    struct nb_posterior prior;
    uint64_t words; /* n_v, or d_v with the binary model */
    uint64_t vocabulary;
    double dirichlet; /* sum of the prior's parameters: the prior weighs as many words */
    bool has_unseen;  /* words that the label does not have share one estimate, `unseen` */
    struct nb_posterior unseen;
};

struct nb_word_posterior {
    struct nb_string word; /* the id in hexadecimal after '#' when words are not kept */
    uint64_t count;
    struct nb_posterior posterior;
};

/* A field that the settings name, in the documents of the label. */
struct nb_field_posterior {
    struct nb_string name;
    int kind;                    /* enum nb_field_kind */
    uint64_t documents, missing; /* documents with a value, and without one */
    uint64_t values; /* different values of a category or set, in documents of any label */
    bool has_number; /* a number that some document has; then its mean and deviation are set */
    double mean, deviation;
};

struct nb_value_posterior {
    struct nb_string value; /* in the form of nb_word_posterior.word */
    uint64_t count;
    struct nb_posterior posterior;
};

/* Receives a listing piece by piece; everything is borrowed for the call. Returns 0 to go on. */
struct nb_distribution_sink {
    int (*header)(void *user, const struct nb_label_posterior *label);
    int (*word)(void *user, const struct nb_word_posterior *word);
    /* Called after the words; both are NULL if fields are not wanted. */
    int (*field)(void *user, const struct nb_field_posterior *field);
    int (*value)(void *user, const struct nb_value_posterior *value); /* value of the last field */
    void *user;
};

/* Hands the `limit` words that are most probable in documents of the label to `sink`, most probable
 * first, with intervals that hold `mass` (above 0, below 1) of the posterior. The posterior of P(w
 * | v) is Beta(count + a, the counts of all other words + a for each), the marginal of the
 * Dirichlet posterior, with a = addend + offset of nb_word_law. The interval of P(v) is
 * nb_share_interval. Then come the fields of the settings, in their order, each with those of its
 * values that are among the `limit` most probable ones of all fields together
 * (core/bayes/attribute_scores.h), most probable first; a model without fields needs no walk
 * for them. Takes 32 bytes for each word and 64 for each value. Returns as nb_generate_sample does;
 * NB_CONFLICT: the label has no documents. */
int nb_generate_distribution(struct nb_engine *engine, struct nb_string model,
                             struct nb_string label, size_t limit, double mass,
                             const struct nb_distribution_sink *sink, struct nb_error *error);

#endif
