/* SPDX-License-Identifier: Apache-2.0
 *
 * The challenger of a model: made, looked at, promoted and dropped; and the comparison of the two
 * in the model's evaluation.
 */
#include <math.h>
#include <string.h>

#include "core/jobs/challenger/challenger.h"
#include "server/api/challengers.h"
#include "server/api/handlers.h"
#include "server/base/emit.h"
#include "server/base/settings_json.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

/* ---- replies --------------------------------------------------------------------------------- */

/* Measured with texts of 80 words: a document that both learn takes so many times the work. */
static const double TRAIN_CPU = 2.3;

/* `memory` of the model now is what the challenger will need: it has the same documents. */
static void emit_cost(struct nb_emitter *e, const struct nb_challenger_cost *cost)
{
    nb_emit_member_open(e, "cost", '{');
    nb_emit_member_u64(e, "documents", cost->documents);
    if (cost->memory > 0)
        nb_emit_member_u64(e, "memory_bytes", cost->memory);
    nb_emit_member_u64(e, "disk_bytes", cost->disk);
    nb_emit_member_short_double(e, "train_cpu", TRAIN_CPU);
    nb_emit_member_u64(e, "classify_cpu", 1);
    nb_emit_close(e, '}');
}

/* Replies with a challenger that would be made. */
static int reply_plan(struct nb_request *request, const struct nb_settings *settings,
                      struct nb_error *error)
{
    struct nb_challenger_cost cost;
    int rc = nb_challenger_cost(request->server->engine, request->model, &cost, error);
    if (rc != 0)
        return rc;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", request->model);
    nb_emit_member_text(&e, "state", "planned");
    nb_emit_key(&e, "settings");
    nb_emit_settings(&e, settings);
    emit_cost(&e, &cost);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

static void emit_state(struct nb_emitter *e, const struct nb_request *request)
{
    struct nb_challenger_state state;
    nb_challengers_state(request->server->challengers, request->model, &state);
    nb_emit_member_text(e, "state",
                        state.problem[0] != '\0' ? "stopped"
                        : state.is_following     ? "following"
                                                 : "catching-up");
    if (state.problem[0] != '\0')
        nb_emit_member_text(e, "reason", state.problem);
}

static int reply_challenger(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_model_info info;
    struct nb_challenger_cost cost;
    int rc = nb_challenger_cost(engine, request->model, &cost, error);
    if (rc == 0)
        rc = nb_challenger_model(engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", request->model);
    nb_emit_member_text(&e, "challenger", info.name);
    emit_state(&e, request);
    nb_emit_member_u64(&e, "documents", info.documents + info.unlabelled);
    if (!info.is_damaged) {
        nb_emit_key(&e, "settings");
        nb_emit_settings(&e, &info.settings);
    }
    emit_cost(&e, &cost);
    nb_emit_close(&e, '}');
    nb_model_info_deinit(&info);
    return nb_reply_written(request, nb_emit_end(&e), error);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int read_dry_run(const struct nb_request *request, bool *is_dry, struct nb_error *error)
{
    struct nb_string text = nb_request_query(request, "dry_run");
    *is_dry = nb_string_equals(text, "true") || nb_string_equals(text, "1");
    if (*is_dry || text.bytes == NULL || nb_string_equals(text, "false") ||
        nb_string_equals(text, "0"))
        return 0;
    return nb_error_about(
        error, nb_error_set(error, NB_INVALID, "query parameter 'dry_run' must be true or false"),
        NULL, "dry_run");
}

static int read_settings(struct nb_request *request, struct nb_settings *settings,
                         struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    rc = info.is_damaged ? nb_error_set(error, NB_DAMAGED, "the model '%s' is damaged (%s)",
                                        info.name, info.damage)
                         : nb_json_settings_change(request->body, &info.settings, settings, error);
    nb_model_info_deinit(&info);
    return rc;
}

int nb_route_make_challenger(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_settings settings;
    struct nb_string source;
    bool is_dry;
    int rc = read_dry_run(request, &is_dry, error);
    if (rc == 0)
        rc = nb_request_source(request, &source, error);
    if (rc == 0)
        rc = read_settings(request, &settings, error);
    if (rc != 0)
        return rc;
    rc = is_dry ? nb_challenger_check(engine, request->model, &settings, error)
                : nb_challenger_make(engine, request->model, &settings, source, error);
    if (rc == 0 && is_dry) {
        rc = reply_plan(request, &settings, error);
    } else if (rc == 0) {
        request->has_changed = true;
        nb_challengers_wake(request->server->challengers);
        rc = reply_challenger(request, error);
        if (rc == 0)
            request->reply.status = 201;
    }
    nb_settings_deinit(&settings);
    return rc;
}

int nb_route_challenger(struct nb_request *request, struct nb_error *error)
{
    return reply_challenger(request, error);
}

/* Reads the source of a change to the challenger of a model that exists. */
static int read_change(struct nb_request *request, struct nb_string *source, struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_request_source(request, source, error);
    if (rc == 0)
        rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc == 0)
        nb_model_info_deinit(&info);
    return rc;
}

int nb_route_drop_challenger(struct nb_request *request, struct nb_error *error)
{
    struct nb_string source;
    int rc = read_change(request, &source, error);
    if (rc == 0)
        rc = nb_challenger_drop(request->server->engine, request->model, source, error);
    return rc != 0 ? rc : nb_reply_with(request, 204, NULL);
}

int nb_route_promote_challenger(struct nb_request *request, struct nb_error *error)
{
    struct nb_string source;
    int rc = read_change(request, &source, error);
    if (rc == 0)
        rc = nb_challenger_promote(request->server->engine, request->model, source, error);
    request->has_changed = rc == 0;
    return rc != 0 ? rc : nb_route_model(request, error);
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void emit_figures(struct nb_emitter *e, const char *key, uint64_t documents,
                         const struct nb_challenger_figures *figures)
{
    double n = (double)documents;
    nb_emit_member_open(e, key, '{');
    nb_emit_member_short_double(e, "accuracy",
                                documents > 0 ? (n - (double)figures->errors) / n : (double)NAN);
    nb_emit_member_short_double(e, "log_loss", documents > 0 ? figures->log_loss : (double)NAN);
    nb_emit_close(e, '}');
}

static void emit_window(struct nb_emitter *e, const struct nb_challenger_window *w)
{
    nb_emit_open(e, '{');
    if (w->window > 0)
        nb_emit_member_u64(e, "window", w->window);
    else
        nb_emit_member_null(e, "window");
    nb_emit_member_u64(e, "documents", w->documents);
    emit_figures(e, "champion", w->documents, &w->champion);
    emit_figures(e, "challenger", w->documents, &w->challenger);
    nb_emit_member_u64(e, "only_champion_right", w->only_champion);
    nb_emit_member_u64(e, "only_challenger_right", w->only_challenger);
    nb_emit_member_short_double(e, "mcnemar_p", w->mcnemar_p);
    nb_emit_member_short_double(e, "log_loss_difference", w->difference);
    nb_emit_member_short_double(e, "standard_error", w->error);
    nb_emit_member_short_double(e, "log_loss_p", w->difference_p);
    nb_emit_close(e, '}');
}

static void emit_report(struct nb_emitter *e, const struct nb_request *request,
                        const struct nb_challenger_report *report)
{
    nb_emit_member_open(e, "challenger", '{');
    emit_state(e, request);
    nb_emit_member_u64(e, "behind", report->behind);
    nb_emit_member_open(e, "windows", '[');
    for (size_t i = 0; i < NB_EVALUATION_WINDOWS; i++)
        emit_window(e, &report->windows[i]);
    nb_emit_close(e, ']');
    nb_emit_member_open(e, "progress", '[');
    for (size_t i = 0; i < report->progress_count; i++) {
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "documents", report->progress[i].documents);
        nb_emit_member_u64(e, "champion_errors", report->progress[i].champion_errors);
        nb_emit_member_u64(e, "challenger_errors", report->progress[i].challenger_errors);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, ']');
    nb_emit_close(e, '}');
}

int nb_evaluation_add_challenger(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_buffer *body = &request->reply.body;
    struct nb_challenger_report report;
    struct nb_model_info info;
    if (nb_challenger_model(engine, request->model, &info, NULL) != 0)
        return 0;
    nb_model_info_deinit(&info);
    int rc =
        nb_challenger_compare(engine, request->model, nb_request_is_cut, request, &report, error);
    if (rc != 0)
        return rc;
    body->bytes[body->length - 1] = ','; /* in place of the closing bracket */
    struct nb_emitter e = nb_emit_begin(body);
    emit_report(&e, request, &report);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e) == 0 ? 0 : nb_error_no_memory(error);
}
