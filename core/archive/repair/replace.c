/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/archive/repair/folder.h"
#include "core/archive/repair/repair.h"
#include "core/base/error.h"

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
        (void)nb_folder_clear(rest, NULL); /* a later one tries again */
        (void)nb_folder_clear(fresh, NULL);
    }
    if (lock >= 0)
        close(lock);
    return rc;
}
