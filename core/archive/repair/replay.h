/* SPDX-License-Identifier: Apache-2.0
 *
 * A model made afresh from its entries in the ledger, and nothing else: for verification and
 * rebuilding. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_REPLAY_H
#define NB_CORE_ARCHIVE_REPAIR_REPLAY_H

#include "core/ledger/entries/ledger.h"
#include "core/model/live/state.h"

/* What a replay gives. */
struct nb_replayed {
    struct nb_live *live;           /* owned; loaded */
    struct nb_ledger_totals totals; /* of the entries that there are */
    uint64_t last;                  /* number of the newest entry */
    bool is_whole;    /* no entry of its history was dropped: the weights are what they would be */
    bool has_weights; /* it was changed while it was stacked, or imported with weights */
};
void nb_replayed_deinit(struct nb_replayed *replayed);

/* Replays the entries of the model `number`, which is called `name` and has the key `own` (NULL:
 * none of its own). Damaged and missing entries are passed over, and `skipped` is called for each;
 * if it is NULL, they are an error. After success the caller deinits `replayed`. Returns 0 or a
 * code.
 */
int nb_replay(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
              struct nb_string name, const struct nb_own_key *own,
              void (*skipped)(void *user, uint64_t entry, const struct nb_error *why), void *user,
              struct nb_replayed *replayed, struct nb_error *error);

#endif
