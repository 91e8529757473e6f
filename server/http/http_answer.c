/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/http_answer.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/base/problem.h"
#include "server/http/admission.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "tokenizer/charset.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/mime.h"

void nb_request_begin(struct nb_request *request)
{
    assert(request->server != NULL && request->configuration == NULL); /* it begins once */
    request->started = nb_clock_monotonic();
    request->configuration = nb_configurations_take(request->server);
    request->config = &request->configuration->config;
    request->access = request->configuration->access;
    atomic_fetch_add(&request->server->running, 1);
}

int nb_request_prepare(struct nb_request *request, struct nb_error *error)
{
    assert(request->route != NULL);
    if (!request->has_caught_up) {
        request->has_caught_up = true;
        int rc = nb_catch_up(request, error);
        if (rc != 0)
            return rc;
    }
    if (request->is_prepared || request->route->prepare == NULL)
        return 0;
    request->is_prepared = true;
    return request->route->prepare(request, error);
}

int nb_request_handle(struct nb_request *request, struct nb_string body, struct nb_error *error)
{
    assert(request->has_caught_up && (request->is_prepared || request->route->prepare == NULL));
    assert(!request->is_lines);
    request->body = body;
    int rc = request->route->handler(request, error);
    if (rc != NB_WAIT)
        request->body = (struct nb_string){NULL, 0};
    return rc;
}

/* ---- the reply ------------------------------------------------------------------------------- */

bool nb_reply_is_there(const struct nb_request *request)
{
    return request->reply.status != 0;
}

/* Adds the place of the change in the stream, if it has one, to the end of the object that answers
 * the change. Without memory only the header field has the place. */
static void add_number(const struct nb_request *request, const char *content_type,
                       struct nb_buffer *body)
{
    bool is_object = content_type != NULL && strcmp(content_type, "application/json") == 0 &&
                     body->length > 0 && body->bytes[body->length - 1] == '}';
    if (request->number == 0 || !is_object || request->route->protocol != &nb_protocol_api)
        return;
    const char *comma = body->bytes[--body->length - 1] == '{' ? "" : ",";
    if (nb_buffer_printf(body, "%s\"number\":%" PRIu64 "}", comma, request->number) != 0)
        body->length++;
}

int nb_reply_with(struct nb_request *request, unsigned status, const char *content_type)
{
    assert(status >= 200 && status < 600);
    add_number(request, content_type, &request->reply.body);
    request->reply.status = status;
    request->reply.content_type = content_type;
    return 0;
}

int nb_reply_json(struct nb_request *request, unsigned status)
{
    return nb_reply_with(request, status, "application/json");
}

int nb_reply_written(struct nb_request *request, int rc, struct nb_error *error)
{
    return rc == 0 ? nb_reply_json(request, 200) : nb_error_no_memory(error);
}

void nb_reply_spool(struct nb_request *request)
{
    assert(!request->reply.has_spool);
    nb_spool_init(&request->reply.spool, request->server->spool_directory,
                  (size_t)request->config->spool_memory, request->server->budgets);
    request->reply.has_spool = true;
}

int nb_reply_spooled(struct nb_request *request, unsigned status, const char *content_type,
                     struct nb_error *error)
{
    assert(request->reply.has_spool);
    add_number(request, content_type, &request->reply.spool.tail);
    int rc = nb_spool_finish(&request->reply.spool, error);
    return rc != 0 ? rc : nb_reply_with(request, status, content_type);
}

void nb_reply_hold(struct nb_request *request)
{
    struct nb_reply *reply = &request->reply;
    struct nb_error error = {0};
    if (reply->body.capacity <= NB_SPOOL_FREE_BYTES)
        return;
    nb_buffer_trim(&reply->body);
    reply->hold.budget = &request->server->budgets[NB_BUDGET_REPLIES];
    if (nb_hold_set(&reply->hold, reply->body.capacity, &error) != 0)
        nb_reply_error(request, &error);
}

void nb_reply_deinit(struct nb_reply *reply)
{
    nb_buffer_deinit(&reply->body);
    nb_buffer_deinit(&reply->location);
    if (reply->hold.size > 0)
        (void)nb_hold_set(&reply->hold, 0, NULL); /* reducing a hold never fails */
    if (reply->has_spool)
        nb_spool_deinit(&reply->spool);
    reply->has_spool = false;
    reply->next = NULL;
    reply->status = 0;
}

