/* SPDX-License-Identifier: Apache-2.0
 *
 * A classification: the label of a document, why, and whether enough was learned to decide. A
 * verdict is filled by nb_engine_classify (core/engine/engine.h) and belongs to one thread at a
 * time.
 */
#ifndef NB_CORE_MODEL_VERDICT_H
#define NB_CORE_MODEL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/feature.h"
#include "core/base/string.h"

/* Decisions: what to do about a document, from the probability of one label and a threshold. The
 * label is either the winner, which must be likely enough (Chow 1970, On Optimum Recognition Error
 * and Reject Tradeoff: less likely winners are rejected), or one that is chosen beforehand (the
 * positive one: spam). In the second case the threshold weighs the two kinds of errors. Pure
 * functions; any thread. */
enum nb_decided { NB_DECIDED_OTHER, NB_DECIDED_POSITIVE, NB_DECIDED_UNSURE };

/* Returns positive from the threshold on, unsure at a distance below `band` from the threshold,
 * else other. For a winner, other means that it is not likely enough. */
enum nb_decided nb_decide(double probability, double threshold, double band);

/* Returns the threshold with the least expected cost, if a false positive costs `false_positive`
 * and a false negative `false_negative` (both at least 0, not both 0). Deciding positive costs no
 * more if (1 - p) false_positive <= p false_negative, that is, from p = false_positive /
 * (false_positive + false_negative) on (Elkan 2001, The Foundations of Cost-Sensitive Learning,
 * equation 2). */
double nb_decide_threshold(double false_positive, double false_negative);

/* Returns the index of the most probable label except `positive`, the first of equal ones; `size`
 * if there is no other label. */
size_t nb_decide_other(const double *probabilities, size_t size, size_t positive);

struct nb_label_threshold;

enum { NB_VERDICT_SOURCES = 3 }; /* a model, its parent, and its parent's parent */

struct nb_engine;
struct nb_error;

struct nb_explained {
    struct nb_string token; /* bytes == NULL: the prior's row */
    struct nb_string given; /* the value that it depends on; bytes == NULL: none */
    uint64_t count;
    double evidence;                   /* infinite if it makes one of the two labels impossible */
    enum nb_field field;               /* of the token */
    double shares[NB_VERDICT_SOURCES]; /* parts of the evidence that come from each of `sources` */
    bool has_counts; /* `counts` is set: the caller wants counts, and the one model that decides has
                        the token */
    uint64_t counts[2]; /* occurrences in documents of the winner, and of the runner-up */
};

/* The passage that says more for a label than all of the text does. */
struct nb_decisive_passage {
    const char *label;     /* NULL: none, all of the text decides */
    size_t from, to;       /* bytes of the visible text */
    struct nb_string text; /* its beginning; empty: it is too far behind. May be invalid UTF-8 */
    double whole;          /* the label's probability by all of the text */
};

