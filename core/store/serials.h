/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of models and of ledger entries: given here alone, inside the transaction that uses
 * them, and never twice. On the writer's thread.
 *
 * The next number is above everything that any table holds, unfinished imports and deleted models
 * included: whatever a crash left behind, nothing new can be taken for it.
 */
#ifndef NB_CORE_STORE_SERIALS_H
#define NB_CORE_STORE_SERIALS_H

#include "core/lmdb/store.h"

struct nb_serials {
    uint64_t entry; /* the greatest that was given to an entry */
    uint32_t model; /* the greatest that was given to a model */
};

/* Reads the greatest numbers in use from every table. Returns 0 or a code. */
int nb_serials_load(const struct nb_view *view, struct nb_serials *serials, struct nb_error *error);

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
