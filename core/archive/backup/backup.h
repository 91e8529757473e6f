/* SPDX-License-Identifier: Apache-2.0
 *
 * A backup of the whole store while the daemon runs: one consistent state of all models, with every
 * change that was acknowledged before the backup began. It is written piece by piece (format.h). No
 * model is loaded or locked.
 *
 * The state is a snapshot of LMDB. While it lasts, LMDB does not reuse the snapshot's pages, so the
 * file grows by about what is written meanwhile. After the backup it reuses them. A backup that
 * exceeds its time loses its snapshot (core/store/lease.h), which bounds the growth.
 *
 * Threads: a backup belongs to one thread at a time, which may be another one from call to call.
 */
#ifndef NB_CORE_ARCHIVE_BACKUP_BACKUP_H
#define NB_CORE_ARCHIVE_BACKUP_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_engine;
struct nb_backup;

/* Begins a backup that may take `seconds`. On success the caller owns *backup. NB_IO, NB_NO_MEMORY.
 */
int nb_backup_begin(struct nb_engine *engine, uint64_t seconds, struct nb_backup **backup,
                    struct nb_error *error);
/* Appends the next piece to `out`: some hundred kilobytes, or one large value. Sets *end to whether
 * it was the last. After an error nothing is appended, and the caller can only end the backup:
 * NB_CORRUPT (a value is damaged), NB_IO (the snapshot was taken back), NB_NO_MEMORY. */
int nb_backup_next(struct nb_backup *backup, struct nb_buffer *out, bool *end,
                   struct nb_error *error);
/* Appends a block that says why the rest is missing; appends nothing if out of memory. */
void nb_backup_give_up(struct nb_backup *backup, const struct nb_error *why, struct nb_buffer *out);
/* Frees the backup and sets *backup to NULL, which it may be already. */
void nb_backup_end(struct nb_backup **backup);

#endif
