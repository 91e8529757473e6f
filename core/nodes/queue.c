/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/engine/writer.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/state.h"
#include "core/model/live/stream_states.h"
#include "core/nodes/operation.h"

/* A number of entries and their bytes. */
struct amount {
    uint64_t entries, bytes;
};

struct nb_queue {
    struct nb_engine *engine;
    struct nb_queue_limits limits;
    bool is_used;
    uint64_t identity;                    /* a new random number at each start */
    uint64_t next;                        /* number of the next entry; for the writer only */
    struct amount taken[NB_STREAMS_MOST]; /* taken last from each line; for its follower only */
    pthread_mutex_t lock;                 /* guards the members below */
    uint64_t refused;
    struct nb_error why;
    struct amount all;
    uint64_t entries[NB_STREAMS_MOST];
    uint64_t published[NB_STREAMS_MOST]; /* identity of the queue whose entries were taken last */
};

/* ---- the queue ------------------------------------------------------------------------------- */

/* Counts entries that were added (`sign` 1) or dropped (-1). With the lock held. */
static void count(struct nb_queue *q, unsigned which, int sign, struct amount some)
{
    q->entries[which] += (uint64_t)sign * some.entries;
    q->all.entries += (uint64_t)sign * some.entries;
    q->all.bytes += (uint64_t)sign * some.bytes;
}

struct counting {
    struct amount waiting;
    uint64_t last; /* number of the last entry */
};

static int count_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct counting *c = user;
    c->waiting.entries++;
    c->waiting.bytes += one->message.length;
    c->last = one->position;
    return one->id.length < NB_MESSAGE_ID_MOST
               ? 0
               : nb_error_set(error, NB_CORRUPT, "a change that was queued does not read back");
}

int nb_queue_new(struct nb_engine *engine, const struct nb_queue_limits *limits,
                 struct nb_queue **queue, struct nb_error *error)
{
    struct nb_queue *q = calloc(1, sizeof *q);
    if (q == NULL)
        return nb_error_no_memory(error);
    q->engine = engine;
    q->limits = *limits;
    q->identity = nb_key_random();
    q->next = 1;
    pthread_mutex_init(&q->lock, NULL);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < engine->settings.streams; i++) {
        struct counting c = {.last = 0};
        rc = nb_message_scan(engine, NB_KEPT_QUEUE, i, 0, count_entry, &c, error);
        count(q, i, 1, c.waiting);
        q->next = c.last < q->next ? q->next : c.last + 1;
    }
    q->is_used = limits->entries + q->all.entries > 0;
    if (rc != 0)
        nb_queue_free(&q);
    *queue = q;
    return rc;
}

void nb_queue_free(struct nb_queue **queue)
{
    if (*queue != NULL)
        pthread_mutex_destroy(&(*queue)->lock);
    free(*queue);
    *queue = NULL;
}

void nb_queue_state(struct nb_queue *q, struct nb_queue_state *state)
{
    pthread_mutex_lock(&q->lock);
    *state = (struct nb_queue_state){.is_used = q->is_used,
                                     .entries = q->all.entries,
                                     .bytes = q->all.bytes,
                                     .refused = q->refused};
    (void)snprintf(state->reason, sizeof state->reason, "%s", q->why.text);
    pthread_mutex_unlock(&q->lock);
}

static bool has(struct nb_queue *q, unsigned which)
{
    pthread_mutex_lock(&q->lock);
    bool has_some = q->entries[which] > 0;
    pthread_mutex_unlock(&q->lock);
    return has_some;
}

bool nb_queue_takes(struct nb_queue *q, unsigned which, bool is_there)
{
    return is_there ? has(q, which) : q->limits.entries > 0;
}

void nb_queue_note(struct nb_queue *q, unsigned which, uint64_t outbox, const struct nb_error *why)
{
    pthread_mutex_lock(&q->lock);
    if (outbox != 0 && outbox == q->published[which] && why->code != NB_EXISTS) {
        q->refused++;
        q->why = *why;
    }
    pthread_mutex_unlock(&q->lock);
}

/* ---- adding entries -------------------------------------------------------------------------- */

/* Whether a change may be queued. Changes that the writer finds due are not: it finds them due
 * again when all earlier changes are applied. */
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

