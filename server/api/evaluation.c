/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/evaluation.h"

#include "core/engine/engine.h"
#include "server/json/evaluation.h"
#include "server/request/answer.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

int nb_route_evaluation(struct nb_request *request, struct nb_error *error)
{
    struct nb_string positive = nb_request_query(request, "positive");
    struct nb_evaluation_report report;
    double target = -1; /* none wanted */
    int rc = positive.bytes == NULL ? 0 : nb_check_label(positive, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "target_fpr", 1, &target, error);
    if (rc == 0)
        rc = nb_engine_evaluation(request->server->engine, request->model, positive, target,
                                  &report, error);
    if (rc != 0)
        return rc;
    rc = nb_json_evaluation(&request->reply.body, request->model, &report);
    nb_evaluation_report_deinit(&report);
    return nb_reply_written(request, rc, error);
}
