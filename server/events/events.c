/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events/events.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/config.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "server/base/emit.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "server/base/time.h"
#include "server/events/event_queue.h"
#include "server/events/signature.h"
#include "server/events/watch.h"
#include "server/http/address.h"
#include "server/http/call/call.h"
#include "server/http/http_answer.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)

enum { TEXT_MOST = 256 /* bytes of an id of a message that are sent */ };

/* What became of events. */
enum outcome {
    SENT,
    GIVEN_UP, /* all attempts failed */
    DROPPED,  /* the queue was full */
    OVER_RATE,
    OUTCOMES
};

struct nb_events {
    struct nb_engine *engine;       /* borrowed */
    const struct nb_config *config; /* borrowed */
    struct nb_event_secret secret;
    struct nb_event_bounds bounds;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below; no other lock is taken while it is held */
    pthread_cond_t news;
    struct nb_event_queue queue;
    bool is_stopping;
    uint64_t minute, in_minute; /* unsure verdicts in the present minute */
    uint64_t outcomes[NB_EVENT_TYPES][OUTCOMES];
    uint64_t failures; /* attempts that failed */
    /* Of the thread alone. */
    struct nb_event_watch *watch; /* owned */
    struct nb_call_target target;
    struct nb_call *call; /* owned */
    bool is_failing;      /* the last attempt failed */
};

/* ---- options --------------------------------------------------------------------------------- */

static int read_types(const struct nb_config *config, bool wanted[NB_EVENT_TYPES],
                      struct nb_error *error)
{
    const char *list = config->events_types;
    struct nb_string item;
    for (int type = 0; type < NB_EVENT_TYPES; type++)
        wanted[type] = false;
    while (nb_list_next(&list, &item)) {
        int type = 0;
        while (type < NB_EVENT_TYPES &&
               !nb_string_equals(item, nb_event_type_name((enum nb_event_type)type)))
            type++;
        if (type == NB_EVENT_TYPES)
            return nb_error_set(error, NB_INVALID,
                                "[events] types: there are no events '%.*s', only "
                                "verdict.unsure, model.drift, model.quarantine and model.suspects",
                                (int)(item.length < 64 ? item.length : 64), item.bytes);
        wanted[type] = true;
    }
    return 0;
}

int nb_events_check(const struct nb_config *config, struct nb_error *error)
{
    bool wanted[NB_EVENT_TYPES];
    struct nb_string url = nb_string_of(config->events_url);
    int rc = read_types(config, wanted, error);
    if (rc != 0 || url.length == 0)
        return rc;
    if (!nb_string_starts(url, "http://") && !nb_string_starts(url, "https://"))
        return nb_error_set(error, NB_INVALID, "[events] url must begin with http:// or https://");
    if (config->events_secret_file[0] == '\0')
        return nb_error_set(error, NB_INVALID,
                            "[events] url needs a secret_file: events are signed");
    return 0;
}

static int read_secret(struct nb_events *e, struct nb_error *error)
{
    struct nb_buffer text = {0};
    struct nb_error why = {0};
    const char *file = e->config->events_secret_file;
    int rc = nb_access_token_read(file, &text, &why);
    if (rc == 0)
        rc = nb_event_secret_read(nb_buffer_string(&text), &e->secret, &why);
    nb_buffer_deinit(&text);
    return rc == 0 ? 0 : nb_error_set(error, rc, "[events] secret_file %.100s: %s", file, why.text);
}

/* ---- the queue ------------------------------------------------------------------------------- */

/* Begins the body of an event, up to the members of its data. */
static struct nb_emitter begin_body(struct nb_event *event)
{
    struct nb_emitter e = nb_emit_begin(&event->body);
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "type", nb_event_type_name(event->type));
    nb_emit_member_time(&e, "timestamp", nb_clock_now());
    nb_emit_member_open(&e, "data", '{');
    return e;
}

static int end_body(struct nb_emitter *e)
{
    nb_emit_close(e, '}');
    nb_emit_close(e, '}');
    return nb_emit_end(e);
}

/* Queues an event. With the lock held. */
static void add(struct nb_events *e, struct nb_event *event)
{
    struct nb_event *dropped = nb_event_queue_add(&e->queue, event);
    if (dropped == NULL)
        return;
    e->outcomes[dropped->type][DROPPED]++;
    nb_event_free(&dropped);
}