/* ---- problems -------------------------------------------------------------------------------- */

/* Gives the request a number that no other request of this daemon has, and hardly one of another
 * start: the time of the first one, in nanoseconds, and the count from there. */
static uint64_t number_of(struct nb_request *request)
{
    static atomic_uint_fast64_t next;
    uint64_t none = 0;
    if (request->request_id == 0) {
        (void)atomic_compare_exchange_strong(&next, &none, (uint64_t)nb_clock_now() * 1000000);
        request->request_id = atomic_fetch_add(&next, 1) + 1;
    }
    return request->request_id;
}

/* The problem of the request: with what its error says beside the sentence, if there is one. */
static struct nb_problem problem_of(struct nb_request *request, unsigned status, const char *detail)
{
    const struct nb_error *why = request->why;
    request->code = why != NULL ? nb_json_code(why) : nb_json_status_code((int)status);
    return (struct nb_problem){.status = (int)status,
                               .detail = detail,
                               .code = request->code,
                               .param = why != NULL ? why->param : NULL,
                               .request = number_of(request)};
}

static const char *write_problem(struct nb_request *request, unsigned status, const char *detail)
{
    const struct nb_problem problem = problem_of(request, status, detail);
    /* A problem that is cut off would not be JSON, so without memory the reply is withheld. */
    if (nb_json_problem(&request->reply.body, &problem) != 0)
        request->reply.is_withheld = true;
    return "application/problem+json";
}

const struct nb_protocol nb_protocol_api = {.door = "http", .problem = write_problem};

void nb_reply_problem(struct nb_request *request, unsigned status, const char *detail)
{
    const struct nb_protocol *protocol =
        request->route != NULL ? request->route->protocol : &nb_protocol_api;
    assert(protocol != NULL && protocol->problem != NULL);
    assert(status >= 400);
    nb_reply_deinit(&request->reply);
    const char *type = protocol->problem(request, status, detail);
    (void)nb_reply_with(request, status, type); /* always 0 */
}

/* Appends the raw path: after decoding, different paths could look the same. */
static int locate(struct nb_request *request)
{
    assert(request->target != NULL && request->urls.length > 0); /* the caller has checked it */
    const char *url = request->urls.bytes;
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    return nb_buffer_printf(&request->reply.location, "%.*s%s", (int)length, url, request->target);
}

/* Replies that the model is on other nodes: the problem has their URLs, and Location is the path at
 * the first of them. Without memory the reply is withheld. */
static void reply_elsewhere(struct nb_request *request, const struct nb_error *error)
{
    int status = nb_json_status(error->code);
    assert(request->urls.length == 0 || request->urls.bytes[request->urls.length - 1] == '\0');
    nb_reply_deinit(&request->reply);
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    request->why = error;
    const struct nb_problem problem = problem_of(request, (unsigned)status, error->text);
    request->why = NULL;
    nb_emit_problem_members(&e, &problem);
    nb_emit_member_open(&e, "urls", '[');
    for (size_t at = 0; at < request->urls.length; at += strlen(request->urls.bytes + at) + 1)
        nb_emit_text(&e, request->urls.bytes + at);
    nb_emit_close(&e, ']');
    nb_emit_close(&e, '}');
    bool has_url = request->urls.length > 0 && request->target != NULL;
    if (nb_emit_end(&e) != 0 || (has_url && locate(request) != 0))
        request->reply.is_withheld = true;
    (void)nb_reply_with(request, (unsigned)status, "application/problem+json"); /* always 0 */
}

