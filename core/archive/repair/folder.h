/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder inside the data directory in which a new store is made, before its data.mdb gets its
 * place. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_FOLDER_H
#define NB_CORE_ARCHIVE_REPAIR_FOLDER_H

#include "core/base/error.h"

enum { NB_FOLDER_PATH = 4096, NB_FOLDER_NAME = 32 };

/* NB_UNUSABLE: the path of the data directory leaves no room for names of NB_FOLDER_NAME bytes. */
int nb_folder_check_path(const char *directory, struct nb_error *error);

/* Sets `path` to "folder/name". They fit: nb_folder_check_path has looked. */
void nb_folder_join(char path[NB_FOLDER_PATH], const char *folder, const char *name);

/* Removes the folder, if it is there, with the files of a store: what work that was cut off has
 * left. NB_IO: there is something else in it. */
int nb_folder_clear(const char *folder, struct nb_error *error);

/* Gives the data.mdb of the folder `fresh` its place in the directory; the old one, if there is
 * one, is data.mdb.old then, beside journal.old. There is one of both after a crash at any moment.
 */
int nb_folder_swap(const char *directory, const char *fresh, struct nb_error *error);

/* Makes new names in the folder durable. */
int nb_folder_sync(const char *folder, struct nb_error *error);

#endif
