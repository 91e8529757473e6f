/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_reply.h"

#include "server/request/answer.h"

const struct nb_line_failure *nb_line_failure_of(unsigned status)
{
    static const struct nb_line_failure protocol = {76, "EX_PROTOCOL", "Bad header line"},
                                        data = {65, "EX_DATAERR", "Data Error"},
                                        temporary = {69, "EX_UNAVAILABLE", "Service Unavailable"},
                                        denied = {77, "EX_NOPERM", "Permission Denied"};
    switch (status) {
    case 400:
        return &protocol;
    case 401:
    case 403:
        return &denied;
    case 413:
    case 415:
    case 422:
        return &data;
    default:
        return &temporary;
    }
}

int nb_line_reply(struct nb_request *request)
{
    return nb_reply_with(request, 200, "text/plain");
}
