/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing what was noted for histories at once, for those who look at it. Any thread.
 */
#ifndef NB_CORE_JOBS_HISTORY_WRITE_H
#define NB_CORE_JOBS_HISTORY_WRITE_H

#include "core/engine/engine.h"

/* Writes what waits to be written for histories, and waits for the disk. Returns 0 or a code. */
int nb_engine_history_write(struct nb_engine *engine, struct nb_error *error);

#endif
