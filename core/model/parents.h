/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules for parents. A parent must count the same things as its child: features under the same key,
 * of the same fields, with the same limit of counts. When it becomes the parent it must know the
 * child's labels; later both may learn further labels. There are at most three levels, and no
 * cycles. While a model has children it cannot be deleted, and its labels cannot be renamed.
 *
 * On the writer's thread, which alone changes parents, unless said otherwise.
 */
#ifndef NB_CORE_MODEL_PARENTS_H
#define NB_CORE_MODEL_PARENTS_H

#include "core/ledger/bag_coding.h"
#include "core/model/live.h"
#include "core/model/state.h"
#include "core/stack/blend.h"
#include "tokenizer/bag.h"

struct nb_engine;

/* Checks whether a model with these settings can have the parent that they name (NULL: none), and
 * keep its children. `live` is the model: it may be unsaved, or about to replace the model of its
 * name. Loads model and parent. Returns 0; NB_UNUSABLE: there is no such parent, it is the model
 * itself or one of its descendants, there are too many levels, or a setting does not allow a
 * parent; NB_CONFLICT: the parent counts other things; NB_DAMAGED, NB_IO, NB_NO_MEMORY. */
int nb_parents_check(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_settings *settings, struct nb_error *error);

/* After nb_parents_check: checks whether the parent `name`, if it is new to the model, knows all
 * labels of the model's documents. A parent that has learned nothing yet passes. The check finds
 * mistyped names. An import skips it, because a model and its parent may have learned different
 * labels since. Returns 0; NB_CONFLICT, naming the label; NB_NOT_FOUND, NB_DAMAGED, NB_IO,
 * NB_NO_MEMORY. */
int nb_parents_check_labels(struct nb_engine *engine, struct nb_live *live, const char *name,
                            struct nb_error *error);

/* Sets the name of the model's parent, and exchanges *name (owned, may be NULL) for the name of the
 * old one. */
void nb_parents_note(struct nb_engine *engine, struct nb_live *live, char **name);

/* Returns NB_CONFLICT if the model has children, else 0. The text names one child and says that
 * `what` cannot be done. */
int nb_parents_check_childless(struct nb_engine *engine, const struct nb_live *live,
                               const char *what, struct nb_error *error);

/* ---- chains ---------------------------------------------------------------------------------- */

/* A chain: a model with its parent and its parent's parent, if it has them, and their joint scores
 * (core/stack/blend.h). A model without a parent is a chain of one, at no extra cost. The
 * model's documents without a label may also contribute (core/model/live.h).
 *
 * Threads: a chain belongs to one thread. Its members are loaded, and stay so until
 * nb_parent_chain_end. Locks: all members' counts, from the model upwards, then all weights, in the
 * same order. */

/* Zero-initialize it, and use it for one document after another. */
struct nb_parent_chain {
    struct nb_engine *engine;
    struct nb_live *live[NB_BLEND_MOST];           /* [0]: the model, borrowed; referenced */
    struct nb_published *published[NB_BLEND_MOST]; /* referenced */
    unsigned count;                                /* 0: it has ended */
    /* Members that have documents, found by nb_parent_chain_lock, from the model upwards: the
     * blend's source i is the member contributors[i]. */
    unsigned contributors[NB_BLEND_MOST];
    unsigned contributor_count;
    /* The model's fit of documents without a label (core/em/unlabelled.h) when the chain began;
     * referenced; NULL: none. */
    struct nb_refined *refined;
    struct nb_blend blend;
    struct nb_feature *features; /* owned */
    size_t feature_room;
};
void nb_parent_chain_deinit(struct nb_parent_chain *chain);

/* Finds and loads the ancestors of a loaded model. The caller keeps a reference to the model until
 * nb_parent_chain_end. Returns 0; NB_CONFLICT: the parent is gone, or the model cannot have this
 * parent; or what nb_registry_acquire returns for an ancestor (NB_DAMAGED, NB_IO, NB_NO_MEMORY),
 * with a text that names it. */
int nb_parent_chain_begin(struct nb_parent_chain *chain, struct nb_engine *engine,
                          struct nb_live *live, struct nb_error *error);
void nb_parent_chain_end(struct nb_parent_chain *chain);

/* Takes the locks, and finds the members that have documents. */
void nb_parent_chain_lock(struct nb_parent_chain *chain);
void nb_parent_chain_unlock(struct nb_parent_chain *chain);
/* Makes the blend of all contributors (at least one) for use under the locks. The first
 * contributor's settings decide whether scores are stacked. Returns 0 or NB_NO_MEMORY. */
int nb_parent_chain_blend(struct nb_parent_chain *chain);
/* As nb_parent_chain_blend, but fills `blend`, adds the counts `besides` to the first
 * contributor's, and uses `weights` for it (NULL: its own; else scores are stacked and no other
 * thread uses `weights`). */
int nb_parent_chain_blend_beside(const struct nb_parent_chain *chain,
                                 const struct nb_stack_weights *weights,
                                 const struct nb_besides *besides, struct nb_blend *blend);
/* The fit of documents without a label, if they contribute; else NULL. Under the locks. */
const struct nb_refined *nb_parent_chain_refined(const struct nb_parent_chain *chain);
/* Whether none of the contributors waits for a refit of its weights. */
bool nb_parent_chain_is_calibrated(const struct nb_parent_chain *chain);

/* Replaces the score in `record` (core/model/learner.h), which a document of the label got from the
 * model's own counts, by the score of the chain. The score stays if the chain cannot be loaded, or
 * has labels that the model does not have: these have no numbers in the model. Returns 0 or
 * NB_NO_MEMORY. */
int nb_parent_chain_keep_score(struct nb_parent_chain *chain, struct nb_engine *engine,
                               struct nb_live *live, const struct nb_feature *features, size_t size,
                               uint32_t label, struct nb_buffer *record);
/* As nb_parent_chain_keep_score, for a document whose rows are in the model. The writer calls it in
 * its transaction: it loads nothing, and the score stays if an ancestor is not in memory. */
int nb_parent_chain_keep_score_of_rows(struct nb_parent_chain *chain, struct nb_engine *engine,
                                       struct nb_live *live, const struct nb_rows *rows,
                                       uint32_t label, struct nb_buffer *record);

/* Replaces a learned document's leave-one-out score, which comes from the model alone, by the score
 * of the chain. The score stays in the cases of nb_parent_chain_keep_score, and if no other member
 * has documents. Uses `weights` for the model: their twin has not learned the document, and no
 * other thread uses them. Under the locks; the model is stacked. Returns 0, NB_CONFLICT (no other
 * document has the label) or NB_NO_MEMORY. */
int nb_parent_chain_score_left_out(struct nb_parent_chain *chain, const struct nb_rows *rows,
                                   uint32_t label, const struct nb_stack_weights *weights,
                                   struct nb_scores *scores);

#endif
