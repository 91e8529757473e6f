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
#include "core/engine/unjoined.h"
#include "core/engine/writer.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/model/live/transaction.h"
#include "core/nodes/carry.h"

enum {
    HEAD_BYTES = 5,        /* of the key "queue" */
    KEY_BYTES = 14,        /* with a byte of the stream and the number */
    PREFIX_BYTES = 6,      /* of a line */
    FLYING_MOST = 512,     /* entries of a line on their way, */
    AT_ONCE = 4 << 20,     /* and bytes of those that are read at once */
    DROPPED_AT_ONCE = 512, /* with one transaction */
};

/* An entry on its way whose id does not follow from its number. */
struct adopted {
    uint64_t number;
    char id[NB_MESSAGE_ID_MOST];
};

/* What waits for one stream. */
struct line {
    uint64_t entries, bytes;
    uint64_t sent, delivered; /* the last numbers of them; in the order of the numbers */
    size_t flying;            /* sent and not dropped */
    struct adopted adopted[FLYING_MOST];
    size_t adopted_count;
};

/* A batch of messages that a thread adds. */
struct adding {
    struct adding *next;
    unsigned which;
    const struct nb_string *messages;
    size_t count;
    bool is_done;
    int code;
    struct nb_error error;
};

struct nb_queue {
    struct nb_engine *engine;
    struct nb_queue_limits limits;
    uint64_t identity;
    struct nb_relay relay; /* until there is a replica */
    atomic_int streams[NB_STREAMS_MOST];
    uint64_t next;        /* number; the writer's */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t added;
    struct adding *first, **last; /* that wait for the one that adds for all */
    bool is_adding;
    uint64_t refused;
    struct nb_error why;
    struct line *lines; /* of each stream */
};

/* ---- in the store ---------------------------------------------------------------------------- */

static const struct nb_string HEAD = {"queue", HEAD_BYTES};

static struct nb_string key_of(unsigned which, uint64_t number, char key[KEY_BYTES])
{
    uint64_t big = htobe64(number);
    memcpy(key, HEAD.bytes, HEAD_BYTES);
    key[HEAD_BYTES] = (char)which;
    memcpy(key + PREFIX_BYTES, &big, sizeof big);
    return (struct nb_string){key, KEY_BYTES};
}

static uint64_t number_of(struct nb_string key)
{
    uint64_t big = 0;
    memcpy(&big, key.bytes + PREFIX_BYTES, sizeof big);
    return be64toh(big);
}

/* A new one if there is none. */
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
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = &value};
    char key[KEY_BYTES];
    nb_pack_string(&w, id);
    nb_pack_bytes(&w, message.bytes, message.length);
    int rc = w.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, key_of(which, number, key),
                                        nb_buffer_string(&value), error);
    nb_buffer_deinit(&value);
    return rc;
}

static int count_entry(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct line *line = user;
    (void)key;
    (void)error;
    line->entries++;
    line->bytes += value.length;
    return 0;
}

