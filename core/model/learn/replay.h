/* SPDX-License-Identifier: Apache-2.0
 *
 * The one driver of nb_apply over entries of the ledger: a start applies those behind a model's
 * checkpoint, a verification and a rebuild all of a model's, and an import those that it makes. On
 * the thread that owns the model's counts; with a learner on the writer's, or with no other thread.
 */
#ifndef NB_CORE_MODEL_LEARN_REPLAY_H
#define NB_CORE_MODEL_LEARN_REPLAY_H

#include "core/ledger/entries/ledger.h"
#include "core/model/learn/apply.h"
#include "core/model/live/state.h"

/* A replay under way. The caller sets the members up to `user`, the others are 0, and deinits it in
 * any case. */
struct nb_replay {
    struct nb_live *live;            /* with counts and settings */
    const struct nb_view *view;      /* of the ledger; NULL: no entry replaces another one */
    struct nb_features_coder *coder; /* borrowed */
    /* Of a replay of all entries: settings and weights become what the entries make them. NULL:
     * they stay as they are. */
    struct nb_learner *learner;
    /* Of a replay behind a checkpoint: of each stored range of rows the last entry that it contains
     * (struct nb_applying). NULL: the checkpoint has no ranges, or there is none. */
    const uint64_t *marks;
    size_t mark_count;
    bool is_behind; /* a checkpoint: only rows are changed, labels and sums are there already */
    /* Called for each entry that does not fit, which is passed over. NULL: it is an error. */
    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why);
    void *user;
    /* What it gives. */
    uint64_t last;    /* number of the newest entry */
    bool is_partial;  /* an entry of its history was dropped: the weights are not what they were */
    bool has_weights; /* it was changed while it was stacked, or imported with weights */
    /* The inside. */
    bool is_import; /* its entries do not teach the weights, which come with its end */
    struct nb_delta delta;
    struct nb_entry replaced;
    struct nb_buffer score;
};
void nb_replay_deinit(struct nb_replay *replay);

/* Applies one entry. Returns 0, NB_CORRUPT (it does not fit what came before), NB_TOO_LARGE,
 * NB_NO_MEMORY or a code of the store. */
int nb_replay_entry(struct nb_replay *replay, const struct nb_entry *entry, struct nb_error *error);

/* Applies the model's entries from the number `from` on. Returns as nb_replay_entry does, or
 * NB_CORRUPT for an entry that does not read back. */
int nb_replay_from(struct nb_replay *replay, uint64_t from, struct nb_error *error);

/* Makes the model `number`, which is called `name` and has the key `own` (NULL: none of its own),
 * from all its entries in `view` and nothing else. `skipped` as in struct nb_replay. Fills
 * `replay`; the caller frees replay->live, which is NULL after a failure, and deinits it in any
 * case. Returns as nb_replay_from does. */
int nb_replay_model(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
                    struct nb_string name, const struct nb_own_key *own,
                    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why),
                    void *user, struct nb_replay *replay, struct nb_error *error);

#endif
