/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/key.h"
#include "core/engine/writer.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relayed.h"
#include "core/model/live/state.h"
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
    struct amount all;
    uint64_t entries[NB_STREAMS_MOST];
    uint64_t published[NB_STREAMS_MOST]; /* identity of the queue whose entries were taken last */
};

/* ---- the queue ------------------------------------------------------------------------------- */

/* Counts entries that were added (`sign` 1) or dropped (-1). */
static void count(struct nb_queue *q, unsigned which, int sign, struct amount some)
{
    pthread_mutex_lock(&q->lock);
    q->entries[which] += (uint64_t)sign * some.entries;
    q->all.entries += (uint64_t)sign * some.entries;
    q->all.bytes += (uint64_t)sign * some.bytes;
    pthread_mutex_unlock(&q->lock);
}

/* The entries of one stream. */
struct line {
    struct nb_queue *queue;
    unsigned which;
};

static int count_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    const struct line *line = user;
    struct nb_queue *q = line->queue;
    count(q, line->which, 1, (struct amount){1, one->message.length});
    q->next = one->position < q->next ? q->next : one->position + 1;
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
    for (unsigned i = 0; rc == 0 && i < engine->settings.streams; i++)
        rc = nb_message_scan(engine, NB_KEPT_QUEUE, i, 0, count_entry, &(struct line){q, i}, error);
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

void nb_queue_note(struct nb_queue *q, unsigned which, uint64_t outbox, int code)
{
    pthread_mutex_lock(&q->lock);
    q->refused += outbox != 0 && outbox == q->published[which] && code != NB_EXISTS;
    pthread_mutex_unlock(&q->lock);
}

/* ---- adding entries -------------------------------------------------------------------------- */

/* Whether a change may be queued. Changes that the writer finds due are not: it finds them due
 * again when all earlier changes are applied. */
static bool may_wait(const struct nb_submitted *c)
{
    return c->current == 0 && c->released.length == 0 && nb_submitted_has_document(c);
}

static void tell(struct nb_submitted *c)
{
    c->receipt.status = NB_QUEUED;
    c->receipt.id = nb_buffer_string(&c->id);
    c->receipt.label = nb_buffer_string(&c->label);
    c->receipt.tokens = c->positions;
    c->receipt.truncated = c->truncated;
}

/* The changes of a batch, which are stored in one transaction. */
struct adding {
    struct nb_queue *queue;
    unsigned which;
    struct nb_batch *batch;
    struct amount added;
};

/* Stores one change. If it is too large for a message, it gets its error at once. */
static int add_one(struct adding *a, const struct nb_view *view, size_t index,
                   struct nb_buffer *message, struct nb_error *error)
{
    const struct nb_queue *q = a->queue;
    struct nb_submitted *change = &a->batch->changes[index];
    struct nb_operation o;
    char id[NB_MESSAGE_ID_MOST];
    uint64_t number = q->next + a->added.entries;
    if (!may_wait(change))
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, and this change does not wait for it: send "
                            "it again later");
    int rc = nb_operation_of_change(a->batch, index, 0, &o, error);
    if (rc != 0)
        return rc;
    change->receipt.code = nb_operation_write(&o, message, &change->receipt.error);
    if (change->receipt.code != 0)
        return 0;
    nb_message_id('q', q->identity, number, id);
    struct nb_string bytes = nb_buffer_string(message);
    const struct nb_traced one = {number, nb_message_checksum(nb_string_of(id), bytes),
                                  nb_string_of(id), bytes};
    a->added.entries++;
    a->added.bytes += bytes.length;
    return nb_message_put(view, NB_KEPT_QUEUE, a->which, &one, error);
}

static int add_all(struct nb_engine *engine, struct nb_view *view, void *argument,
                   struct nb_error *error)
{
    struct adding *a = argument;
    struct nb_queue *q = a->queue;
    struct nb_buffer message = {0};
    int rc = 0;
    (void)engine;
    a->added = (struct amount){0, 0};
    for (size_t i = 0; rc == 0 && i < a->batch->size; i++, message.length = 0)
        rc = add_one(a, view, i, &message, error);
    nb_buffer_deinit(&message);
    pthread_mutex_lock(&q->lock); /* meanwhile other threads only lower the counts */
    bool is_full = q->all.entries + a->added.entries > q->limits.entries ||
                   q->all.bytes + a->added.bytes > q->limits.bytes;
    pthread_mutex_unlock(&q->lock);
    if (rc == 0 && is_full)
        rc = nb_error_set(error, NB_STOPPING,
                          "the database is away, and the queue is full: [nodes] queue_bytes and "
                          "queue_entries; send the change again later");
    return rc;
}

