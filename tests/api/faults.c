/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a daemon under test: calls of the system fail when they are told to. The file
 * named by FAULTS is shared with the test (faults.py) and says which; only calls that concern
 * files below FAULTS_DIR count, but for memory.
 */
#include "next.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum call { WRITE, SYNC, MAP, TRUNCATE, MEMORY, CALLS };

/* What the test writes, but for the last two, which it reads. */
struct control {
    _Atomic int64_t armed; /* 1 + enum call; 0: nothing fails */
    _Atomic int64_t error; /* errno; 0: half of the bytes are written */
    _Atomic int64_t after; /* calls that go through first */
    _Atomic int64_t span;  /* calls that fail then */
    _Atomic int64_t until; /* CLOCK_MONOTONIC in nanoseconds from when on none fails; 0: never */
    _Atomic int64_t delay; /* microseconds that each sync takes longer */
    _Atomic int64_t fired; /* calls that have failed */
    _Atomic int64_t count[CALLS];
};

static struct control *control;
static char directory[PATH_MAX];

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS");
    const char *below = getenv("FAULTS_DIR");
    if (path == NULL || below == NULL)
        return;
    (void)snprintf(directory, sizeof directory, "%s/", below);
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *page =
        file < 0 ? MAP_FAILED : NEXT(mmap)(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
        (void)fprintf(stderr, "faults: %s: %s\n", path, strerror(errno));
        _exit(70);
    }
    control = page;
    close(file);
}

static bool concerns(int file)
{
    char link[64];
    char path[PATH_MAX];
    size_t length = strlen(directory);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t got = readlink(link, path, sizeof path);
    return got >= (ssize_t)length && memcmp(path, directory, length) == 0;
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_late(void)
{
    int64_t until = control->until;
    return until != 0 && nanoseconds() > until;
}

/* Counts the call; true with errno set if it has to fail. */
static bool is_due(enum call call)
{
    control->count[call]++;
    if (control->armed != 1 + (int64_t)call || is_late())
        return false;
    if (atomic_fetch_sub(&control->after, 1) > 0 || atomic_fetch_sub(&control->span, 1) <= 0)
        return false;
    control->fired++;
    errno = (int)control->error;
    return true;
}

static bool fails(enum call call, int file)
{
    return control != NULL && concerns(file) && is_due(call);
}

/* ---- writing --------------------------------------------------------------------------------- */

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    if (fails(WRITE, file)) {
        if (errno != 0)
            return -1;
        size /= 2;
    }
    return NEXT(pwrite)(file, bytes, size, at);
}
OLD(ssize_t, pwrite, (int file, const void *bytes, size_t size, long at), (file, bytes, size, at))

ssize_t write(int file, const void *bytes, size_t size)
{
    if (fails(WRITE, file)) {
        if (errno != 0)
            return -1;
        size /= 2;
    }
    return syscall(SYS_write, file, bytes, size);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (fails(WRITE, file)) {
        if (errno != 0)
            return -1;
        count /= 2;
    }
    return syscall(SYS_writev, file, parts, count);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t at)
{
    if (fails(WRITE, file)) {
        if (errno != 0)
            return -1;
        count /= 2;
    }
    return NEXT(pwritev)(file, parts, count, at);
}
OLD(ssize_t, pwritev, (int file, const struct iovec *parts, int count, long at),
    (file, parts, count, at))

int ftruncate(int file, off_t size)
{
    return fails(TRUNCATE, file) ? -1 : NEXT(ftruncate)(file, size);
}
OLD(int, ftruncate, (int file, long size), (file, size))

int posix_fallocate(int file, off_t at, off_t size)
{
    if (fails(TRUNCATE, file))
        return errno;
    return fallocate(file, 0, at, size) == 0 ? 0 : errno;
}

/* ---- syncing --------------------------------------------------------------------------------- */

/* In steps: the test may change its mind. */
static void wait_for_the_disk(void)
{
    int64_t start = nanoseconds();
    while ((nanoseconds() - start) / 1000 < control->delay)
        usleep(control->delay < 1000 ? (useconds_t)control->delay : 1000);
}

static int sync_or_fail(long number, int file)
{
    if (fails(SYNC, file))
        return -1;
    if (control != NULL && control->delay > 0)
        wait_for_the_disk();
    return (int)syscall(number, file);
}

int fsync(int file)
{
    return sync_or_fail(SYS_fsync, file);
}

int fdatasync(int file)
{
    return sync_or_fail(SYS_fdatasync, file);
}

int msync(void *address, size_t length, int flags)
{
    if (control != NULL && is_due(SYNC))
        return -1;
    return (int)syscall(SYS_msync, address, length, flags);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t at)
{
    if ((flags & MAP_ANONYMOUS) == 0 && fails(MAP, file))
        return MAP_FAILED;
    return NEXT(mmap)(address, length, protection, flags, file, at);
}
OLD(void *, mmap, (void *address, size_t length, int protection, int flags, int file, long at),
    (address, length, protection, flags, file, at))

#ifndef NO_MEMORY_FAULTS
/* The sanitizers have their own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool is_out_of_memory(void)
{
    return control != NULL && control->armed == 1 + MEMORY && is_due(MEMORY);
}

void *malloc(size_t size)
{
    return is_out_of_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_out_of_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return is_out_of_memory() ? NULL : __libc_realloc(memory, size);
}
#endif
