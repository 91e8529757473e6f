/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_reply.h"

#include <math.h>

#include "server/mail/filter.h"
#include "server/request/answer.h"

double nb_line_score(double log_odds, double required, double threshold, bool is_over,
                     unsigned digits)
{
    double step = pow(10, -(double)digits);
    double score = round(nb_filter_score(log_odds, required, threshold) / step) * step;
    if (is_over)
        return fmax(score, required);
    /* The largest number of so few digits that is below. */
    return fmin(score, ceil(required / step - 1e-6) * step - step) + 0.0; /* no -0.0 */
}

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
