/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder inside the data directory in which a rebuild or a restore makes a new store before its
 * data.mdb is moved into place, and the transactions that fill that store. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_RESTORE_H
#define NB_CORE_ARCHIVE_REPAIR_RESTORE_H

#include "core/base/error.h"
#include "core/store/store.h"

enum { NB_FOLDER_PATH = 4096, NB_FOLDER_NAME = 32 };

/* Checks that paths in the data directory fit. NB_UNUSABLE: its own path leaves no room for names
 * of NB_FOLDER_NAME bytes. */
int nb_folder_check_path(const char *directory, struct nb_error *error);

/* Sets `path` to "folder/name", which fits if nb_folder_check_path has succeeded before. */
void nb_folder_join(char path[NB_FOLDER_PATH], const char *folder, const char *name);

/* Removes the folder, if it exists, with the files of a store that interrupted work has left there.
 * NB_IO: the folder contains something else. */
int nb_folder_clear(const char *folder, struct nb_error *error);

/* Moves the data.mdb of the folder `fresh` into the directory; an old one becomes data.mdb.old,
 * beside journal.old. After a crash at any moment the directory has the old or the new data.mdb.
 */
int nb_folder_swap(const char *directory, const char *fresh, struct nb_error *error);

/* Transactions that fill a new store. Each reserves room for its writes, so that the map need not
 * grow in between and no transaction is repeated. Begins as {.store = ...}: none is open. */
struct nb_filling {
    struct nb_store *store;
    struct nb_view view; /* the open transaction, or ended */
    uint64_t room;       /* bytes that the transaction may still take */
};
/* Makes room for `bytes` in the open transaction, or begins the next one. Returns 0 or a code. */
int nb_filling_room(struct nb_filling *filling, uint64_t bytes, struct nb_error *error);
/* Commits the open transaction, or takes it back if `rc` is not 0. Returns `rc` or a code. */
int nb_filling_end(struct nb_filling *filling, int rc, struct nb_error *error);

#endif