static int read_all(struct nb_queue *q, struct nb_error *error)
{
    struct nb_view view;
    char key[KEY_BYTES];
    int rc = nb_store_snapshot(q->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_head(q, &view, error);
    for (unsigned i = 0; rc == 0 && i < q->engine->settings.streams; i++)
        rc = nb_store_scan(&view, NB_TABLE_META, key_of(i, 0, key), PREFIX_BYTES, count_entry,
                           &q->lines[i], error);
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- in -------------------------------------------------------------------------------------- */

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

/* What was looked for here is found again when all that is before it is made. */
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

/* All that threads wait for, in one transaction. */
struct round {
    struct nb_queue *queue;
    struct adding *first;
    uint64_t next;
    uint64_t entries, bytes;
};

/* Whether it has room; else its thread is told. */
static bool has_room(struct round *r, struct adding *a)
{
    const struct nb_queue_limits *limits = &r->queue->limits;
    uint64_t bytes = 0;
    for (size_t i = 0; i < a->count; i++)
        bytes += a->messages[i].length;
    bool fits = r->entries + a->count <= limits->entries && r->bytes + bytes <= limits->bytes;
    a->code = fits ? 0
                   : nb_error_set(&a->error, NB_STOPPING,
                                  "the database is away, and the queue is full: [nodes] "
                                  "queue_bytes and queue_entries; send the change again later");
    r->entries += fits ? a->count : 0;
    r->bytes += fits ? bytes : 0;
    return fits;
}

static int write_round(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct round *r = argument;
    int rc = 0;
    (void)engine;
    r->next = r->queue->next;
    for (struct adding *a = r->first; rc == 0 && a != NULL; a = a->next)
        for (size_t i = 0; rc == 0 && a->code == 0 && i < a->count; i++)
            rc = put_entry(a->which, r->next++, nb_string_of(""), a->messages[i], view, error);
    return rc != 0 ? rc : put_head(r->queue, r->next, view, error);
}

static void count_all(const struct nb_queue *q, uint64_t *entries, uint64_t *bytes)
{
    *entries = *bytes = 0;
    for (unsigned i = 0; i < q->engine->settings.streams; i++) {
        *entries += q->lines[i].entries;
        *bytes += q->lines[i].bytes;
    }
}

static int add_round(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct round *r = argument;
    struct nb_queue *q = r->queue;
    pthread_mutex_lock(&q->lock);
    count_all(q, &r->entries, &r->bytes);
    pthread_mutex_unlock(&q->lock);
    for (struct adding *a = r->first; a != NULL; a = a->next)
        (void)has_room(r, a);
    int rc = nb_transaction(engine, r->bytes, write_round, r, error);
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&q->lock);
    q->next = r->next;
    for (struct adding *a = r->first; a != NULL; a = a->next)
        for (size_t i = 0; a->code == 0 && i < a->count; i++) {
            q->lines[a->which].entries++;
            q->lines[a->which].bytes += a->messages[i].length + 1; /* as count_entry */
        }
    pthread_mutex_unlock(&q->lock);
    return 0;
}

/* The first thread adds for all that come meanwhile. With the lock held. */
static void add_for_all(struct nb_queue *q)
{
    q->is_adding = true;
    while (q->first != NULL) {
        struct round r = {.queue = q, .first = q->first};
        struct nb_error why = {0};
        q->first = NULL;
        q->last = &q->first;
        pthread_mutex_unlock(&q->lock);
        int rc = nb_writer_run(q->engine, add_round, &r, &why);
        pthread_mutex_lock(&q->lock);
        for (struct adding *a = r.first, *next; a != NULL; a = next) {
            next = a->next;
            if (rc != 0) {
                a->code = rc;
                a->error = why;
            }
            a->is_done = true; /* its thread may end at once when the lock is free */
        }
        pthread_cond_broadcast(&q->added);
    }
    q->is_adding = false;
}

static int add(struct nb_queue *q, struct adding *a, struct nb_error *error)
{
    pthread_mutex_lock(&q->lock);
    *q->last = a;
    q->last = &a->next;
    if (!q->is_adding)
        add_for_all(q);
    while (!a->is_done)
        pthread_cond_wait(&q->added, &q->lock);
    pthread_mutex_unlock(&q->lock);
    return a->code == 0 ? 0 : nb_error_set(error, a->code, "%s", a->error.text);
}

struct writing {
    struct nb_buffer *messages;
    struct nb_string *strings;
    size_t count;
};

/* What is too large for a message has its answer. */
static int write_messages(struct nb_batch *batch, size_t most, struct writing *w,
                          struct nb_error *error)
{
    int64_t now = nb_clock_now();
    for (size_t i = 0; i < batch->size; i++) {
        if (!may_wait(&batch->changes[i]))
            return nb_error_set(error, NB_STOPPING,
                                "the database is away, and this change does not wait for it: send "
                                "it again later");
        int rc = nb_carry_write(batch, i, now, 0, &w->messages[i], error);
        if (rc != 0)
            return rc;
        struct nb_receipt *receipt = &batch->changes[i].receipt;
        receipt->code =
            nb_operation_check(nb_buffer_string(&w->messages[i]), most, &receipt->error);
        if (receipt->code == 0)
            w->strings[w->count++] = nb_buffer_string(&w->messages[i]);
    }
    return 0;
}

static int add_batch(struct nb_queue *q, unsigned which, struct nb_batch *batch, size_t most,
                     struct nb_error *error)
{
    struct writing w = {.messages = calloc(batch->size, sizeof *w.messages),
                        .strings = calloc(batch->size, sizeof *w.strings)};
    int rc = w.messages == NULL || w.strings == NULL ? nb_error_no_memory(error)
                                                     : write_messages(batch, most, &w, error);
    struct adding adding = {.which = which, .messages = w.strings, .count = w.count};
    if (rc == 0 && w.count > 0)
        rc = add(q, &adding, error);
    for (size_t i = 0; w.messages != NULL && i < batch->size; i++)
        nb_buffer_deinit(&w.messages[i]);
    free(w.messages);
    free(w.strings);
    return rc;
}

void nb_queue_submit(struct nb_queue *q, unsigned which, struct nb_batch *batch, size_t most,
                     void (*done)(struct nb_batch *, void *), void *done_user)
{
    struct nb_error why = {0};
    int rc = add_batch(q, which, batch, most, &why);
    for (size_t i = 0; i < batch->size; i++) {
        struct nb_receipt *receipt = &batch->changes[i].receipt;
        if (rc != 0) {
            receipt->code = rc;
            receipt->error = why;
        } else if (receipt->code == 0) {
            tell(&batch->changes[i]);
        }
    }
    done(batch, done_user);
}

/* ---- out ------------------------------------------------------------------------------------- */

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
    struct nb_relayed relayed = {.outbox = 0};
    if (q == NULL)
        return;
    struct line *line = &q->lines[which];
    nb_queue_read_id(id, &relayed);
    pthread_mutex_lock(&q->lock);
    uint64_t number = relayed.outbox == q->identity ? relayed.entry : 0;
    for (size_t i = 0; number == 0 && i < line->adopted_count; i++)
        if (nb_string_equals(id, line->adopted[i].id))
            number = line->adopted[i].number;
    line->delivered = number > line->delivered ? number : line->delivered;
    pthread_mutex_unlock(&q->lock);
}

