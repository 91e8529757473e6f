/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/relay.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/milter/relay_link.h"

enum {
    EVENTS = 64,
    ACCEPTS = 64, /* at a time */
    TICK_MILLISECONDS = 1000
};

struct nb_milter_relay {
    struct nb_relay_settings settings;
    pthread_t thread;
    int epoll;
    int wake; /* eventfd(2): one of the flags has changed */
    atomic_bool is_closing, is_stopping;
    /* Of the thread. */
    struct nb_relay_link *links; /* owned */
    struct nb_relay_link *gone;  /* owned: closed, but events for them may be at hand */
    size_t count;                /* of `links` */
    bool is_full;                /* told of in the log */
    uint64_t rests_until;        /* nothing is accepted until then: no descriptors were left; 0 */
};

/* ---- the list of connections ----------------------------------------------------------------- */

static void drop(struct nb_milter_relay *relay, struct nb_relay_link *link)
{
    struct nb_relay_link **place = &relay->links;
    while (*place != link)
        place = &(*place)->next;
    *place = link->next;
    nb_link_close(link);
    link->next = relay->gone;
    relay->gone = link;
    relay->count--;
    relay->is_full = false;
}

static void free_gone(struct nb_milter_relay *relay)
{
    while (relay->gone != NULL) {
        struct nb_relay_link *link = relay->gone;
        relay->gone = link->next;
        free(link);
    }
}

static void drop_late(struct nb_milter_relay *relay)
{
    uint64_t now = nb_clock_monotonic(), most = relay->settings.seconds * UINT64_C(1000000000);
    for (struct nb_relay_link *link = relay->links, *next; link != NULL; link = next) {
        next = link->next;
        if (link->partial_since == 0 || now - link->partial_since < most)
            continue;
        nb_log(NB_LOG_WARNING, "a mail server's connection is closed: a packet took over %u s",
               relay->settings.seconds);
        drop(relay, link);
    }
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void want_visitors(struct nb_milter_relay *relay, bool is_wanted)
{
    struct epoll_event event = {.events = is_wanted ? EPOLLIN : 0, .data.ptr = relay};
    /* Cannot fail: the socket is in the set. */
    (void)epoll_ctl(relay->epoll, EPOLL_CTL_MOD, relay->settings.listener, &event);
}

static void rest(struct nb_milter_relay *relay)
{
    want_visitors(relay, false);
    relay->rests_until = nb_clock_monotonic() + TICK_MILLISECONDS * UINT64_C(1000000);
}

static void end_rest(struct nb_milter_relay *relay)
{
    if (relay->rests_until == 0 || relay->settings.listener < 0 ||
        nb_clock_monotonic() < relay->rests_until)
        return;
    want_visitors(relay, true);
    relay->rests_until = 0;
}

static void add(struct nb_milter_relay *relay, int outer)
{
    struct nb_error error;
    struct nb_relay_link *link = NULL;
    if (relay->count >= relay->settings.connections) {
        if (!relay->is_full)
            nb_log(NB_LOG_WARNING, "a mail server is turned away: %zu connections are open",
                   relay->count);
        relay->is_full = true;
        (void)close(outer);
        return;
    }
    if (nb_link_open(relay->epoll, outer, relay->settings.inner, &link, &error) != 0) {
        nb_log(NB_LOG_ERROR, "a mail server is turned away: %s", error.text);
        return;
    }
    link->next = relay->links;
    relay->links = link;
    relay->count++;
}

static void accept_some(struct nb_milter_relay *relay)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int outer = accept4(relay->settings.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (outer >= 0) {
            add(relay, outer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            nb_log(NB_LOG_ERROR, "no mail server can be accepted: %s", strerror(errno));
            rest(relay);
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void take_flags(struct nb_milter_relay *relay)
{
    eventfd_t count;
    (void)eventfd_read(relay->wake, &count); /* only empties it */
    if (!relay->is_closing || relay->settings.listener < 0)
        return;
    (void)close(relay->settings.listener); /* leaves the set with that */
    relay->settings.listener = -1;
}

static void handle(struct nb_milter_relay *relay, const struct epoll_event *event)
{
    if (event->data.ptr == relay) {
        if (relay->settings.listener >= 0)
            accept_some(relay);
    } else if (event->data.ptr == NULL) {
        take_flags(relay);
    } else {
        struct nb_relay_link *link = event->data.ptr;
        if (!link->is_closed && !nb_link_move(link))
            drop(relay, link);
    }
}

static void *run(void *user)
{
    struct nb_milter_relay *relay = user;
    struct epoll_event events[EVENTS];
    while (!relay->is_stopping) {
        int count = epoll_wait(relay->epoll, events, EVENTS,
                               relay->count > 0 || relay->rests_until > 0 ? TICK_MILLISECONDS : -1);
        for (int i = 0; i < count; i++)
            handle(relay, &events[i]);
        drop_late(relay);
        end_rest(relay);
        free_gone(relay);
    }
    while (relay->links != NULL)
        drop(relay, relay->links);
    free_gone(relay);
    return NULL;
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static int watch(struct nb_milter_relay *relay, int file, void *data)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};
    return epoll_ctl(relay->epoll, EPOLL_CTL_ADD, file, &event);
}

static void deinit(struct nb_milter_relay *relay)
{
    if (relay->settings.listener >= 0)
        (void)close(relay->settings.listener);
    if (relay->wake >= 0)
        (void)close(relay->wake);
    if (relay->epoll >= 0)
        (void)close(relay->epoll);
    free(relay);
}

int nb_relay_start(const struct nb_relay_settings *settings, struct nb_milter_relay **relay,
                   struct nb_error *error)
{
    struct nb_milter_relay *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)close(settings->listener);
        return nb_error_no_memory(error);
    }
    made->settings = *settings;
    made->epoll = epoll_create1(EPOLL_CLOEXEC);
    made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = 0;
    if (made->epoll < 0 || made->wake < 0 || watch(made, made->wake, NULL) != 0 ||
        watch(made, settings->listener, made) != 0)
        rc = nb_error_errno(error, errno, "the relay of connections");
    if (rc == 0 && (rc = pthread_create(&made->thread, NULL, run, made)) != 0)
        rc = nb_error_errno(error, rc, "a thread");
    if (rc != 0) {
        deinit(made);
        return rc;
    }
    *relay = made;
    return 0;
}

static void wake(struct nb_milter_relay *relay)
{
    (void)eventfd_write(relay->wake, 1); /* fails when it is awake anyway */
}

void nb_relay_close_listener(struct nb_milter_relay *relay)
{
    relay->is_closing = true;
    wake(relay);
}

void nb_relay_stop(struct nb_milter_relay **relay)
{
    (*relay)->is_stopping = true;
    wake(*relay);
    (void)pthread_join((*relay)->thread, NULL);
    deinit(*relay);
    *relay = NULL;
}
