/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's thread: takes batches and tasks from the queue in the order of their arrival. It
 * commits batches in groups, runs tasks (settings, imports, deletions), and saves checkpoints in
 * quiet moments. nb_engine_submit (core/engine/engine.h) queues batches. Any thread, unless a
 * comment says otherwise.
 */
#ifndef NB_CORE_ENGINE_WRITER_H
#define NB_CORE_ENGINE_WRITER_H

#include "core/model/model_transaction.h"
#include "core/model/state.h"

/* Starts the thread. Returns 0 or NB_IO. */
int nb_writer_start(struct nb_engine *engine, struct nb_error *error);
/* Finishes the work in the queue and ends the thread. Later submissions are refused with
 * NB_STOPPING. */
void nb_writer_stop(struct nb_engine *engine);
/* Runs `task` with `argument` on the writer's thread, in its turn, and waits for it. Returns the
 * task's result, or NB_STOPPING if the engine closes and the task was not run. Not from the
 * writer's thread. */
int nb_writer_run(struct nb_engine *engine,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  void *argument, struct nb_error *error);
/* Runs a transaction (nb_transaction) as such a task. */
int nb_writer_transact(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                       void *argument, struct nb_error *error);
/* As nb_writer_run, for a task that is only a part of an operation from the stream
 * (core/model/relayed.h). The place in the stream is not stored, so that after a crash the
 * whole operation is done again. */
int nb_writer_run_ahead(struct nb_engine *engine,
                        int (*task)(struct nb_engine *engine, void *argument,
                                    struct nb_error *error),
                        void *argument, struct nb_error *error);

#endif
