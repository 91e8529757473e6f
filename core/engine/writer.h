/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's thread: takes everything that waits, in the order in which it came, and commits it
 * in groups; runs tasks (settings, imports, deletions); uses quiet moments for checkpoints. Batches
 * are handed to it by nb_engine_submit (core/engine/engine.h). Any thread, except where it says so.
 */
#ifndef NB_CORE_ENGINE_WRITER_H
#define NB_CORE_ENGINE_WRITER_H

#include "core/model/live/state.h"

/* Starts the thread. Returns 0 or NB_IO. */
int nb_writer_start(struct nb_engine *engine, struct nb_error *error);
/* Finishes what waits and ends the thread. What is submitted later is refused with NB_STOPPING. */
void nb_writer_stop(struct nb_engine *engine);
/* Runs `task` with `argument` on the writer's thread, in its turn, and waits for it. Returns what
 * it returns, or NB_STOPPING: the engine closes and the task was not run. Not from the writer's
 * thread.
 */
int nb_writer_run(struct nb_engine *engine,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  void *argument, struct nb_error *error);
/* The same for a part of what comes from the stream (core/model/live/relay.h) and is not done with
 * it: the place there is not stored, so that after a crash all of it is done again. */
int nb_writer_run_ahead(struct nb_engine *engine,
                        int (*task)(struct nb_engine *engine, void *argument,
                                    struct nb_error *error),
                        void *argument, struct nb_error *error);

#endif
