/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/linger.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "server/base/metrics.h"
#include "server/http/library.h"
#include "server/request/server.h"

void nb_turn_away(struct nb_server *server, struct nb_linger *linger, int file,
                  enum nb_connection_place place)
{
    unsigned status = place == NB_PLACE_ADDRESS ? 429 : 503;
    const char *detail = place == NB_PLACE_ADDRESS
                             ? "this address has as many connections as the option [server] "
                               "connections_per_address allows"
                         : place == NB_PLACE_MEMORY
                             ? "out of memory"
                             : "there are as many connections as the option [server] connections "
                               "allows";
    size_t length = nb_refusal_send(file, status, detail);
    nb_metrics_request(server->metrics, SIZE_MAX, status, 0, 0, length);
    nb_linger_add(linger, file);
}

enum nb_probe nb_probe_sniff(const char *bytes, size_t length)
{
    static const char *const PROBES[] = {"GET /healthz", "GET /readyz", "HEAD /healthz",
                                         "HEAD /readyz"};
    enum nb_probe found = NB_PROBE_NO;
    for (size_t i = 0; i < sizeof PROBES / sizeof *PROBES; i++) {
        size_t most = strlen(PROBES[i]);
        if (memcmp(bytes, PROBES[i], length < most ? length : most) != 0)
            continue;
        if (length <= most)
            found = NB_PROBE_MORE;
        else if (bytes[most] == ' ')
            return NB_PROBE_YES;
    }
    return found;
}

enum { LINGERING_MOST = 64, DROP_BYTES = 256 * 1024 };
static const uint64_t LINGER_NANOSECONDS = 5000000000u;
static const uint64_t LINGER_BYTES = (uint64_t)64 << 20;

struct lingering {
    int file;
    uint64_t since;
    uint64_t dropped;
};

struct nb_linger {
    pthread_t thread;
    int wake;             /* an eventfd */
    pthread_mutex_t lock; /* of the members below; no other lock is taken while it is held */
    bool is_ending;
    size_t count;
    struct lingering all[LINGERING_MOST]; /* entries are removed by the thread alone */
};

static void forget(struct nb_linger *l, size_t index)
{
    (void)close(l->all[index].file); /* an error changes nothing */
    l->all[index] = l->all[--l->count];
}

/* Reads the available bytes. Returns whether more may come. */
static bool drop(struct lingering *one, char *scratch)
{
    ssize_t n = recv(one->file, scratch, DROP_BYTES, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    one->dropped += (uint64_t)n;
    return n > 0 && one->dropped < LINGER_BYTES;
}

static bool is_over(const struct lingering *one, uint64_t now)
{
    return now - one->since > LINGER_NANOSECONDS;
}

static void drop_all(struct nb_linger *l, char *scratch)
{
    uint64_t now = nb_clock_monotonic();
    for (size_t i = l->count; i-- > 0;) {
        if (is_over(&l->all[i], now) || !drop(&l->all[i], scratch))
            forget(l, i);
    }
}

static void *linger_thread(void *user)
{
    struct nb_linger *l = user;
    char *scratch = malloc(DROP_BYTES);
    pthread_mutex_lock(&l->lock);
    while (!l->is_ending && scratch != NULL) {
        struct pollfd polled[LINGERING_MOST + 1] = {{.fd = l->wake, .events = POLLIN}};
        size_t count = l->count;
        for (size_t i = 0; i < count; i++)
            polled[i + 1] = (struct pollfd){.fd = l->all[i].file, .events = POLLIN};
        pthread_mutex_unlock(&l->lock);
        (void)poll(polled, count + 1, count > 0 ? 250 : -1); /* an error: try again */
        uint64_t number;
        if ((polled[0].revents & POLLIN) != 0 && read(l->wake, &number, sizeof number) < 0)
            number = 0; /* only empties it */
        pthread_mutex_lock(&l->lock);
        drop_all(l, scratch);
    }
    pthread_mutex_unlock(&l->lock);
    free(scratch);
    return NULL;
}

static void wake(struct nb_linger *l)
{
    uint64_t one = 1;
    ssize_t written = write(l->wake, &one, sizeof one);
    (void)written; /* a full eventfd has woken it already */
}

int nb_linger_start(struct nb_linger **linger)
{
    struct nb_linger *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NB_NO_MEMORY;
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->wake < 0 || pthread_mutex_init(&l->lock, NULL) != 0)
        goto failed;
    if (pthread_create(&l->thread, NULL, linger_thread, l) == 0) {
        *linger = l;
        return 0;
    }
    pthread_mutex_destroy(&l->lock);
failed:
    if (l->wake >= 0)
        (void)close(l->wake);
    free(l);
    return NB_IO;
}

void nb_linger_stop(struct nb_linger **linger)
{
    struct nb_linger *l = *linger;
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    l->is_ending = true;
    pthread_mutex_unlock(&l->lock);
    wake(l);
    pthread_join(l->thread, NULL);
    while (l->count > 0)
        forget(l, 0);
    pthread_mutex_destroy(&l->lock);
    (void)close(l->wake);
    free(l);
    *linger = NULL;
}

void nb_linger_add(struct nb_linger *linger, int file)
{
    (void)shutdown(file, SHUT_WR); /* the client may be gone already */
    pthread_mutex_lock(&linger->lock);
    bool is_taken = linger->count < LINGERING_MOST;
    if (is_taken)
        linger->all[linger->count++] = (struct lingering){file, nb_clock_monotonic(), 0};
    pthread_mutex_unlock(&linger->lock);
    if (is_taken)
        wake(linger);
    else
        (void)close(file);
}
