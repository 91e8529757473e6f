/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/evaluation_route.h"

#include "core/engine/engine.h"
#include "server/json/evaluation_json.h"
#include "server/json/json_values.h"
#include "server/request/http_answer.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

int nb_evaluation_scores(const struct nb_request *request, enum nb_score_kind *scores,
                         struct nb_error *error)
{
    struct nb_string asked = nb_request_query(request, "scores");
    *scores = NB_SCORES_BEFORE_LEARNING;
    if (asked.bytes == NULL)
        return 0;
    for (int kind = 0; kind < NB_SCORE_KINDS; kind++)
        if (nb_string_equals(asked, nb_score_kind_name((enum nb_score_kind)kind))) {
            *scores = (enum nb_score_kind)kind;
            return 0;
        }
    return nb_error_set(error, NB_INVALID,
                        "query parameter 'scores' must be 'before-learning' or 'leave-one-out'");
}

int nb_route_evaluation(struct nb_request *request, struct nb_error *error)
{
    struct nb_string positive = nb_request_query(request, "positive");
    struct nb_evaluation_report report;
    double target = -1; /* none wanted */
    enum nb_score_kind scores;
    struct nb_buffer room = {0};
    int rc = positive.bytes == NULL ? 0 : nb_label_take(&positive, &room, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "target_fpr", 1, &target, error);
    if (rc == 0)
        rc = nb_evaluation_scores(request, &scores, error);
    if (rc == 0)
        rc = nb_engine_evaluation(request->server->engine, request->model, positive, target, scores,
                                  &report, error);
    nb_buffer_deinit(&room);
    if (rc != 0)
        return rc;
    rc = nb_json_evaluation(&request->reply.body, request->model, &report);
    nb_evaluation_report_deinit(&report);
    return nb_reply_written(request, rc, error);
}
