/* SPDX-License-Identifier: Apache-2.0
 *
 * A reply of any length: in memory up to a limit, then in a temporary file without a name, so that
 * nothing is left behind in any case. The memory and the files of all spools together stay within
 * budgets. A spool belongs to one thread at a time.
 */
#ifndef NB_SERVER_REQUEST_SPOOL_H
#define NB_SERVER_REQUEST_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/request/budget.h"

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
void nb_spool_deinit(struct nb_spool *spool);

/* Throws away what was appended; the spool is as after nb_spool_init. */
void nb_spool_reset(struct nb_spool *spool);

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
