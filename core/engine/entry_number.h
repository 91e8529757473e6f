/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of changes in the stream that several nodes share, for the code that serves clients. Any
 * thread.
 */
#ifndef NB_CORE_ENGINE_ENTRY_NUMBER_H
#define NB_CORE_ENGINE_ENTRY_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct nb_engine;

/* From now on, on a node of several, each change that the calling thread makes and waits for sets
 * *number to its place in the stream; at the end it is the place of the last one. NULL ends this.
 * Receipts of nb_engine_submit carry their own places. */
void nb_engine_collect_number(uint64_t *number);
/* Whether this node, which is one of several, has made the change with this number and all changes
 * before it in its stream. Sets *last to the number of the last change of the stream that the node
 * has made. */
bool nb_engine_has_applied(const struct nb_engine *engine, uint64_t number, uint64_t *last);

#endif
