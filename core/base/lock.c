/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "a read-write lock cannot be %s: %s\n", what, strerror(rc));
    abort();
}

/* Locks are held for a few microseconds, the pass over a document's features. A thread that sleeps
 * for one wakes up 15 us later, or more: so it tries again for about as long as a lock is held. */
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