/* The messages of a batch, which are stored in one transaction. */
struct adding {
    struct nb_queue *queue;
    unsigned which;
    struct nb_buffer *messages; /* of the changes that fit into a message */
    size_t count;
};

static int put_messages(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    const struct adding *a = argument;
    uint64_t next = a->queue->next;
    char id[NB_MESSAGE_ID_MOST];
    int rc = 0;
    (void)engine;
    for (size_t i = 0; rc == 0 && i < a->count; i++, next++) {
        nb_message_id('q', a->queue->identity, next, id);
        struct nb_string message = nb_buffer_string(&a->messages[i]);
        const struct nb_traced one = {next, nb_message_checksum(nb_string_of(id), message),
                                      nb_string_of(id), message};
        rc = nb_message_put(view, NB_KEPT_QUEUE, a->which, &one, error);
    }
    return rc;
}

static int add_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct adding *a = argument;
    struct nb_queue *q = a->queue;
    uint64_t more = 0;
    for (size_t i = 0; i < a->count; i++)
        more += a->messages[i].length;
    pthread_mutex_lock(&q->lock); /* meanwhile other threads only lower the counts */
    bool is_full =
        q->all.entries + a->count > q->limits.entries || q->all.bytes + more > q->limits.bytes;
    pthread_mutex_unlock(&q->lock);
    if (is_full)
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, and the queue is full: [nodes] queue_bytes and "
                            "queue_entries; send the change again later");
    int rc = nb_transaction(engine, more, put_messages, a, error);
    if (rc != 0)
        return rc;
    q->next += a->count;
    pthread_mutex_lock(&q->lock);
    count(q, a->which, 1, (struct amount){a->count, more});
    pthread_mutex_unlock(&q->lock);
    return 0;
}

/* Writes the messages. A change that is too large for a message gets its error at once. */
static int write_messages(struct nb_batch *batch, struct adding *a, struct nb_error *error)
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
        receipt->code = nb_operation_check(nb_buffer_string(message), &receipt->error);
        a->count += receipt->code == 0 ? 1 : 0;
    }
    return 0;
}

int nb_queue_submit(struct nb_queue *q, unsigned which, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error)
{
    struct adding a = {
        .queue = q, .which = which, .messages = calloc(batch->size + 1, sizeof *a.messages)};
    int rc = a.messages == NULL ? nb_error_no_memory(error) : write_messages(batch, &a, error);
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

struct taking {
    nb_queue_visit *visit;
    void *user;
    struct amount taken;
    uint64_t outbox;
    size_t most, bytes;
};

static int take_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct taking *t = user;
    uint64_t entry;
    (void)error;
    (void)nb_message_id_read(one->id, 'q', &t->outbox, &entry);
    t->visit(t->user, one->id, one->message);
    t->taken.bytes += one->message.length;
    return ++t->taken.entries == t->most || t->taken.bytes >= t->bytes ? 1 : 0;
}

size_t nb_queue_take(struct nb_queue *q, unsigned which, size_t most, size_t bytes,
                     nb_queue_visit *visit, void *user)
{
    struct taking t = {.visit = visit, .user = user, .most = most, .bytes = bytes};
    struct nb_error why = {0};
    if (has(q, which) &&
        nb_message_scan(q->engine, NB_KEPT_QUEUE, which, 0, take_entry, &t, &why) < 0)
        nb_queue_note(q, which, q->published[which], &why);
    q->taken[which] = t.taken;
    pthread_mutex_lock(&q->lock);
    q->published[which] = t.outbox != 0 ? t.outbox : q->published[which];
    pthread_mutex_unlock(&q->lock);
    return t.taken.entries;
}

struct dropping {
    struct nb_queue *queue;
    unsigned which;
};

static int drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                struct nb_error *error)
{
    const struct dropping *d = argument;
    (void)engine;
    return nb_message_drop(view, NB_KEPT_QUEUE, d->which, d->queue->taken[d->which].entries, error);
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, drop, argument, error);
}

void nb_queue_drop(struct nb_queue *q, unsigned which)
{
    struct dropping d = {q, which};
    if (nb_writer_run(q->engine, drop_task, &d, NULL) != 0)
        return;
    pthread_mutex_lock(&q->lock);
    count(q, which, -1, q->taken[which]);
    pthread_mutex_unlock(&q->lock);
}

