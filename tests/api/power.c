/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a daemon under test: keeps an account of what a cut of the power may take away.
 * Calls go through to the files below POWER_DIR; before each of them the bytes that it changes are
 * written to the file POWER_LOG, and after each sync that the file is durable. So whoever kills the
 * process can put back any choice of what was not durable then (power.py). Nothing is really
 * synced.
 *
 * What is durable (POSIX, fsync and open with O_DSYNC): the bytes and the length of a file after
 * fsync or fdatasync of it, a write through a descriptor with O_DSYNC, names after fsync of their
 * directory. A record of the log is written before its call is made, so a kill between the two
 * leaves a record that puts back what is there.
 */
#include "next.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum kind { BYTES = 1, SYNCED, RANGE_SYNCED, CREATED, LINKED, REMOVED, RENAMED, WRITABLE_MAP };

enum { SECTOR = 512 };

/* Of the log; `length` bytes follow. power.py reads it. */
struct record {
    uint64_t kind;
    uint64_t inode; /* of the file, or of the directory whose names change */
    uint64_t at;    /* offset of the bytes */
    uint64_t size;  /* of the file before the call; RANGE_SYNCED: of the range */
    uint64_t length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char directory[PATH_MAX];
static char kept[PATH_MAX]; /* a folder for files whose last name goes */
static int log_file = -1;
/* How many writes are not durable: 8 bytes of the file POWER_PENDING, which the test watches. */
static uint64_t *pending;
static useconds_t delay; /* of each sync */
static unsigned removals;

static void give_up(const char *what)
{
    (void)fprintf(stderr, "power: %s: %s\n", what, strerror(errno));
    _exit(70);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("POWER_LOG");
    const char *below = getenv("POWER_DIR");
    const char *keep = getenv("POWER_KEPT");
    const char *slow = getenv("POWER_DELAY");
    if (path == NULL || below == NULL || keep == NULL)
        return;
    (void)snprintf(directory, sizeof directory, "%s/", below);
    (void)snprintf(kept, sizeof kept, "%s", keep);
    delay = slow == NULL ? 0 : (useconds_t)strtoul(slow, NULL, 10);
    log_file =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC | O_LARGEFILE, 0);
    if (log_file < 0)
        give_up(path);
    int shared = (int)syscall(SYS_openat, AT_FDCWD, getenv("POWER_PENDING"), O_RDWR | O_CLOEXEC, 0);
    pending = NEXT(mmap)(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (shared < 0 || pending == MAP_FAILED)
        give_up("POWER_PENDING");
    syscall(SYS_close, shared);
}

/* The path of an open file is written to `path`; false: it is not below the directory, or one of
 * the lock files, which are made anew by whoever opens the store. */
static bool concerns(int file, char path[PATH_MAX])
{
    char link[64];
    size_t length = strlen(directory);
    if (log_file < 0)
        return false;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t got = readlink(link, path, PATH_MAX - 1);
    if (got < 0)
        return false;
    path[got] = '\0';
    if (got > 10 && strcmp(path + got - 10, " (deleted)") == 0)
        return false; /* it has no name, so the cut takes it away */
    if ((size_t)got + 1 == length && memcmp(path, directory, length - 1) == 0)
        return true; /* the directory itself */
    const char *name = strrchr(path, '/');
    return (size_t)got >= length && memcmp(path, directory, length) == 0 &&
           strcmp(name, "/lock.mdb") != 0 && strcmp(name, "/lock") != 0;
}

static void put(struct record record, const void *bytes)
{
    struct iovec parts[] = {{&record, sizeof record}, {(void *)(uintptr_t)bytes, record.length}};
    if (syscall(SYS_writev, log_file, parts, 2) != (ssize_t)(sizeof record + record.length))
        give_up("the log");
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Logs the sectors of `file` that `size` bytes at `at` change. The lock is held. */
static void log_bytes(int file, uint64_t at, uint64_t size)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        give_up("fstat");
    uint64_t from = at / SECTOR * SECTOR;
    uint64_t end = (at + size + SECTOR - 1) / SECTOR * SECTOR;
    uint8_t *bytes = malloc(end - from + 1);
    int again = -1;
    ssize_t got = pread(file, bytes, end - from, (off_t)from);
    if (got < 0) { /* a descriptor for writing alone */
        char link[64];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        again = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC | O_LARGEFILE, 0);
        got = pread(again, bytes, end - from, (off_t)from);
        syscall(SYS_close, again);
    }
    if (got < 0)
        give_up("pread");
    put((struct record){.kind = BYTES,
                        .inode = status.st_ino,
                        .at = from,
                        .size = (uint64_t)status.st_size,
                        .length = (uint64_t)got},
        bytes);
    free(bytes);
}

