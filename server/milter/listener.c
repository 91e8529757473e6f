/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/listener.h"

#include <libmilter/mfapi.h>
#include <pthread.h>
#include <time.h>

#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/milter/milter_socket.h"

enum {
    GRACE_SECONDS = 1, /* in which libmilter sends the last reply */
    LATE_MILLISECONDS = 100
};

/* libmilter has one socket for the process and no handle for it. */
static struct {
    struct nb_listener_settings settings;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t change;
    bool is_closed; /* libmilter takes no more connections */
    bool is_full;   /* the log has reported too many connections */
    size_t sessions;
    size_t checks;      /* mails that bayesd is being asked about */
    uint64_t last_done; /* when the last of them was done, or the stop began */
} serving = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

/* ---- counting -------------------------------------------------------------------------------- */

bool nb_listener_admit(void)
{
    (void)pthread_mutex_lock(&serving.lock);
    size_t count = serving.sessions;
    bool is_full = count >= serving.settings.connections;
    bool is_news = is_full && !serving.is_full;
    serving.is_full = is_full;
    serving.sessions += !is_full;
    (void)pthread_mutex_unlock(&serving.lock);
    if (is_news)
        nb_log(NB_LOG_WARNING, "a mail server is turned away: %zu connections are open", count);
    return !is_full;
}

void nb_listener_leave(void)
{
    (void)pthread_mutex_lock(&serving.lock);
    serving.sessions--;
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
}

void nb_listener_count_checks(int change)
{
    (void)pthread_mutex_lock(&serving.lock);
    serving.checks += (size_t)change;
    serving.last_done = nb_clock_monotonic();
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Makes a connection now and then while answers of bayesd are slow. A libmilter with a pool of
 * threads (worker.c, as in Debian) counts a thread as idle until it has run again. So of two mails
 * that come at the same moment one may be given to a thread that then waits for bayesd's answer
 * about the other one. The next thread that has served something finds such a mail: a connection is
 * enough for that. */
static void *call_workers(void *unused)
{
    (void)unused;
    const struct timespec late = {.tv_nsec = LATE_MILLISECONDS * 1000000L};
    (void)pthread_mutex_lock(&serving.lock);
    while (!serving.is_closed) {
        if (serving.checks == 0) {
            (void)pthread_cond_wait(&serving.change, &serving.lock);
            continue;
        }
        (void)pthread_mutex_unlock(&serving.lock);
        (void)nanosleep(&late, NULL);
        (void)pthread_mutex_lock(&serving.lock);
        if (serving.checks > 0 && !serving.is_closed)
            (void)nb_milter_socket_knock(serving.settings.socket);
    }
    (void)pthread_mutex_unlock(&serving.lock);
    return NULL;
}

int nb_listener_run(const struct nb_listener_settings *settings, struct nb_error *error)
{
    pthread_t thread;
    serving.settings = *settings;
    int rc = pthread_create(&thread, NULL, call_workers, NULL);
    if (rc != 0)
        return nb_error_errno(error, rc, "a thread");
    if (smfi_main() != MI_SUCCESS)
        rc = nb_error_set(error, NB_IO, "libmilter gave up");
    (void)pthread_mutex_lock(&serving.lock);
    serving.is_closed = true;
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
    (void)pthread_join(thread, NULL);
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Waits until something changes, at most a second. The caller holds `lock`. */
static void wait_for_change(void)
{
    struct timespec wake;
    (void)clock_gettime(CLOCK_REALTIME, &wake);
    wake.tv_sec += 1;
    (void)pthread_cond_timedwait(&serving.change, &serving.lock, &wake);
}

static bool is_time_over(uint64_t deadline)
{
    uint64_t now = nb_clock_monotonic();
    return now >= deadline ||
           (serving.checks == 0 && now >= serving.last_done + GRACE_SECONDS * UINT64_C(1000000000));
}

bool nb_listener_finish(uint64_t patience)
{
    uint64_t most = (patience + GRACE_SECONDS) * UINT64_C(1000000000);
    (void)pthread_mutex_lock(&serving.lock);
    serving.last_done = nb_clock_monotonic();
    uint64_t deadline = serving.last_done + most;
    while (serving.sessions > 0 && !is_time_over(deadline))
        wait_for_change();
    bool is_over = serving.sessions == 0;
    (void)pthread_mutex_unlock(&serving.lock);
    return is_over;
}
