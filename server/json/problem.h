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

/* Returns the HTTP status of an error code (enum nb_code); the only place that defines it:
 * 400 INVALID; 422 UNUSABLE; 413 TOO_LARGE; 404 NOT_FOUND; 409 CONFLICT and EXISTS;
 * 415 UNSUPPORTED; 401 UNKNOWN; 403 FORBIDDEN; 421 ELSEWHERE; 429 BUSY; 503 for IO, DISK_FULL,
 * CORRUPT, VERSION, LOCKED, STOPPING, NO_MEMORY, DAMAGED. 0 gives 200; any other code
 * gives 500. */
int nb_json_status(int code);

/* Returns the reason phrase of a status (RFC 9110), the `title` of its problem: "Not Found". */
const char *nb_json_title(int status);

/* Writes {"type": "about:blank", "title", "status", "detail"} (RFC 9457: with about:blank the title
 * is the phrase of the status). `detail` need not be UTF-8; NULL or empty stands for the title. */
int nb_json_problem(struct nb_buffer *out, int status, const char *detail);

/* Writes the members of a problem, without braces, for a problem that has further members. */
void nb_emit_problem_members(struct nb_emitter *e, int status, const char *detail);
/* The first writes a problem; the second an object with a problem as its member "error". */
void nb_emit_problem(struct nb_emitter *e, const struct nb_error *error);
void nb_emit_error(struct nb_emitter *e, const struct nb_error *error);

#endif