static void log_synced(int file)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        give_up("fstat");
    put((struct record){.kind = SYNCED, .inode = status.st_ino}, NULL);
}

/* A write that is made while the lock is held. */
struct writing {
    bool is_logged; /* the file is below the directory */
    bool is_synced; /* by its descriptor */
    off_t at;
};

/* Logs what is about to be written: `size` bytes at `at`, -1: where the file stands. */
static struct writing begin_write(int file, off_t at, size_t size)
{
    char path[PATH_MAX];
    if (!concerns(file, path))
        return (struct writing){.is_logged = false};
    pthread_mutex_lock(&lock);
    int flags = fcntl(file, F_GETFL);
    if (at < 0)
        at = (flags & O_APPEND) != 0 ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR);
    log_bytes(file, (uint64_t)at, size);
    return (struct writing){.is_logged = true, .is_synced = (flags & O_DSYNC) != 0, .at = at};
}

/* Notes that `done` bytes were written, or -1; returns them, with errno as it was. */
static ssize_t end_write(struct writing w, int file, ssize_t done)
{
    if (!w.is_logged)
        return done;
    int error = errno;
    if (done > 0 && w.is_synced) {
        struct stat status;
        if (fstat(file, &status) != 0)
            give_up("fstat");
        put((struct record){.kind = RANGE_SYNCED,
                            .inode = status.st_ino,
                            .at = (uint64_t)w.at,
                            .size = (uint64_t)done},
            NULL);
    } else {
        ++*pending;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

static size_t sum_of(const struct iovec *parts, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += parts[i].iov_len;
    return sum;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    struct writing w = begin_write(file, at, size);
    return end_write(w, file, NEXT(pwrite)(file, bytes, size, at));
}
OLD(ssize_t, pwrite, (int file, const void *bytes, size_t size, long at), (file, bytes, size, at))

ssize_t write(int file, const void *bytes, size_t size)
{
    struct writing w = begin_write(file, -1, size);
    return end_write(w, file, syscall(SYS_write, file, bytes, size));
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    struct writing w = begin_write(file, -1, sum_of(parts, count));
    return end_write(w, file, syscall(SYS_writev, file, parts, count));
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at)
{
    struct writing w = begin_write(file, at, sum_of(parts, count));
    return end_write(w, file, NEXT(pwritev)(file, parts, count, at));
}
OLD(ssize_t, pwritev, (int file, const struct iovec *parts, int count, long at),
    (file, parts, count, at))

int ftruncate(int file, off_t size)
{
    char path[PATH_MAX];
    if (!concerns(file, path))
        return NEXT(ftruncate)(file, size);
    struct stat status;
    pthread_mutex_lock(&lock);
    if (fstat(file, &status) != 0)
        give_up("fstat");
    log_bytes(file, (uint64_t)size, status.st_size > size ? (uint64_t)(status.st_size - size) : 0);
    int rc = NEXT(ftruncate)(file, size);
    pthread_mutex_unlock(&lock);
    return rc;
}
OLD(int, ftruncate, (int file, long size), (file, size))

int posix_fallocate(int file, off_t at, off_t size)
{
    char path[PATH_MAX];
    if (concerns(file, path)) {
        pthread_mutex_lock(&lock);
        log_bytes(file, (uint64_t)at, 0); /* it changes the length alone */
        pthread_mutex_unlock(&lock);
    }
    return fallocate(file, 0, at, size) == 0 ? 0 : errno;
}

static int logged_sync(int file)
{
    char path[PATH_MAX];
    if (!concerns(file, path))
        return 0;
    if (delay > 0)
        usleep(delay);
    pthread_mutex_lock(&lock);
    log_synced(file);
    *pending = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

int fsync(int file)
{
    return logged_sync(file);
}

int fdatasync(int file)
{
    return logged_sync(file);
}

/* Bytes that are written through a map would pass the log by. */
void *mmap(void *address, size_t length, int protection, int flags, int file, off_t at)
{
    char path[PATH_MAX];
    if ((flags & (MAP_ANONYMOUS | MAP_PRIVATE)) == 0 && (protection & PROT_WRITE) != 0 &&
        concerns(file, path)) {
        pthread_mutex_lock(&lock);
        put((struct record){.kind = WRITABLE_MAP, .length = strlen(path)}, path);
        pthread_mutex_unlock(&lock);
    }
    return NEXT(mmap)(address, length, protection, flags, file, at);
}
OLD(void *, mmap, (void *address, size_t length, int protection, int flags, int file, long at),
    (address, length, protection, flags, file, at))

/* ---- names ----------------------------------------------------------------------------------- */

/* The absolute path of `name` in the open directory `at`; false: it is not below the directory. */
static bool path_of(int at, const char *name, char path[PATH_MAX])
{
    if (log_file < 0)
        return false;
    if (name[0] == '/') {
        (void)snprintf(path, PATH_MAX, "%s", name);
    } else {
        char link[64] = "/proc/self/cwd";
        char folder[PATH_MAX];
        if (at != AT_FDCWD)
            (void)snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t got = readlink(link, folder, sizeof folder - 1);
        if (got < 0)
            return false;
        folder[got] = '\0';
        if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
            return false;
    }
    const char *last = strrchr(path, '/');
    return strncmp(path, directory, strlen(directory)) == 0 && strcmp(last, "/lock.mdb") != 0 &&
           strcmp(last, "/lock") != 0;
}

static uint64_t folder_of(const char *path)
{
    char folder[PATH_MAX];
    struct stat status;
    (void)snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    return stat(folder, &status) == 0 ? status.st_ino : 0;
}

/* Gives the file `path` another name, so that it stays when this one goes; "" if there is none. */
static void keep(const char *path, char name[PATH_MAX])
{
    if (snprintf(name, PATH_MAX, "%s/%d-%u", kept, (int)getpid(), removals++) >= PATH_MAX)
        give_up("a long path");
    if (syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, name, 0) != 0)
        name[0] = '\0';
}

/* Logs a change of names: `first`, `second`, and where the file that goes is kept. */
static void log_names(enum kind kind, const char *first, const char *second, const char *keeps)
{
    char names[3 * PATH_MAX];
    int length = snprintf(names, sizeof names, "%s%c%s%c%s", first, 0, second, 0, keeps);
    put((struct record){.kind = kind,
                        .inode = folder_of(second[0] != '\0' ? second : first),
                        .length = (uint64_t)length},
        names);
}

static bool makes_a_file(int flags)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

static int opened(int at, const char *name, int flags, mode_t mode)
{
    char path[PATH_MAX];
    bool is_new = (flags & O_CREAT) != 0 && (flags & O_TMPFILE) != O_TMPFILE;
    if ((!is_new && (flags & O_TRUNC) == 0) || !path_of(at, name, path))
        return (int)syscall(SYS_openat, at, name, flags | O_LARGEFILE, mode);
    pthread_mutex_lock(&lock);
    struct stat status;
    if (lstat(path, &status) != 0) {
        log_names(CREATED, path, "", "");
    } else if ((flags & O_TRUNC) != 0) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_LARGEFILE, 0);
        log_bytes(file, 0, (uint64_t)status.st_size);
        syscall(SYS_close, file);
    }
    int file = (int)syscall(SYS_openat, at, name, flags | O_LARGEFILE, mode);
    pthread_mutex_unlock(&lock);
    return file;
}

