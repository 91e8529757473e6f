/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that wait in the store while the database is away, and those that one store hands to
 * another (replica.h).
 */
#include <stdlib.h>

#include "core/model/model_transaction.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "core/writer/writer.h"

/* ---- adding entries -------------------------------------------------------------------------- */

/* Entries of a queue, and the number of the next one. */
struct amount {
    uint64_t entries, bytes, next;
};

static int count_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct amount *a = user;
    (void)error;
    *a = (struct amount){a->entries + 1, a->bytes + one->message.length, one->position + 1};
    return 0;
}

int nb_queue_count(struct nb_replica *r, struct nb_error *error)
{
    struct amount a = {0, 0, 1};
    int rc =
        nb_message_scan(r->engine, NB_KEPT_QUEUE, r->settings.stream, 0, count_entry, &a, error);
    atomic_store(&r->queued, a.entries);
    atomic_store(&r->queued_bytes, a.bytes);
    r->next_entry = a.next;
    return rc;
}

/* The changes of a batch, which are stored in one transaction. */
struct adding {
    struct nb_replica *replica;
    struct nb_batch *batch;
    struct amount added;
};

/* Stores one change. If it is too large for a message, it gets its error at once. Changes that the
 * writer finds due are not queued: it finds them due again when all earlier ones are applied. */
static int add_one(struct adding *a, const struct nb_view *view, size_t index,
                   struct nb_buffer *message, struct nb_error *error)
{
    const struct nb_replica *r = a->replica;
    struct nb_submitted *c = &a->batch->changes[index];
    struct nb_receipt *receipt = &c->receipt;
    struct nb_operation o;
    char id[NB_MESSAGE_ID_MOST];
    if (c->current != 0 || c->released.length > 0 || !nb_submitted_has_document(c))
        return nb_error_set(error, NB_STOPPING,
                            "the database is away, and this change does not wait for it: send "
                            "it again later");
    int rc = nb_operation_of_change(a->batch, index, 0, &o, error);
    if (rc != 0)
        return rc;
    receipt->code = nb_operation_write(&o, message, &receipt->error);
    if (receipt->code != 0)
        return 0;
    nb_message_id('q', r->instance, a->added.next, id);
    struct nb_string bytes = nb_buffer_string(message);
    const struct nb_traced one = {a->added.next, nb_message_checksum(nb_string_of(id), bytes),
                                  nb_string_of(id), bytes};
    (void)count_entry(&a->added, &one, NULL);
    return nb_message_put(view, NB_KEPT_QUEUE, r->settings.stream, &one, error);
}

static int add_all(struct nb_engine *engine, struct nb_view *view, void *argument,
                   struct nb_error *error)
{
    struct adding *a = argument;
    const struct nb_replica *r = a->replica;
    struct nb_buffer message = {0};
    int rc = 0;
    (void)engine;
    a->added = (struct amount){.next = r->next_entry};
    for (size_t i = 0; rc == 0 && i < a->batch->size; i++, message.length = 0)
        rc = add_one(a, view, i, &message, error);
    nb_buffer_deinit(&message);
    /* meanwhile the follower only lowers the numbers */
    if (rc == 0 && (atomic_load(&r->queued) + a->added.entries > r->settings.queue_entries ||
                    atomic_load(&r->queued_bytes) + a->added.bytes > r->settings.queue_bytes))
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
    a->replica->next_entry = a->added.next;
    atomic_fetch_add(&a->replica->queued, a->added.entries);
    atomic_fetch_add(&a->replica->queued_bytes, a->added.bytes);
    return 0;
}

int nb_queue_submit(struct nb_replica *r, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *done_user,
                    struct nb_error *error)
{
    struct adding a = {.replica = r, .batch = batch};
    int rc = nb_writer_run(r->engine, add_task, &a, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < batch->size; i++) {
        struct nb_submitted *c = &batch->changes[i];
        if (c->receipt.code != 0)
            continue;
        c->receipt.status = NB_QUEUED;
        c->receipt.id = nb_buffer_string(&c->id);
        c->receipt.label = nb_buffer_string(&c->label);
        c->receipt.tokens = c->positions;
        c->receipt.truncated = c->truncated;
    }
    done(batch, done_user);
    return 0;
}

/* ---- publishing entries ---------------------------------------------------------------------- */

