/* SPDX-License-Identifier: Apache-2.0
 *
 * Assigns the numbers of models and of ledger entries, inside the transaction that uses them. No
 * number is assigned twice. On the writer's thread.
 *
 * The next number is above all numbers in any table, including those of unfinished imports and
 * deleted models. So nothing new can be mistaken for data that a crash left behind.
 *
 * If several nodes share their changes, an entry has the same number on all of them, because
 * changes refer to entries by number. So the number follows from the position of the change in its
 * stream, and not from how many entries the store has. It increases within a stream, and all
 * changes of a model are in one stream:
 *
 *     6 bits   number of the stream in the cluster, after two zero bits
 *     40 bits  position in the stream: 34 years of 1,000 changes a second
 *     16 bits  number of the entry within the change, from 1 on
 *
 * Each store numbers its models for itself. Other nodes identify a model by the number of its first
 * entry.
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
    uint64_t entry; /* the greatest number of an entry */
    uint32_t model; /* the greatest number of a model */
};

/* Reads the greatest numbers in use from every table. Returns 0 or a code. */
int nb_serials_load(const struct nb_view *view, struct nb_serials *serials, struct nb_error *error);

/* A lower bound of the numbers of a stream's entries; and the stream of an entry. */
static inline uint64_t nb_serials_first(unsigned stream)
{
    return (uint64_t)stream << (NB_SERIALS_POSITION_BITS + NB_SERIALS_ENTRY_BITS);
}
static inline unsigned nb_serials_stream(uint64_t number)
{
    uint64_t stream = number >> (NB_SERIALS_POSITION_BITS + NB_SERIALS_ENTRY_BITS);
    return (unsigned)(stream & ((1u << NB_SERIALS_STREAM_BITS) - 1));
}

/* The next numbers are for entries of the change at this position of a stream. */
static inline void nb_serials_follow(struct nb_serials *serials, unsigned stream, uint64_t position)
{
    assert(stream >> NB_SERIALS_STREAM_BITS == 0 && position >> NB_SERIALS_POSITION_BITS == 0);
    uint64_t change = (uint64_t)stream << NB_SERIALS_POSITION_BITS | position;
    if (serials->entry >> NB_SERIALS_ENTRY_BITS != change) /* it may have some already */
        serials->entry = change << NB_SERIALS_ENTRY_BITS;
}

/* Returns the next number for an entry. It is stored only by the entry itself. */
static inline uint64_t nb_serials_entry(struct nb_serials *serials)
{
    return ++serials->entry;
}

/* Sets *number to the next number for a model, which the transaction of `view` stores. Returns 0,
 * NB_TOO_LARGE, or what the store returns. If the transaction fails, the caller puts the old
 * numbers back. */
int nb_serials_model(struct nb_serials *serials, const struct nb_view *view, uint32_t *number,
                     struct nb_error *error);

#endif