static void add_new(struct nb_events *e, struct nb_event *event)
{
    pthread_mutex_lock(&e->lock);
    add(e, event);
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->lock);
}

bool nb_events_want_unsure(const struct nb_events *events)
{
    return events != NULL && events->bounds.wanted[NB_EVENT_UNSURE];
}

static bool has_room_in_minute(struct nb_events *e)
{
    uint64_t minute = nb_clock_monotonic() / MINUTE;
    pthread_mutex_lock(&e->lock);
    if (minute != e->minute)
        e->in_minute = 0;
    e->minute = minute;
    bool has_room = e->in_minute < e->config->events_unsure_per_minute;
    e->in_minute += has_room;
    e->outcomes[NB_EVENT_UNSURE][OVER_RATE] += !has_room;
    pthread_mutex_unlock(&e->lock);
    return has_room;
}

static void add_text(struct nb_emitter *emitter, const char *key, struct nb_string text)
{
    text.length = text.length < TEXT_MOST ? text.length : TEXT_MOST;
    if (text.length > 0)
        nb_emit_member_string(emitter, key, text);
}

void nb_events_unsure(struct nb_events *events, const struct nb_unsure_verdict *verdict)
{
    assert(nb_events_want_unsure(events));
    struct nb_event *event = has_room_in_minute(events) ? nb_event_new(NB_EVENT_UNSURE) : NULL;
    if (event == NULL)
        return;
    struct nb_emitter emitter = begin_body(event);
    add_text(&emitter, "model", verdict->model);
    add_text(&emitter, "id", verdict->id);
    add_text(&emitter, "message_id", nb_without_angles(verdict->message_id));
    add_text(&emitter, "label", verdict->label);
    nb_emit_member_short_double(&emitter, "probability", verdict->probability);
    nb_emit_member_text(&emitter, "protocol", verdict->protocol);
    if (end_body(&emitter) == 0)
        add_new(events, event);
    else
        nb_event_free(&event);
}

