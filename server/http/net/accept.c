/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/net/accept.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/platform/poller.h"
#include "core/base/system.h"
#include "server/base/log.h"
#include "server/http/http.h"
#include "server/http/net/connection_guard.h"
#include "server/http/net/connections.h"
#include "server/http/server.h"
#include "server/mail/line.h"
#include "server/mail/line_head.h"

enum { ACCEPTS_AT_ONCE = 64 };

/* When descriptors or memory have run out, accepting again at once would only fail again. */
static const uint64_t PAUSE_NANOSECONDS = 100000000u;

static const uint64_t SECOND = 1000000000u;

/* Connections in a ring; the list head is the entry without a connection. */
struct link {
    struct link *before, *after;
};

struct client {
    struct link link; /* the first member */
    int file;
    bool is_watched; /* the acceptor's poller has it */
    bool is_tls;
    bool is_probe; /* it has a place only for a health check */
    uint64_t opened;
    uint64_t since;         /* when it last made progress */
    uint64_t looked, bytes; /* for a line protocol: last speed check, and bytes received then */
    union nb_connection_address address;
    socklen_t address_length;
    struct nb_line_client *line; /* NULL until it is known to speak a line protocol */
};

struct nb_acceptor {
    struct nb_acceptor_settings settings;
    int sockets[NB_LISTEN_SOCKETS]; /* those of the settings */
    struct nb_lines *lines;
    pthread_t thread;
    int poller;
    int wake; /* a bell: nb_lines_finished has a connection, or is_ending is set */
    atomic_bool is_ending;
    /* For the thread alone: */
    struct link waiting;   /* connections that wait for the client, by their last progress */
    struct link working;   /* connections with a request that is worked on */
    uint64_t paused_until; /* no accepting before this time; 0: not paused */
    bool is_starved;       /* accepting was paused, and has not succeeded since */
    uint64_t now;
    uint64_t body_rate, request_seconds; /* the options in force */
};

/* ---- clients --------------------------------------------------------------------------------- */

static void unlink_client(struct client *c)
{
    assert(c->link.before->after == &c->link && c->link.after->before == &c->link);
    c->link.before->after = c->link.after;
    c->link.after->before = c->link.before;
}

static void append(struct link *list, struct client *c)
{
    c->link.before = list->before;
    c->link.after = list;
    list->before->after = &c->link;
    list->before = &c->link;
}

static struct client *first(const struct link *list)
{
    static_assert(offsetof(struct client, link) == 0, "the cast below");
    return list->after != list ? (struct client *)(void *)list->after : NULL;
}

/* Sets what the client is watched for (NB_POLLER_READ ...); 0: nothing. */
static bool watch(struct nb_acceptor *a, struct client *c, unsigned what)
{
    bool was_watched = c->is_watched;
    c->is_watched = what != 0;
    if (what != 0)
        return was_watched ? nb_poller_change(a->poller, c->file, what, c)
                           : nb_poller_add(a->poller, c->file, what, c);
    if (was_watched)
        nb_poller_remove(a->poller, c->file);
    return true;
}

static void drop(struct nb_acceptor *a, struct client *c, bool lingers)
{
    nb_line_client_free(&c->line);
    unlink_client(c);
    (void)watch(a, c, 0);
    if (lingers)
        nb_linger_add(a->settings.linger, c->file);
    else
        (void)close(c->file); /* an error changes nothing */
    nb_connections_close(a->settings.connections, &c->address.any);
    free(c);
}

static void touch(struct nb_acceptor *a, struct client *c, struct link *list)
{
    assert(a->now >= c->since);
    c->since = a->now;
    unlink_client(c);
    append(list, c);
}

static uint64_t patience(const struct nb_acceptor *a)
{
    return a->settings.server->startup->timeout * SECOND;
}

/* ---- detecting the protocol ------------------------------------------------------------------ */

static void give_to_http(struct nb_acceptor *a, struct client *c)
{
    assert(c->line == NULL); /* the bytes that were looked at are still in the socket */
    struct nb_connection *held =
        nb_guard_add(a->settings.guard, c->file, c->is_tls, &c->address, c->address_length);
    if (held == NULL) {
        drop(a, c, false);
        return;
    }
    unlink_client(c);
    (void)watch(a, c, 0);
    free(c);
    nb_http_take(a->settings.http, held);
}

/* Whether a request of a line protocol arrives too slowly or takes too long in all. Checked
 * whenever bytes were received or sent: an idle client runs into the timeout. */
static bool is_late(const struct nb_acceptor *a, struct client *c, bool is_reading)
{
    assert(c->line != NULL && a->now >= c->opened);
    uint64_t received = nb_line_client_received(c->line);
    if (a->now - c->opened > a->request_seconds * SECOND)
        return true;
    if (!is_reading || a->now - c->looked < patience(a))
        return false;
    bool is_slow = received - c->bytes < a->body_rate * (patience(a) / SECOND);
    c->looked = a->now;
    c->bytes = received;
    return is_slow;
}

