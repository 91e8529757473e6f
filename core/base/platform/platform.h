/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between systems: threads, memory, files and processes (core/base/README.md). Any
 * thread, unless a function says otherwise.
 */
#ifndef NB_CORE_BASE_PLATFORM_PLATFORM_H
#define NB_CORE_BASE_PLATFORM_PLATFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- threads --------------------------------------------------------------------------------- */

/* Makes a lock that prefers writers, where the system can: a stream of readers must not starve the
 * writer, and glibc's default prefers readers. Returns 0 or a number of errno. */
int nb_platform_lock_init(pthread_rwlock_t *lock);

/* Names a thread for top(1) and debuggers: up to 15 bytes. A failure is ignored. */
void nb_platform_name_thread(pthread_t thread, const char *name);

/* ---- memory ---------------------------------------------------------------------------------- */

/* The most bytes of one map of a file: half of the address space. */
#define NB_PLATFORM_MAP_MOST ((uint64_t)(SIZE_MAX / 2 + 1))

/* Makes free() give large blocks of memory back to the kernel, where the C library keeps them by
 * default. Call it once, before other threads start. */
void nb_platform_heap_setup(void);

/* Gives free memory of the C library back to the kernel, where the library can. */
void nb_platform_heap_trim(void);

/* The process's resident memory in bytes, and how much of it are pages of files; 0: unknown. */
struct nb_platform_memory {
    uint64_t resident, of_files;
};
struct nb_platform_memory nb_platform_memory(void);

/* Asks for huge pages in a range of private memory, which begins and ends at a page. `now`: also
 * for pages that are in use, which newer kernels (Linux 6.1) copy. A kernel without huge pages
 * refuses, which does no harm. */
void nb_platform_want_huge_pages(void *from, size_t length, bool now);

/* Gives the pages of the shared map of a file that contains `address` back to the kernel, which
 * reads them again when they are used. Changes no contents. Does nothing where the map cannot be
 * found. */
void nb_platform_drop_map(const void *address);

/* ---- files ----------------------------------------------------------------------------------- */

/* Opens a file without a name in a folder, for reading and writing by this user. Where that is not
 * possible, it makes a file whose name begins with `prefix` and removes the name at once. Returns a
 * descriptor that is closed on exec, which the caller closes, or -1 with errno. */
int nb_platform_nameless_file(const char *folder, const char *prefix);

/* Opens a stream for reading whose bytes come from `read`: it fills at most `room` bytes and
 * returns how many, 0 at the end, -1 after an error. fclose calls `close`, whose result is ignored.
 * NULL: out of memory; `close` was not called. */
FILE *nb_platform_stream(void *user, ssize_t (*read)(void *user, char *bytes, size_t room),
                         int (*close)(void *user));

/* Finds the user of the process at the other end of a Unix socket. Returns whether it is known. */
bool nb_platform_peer(int socket, uid_t *user);

/* ---- processes ------------------------------------------------------------------------------- */

/* A name under which exec(3) runs this very program, even if another one has been installed in its
 * place; NULL: there is none. */
const char *nb_platform_same_program(void);

/* Writes the path of this program, NUL-terminated. Returns its length; 0 if it is unknown or has no
 * room. */
size_t nb_platform_program_path(char *path, size_t room);

/* For a child that was forked: names it, and has it get the signal when its parent ends. If the
 * parent has ended already, no signal comes. */
void nb_platform_follow_parent(const char *name, int signal);

#endif
