/* SPDX-License-Identifier: Apache-2.0
 *
 * What bayesd asks of the system: locks, threads, the time. Any thread.
 */
#ifndef NB_CORE_BASE_SYSTEM_H
#define NB_CORE_BASE_SYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nb_helpers;

/* ---- locks and threads ----------------------------------------------------------------------- */

/* Read-write locks, and loops on several threads.
 *
 * A failure of a lock ends the process with the reason on stderr: it is a mistake in the
 * program (the thread has the lock already), and no later result would be reliable. Any thread. */

void nb_lock_read(pthread_rwlock_t *lock);
void nb_lock_write(pthread_rwlock_t *lock);
/* Releases a lock for reading or for writing. */
void nb_lock_release(pthread_rwlock_t *lock);

/* Makes a condition whose waits end by nb_clock_monotonic. */
void nb_condition_init(pthread_cond_t *condition);
/* Waits until the condition is signalled; the lock is released meanwhile. May return early. Returns
 * whether it is still before `until`, a time of nb_clock_monotonic. */
bool nb_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until);

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

/* ---- time ------------------------------------------------------------------------------------ */

/* The time of day, and a clock for durations. Any thread. */

/* Milliseconds since 1970-01-01 00:00 UTC. */
int64_t nb_clock_now(void);

/* Nanoseconds since a fixed moment; never goes back. For durations. */
uint64_t nb_clock_monotonic(void);

/* Like nb_clock_monotonic, but takes a fifth of the time and may be some milliseconds behind (the
 * kernel's last tick). For durations of seconds. */
uint64_t nb_clock_coarse(void);

#endif
