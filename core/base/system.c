/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/system.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/platform/platform.h"

static void require(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "a read-write lock cannot be %s: %s\n", what, strerror(rc));
    abort();
}

/* How often a thread tries to take a lock before it sleeps. Locks are held for a few microseconds,
 * during a pass over a document's features. A thread that sleeps wakes up 15 us later or more, so
 * it first tries again for about as long as a lock is held. */
enum { TRIES = 200 };

static inline void pause_a_moment(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

void nb_lock_read(pthread_rwlock_t *lock)
{
    for (int i = 0; i < TRIES; i++) {
        if (pthread_rwlock_tryrdlock(lock) == 0)
            return;
        pause_a_moment();
    }
    require(pthread_rwlock_rdlock(lock), "taken for reading");
}

void nb_lock_write(pthread_rwlock_t *lock)
{
    for (int i = 0; i < TRIES; i++) {
        if (pthread_rwlock_trywrlock(lock) == 0)
            return;
        pause_a_moment();
    }
    require(pthread_rwlock_wrlock(lock), "taken for writing");
}

void nb_lock_release(pthread_rwlock_t *lock)
{
    require(pthread_rwlock_unlock(lock), "released");
}

void nb_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool nb_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until)
{
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                          .tv_nsec = (long)(until % 1000000000u)};
    return pthread_cond_timedwait(condition, lock, &at) != ETIMEDOUT;
}

enum { MOST = 3 };

struct nb_helpers {
    const char *name;
    pthread_t threads[MOST]; /* used only by the caller, like the next two members */
    unsigned started;        /* number of threads */
    bool has_tried;          /* to start threads */
    pthread_mutex_t lock;    /* guards the members below */
    pthread_cond_t filled, finished;
    bool ends;
    nb_helpers_round *round;
    void *user;
    size_t count, next; /* number of rounds; the first round that no thread has taken */
    size_t done;        /* number of finished rounds */
};

struct nb_helpers *nb_helpers_new(const char *name)
{
    struct nb_helpers *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->name = name;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->filled, NULL);
    pthread_cond_init(&h->finished, NULL);
    return h;
}

void nb_helpers_free(struct nb_helpers **helpers)
{
    struct nb_helpers *h = *helpers;
    *helpers = NULL;
    if (h == NULL)
        return;
    pthread_mutex_lock(&h->lock);
    h->ends = true;
    pthread_cond_broadcast(&h->filled);
    pthread_mutex_unlock(&h->lock);
    for (unsigned i = 0; i < h->started; i++)
        pthread_join(h->threads[i], NULL);
    pthread_cond_destroy(&h->finished);
    pthread_cond_destroy(&h->filled);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Takes and runs rounds until all are taken. Called with the lock held; releases it during each
 * round. */
static void make_rounds(struct nb_helpers *h)
{
    while (h->next < h->count) {
        size_t i = h->next++;
        pthread_mutex_unlock(&h->lock);
        h->round(h->user, i);
        pthread_mutex_lock(&h->lock);
        if (++h->done == h->count)
            pthread_cond_signal(&h->finished);
    }
}

static void *helper_main(void *user)
{
    struct nb_helpers *h = user;
    pthread_mutex_lock(&h->lock);
    while (!h->ends) {
        if (h->next == h->count)
            pthread_cond_wait(&h->filled, &h->lock);
        make_rounds(h);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void start(struct nb_helpers *h)
{
    long others = sysconf(_SC_NPROCESSORS_ONLN) - 1;
    h->has_tried = true;
    while (h->started < MOST && (long)h->started < others &&
           pthread_create(&h->threads[h->started], NULL, helper_main, h) == 0)
        nb_platform_name_thread(h->threads[h->started++], h->name);
}

void nb_helpers_run(struct nb_helpers *h, size_t count, nb_helpers_round *round, void *user)
{
    if (h != NULL && !h->has_tried && count > 1)
        start(h);
    if (h == NULL || h->started == 0 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            round(user, i);
        return;
    }
    pthread_mutex_lock(&h->lock);
    assert(h->next == h->count && h->done == h->count);
    h->round = round;
    h->user = user;
    h->count = count;
    h->next = h->done = 0;
    pthread_cond_broadcast(&h->filled);
    make_rounds(h);
    while (h->done < h->count)
        pthread_cond_wait(&h->finished, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

int64_t nb_clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t nanoseconds_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t nb_clock_monotonic(void)
{
    return nanoseconds_by(CLOCK_MONOTONIC);
}

uint64_t nb_clock_coarse(void)
{
    return nanoseconds_by(CLOCK_MONOTONIC_COARSE);
}
