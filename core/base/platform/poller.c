/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/platform/poller.h"

#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static uint32_t events_of(unsigned what)
{
    static const struct {
        unsigned what;
        uint32_t event;
    } EVENTS[] = {{NB_POLLER_READ, EPOLLIN},
                  {NB_POLLER_WRITE, EPOLLOUT},
                  {NB_POLLER_END, EPOLLRDHUP},
                  {NB_POLLER_NEWS, EPOLLET},
                  {NB_POLLER_ONCE, EPOLLONESHOT}};
    uint32_t events = 0;
    for (unsigned i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        events |= (what & EVENTS[i].what) != 0 ? EVENTS[i].event : 0;
    return events;
}

int nb_poller_new(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

static bool control(int poller, int action, int file, unsigned what, void *user)
{
    struct epoll_event event = {.events = events_of(what), .data.ptr = user};
    return epoll_ctl(poller, action, file, &event) == 0;
}

bool nb_poller_add(int poller, int file, unsigned what, void *user)
{
    return control(poller, EPOLL_CTL_ADD, file, what, user);
}

bool nb_poller_change(int poller, int file, unsigned what, void *user)
{
    return control(poller, EPOLL_CTL_MOD, file, what, user);
}

void nb_poller_remove(int poller, int file)
{
    (void)control(poller, EPOLL_CTL_DEL, file, 0, NULL); /* fails if it is not watched */
}

int nb_poller_wait(int poller, struct nb_poller_event events[NB_POLLER_MOST], int milliseconds)
{
    struct epoll_event found[NB_POLLER_MOST];
    int count = epoll_wait(poller, found, NB_POLLER_MOST, milliseconds);
    for (int i = 0; i < count; i++)
        events[i] = (struct nb_poller_event){
            .user = found[i].data.ptr,
            .has_ended = (found[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0};
    return count > 0 ? count : 0;
}

bool nb_poller_has_ended(int file)
{
    struct pollfd polled = {.fd = file, .events = POLLRDHUP};
    return poll(&polled, 1, 0) != 0;
}

/* ---- bells ----------------------------------------------------------------------------------- */

int nb_bell_new(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void nb_bell_ring(int bell)
{
    const uint64_t one = 1;
    ssize_t written = write(bell, &one, sizeof one);
    (void)written; /* a counter that is full has rung already */
}

void nb_bell_clear(int bell)
{
    uint64_t number;
    ssize_t length = read(bell, &number, sizeof number);
    (void)length; /* a bell that has not rung is clear */
}