/* Queues an event about a model; a nb_event_begun. */
static void add_begun(void *user, const struct nb_event_begins *begins)
{
    assert(begins->type != NB_EVENT_UNSURE && begins->model != NULL); /* it is about a model */
    struct nb_events *e = user;
    struct nb_event *event = nb_event_new(begins->type);
    if (event == NULL)
        return;
    struct nb_emitter emitter = begin_body(event);
    nb_emit_member_text(&emitter, "model", begins->model);
    if (begins->type == NB_EVENT_DRIFT) {
        nb_emit_member_short_double(&emitter, "distance", begins->drift.distance);
        nb_emit_member_short_double(&emitter, "p", begins->drift.p);
        nb_emit_member_u64(&emitter, "recent", begins->drift.recent);
        nb_emit_member_u64(&emitter, "before", begins->drift.before);
        nb_emit_member_short_double(&emitter, "bound", e->bounds.drift);
    } else {
        nb_emit_member_u64(&emitter, "documents", begins->documents);
    }
    if (begins->type == NB_EVENT_SUSPECTS)
        nb_emit_member_u64(&emitter, "bound", e->bounds.suspects);
    if (end_body(&emitter) == 0)
        add_new(e, event);
    else
        nb_event_free(&event);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The receiver's reply says nothing beside its status. */
static int ignore_reply(void *user, const char *bytes, size_t length)
{
    (void)user;
    (void)bytes;
    (void)length;
    return 0;
}

static int add_headers(const struct nb_events *e, const struct nb_event *event,
                       struct nb_buffer *headers)
{
    char signature[NB_SIGNATURE_TEXT];
    int64_t now = nb_clock_now() / 1000;
    nb_event_sign(&e->secret, event->id, now, nb_buffer_string(&event->body), signature);
    int rc = nb_buffer_printf(headers, "webhook-id: %s", event->id);
    if (rc == 0)
        rc = nb_buffer_append(headers, "", 1);
    if (rc == 0)
        rc = nb_buffer_printf(headers, "webhook-timestamp: %" PRId64, now);
    if (rc == 0)
        rc = nb_buffer_append(headers, "", 1);
    if (rc == 0)
        rc = nb_buffer_printf(headers, "webhook-signature: %s", signature);
    return rc == 0 ? nb_buffer_append(headers, "", 1) : rc;
}

/* Posts an event once. Returns 0 if the receiver has taken it. */
static int post(struct nb_events *e, const struct nb_event *event, struct nb_error *error)
{
    enum { REPLY_MOST = 65536 };
    struct nb_buffer headers = {0}, reply = {0};
    size_t length = strlen(e->config->events_url);
    assert(length > 0); /* without a URL there is no thread that sends */
    int rc = add_headers(e, event, &headers);
    if (rc != 0)
        (void)nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_call_make(
            e->call,
            &(struct nb_call_request){
                .method = "POST",
                .path = e->config->events_url[length - 1] == '/' ? "/" : "", /* as it was given */
                .type = "application/json",
                .body = nb_buffer_string(&event->body),
                .headers = nb_buffer_string(&headers),
                .reply_most = REPLY_MOST,
                .take = ignore_reply,
            },
            &reply, error);
    nb_buffer_deinit(&headers);
    nb_buffer_deinit(&reply);
    return rc;
}

/* Logs when the receiver begins to fail, and when it takes events again. */
static void log_change(struct nb_events *e, bool fails, const struct nb_error *why)
{
    if (fails && !e->is_failing)
        nb_log(NB_LOG_WARNING, "events are not delivered: %s", why->text);
    else if (!fails && e->is_failing)
        nb_log(NB_LOG_INFO, "events are delivered again");
    e->is_failing = fails;
}

/* Sends an event that was taken from the queue, and frees it or puts it back. Returns whether the
 * receiver has taken it. Without the lock. */
static bool send_one(struct nb_events *e, struct nb_event *event)
{
    struct nb_error why = {0};
    bool is_sent = post(e, event, &why) == 0;
    log_change(e, !is_sent, &why);
    pthread_mutex_lock(&e->lock);
    e->failures += !is_sent;
    event->attempts += !is_sent;
    bool is_given_up = !is_sent && event->attempts > e->config->events_retries;
    if (is_sent || is_given_up) {
        e->outcomes[event->type][is_sent ? SENT : GIVEN_UP]++;
        nb_event_free(&event);
    } else {
        event->due = nb_clock_monotonic() +
                     SECOND * nb_event_pause(event->attempts, e->config->events_retry_seconds,
                                             e->config->events_retry_seconds_most);
        add(e, event);
    }
    pthread_mutex_unlock(&e->lock);
    return is_sent;
}

/* Waits until `time`, or until there is something to do. With the lock held. */
static void wait_until(struct nb_events *e, uint64_t time)
{
    struct timespec end = {.tv_sec = (time_t)(time / SECOND), .tv_nsec = (long)(time % SECOND)};
    (void)pthread_cond_timedwait(&e->news, &e->lock, &end);
}

/* Sends what waits, whenever it would be due, until an attempt fails or the time is over. With the
 * lock held, which it gives back meanwhile. */
static void send_rest(struct nb_events *e)
{
    uint64_t end = nb_clock_monotonic() + e->config->events_timeout * SECOND, until;
    struct nb_event *event;
    bool goes_on = true;
    while (goes_on && nb_clock_monotonic() < end &&
           (event = nb_event_queue_take(&e->queue, UINT64_MAX - 1, &until)) != NULL) {
        pthread_mutex_unlock(&e->lock);
        goes_on = send_one(e, event);
        pthread_mutex_lock(&e->lock);
    }
}

static void *run(void *user)
{
    struct nb_events *e = user;
    uint64_t next_look = 0, until;
    pthread_mutex_lock(&e->lock);
    while (!e->is_stopping) {
        uint64_t now = nb_clock_monotonic();
        bool is_look = now >= next_look;
        struct nb_event *event = is_look ? NULL : nb_event_queue_take(&e->queue, now, &until);
        if (!is_look && event == NULL) {
            wait_until(e, until < next_look ? until : next_look);
            continue;
        }
        pthread_mutex_unlock(&e->lock);
        if (event != NULL) {
            (void)send_one(e, event);
        } else {
            nb_event_watch_look(e->watch, add_begun, e);
            next_look = nb_clock_monotonic() + e->config->events_look_seconds * SECOND;
        }
        pthread_mutex_lock(&e->lock);
    }
    send_rest(e);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void dismantle(struct nb_events *e)
{
    nb_call_close(&e->call);
    nb_event_watch_free(&e->watch);
    nb_event_queue_deinit(&e->queue);
    pthread_cond_destroy(&e->news);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static void init(struct nb_events *e)
{
    pthread_condattr_t attributes; /* none of these fails with the GNU library */
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&e->news, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&e->lock, NULL);
}

static int prepare(struct nb_events *e, struct nb_error *error)
{
    const struct nb_config *config = e->config;
    e->queue.most = (size_t)config->events_queue;
    e->bounds.drift = config->events_drift;
    e->bounds.suspects = config->events_suspects;
    e->target = (struct nb_call_target){
        .url = config->events_url,
        .name = "the receiver of [events]",
        .ca_file = config->events_tls_ca[0] != '\0' ? config->events_tls_ca : NULL,
        .timeout = config->events_timeout,
        .has_deadline = true,
    };
    int rc = read_types(config, e->bounds.wanted, error);
    if (rc == 0)
        rc = read_secret(e, error);
    if (rc == 0)
        rc = nb_call_setup(error);
    if (rc == 0)
        rc = nb_call_open(&e->target, &e->call, error);
    if (rc != 0)
        return rc;
    e->watch = nb_event_watch_new(e->engine, &e->bounds);
    return e->watch != NULL ? 0 : nb_error_no_memory(error);
}

int nb_events_start(struct nb_engine *engine, const struct nb_config *config,
                    struct nb_events **events, struct nb_error *error)
{
    *events = NULL;
    if (config->events_url[0] == '\0')
        return 0;
    struct nb_events *e = calloc(1, sizeof *e);
    if (e == NULL)
        return nb_error_no_memory(error);
    e->engine = engine;
    e->config = config;
    init(e);
    int rc = prepare(e, error);
    if (rc == 0 && pthread_create(&e->thread, NULL, run, e) != 0)
        rc = nb_error_set(error, NB_IO, "the thread of the events does not start");
    if (rc == 0)
        *events = e;
    else
        dismantle(e);
    return rc;
}

void nb_events_stop(struct nb_events **events)
{
    struct nb_events *e = *events;
    if (e == NULL)
        return;
    pthread_mutex_lock(&e->lock);
    e->is_stopping = true;
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    if (e->queue.count > 0)
        nb_log(NB_LOG_WARNING, "events are lost at the stop count=%zu", e->queue.count);
    dismantle(e);
    nb_call_teardown();
    *events = NULL;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static int write_outcomes(const struct nb_events *e, struct nb_buffer *out)
{
    static const char *const names[OUTCOMES] = {
        [SENT] = "sent", [GIVEN_UP] = "given_up", [DROPPED] = "dropped", [OVER_RATE] = "over_rate"};
    int rc = nb_buffer_puts(out, "# HELP bayesd_events_total Events by what became of them.\n"
                                 "# TYPE bayesd_events_total counter\n");
    for (int type = 0; type < NB_EVENT_TYPES; type++)
        for (int i = 0; rc == 0 && i < OUTCOMES; i++)
            if (i != OVER_RATE || type == NB_EVENT_UNSURE)
                rc = nb_buffer_printf(
                    out, "bayesd_events_total{type=\"%s\",status=\"%s\"} %" PRIu64 "\n",
                    nb_event_type_name((enum nb_event_type)type), names[i], e->outcomes[type][i]);
    return rc;
}

int nb_events_metrics(struct nb_events *events, struct nb_buffer *out)
{
    if (events == NULL)
        return 0;
    pthread_mutex_lock(&events->lock);
    int rc = write_outcomes(events, out);
    if (rc == 0)
        rc = nb_metrics_one(out, "events_waiting", "Events that wait to be sent.",
                            (double)events->queue.count);
    if (rc == 0)
        rc = nb_metrics_one(out, "events_failures_total", "Attempts to send an event that failed.",
                            (double)events->failures);
    pthread_mutex_unlock(&events->lock);
    return rc;
}
