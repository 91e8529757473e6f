/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char JOURNAL[] = "journal";

/* Fills `error` for an operation on `name` in the directory that failed with errno `fault`. */
static int refuse(const struct nb_store_file *file, const char *name, int fault,
                  struct nb_error *error)
{
    char path[NB_STORE_PATH + 16];
    (void)snprintf(path, sizeof path, "%s/%s", file->path, name);
    return nb_error_errno(error, fault, path);
}

/* Gives a file or directory that root has just made to the owner of the directory around it: the
 * daemon, which runs as another user, must be able to open it. Without the right to do so, the
 * owner stays. */
static void give_to_owner(int directory, int made)
{
    struct stat owner;
    if (geteuid() == 0 && fstat(directory, &owner) == 0 && owner.st_uid != 0)
        (void)!fchown(made, owner.st_uid, owner.st_gid);
}

/* Opens `name` in the directory, or makes it. Gives only a certainly new file to the owner of the
 * directory, who could have put a link to a file of root there. Returns the descriptor, or -1 with
 * errno. */
static int open_or_make(const struct nb_store_file *file, const char *name)
{
    int made = openat(file->directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made >= 0)
        give_to_owner(file->directory, made);
    if (made >= 0 || errno != EEXIST)
        return made;
    return openat(file->directory, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* Opens `name` in the directory, makes it if it is missing, and locks it. */
static int open_locked(const struct nb_store_file *file, const char *name, int *descriptor,
                       struct nb_error *error)
{
    *descriptor = open_or_make(file, name);
    if (*descriptor < 0)
        return refuse(file, name, errno, error);
    if (flock(*descriptor, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return refuse(file, name, errno, error);
    return nb_error_set(error, NB_LOCKED,
                        "%s is in use by another bayesd: stop it, or choose another directory",
                        file->path);
}

static int open_parent(const struct nb_store_file *file)
{
    char path[NB_STORE_PATH];
    memcpy(path, file->path, sizeof path);
    return open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens the directory, and makes it if it is missing; then sets *made. */
static int open_directory(struct nb_store_file *file, bool *made, struct nb_error *error)
{
    *made = mkdir(file->path, 0700) == 0;
    if (!*made && errno != EEXIST)
        return nb_error_errno(error, errno, file->path);
    file->directory =
        open(file->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (*made ? O_NOFOLLOW : 0));
    if (file->directory < 0)
        return nb_error_errno(error, errno, file->path);
    int parent = *made ? open_parent(file) : -1;
    if (parent >= 0) {
        give_to_owner(parent, file->directory);
        close(parent);
    }
    return 0;
}

/* A new name in a directory is durable only after the directory was synced. */
static int sync_names(const struct nb_store_file *file, bool made, struct nb_error *error)
{
    if (fsync(file->directory) != 0)
        return nb_error_errno(error, errno, file->path);
    if (!made)
        return 0;
    int parent = open_parent(file);
    if (parent < 0)
        return 0; /* the parent may be searched but not read, so it cannot be synced */
    int rc = fsync(parent) == 0 ? 0 : nb_error_errno(error, errno, file->path);
    close(parent);
    return rc;
}

static int open_data(struct nb_store_file *file, struct nb_error *error)
{
    struct stat status;
    int rc = open_locked(file, "data.mdb", &file->data, error);
    if (rc != 0)
        return rc;
    if (fstat(file->data, &status) != 0)
        return refuse(file, "data.mdb", errno, error);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->fresh = status.st_size == 0;
    return nb_store_file_check(file, error);
}

int nb_store_file_open(const char *path, struct nb_store_file *file, struct nb_error *error)
{
    *file = (struct nb_store_file){.directory = -1, .lock = -1, .data = -1};
    if (strlen(path) >= sizeof file->path)
        return nb_error_set(error, NB_UNUSABLE, "the data directory's path is over %d bytes",
                            NB_STORE_PATH - 1);
    memcpy(file->path, path, strlen(path) + 1);
    (void)snprintf(file->data_path, sizeof file->data_path, "%s/data.mdb", path);
    (void)snprintf(file->journal_path, sizeof file->journal_path, "%s/%s", path, JOURNAL);
    bool made;
    int rc = open_directory(file, &made, error);
    if (rc == 0)
        rc = open_locked(file, "lock", &file->lock, error);
    if (rc == 0)
        rc = open_data(file, error);
    if (rc == 0 && file->fresh)
        rc = sync_names(file, made, error);
    if (rc != 0)
        nb_store_file_close(file);
    return rc;
}

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

void nb_store_file_close(struct nb_store_file *file)
{
    close_one(&file->data);
    close_one(&file->lock);
    close_one(&file->directory);
}

static int replaced(const struct nb_store_file *file, struct nb_error *error)
{
    return nb_error_set(error, NB_IO,
                        "%s/data.mdb was deleted or replaced while it was in use: stop bayesd, put "
                        "the right file in its place and start again",
                        file->path);
}

int nb_store_file_check(const struct nb_store_file *file, struct nb_error *error)
{
    struct stat status;
    if (fstatat(file->directory, "data.mdb", &status, 0) != 0)
        return errno == ENOENT ? replaced(file, error) : refuse(file, "data.mdb", errno, error);
    if (status.st_dev != file->device || status.st_ino != file->inode)
        return replaced(file, error);
    return 0;
}

int nb_store_file_same(const struct nb_store_file *file, int descriptor, struct nb_error *error)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return refuse(file, "data.mdb", errno, error);
    if (status.st_dev != file->device || status.st_ino != file->inode)
        return replaced(file, error);
    return 0;
}

int nb_store_file_reserve_readers(const struct nb_store_file *file, off_t bytes,
                                  struct nb_error *error)
{
    int readers = open_or_make(file, "lock.mdb");
    if (readers < 0)
        return refuse(file, "lock.mdb", errno, error);
    int fault = posix_fallocate(readers, 0, bytes);
    close(readers);
    return fault == 0 ? 0 : refuse(file, "lock.mdb", fault, error);
}

/* ---- the journal ----------------------------------------------------------------------------- */

int nb_store_file_journal(const struct nb_store_file *file, bool make, int *descriptor,
                          struct nb_error *error)
{
    *descriptor = openat(file->directory, JOURNAL, O_RDWR | O_CLOEXEC);
    if (*descriptor >= 0 || (errno == ENOENT && !make))
        return 0;
    if (errno != ENOENT)
        return refuse(file, JOURNAL, errno, error);
    *descriptor = open_or_make(file, JOURNAL);
    if (*descriptor < 0)
        return refuse(file, JOURNAL, errno, error);
    int rc = sync_names(file, false, error);
    if (rc != 0)
        close_one(descriptor);
    return rc;
}

void nb_store_file_close_journal(int *descriptor)
{
    close_one(descriptor);
}

bool nb_store_file_has_journal(const struct nb_store_file *file, int descriptor)
{
    struct stat named, opened;
    return fstatat(file->directory, JOURNAL, &named, 0) == 0 && fstat(descriptor, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

void nb_store_file_remove_journal(const struct nb_store_file *file, bool keep)
{
    if (keep)
        (void)renameat(file->directory, JOURNAL, file->directory, "journal.old");
    else
        (void)unlinkat(file->directory, JOURNAL, 0);
}

void nb_store_file_room(const struct nb_store_file *file, uint64_t *size, uint64_t *left)
{
    struct statvfs system;
    bool is_known = fstatvfs(file->directory, &system) == 0;
    *size = is_known ? (uint64_t)system.f_blocks * system.f_frsize : 0;
    *left = is_known ? (uint64_t)system.f_bavail * system.f_frsize : 0;
}

int nb_store_file_reason(const struct nb_store_file *file, int rc)
{
    enum { WRITE_MOST = 1 << 20 }; /* far more than LMDB writes at once */
    uint64_t size, left;
    struct rlimit most;
    struct stat data;
    if (rc != EIO)
        return rc;
    nb_store_file_room(file, &size, &left);
    if (size > 0 && left < WRITE_MOST)
        return ENOSPC;
    bool is_at_limit = getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
                       fstatat(file->directory, "data.mdb", &data, 0) == 0 &&
                       (uint64_t)data.st_size + WRITE_MOST > (uint64_t)most.rlim_cur;
    return is_at_limit ? EFBIG : rc;
}