void nb_reply_error(struct nb_request *request, const struct nb_error *error)
{
    const struct nb_route *route = request->route;
    if (request->has_changed && nb_json_status(error->code) >= 500)
        request->reply.is_withheld = true;
    if (error->code == NB_ELSEWHERE && route != NULL && route->protocol == &nb_protocol_api) {
        reply_elsewhere(request, error);
        return;
    }
    unsigned status = route != NULL && route->protocol->status_of != NULL
                          ? route->protocol->status_of(route, error->code)
                          : (unsigned)nb_json_status(error->code);
    request->why = error;
    nb_reply_problem(request, status, error->text);
    request->why = NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

struct fields {
    struct nb_log_field list[12];
    size_t count;
};

static void add(struct fields *fields, struct nb_log_field field)
{
    assert(fields->count < sizeof fields->list / sizeof fields->list[0]);
    if (field.kind != NB_LOG_TEXT || field.text.length > 0)
        fields->list[fields->count++] = field;
}

/* Whether the line of a request is written. 5xx is a warning, 4xx is told at level info, so that
 * the `request_id` that a client has is found, and so that nobody can fill the disk with refused
 * requests, bounded; all else at level debug. */
static bool wants_line(struct nb_server *server, enum nb_log_level level)
{
    uint64_t dropped;
    if (!nb_log_wants(level) || level != NB_LOG_INFO || nb_log_wants(NB_LOG_DEBUG))
        return nb_log_wants(level);
    bool is_wanted = nb_log_bound_take(&server->refusals, nb_clock_monotonic(), &dropped);
    if (dropped > 0)
        nb_log(NB_LOG_INFO, "refused requests without a line count=%" PRIu64, dropped);
    return is_wanted;
}

static void write_log(const struct nb_request *request, const struct nb_request_figures *figures,
                      uint64_t nanoseconds)
{
    enum nb_log_level level = figures->status >= 500   ? NB_LOG_WARNING
                              : figures->status >= 400 ? NB_LOG_INFO
                                                       : NB_LOG_DEBUG;
    struct fields fields = {.count = 0};
    char id[17] = "", client[NB_ADDRESS_TEXT];
    const char *route = request->route != NULL ? request->route->pattern : "-";
    if (!wants_line(request->server, level))
        return;
    if (request->request_id != 0)
        (void)snprintf(id, sizeof id, "%016" PRIx64, request->request_id); /* 16 digits */
    nb_address_print(&request->peer.address, client);
    add(&fields, nb_log_text("request_id", nb_string_of(id)));
    add(&fields, nb_log_text("method", nb_string_of(figures->method)));
    add(&fields, nb_log_text("route", nb_string_of(route)));
    add(&fields, nb_log_text("model", request->model));
    add(&fields, nb_log_count("status", figures->status));
    if (request->code != NULL)
        add(&fields, nb_log_text("code", nb_string_of(request->code)));
    add(&fields, nb_log_text("client", nb_string_of(client)));
    add(&fields, nb_log_count("us", nanoseconds / 1000));
    nb_log_event(level, "request", fields.list, fields.count);
}

/* Logs the warning only once: otherwise every verdict of that model would log it again. */
static void tell_memory(struct nb_server *server)
{
    struct nb_error what;
    if (!atomic_load_explicit(&server->has_told_memory, memory_order_relaxed) &&
        nb_engine_lacks_memory(server->engine, &what) &&
        !atomic_exchange(&server->has_told_memory, true))
        nb_log(NB_LOG_WARNING, "%s", what.text);
}

void nb_request_end(struct nb_request *request, const struct nb_request_figures *figures)
{
    struct nb_server *server = request->server;
    uint64_t nanoseconds = nb_clock_monotonic() - request->started;
    write_log(request, figures, nanoseconds);
    tell_memory(server);
    nb_metrics_request(server->metrics, request->route != NULL ? request->route_index : SIZE_MAX,
                       figures->status, nanoseconds, figures->received, figures->sent);
    if (request->state_free != NULL)
        request->state_free(request->state);
    if (request->work != NULL)
        nb_work_end(request);
    nb_reply_deinit(&request->reply);
    nb_buffer_deinit(&request->urls);
    free(request->query_text);
    free(request->path);
    nb_configuration_release(&request->configuration);
    atomic_fetch_sub(&server->running, 1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct nb_scratch_pool {
    pthread_mutex_t lock; /* no other lock is taken while it is held */
    struct nb_scratch *free;
};

struct nb_scratch_pool *nb_scratch_pool_new(void)
{
    struct nb_scratch_pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL)
        (void)pthread_mutex_init(&pool->lock, NULL); /* cannot fail with the GNU library */
    return pool;
}

void nb_scratch_pool_free(struct nb_scratch_pool **pool)
{
    struct nb_scratch_pool *p = *pool;
    if (p == NULL)
        return;
    while (p->free != NULL) {
        struct nb_scratch *scratch = p->free;
        p->free = scratch->next;
        nb_verdict_deinit(&scratch->verdict);
        nb_bag_deinit(&scratch->bag);
        free(scratch);
    }
    (void)pthread_mutex_destroy(&p->lock); /* fails only when locked, which would be a bug */
    free(p);
    *pool = NULL;
}

struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct nb_scratch *scratch = pool->free;
    if (scratch != NULL)
        pool->free = scratch->next;
    pthread_mutex_unlock(&pool->lock);
    if (scratch != NULL)
        return scratch;
    scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL)
        return NULL;
    nb_verdict_init(&scratch->verdict);
    nb_bag_init(&scratch->bag);
    return scratch;
}

