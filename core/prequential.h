/* SPDX-License-Identifier: Apache-2.0
 *
 * Test-then-train: every document is scored before it is learned. The score teaches the stack and
 * is kept with the document, for the evaluation. On the writer's thread; for core/ alone.
 *
 * A document keeps the score of its first learning when it is relabelled or replaced later: by then
 * the counts know it, and a new score would flatter. For the same reason the stack learns from it
 * once only. When a document is forgotten its score goes too; what the weights of the stack learned
 * from it stays in them.
 */
#ifndef NB_CORE_PREQUENTIAL_H
#define NB_CORE_PREQUENTIAL_H

#include "core/engine_private.h"
#include "core/evaluate.h"

/* The writer's memory for it; also `struct nb_prequential p = {0}`. */
struct nb_prequential {
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_feature *features;
    size_t room;
};
void nb_prequential_deinit(struct nb_prequential *p);

/* The constants of the stack that the settings say. */
void nb_prequential_stack_settings(const struct nb_settings *settings,
                                   struct nb_stack_settings *stack);

/* Scores the change's bag, teaches the stack of a stacked model, and appends the score to `record`
 * (unless the settings make scoring a walk over the vocabulary: then nothing). 0 or a code. */
int nb_prequential_learn(struct nb_prequential *p, const struct nb_published *published,
                         const struct nb_model *counts, const struct nb_change *change,
                         struct nb_buffer *record);

/* A stacked model that has seen one label only, spam or ham, may not be certain of it: after n
 * documents its probability is (n + 1) / (n + 2), the rule of succession (Laplace 1774), and the
 * other of the two has the rest. Returns the other's name and sets *probability to the seen one's;
 * NULL for any other label, which has no known counterpart. */
const char *nb_prequential_unseen(const struct nb_model *counts, uint32_t only_label,
                                  double *probability);

/* The stored form of a score: the true label, and the labels and probabilities it was given. */
int nb_scored_write(const struct nb_scored *scored, struct nb_buffer *out);
/* Reads it back into `scored`, whose lists are owned by `lists` (emptied first). */
struct nb_scored_lists {
    uint32_t *labels;
    double *probabilities;
    size_t room;
};
int nb_scored_read(struct nb_string stored, struct nb_scored_lists *lists, struct nb_scored *scored,
                   struct nb_error *error);
void nb_scored_lists_deinit(struct nb_scored_lists *lists);

#endif
