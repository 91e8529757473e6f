/* SPDX-License-Identifier: Apache-2.0
 *
 * A classification: what a document is, why, and whether enough was learned to say so. A verdict is
 * filled by nb_engine_classify (core/engine/engine.h) and belongs to one thread at a time.
 */
#ifndef NB_CORE_VERDICT_VERDICT_H
#define NB_CORE_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/feature.h"
#include "core/base/string.h"

enum { NB_VERDICT_SOURCES = 3 }; /* a model, its parent, and its parent's parent */

struct nb_explained {
    struct nb_string token; /* bytes == NULL: the prior's row */
    struct nb_string given; /* the value that it depends on; bytes == NULL: none */
    uint64_t count;
    double evidence;                   /* infinite when it makes one of the two labels impossible */
    enum nb_field field;               /* of the token */
    double shares[NB_VERDICT_SOURCES]; /* of the evidence that come from each of `sources` */
    bool has_counts; /* the token is one of the model's own, which has no parent that speaks, and */
    uint64_t counts[2]; /* occurs so often in documents of the winner, and of the runner-up */
};

/* A classification; reused from call to call. */
struct nb_verdict {
    size_t size;         /* labels that have documents, in the order of their names */
    const char **labels; /* NUL-terminated; stable until the next call or deinit */
    double *log_scores;  /* -INFINITY: impossible by an estimate that is 0 */
    double *probabilities;
    size_t best;  /* index of the label that wins */
    bool stacked; /* label and probabilities come from the stack */
    /* And its weights have seen the documents, under the settings that hold: no refit is due. By
     * the book: the probabilities are those of the map that the setting `calibration` asks for. */
    bool calibrated;
    bool tells_calibrated; /* the model is stacked, or has that setting */
    /* A stacked model that has seen only one of the two labels of mail filtering, spam and ham,
     * gives the other what the rule of succession leaves it; else NULL. It is not among `labels`,
     * has no log score and never wins. */
    const char *unseen_label;
    double unseen_probability;
    bool ready; /* every label has enough documents; else `missing` says what is */
    char missing[160];
    uint64_t *documents;      /* of each label */
    uint64_t ready_documents; /* the model's setting */
    uint64_t total, known;    /* token positions */
    bool truncated;
    double unsure_band;               /* the model's setting */
    bool keeps_history;               /* the model has the setting `history` ... */
    bool keeps_subject;               /* ... and `history_subject` */
    struct nb_explained *explanation; /* strongest first, the prior's row last */
    size_t explanation_count;
    size_t second; /* with an explanation: index of the runner-up; == best with one label */
    /* With an explanation of a model that has a parent: the models of the family that have
     * documents, from it upwards, as `shares` have them; NUL-terminated, stable as `labels`. */
    const char *sources[NB_VERDICT_SOURCES];
    size_t source_count;
    /* Of all tokens of a field, those of attributes left out; filled with an explanation. NaN:
     * tokens rule both labels out. */
    double field_evidence[NB_FIELDS];
    struct nb_verdict_private *private_;
};
void nb_verdict_init(struct nb_verdict *verdict);
void nb_verdict_deinit(struct nb_verdict *verdict);
/* Lets go of the model that the verdict is of; the memory is kept for the next one. */
void nb_verdict_reset(struct nb_verdict *verdict);

/* Decides `ready` and `missing` of a verdict anew, by these labels only: the model may have others,
 * be it by a mistyped name, with few documents. A label that no document has is one that is
 * missing. */
void nb_verdict_need(struct nb_verdict *verdict, const char *const labels[], size_t count);

/* Makes a verdict, which has no explanation, one on the labels of a level (1 to NB_LEVEL_MOST,
 * core/score/levels.h): their probabilities are the sums of those below them, their log scores ln
 * of the sums of what those below are logarithms of, and `ready` and `missing` are of their
 * documents. Once for a classification. Returns 0 or NB_NO_MEMORY. */
int nb_verdict_at_level(struct nb_verdict *verdict, unsigned level);

/* Judges labels[0] against all others together, in a stacked model that has labels[0] and labels[1]
 * and, beside these, only labels with too few documents to be ready: as if those two were the only
 * ones, with the weights that were learned when they were. Sets *probability, and returns 0;
 * NB_CONFLICT if the model is not such a one, or NB_NO_MEMORY. */
int nb_verdict_against(struct nb_verdict *verdict, const char *const labels[2],
                       double *probability);

#endif
