/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/queue.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/engine/writer.h"
#include "core/model/live/messages.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"

enum {
    FLYING_MOST = 512, /* entries of a line on their way */
    AT_ONCE = 4 << 20, /* bytes of entries that are read at once */
};

/* An entry on its way. */
struct flying {
    uint64_t number;
    size_t bytes;
    char id[NB_MESSAGE_ID_MOST];
};

/* The entries that wait for one stream. */
struct line {
    uint64_t entries, bytes;
    struct flying flying[FLYING_MOST]; /* sent and not dropped; in the order of the numbers */
    size_t count;
    size_t delivered; /* number of leading entries that are in the stream */
};

struct nb_queue {
    struct nb_engine *engine;
    struct nb_queue_limits limits;
    uint64_t identity;
    struct nb_relay relay; /* until there is a replica */
    atomic_int streams[NB_STREAMS_MOST];
    uint64_t next;        /* number; the writer's */
    pthread_mutex_t lock; /* guards the members below */
    uint64_t refused;
    struct nb_error why;
    struct line *lines; /* of each stream */
};

/* ---- in the store ---------------------------------------------------------------------------- */

static const struct nb_string HEAD = {"queue", 5};

/* Makes a new head if there is none. */
static int read_head(struct nb_queue *q, const struct nb_view *view, struct nb_error *error)
{
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_META, HEAD, &value, error);
    q->identity = nb_key_random();
    q->next = 1;
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    q->identity = nb_unpack_u64(&u);
    q->next = nb_unpack_varint(&u);
    return nb_unpacker_done(&u) ? 0
                                : nb_error_set(error, NB_CORRUPT,
                                               "the store is damaged: its queue of changes does "
                                               "not read back");
}

static int put_head(const struct nb_queue *q, uint64_t next, const struct nb_view *view,
                    struct nb_error *error)
{
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = &value};
    nb_pack_u64(&w, q->identity);
    nb_pack_varint(&w, next);
    int rc = w.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, HEAD, nb_buffer_string(&value), error);
    nb_buffer_deinit(&value);
    return rc;
}

static int put_entry(unsigned which, uint64_t number, struct nb_string id, struct nb_string message,
                     const struct nb_view *view, struct nb_error *error)
{
    const struct nb_traced one = {number, nb_message_checksum(id, message), id, message};
    return nb_message_put(view, NB_KEPT_QUEUE, which, &one, error);
}

static int count_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct line *line = user;
    line->entries++;
    line->bytes += one->message.length;
    return one->id.length < NB_MESSAGE_ID_MOST
               ? 0
               : nb_error_set(error, NB_CORRUPT, "a change that was queued does not read back");
}

