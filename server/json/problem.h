/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures as JSON, and the HTTP status of an error code. Pure functions; any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_JSON_PROBLEM_H
#define NB_SERVER_JSON_PROBLEM_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/json/emit.h"

/* The HTTP status of an engine's or codec's code (enum nb_code), the one place that says so:
 * 400 INVALID; 422 UNUSABLE; 413 TOO_LARGE; 404 NOT_FOUND; 409 CONFLICT and EXISTS;
 * 415 UNSUPPORTED; 401 UNKNOWN; 403 FORBIDDEN; 421 ELSEWHERE; 429 BUSY; 503 for IO, DISK_FULL,
 * CORRUPT, VERSION, LOCKED, STOPPING, NO_MEMORY, DAMAGED. 0 gives 200; a code that is none of them
 * 500. */
int nb_json_status(int code);

/* The reason phrase of a status (RFC 9110), the `title` of its problem: "Not Found". */
const char *nb_json_title(int status);

/* {"type": "about:blank", "title", "status", "detail"} (RFC 9457: with about:blank the title is the
 * status's own phrase). `detail` need not be UTF-8; when NULL or empty it is the title. */
int nb_json_problem(struct nb_buffer *out, int status, const char *detail);

/* The problem of a failure: the status of `error->code` and its text. */
int nb_json_problem_of(struct nb_buffer *out, const struct nb_error *error);

/* The members of a problem, without braces, for one that has more. */
void nb_emit_problem_members(struct nb_emitter *e, int status, const char *detail);
/* The problem alone, and in such an object. */
void nb_emit_problem(struct nb_emitter *e, const struct nb_error *error);
void nb_emit_error(struct nb_emitter *e, const struct nb_error *error);

#endif
