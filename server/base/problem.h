/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures as JSON, and the HTTP status of an error code. Pure functions; any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_BASE_PROBLEM_H
#define NB_SERVER_BASE_PROBLEM_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/base/emit.h"

/* Returns the HTTP status of an error code (enum nb_code); the only place that defines it:
 * 400 INVALID; 422 UNUSABLE; 413 TOO_LARGE; 404 NOT_FOUND; 409 CONFLICT and EXISTS;
 * 415 UNSUPPORTED; 401 UNKNOWN; 403 FORBIDDEN; 421 ELSEWHERE; 429 BUSY; 503 for IO, DISK_FULL,
 * CORRUPT, VERSION, LOCKED, STOPPING, NO_MEMORY, DAMAGED. 0 gives 200; any other code
 * gives 500. */
int nb_json_status(int code);

/* Returns the reason phrase of a status (RFC 9110), the `title` of its problem: "Not Found". */
const char *nb_json_title(int status);

/* What a problem says. */
struct nb_problem {
    int status;
    const char *detail; /* need not be UTF-8; NULL or empty: the title */
    const char *code;   /* for programs; NULL: that of the status */
    const char *param;  /* the parameter or member at fault; NULL or "": none */
    uint64_t request;   /* number of the request, in the log, too; 0: none */
};

/* Returns the code of an error for programs: its own name, or that of its code ("disk_full"). The
 * codes are part of the API (server/HTTP.md lists them): they are never renamed. */
const char *nb_json_code(const struct nb_error *error);

/* Returns the code of a status, for errors without one of their own ("unavailable" of 503). */
const char *nb_json_status_code(int status);

/* Writes {"type": "about:blank", "title", "status", "detail", "code", "param", "request_id"} (RFC
 * 9457: with about:blank the title is the phrase of the status). */
int nb_json_problem(struct nb_buffer *out, const struct nb_problem *problem);

/* Writes the members of a problem, without braces, for a problem that has further members. */
void nb_emit_problem_members(struct nb_emitter *e, const struct nb_problem *problem);
/* The first writes a problem; the second an object with a problem as its member "error". */
void nb_emit_problem(struct nb_emitter *e, const struct nb_error *error);
void nb_emit_error(struct nb_emitter *e, const struct nb_error *error);

#endif
