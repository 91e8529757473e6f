/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-write locks. A failure ends the process with the reason on stderr: it is a mistake in the
 * program (the thread has the lock already), and no later result would be reliable. Any thread.
 */
#ifndef NB_CORE_BASE_LOCK_H
#define NB_CORE_BASE_LOCK_H

#include <pthread.h>

void nb_lock_read(pthread_rwlock_t *lock);
void nb_lock_write(pthread_rwlock_t *lock);
/* Releases a lock for reading or for writing. */
void nb_lock_release(pthread_rwlock_t *lock);

#endif
