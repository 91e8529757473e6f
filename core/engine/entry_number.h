/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of changes in the stream that several nodes share, for who serves clients. Any thread.
 */
#ifndef NB_CORE_ENGINE_ENTRY_NUMBER_H
#define NB_CORE_ENGINE_ENTRY_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct nb_engine;

/* From now on *number is set to the place in the stream of each change that the calling thread
 * makes, waiting for it, on a node of several: in the end to that of the last one. NULL: no more.
 * The receipts of nb_engine_submit have theirs themselves. */
void nb_engine_collect_number(uint64_t *number);
/* Whether this node, which is one of several, has made the change of this number and all that are
 * before it in its stream. Sets *last to the number of the last one there that it has made. */
bool nb_engine_has_applied(const struct nb_engine *engine, uint64_t number, uint64_t *last);

#endif
