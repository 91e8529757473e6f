/* SPDX-License-Identifier: Apache-2.0
 *
 * A reply of any length: in memory up to a limit, then in a temporary file that has no name, so
 * that nothing is left behind whatever happens. The memory and the files of all spools together
 * stay within budgets. One spool belongs to one thread at a time.
 */
#ifndef NB_SERVER_REQUEST_SPOOL_H
#define NB_SERVER_REQUEST_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/request/budget.h"

/* Memory of one reply that is in no budget: the number of connections bounds it. */
enum { NB_SPOOL_FREE_BYTES = 64 * 1024 };

struct nb_spool {
    struct nb_buffer tail; /* append here, then call nb_spool_settle */
    const char *directory; /* borrowed; where the file is made */
    size_t memory;         /* bytes kept in memory before a file is made */
    int file;              /* -1: everything is in `tail` */
    uint64_t written;      /* bytes in the file */
    struct nb_hold memory_hold, file_hold;
};

/* Makes `directory` ready for the files of all spools: creates it, and removes what a daemon that
 * was killed may have left there. Once, before the first spool. Returns 0 or what
 * nb_error_errno does. */
int nb_spool_prepare(const char *directory, struct nb_error *error);

/* `budgets` are NB_BUDGETS of them, borrowed; NULL: no limits. */
void nb_spool_init(struct nb_spool *spool, const char *directory, size_t memory,
                   struct nb_budget *budgets);
void nb_spool_deinit(struct nb_spool *spool);

/* Throws away what was appended; the spool is as after nb_spool_init. */
void nb_spool_reset(struct nb_spool *spool);

/* Moves `tail` to the file when it has grown over the limit, or when the memory of all replies is
 * used up. Returns 0, NB_DISK_FULL (also when the files of all spools are as large as they may be)
 * or NB_IO. */
int nb_spool_settle(struct nb_spool *spool, struct nb_error *error);

/* After the last append: brings all to one place. Either `file` is -1 and `tail` holds everything,
 * or the file does and `tail` is empty. Returns as nb_spool_settle does. */
int nb_spool_finish(struct nb_spool *spool, struct nb_error *error);

/* Bytes in all. */
uint64_t nb_spool_length(const struct nb_spool *spool);

#endif
