/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter_judge.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "server/mail/filter.h"
#include "server/mail/filter_load.h"
#include "server/request/request.h"
#include "server/request/verdict.h"

int nb_filter_judge(struct nb_request *request, double required, double threshold,
                    struct nb_filter_report *report, struct nb_buffer *each, struct nb_error *error)
{
    uint64_t start = nb_clock_monotonic();
    struct nb_string *users;
    size_t count;
    int rc = nb_filter_users(request, &users, &count, error);
    if (rc == 0)
        rc = nb_filter_check(request->server, request->config, request->grant.models,
                             nb_filter_mail(request->body), users, count, report, each, error);
    free(users);
    if (rc != 0 || !nb_verdict_log_wants(request))
        return rc;
    nb_verdict_log(request, &(struct nb_verdict_note){
                                .message_id = nb_string_of(report->message_id),
                                .model = nb_string_of(report->model),
                                .verdict = nb_string_of(report->status),
                                .probability = report->probability,
                                .score = nb_filter_score(report->log_odds, required, threshold),
                                .action = nb_string_of(nb_filter_action_name(report->action)),
                                .nanoseconds = nb_clock_monotonic() - start,
                            });
    return 0;
}
