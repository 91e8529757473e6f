/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds changes in the quarantine, a bounded number at a time, in snapshots. Any thread; for
 * core/jobs/quarantine alone.
 */
#ifndef NB_CORE_JOBS_QUARANTINE_FIND_H
#define NB_CORE_JOBS_QUARANTINE_FIND_H

#include "core/jobs/quarantine/wish.h"
#include "core/ledger/entries/quarantine.h"

struct nb_engine;
struct nb_live;

struct nb_quarantine_found {
    struct nb_buffer id, stored; /* owned */
};

struct nb_quarantine_search {
    const struct nb_quarantine_wish *wish; /* borrowed */
    struct nb_buffer after;                /* owned: the id that was looked at last */
    size_t next_id;                        /* with ids: the next one */
    bool is_done;                          /* everything was looked at */
    struct nb_quarantine_found *found;     /* owned: of the last look */
    size_t count, room, bytes;
    size_t most;
    const struct nb_view *view;
};

/* Begins after the id `after`. Returns 0 or NB_NO_MEMORY; deinit in any case. */
int nb_quarantine_search_begin(struct nb_quarantine_search *search,
                               const struct nb_quarantine_wish *wish, struct nb_string after);
void nb_quarantine_search_deinit(struct nb_quarantine_search *search);
/* Finds up to `most` further changes that match, fewer if they are large. Returns 0 or a code;
 * NB_CORRUPT: a change is damaged. */
int nb_quarantine_search_some(struct nb_quarantine_search *search, struct nb_engine *engine,
                              const struct nb_live *live, size_t most, struct nb_error *error);

/* What the caller is told of `rc`: damage of a quarantine is no damage of its model. Returns the
 * code and fills `error`. */
int nb_quarantine_tell(int rc, const struct nb_error *why, struct nb_error *error);

#endif
