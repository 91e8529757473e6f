/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-write locks, and loops on several threads.
 *
 * A failure of a lock ends the process with the reason on stderr: it is a mistake in the
 * program (the thread has the lock already), and no later result would be reliable. Any thread.
 */
#ifndef NB_CORE_BASE_THREADS_H
#define NB_CORE_BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

struct nb_helpers;

void nb_lock_read(pthread_rwlock_t *lock);
void nb_lock_write(pthread_rwlock_t *lock);
/* Releases a lock for reading or for writing. */
void nb_lock_release(pthread_rwlock_t *lock);

/* Helpers run a loop whose rounds are made on several threads: for work of some tens of
 * microseconds a round, of which rounds need nothing of each other.
 *
 * Threads: a set of helpers is used by one thread at a time; the rounds run on that thread and on
 * the helpers' own. */
/* One round of a loop: number `i`. */
typedef void nb_helpers_round(void *user, size_t i);

/* Helpers that have no thread yet. The first loop starts one for each processor but the caller's,
 * at most three; `name` (borrowed, up to 15 bytes) is what these threads are called. NULL: out of
 * memory. */
struct nb_helpers *nb_helpers_new(const char *name);
/* Ends the threads. NULL is allowed. */
void nb_helpers_free(struct nb_helpers **helpers);

/* Calls `round` for each number below `count`, in no order, and returns when all calls have. If no
 * thread starts, or with NULL for helpers, all run on the caller's. */
void nb_helpers_run(struct nb_helpers *helpers, size_t count, nb_helpers_round *round, void *user);

#endif
