/* SPDX-License-Identifier: Apache-2.0
 *
 * Moments in JSON, RFC 3339 (section 5.6), stored as milliseconds since 1970; and lines of the log
 * as JSON. Pure functions; any thread.
 */
#ifndef NB_SERVER_BASE_TIME_H
#define NB_SERVER_BASE_TIME_H

#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/base/log.h"

struct nb_emitter;

enum { NB_JSON_TIME_BYTES = 96 }; /* seven ints at their longest */

/* Writes a moment in UTC, with milliseconds; the empty text if its year does not fit an int. */
void nb_json_format_time(int64_t milliseconds, char text[NB_JSON_TIME_BYTES]);

/* Writes a moment as a member of an object (emit.h). */
void nb_emit_member_time(struct nb_emitter *e, const char *key, int64_t milliseconds);

/* Reads a moment ("2026-05-01T12:00:00Z", with a fraction and an offset if it has them), or a day
 * ("2026-05-01": its beginning in UTC), from 1970 on. `member` is named in the error. Returns 0 or
 * NB_INVALID. */
int nb_json_read_time(struct nb_string text, const char *member, int64_t *milliseconds,
                      struct nb_error *error);

/* Writes a line of the log, as an nb_log_form (log.h): {"time": RFC 3339, "level": "info",
 * "message": what, "model": ...}. All bytes are visible ASCII; bytes that are not UTF-8 become
 * U+FFFD. */
int nb_json_log_line(struct nb_buffer *out, const char *level, const char *what,
                     const struct nb_log_field *fields, size_t count);

#endif
