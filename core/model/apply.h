/* SPDX-License-Identifier: Apache-2.0
 *
 * The one function that applies changes to a model's counts. The writer, a replay, an import, a
 * verification and a rebuild all use it. Called on the thread that owns the counts: the writer's,
 * or the loader's before other threads see them.
 */
#ifndef NB_CORE_MODEL_APPLY_H
#define NB_CORE_MODEL_APPLY_H

#include "core/ledger/bag_coding.h"
#include "core/ledger/change.h"
#include "core/ledger/features_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/live.h"
#include "core/model/state.h"

struct nb_learner;

/* The bags that a change of a document adds to the counts and removes from them, decoded. Empty:
 * `{0}` with both labels UINT32_MAX. Reused from change to change. */
struct nb_delta {
    /* UINT32_MAX: nothing is added or removed, and the bag only lists the rows that a document
     * without a label needs: such a document is not counted. */
    uint32_t add_label, take_label;
    struct nb_rows add, take; /* sorted by row */
    uint64_t taken_judged;    /* how what is removed was judged (struct nb_change); 0: not at all */
};
void nb_delta_reset(struct nb_delta *delta);
void nb_delta_deinit(struct nb_delta *delta);

/* The label under which a document is counted; UINT32_MAX for a document without one. */
static inline uint32_t nb_delta_label(uint32_t label)
{
    return label == NB_NO_LABEL ? UINT32_MAX : label;
}

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
    bool is_replay;  /* the change will not be taken back alone */
};

/* Applies a change to the counts, after nb_apply_new has made its labels and rows. Only changes of
 * documents and names of labels, and with a learner refits, have an effect here. `delta`: by
 * nb_delta_read, NULL for RENAME_LABEL; rows that how->marks excludes are removed from it. Sets
 * *fresh (may be NULL) to the number of tokens that are new in the vocabulary. Returns 0, or
 * NB_CORRUPT, NB_TOO_LARGE or NB_NO_MEMORY with the counts unchanged. */
int nb_apply(struct nb_live *live, const struct nb_change *change, struct nb_delta *delta,
             const struct nb_applying *how, size_t *fresh, struct nb_error *error);

/* Undoes nb_apply for a document, except what the weights learned. Changes must be undone in
 * reverse order; then no memory is allocated. Returns 0 or NB_NO_MEMORY. */
int nb_apply_undo(struct nb_live *live, const struct nb_delta *delta);

/* ---- replay ---------------------------------------------------------------------------------- */

/* The one driver of nb_apply over entries of the ledger. A start applies the entries after a
 * model's checkpoint, a verification and a rebuild all entries of a model, and an import the
 * entries that it makes. On the thread that owns the model's counts; with a learner, on the
 * writer's thread or while no other thread runs. */

/* A replay under way. The caller sets the members up to `user`, the others are 0, and deinits it in
 * any case. */
struct nb_replay {
    struct nb_live *live;            /* with counts and settings */
    const struct nb_view *view;      /* view of the ledger; NULL: no entry replaces another one */
    struct nb_features_coder *coder; /* borrowed */
    /* For a replay of all entries: updates settings and weights, too. NULL: they stay as they are.
     */
    struct nb_learner *learner;
    /* For a replay after a checkpoint: the last entry that each stored range of rows contains
     * (struct nb_applying). NULL: there is no checkpoint, or it has no ranges. */
    const uint64_t *marks;
    size_t mark_count;
    size_t most;    /* entries that one call of nb_replay_from applies; 0: all that there are */
    bool is_behind; /* after a checkpoint: only rows are changed, labels and sums are up to date */
    /* Called for each entry that does not fit, which is then skipped. NULL: such an entry is an
     * error. */
    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why);
    void *user;
    /* Results. */
    uint64_t last;    /* number of the newest entry */
    bool is_partial;  /* an entry of the model's history was dropped: the weights differ from the
                         original ones */
    bool has_weights; /* the model was changed while it was stacked, or imported with weights */
    /* Private. */
    bool is_import; /* an import: its entries do not teach the weights, which come with its last
                       entry */
    size_t applied; /* entries that this call of nb_replay_from has applied */
    struct nb_delta delta;
    struct nb_entry replaced;
    struct nb_buffer score;
};
void nb_replay_deinit(struct nb_replay *replay);

/* Applies one entry. Returns 0, NB_CORRUPT (it does not fit the entries before), NB_TOO_LARGE,
 * NB_NO_MEMORY or a code of the store. */
int nb_replay_entry(struct nb_replay *replay, const struct nb_entry *entry, struct nb_error *error);

/* Applies the model's entries from the number `from` on. Returns as nb_replay_entry does,
 * NB_CORRUPT for a damaged entry, or 1 after `most` entries: the caller goes on after
 * replay->last. */
int nb_replay_from(struct nb_replay *replay, uint64_t from, struct nb_error *error);

/* Begins the replay of all entries of the model `number`, with the name `name` and the own key
 * `own` (NULL: none): sets replay->live to a model without documents, which the caller frees, and
 * what the replay borrows of the engine. The caller sets `view`, calls nb_replay_from, and deinits
 * `replay` in any case. Returns 0 or NB_NO_MEMORY. */
int nb_replay_begin(struct nb_engine *engine, uint32_t number, struct nb_string name,
                    const struct nb_own_key *own, struct nb_replay *replay, struct nb_error *error);

/* Builds the model `number`, with the name `name` and the own key `own` (NULL: none), only from its
 * entries in `view`. `skipped` as in struct nb_replay. Fills `replay`; the caller frees
 * replay->live, which is NULL after a failure, and deinits `replay` in any case. Returns as
 * nb_replay_from does. */
int nb_replay_model(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
                    struct nb_string name, const struct nb_own_key *own,
                    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why),
                    void *user, struct nb_replay *replay, struct nb_error *error);

#endif
