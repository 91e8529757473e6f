/* SPDX-License-Identifier: Apache-2.0
 *
 * The one function through which changes come into a model: the writer's, a replay's, an import's,
 * a verification's and a rebuild's. On the thread that owns the model's counts: the writer's, or
 * the loader's before anybody else sees them.
 */
#ifndef NB_CORE_LIVE_APPLY_H
#define NB_CORE_LIVE_APPLY_H

#include "core/live/live.h"
#include "core/store/change.h"
#include "core/store/features.h"
#include "core/store/rows.h"

struct nb_learner;

/* The bags that a change of a document adds and takes out, decoded. `{0}` with both labels
 * UINT32_MAX is none; reused from change to change. */
struct nb_delta {
    /* UINT32_MAX: nothing is added to the counts, or taken out. A bag without a label says which
     * rows a document needs that is counted nowhere. */
    uint32_t add_label, take_label;
    struct nb_rows add, take; /* ascending */
};
void nb_delta_reset(struct nb_delta *delta);
void nb_delta_deinit(struct nb_delta *delta);

/* The label under which a document is counted: none, if it is without one. */
static inline uint32_t nb_delta_label(uint32_t label)
{
    return label == NB_NO_LABEL ? UINT32_MAX : label;
}

/* Decodes what the change adds and, from the entry that it replaces (NULL: none), what it takes
 * out. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_delta_read(struct nb_delta *delta, const struct nb_change *change,
                  const struct nb_change *replaced, uint32_t rows, struct nb_error *error);

/* How a change is to be applied. All zeros: all of it, and the weights learn nothing. */
struct nb_applying {
    /* Teaches the weights what the change says: of a new document from the score that the learner
     * computed last (nb_learner_score). Reads other documents in `view`. */
    struct nb_learner *learner;
    const struct nb_view *view;
    /* For a replay: ranges of rows that are true up to marks[range] take only later entries. */
    const uint64_t *marks;
    size_t mark_count;
    uint64_t number; /* of the entry */
};

/* Adds the change's new label and the rows of its new features to the model; those that the model
 * has already are left alone, and so are, with marks, those of ranges that are true up to the
 * entry. Rows that no change brings, because their features were dropped, have no id then
 * (nb_model_collect_dropped). Returns 0, NB_CORRUPT (they do not fit the model) or NB_NO_MEMORY. */
int nb_apply_new(struct nb_live *live, const struct nb_change *change,
                 const struct nb_applying *how, struct nb_features_coder *coder,
                 struct nb_error *error);

/* Brings a change into the counts, whose labels and rows nb_apply_new has made. Only documents and
 * names of labels are counts; all other kinds change nothing here. `delta`: by nb_delta_read; rows
 * that how->marks leaves out are taken from it. NULL for RENAME_LABEL. Sets *fresh (may be NULL) to
 * the number of tokens that came into the vocabulary. Returns 0, or NB_CORRUPT, NB_TOO_LARGE or
 * NB_NO_MEMORY with the counts unchanged. */
int nb_apply(struct nb_live *live, const struct nb_change *change, struct nb_delta *delta,
             const struct nb_applying *how, size_t *fresh, struct nb_error *error);

/* Takes back what nb_apply did for a document, except what the weights learned. Changes must be
 * taken back in the reverse order; then this needs no memory. Returns 0 or NB_NO_MEMORY. */
int nb_apply_undo(struct nb_live *live, const struct nb_change *change,
                  const struct nb_delta *delta);

#endif