static int read_all(struct nb_queue *q, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(q->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_head(q, &view, error);
    for (unsigned i = 0; rc == 0 && i < q->engine->settings.streams; i++)
        rc = nb_message_walk(&view, NB_KEPT_QUEUE, i, 0, count_entry, &q->lines[i], error);
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- adding entries -------------------------------------------------------------------------- */

bool nb_queue_takes(struct nb_queue *q, unsigned which)
{
    if (q == NULL)
        return false;
    int stream = atomic_load(&q->streams[which]);
    pthread_mutex_lock(&q->lock);
    bool has_some = q->lines[which].entries > 0;
    pthread_mutex_unlock(&q->lock);
    return stream == NB_QUEUE_AWAY || (stream == NB_QUEUE_THERE && has_some);
}

/* Changes that the writer finds due need not wait: it finds them again when all earlier changes are
 * applied. */
static bool may_wait(const struct nb_submitted *c)
{
    return c->taken == 0 && c->labelled == 0 && c->released.length == 0 && !c->is_note &&
           !c->is_refit && !c->is_aged;
}

static void tell(struct nb_submitted *c)
{
    c->receipt.status = NB_QUEUED;
    c->receipt.id = nb_buffer_string(&c->id);
    c->receipt.label = nb_buffer_string(&c->label);
    c->receipt.tokens = c->positions;
    c->receipt.truncated = c->truncated;
}

/* The messages of a batch, in one transaction. */
struct adding {
    struct nb_queue *queue;
    unsigned which;
    struct nb_buffer *messages; /* of changes that fit into a message */
    size_t count;
    uint64_t next;
};

static int put_messages(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct adding *a = argument;
    struct nb_queue *q = a->queue;
    char id[NB_MESSAGE_ID_MOST];
    int rc = 0;
    (void)engine;
    a->next = q->next;
    for (size_t i = 0; rc == 0 && i < a->count; i++, a->next++) {
        (void)snprintf(id, sizeof id, "q%016" PRIx64 "-%" PRIx64, q->identity, a->next);
        rc = put_entry(a->which, a->next, nb_string_of(id), nb_buffer_string(&a->messages[i]), view,
                       error);
    }
    return rc != 0 ? rc : put_head(q, a->next, view, error);
}

static void count_all(const struct nb_queue *q, uint64_t *entries, uint64_t *bytes)
{
    *entries = *bytes = 0;
    for (unsigned i = 0; i < q->engine->settings.streams; i++) {
        *entries += q->lines[i].entries;
        *bytes += q->lines[i].bytes;
    }
}

static int add_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct adding *a = argument;
    struct nb_queue *q = a->queue;
    uint64_t entries, bytes, more = 0;
    for (size_t i = 0; i < a->count; i++)
        more += a->messages[i].length;
    pthread_mutex_lock(&q->lock);
    count_all(q, &entries, &bytes);
    pthread_mutex_unlock(&q->lock);
    if (entries + a->count > q->limits.entries || bytes + more > q->limits.bytes)
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, and the queue is full: [nodes] queue_bytes and "
                            "queue_entries; send the change again later");
    int rc = nb_transaction(engine, more, put_messages, a, error);
    if (rc != 0)
        return rc;
    q->next = a->next;
    pthread_mutex_lock(&q->lock);
    q->lines[a->which].entries += a->count;
    q->lines[a->which].bytes += more;
    pthread_mutex_unlock(&q->lock);
    return 0;
}

/* Writes the messages; a change that is too large for one gets its answer at once. */
static int write_messages(struct nb_batch *batch, size_t most, struct adding *a,
                          struct nb_error *error)
{
    int64_t now = nb_clock_now();
    for (size_t i = 0; i < batch->size; i++) {
        struct nb_buffer *message = &a->messages[a->count];
        message->length = 0;
        if (!may_wait(&batch->changes[i]))
            return nb_error_set(error, NB_STOPPING,
                                "the database is away, and this change does not wait for it: send "
                                "it again later");
        int rc = nb_operation_write_change(batch, i, now, 0, message, error);
        if (rc != 0)
            return rc;
        struct nb_receipt *receipt = &batch->changes[i].receipt;
        receipt->code = nb_operation_check(nb_buffer_string(message), most, &receipt->error);
        a->count += receipt->code == 0 ? 1 : 0;
    }
    return 0;
}

int nb_queue_submit(struct nb_queue *q, unsigned which, struct nb_batch *batch, size_t most,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error)
{
    struct adding a = {
        .queue = q, .which = which, .messages = calloc(batch->size + 1, sizeof *a.messages)};
    int rc =
        a.messages == NULL ? nb_error_no_memory(error) : write_messages(batch, most, &a, error);
    if (rc == 0 && a.count > 0)
        rc = nb_writer_run(q->engine, add_task, &a, error);
    for (size_t i = 0; a.messages != NULL && i <= batch->size; i++)
        nb_buffer_deinit(&a.messages[i]);
    free(a.messages);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < batch->size; i++)
        if (batch->changes[i].receipt.code == 0)
            tell(&batch->changes[i]);
    done(batch, done_user);
    return 0;
}

/* ---- publishing entries ---------------------------------------------------------------------- */