void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch)
{
    if (scratch == NULL)
        return;
    nb_verdict_reset(&scratch->verdict);
    pthread_mutex_lock(&pool->lock);
    scratch->next = pool->free;
    pool->free = scratch;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the log --------------------------------------------------------------------------------- */

bool nb_verdict_log_wants(const struct nb_request *request)
{
    return request->config->log_verdicts && nb_log_wants(NB_LOG_INFO);
}

struct nb_string nb_without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

void nb_verdict_log(const struct nb_request *request, const struct nb_verdict_note *note)
{
    struct fields fields = {.count = 0};
    char client[NB_ADDRESS_TEXT];
    assert(request->route != NULL && note->verdict.length > 0);
    nb_address_print(&request->peer.address, client);
    add(&fields, nb_log_text("message_id", nb_without_angles(note->message_id)));
    add(&fields, nb_log_text("id", note->id));
    add(&fields, nb_log_text("model", note->model));
    add(&fields, nb_log_text("verdict", note->verdict));
    add(&fields, nb_log_number("probability", note->probability));
    add(&fields, nb_log_number("score", note->score));
    add(&fields, nb_log_text("action", note->action));
    add(&fields, nb_log_count("us", note->nanoseconds / 1000));
    add(&fields, nb_log_text("client", nb_string_of(client)));
    add(&fields, nb_log_text("protocol", nb_string_of(request->route->protocol->door)));
    nb_log_event(NB_LOG_INFO, "verdict", fields.list, fields.count);
}

enum { FIELD_MOST = 4096 }; /* most bytes that are decoded; the history keeps fewer */

static struct nb_string field(const struct nb_request *request, const struct nb_document *document,
                              const char *name)
{
    struct nb_string mail = {document->bytes, document->length};
    if (document->kind != NB_DOCUMENT_MAIL)
        return (struct nb_string){"", 0};
    return nb_string_trim(nb_mime_find_field(mail, (size_t)request->config->header_bytes, name));
}

/* Reads a header field as people see it, on one line. Raw bytes without a charset are read as the
 * tokenizer reads them: as UTF-8 if they are valid, else as windows-1252. */
static int read_field(const struct nb_request *request, const struct nb_document *document,
                      const char *name, struct nb_buffer *text)
{
    struct nb_string value = field(request, document, name);
    value.length = value.length < FIELD_MOST ? value.length : FIELD_MOST;
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    nb_mail_charsets_message(&charsets, (struct nb_string){document->bytes, document->length});
    struct nb_buffer words = {0};
    int rc = nb_mail_decode_words(&charsets, value, &words);
    nb_mail_charsets_deinit(&charsets);
    if (rc == 0)
        rc = nb_charset_to_utf8(NULL, nb_string_of("us-ascii"), words.bytes, words.length, SIZE_MAX,
                                text, NULL);
    nb_buffer_deinit(&words);
    for (size_t i = 0; rc == 0 && i < text->length; i++)
        if ((unsigned char)text->bytes[i] < 0x20)
            text->bytes[i] = ' ';
    return rc;
}

int nb_verdict_keep(const struct nb_request *request, const struct nb_verdict *verdict,
                    const struct nb_document *document, const struct nb_kept_verdict *about,
                    struct nb_buffer *id, bool *is_kept, struct nb_error *error)
{
    struct nb_buffer subject = {0}, sender = {0};
    struct nb_remembered kept = {.id = about->id, .source = about->source};
    int rc = about->source.length > 0 ? 0 : nb_request_source(request, &kept.source, error);
    if (rc != 0)
        return rc;
    kept.message_id = nb_without_angles(field(request, document, "Message-ID"));
    if (verdict->keeps_subject && (read_field(request, document, "Subject", &subject) != 0 ||
                                   read_field(request, document, "From", &sender) != 0))
        rc = nb_error_no_memory(error);
    kept.subject = nb_buffer_string(&subject);
    kept.sender = nb_buffer_string(&sender);
    if (rc == 0)
        rc = nb_engine_remember(request->server->engine, verdict, document, &kept, id, is_kept,
                                error);
    nb_buffer_deinit(&subject);
    nb_buffer_deinit(&sender);
    return rc;
}