/* The entries of a line up to a number; or those behind it, to be published. */
struct reading {
    struct nb_queue *queue;
    unsigned which;
    uint64_t up_to;
    size_t count, bytes; /* that are read */
    uint64_t numbers[DROPPED_AT_ONCE];
    nb_queue_publish *publish;
    struct nb_replica *replica;
    struct nb_buffer message;
};

static int take_dropped(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct reading *r = user;
    uint64_t number = number_of(key);
    (void)error;
    if (number > r->up_to || r->count == DROPPED_AT_ONCE)
        return 1;
    r->numbers[r->count++] = number;
    r->bytes += value.length;
    return 0;
}

static int drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                struct nb_error *error)
{
    struct reading *r = argument;
    char key[KEY_BYTES];
    (void)engine;
    r->count = r->bytes = 0;
    int rc = nb_store_scan(view, NB_TABLE_META, key_of(r->which, 0, key), PREFIX_BYTES,
                           take_dropped, r, error);
    for (size_t i = 0; rc >= 0 && i < r->count; i++)
        rc = nb_store_delete(view, NB_TABLE_META, key_of(r->which, r->numbers[i], key), error);
    return rc < 0 ? rc : 0;
}

static int drop_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    return nb_transaction(engine, 0, drop, argument, error);
}

/* What cannot be dropped now is dropped later. */
static void drop_delivered(struct nb_queue *q, struct reading *r)
{
    struct line *line = &q->lines[r->which];
    if (nb_writer_run(q->engine, drop_task, r, NULL) != 0)
        return;
    pthread_mutex_lock(&q->lock);
    line->entries -= r->count < line->entries ? r->count : line->entries;
    line->bytes -= line->entries > 0 && r->bytes < line->bytes ? r->bytes : line->bytes;
    line->flying -= r->count < line->flying ? r->count : line->flying;
    size_t kept = 0;
    for (size_t i = 0; i < line->adopted_count; i++)
        if (line->adopted[i].number > r->up_to)
            line->adopted[kept++] = line->adopted[i];
    line->adopted_count = kept;
    pthread_mutex_unlock(&q->lock);
}

/* Sets the id and the message, which borrows from the value. */
static int read_entry(uint64_t identity, struct nb_string key, struct nb_string value,
                      struct adopted *one, bool *is_adopted, struct nb_string *message,
                      struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    struct nb_string given = nb_unpack_string(&u);
    *one = (struct adopted){.number = key.length == KEY_BYTES ? number_of(key) : 0};
    if (u.failed || one->number == 0 || given.length >= sizeof one->id)
        return nb_error_set(error, NB_CORRUPT, "a change that was queued does not read back");
    *is_adopted = given.length > 0;
    if (*is_adopted)
        memcpy(one->id, given.bytes, given.length);
    else
        (void)snprintf(one->id, sizeof one->id, "q%016" PRIx64 "-%" PRIx64, identity, one->number);
    *message = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    return 0;
}

/* Returns 1 when it is enough for now. */
static int send_entry(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct reading *r = user;
    struct line *line = &r->queue->lines[r->which];
    struct adopted one;
    struct nb_string message = {"", 0};
    bool is_adopted = false;
    if (line->flying >= FLYING_MOST || r->bytes >= AT_ONCE)
        return 1;
    int rc = read_entry(r->queue->identity, key, value, &one, &is_adopted, &message, error);
    if (rc != 0)
        return rc;
    r->message.length = 0;
    if (nb_buffer_append(&r->message, message.bytes, message.length) != 0)
        return nb_error_no_memory(error);
    pthread_mutex_lock(&r->queue->lock); /* before it can be delivered */
    if (is_adopted && line->adopted_count < FLYING_MOST)
        line->adopted[line->adopted_count++] = one;
    line->sent = one.number;
    line->flying++;
    pthread_mutex_unlock(&r->queue->lock);
    r->bytes += value.length;
    rc = r->publish(r->replica, one.id, &r->message, error);
    if (rc == NB_TOO_LARGE) { /* it never fits */
        nb_queue_note(r->queue, r->queue->identity, error);
        nb_queue_delivered(r->queue, r->which, nb_string_of(one.id));
        return 0;
    }
    if (rc == 0)
        return 0;
    pthread_mutex_lock(&r->queue->lock);
    line->sent = one.number - 1;
    line->flying--;
    line->adopted_count -= is_adopted ? 1 : 0;
    pthread_mutex_unlock(&r->queue->lock);
    return 1;
}

