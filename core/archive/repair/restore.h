/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder inside the data directory in which a rebuild or a restore makes a new store, before
 * its data.mdb gets its place. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_RESTORE_H
#define NB_CORE_ARCHIVE_REPAIR_RESTORE_H

#include "core/base/error.h"

enum { NB_FOLDER_PATH = 4096, NB_FOLDER_NAME = 32 };

/* NB_UNUSABLE: the path of the data directory leaves no room for names of NB_FOLDER_NAME bytes. */
int nb_folder_check_path(const char *directory, struct nb_error *error);

/* Sets `path` to "folder/name", which fits: nb_folder_check_path comes before. */
void nb_folder_join(char path[NB_FOLDER_PATH], const char *folder, const char *name);

/* Removes the folder, if it exists, with the files of a store that interrupted work has left.
 * NB_IO: it contains something else. */
int nb_folder_clear(const char *folder, struct nb_error *error);

/* Moves the data.mdb of the folder `fresh` into the directory; an old one becomes data.mdb.old,
 * beside journal.old. After a crash at any moment the directory has one of both as data.mdb.
 */
int nb_folder_swap(const char *directory, const char *fresh, struct nb_error *error);

#endif
