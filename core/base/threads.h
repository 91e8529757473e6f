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

/* Helpers run the rounds of a loop on several threads. The rounds must be independent, and should
 * take some tens of microseconds each.
 *
 * Threads: a set of helpers is used by one thread at a time; the rounds run on that thread and on
 * the helpers' own threads. */
/* Runs round number `i` of a loop. */
typedef void nb_helpers_round(void *user, size_t i);

/* Makes helpers without threads. The first loop starts a thread for each processor but the
 * caller's, at most three. The threads get the name `name` (borrowed, up to 15 bytes). NULL: out of
 * memory.
 */
struct nb_helpers *nb_helpers_new(const char *name);
/* Ends the threads. NULL is allowed. */
void nb_helpers_free(struct nb_helpers **helpers);

/* Calls `round` for each number below `count`, in any order, and returns after all calls have
 * returned. If no thread can start, or `helpers` is NULL, all rounds run on the caller's thread. */
void nb_helpers_run(struct nb_helpers *helpers, size_t count, nb_helpers_round *round, void *user);

#endif