void nb_queue_read_id(struct nb_string id, struct nb_relayed *relayed)
{
    char text[NB_MESSAGE_ID_MOST];
    uint64_t outbox, entry;
    int length = 0;
    if (id.length >= sizeof text)
        return;
    memcpy(text, id.bytes, id.length);
    text[id.length] = '\0';
    if (sscanf(text, "q%16" SCNx64 "-%16" SCNx64 "%n", &outbox, &entry, &length) != 2 ||
        text[length] != '\0')
        return;
    relayed->outbox = outbox;
    relayed->entry = entry;
}

void nb_queue_delivered(struct nb_queue *q, unsigned which, struct nb_string id)
{
    if (q == NULL)
        return;
    struct line *line = &q->lines[which];
    pthread_mutex_lock(&q->lock);
    for (size_t i = line->delivered; i < line->count; i++)
        if (nb_string_equals(id, line->flying[i].id))
            line->delivered = i + 1;
    pthread_mutex_unlock(&q->lock);
}

/* A line while its first entries are dropped, or more are published. */
struct going {
    struct nb_queue *queue;
    unsigned which;
    size_t dropped; /* entries on their way that are dropped */
    size_t bytes;   /* read so far */
    nb_queue_publish *publish;
    struct nb_replica *replica;
};

static int drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                struct nb_error *error)
{
    const struct going *g = argument;
    const struct line *line = &g->queue->lines[g->which];
    int rc = 0;
    (void)engine;
    for (size_t i = 0; rc == 0 && i < g->dropped; i++)
        rc = nb_message_delete(view, NB_KEPT_QUEUE, g->which, line->flying[i].number, error);
    return rc;
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, drop, argument, error);
}

/* Drops delivered entries; those that it cannot drop now are dropped later. */
static void drop_delivered(struct going *g)
{
    struct nb_queue *q = g->queue;
    struct line *line = &q->lines[g->which];
    if (nb_writer_run(q->engine, drop_task, g, NULL) != 0)
        return;
    pthread_mutex_lock(&q->lock);
    for (size_t i = 0; i < g->dropped; i++)
        line->bytes -= line->flying[i].bytes;
    line->entries -= g->dropped;
    line->count -= g->dropped;
    line->delivered -= g->dropped;
    memmove(line->flying, line->flying + g->dropped, line->count * sizeof *line->flying);
    pthread_mutex_unlock(&q->lock);
}

/* Sends an entry. Returns 1 when enough are sent for now. */
static int send_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct going *g = user;
    struct line *line = &g->queue->lines[g->which];
    if (line->count == FLYING_MOST || g->bytes >= AT_ONCE)
        return 1;
    struct flying *f = &line->flying[line->count];
    *f = (struct flying){.number = one->position, .bytes = one->message.length};
    memcpy(f->id, one->id.bytes, one->id.length);
    pthread_mutex_lock(&g->queue->lock); /* before it can be delivered */
    line->count++;
    pthread_mutex_unlock(&g->queue->lock);
    g->bytes += one->message.length;
    int rc = g->publish(g->replica, f->id, one->message, true, error);
    if (rc == NB_TOO_LARGE) { /* it never fits */
        nb_queue_note(g->queue, g->queue->identity, error);
        nb_queue_delivered(g->queue, g->which, one->id);
        return 0;
    }
    if (rc == 0)
        return 0;
    pthread_mutex_lock(&g->queue->lock);
    line->count--;
    pthread_mutex_unlock(&g->queue->lock);
    return 1;
}

void nb_queue_go_on(struct nb_queue *q, unsigned which, nb_queue_publish *publish,
                    struct nb_replica *replica)
{
    struct nb_error why = {0};
    if (q == NULL)
        return;
    struct going g = {.queue = q, .which = which, .publish = publish, .replica = replica};
    struct line *line = &q->lines[which]; /* only this thread sends entries of the line */
    pthread_mutex_lock(&q->lock);
    uint64_t waiting = line->entries - line->count;
    g.dropped = line->delivered;
    pthread_mutex_unlock(&q->lock);
    if (g.dropped > 0)
        drop_delivered(&g);
    if (waiting == 0 || atomic_load(&q->streams[which]) != NB_QUEUE_THERE)
        return;
    uint64_t sent = line->count > 0 ? line->flying[line->count - 1].number : 0;
    if (nb_message_scan(q->engine, NB_KEPT_QUEUE, which, sent + 1, send_entry, &g, &why) < 0)
        nb_queue_note(q, q->identity, &why);
}

