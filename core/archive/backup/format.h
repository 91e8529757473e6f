/* SPDX-License-Identifier: Apache-2.0
 *
 * The format of a backup: every value of every table of a store, as a stream. Any thread; a writer
 * or reader belongs to one.
 *
 *     file   = head block*
 *     head   = "bayesd backup 1\n"
 *     block  = length of the body (4 bytes), checksum (8 bytes), body
 *     body   = "H" format of the store (varint), milliseconds since 1970 (8 bytes): first block
 *            | "V" name of a table (string), then keys (string), each with its value (string)
 *            | "E" number of values in all (varint): last block
 *            | "F" why the daemon gave up: instead of "E"
 *
 * Numbers and strings are those of core/base/buffer.h. The checksum is XXH3 (64 bits) of the body;
 * its seed is the number of the block, from 0. So a reader detects a block that was changed, lost
 * or moved, and the last block shows that the backup is complete. Keys ascend within a table. The
 * format number of the store (META "format") is in the head block only.
 *
 * Values come without the store's checksums: a restore appends them to a new store with
 * nb_store_append. So a backup contains no pages of LMDB, and nothing that a reader would have to
 * trust.
 */
#ifndef NB_CORE_ARCHIVE_BACKUP_FORMAT_H
#define NB_CORE_ARCHIVE_BACKUP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

/* A longer body is refused. The longest value has 80 MB: a range of 1,024 rows that each of 10,000
 * labels uses. */
#define NB_BACKUP_BODY_MOST ((size_t)256 << 20)

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends the head of the file and the first block. Returns 0 or NB_NO_MEMORY, as the functions
 * below do. */
int nb_backup_put_head(struct nb_buffer *out, uint64_t format, int64_t time);
/* Begins a block of values of a table; sets *at to its place, for nb_backup_end_block. */
int nb_backup_begin_values(struct nb_buffer *out, const char *table, size_t *at);
int nb_backup_put_value(struct nb_buffer *out, struct nb_string key, struct nb_string value);
/* Writes length and checksum of the block that begins at `at` and ends with the buffer.
 * NB_TOO_LARGE. */
int nb_backup_end_block(struct nb_buffer *out, size_t at, uint64_t number, struct nb_error *error);
/* Append the last block, or the block that replaces it and says why the backup failed. */
int nb_backup_put_end(struct nb_buffer *out, uint64_t number, uint64_t values);
int nb_backup_put_failure(struct nb_buffer *out, uint64_t number, const char *why);

/* ---- reading --------------------------------------------------------------------------------- */

/* Receives the contents of a backup; everything is borrowed for the call. Each function returns 0
 * to go on; another value ends the reading, which returns it. */
struct nb_backup_sink {
    int (*begin)(void *user, uint64_t format, struct nb_error *error);
    int (*value)(void *user, struct nb_string table, struct nb_string key, struct nb_string value,
                 struct nb_error *error);
    void *user;
};

struct nb_backup_reader {
    const struct nb_backup_sink *sink; /* NULL: the backup is checked only */
    struct nb_buffer pending;          /* bytes not parsed yet, from byte `at` of the file on */
    uint64_t at;
    uint64_t block, values; /* read so far */
    bool has_head, has_end;
};
void nb_backup_reader_init(struct nb_backup_reader *reader, const struct nb_backup_sink *sink);
void nb_backup_reader_deinit(struct nb_backup_reader *reader);

/* Reads the next bytes of the file. Returns 0, what the sink returns, NB_INVALID (no backup),
 * NB_VERSION (a newer one), NB_CORRUPT (damaged; or the daemon gave up: the text says why) or
 * NB_NO_MEMORY. */
int nb_backup_read(struct nb_backup_reader *reader, const char *bytes, size_t length,
                   struct nb_error *error);
/* To be called after the last byte. Returns 0, or NB_CORRUPT if the backup was cut off. */
int nb_backup_read_end(const struct nb_backup_reader *reader, struct nb_error *error);

#endif
