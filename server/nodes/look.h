/* SPDX-License-Identifier: Apache-2.0
 *
 * Others ask the reader of a lane to look at the stream. For server/nodes alone.
 */
#ifndef NB_SERVER_NODES_LOOK_H
#define NB_SERVER_NODES_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_lane;

/* Something is in the stream, or is asked for. Any thread. */
void nb_look_wake(struct nb_lane *lane);
/* As `look` of nb_replica_settings; `user` is the struct nb_lane. Any thread but the reader's. */
int nb_look_ask(void *user, uint64_t *last, struct nb_error *error);
/* As `is_there` of nb_replica_settings. Any thread. */
bool nb_look_is_there(void *user, uint64_t *last);

/* What was asked so far, before the reader looks; and that it has looked. The reader. */
uint64_t nb_look_asked(struct nb_lane *lane);
void nb_look_answer(struct nb_lane *lane, uint64_t asked);

#endif