static int add_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct adding *a = argument;
    int rc = nb_transaction(engine, a->batch->memory, add_all, a, error);
    if (rc != 0)
        return rc;
    a->queue->next += a->added.entries;
    count(a->queue, a->which, 1, a->added);
    return 0;
}

int nb_queue_submit(struct nb_queue *q, unsigned which, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error)
{
    struct adding a = {.queue = q, .which = which, .batch = batch};
    int rc = nb_writer_run(q->engine, add_task, &a, error);
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
        nb_queue_note(q, which, q->published[which], why.code);
    q->taken[which] = t.taken;
    pthread_mutex_lock(&q->lock);
    q->published[which] = t.outbox != 0 ? t.outbox : q->published[which];
    pthread_mutex_unlock(&q->lock);
    return t.taken.entries;
}

static int drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                struct nb_error *error)
{
    const struct line *line = argument;
    (void)engine;
    return nb_message_drop(view, NB_KEPT_QUEUE, line->which,
                           line->queue->taken[line->which].entries, error);
}

void nb_queue_drop(struct nb_queue *q, unsigned which)
{
    struct line line = {q, which};
    if (nb_writer_transact(q->engine, 0, drop, &line, NULL) == 0)
        count(q, which, -1, q->taken[which]);
}

/* ---- entries of another store ---------------------------------------------------------------- */

struct handing {
    struct nb_engine *to;
    struct nb_queue *queue; /* the queue of the new store */
    unsigned stream;
    uint64_t
        agreed; /* last position at which both traces have the same message; UINT64_MAX: none */
    const struct nb_traced *one; /* a message of the old store */
    uint64_t *count;             /* of messages that are handed over now */
};

static int adopt(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    const struct handing *h = argument;
    struct nb_traced one = *h->one;
    (void)engine;
    one.position = h->queue->next++;
    return nb_message_put(view, NB_KEPT_QUEUE, h->stream, &one, error);
}

static int hand_one(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    ++*h->count;
    h->one = one;
    return nb_writer_transact(h->to, one->message.length, adopt, h, error);
}

static int compare_first(void *user, const struct nb_traced *there, struct nb_error *error)
{
    struct handing *h = user;
    (void)error;
    if (h->one == NULL && there->position == 1) /* the trace has the whole stream */
        h->agreed = 0;
    if (h->one != NULL && there->position == h->one->position &&
        there->checksum == h->one->checksum)
        h->agreed = there->position;
    return 1;
}

/* Compares a message of the old trace with that of the new one. */
static int compare(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    h->one = one;
    int rc = nb_message_scan(h->to, NB_KEPT_TRACE, h->stream, one == NULL ? 0 : one->position,
                             compare_first, h, error);
    return rc < 0 ? rc : 0;
}

/* Hands over the messages after the last one at which the traces agree: the database has lost them.
 * If the traces have nothing in common, this node was away for a long time and has lost nothing.
 * The database refuses an id that it has, so proposals of all nodes are made once, too. */
static int hand_stream(struct nb_engine *from, struct handing *h, struct nb_error *error)
{
    h->agreed = UINT64_MAX;
    int rc = compare(h, NULL, error);
    if (rc == 0)
        rc = nb_message_scan(from, NB_KEPT_TRACE, h->stream, 0, compare, h, error);
    if (rc == 0 && h->agreed != UINT64_MAX)
        rc = nb_message_scan(from, NB_KEPT_TRACE, h->stream, h->agreed + 1, hand_one, h, error);
    return rc;
}

int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *queued, uint64_t *lost,
                 struct nb_error *error)
{
    struct handing h = {.to = to, .count = lost};
    unsigned streams = to->settings.streams;
    *lost = *queued = 0;
    if (from->stream_states.is_known && from->stream_states.streams != streams)
        return nb_error_set(error, NB_CONFLICT, "the stores have other numbers of streams");
    const struct nb_queue_limits none = {0, 0};
    int rc = nb_queue_new(to, &none, &h.queue, error);
    for (h.stream = 0; rc == 0 && h.stream < streams; h.stream++)
        rc = hand_stream(from, &h, error);
    h.count = queued;
    for (h.stream = 0; rc == 0 && h.stream < streams; h.stream++)
        rc = nb_message_scan(from, NB_KEPT_QUEUE, h.stream, 0, hand_one, &h, error);
    nb_queue_free(&h.queue);
    return rc;
}
