/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the streams that a store keeps unchanged, ordered by number. The trace has the last
 * messages that were applied, numbered by position, so that nodes can restore messages that the
 * database loses (server/nodes/stream.c). The queue has the waiting ones (core/nodes/queue.h).
 * Parts of imports wait for the last one (core/archive/dump/parts.h). On the writer's thread; any
 * thread may read.
 *
 * Stored form, in META under "trace", "queue" or "parts", a byte of the stream and the number (8
 * bytes, big-endian): the checksum, 8 bytes; the id, a string; the message.
 */
#ifndef NB_CORE_MODEL_LIVE_MESSAGES_H
#define NB_CORE_MODEL_LIVE_MESSAGES_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/model/live/relayed.h"

struct nb_engine;
struct nb_view;

enum nb_kept { NB_KEPT_TRACE, NB_KEPT_QUEUE, NB_KEPT_PART };

/* The checksum of a message and its id. */
uint64_t nb_message_checksum(struct nb_string id, struct nb_string message);

/* Both return 0 or a code of the store. */
int nb_message_put(const struct nb_view *view, enum nb_kept where, unsigned stream,
                   const struct nb_traced *one, struct nb_error *error);
int nb_message_delete(const struct nb_view *view, enum nb_kept where, unsigned stream,
                      uint64_t number, struct nb_error *error);
/* Deletes the first messages, `most` of them. */
int nb_message_drop(const struct nb_view *view, enum nb_kept where, unsigned stream, size_t most,
                    struct nb_error *error);

/* Calls `visit` with each message from the number `from` on, in order. Stops when `visit` returns
 * non-zero, and returns that; else 0, NB_CORRUPT or a code of the store. */
typedef int nb_message_visit(void *user, const struct nb_traced *one, struct nb_error *error);
int nb_message_walk(const struct nb_view *view, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error);
/* As nb_message_walk, in a snapshot of its own. */
int nb_message_scan(struct nb_engine *engine, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error);

#endif