void nb_queue_go_on(struct nb_queue *q, unsigned which, nb_queue_publish *publish,
                    struct nb_replica *replica)
{
    struct nb_view view;
    struct nb_error why = {0};
    char key[KEY_BYTES];
    if (q == NULL)
        return;
    struct reading r = {.queue = q, .which = which, .publish = publish, .replica = replica};
    struct line *line = &q->lines[which];
    pthread_mutex_lock(&q->lock);
    uint64_t entries = line->entries, sent = line->sent;
    size_t flying = line->flying;
    r.up_to = line->delivered;
    pthread_mutex_unlock(&q->lock);
    if (entries == 0)
        return;
    if (r.up_to > 0)
        drop_delivered(q, &r);
    r.bytes = 0;
    if (atomic_load(&q->streams[which]) != NB_QUEUE_THERE || flying >= FLYING_MOST ||
        nb_store_snapshot(q->engine->store, &view, NULL) != 0)
        return;
    sent = sent > r.up_to ? sent : r.up_to;
    if (nb_store_scan(&view, NB_TABLE_META, key_of(which, sent + 1, key), PREFIX_BYTES, send_entry,
                      &r, &why) < 0)
        nb_queue_note(q, q->identity, &why);
    nb_store_snapshot_end(&view);
    nb_buffer_deinit(&r.message);
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

static void submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                   void *done_user)
{
    struct nb_queue *q = user;
    unsigned which = nb_relay_stream(nb_buffer_string(&batch->name), q->engine->settings.streams);
    if (nb_queue_takes(q, which))
        nb_queue_submit(q, which, batch, SIZE_MAX, done, done_user);
    else
        nb_unjoined.submit(NULL, batch, done, done_user);
}

static int ask(void *user, const struct nb_errand *errand, struct nb_errand_done *done,
               struct nb_error *error)
{
    (void)user;
    return nb_unjoined.ask(NULL, errand, done, error);
}

static int catch_up(void *user, struct nb_error *error)
{
    (void)user;
    return nb_unjoined.catch_up(NULL, error);
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
    q->last = &q->first;
    q->relay = (struct nb_relay){q,
                                 submit,
                                 ask,
                                 catch_up,
                                 nb_unjoined.lacks,
                                 nb_unjoined.propose,
                                 nb_unjoined.propose_errand};
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->added, NULL);
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
            q->engine->relays[i] = &nb_unjoined;
    pthread_cond_destroy(&q->added);
    pthread_mutex_destroy(&q->lock);
    free(q->lines);
    free(q);
}

static int is_entry(void *user, struct nb_string key, struct nb_string value,
                    struct nb_error *error)
{
    (void)user;
    (void)value;
    (void)error;
    return key.length == KEY_BYTES;
}

bool nb_queue_is_left(struct nb_engine *engine)
{
    struct nb_view view;
    if (nb_store_snapshot(engine->store, &view, NULL) != 0)
        return false;
    int found = nb_store_scan(&view, NB_TABLE_META, HEAD, HEAD_BYTES, is_entry, NULL, NULL);
    nb_store_snapshot_end(&view);
    return found == 1;
}

struct scanning {
    uint64_t identity;
    unsigned stream;
    nb_queue_visit *visit;
    void *user;
};

static int visit_entry(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct scanning *s = user;
    struct adopted one;
    struct nb_string message = {"", 0};
    bool is_adopted = false;
    int rc = read_entry(s->identity, key, value, &one, &is_adopted, &message, error);
    return rc != 0 ? rc : s->visit(s->user, s->stream, nb_string_of(one.id), message, error);
}

int nb_queue_scan(struct nb_engine *engine, nb_queue_visit *visit, void *user,
                  struct nb_error *error)
{
    struct nb_queue q = {.engine = engine};
    struct scanning s = {.visit = visit, .user = user};
    struct nb_view view;
    char key[KEY_BYTES];
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_head(&q, &view, error);
    s.identity = q.identity;
    for (s.stream = 0; rc == 0 && s.stream < engine->settings.streams; s.stream++)
        rc = nb_store_scan(&view, NB_TABLE_META, key_of(s.stream, 0, key), PREFIX_BYTES,
                           visit_entry, &s, error);
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- what another store has left ------------------------------------------------------------- */

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
