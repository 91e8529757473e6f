/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the changes that nodes had queued (core/nodes/queue.h) the store has: of each outbox
 * the number of the entry that was made last, of each stream for itself, in the transaction that
 * makes it. So one that is published twice, however long after, is made once, by all nodes alike.
 *
 * Stored form, in META under "outbox", the outbox's identity, 8 bytes, and a byte of the stream:
 * the number of the entry and its position in the stream, varints.
 */
#ifndef NB_CORE_MODEL_LIVE_ONCE_H
#define NB_CORE_MODEL_LIVE_ONCE_H

#include <stdint.h>

#include "core/base/error.h"

struct nb_relayed;
struct nb_view;

/* Notes the change as made, if it was queued. NB_EXISTS: it, or a later one of its outbox, was made
 * at another position. Other codes: of the store. On the writer's thread. */
int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error);

#endif
