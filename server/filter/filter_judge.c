/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_judge.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "server/base/metrics.h"
#include "server/filter/filter.h"
#include "server/filter/filter_load.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/request_verdict.h"
#include "server/request/server.h"

/* The recipient, if there is one alone. */
static struct nb_string only_recipient(const struct nb_request *request, const char *field)
{
    size_t at = 0;
    struct nb_string first = request->carrier->next_field(request, field, &at), none = {"", 0};
    if (first.bytes == NULL || memchr(first.bytes, ',', first.length) != NULL)
        return none;
    return request->carrier->next_field(request, field, &at).bytes == NULL ? first : none;
}

struct nb_envelope nb_filter_envelope(const struct nb_request *request)
{
    const char *recipient_field = request->route->protocol->recipient_field;
    if (recipient_field == NULL)
        return (struct nb_envelope){.address = {NULL, 0}};
    return (struct nb_envelope){.address = nb_request_field(request, "IP"),
                                .helo = nb_request_field(request, "Helo"),
                                .sender = nb_request_field(request, "From"),
                                .recipient = only_recipient(request, recipient_field)};
}

/* Of users with models of their own; one who cannot name one is asked for by nobody's name. */
static void count_users(const struct nb_request *request, const struct nb_string *users,
                        size_t count)
{
    const struct nb_config *config = request->config;
    char model[NB_FILTER_MODEL];
    for (size_t i = 0; i < count; i++)
        if (nb_filter_model(config, users[i], model, NULL) == 0 &&
            strcmp(model, config->filter_model) != 0)
            nb_metrics_user(request->server->metrics, nb_string_of(model), NB_USER_ASKED);
}

int nb_filter_judge(struct nb_request *request, double required, double threshold,
                    struct nb_filter_report *report, struct nb_buffer *each, struct nb_error *error)
{
    uint64_t start = nb_clock_monotonic();
    struct nb_string *users;
    size_t count;
    int rc = nb_filter_users(request, &users, &count, error);
    const struct nb_string mail = nb_filter_mail(request->body);
    const struct nb_document document = {.kind = NB_DOCUMENT_MAIL,
                                         .bytes = mail.bytes,
                                         .length = mail.length,
                                         .envelope = nb_filter_envelope(request)};
    if (rc == 0)
        rc = nb_filter_check(request->server, request->config, request->grant.models, &document,
                             users, count, request, report, each, error);
    if (rc == 0)
        count_users(request, users, count);
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
