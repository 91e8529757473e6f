/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-write locks whose failure ends the process, with the reason on stderr: it is a mistake in
 * the program (the thread has the lock already), and nothing that follows could be right. Any
 * thread.
 */
#ifndef NB_CORE_BASE_LOCK_H
#define NB_CORE_BASE_LOCK_H

#include <pthread.h>

void nb_lock_read(pthread_rwlock_t *lock);
void nb_lock_write(pthread_rwlock_t *lock);
/* Either of them. */
void nb_lock_release(pthread_rwlock_t *lock);

#endif
