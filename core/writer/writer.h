/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's thread: takes batches and tasks from the queue in the order of their arrival. It
 * commits batches in groups, runs tasks (settings, imports, deletions), and saves checkpoints in
 * quiet moments. Any thread, unless a comment says otherwise.
 */
#ifndef NB_CORE_WRITER_WRITER_H
#define NB_CORE_WRITER_WRITER_H

#include "core/model/model_transaction.h"
#include "core/model/state.h"
#include "core/writer/batch.h"

/* Hands the batch to the writer; it must not be touched until `done` was called, and stays the
 * caller's to free. `done` is always called (with NB_STOPPING if the engine is closing). */
void nb_engine_submit(struct nb_engine *engine, struct nb_batch *batch, nb_batch_done *done,
                      void *user);
/* The same, but waits until the batch is done. For tests and tools. */
void nb_engine_apply(struct nb_engine *engine, struct nb_batch *batch);

/* ---- places of changes in the stream that several nodes share -------------------------------- */

/* From now on, on a node of several, each change that the calling thread makes and waits for sets
 * *number to its place in the stream; at the end it is the place of the last one. NULL ends this.
 * Receipts of nb_engine_submit carry their own places. */
void nb_engine_collect_number(uint64_t *number);
/* Whether this node, which is one of several, has made the change with this number and all changes
 * before it in its stream. Sets *last to the number of the last change of the stream that the node
 * has made. */
bool nb_engine_has_applied(const struct nb_engine *engine, uint64_t number, uint64_t *last);

/* ---- for core alone -------------------------------------------------------------------------- */

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
