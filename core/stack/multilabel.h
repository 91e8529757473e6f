/* SPDX-License-Identifier: Apache-2.0
 *
 * Several labels for one document (multi-label classification by binary relevance: Tsoumakas and
 * Katakis 2007): each label is judged against all documents without it, independently of the other
 * labels.
 *
 * The model counts a document once, under the set of its labels (core/base/label_set.h). The counts
 * of a label are the sums over the sets that have it.
 *
 * The default (decision stacked) is one linear machine for each label over the words of a document,
 * fitted by dual coordinate descent (Hsieh et al. 2008, A Dual Coordinate Descent Method for
 * Large-scale Linear SVM), and a logistic regression on its leave-one-out scores, which makes them
 * probabilities (Platt 1999). It ranks documents well even for a label that has two documents. With
 * x_w = tf_w idf_w, at length 1, where tf = 1 + ln(count) and idf = 1 + ln((N + 1) / (D_w + 1)),
 *
 *     s_l = b'_l + sum of x_w theta_wl = b'_l + sum over documents d of alpha_dl y_dl (x_d . x)
 *     z_l = b_l + slope * s_l                                   P(l) = 1 / (1 + exp(-z_l))
 *
 * A fit computes all of these, and a threshold for each label, from all documents
 * (core/stack/multilabel_fit.h). It is a function of the documents alone: their order does not
 * matter, and a forgotten one leaves no trace.
 *
 * By the book (decision bayes) z_l is the log-odds of the binary naive Bayes of l,
 *
 *     z_l = ln P(l) - ln P(not l) + sum over words of n_w (ln P(w|l) - ln P(w|not l))
 *
 * with P(w|l) = (n_wl + smoothing) / (n_l + smoothing |Vocabulary|) (Mitchell 1997, table 6.2),
 * which needs no fit but for its figures.
 *
 * Threads: any thread may score under the model's read lock; fits are immutable.
 */
#ifndef NB_CORE_STACK_MULTILABEL_H
#define NB_CORE_STACK_MULTILABEL_H

#include <stdatomic.h>

#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/counts/model.h"

/* Data derived from the counts of one model: its labels, and what the formulas need of each. */
struct nb_multilabel;

/* `smoothing`: by the book, else not used. Returns 0 or NB_NO_MEMORY. */
int nb_multilabel_new(bool is_by_the_book, double smoothing, struct nb_multilabel **multilabel);
void nb_multilabel_free(struct nb_multilabel **multilabel);
/* Bytes allocated. Any thread may ask, without a lock. */
size_t nb_multilabel_memory(const struct nb_multilabel *multilabel);

/* The labels of the sets that have documents. */
struct nb_multilabel_labels {
    uint32_t count;            /* labels, in the order of their names */
    const char *const *names;  /* NUL-terminated */
    const uint64_t *documents; /* N_l */
    uint64_t all;              /* documents with any set of labels, the empty one too */
    /* The labels of the model's label number v, a set: members[begin[v]] to members[begin[v + 1]];
     * indices of `names`. A set without documents has none. */
    uint32_t sets;
    const uint32_t *begin, *members;
};
/* Sets *labels to those of the present counts; borrowed, valid under the model's read lock. Returns
 * 0 or NB_NO_MEMORY. */
int nb_multilabel_labels(struct nb_multilabel *multilabel, const struct nb_model *model,
                         struct nb_multilabel_labels *labels);

/* A document that is judged: its features. */
#define NB_MULTILABEL_NONE UINT32_MAX
struct nb_multilabel_document {
    const struct nb_row_count *rows; /* features that have a row; borrowed */
    size_t size;
    double unknown; /* sum of tf^2 of words without a row */
    /* NB_MULTILABEL_NONE, or by the book the number of the set under which the counts have the
     * document: then its score is that without it (leave-one-out). */
    uint32_t without;
};

/* The figures of a label, from leave-one-out scores. */
struct nb_multilabel_figures {
    uint64_t documents, given, right; /* with the label, given it, and both */
    double threshold;                 /* log-odds */
    /* Mean of the precisions at the ranks of the documents with the label (Salton and McGill 1983);
     * NAN: none has it. */
    double average_precision;
};

struct nb_multilabel_cell {
    uint32_t label;
    float weight; /* theta_wl */
};

/* A document that would be given other labels if it had not been learned. `label` is the most
 * doubtful of those that differ. */
struct nb_multilabel_suspect {
    uint64_t number; /* the document's number in the corpus of the fit */
    double log_odds; /* of the document being right in having the label, or in not having it */
    uint32_t label;
    bool has; /* it has the label */
};

struct nb_multilabel_fit {
    atomic_uint references;
    uint32_t labels;
    char **names; /* owned, too; sorted */
    uint64_t documents;
    /* By row of the model: its feature, idf and theta. A row that has since got another feature has
     * none. All owned. */
    uint32_t rows;
    uint64_t *ids;
    float *idf;
    size_t *begin; /* rows + 1, into `cells` */
    struct nb_multilabel_cell *cells;
    double idf_unknown;
    double slope;
    double *biases;                         /* b_l; owned */
    double *intercepts;                     /* b'_l; owned */
    struct nb_multilabel_figures *figures;  /* by label; owned */
    struct nb_multilabel_suspect *suspects; /* owned; in the order of the documents */
    size_t suspect_count;
    double exact;    /* share of the documents that were given exactly their labels */
    double log_loss; /* mean over the documents of the sum of -ln P over all labels */
    size_t bytes;
};
void nb_multilabel_fit_release(struct nb_multilabel_fit **fit);
struct nb_multilabel_fit *nb_multilabel_fit_use(struct nb_multilabel_fit *fit);

/* The scores of a document; reused, starts as `{0}`. */
struct nb_multilabel_scores {
    uint32_t size;     /* labels, as nb_multilabel_labels has them */
    double *log_odds;  /* z_l; owned; -INFINITY: no document has the label */
    double *threshold; /* log-odds from which the label is given; owned */
    size_t room;
    /* private */
    uint32_t *counts, *touched;
    uint32_t *places; /* by label of the fit: the label's place here */
    size_t place_room;
};
void nb_multilabel_scores_deinit(struct nb_multilabel_scores *scores);

/* Judges a document by a fit, or by the book by the present counts (then `fit` may be NULL). A
 * label that is new since the fit has a probability of 0. Returns 0, NB_CONFLICT (no label has a
 * document, or there is no fit) or NB_NO_MEMORY. */
int nb_multilabel_score(struct nb_multilabel *multilabel, const struct nb_model *model,
                        const struct nb_multilabel_fit *fit,
                        const struct nb_multilabel_document *document,
                        struct nb_multilabel_scores *scores);

/* Explains z_l of the label at `label` of the scores: evidence[i] is the part of the document's row
 * i (room for document->size). Returns the part that belongs to no row; all together sum to z_l.
 * For the document, the fit and the lock of the last nb_multilabel_score. */
double nb_multilabel_explain(const struct nb_multilabel *multilabel, const struct nb_model *model,
                             const struct nb_multilabel_fit *fit,
                             const struct nb_multilabel_document *document,
                             struct nb_multilabel_scores *scores, uint32_t label, double *evidence);

/* Whether the linear machines read features of this field: words of the text and of the subject,
 * addresses, and parts of URLs. */
static inline bool nb_multilabel_is_word(enum nb_field field)
{
    return field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT || field == NB_FIELD_ADDRESS ||
           field == NB_FIELD_URL;
}

#endif
