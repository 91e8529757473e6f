/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's thread: takes everything that waits, in the order in which it came, and commits it
 * in groups; runs tasks (settings, imports, deletions); uses quiet moments for checkpoints. Batches
 * are handed to it by nb_engine_submit (core/engine/engine.h). Any thread, except where it says so.
 */
#ifndef NB_CORE_ENGINE_WRITER_H
#define NB_CORE_ENGINE_WRITER_H

#include "core/live/state.h"

int nb_writer_start(struct nb_engine *engine, struct nb_error *error);
/* Finishes what waits and ends the thread. What is submitted later is refused. */
void nb_writer_stop(struct nb_engine *engine);
/* Runs `task` on the writer's thread and waits for it. NB_STOPPING: the engine closes. */
int nb_writer_run(struct nb_engine *engine,
                  int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                  void *argument, struct nb_error *error);

#endif
