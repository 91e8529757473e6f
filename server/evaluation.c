/* SPDX-License-Identifier: Apache-2.0 */
#include "server/evaluation.h"

#include "core/engine.h"
#include "server/evaluation_json.h"
#include "server/query.h"
#include "server/reply.h"
#include "server/request.h"
#include "server/server.h"

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
