/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts and weights of a model, of its parent, and of its parent's parent, read as one. Before
 * a user has taught the model anything, the parent's verdict applies; with each document the user's
 * own counts weigh more. The transition is gradual.
 *
 * The sources are i = 0 (the model), 1 (its parent), ... Source i has D_i documents, and m_i is its
 * setting `parent_strength` (documents). The view of the last source is its own counts; the views
 * of the others follow from it:
 *
 *     E_i = D_i + s_i E_i+1                            s_i = min(1, m_i / E_i+1)
 *     n_i = own n + s_i n_i+1                          any count of the view: n_wv, d_wv, T_v ...
 *     l_i = D_i / (D_i + m_i)                          1 for the last source
 *     K_i = s_i K_i+1 + (1 - s_i K_i+1) l_i^2          1 for the last source
 *     weight = l_i own weight + (1 - l_i) weight_i+1
 *
 * So the parent weighs as much as m documents at most, and P(w|v) is (n_wv + s n'_wv + K a) / (n_v
 * + s n'_v
 * + K a V): with K = s the m-estimate (Mitchell 1997, equation 6.22), whose prior p is the parent's
 * own estimate (n'_wv + a) / (n'_v + a V) and whose m is s (n'_v + a V). By the book a is what the
 * setting `estimate` adds to counts (core/bayes/estimate.h), and may be 0. A model without
 * documents has the estimates of its parent. K grows to 1 as the model learns: with the scaled-down
 * smoothing of the parent, words that only the user's documents have would be too sharp evidence. V
 * is the largest vocabulary of a source. The formulas are those of core/bayes/scorer.h and
 * stack.h, with the weighted means above as weights. Labels of different sources are the same if
 * they have the same name.
 *
 * By the book there is another way to use the parent as prior: the smoothing {"m", "p": "parent"},
 * the m-estimate (n_wv + m p_w) / (n_v + m) from the model's own counts, labels and vocabulary.
 * Its p_w is Laplace's estimate from the next source's counts of all labels together,
 *
 *     p_w = (n'_w + 1) / (n' + V' + 1)                 n' = sum of n'_w over its V' words
 *
 * The 1 beside V' stands for all words unknown to that source, so that no word has p_w = 0. With
 * the binary model the counts are documents that have w. This m replaces `parent_strength`. Fields
 * that the settings of both models name alike then are attributes of the model, with p from the
 * parent's counts (core/bayes). Otherwise they are attributes of the view
 * (core/stack/blend_fields.h); in a stacked model each is separate evidence with a weight of its
 * own (core/stack/blend_attributes.h).
 *
 * Fractional counts (core/bayes) may be added to those of the first source, each with a
 * weight w: the expected counts of documents without a label, or, with w = -1, documents that are
 * left out. Own n is then n + sum of w e. D_0, which determines the shares of the sources, is
 * reduced by the left-out documents. V is the largest vocabulary, including these counts. Nothing
 * else changes: which labels there are, and their names, follow from whole documents alone.
 *
 * Nothing of this is stored: a model's own counts and weights do not depend on its parent, so they
 * are a function of the model's part of the ledger.
 *
 * tests/bench/README.md has measurements: parent alone / own alone / both, learned online, with a
 * parent of 3,000 mails of another mailbox; log-loss of the first 500 mails and the next 1,000.
 *
 * Threads: a blend belongs to one thread. Its caller holds the read locks of all counts, then those
 * of all weights, from nb_blend_begin to the last use.
 */
#ifndef NB_CORE_STACK_BLEND_H
#define NB_CORE_STACK_BLEND_H

#include "core/bayes/expected.h"
#include "core/bayes/settings.h"
#include "core/stack/stack_private.h"

struct nb_attribute_scores;
struct nb_blend_attributes;
struct nb_log_product;

enum { NB_BLEND_MOST = 3 /* levels: a user, a tenant, all */ };
#define NB_BLEND_NO_LABEL UINT32_MAX

struct nb_blend_source {
    const struct nb_model *counts;          /* borrowed, as the weights are */
    const struct nb_stack_weights *weights; /* NULL in all sources: no stacked score */
    uint64_t strength; /* m: the sources behind it weigh as m documents at most */
};

/* A label that has documents in a source. */
struct nb_blend_label {
    const char *name;                /* borrowed from the counts; NUL-terminated */
    uint64_t documents;              /* of all sources, unscaled */
    uint32_t numbers[NB_BLEND_MOST]; /* label number in each source, or NB_BLEND_NO_LABEL */
};

/* A document of the first source that is left out of the source's counts. */
struct nb_blend_without {
    bool is_set;
    uint32_t label; /* number in the first source */
    /* By field, and at NB_FIELDS for all token fields together: the number of the document's
     * features, and of those that no other document has. */
    uint32_t features[NB_FIELDS + 1], unique[NB_FIELDS + 1];
};

/* Zero-initialize it, and use it for one document after another. */
struct nb_blend {
    const struct nb_settings *settings; /* borrowed; the model's */
    struct nb_stack_settings stack;     /* the model's */
    bool is_stacked;
    struct nb_blend_source sources[NB_BLEND_MOST];
    unsigned count;
    struct nb_besides besides;
    const struct nb_model *pool; /* borrowed; the model whose counts give p_w; NULL: none */
    double scale[NB_BLEND_MOST]; /* factor of the counts of each source: s_0 ... s_i-1 */
    double share[NB_BLEND_MOST]; /* share of each source in the weights; they sum to 1 */
    double smoothing;            /* K */
    struct nb_blend_without without;
    uint32_t size;
    struct nb_blend_label *labels; /* owned; by name */
    /* private */
    uint32_t *places[NB_BLEND_MOST]; /* owned; by a source's label number: the place in `labels` */
    size_t label_room, place_room[NB_BLEND_MOST], work_room;
    double *work;                    /* owned; the block of these arrays: */
    double *occurrences, *documents; /* of the feature being read, by label */
    double all_occurrences, all_documents;
    double *sums, *ends, *scores;       /* by the book: n_v; the logarithm of the denominator */
    double *offsets, *x, *twin;         /* [expert][field], [expert][group], [field] by label */
    double sum, vocabulary, addend;     /* by the book: of all labels; V; a */
    double pool_sum;                    /* n' + V' + 1 */
    struct nb_attribute_scores *values; /* owned; of the model's fields; NULL: it has none */
    struct nb_log_product *products;    /* owned; by label: product of the values' factors */
    size_t product_room;
    struct nb_blend_attributes *attributes; /* owned; for the stack; NULL: no value yet */
    uint32_t fields;                        /* bits 1u << field: offsets are computed */
    uint32_t features[NB_STACK_GROUPS];     /* number of features of the document */
    struct nb_stack_mix weights;            /* of all sources together */
};
void nb_blend_deinit(struct nb_blend *blend);

/* Reads the sources, at least one: the labels that have documents, the weight of each source, and
 * the sums that all documents share. `settings` and `sources` are the model's and must stay
 * unchanged while the blend is used. `besides` (borrowed; NULL: none) is added to the counts of the
 * first source. Returns 0, NB_CONFLICT (no source has a document) or NB_NO_MEMORY. Takes time
 * proportional to labels times sources. */
int nb_blend_begin(struct nb_blend *blend, const struct nb_settings *settings,
                   const struct nb_blend_source *sources, unsigned count,
                   const struct nb_besides *besides);

/* As nb_blend_begin, but leaves out a document (`features`) that the first source has learned with
 * the label number `label`: for its leave-one-out score (nb_stack_inputs_of_rows of
 * core/stack/stack.h) from the counts of all sources. The blend then serves only stacked scores of
 * this bag. Returns NB_CONFLICT
 * also when no other document of a source has the label. */
int nb_blend_begin_without(struct nb_blend *blend, const struct nb_settings *settings,
                           const struct nb_blend_source *sources, unsigned count,
                           const struct nb_feature *features, size_t size, uint32_t label);

/* Scores a bag: by the book into `book` (NULL: not wanted), with formulas that the settings of a
 * model with a parent allow; by the stack into `stacked` (NULL: not wanted), if the sources have
 * weights. The labels of both scores are places in blend->labels. Returns 0 or NB_NO_MEMORY. */
int nb_blend_score(struct nb_blend *blend, const struct nb_feature *features, size_t size,
                   struct nb_scores *book, struct nb_scores *stacked);

/* As nb_explain: sets `rows` to what each feature adds to ln(P(best)/P(second)) of `scores`, and
 * the last row to the rest. `scores` are those of this bag, by the stack if `stacked`. `rows` has
 * room for size + 1. */
void nb_blend_explain(struct nb_blend *blend, const struct nb_feature *features, size_t size,
                      const struct nb_scores *scores, bool stacked, struct nb_evidence *rows,
                      size_t *count);

/* Sets shares[i] to the part of a feature's evidence from source i: its share of the feature's
 * documents, weighted as in the view. `feature` NULL: each source's share of the weights. The
 * shares sum to 1, or to 0 for a feature that no source has. */
void nb_blend_shares(struct nb_blend *blend, const struct nb_feature *feature,
                     double shares[NB_BLEND_MOST]);

/* As nb_stack_against of core/stack/stack.h, for the view: sets *log_odds of `label` against
 * all others together, with the weights of two labels. `label` and `other` are places. The sources
 * must have weights. Returns 0 or NB_NO_MEMORY. */
int nb_blend_against(struct nb_blend *blend, const struct nb_feature *features, size_t size,
                     uint32_t label, uint32_t other, double *log_odds);

#endif
