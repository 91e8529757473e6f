/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a store and the locks that keep a second process away. One thread at a time.
 *
 * Two locks are held: on the file `lock` of the directory, and on data.mdb itself, so that deleting
 * the first does not let a second daemon start on the same data. Both are flock locks on
 * descriptors that only this module knows. Record locks would not do: a process loses them when it
 * closes any descriptor of the file, and LMDB opens and closes data.mdb itself.
 */
#ifndef NB_CORE_STORE_FILE_H
#define NB_CORE_STORE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

enum { NB_STORE_PATH = 4096 };

struct nb_store_file {
    int directory; /* descriptor */
    int lock;      /* descriptor of `lock`, locked */
    int data;      /* descriptor of data.mdb, open for reading and writing, locked */
    dev_t device;  /* device and inode number of data.mdb */
    ino_t inode;
    bool fresh;                         /* data.mdb was just made, or was empty */
    char path[NB_STORE_PATH];           /* path of the directory */
    char data_path[NB_STORE_PATH + 16]; /* path of data.mdb, for messages */
    char journal_path[NB_STORE_PATH + 16];
};

/* Makes `path` (mode 0700) and data.mdb if they are missing, opens and locks both. If the process
 * is root, a new file or directory gets the owner of the directory around it. NB_LOCKED: another
 * process has the store; NB_UNUSABLE: the path is too long; NB_IO and others of nb_error_errno. On
 * failure nothing is left open. */
int nb_store_file_open(const char *path, struct nb_store_file *file, struct nb_error *error);

/* Closes and unlocks what nb_store_file_open has opened. */
void nb_store_file_close(struct nb_store_file *file);

/* Checks that data.mdb in the directory is still the file that is open. Returns 0, or NB_IO if it
 * was deleted or replaced by another file. */
int nb_store_file_check(const struct nb_store_file *file, struct nb_error *error);

/* Checks that `descriptor`, which another module has opened, is the same data.mdb that is open
 * here. Returns 0 or NB_IO. */
int nb_store_file_same(const struct nb_store_file *file, int descriptor, struct nb_error *error);

/* Opens the file `journal` of the directory for reading and writing; with `make`, makes it durably
 * if it is missing. Sets *descriptor; to -1 if there is none. */
int nb_store_file_journal(const struct nb_store_file *file, bool make, int *descriptor,
                          struct nb_error *error);
/* Closes the journal and sets *descriptor, which may already be -1, to -1. */
void nb_store_file_close_journal(int *descriptor);
/* Whether `journal` in the directory is still the file that is open as `descriptor`. */
bool nb_store_file_has_journal(const struct nb_store_file *file, int descriptor);
/* Removes the journal, or keeps it as journal.old. Fails silently: its contents are superfluous or
 * belong to another store. */
void nb_store_file_remove_journal(const struct nb_store_file *file, bool keep);

/* Returns the reason behind an error of LMDB. LMDB also returns EIO when the system has written
 * only a part of the bytes (mdb_page_flush in mdb.c), as ext4 does when a write fills it. So EIO
 * becomes ENOSPC when the file system of the store has no space left, and EFBIG when data.mdb is at
 * the process's limit for files (RLIMIT_FSIZE); other codes stay as they are. */
int nb_store_file_reason(const struct nb_store_file *file, int rc);

/* The size of the file system of the store, and the bytes that the daemon may still write there; 0
 * and 0 if the system does not say. */
void nb_store_file_room(const struct nb_store_file *file, uint64_t *size, uint64_t *left);

/* Takes disk space for the first `bytes` of lock.mdb, LMDB's table of readers. LMDB makes it with
 * ftruncate and maps it; on a full disk the first write to the map would be a SIGBUS. */
int nb_store_file_reserve_readers(const struct nb_store_file *file, off_t bytes,
                                  struct nb_error *error);

#endif