struct taking {
    struct nb_replica *replica;
    nb_replica_visit *visit;
    void *user;
};

static int take_entry(void *user, const struct nb_traced *one, struct nb_error *error)
{
    const struct taking *t = user;
    (void)error;
    t->visit(t->user, one->id, one->message);
    t->replica->taken_bytes += one->message.length;
    t->replica->taken_end = one->position + 1;
    return ++t->replica->taken == NB_TAKEN_MOST || t->replica->taken_bytes >= NB_TAKEN_BYTES;
}

/* What cannot be read stays, and `queued` shows it. */
void nb_queue_take(struct nb_replica *r, nb_replica_visit *visit, void *user)
{
    if (atomic_load(&r->queued) > 0)
        (void)nb_message_scan(r->engine, NB_KEPT_QUEUE, r->settings.stream, 0, take_entry,
                              &(struct taking){r, visit, user}, NULL);
}

static int drop(struct nb_engine *engine, struct nb_view *view, void *argument,
                struct nb_error *error)
{
    const struct nb_replica *r = argument;
    int rc = 0;
    (void)engine;
    for (uint64_t at = r->taken_end - r->taken; rc == 0 && at < r->taken_end; at++)
        rc = nb_message_delete(view, NB_KEPT_QUEUE, r->settings.stream, at, error);
    return rc;
}

/* If it fails, the entries stay, and are published again. */
void nb_queue_drop(struct nb_replica *r)
{
    if (nb_writer_transact(r->engine, 0, drop, r, NULL) != 0)
        return;
    atomic_fetch_sub(&r->queued, r->taken);
    atomic_fetch_sub(&r->queued_bytes, r->taken_bytes);
}

/* ---- entries of another store ---------------------------------------------------------------- */

struct handing {
    struct nb_engine *to;
    unsigned stream;
    struct nb_traced one; /* the message to hand over, with its number in the new queue */
    uint64_t *count;      /* of messages that were handed over */
};

static int adopt(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    const struct handing *h = argument;
    (void)engine;
    return nb_message_put(view, NB_KEPT_QUEUE, h->stream, &h->one, error);
}

static int hand_one(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    uint64_t number = h->one.position + 1;
    h->one = *one;
    h->one.position = number;
    ++*h->count;
    return nb_writer_transact(h->to, one->message.length, adopt, h, error);
}

static int take_first(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct nb_point *first = user;
    (void)error;
    *first = (struct nb_point){one->position, one->checksum};
    return 1;
}

/* Hands over a message of the old trace, unless the new trace has it at the same position. */
static int hand_lost(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct handing *h = user;
    struct nb_point there = {0, 0};
    int rc =
        nb_message_scan(h->to, NB_KEPT_TRACE, h->stream, one->position, take_first, &there, error);
    bool has = there.position == one->position && there.sum == one->checksum;
    if (rc < 0)
        return rc;
    return has ? 0 : hand_one(user, one, error);
}

/* The database has lost what is in the old trace and not in the new one. Only the part of the old
 * trace after the first message of the new one is compared: of the other part nothing is known. The
 * database refuses an id that it has, so proposals of all nodes are made once, too. */
int nb_hand_over(struct nb_engine *from, struct nb_engine *to, uint64_t *count,
                 struct nb_error *error)
{
    unsigned streams = to->settings.streams;
    int rc = 0;
    *count = 0;
    if (from->stream_states.is_known && from->stream_states.streams != streams)
        return nb_error_set(error, NB_CONFLICT, "the stores have other numbers of streams");
    for (unsigned i = 0; rc == 0 && i < streams; i++) {
        struct handing h = {.to = to, .stream = i, .count = count};
        struct amount there = {.next = 1};
        struct nb_point first = {UINT64_MAX, 0};
        rc = nb_message_scan(to, NB_KEPT_QUEUE, i, 0, count_entry, &there, error);
        h.one.position = there.next - 1;
        if (rc == 0)
            rc = nb_message_scan(to, NB_KEPT_TRACE, i, 0, take_first, &first, error);
        if (rc >= 0)
            rc = nb_message_scan(from, NB_KEPT_TRACE, i, first.position, hand_lost, &h, error);
        if (rc == 0)
            rc = nb_message_scan(from, NB_KEPT_QUEUE, i, 0, hand_one, &h, error);
    }
    return rc;
}
