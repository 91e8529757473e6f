/* SPDX-License-Identifier: Apache-2.0
 *
 * How many verdicts the daemon gave during the last day, in slots of ten minutes: for the console.
 * Verdicts are counted in memory, by any thread; the writer stores the slots about every ten
 * minutes in a quiet moment, and at the end. A crash loses what was counted since.
 */
#ifndef NB_CORE_WRITER_TRAFFIC_H
#define NB_CORE_WRITER_TRAFFIC_H

#include "core/model/live/state.h"

enum { NB_TRAFFIC_SECONDS = 600 }; /* of a slot */

/* Counts one verdict. Any thread. */
void nb_traffic_count(struct nb_engine *engine);

/* Sets counts[i] to the verdicts of the slots of the last day, the oldest first; the last one is
 * still counted. Returns the time at which the first one begins, in milliseconds since 1970. Any
 * thread. */
int64_t nb_traffic_list(struct nb_engine *engine, uint32_t counts[NB_TRAFFIC_SLOTS]);

/* Takes the stored slots when a store is opened. Damaged ones are left out: no verdict depends on
 * them. */
void nb_traffic_read(struct nb_engine *engine, const struct nb_view *view);

/* Stores the slots if verdicts were counted and a slot has ended, or at the end (`now`). What fails
 * is tried again. The writer's. */
void nb_traffic_save(struct nb_engine *engine, bool now);

#endif
