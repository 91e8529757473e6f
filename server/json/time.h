/* SPDX-License-Identifier: Apache-2.0
 *
 * Moments as JSON has them: RFC 3339 (section 5.6), stored as milliseconds since 1970. Pure
 * functions; any thread.
 */
#ifndef NB_SERVER_JSON_TIME_H
#define NB_SERVER_JSON_TIME_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

enum { NB_JSON_TIME_BYTES = 96 }; /* seven ints at their longest */

/* In UTC, with milliseconds. A moment whose year does not fit an int is the empty text. */
void nb_json_format_time(int64_t milliseconds, char text[NB_JSON_TIME_BYTES]);

struct nb_emitter;
/* Writes the moment as a member of an object (emit.h). */
void nb_emit_member_time(struct nb_emitter *e, const char *key, int64_t milliseconds);

/* Reads a moment ("2026-05-01T12:00:00Z", with a fraction and an offset if it has them), or a day
 * ("2026-05-01": its beginning in UTC), from 1970 on. `member` is named in the error. Returns 0 or
 * NB_INVALID. */
int nb_json_read_time(struct nb_string text, const char *member, int64_t *milliseconds,
                      struct nb_error *error);

#endif