static void go_on(struct nb_acceptor *a, struct client *c)
{
    assert(c->line != NULL);
    enum nb_line_next next = nb_line_client_go(c->line);
    bool is_watched = true;
    switch (next) {
    case NB_LINE_READ:
    case NB_LINE_WRITE:
        if (is_late(a, c, next == NB_LINE_READ)) {
            drop(a, c, false);
            return;
        }
        touch(a, c, &a->waiting);
        is_watched = watch(a, c, next == NB_LINE_READ ? NB_POLLER_READ : NB_POLLER_WRITE);
        break;
    case NB_LINE_WORK:
        touch(a, c, &a->working);
        is_watched = watch(a, c, 0);
        break;
    case NB_LINE_OVER:
    case NB_LINE_LINGER:
        drop(a, c, next == NB_LINE_LINGER);
        break;
    }
    if (!is_watched)
        drop(a, c, false);
}

/* All places are taken; only a probe (connections.h) is still served. */
static void sniff_probe(struct nb_acceptor *a, struct client *c, struct nb_string first,
                        bool is_last)
{
    enum nb_probe probe = nb_probe_sniff(first.bytes, first.length);
    if (probe == NB_PROBE_YES) {
        give_to_http(a, c);
    } else if (probe == NB_PROBE_NO || is_last) {
        int file = dup(c->file);
        if (file >= 0)
            nb_turn_away(a->settings.server, a->settings.linger, file, NB_PLACE_FULL);
        drop(a, c, false);
    }
}

/* Looks at the first bytes without taking them from the socket; therefore the socket is watched for
 * new bytes only. `is_last`: no more will come; undecided bytes are then no request. */
static void sniff(struct nb_acceptor *a, struct client *c, bool is_last)
{
    assert(c->line == NULL);
    char bytes[NB_LINE_SNIFF_BYTES];
    ssize_t n = recv(c->file, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(a, c, false);
        return;
    }
    if (c->is_tls) {
        give_to_http(a, c);
        return;
    }
    if (c->is_probe) {
        sniff_probe(a, c, (struct nb_string){bytes, (size_t)n}, is_last);
        return;
    }
    switch (nb_line_sniff(bytes, (size_t)n)) {
    case NB_SNIFF_LINE:
        c->looked = a->now;
        c->line = nb_line_client_new(a->lines, c->file, &c->address.any,
                                     (struct nb_string){bytes, (size_t)n}, c);
        if (c->line != NULL)
            go_on(a, c);
        else
            drop(a, c, false);
        break;
    case NB_SNIFF_MORE:
        if (is_last)
            drop(a, c, false);
        break;
    case NB_SNIFF_HTTP:
        give_to_http(a, c);
        break;
    }
}

/* ---- accepting ------------------------------------------------------------------------------- */

static bool listen_on(struct nb_acceptor *a, int which)
{
    return a->sockets[which] < 0 ||
           nb_poller_add(a->poller, a->sockets[which], NB_POLLER_READ, &a->sockets[which]);
}

static void pause_accepting(struct nb_acceptor *a)
{
    if (!a->is_starved)
        nb_log(NB_LOG_WARNING, "cannot accept connections reason=\"%s\"", strerror(errno));
    a->is_starved = true;
    for (int i = 0; i < NB_LISTEN_SOCKETS; i++)
        nb_poller_remove(a->poller, a->sockets[i]);
    a->paused_until = a->now + PAUSE_NANOSECONDS;
}

