/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal: a file of records in front of a store. A record has the changes of keys and values
 * that became durable together. A commit of the store writes much more than the changes, so the
 * store commits seldom, and recovers the latest changes from the journal after a crash.
 *
 * Threads: one at a time.
 *
 * The store's commits have numbers. After each commit the file is written from its beginning again.
 * A record has the number of the commit on which it is based; records of an older commit are free
 * room. So the file keeps its length, a sync writes only data, and nothing has to be removed
 * durably. Each store has an identity, a random number, and ignores records of another store.
 *
 * A record is valid if its checksum is right and it follows the record before it. Changes after the
 * last valid record were never acknowledged. If a later record of the same commit lies there, the
 * file is damaged, because each record is durable before the next one is written.
 */
#ifndef NB_CORE_STORE_JOURNAL_H
#define NB_CORE_STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

struct nb_recent;

/* ---- recent changes -------------------------------------------------------------------------- */

/* Recent changes: those that are durable in the journal but not yet in the store's file, kept in
 * memory in the order of their keys. Every reader of the store looks here first.
 *
 * Threads. One writer, and any number of readers at the same time, without locks. Changes have
 * ascending numbers; a reader names the last one that it may see, so its view does not change. It
 * gets that number through something that orders memory (a lock). Nothing is freed before the last
 * reference ends. */

/* A change of one key. Its strings are borrowed as long as the reference to the list is held. */
struct nb_recent_change {
    struct nb_string key;
    struct nb_string value; /* empty if `deleted` */
    unsigned table;
    bool deleted;
};

/* Makes an empty list of changes with one reference. NULL: out of memory. */
struct nb_recent *nb_recent_new(void);
struct nb_recent *nb_recent_ref(struct nb_recent *recent);
/* Ends a reference and sets it to NULL, which it may be. */
void nb_recent_unref(struct nb_recent **recent);

/* ---- the writer ------------------------------------------------------------------------------ */

/* Adds a change, which copies key and value. Returns 0 or NB_NO_MEMORY. */
int nb_recent_add(struct nb_recent *recent, const struct nb_recent_change *change);
/* The number of the last change; 0: there is none. */
uint64_t nb_recent_last(const struct nb_recent *recent);
/* Bytes of memory that the changes take, including those that were taken back. */
uint64_t nb_recent_bytes(const struct nb_recent *recent);
/* Begins a group: all changes that are added from now on belong to it. */
void nb_recent_mark(struct nb_recent *recent);
/* Whether the group has changes. */
bool nb_recent_is_marked(const struct nb_recent *recent);
/* Removes the changes of the group; no reader knows their numbers yet. */
void nb_recent_take_back(struct nb_recent *recent);
/* Calls `visit` for each change of the group, in the order in which they were added, until it
 * returns non-zero, and returns that or 0. */
typedef int nb_recent_visit(void *user, const struct nb_recent_change *change);
int nb_recent_each(const struct nb_recent *recent, nb_recent_visit *visit, void *user);

/* ---- any thread ------------------------------------------------------------------------------ */

/* Each function considers the changes up to number `last`, and of these only the newest of each
 * key. It returns NULL if there is no such change. */

/* The change of `key`. */
const struct nb_recent_change *nb_recent_find(struct nb_recent *recent, uint64_t last,
                                              unsigned table, struct nb_string key);
/* The change of the first key >= `from` in the table. */
const struct nb_recent_change *nb_recent_from(struct nb_recent *recent, uint64_t last,
                                              unsigned table, struct nb_string from);
/* The change of the first key after that of `change`, in the same table. */
const struct nb_recent_change *nb_recent_after(uint64_t last,
                                               const struct nb_recent_change *change);
/* The change of the last key < `key` in the table; of the last key of all if `key` is empty. */
const struct nb_recent_change *nb_recent_before(struct nb_recent *recent, uint64_t last,
                                                unsigned table, struct nb_string key);

/* ---- the file -------------------------------------------------------------------------------- */

struct nb_journal {
    int file;         /* descriptor, borrowed; -1: none */
    const char *path; /* for messages, borrowed */
    uint64_t store;   /* the store's identity */
    uint64_t commit;  /* number of the commit on which the records are based */
    uint64_t number;  /* number of the last record; 0: there is none */
    uint64_t before;  /* checksum of the last record; 0: there is none */
    off_t at;         /* end of the last record */
    off_t size;       /* the file's length */
    bool unsure;      /* writing a record failed, but the disk may have it */
    struct nb_buffer record;
};

/* The results of nb_journal_read. */
struct nb_journal_found {
    uint64_t records;
    bool is_later;   /* the records are based on a commit after the store's last one */
    bool is_foreign; /* the records are those of another store */
    bool is_damaged; /* the record at journal->at is damaged, and later ones lie behind it */
    off_t end, size; /* end of the last record that was read, and of the file */
    bool is_cut;     /* the length of the file is wrong, or the last record is incomplete: that
                        record was never acknowledged, or its end was lost */
};

/* Initializes a journal on the open file, without reading it. */
void nb_journal_init(struct nb_journal *journal, int file, const char *path, uint64_t store);
void nb_journal_deinit(struct nb_journal *journal);

/* Reads the records that are based on `commit` and calls `visit` for each change, in order, until
 * it returns non-zero. The next record will follow the last one read. A journal with identity 0
 * takes the identity of the first record. Keys and values are borrowed until `visit` returns.
 * Returns 0, what `visit` returned, NB_NO_MEMORY or NB_IO; NB_CORRUPT if a record is no list of
 * changes though its checksum is right. */
int nb_journal_read(struct nb_journal *journal, uint64_t commit, nb_recent_visit *visit, void *user,
                    struct nb_journal_found *found, struct nb_error *error);

/* Begins the journal again after the store has made commit number `commit`, which makes all records
 * superfluous. */
void nb_journal_begin(struct nb_journal *journal, uint64_t commit);

/* Adds a change to the next record; an nb_recent_visit. Returns 0 or NB_NO_MEMORY. */
int nb_journal_add(void *journal, const struct nb_recent_change *change);
/* Makes the record durable, or gives it up and returns NB_IO or another code of nb_error_errno;
 * sets `unsure` if the disk may have a record that was given up. */
int nb_journal_append(struct nb_journal *journal, struct nb_error *error);
/* Forgets what was added since the last record. */
void nb_journal_drop(struct nb_journal *journal);
/* Makes sure that no start finds a record that was given up. Does nothing if there is none. */
int nb_journal_settle(struct nb_journal *journal, struct nb_error *error);

#endif
