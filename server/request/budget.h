/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits what all requests together may use of one resource: memory of incoming bodies, memory of
 * outgoing replies, bytes of temporary files, memory of clusterings. Each holder records its share
 * in a hold. Budgets are for any thread; a hold belongs to one thread at a time.
 */
#ifndef NB_SERVER_REQUEST_BUDGET_H
#define NB_SERVER_REQUEST_BUDGET_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_config;

enum nb_budget_kind {
    NB_BUDGET_BODIES,
    NB_BUDGET_REPLIES,
    NB_BUDGET_SPOOLS,
    NB_BUDGET_CLUSTERS,
    NB_BUDGETS
};

struct nb_budget {
    enum nb_budget_kind kind;
    atomic_uint_fast64_t used, most; /* bytes */
};

/* The share of one holder. {0} belongs to no budget and may grow without limit. */
struct nb_hold {
    struct nb_budget *budget; /* borrowed */
    uint64_t size;
};

/* Sets the limits of all NB_BUDGETS from the options: first while there is only one thread, then
 * again after each reload, while other threads have holds. Existing holds stay. */
void nb_budgets_limit(struct nb_budget *budgets, const struct nb_config *config);

/* Changes the holder's share to `size` bytes. Reducing it never fails (`error` may be NULL then).
 * Increasing it fails when the sum of all holds would exceed the limit, with NB_NO_MEMORY, or
 * NB_DISK_FULL for files; then the hold is unchanged. */
int nb_hold_set(struct nb_hold *hold, uint64_t size, struct nb_error *error);

/* Returns the bytes of memory that a growing buffer uses: of a large one only those that were
 * written, because the kernel gives pages to no others. */
uint64_t nb_held_by(const struct nb_buffer *buffer);

#endif