/* Takes one connection. Returns whether to try for another one. */
static bool accept_one(struct nb_acceptor *a, int which)
{
    assert(which >= 0 && which < NB_LISTEN_SOCKETS && a->sockets[which] >= 0);
    struct client client = {.address_length = sizeof client.address};
    client.file = accept4(a->sockets[which], &client.address.any, &client.address_length,
                          SOCK_NONBLOCK | SOCK_CLOEXEC);
    /* accept(2) returns the length of the whole address even if it was cut, as happens to the path
     * to which a client has bound its Unix socket. */
    if (client.address_length > sizeof client.address)
        client.address_length = sizeof client.address;
    if (client.file < 0) {
        if (errno == EINVAL) /* shut down: a stop */
            nb_poller_remove(a->poller, a->sockets[which]);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
            pause_accepting(a);
        else
            return errno != EAGAIN; /* other errors concern only this connection (accept(2)) */
        return false;
    }
    a->is_starved = false;
    struct client *c = malloc(sizeof *c);
    enum nb_connection_place place =
        c != NULL ? nb_connections_open(a->settings.connections, &client.address.any)
                  : NB_PLACE_MEMORY;
    client.is_tls = which == NB_LISTEN_TLS;
    if (client.is_tls && place == NB_PLACE_PROBE) { /* the encrypted request cannot be examined */
        nb_connections_close(a->settings.connections, &client.address.any);
        place = NB_PLACE_FULL;
    }
    if (place != NB_PLACE && place != NB_PLACE_PROBE) {
        free(c);
        if (client.is_tls) /* the client would not understand a plain reply */
            (void)close(client.file);
        else
            nb_turn_away(a->settings.server, a->settings.linger, client.file, place);
        return true;
    }
    *c = client;
    c->is_probe = place == NB_PLACE_PROBE;
    c->opened = c->since = a->now;
    append(&a->waiting, c);
    if (!watch(a, c, NB_POLLER_READ | NB_POLLER_END | NB_POLLER_NEWS))
        drop(a, c, false);
    return true;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Returns the milliseconds until a timeout must be handled; -1: never. */
static int time_left(const struct nb_acceptor *a)
{
    const struct client *oldest = first(&a->waiting);
    uint64_t at = UINT64_MAX;
    if (oldest != NULL)
        at = oldest->since + patience(a);
    if (a->paused_until != 0 && a->paused_until < at)
        at = a->paused_until;
    if (at == UINT64_MAX)
        return -1;
    uint64_t left = at > a->now ? (at - a->now) / 1000000 + 1 : 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static void expire(struct nb_acceptor *a)
{
    struct client *oldest;
    while ((oldest = first(&a->waiting)) != NULL && a->now - oldest->since >= patience(a))
        drop(a, oldest, false);
    if (a->paused_until != 0 && a->now >= a->paused_until) {
        a->paused_until = 0;
        for (int i = 0; i < NB_LISTEN_SOCKETS; i++)
            (void)listen_on(a, i); /* this succeeded at the start */
    }
}

static void handle(struct nb_acceptor *a, const struct nb_poller_event *event)
{
    struct client *c = event->user;
    for (int i = 0; i < NB_LISTEN_SOCKETS; i++) {
        if (event->user == &a->sockets[i]) {
            for (int k = 0; k < ACCEPTS_AT_ONCE && accept_one(a, i); k++)
                ;
            return;
        }
    }
    if (event->user == &a->wake) {
        nb_bell_clear(a->wake);
        while ((c = nb_lines_finished(a->lines)) != NULL)
            go_on(a, c);
    } else if (c->line != NULL) {
        go_on(a, c);
    } else {
        sniff(a, c, event->has_ended);
    }
}

static void *acceptor_thread(void *user)
{
    struct nb_acceptor *a = user;
    struct nb_poller_event events[NB_POLLER_MOST];
    a->now = nb_clock_monotonic();
    while (!atomic_load(&a->is_ending)) {
        int count = nb_poller_wait(a->poller, events, time_left(a));
        a->now = nb_clock_monotonic();
        const struct nb_configuration *in_force = nb_configurations_take(a->settings.server);
        a->body_rate = in_force->config.body_rate;
        a->request_seconds = in_force->config.request_seconds;
        nb_configuration_release(&in_force);
        for (int i = 0; i < count; i++) /* after an error the loop tries again */
            handle(a, &events[i]);
        expire(a);
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

/* Closes and frees everything; the thread must not run. */
static void dismantle(struct nb_acceptor **acceptor)
{
    struct nb_acceptor *a = *acceptor;
    nb_lines_stop(&a->lines);
    while (first(&a->waiting) != NULL)
        drop(a, first(&a->waiting), false);
    while (first(&a->working) != NULL)
        drop(a, first(&a->working), false);
    if (a->poller >= 0)
        (void)close(a->poller);
    if (a->wake >= 0)
        (void)close(a->wake);
    free(a);
    *acceptor = NULL;
}

int nb_acceptor_start(const struct nb_acceptor_settings *settings, struct nb_acceptor **acceptor,
                      struct nb_error *error)
{
    struct nb_acceptor *a = calloc(1, sizeof *a);
    if (a == NULL)
        return nb_error_no_memory(error);
    a->settings = *settings;
    a->waiting = (struct link){&a->waiting, &a->waiting};
    a->working = (struct link){&a->working, &a->working};
    a->poller = nb_poller_new();
    a->wake = nb_bell_new();
    int rc = 0;
    memcpy(a->sockets, settings->sockets, sizeof a->sockets);
    if (a->poller < 0 || a->wake < 0 ||
        !nb_poller_add(a->poller, a->wake, NB_POLLER_READ, &a->wake) ||
        !listen_on(a, NB_LISTEN_PORT) || !listen_on(a, NB_LISTEN_FILE) ||
        !listen_on(a, NB_LISTEN_TLS))
        rc = nb_error_errno(error, errno, "a poller of sockets");
    if (rc == 0)
        rc = nb_lines_start(settings->server, settings->threads, a->wake, &a->lines, error);
    if (rc == 0 && pthread_create(&a->thread, NULL, acceptor_thread, a) != 0)
        rc = nb_error_set(error, NB_IO, "the thread that accepts does not start");
    if (rc != 0) {
        dismantle(&a);
        return rc;
    }
    *acceptor = a;
    return 0;
}

void nb_acceptor_stop(struct nb_acceptor **acceptor)
{
    struct nb_acceptor *a = *acceptor;
    if (a == NULL)
        return;
    atomic_store(&a->is_ending, true);
    nb_bell_ring(a->wake);
    pthread_join(a->thread, NULL);
    dismantle(acceptor);
}