void nb_queue_note(struct nb_queue *q, uint64_t outbox, const struct nb_error *why)
{
    if (q == NULL || outbox != q->identity || why->code == NB_EXISTS)
        return;
    pthread_mutex_lock(&q->lock);
    q->refused++;
    q->why = *why;
    pthread_mutex_unlock(&q->lock);
}

void nb_queue_set(struct nb_queue *q, unsigned which, enum nb_queue_stream stream)
{
    if (q != NULL)
        atomic_store(&q->streams[which], (int)stream);
}

void nb_queue_state(struct nb_queue *q, struct nb_queue_state *state)
{
    pthread_mutex_lock(&q->lock);
    count_all(q, &state->entries, &state->bytes);
    state->refused = q->refused;
    (void)snprintf(state->reason, sizeof state->reason, "%s", q->why.text);
    pthread_mutex_unlock(&q->lock);
}

/* ---- making ---------------------------------------------------------------------------------- */

static int submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                  void *done_user, struct nb_error *error)
{
    struct nb_queue *q = user;
    unsigned which = nb_relay_stream(nb_buffer_string(&batch->name), q->engine->settings.streams);
    return nb_queue_takes(q, which)
               ? nb_queue_submit(q, which, batch, SIZE_MAX, done, done_user, error)
               : nb_relay_refuse(error);
}

int nb_queue_new(struct nb_engine *engine, const struct nb_queue_limits *limits,
                 struct nb_queue **queue, struct nb_error *error)
{
    struct nb_queue *q = calloc(1, sizeof *q);
    struct line *lines = calloc(engine->settings.streams, sizeof *lines);
    if (q == NULL || lines == NULL) {
        free(q);
        free(lines);
        return nb_error_no_memory(error);
    }
    q->engine = engine;
    q->limits = *limits;
    q->lines = lines;
    q->relay = (struct nb_relay){.user = q, .submit = submit};
    pthread_mutex_init(&q->lock, NULL);
    int rc = read_all(q, error);
    if (rc != 0) {
        nb_queue_free(&q);
        return rc;
    }
    for (unsigned i = 0; i < engine->settings.streams; i++)
        engine->relays[i] = &q->relay;
    *queue = q;
    return 0;
}

void nb_queue_free(struct nb_queue **queue)
{
    struct nb_queue *q = *queue;
    *queue = NULL;
    if (q == NULL)
        return;
    for (unsigned i = 0; i < q->engine->settings.streams; i++)
        if (q->engine->relays[i] == &q->relay)
            q->engine->relays[i] = NULL;
    pthread_mutex_destroy(&q->lock);
    free(q->lines);
    free(q);
}

/* ---- entries of another store ---------------------------------------------------------------- */

static int stop_at(void *user, const struct nb_traced *one, struct nb_error *error)
{
    (void)user;
    (void)one;
    (void)error;
    return 1;
}

bool nb_queue_is_left(struct nb_engine *engine)
{
    int found = 0;
    for (unsigned i = 0; found == 0 && i < engine->settings.streams; i++)
        found = nb_message_scan(engine, NB_KEPT_QUEUE, i, 0, stop_at, NULL, NULL);
    return found == 1;
}

struct adopting {
    unsigned stream;
    struct nb_string id, message;
};

static int adopt(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    const struct adopting *a = argument;
    struct nb_queue q = {.engine = engine};
    int rc = read_head(&q, view, error);
    if (rc == 0)
        rc = put_entry(a->stream, q.next, a->id, a->message, view, error);
    return rc == 0 ? put_head(&q, q.next + 1, view, error) : rc;
}

static int adopt_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, adopt, argument, error);
}

int nb_queue_adopt(struct nb_engine *engine, unsigned stream, struct nb_string id,
                   struct nb_string message, struct nb_error *error)
{
    struct adopting a = {stream, id, message};
    return nb_writer_run(engine, adopt_task, &a, error);
}
