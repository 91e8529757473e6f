/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of models and of ledger entries: given here alone, inside the transaction that uses
 * them, and never twice. On the writer's thread.
 *
 * The next number is above everything that any table holds, unfinished imports and deleted models
 * included: whatever a crash left behind, nothing new can be taken for it.
 *
 * Where several nodes share their changes, entries have the same numbers on all of them, because
 * changes say by number which entry they are about. So there the number follows from the change's
 * place in its stream, not from how many entries the store has, and grows in each stream. A model's
 * changes are in one:
 *
 *     6 bits   which stream of the cluster, after two that are 0
 *     40 bits  position in the stream: 34 years of 1,000 changes a second
 *     16 bits  which entry of the change, from 1 on
 *
 * Numbers of models are each store's own. Others know a model by its first entry's number.
 */
#ifndef NB_CORE_LEDGER_ENTRIES_SERIALS_H
#define NB_CORE_LEDGER_ENTRIES_SERIALS_H

#include <assert.h>

#include "core/store/lmdb/store.h"

enum {
    NB_SERIALS_ENTRY_BITS = 16,
    NB_SERIALS_POSITION_BITS = 40,
    NB_SERIALS_STREAM_BITS = 6,
};

struct nb_serials {
    uint64_t entry; /* the greatest that was given to an entry */
    uint32_t model; /* the greatest that was given to a model */
};

/* Reads the greatest numbers in use from every table. Returns 0 or a code. */
int nb_serials_load(const struct nb_view *view, struct nb_serials *serials, struct nb_error *error);

/* Below all numbers of a stream's entries, but for those that a store alone has; and which stream
 * an entry is of. */
static inline uint64_t nb_serials_first(unsigned stream)
{
    return (uint64_t)stream << (NB_SERIALS_POSITION_BITS + NB_SERIALS_ENTRY_BITS);
}
static inline unsigned nb_serials_stream(uint64_t number)
{
    uint64_t stream = number >> (NB_SERIALS_POSITION_BITS + NB_SERIALS_ENTRY_BITS);
    return (unsigned)(stream & ((1u << NB_SERIALS_STREAM_BITS) - 1));
}

/* The next entries are of the change at this position of a stream. */
static inline void nb_serials_follow(struct nb_serials *serials, unsigned stream, uint64_t position)
{
    assert(stream >> NB_SERIALS_STREAM_BITS == 0 && position >> NB_SERIALS_POSITION_BITS == 0);
    uint64_t change = (uint64_t)stream << NB_SERIALS_POSITION_BITS | position;
    if (serials->entry >> NB_SERIALS_ENTRY_BITS != change) /* it may have some already */
        serials->entry = change << NB_SERIALS_ENTRY_BITS;
}

/* The next number of an entry. The entry itself is what stores it. */
static inline uint64_t nb_serials_entry(struct nb_serials *serials)
{
    return ++serials->entry;
}

/* The next number of a model, which the transaction of `view` stores. Returns 0, NB_TOO_LARGE, or
 * what the store returns. If the transaction fails, the caller puts the old numbers back. */
int nb_serials_model(struct nb_serials *serials, const struct nb_view *view, uint32_t *number,
                     struct nb_error *error);

#endif
