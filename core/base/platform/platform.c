/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* ---- threads --------------------------------------------------------------------------------- */

int nb_platform_lock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    int rc = pthread_rwlockattr_init(&attributes);
    if (rc != 0)
        return rc;
#ifdef __GLIBC__
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    rc = pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    return rc;
}

void nb_platform_name_thread(pthread_t thread, const char *name)
{
    (void)pthread_setname_np(thread, name);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* By default glibc's threshold for large blocks grows to 32 MiB as memory is freed, and each of
 * many arenas keeps smaller blocks. Free memory at the end of an arena is kept up to the same size:
 * with the default of 128 KiB each mail would take pages from the kernel and give them back. */
void nb_platform_heap_setup(void)
{
#ifdef __GLIBC__
    enum { BYTES_OF_OWN_PAGES = 1 << 20 };
    /* These fail for absurd values only. */
    (void)mallopt(M_MMAP_THRESHOLD, BYTES_OF_OWN_PAGES);
    (void)mallopt(M_TRIM_THRESHOLD, BYTES_OF_OWN_PAGES);
#endif
}

void nb_platform_heap_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0); /* the result says whether any memory was freed */
#endif
}

/* The second and the third number of /proc/self/statm, which are pages. */
struct nb_platform_memory nb_platform_memory(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t size, resident, shared, page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (file == NULL)
        return (struct nb_platform_memory){0};
    if (fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &size, &resident, &shared) != 3)
        resident = shared = 0;
    (void)fclose(file); /* was only read */
    return (struct nb_platform_memory){.resident = resident * page, .of_files = shared * page};
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

void nb_platform_want_huge_pages(void *from, size_t length, bool now)
{
    (void)madvise(from, length, now ? MADV_COLLAPSE : MADV_HUGEPAGE);
}

struct map {
    uintptr_t begin, end;
};

/* Whether a line of /proc/self/maps describes a shared map that contains the address `at`. */
static bool read_line(const char *line, uintptr_t at, struct map *map)
{
    char mode[5];
    return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &map->begin, &map->end, mode) == 3 &&
           at >= map->begin && at < map->end && mode[3] == 's';
}

static bool find_map(uintptr_t at, struct map *map)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (file == NULL)
        return false;
    while (!found && getline(&line, &room, file) > 0)
        found = read_line(line, at, map);
    free(line);
    (void)fclose(file); /* was only read */
    return found;
}

void nb_platform_drop_map(const void *address)
{
    struct map map;
    if (find_map((uintptr_t)address, &map))
        (void)madvise((void *)map.begin, map.end - map.begin, MADV_DONTNEED);
}

/* ---- files ----------------------------------------------------------------------------------- */

int nb_platform_nameless_file(const char *folder, const char *prefix)
{
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%sXXXXXX", folder, prefix);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        (void)unlink(path); /* a name that stays does no harm to its user */
    return file;
}

FILE *nb_platform_stream(void *user, ssize_t (*read)(void *user, char *bytes, size_t room),
                         int (*close)(void *user))
{
    const cookie_io_functions_t functions = {.read = read, .close = close};
    return fopencookie(user, "r", functions);
}

bool nb_platform_peer(int socket, uid_t *user)
{
    struct ucred process;
    socklen_t size = sizeof process;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &process, &size) != 0)
        return false;
    *user = process.uid;
    return true;
}

/* ---- processes ------------------------------------------------------------------------------- */

static const char SELF[] = "/proc/self/exe";

const char *nb_platform_same_program(void)
{
    return SELF;
}

size_t nb_platform_program_path(char *path, size_t room)
{
    ssize_t length = readlink(SELF, path, room);
    if (length <= 0 || (size_t)length >= room)
        return 0;
    path[length] = '\0';
    return (size_t)length;
}

void nb_platform_follow_parent(const char *name, int signal)
{
    (void)prctl(PR_SET_NAME, name);
    (void)prctl(PR_SET_PDEATHSIG, signal);
}
