/* SPDX-License-Identifier: Apache-2.0
 *
 * Prequential evaluation (test-then-train): every document is scored before it is learned. The
 * score trains the stack and is stored with the document, for the evaluation. On the thread that
 * owns the model's counts; a learner belongs to one thread.
 *
 * A document keeps the score of its first learning when it is relabelled or replaced later: by then
 * the counts contain it, and a new score would be too good. What it taught the stack is taken back,
 * and then the stack learns from its leave-one-out inputs, as if the document had been removed
 * first. When a document is forgotten its score is removed, too.
 */
#ifndef NB_CORE_MODEL_LEARNER_H
#define NB_CORE_MODEL_LEARNER_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/bayes/scorer.h"
#include "core/ledger/bag_coding.h"
#include "core/model/evaluation.h"
#include "core/model/live.h"

struct nb_learner;

/* `refit_units`: work of one slice of a refit (NB_REFIT_UNITS). A replay must use the same number
 * as the writer did. NULL: out of memory. */
struct nb_learner *nb_learner_new(uint64_t refit_units);
void nb_learner_free(struct nb_learner **learner);

/* Scores a document, given by its rows (ascending, all in the model) and label, and appends the
 * score to `record`. Appends nothing if the settings make scoring a pass over the whole vocabulary.
 * nb_learner_teach learns from the last score. `judged`: how its worst passage was judged (struct
 * nb_change). Returns 0, NB_CORRUPT or NB_NO_MEMORY.
 */
int nb_learner_score(struct nb_learner *learner, const struct nb_published *published,
                     const struct nb_model *counts, const struct nb_rows *rows, uint32_t label,
                     uint64_t judged, struct nb_buffer *record);
/* As nb_learner_score, for features, which the model need not have. */
int nb_learner_score_features(struct nb_learner *learner, const struct nb_published *published,
                              const struct nb_model *counts, const struct nb_feature *features,
                              size_t size, uint32_t label, struct nb_buffer *record);
/* Forgets the last score: the next change teaches nothing. */
void nb_learner_reset(struct nb_learner *learner);

/* A change that was applied to the counts, from which the stack learns. */
struct nb_lesson {
    const struct nb_view *view; /* to read other documents of the ledger */
    uint32_t label;
    uint32_t taken; /* the document's label before the change; NB_STACK_NO_LABEL: none */
    const struct nb_rows *rows; /* the document as it is now; NULL: it was forgotten */
    uint64_t judged;            /* how its worst passage was judged (struct nb_change) */
    uint64_t taken_judged;      /* the same of the entry that the change takes back */
    bool is_aged;               /* it was forgotten because of its age */
    uint64_t document;          /* a hash of its id, not 0 */
    uint64_t replaced;          /* the entry that the change takes back; 0: none */
    uint64_t number;            /* the change's own entry */
    const struct nb_rows *old;  /* the document as it was, if it had a label */
    double weight;              /* it taught with this weight under the label `taken` */
    bool is_replay;             /* the change will not be taken back alone */
};
/* Takes back what the document taught under the label `taken`, before the change is applied to the
 * counts. The weights are restored to the bit if the document taught once, as the last one of the
 * model, or if the change restores what the last change replaced (nb_stack_lesson_begin). Otherwise
 * they are restored approximately, and the lessons of later documents are taken back, too, until
 * nb_learner_teach (core/model/rewind.h). Begins the lesson of the change, for nb_learner_teach.
 * Returns as nb_learner_teach. */
int nb_learner_take_back(struct nb_learner *learner, struct nb_live *live,
                         const struct nb_lesson *lesson);
/* Puts the counts back as they were before nb_learner_take_back, if the change fails before
 * nb_learner_teach. */
void nb_learner_cancel(struct nb_learner *learner, struct nb_live *live);
/* Trains the stack of a stacked model: with the document, by the last score or, if there is none,
 * by its leave-one-out inputs; and with randomly drawn documents, if the order of training requires
 * it (core/model/order.h). Begins a refit if there is a reason, and runs a slice of a refit
 * that is under way (core/model/refit.h). Returns 0, or a code; then the caller rolls the
 * weights back and drops the refit. */
int nb_learner_teach(struct nb_learner *learner, struct nb_live *live,
                     const struct nb_lesson *lesson);
/* Applies a REFIT entry: begins a refit or runs a slice of it, as `part` says. Returns as
 * nb_learner_teach, or NB_CORRUPT for an unknown part. */
int nb_learner_refit(struct nb_learner *learner, struct nb_live *live, const struct nb_view *view,
                     uint32_t part);
/* The number of slices run since the last call. */
unsigned nb_learner_slices(struct nb_learner *learner);

/* For a stacked model that has learned only one label, spam or ham: it must not be certain. After n
 * documents the probability of that label is (n + 1) / (n + 2), by the rule of succession (Laplace
 * 1774), and the other of the two has the rest. Returns the name of the other and sets *probability
 * to that of `label`; NULL if `label` is neither spam nor ham. */
const char *nb_unseen_label(const char *label, uint64_t documents, double *probability);

/* ---- stored scores --------------------------------------------------------------------------- */

/* The stored form of the score that a document got before it was learned: its true label, and the
 * probabilities of the labels. Pure functions on bytes; any thread.
 *
 * Stored form: a varint with the true label, a double with the log-odds (0 unless there are two
 * labels), and for each label a varint, its number, and a double, its probability. Where a label's
 * number is NB_LABELS_MOST, a weight follows: first that of the document's lesson, then that of its
 * lesson before this change. A weight that is missing is 1. */

/* Appends the score of a document of this label. Of many labels only the 16 most probable are kept;
 * if the true one is not among them, it replaces the least probable. Returns 0 or NB_NO_MEMORY. */
int nb_stored_score_keep(const struct nb_scores *scores, uint32_t label, struct nb_buffer *record);
/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_stored_score_write(const struct nb_stored_score *scored, struct nb_buffer *out);

/* Appends the weight with which the document will teach under this label, unless it is 1; the
 * counts have the document under the label `taken` (NB_STACK_NO_LABEL: not yet). `old` is its score
 * before the change. For stacked models; does nothing if there is no score. Returns 0 or
 * NB_NO_MEMORY. */
int nb_stored_score_keep_weight(const struct nb_live *live, uint32_t label, uint32_t taken,
                                struct nb_string old, struct nb_buffer *record);

/* Owns the lists of a score that was read; reused. */
struct nb_stored_score_lists {
    uint32_t *labels;
    double *probabilities;
    size_t room;
};
/* Reads the stored form into `scored`, whose lists point into `lists` (emptied first). Returns 0,
 * NB_CORRUPT or NB_NO_MEMORY. */
int nb_stored_score_read(struct nb_string stored, struct nb_stored_score_lists *lists,
                         struct nb_stored_score *scored, struct nb_error *error);
void nb_stored_score_lists_deinit(struct nb_stored_score_lists *lists);

#endif
