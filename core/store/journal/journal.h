/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of records in front of a store. A record has the changes of keys and values that became
 * durable together. The store's own commits write much more than the changes, so it commits seldom,
 * and recovers the latest changes from the journal after a crash.
 *
 * Threads: one at a time.
 *
 * The store's commits have numbers. After each commit the file is written from its beginning again.
 * A record has the number of the commit on which it is based; records of an older commit are free
 * room. So the file keeps its length, a sync writes only bytes, and nothing has to be removed
 * durably. A store has an identity, a random number, so that no record of another one is taken.
 *
 * A record is valid if its checksum is right and it follows the record before it. Bytes after the
 * last valid record were never acknowledged. If they have a later record of the same commit, the
 * file is damaged, because each record is durable before the next one is written.
 */
#ifndef NB_CORE_STORE_JOURNAL_JOURNAL_H
#define NB_CORE_STORE_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/store/journal/recent.h"

struct nb_journal {
    int file;         /* descriptor, borrowed; -1: none */
    const char *path; /* for messages, borrowed */
    uint64_t store;   /* identity */
    uint64_t commit;  /* on which the records stand */
    uint64_t number;  /* of the last record; 0: there is none */
    uint64_t before;  /* its checksum; 0: there is none */
    off_t at;         /* its end */
    off_t size;       /* the file's length */
    bool unsure;      /* a record was refused that the disk may have */
    struct nb_buffer record;
};

/* What nb_journal_read found. */
struct nb_journal_found {
    uint64_t records;
    bool is_later;   /* its records stand on a commit after the store's last one */
    bool is_foreign; /* ... are of another store */
    bool is_damaged; /* there are records behind one that is damaged; `at` of the journal says where
                      */
    off_t end, size; /* where the last record ends that was read, and the file */
    bool is_cut;     /* the file has another length than is written, or begins another record that
                        is not whole: one that was never acknowledged, or was lost */
};

/* Initializes a journal on the open file, without reading it. */
void nb_journal_init(struct nb_journal *journal, int file, const char *path, uint64_t store);
void nb_journal_deinit(struct nb_journal *journal);

/* Reads the records that stand on `commit` and calls `visit` for each change, in order, until it
 * returns non-zero. The next record follows the last of them. Identity 0 takes the identity of the
 * first record. Keys and values are borrowed until `visit` returns. Returns 0, what `visit`
 * returned, NB_NO_MEMORY, or NB_IO; and NB_CORRUPT if a record is no list of changes though its
 * checksum is right. */
int nb_journal_read(struct nb_journal *journal, uint64_t commit, nb_recent_visit *visit, void *user,
                    struct nb_journal_found *found, struct nb_error *error);

/* The store has made commit number `commit`: all records are superfluous. */
void nb_journal_begin(struct nb_journal *journal, uint64_t commit);

/* Adds a change to the next record; an nb_recent_visit. Returns 0 or NB_NO_MEMORY. */
int nb_journal_add(void *journal, const struct nb_recent_change *change);
/* Makes the record durable, or gives it up: NB_IO and others of nb_error_errno; `unsure` is set if
 * the disk may have it. */
int nb_journal_append(struct nb_journal *journal, struct nb_error *error);
/* Forgets what was added since the last record. */
void nb_journal_drop(struct nb_journal *journal);
/* Makes sure that a record that was given up does not come back. Does nothing if there is none. */
int nb_journal_settle(struct nb_journal *journal, struct nb_error *error);

#endif