/* A classification; reused from call to call. */
struct nb_verdict {
    bool wants_counts;   /* the caller's, set before each call: explanations have `counts` */
    size_t size;         /* labels that have documents, in the order of their names */
    const char **labels; /* NUL-terminated; stable until the next call or deinit */
    double *log_scores;  /* -INFINITY: impossible, by an estimate of 0 */
    /* They sum to 1; but if a stacked model has learned only one of the labels spam and ham, that
     * has the probability of the rule of succession, and no label has the rest. */
    double *probabilities;
    size_t best; /* index of the label that wins */
    /* Documents have several labels (the setting label_set): each probability is that of its label
     * against all documents without it, log scores are log-odds, and the document is given the
     * labels with is_given. NULL: documents have one label. An explanation is that of the label at
     * `second`. */
    bool *is_given;
    /* Several: the label nearest to its threshold, and how near: the distance of its probability as
     * a share of the greatest one on that side. 0: as easily given as not. */
    size_t nearest;
    double margin;
    bool takes_several; /* the caller's, set before each call: it reads is_given. Else a model whose
                           documents have several labels is refused */
    const char *explain_label; /* the caller's, set before each call: the label that is explained,
                                  of several; NULL: the most probable one */
    bool stacked;              /* label and probabilities are those of the stack */
    /* Stacked: the weights have learned all documents under the current settings, and no refit is
     * due. By the book: the probabilities come from the map of the setting `calibration`. */
    bool calibrated;
    bool tells_calibrated; /* `calibrated` applies: the model is stacked, or has that setting */
    bool ready; /* every label has enough documents; else `missing` names one that has not */
    char missing[160];
    uint64_t *documents;      /* documents of each label */
    uint64_t ready_documents; /* the model's setting */
    uint64_t total, known;    /* token positions */
    bool has_evidence; /* some feature that was scored is known, of whatever kind; if not, the
                          probabilities of a stacked model are its prior */
    /* The probability that the document is of any of the labels (core/model/known.h); NaN: the
     * model has too few documents to say. */
    double of_labels;
    double min_known; /* the model's setting: below it the decision is "none"; 0: never */
    /* Of the label that wins, by the model's setting; 0: it has none, negative: no label has. Above
     * 1: no number is known that keeps the wished precision. */
    double threshold;
    /* What the setting says about it; borrowed, stable as long as `labels`. NULL: nothing. */
    const struct nb_label_threshold *set;
    bool truncated;
    double unsure_band;               /* the model's setting */
    bool keeps_history;               /* the model has the setting `history` ... */
    bool keeps_subject;               /* ... and `history_subject` */
    struct nb_explained *explanation; /* strongest first, the prior's row last */
    size_t explanation_count;
    size_t second; /* with an explanation: index of the runner-up; == best with one label */
    /* With an explanation of a model that has a parent: the names of the model and its ancestors
     * that have documents, in the order of `shares`; NUL-terminated, stable as long as `labels`. */
    const char *sources[NB_VERDICT_SOURCES];
    size_t source_count;
    /* Sum of the evidence of all tokens of each field, without attributes; set with an explanation.
     * NaN: the tokens make both labels impossible. */
    double field_evidence[NB_FIELDS];
    /* With an explanation: a passage of the text decides, as if it were all of the text
     * (core/stack/passages.h), and evidence is that of the passage. */
    struct nb_decisive_passage passage;
    struct nb_verdict_private *private_;
};
void nb_verdict_init(struct nb_verdict *verdict);
void nb_verdict_deinit(struct nb_verdict *verdict);
/* Releases the model of the verdict; the memory is kept for the next verdict. */
void nb_verdict_reset(struct nb_verdict *verdict);

/* Whether the document is of none of the labels, if its probability to be of any must be at least
 * `min_known`. */
static inline bool nb_verdict_is_none(const struct nb_verdict *verdict, double min_known)
{
    return verdict->of_labels < min_known; /* false for NaN */
}

/* Sets `ready` and `missing` of a verdict again, for these labels only: the model may have other
 * labels with few documents, for example by a mistyped name. A label without documents is missing.
 */
void nb_verdict_need(struct nb_verdict *verdict, const char *const labels[], size_t count);

/* Changes a verdict without explanation into one on the labels of a level (1 to NB_LEVEL_MOST,
 * core/stack/levels.h). The probability of a label of the level is the sum of the probabilities of
 * the labels below it, its log score is the log-sum-exp of their log scores, and `ready` and
 * `missing` are set for its documents. Call it at most once for a classification. Returns 0 or
 * NB_NO_MEMORY. */
int nb_verdict_at_level(struct nb_verdict *verdict, unsigned level);

/* Computes the probability of labels[0] against all other labels together, as if the model had only
 * labels[0] and labels[1], with the weights that it learned while it had only these. The model must
 * be stacked, have both labels, and all its other labels must have too few documents to be ready.
 * Sets *probability, and returns 0; NB_CONFLICT if the model does not fulfil this, or NB_NO_MEMORY.
 */
int nb_verdict_against(struct nb_verdict *verdict, const char *const labels[2],
                       double *probability);

/* ---- models in memory ------------------------------------------------------------------------ */

/* Whether a question about the model can be answered without loading its counts, or those of its
 * parents, from the disk. Also true if there is no such model or it is damaged: then the answer is
 * an immediate error. */
bool nb_engine_is_loaded(struct nb_engine *engine, struct nb_string model);

/* Whether a loaded model was too large for the setting `memory`, so that it is loaded anew for
 * every verdict. If so, fills `what` with a sentence that says how much memory is needed. Any
 * thread. */
bool nb_engine_lacks_memory(struct nb_engine *engine, struct nb_error *what);

#endif
