/* SPDX-License-Identifier: Apache-2.0
 *
 * The one function that applies changes to a model's counts. The writer, a replay, an import, a
 * verification and a rebuild all use it. Called on the thread that owns the counts: the writer's,
 * or the loader's before other threads see them.
 */
#ifndef NB_CORE_MODEL_LEARN_APPLY_H
#define NB_CORE_MODEL_LEARN_APPLY_H

#include "core/ledger/coding/features_coding.h"
#include "core/ledger/coding/rows_coding.h"
#include "core/ledger/entries/change.h"
#include "core/model/live/live.h"

struct nb_learner;

/* The bags that a change of a document adds to the counts and removes from them, decoded. Empty:
 * `{0}` with both labels UINT32_MAX. Reused from change to change. */
struct nb_delta {
    /* UINT32_MAX: nothing is added, or removed; then the bag lists rows that an unlabelled
     * document, which is not counted, needs. */
    uint32_t add_label, take_label;
    struct nb_rows add, take; /* sorted by row */
};
void nb_delta_reset(struct nb_delta *delta);
void nb_delta_deinit(struct nb_delta *delta);

/* The label under which a document is counted; UINT32_MAX for a document without one. */
static inline uint32_t nb_delta_label(uint32_t label)
{
    return label == NB_NO_LABEL ? UINT32_MAX : label;
}

/* Decodes the bag that the change adds and, from the entry that it replaces (NULL: none), the bag
 * that it removes. `rows`: rows of the model. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_delta_read(struct nb_delta *delta, const struct nb_change *change,
                  const struct nb_change *replaced, uint32_t rows, struct nb_error *error);

/* How to apply a change. All zeros: to all rows, and the weights do not learn. */
struct nb_applying {
    /* Teaches the weights, from a new document by the score that the learner computed last
     * (nb_learner_score). Reads other documents in `view`. NULL: the weights do not learn. */
    struct nb_learner *learner;
    const struct nb_view *view;
    /* For a replay: a stored range of rows contains all entries up to marks[range], so only later
     * ones are applied to it. */
    const uint64_t *marks;
    size_t mark_count;
    uint64_t number; /* number of the entry */
    bool are_found;  /* the added rows were found by their features, so they have features */
};

/* Adds the change's new label and the rows of its new features to the model. Does not change rows
 * that the model has already, nor, with marks, rows of ranges that contain the entry. Rows whose
 * features were dropped later, and which no change adds any more, stay without an id
 * (nb_model_collect_dropped). Returns 0, NB_CORRUPT (they do not fit the model) or NB_NO_MEMORY. */
int nb_apply_new(struct nb_live *live, const struct nb_change *change,
                 const struct nb_applying *how, struct nb_features_coder *coder,
                 struct nb_error *error);

/* Applies a change to the counts, after nb_apply_new has made its labels and rows. Only changes of
 * documents and names of labels, and with a learner refits, have an effect here. `delta`: by
 * nb_delta_read, NULL for RENAME_LABEL; rows that how->marks excludes are removed from it. Sets
 * *fresh (may be NULL) to the number of tokens that are new in the vocabulary. Returns 0, or
 * NB_CORRUPT, NB_TOO_LARGE or NB_NO_MEMORY with the counts unchanged. */
int nb_apply(struct nb_live *live, const struct nb_change *change, struct nb_delta *delta,
             const struct nb_applying *how, size_t *fresh, struct nb_error *error);

/* Undoes nb_apply for a document, except what the weights learned. Changes must be undone in
 * reverse order; then no memory is allocated. Returns 0 or NB_NO_MEMORY. */
int nb_apply_undo(struct nb_live *live, const struct nb_change *change,
                  const struct nb_delta *delta);

#endif
