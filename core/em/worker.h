/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that fits models with documents without a label (unlabelled.h), one after the other,
 * when a fit is due. It sleeps while no model asks for a fit.
 */
#ifndef NB_CORE_EM_WORKER_H
#define NB_CORE_EM_WORKER_H

#include "core/model/live/state.h"

/* Starts the thread. Returns 0, NB_NO_MEMORY, or the code of pthread_create's errno. */
int nb_refining_start(struct nb_engine *engine, struct nb_error *error);
/* Ends the fit that is under way, and waits for the end of the thread. Does nothing if the thread
 * was not started.
 */
void nb_refining_stop(struct nb_engine *engine);

#endif
