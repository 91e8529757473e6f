/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory and the files that bodies and replies use: their limits for all requests together, the
 * memory of a large body that is kept for the next one, and replies that grow into a file.
 */
#ifndef NB_SERVER_HTTP_BUDGET_H
#define NB_SERVER_HTTP_BUDGET_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_config;
struct nb_spare;

/* A budget limits what all requests together may use of one resource: memory of incoming bodies,
 * memory of outgoing replies, bytes of temporary files, memory of clusterings. Each holder records
 * its share in a hold. Budgets are for any thread; a hold belongs to one thread at a time. */
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

/* Returns the bytes of memory that a growing buffer uses: of a large buffer only the bytes that
 * were written, because the kernel gives no pages to the others. */
uint64_t nb_held_by(const struct nb_buffer *buffer);

/* ---- spare memory ---------------------------------------------------------------------------- */

/* Keeps the memory of one large body for a while, for the next one. Pages that are new to a process
 * cost more time than the rest of receiving a body: 2.5 us each on a virtual machine, 5 us for a
 * mail in a list of mails. Any thread. */

/* Smaller bodies do not lie in pages of their own (server/main.c); larger ones exceed the memory
 * that a daemon may hold outside of the budgets for bodies. */
enum { NB_SPARE_LEAST = 1 << 20, NB_SPARE_MOST = 8 << 20 };

typedef _Atomic(struct nb_spare *) nb_spare_place; /* NULL: none is kept */

/* Gives `body` the kept memory if that is larger than its own; its content is moved there. */
void nb_spare_take(nb_spare_place *place, struct nb_buffer *body);

/* Empties `body` and keeps its memory in place of the memory kept so far, unless it is small or
 * very large. `now` is nb_clock_monotonic. */
void nb_spare_give(nb_spare_place *place, struct nb_buffer *body, uint64_t now);

/* Frees the kept memory if it was given before the time `before`. */
void nb_spare_drop(nb_spare_place *place, uint64_t before);

/* ---- spools ---------------------------------------------------------------------------------- */

/* A reply of any length: in memory up to a limit, then in a temporary file without a name, so that
 * nothing is left behind in any case. The memory and the files of all spools together stay within
 * budgets. A spool belongs to one thread at a time. */

/* Memory of one reply outside of any budget: the number of connections bounds it. */
enum { NB_SPOOL_FREE_BYTES = 64 * 1024 };

struct nb_spool {
    struct nb_buffer tail; /* append here, then call nb_spool_settle */
    const char *directory; /* borrowed; where the file is made */
    size_t memory;         /* bytes kept in memory before a file is made */
    int file;              /* -1: everything is in `tail` */
    uint64_t written;      /* bytes in the file */
    struct nb_hold memory_hold, file_hold;
};

/* Prepares `directory` for the files of all spools: creates it, and removes files that a killed
 * daemon may have left there. Call it once, before the first spool. Returns 0 or the result of
 * nb_error_errno. */
int nb_spool_prepare(const char *directory, struct nb_error *error);

/* Begins an empty spool. `budgets` is an array of NB_BUDGETS, borrowed; NULL: no limits. */
void nb_spool_init(struct nb_spool *spool, const char *directory, size_t memory,
                   struct nb_budget *budgets);
/* Throws away what was appended; then the spool is as after nb_spool_init. */
void nb_spool_deinit(struct nb_spool *spool);

/* Moves `tail` to the file when it has grown over the limit, or when the memory of all replies is
 * used up. Returns 0, NB_DISK_FULL (also when the files of all spools reach their limit) or
 * NB_IO. */
int nb_spool_settle(struct nb_spool *spool, struct nb_error *error);

/* Call it after the last append: brings all bytes to one place. Then either `file` is -1 and `tail`
 * holds everything, or `file` holds everything and `tail` is empty. Returns as nb_spool_settle
 * does. */
int nb_spool_finish(struct nb_spool *spool, struct nb_error *error);

/* Returns the total number of bytes. */
uint64_t nb_spool_length(const struct nb_spool *spool);

#endif
