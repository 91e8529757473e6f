/* SPDX-License-Identifier: Apache-2.0
 *
 * What all requests together may take of one thing: memory of bodies on their way in, memory of
 * replies on their way out, bytes of temporary files, memory of clusterings. Each holder notes what
 * it takes in a hold. Budgets are for any thread; a hold belongs to one thread at a time.
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

/* What one holder has taken. {0} holds nothing of nothing and takes whatever it wants. */
struct nb_hold {
    struct nb_budget *budget; /* borrowed */
    uint64_t size;
};

/* Sets the limits of all NB_BUDGETS by the options: first while there is one thread, then again
 * after each reload, beside threads that hold. What is held already stays. */
void nb_budgets_limit(struct nb_budget *budgets, const struct nb_config *config);

/* Notes that the holder now takes `size` bytes instead of those noted before. To take less never
 * fails (`error` may be NULL then). To take more fails when all together would be above the limit:
 * NB_NO_MEMORY, or NB_DISK_FULL for files; then the hold is as before. */
int nb_hold_set(struct nb_hold *hold, uint64_t size, struct nb_error *error);

/* Bytes of memory that a growing buffer takes: of a large one only those that were written to,
 * because the kernel gives the others no page. */
uint64_t nb_held_by(const struct nb_buffer *buffer);

#endif
