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

void nb_lock_read(pthread_rwlock_t *lock)
{
    require(pthread_rwlock_rdlock(lock), "taken for reading");
}

void nb_lock_write(pthread_rwlock_t *lock)
{
    require(pthread_rwlock_wrlock(lock), "taken for writing");
}

void nb_lock_release(pthread_rwlock_t *lock)
{
    require(pthread_rwlock_unlock(lock), "released");
}