/* ---- entries of another store ---------------------------------------------------------------- */

/* An entry of the new store's trace, the last messages that it has applied. */
struct known {
    uint64_t position, checksum, id;
};

struct handing {
    struct nb_engine *to;
    struct nb_queue *queue; /* the queue of the new store */
    unsigned stream;
    struct known *known;
    size_t known_count, room;
    uint64_t agreed;             /* last position at which both traces have the same message */
    const struct nb_traced *one; /* the entry to queue now */
    uint64_t lost, queued;
};

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct known *)a)->id, y = ((const struct known *)b)->id;
    return (x > y) - (x < y);
}

static int adopt(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    const struct handing *h = argument;
    struct nb_traced one = *h->one;
    (void)engine;
    one.position = h->queue->next++;
    return nb_message_put(view, NB_KEPT_QUEUE, h->stream, &one, error);
}

static int adopt_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, adopt, argument, error);
}

static int hand_one(struct handing *h, const struct nb_traced *one, struct nb_error *error)
{
    h->one = one;
    return nb_writer_run(h->to, adopt_task, h, error);
}

static int hand_queued(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    h->queued++;
    return hand_one(h, one, error);
}

static int note_known(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    if (nb_array_reserve(&h->known, &h->room, h->known_count + 1, sizeof *h->known) != 0)
        return nb_error_no_memory(error);
    h->known[h->known_count++] =
        (struct known){one->position, one->checksum, XXH3_64bits(one->id.bytes, one->id.length)};
    return 0;
}

/* Sets h->agreed if both traces have this message. h->known must be in the order of positions,
 * which have no gaps. */
static int find_agreed(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    uint64_t at = one->position - h->known[0].position; /* wraps if the entry is before all */
    (void)error;
    if (at < h->known_count && h->known[at].checksum == one->checksum)
        h->agreed = one->position;
    return 0;
}

static int hand_lost(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    const struct known wanted = {.id = XXH3_64bits(one->id.bytes, one->id.length)};
    struct nb_operation o;
    if (bsearch(&wanted, h->known, h->known_count, sizeof wanted, by_id) != NULL)
        return 0;
    int rc = nb_operation_read(&o, one->message, error);
    nb_operation_deinit(&o);
    if (rc == NB_NO_MEMORY)
        return rc;
    if (rc != 0 || o.relayed_change.kind == NB_RELAYED_CHANGE_COMPARE)
        return 0;
    h->lost++;
    return hand_one(h, one, error);
}

/* Hands over the lost changes of a stream. If the traces have nothing in common, this node was away
 * for a long time and has lost nothing. */
static int hand_stream(struct nb_engine *from, struct handing *h, struct nb_error *error)
{
    h->known_count = 0;
    h->agreed = UINT64_MAX;
    int rc = nb_message_scan(h->to, NB_KEPT_TRACE, h->stream, 0, note_known, h, error);
    if (rc != 0 || h->known_count == 0)
        return rc;
    if (h->known[0].position == 1) /* the trace has the whole stream */
        h->agreed = 0;
    rc = nb_message_scan(from, NB_KEPT_TRACE, h->stream, 0, find_agreed, h, error);
    qsort(h->known, h->known_count, sizeof *h->known, by_id);
    if (rc == 0 && h->agreed != UINT64_MAX)
        rc = nb_message_scan(from, NB_KEPT_TRACE, h->stream, h->agreed + 1, hand_lost, h, error);
    return rc;
}

int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error)
{
    struct handing h = {.to = to};
    unsigned streams = to->settings.streams;
    if (from->stream_states.is_known && from->stream_states.streams != streams)
        return nb_error_set(error, NB_CONFLICT, "the stores have other numbers of streams");
    const struct nb_queue_limits none = {0, 0};
    int rc = nb_queue_new(to, &none, &h.queue, error);
    for (h.stream = 0; rc == 0 && h.stream < streams; h.stream++)
        rc = hand_stream(from, &h, error);
    free(h.known);
    for (h.stream = 0; rc == 0 && h.stream < streams; h.stream++)
        rc = nb_message_scan(from, NB_KEPT_QUEUE, h.stream, 0, hand_queued, &h, error);
    nb_queue_free(&h.queue);
    *lost = h.lost;
    *queued = h.queued;
    return rc;
}
