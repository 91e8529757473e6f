/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of an outbox, for the files of this folder: its head, its records, and what is found in
 * it. Callers hold the outbox's lock, or are the only ones who know it.
 */
#ifndef NB_CORE_OUTBOX_OUTBOX_FILE_H
#define NB_CORE_OUTBOX_OUTBOX_FILE_H

#include <pthread.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/outbox/outbox_limits.h"

enum {
    NB_OUTBOX_START = 48,  /* where entries begin */
    NB_OUTBOX_RECORD = 40, /* bytes before a message */
};

struct nb_outbox {
    int file;
    struct nb_outbox_limits limits;
    uint64_t identity;
    pthread_mutex_t lock; /* of what follows */
    uint64_t start, end;  /* of the entries, in the file */
    uint64_t next;        /* number of the next one */
    uint64_t before;      /* checksum of the last one; 0: the next is the first of the file */
    uint64_t entries, bytes;
    struct nb_buffer written;
};

/* What stands before a message; `place`: where the entries begin that were added with it. */
struct nb_outbox_record {
    uint64_t checksum, length, entry, place, before;
};

/* Opens or makes the file in the folder, as it is: nothing of it is read. `file` of the outbox is
 * the caller's to close. Returns 0 or a code of nb_error_errno. */
int nb_outbox_file_open(struct nb_outbox *o, const char *folder, struct nb_error *error);
/* Reads the file from its beginning; *size is 0 if it was being made. Sets the identity, and the
 * entries up to the first one that is not whole. Returns 0, NB_CORRUPT (no head), NB_NO_MEMORY,
 * NB_IO or a code of nb_error_errno. */
int nb_outbox_file_read(struct nb_outbox *o, uint64_t *size, struct nb_error *error);
/* Sets *at to where the next whole entry lies, from `end` on, whose `place` is behind `place`, and
 * its record; `size`: there is none. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_outbox_file_look(const struct nb_outbox *o, uint64_t size, uint64_t place, uint64_t *at,
                        struct nb_outbox_record *record, struct nb_error *error);
/* Whether what lies behind `end` was never acknowledged; else NB_CORRUPT, with a text. Or
 * NB_NO_MEMORY, NB_IO. */
int nb_outbox_file_check(const struct nb_outbox *o, uint64_t size, struct nb_error *error);
/* Begins an empty file with another identity. Returns 0 or a code. */
int nb_outbox_file_begin(struct nb_outbox *o, struct nb_error *error);
/* Appends the head to `out`. Returns 0 or NB_NO_MEMORY. */
int nb_outbox_head_write(const struct nb_outbox *o, struct nb_buffer *out);

/* Reads the record at `at`. Returns 0 or NB_IO. */
int nb_outbox_record_read(const struct nb_outbox *o, uint64_t at, struct nb_outbox_record *record);
/* The record and its message; NB_CORRUPT: it is none, or not whole. NB_IO: nobody knows. Or
 * NB_NO_MEMORY. */
int nb_outbox_entry_read(const struct nb_outbox *o, uint64_t at, uint64_t end,
                         struct nb_outbox_record *record, struct nb_buffer *message);
/* Appends an entry to `out`, which is added at `place` with others; *before is the checksum of the
 * one before, and then its own. Returns 0 or NB_NO_MEMORY. */
int nb_outbox_entry_write(const struct nb_outbox *o, struct nb_string message, uint64_t entry,
                          uint64_t place, uint64_t *before, struct nb_buffer *out);
/* Writes the bytes at `at` and syncs. Returns 0 or a code of nb_error_errno. */
int nb_outbox_write_at(const struct nb_outbox *o, struct nb_string bytes, uint64_t at,
                       struct nb_error *error);
/* NB_IO with a text. */
int nb_outbox_unreadable(struct nb_error *error);

#endif
