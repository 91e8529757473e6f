/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/listener.h"

#include <libmilter/mfapi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/milter/milter_socket.h"
#include "server/milter/packet.h"

enum {
    BACKLOG = 1024,
    GRACE_SECONDS = 1, /* in which libmilter sends the last reply */
    KNOCK_MILLISECONDS = 10,
    LATE_MILLISECONDS = 100
};

/* libmilter has one socket for the process and no handle for it. */
static struct {
    const char *path;     /* of its socket; borrowed */
    pthread_t owner;      /* the thread that called nb_milter_start */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t change;
    bool is_closed; /* no more connections are taken */
    size_t sessions;
    size_t checks;      /* mails that bayesd is being asked about */
    uint64_t last_done; /* when the last of them was done, or the stop began */
} serving = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void count(size_t *counter, int change)
{
    (void)pthread_mutex_lock(&serving.lock);
    *counter += (size_t)change;
    if (counter == &serving.checks)
        serving.last_done = nb_clock_monotonic();
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
}

void nb_milter_count_sessions(int change)
{
    count(&serving.sessions, change);
}

void nb_milter_count_checks(int change)
{
    count(&serving.checks, change);
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* The umask gives the socket its permissions at once, beside those of its folder. */
static int open_socket(void)
{
    mode_t old = umask(0077);
    int rc = smfi_opensocket(false);
    (void)umask(old);
    return rc;
}

int nb_milter_open(const char *path, struct nb_error *error)
{
    char where[sizeof "unix:" + NB_INNER_BYTES];
    serving.path = path;
    (void)snprintf(where, sizeof where, "unix:%s", path);
    /* libmilter reports failures to syslog(3) only. */
    openlog("bayesd-milter", LOG_PID | (getenv("JOURNAL_STREAM") == NULL ? LOG_PERROR : 0),
            LOG_MAIL);
    (void)smfi_setmaxdatasize(NB_PACKET_MOST); /* returns what it was */
    if (smfi_setconn(where) == MI_SUCCESS && smfi_setbacklog(BACKLOG) == MI_SUCCESS &&
        open_socket() == MI_SUCCESS)
        return 0;
    return nb_error_set(error, NB_IO, "libmilter cannot listen on %.200s", path);
}

/* Connects to libmilter's socket and closes the connection. */
static void knock(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", serving.path);
    int visitor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (visitor < 0)
        return; /* the caller will try again */
    (void)connect(visitor, (const struct sockaddr *)(const void *)&address, sizeof address);
    (void)close(visitor);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Makes a connection now and then while answers of bayesd are slow. A libmilter with a pool of
 * threads (worker.c, as in Debian) counts a thread as idle until it has run again. So of two mails
 * that come at the same moment one may be given to a thread that then waits for bayesd's answer
 * about the other one. Such a mail is found by the next thread that has served something: a
 * connection is enough. */
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
            knock();
    }
    (void)pthread_mutex_unlock(&serving.lock);
    return NULL;
}

static void *listen_for_mail(void *unused)
{
    (void)unused;
    if (smfi_main() != MI_SUCCESS)
        nb_log(NB_LOG_ERROR, "libmilter gave up");
    (void)pthread_mutex_lock(&serving.lock);
    serving.is_closed = true;
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
    /* The owner waits for this signal, which is blocked: it ends no thread.
     * NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread) */
    (void)pthread_kill(serving.owner, SIGTERM);
    return NULL;
}

static int start_thread(void *(*run)(void *), struct nb_error *error)
{
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, run, NULL);
    if (rc != 0)
        return nb_error_errno(error, rc, "a thread");
    (void)pthread_detach(thread);
    return 0;
}

/* The main thread waits for signals, so smfi_main runs in a detached thread. */
int nb_milter_start(struct nb_error *error)
{
    serving.owner = pthread_self();
    int rc = start_thread(call_workers, error);
    return rc == 0 ? start_thread(listen_for_mail, error) : rc;
}

/* Waits until something changes, at most so long. The caller holds `lock`. */
static void wait_for_change(long milliseconds)
{
    struct timespec wake;
    (void)clock_gettime(CLOCK_REALTIME, &wake);
    wake.tv_nsec += milliseconds * 1000000;
    wake.tv_sec += wake.tv_nsec / 1000000000;
    wake.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&serving.change, &serving.lock, &wake);
}

/* Stops libmilter by a signal to the process: its own thread for signals takes it as soon as it
 * runs. smfi_stop would fail before smfi_main has set up its locks. libmilter then waits up to five
 * seconds for a lock that smfi_main holds until a connection comes. A restart must not take so
 * long: so connections are made until it has stopped. */
static void stop_listening(void)
{
    (void)kill(getpid(), SIGTERM);
    (void)pthread_mutex_lock(&serving.lock);
    while (!serving.is_closed) {
        knock();
        wait_for_change(KNOCK_MILLISECONDS);
    }
    (void)pthread_mutex_unlock(&serving.lock);
}

static bool is_time_over(uint64_t deadline)
{
    uint64_t now = nb_clock_monotonic();
    return now >= deadline ||
           (serving.checks == 0 && now >= serving.last_done + GRACE_SECONDS * UINT64_C(1000000000));
}

bool nb_milter_stop(uint64_t patience)
{
    uint64_t most = (patience + GRACE_SECONDS) * UINT64_C(1000000000);
    stop_listening();
    (void)pthread_mutex_lock(&serving.lock);
    serving.last_done = nb_clock_monotonic();
    uint64_t deadline = serving.last_done + most;
    while (serving.sessions > 0 && !is_time_over(deadline))
        wait_for_change(GRACE_SECONDS * 1000L);
    bool is_over = serving.sessions == 0;
    (void)pthread_mutex_unlock(&serving.lock);
    return is_over;
}