int open(const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = makes_a_file(flags) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(AT_FDCWD, name, flags, mode);
}
OLD(int, open, (const char *name, int flags, mode_t mode), (name, flags, mode))

int openat(int at, const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = makes_a_file(flags) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opened(at, name, flags, mode);
}
OLD(int, openat, (int at, const char *name, int flags, mode_t mode), (at, name, flags, mode))

int unlinkat(int at, const char *name, int flags)
{
    char path[PATH_MAX];
    char name_kept[PATH_MAX];
    if ((flags & AT_REMOVEDIR) != 0 || !path_of(at, name, path))
        return (int)syscall(SYS_unlinkat, at, name, flags);
    pthread_mutex_lock(&lock);
    keep(path, name_kept);
    if (name_kept[0] != '\0')
        log_names(REMOVED, path, "", name_kept);
    int rc = (int)syscall(SYS_unlinkat, at, name, flags);
    pthread_mutex_unlock(&lock);
    return rc;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int renameat(int from, const char *old, int to, const char *new)
{
    char first[PATH_MAX];
    char second[PATH_MAX];
    char name_kept[PATH_MAX];
    struct stat status;
    if (!path_of(from, old, first) || !path_of(to, new, second) || lstat(first, &status) != 0)
        return (int)syscall(SYS_renameat2, from, old, to, new, 0);
    pthread_mutex_lock(&lock);
    keep(second, name_kept);
    log_names(RENAMED, first, second, name_kept);
    int rc = (int)syscall(SYS_renameat2, from, old, to, new, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int rename(const char *old, const char *new)
{
    return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    char second[PATH_MAX];
    if (!path_of(to, new, second))
        return (int)syscall(SYS_linkat, from, old, to, new, flags);
    pthread_mutex_lock(&lock);
    struct stat status;
    if (lstat(second, &status) != 0)
        log_names(LINKED, "", second, "");
    int rc = (int)syscall(SYS_linkat, from, old, to, new, flags);
    pthread_mutex_unlock(&lock);
    return rc;
}

int link(const char *old, const char *new)
{
    return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}
