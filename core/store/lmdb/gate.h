/* SPDX-License-Identifier: Apache-2.0
 *
 * A gate that many threads pass at a time, and that one thread can close to be alone behind it.
 * Closing has priority: while the closing thread waits, no other thread passes, so that a stream of
 * threads cannot keep it waiting. Any thread.
 */
#ifndef NB_CORE_STORE_LMDB_GATE_H
#define NB_CORE_STORE_LMDB_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct nb_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned inside;
    atomic_bool closed; /* written under `lock` */
};

void nb_gate_init(struct nb_gate *gate);
/* Nobody is inside. */
void nb_gate_deinit(struct nb_gate *gate);

/* Passes the gate; waits at most `seconds` for it to open. Returns false if it stays closed. */
bool nb_gate_pass(struct nb_gate *gate, unsigned seconds);
void nb_gate_leave(struct nb_gate *gate);

/* Closes the gate and waits at most `seconds` until nobody is inside. Returns false if somebody
 * stays inside: then the gate is open again. One thread at a time. */
bool nb_gate_close(struct nb_gate *gate, unsigned seconds);
void nb_gate_open(struct nb_gate *gate);

/* Whether someone waits for those inside to leave. */
static inline bool nb_gate_is_closed(const struct nb_gate *gate)
{
    return atomic_load_explicit(&gate->closed, memory_order_relaxed);
}

#endif
