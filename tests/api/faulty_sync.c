/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a daemon under test: while the file named by FAULTY_SYNC exists, every attempt to
 * bring data to the disk fails with EIO, as a dying disk does; and each attempt is counted in
 * FAULTY_SYNC.count, one byte a call. FAULTY_SYNC_DELAY: microseconds that each takes longer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int sync_or_fail(long number, int file)
{
    const char *path = getenv("FAULTY_SYNC");
    if (path != NULL) {
        char count[4096];
        snprintf(count, sizeof count, "%s.count", path);
        int out = open(count, O_WRONLY | O_CREAT | O_APPEND, 0666);
        if (out >= 0) {
            (void)!write(out, ".", 1);
            close(out);
        }
        if (access(path, F_OK) == 0) {
            errno = EIO;
            return -1;
        }
    }
    const char *delay = getenv("FAULTY_SYNC_DELAY");
    if (delay != NULL)
        usleep((useconds_t)atoi(delay));
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
    const char *path = getenv("FAULTY_SYNC");
    if (path != NULL && access(path, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_msync, address, length, flags);
}
