/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/problem.h"

int nb_json_status(int code)
{
    static const struct {
        int code, status;
    } table[] = {
        {NB_OK, 200},        {NB_INVALID, 400},  {NB_UNUSABLE, 422},  {NB_TOO_LARGE, 413},
        {NB_NOT_FOUND, 404}, {NB_CONFLICT, 409}, {NB_EXISTS, 409},    {NB_UNSUPPORTED, 415},
        {NB_NO_MEMORY, 503}, {NB_IO, 503},       {NB_DISK_FULL, 503}, {NB_CORRUPT, 503},
        {NB_DAMAGED, 503},   {NB_VERSION, 503},  {NB_LOCKED, 503},    {NB_STOPPING, 503},
        {NB_BUSY, 429},      {NB_UNKNOWN, 401},  {NB_FORBIDDEN, 403}, {NB_ELSEWHERE, 421},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code)
            return table[i].status;
    return 500;
}

const char *nb_json_title(int status)
{
    static const struct {
        int status;
        const char *title;
    } table[] = {
        {200, "OK"},
        {201, "Created"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].status == status)
            return table[i].title;
    return status < 500 ? "Bad Request" : "Internal Server Error";
}

void nb_emit_problem_members(struct nb_emitter *e, int status, const char *detail)
{
    const char *title = nb_json_title(status);
    nb_emit_member_text(e, "type", "about:blank");
    nb_emit_member_text(e, "title", title);
    nb_emit_key(e, "status");
    nb_emit_i64(e, status);
    nb_emit_member_text(e, "detail", detail == NULL || *detail == '\0' ? title : detail);
}

static void emit_problem(struct nb_emitter *e, int status, const char *detail)
{
    nb_emit_open(e, '{');
    nb_emit_problem_members(e, status, detail);
    nb_emit_close(e, '}');
}

int nb_json_problem(struct nb_buffer *out, int status, const char *detail)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_problem(&e, status, detail);
    return nb_emit_end(&e);
}

void nb_emit_problem(struct nb_emitter *e, const struct nb_error *error)
{
    emit_problem(e, nb_json_status(error->code), error->text);
}

void nb_emit_error(struct nb_emitter *e, const struct nb_error *error)
{
    nb_emit_open(e, '{');
    nb_emit_key(e, "error");
    nb_emit_problem(e, error);
    nb_emit_close(e, '}');
}
