/* SPDX-License-Identifier: Apache-2.0
 *
 * Test-then-train: every document is scored before it is learned. The score teaches the stack and
 * is kept with the document, for the evaluation. On the thread that owns the model's counts; a
 * learner belongs to one thread.
 *
 * A document keeps the score of its first learning when it is relabelled or replaced later: by then
 * the counts know it, and a new score would flatter. What the stack learns from it then are its
 * leave-one-out inputs, as if the old one had been taken out first. When a document is forgotten
 * its score goes, too; what the weights of the stack learned from it stays in them.
 */
#ifndef NB_CORE_LIVE_LEARNER_H
#define NB_CORE_LIVE_LEARNER_H

#include "core/live/live.h"
#include "core/store/rows.h"

struct nb_learner;
/* A slice of a refit is so many units of work (NB_REFIT_UNITS): whoever replays what another
 * learner did takes the same number. NULL: out of memory. */
struct nb_learner *nb_learner_new(uint64_t refit_units);
void nb_learner_free(struct nb_learner **learner);

/* Scores a document whose rows (ascending; all of them in the model) and label are given, and
 * appends the score to `record`; nothing where the settings make scoring a walk over the
 * vocabulary. nb_learner_teach learns from the last score. Returns 0, NB_CORRUPT or NB_NO_MEMORY.
 */
int nb_learner_score(struct nb_learner *learner, const struct nb_published *published,
                     const struct nb_model *counts, const struct nb_rows *rows, uint32_t label,
                     struct nb_buffer *record);
/* The same of features that the model need not have. */
int nb_learner_score_features(struct nb_learner *learner, const struct nb_published *published,
                              const struct nb_model *counts, const struct nb_feature *features,
                              size_t size, uint32_t label, struct nb_buffer *record);
/* Forgets the last score: the next change teaches nothing. */
void nb_learner_reset(struct nb_learner *learner);

/* What a change that is in the counts says about its document. */
struct nb_lesson {
    const struct nb_view *view; /* for reading other documents of the ledger */
    uint32_t label;
    uint32_t taken;             /* the label that a document had before; NB_STACK_NO_LABEL: none */
    const struct nb_rows *rows; /* the document as it is now; NULL: it was forgotten */
    bool is_aged;               /* it was forgotten because of its age */
};
/* Teaches the stack of a stacked model: the document, from the last score or, if there is none,
 * from its leave-one-out inputs; and documents that are drawn, as the order of training demands
 * (core/live/order.h). Begins a refit if there is a reason, and runs a slice of one that is under
 * way (core/live/refit.h). Returns 0, or a code; then the caller takes back what the weights
 * learned, and drops the refit. */
int nb_learner_teach(struct nb_learner *learner, struct nb_live *live,
                     const struct nb_lesson *lesson);
/* Does what a REFIT entry says: a slice of a refit, the first of one if it begins. Returns as
 * nb_learner_teach, or NB_CORRUPT: this program knows no such part. */
int nb_learner_refit(struct nb_learner *learner, struct nb_live *live, const struct nb_view *view,
                     uint32_t part);
/* How many slices were run since the last call. */
unsigned nb_learner_slices(struct nb_learner *learner);

/* A stacked model that has seen one label only, spam or ham, may not be certain of it: after n
 * documents its probability is (n + 1) / (n + 2), the rule of succession (Laplace 1774), and the
 * other of the two has the rest. Returns the other's name and sets *probability to the seen one's;
 * NULL for any other label, which has no known counterpart. */
const char *nb_unseen_label(const char *label, uint64_t documents, double *probability);

#endif
