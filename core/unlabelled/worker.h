/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that fits models whose documents without a label count (unlabelled.h), one after the
 * other, as they need it. It sleeps while no model has such documents.
 */
#ifndef NB_CORE_UNLABELLED_WORKER_H
#define NB_CORE_UNLABELLED_WORKER_H

#include "core/live/state.h"

/* Returns 0 or a code. */
int nb_refining_start(struct nb_engine *engine, struct nb_error *error);
/* Breaks off what is under way, and waits for the thread's end. Does nothing if it was not started.
 */
void nb_refining_stop(struct nb_engine *engine);

#endif
