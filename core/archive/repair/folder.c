/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/repair/folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/archive/repair/repair.h"

int nb_folder_check_path(const char *directory, struct nb_error *error)
{
    if (strlen(directory) > NB_FOLDER_PATH - 2 * NB_FOLDER_NAME)
        return nb_error_set(error, NB_UNUSABLE, "the data directory's path is too long");
    return 0;
}

void nb_folder_join(char path[NB_FOLDER_PATH], const char *folder, const char *name)
{
    int length = snprintf(path, NB_FOLDER_PATH, "%s/%s", folder, name);
    assert(length > 0 && length < NB_FOLDER_PATH);
    (void)length;
}

int nb_folder_clear(const char *folder, struct nb_error *error)
{
    static const char *const names[] = {"data.mdb", "journal", "lock.mdb", "lock"};
    char path[NB_FOLDER_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        nb_folder_join(path, folder, names[i]);
        if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
            return nb_error_errno(error, errno, path);
    }
    if (rmdir(folder) != 0 && errno != ENOENT)
        return nb_error_errno(error, errno, folder);
    return 0;
}

int nb_folder_sync(const char *folder, struct nb_error *error)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = file < 0 || fsync(file) != 0 ? nb_error_errno(error, errno, folder) : 0;
    if (file >= 0)
        close(file);
    return rc;
}

/* A link keeps the old file as data.mdb.old; the rename replaces data.mdb in one step. The journal
 * stays beside the old one. (If it keeps its name, because of a crash, the new store does not take
 * it for its own.) */
int nb_folder_swap(const char *directory, const char *fresh, struct nb_error *error)
{
    char now[NB_FOLDER_PATH];
    char old[NB_FOLDER_PATH];
    char made[NB_FOLDER_PATH];
    char journal[NB_FOLDER_PATH];
    char old_journal[NB_FOLDER_PATH];
    nb_folder_join(now, directory, "data.mdb");
    nb_folder_join(old, directory, "data.mdb.old");
    nb_folder_join(made, fresh, "data.mdb");
    nb_folder_join(journal, directory, "journal");
    nb_folder_join(old_journal, directory, "journal.old");
    if ((unlink(old) != 0 && errno != ENOENT) || (link(now, old) != 0 && errno != ENOENT))
        return nb_error_errno(error, errno, old);
    if (rename(made, now) != 0)
        return nb_error_errno(error, errno, now);
    if (rename(journal, old_journal) != 0 && errno != ENOENT)
        return nb_error_errno(error, errno, journal);
    return nb_folder_sync(directory, error);
}

/* ---- the place of a store -------------------------------------------------------------------- */

/* *lock stays -1 if no daemon has ever run there. */
static int lock_store(const char *directory, int *lock, struct nb_error *error)
{
    char path[NB_FOLDER_PATH];
    nb_folder_join(path, directory, "lock");
    *lock = open(path, O_RDWR | O_CLOEXEC);
    if (*lock < 0 && errno != ENOENT)
        return nb_error_errno(error, errno, path);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0)
        return nb_error_set(error, NB_LOCKED, "%s is in use by another bayesd", directory);
    return 0;
}

int nb_engine_replace(const char *directory, const char *fresh, bool *replaced,
                      struct nb_error *error)
{
    char made[NB_FOLDER_PATH];
    char rest[NB_FOLDER_PATH];
    int lock = -1;
    int rc = nb_folder_check_path(fresh, error);
    *replaced = false;
    if (rc != 0)
        return rc;
    nb_folder_join(made, fresh, "data.mdb");
    nb_folder_join(rest, fresh, "restore");
    if (access(made, F_OK) != 0)
        return 0;
    rc = lock_store(directory, &lock, error);
    if (rc == 0)
        rc = nb_folder_swap(directory, fresh, error);
    if (rc == 0) {
        *replaced = true;
        (void)nb_folder_clear(rest, NULL); /* a later call tries again */
        (void)nb_folder_clear(fresh, NULL);
    }
    if (lock >= 0)
        close(lock);
    return rc;
}
