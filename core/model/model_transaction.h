/* SPDX-License-Identifier: Apache-2.0
 *
 * A transaction of the writer. It is repeated if the map had to grow, it is timed, and its result
 * is noted as the engine's health. A store that failed is opened again before the next one. On the
 * writer's thread.
 */
#ifndef NB_CORE_MODEL_MODEL_TRANSACTION_H
#define NB_CORE_MODEL_MODEL_TRANSACTION_H

#include "core/model/state.h"

/* The work of a transaction. It is called again if the transaction is repeated because the map was
 * full. So it must begin by undoing changes in memory from the previous call. */
typedef int nb_transaction_work(struct nb_engine *engine, struct nb_view *view, void *argument,
                                struct nb_error *error);

/* Runs `work` (NULL: nothing) in one transaction, which also writes the staged states of streams,
 * and commits it. `expected` is about how many bytes it writes. Numbers that a failed transaction
 * has assigned (serials) are free again. Returns 0, or a code with nothing changed in the store. */
int nb_transaction(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                   void *argument, struct nb_error *error);

/* 0, or the reason if the last transaction failed because of the disk. Any thread. */
int nb_transaction_health(struct nb_engine *engine, struct nb_error *error);

/* If the last transaction failed because of the disk, and the pause after it is over: tries one
 * that needs as much space as the failed one. So the engine recovers by itself. */
void nb_transaction_probe(struct nb_engine *engine);

/* Writes the state record of a model. */
int nb_put_state(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_state_record *state, struct nb_error *error);

#endif
