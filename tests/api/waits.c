/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a program under test: counts how often its loops ask the system what is ready. The
 * file named by WAITS is shared with the test (waits.py), which reads the number.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>

static _Atomic int64_t *count;
static int (*real_epoll)(int, struct epoll_event *, int, int);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);

/* ISO C has no conversion of the one pointer to the other (dlsym(3)). */
static void find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

__attribute__((constructor)) static void begin(void)
{
    find(&real_epoll, "epoll_wait");
    find(&real_poll, "poll");
    find(&real_select, "select");
    const char *path = getenv("WAITS");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *page =
        file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
        (void)fprintf(stderr, "waits: %s: %s\n", path == NULL ? "WAITS" : path, strerror(errno));
        _exit(70);
    }
    count = page;
    close(file);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout)
{
    if (count != NULL)
        (*count)++;
    else
        find(&real_epoll, "epoll_wait");
    return real_epoll(epoll, events, most, timeout);
}

int poll(struct pollfd *files, nfds_t number, int timeout)
{
    if (count != NULL)
        (*count)++;
    else
        find(&real_poll, "poll");
    return real_poll(files, number, timeout);
}

int select(int number, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout)
{
    if (count != NULL)
        (*count)++;
    else
        find(&real_select, "select");
    return real_select(number, reads, writes, others, timeout);
}
