/* SPDX-License-Identifier: Apache-2.0
 *
 * A model with its parent and its parent's parent, as far as it has them: who they are, and what
 * they say together (core/stack/blend/blend.h). A model without a parent is a chain of
 * one, which costs nothing beyond itself. Documents of the model without a label may come in, too
 * (core/model/refined/refined.h).
 *
 * Threads: a chain belongs to one thread. Its members are loaded, and stay so until
 * nb_parent_chain_end. Locks: all members' counts, from the model upwards, then all weights, in the
 * same order.
 */
#ifndef NB_CORE_MODEL_PARENTS_PARENT_CHAIN_H
#define NB_CORE_MODEL_PARENTS_PARENT_CHAIN_H

#include "core/ledger/coding/rows_coding.h"
#include "core/model/live/live.h"
#include "core/model/refined/refined.h"
#include "core/stack/blend/blend.h"
#include "tokenizer/bag/bag.h"

struct nb_engine;

/* Zero-initialize it, and use it for one document after another. */
struct nb_parent_chain {
    struct nb_engine *engine;
    struct nb_live *live[NB_BLEND_MOST];           /* [0]: the model, borrowed; referenced */
    struct nb_published *published[NB_BLEND_MOST]; /* referenced */
    unsigned count;                                /* 0: it has ended */
    /* Those that have documents, as nb_parent_chain_lock found them; not sources[i], but these
     * numbers of members, from the model upwards. */
    unsigned contributors[NB_BLEND_MOST];
    unsigned contributor_count;
    /* What documents without a label have given the model (core/em/unlabelled.h), as it was
     * when the chain began; referenced; NULL: nothing. */
    struct nb_refined *refined;
    struct nb_blend blend;
    struct nb_feature *features; /* owned */
    size_t feature_room;
};
void nb_parent_chain_deinit(struct nb_parent_chain *chain);

/* Finds and loads the ancestors of a model that is loaded, and to which the caller has a reference
 * that is kept until nb_parent_chain_end. Returns 0; NB_CONFLICT: the parent is gone, or one that
 * the model cannot have (nb_parent_chain_check); or what nb_registry_acquire returns for it
 * (NB_DAMAGED, NB_IO, NB_NO_MEMORY), with a text that names it. */
int nb_parent_chain_begin(struct nb_parent_chain *chain, struct nb_engine *engine,
                          struct nb_live *live, struct nb_error *error);
void nb_parent_chain_end(struct nb_parent_chain *chain);

/* Takes the locks, and finds who has documents. */
void nb_parent_chain_lock(struct nb_parent_chain *chain);
void nb_parent_chain_unlock(struct nb_parent_chain *chain);
/* Makes the view of all contributors, of whom there is one at least, for what follows under the
 * locks. Whether there are stacked scores is as the first contributor's settings say. Returns 0 or
 * NB_NO_MEMORY. */
int nb_parent_chain_blend(struct nb_parent_chain *chain);
/* The same into another blend, with other counts beside those of the first contributor, and with
 * other weights of it (NULL: its own; else the scores are stacked and nobody else uses these). */
int nb_parent_chain_blend_beside(const struct nb_parent_chain *chain,
                                 const struct nb_stack_weights *weights,
                                 const struct nb_besides *besides, struct nb_blend *blend);
/* What documents without a label weigh, if they come in; else NULL. Under the locks. */
const struct nb_refined *nb_parent_chain_refined(const struct nb_parent_chain *chain);
/* Whether none of the contributors waits for a refit of its weights. */
bool nb_parent_chain_is_calibrated(const struct nb_parent_chain *chain);

/* Replaces the score in `record` (core/model/learn/stored_score.h), which the model's own counts
 * gave a document of the label, by that of the chain. It stays when the chain
 * cannot be asked, or when it knows labels that the model does not: these have no numbers there.
 * Returns 0 or NB_NO_MEMORY.
 */
int nb_parent_chain_keep_score(struct nb_parent_chain *chain, struct nb_engine *engine,
                               struct nb_live *live, const struct nb_feature *features, size_t size,
                               uint32_t label, struct nb_buffer *record);
/* The same of a document whose rows are in the model. For the writer, in its transaction: nothing
 * is loaded, and the score stays when an ancestor is not in memory. */
int nb_parent_chain_keep_score_of_rows(struct nb_parent_chain *chain, struct nb_engine *engine,
                                       struct nb_live *live, const struct nb_rows *rows,
                                       uint32_t label, struct nb_buffer *record);

/* Replaces the leave-one-out score of a learned document of the model, by its own counts, by that
 * of the chain; it stays where nb_parent_chain_keep_score lets it stay, and when nobody
 * but the model has documents. The model has `weights`, whose twin the document has not taught, for
 * its own; nobody else uses them. Under the locks; the model is stacked. Returns 0, NB_CONFLICT (no
 * other document has the label) or NB_NO_MEMORY. */
int nb_parent_chain_score_left_out(struct nb_parent_chain *chain, const struct nb_rows *rows,
                                   uint32_t label, const struct nb_stack_weights *weights,
                                   struct nb_scores *scores);

#endif
