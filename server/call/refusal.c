/* SPDX-License-Identifier: Apache-2.0 */
#include "server/call/refusal.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "server/call/code.h"

static int code_of(long status)
{
    switch (status) {
    case 401:
    case 403:
        return NB_CALL_FORBIDDEN;
    case 404:
        return NB_NOT_FOUND;
    case 409:
        return NB_CONFLICT;
    case 413:
        return NB_TOO_LARGE;
    case 415:
        return NB_UNSUPPORTED;
    case 422:
        return NB_UNUSABLE;
    case 429:
    case 503:
        return NB_CALL_BUSY;
    default:
        return status >= 400 && status < 500 ? NB_INVALID : NB_CALL_PROTOCOL;
    }
}

/* Returns whether the model is damaged. The status is 503, as for a busy daemon, but asking again
 * does not help. Only the text of the problem tells the two apart: "the model 'NAME' is damaged
 * (...". */
static bool is_damaged(long status, const char *detail)
{
    return status == 503 && detail != NULL && strncmp(detail, "the model '", 11) == 0 &&
           strstr(detail, "' is damaged (") != NULL;
}

int nb_refusal_read(long status, struct nb_string body, const char *url, struct nb_error *error)
{
    json_t *problem = json_loadb(body.bytes != NULL ? body.bytes : "", body.length, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    if (detail == NULL) /* errors of rspamd's protocol */
        detail = json_string_value(json_object_get(problem, "error"));
    int code = is_damaged(status, detail) ? NB_DAMAGED : code_of(status);
    if (detail != NULL) {
        (void)nb_error_set(error, code, "%s", detail);
    } else {
        /* A server that is not bayesd and does not know the path says nothing about the model. */
        if (code == NB_NOT_FOUND)
            code = NB_CALL_PROTOCOL;
        (void)nb_error_set(error, code, "%.80s answers %ld, and not as bayesd would", url, status);
    }
    json_decref(problem);
    return code;
}
