/* SPDX-License-Identifier: Apache-2.0
 *
 * The last messages of the streams that a store has made, as they came: the trace of a node. Where
 * the database that has the streams loses its end, the nodes put it back from there
 * (server/nodes/place.c). A message lies there from the transaction on that makes it, until the
 * stream's trace has more than NB_TRACE_BYTES. Any thread reads it; the writer's writes it.
 *
 * Stored form, in META under "trace", a byte of the stream and the position (8 bytes, big-endian):
 * what the trace was given before, a varint; the checksum, 8 bytes; the id, a string; the message.
 */
#ifndef NB_CORE_MODEL_LIVE_TRACE_H
#define NB_CORE_MODEL_LIVE_TRACE_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_engine;
struct nb_stream_place;
struct nb_traced;
struct nb_view;

enum { NB_TRACE_BYTES = 64 << 20 };

/* Of a message and its id. */
uint64_t nb_trace_checksum(struct nb_string id, struct nb_string message);

/* Writes what is staged of a place, and drops what is too old. Returns 0 or a code of the store. */
int nb_trace_write(const struct nb_stream_place *place, unsigned stream, const struct nb_view *view,
                   struct nb_error *error);

/* Calls `visit` with each message from the position on, in order, until it returns non-zero.
 * Returns that, 0, NB_CORRUPT or a code of the store. */
typedef int nb_trace_visit(void *user, const struct nb_traced *one, struct nb_error *error);
int nb_trace_scan(struct nb_engine *engine, unsigned stream, uint64_t from, nb_trace_visit *visit,
                  void *user, struct nb_error *error);

#endif
