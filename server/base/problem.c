/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/problem.h"

#include <inttypes.h>
#include <stdio.h>

/* Codes of errors with their statuses and, for programs, their names. */
static const struct {
    int code, status;
    const char *name;
} CODES[] = {
    {NB_OK, 200, "ok"},
    {NB_INVALID, 400, "invalid_request"},
    {NB_UNUSABLE, 422, "unusable_value"},
    {NB_TOO_LARGE, 413, "too_large"},
    {NB_NOT_FOUND, 404, "not_found"},
    {NB_CONFLICT, 409, "conflict"},
    {NB_EXISTS, 409, "already_exists"},
    {NB_UNSUPPORTED, 415, "unsupported"},
    {NB_NO_MEMORY, 503, "out_of_memory"},
    {NB_IO, 503, "io_error"},
    {NB_DISK_FULL, 503, "disk_full"},
    {NB_CORRUPT, 503, "store_damaged"},
    {NB_DAMAGED, 503, "model_damaged"},
    {NB_VERSION, 503, "newer_version"},
    {NB_LOCKED, 503, "locked"},
    {NB_STOPPING, 503, "unavailable"},
    {NB_BUSY, 429, "too_many_requests"},
    {NB_UNKNOWN, 401, "unauthorized"},
    {NB_FORBIDDEN, 403, "forbidden"},
    {NB_ELSEWHERE, 421, "elsewhere"},
};

int nb_json_status(int code)
{
    for (size_t i = 0; i < sizeof CODES / sizeof *CODES; i++)
        if (CODES[i].code == code)
            return CODES[i].status;
    return 500;
}

const char *nb_json_code(const struct nb_error *error)
{
    for (size_t i = 0; error->name == NULL && i < sizeof CODES / sizeof *CODES; i++)
        if (CODES[i].code == error->code)
            return CODES[i].name;
    return error->name != NULL ? error->name : "internal_error";
}

/* Statuses with their titles and, for problems that no error code stands behind, their names. */
static const struct {
    int status;
    const char *title, *name;
} STATUSES[] = {
    {200, "OK", "ok"},
    {201, "Created", "ok"},
    {204, "No Content", "ok"},
    {400, "Bad Request", "invalid_request"},
    {401, "Unauthorized", "unauthorized"},
    {403, "Forbidden", "forbidden"},
    {404, "Not Found", "not_found"},
    {405, "Method Not Allowed", "method_not_allowed"},
    {406, "Not Acceptable", "not_acceptable"},
    {408, "Request Timeout", "request_timeout"},
    {409, "Conflict", "conflict"},
    {411, "Length Required", "length_required"},
    {412, "Precondition Failed", "precondition_failed"},
    {413, "Content Too Large", "too_large"},
    {414, "URI Too Long", "uri_too_long"},
    {415, "Unsupported Media Type", "unsupported"},
    {417, "Expectation Failed", "expectation_failed"},
    {421, "Misdirected Request", "elsewhere"},
    {422, "Unprocessable Content", "unusable_value"},
    {429, "Too Many Requests", "too_many_requests"},
    {431, "Request Header Fields Too Large", "header_too_large"},
    {500, "Internal Server Error", "internal_error"},
    {501, "Not Implemented", "not_implemented"},
    {503, "Service Unavailable", "unavailable"},
    {505, "HTTP Version Not Supported", "http_version"},
};

/* Returns the index of a status; of one that is not listed, that of 400 or of 500. */
static size_t place_of(int status)
{
    size_t i = 0;
    while (i < sizeof STATUSES / sizeof *STATUSES && STATUSES[i].status != status)
        i++;
    return i < sizeof STATUSES / sizeof *STATUSES ? i : place_of(status < 500 ? 400 : 500);
}

const char *nb_json_title(int status)
{
    return STATUSES[place_of(status)].title;
}

const char *nb_json_status_code(int status)
{
    return STATUSES[place_of(status)].name;
}

void nb_emit_problem_members(struct nb_emitter *e, const struct nb_problem *problem)
{
    const char *title = nb_json_title(problem->status), *detail = problem->detail;
    char request[17];
    nb_emit_member_text(e, "type", "about:blank");
    nb_emit_member_text(e, "title", title);
    nb_emit_key(e, "status");
    nb_emit_i64(e, problem->status);
    nb_emit_member_text(e, "detail", detail == NULL || *detail == '\0' ? title : detail);
    nb_emit_member_text(
        e, "code", problem->code != NULL ? problem->code : nb_json_status_code(problem->status));
    if (problem->param != NULL && problem->param[0] != '\0')
        nb_emit_member_text(e, "param", problem->param);
    (void)snprintf(request, sizeof request, "%016" PRIx64, problem->request); /* 16 digits */
    if (problem->request != 0)
        nb_emit_member_text(e, "request_id", request);
}

int nb_json_problem(struct nb_buffer *out, const struct nb_problem *problem)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_problem_members(&e, problem);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

void nb_emit_problem(struct nb_emitter *e, const struct nb_error *error)
{
    const struct nb_problem problem = {.status = nb_json_status(error->code),
                                       .detail = error->text,
                                       .code = nb_json_code(error),
                                       .param = error->param};
    nb_emit_open(e, '{');
    nb_emit_problem_members(e, &problem);
    nb_emit_close(e, '}');
}

void nb_emit_error(struct nb_emitter *e, const struct nb_error *error)
{
    nb_emit_open(e, '{');
    nb_emit_key(e, "error");
    nb_emit_problem(e, error);
    nb_emit_close(e, '}');
}
