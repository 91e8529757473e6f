/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/queue.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/engine/unjoined.h"
#include "core/live/once.h"
#include "core/live/relay.h"
#include "core/live/state.h"
#include "core/replica/carry.h"

/* Before the oldest is published again though nobody has said what became of it. */
static const uint64_t AGAIN_AFTER = UINT64_C(10000000000);
enum { DIGITS_MOST = 16 /* of an entry in an id */ };

struct nb_queue {
    struct nb_engine *engine;
    struct nb_outbox *outbox;
    struct nb_relay relay; /* until there is a replica */
    atomic_int streams[NB_STREAMS_MOST];
    pthread_mutex_t lock;   /* of what follows */
    uint64_t sent, sent_at; /* entry on its way, or 0; and since when */
    uint64_t refused;
    struct nb_error why;
    struct nb_error unreadable; /* code 0: the oldest was not found damaged when it was read last */
};

/* ---- in -------------------------------------------------------------------------------------- */

bool nb_queue_takes(struct nb_queue *q, unsigned which)
{
    if (q == NULL)
        return false;
    int stream = atomic_load(&q->streams[which]);
    return stream == NB_QUEUE_AWAY ||
           (stream == NB_QUEUE_THERE && nb_outbox_entries(q->outbox, NULL) > 0);
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

struct writing {
    struct nb_buffer *messages;
    struct nb_string *strings;
    size_t count;
};

/* What is too large for a message has its answer. */
static int write_all(struct nb_batch *batch, size_t most, struct writing *w, struct nb_error *error)
{
    int64_t now = nb_clock_now();
    for (size_t i = 0; i < batch->size; i++) {
        if (!may_wait(&batch->changes[i]))
            return nb_error_set(error, NB_STOPPING,
                                "the cluster's stream is away, and this change does not wait for "
                                "it: send it again later");
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

static int add_all(struct nb_queue *q, struct nb_batch *batch, size_t most, struct nb_error *error)
{
    struct writing w = {.messages = calloc(batch->size, sizeof *w.messages),
                        .strings = calloc(batch->size, sizeof *w.strings)};
    int rc = w.messages == NULL || w.strings == NULL ? nb_error_no_memory(error)
                                                     : write_all(batch, most, &w, error);
    if (rc == 0 && w.count > 0)
        rc = nb_outbox_add(q->outbox, w.strings, w.count, error);
    for (size_t i = 0; w.messages != NULL && i < batch->size; i++)
        nb_buffer_deinit(&w.messages[i]);
    free(w.messages);
    free(w.strings);
    return rc;
}

void nb_queue_submit(struct nb_queue *q, struct nb_batch *batch, size_t most,
                     void (*done)(struct nb_batch *, void *), void *done_user)
{
    struct nb_error why = {0};
    int rc = add_all(q, batch, most, &why);
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

static int count_digits(uint64_t number)
{
    int digits = 1;
    while ((number >>= 4) != 0)
        digits++;
    return digits;
}

/* The id says which entry it is. How many zeros it has says when it was published: an entry that
 * has waited for long must not have an id that some servers of the stream still know and others do
 * not any more (same_for in replica_settings.h). */
static void write_id(const struct nb_queue *q, uint64_t entry, int64_t same_for,
                     char id[NB_MESSAGE_ID_MOST])
{
    int least = count_digits(entry);
    int digits = least + (int)(nb_clock_now() / same_for % (DIGITS_MOST + 1 - least));
    (void)snprintf(id, NB_MESSAGE_ID_MOST, "q%016" PRIx64 "-%0*" PRIx64,
                   nb_outbox_identity(q->outbox), digits, entry);
}

void nb_queue_read_id(const char *id, struct nb_relayed *relayed)
{
    uint64_t outbox, entry;
    int length = 0;
    if (sscanf(id, "q%16" SCNx64 "-%16" SCNx64 "%n", &outbox, &entry, &length) != 2 ||
        id[length] != '\0')
        return;
    relayed->outbox = outbox;
    relayed->entry = entry;
}

/* Whether the oldest is to be published now; then it is on its way. */
static bool takes_turn(struct nb_queue *q, uint64_t entry)
{
    uint64_t now = nb_clock_monotonic();
    pthread_mutex_lock(&q->lock);
    bool is_due = (q->sent != entry || now - q->sent_at > AGAIN_AFTER);
    if (is_due) {
        q->sent = entry;
        q->sent_at = now;
    }
    pthread_mutex_unlock(&q->lock);
    return is_due;
}

static void forget_turn(struct nb_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->sent = 0;
    pthread_mutex_unlock(&q->lock);
}

/* What reading the oldest came to. */
static void note_reading(struct nb_queue *q, int rc, const struct nb_error *why)
{
    pthread_mutex_lock(&q->lock);
    q->unreadable = rc == NB_IO ? *why : (struct nb_error){.code = 0};
    pthread_mutex_unlock(&q->lock);
}

static unsigned stream_of(const struct nb_queue *q, const struct nb_buffer *message)
{
    struct nb_string model = nb_operation_model(nb_buffer_string(message));
    return nb_relay_stream(model, q->engine->settings.streams);
}

void nb_queue_go_on(struct nb_queue *q, unsigned which, int64_t same_for, nb_queue_publish *publish,
                    struct nb_replica *replica)
{
    struct nb_buffer message = {0};
    struct nb_error why = {0};
    char id[NB_MESSAGE_ID_MOST];
    uint64_t entry = 0;
    if (q == NULL || atomic_load(&q->streams[which]) != NB_QUEUE_THERE ||
        nb_outbox_entries(q->outbox, NULL) == 0)
        return;
    int rc = nb_outbox_first(q->outbox, &entry, &message, &why);
    note_reading(q, rc, &why);
    if (rc == 0 && entry != 0 && stream_of(q, &message) == which && takes_turn(q, entry)) {
        write_id(q, entry, same_for, id);
        rc = publish(replica, id, &message, &why);
        if (rc != 0)
            forget_turn(q);
        if (rc == NB_TOO_LARGE) { /* it never fits */
            nb_queue_note(q, nb_outbox_identity(q->outbox), &why);
            nb_outbox_remove(q->outbox, entry);
        }
    }
    nb_buffer_deinit(&message);
}

void nb_queue_refused(struct nb_queue *q, const char *id)
{
    struct nb_relayed relayed = {.outbox = 0};
    nb_queue_read_id(id, &relayed);
    if (q != NULL && relayed.outbox == nb_outbox_identity(q->outbox))
        forget_turn(q);
}

void nb_queue_delivered(struct nb_queue *q, const struct nb_relayed *relayed)
{
    if (q != NULL && relayed->outbox == nb_outbox_identity(q->outbox))
        nb_outbox_remove(q->outbox, relayed->entry);
}

void nb_queue_note(struct nb_queue *q, uint64_t outbox, const struct nb_error *why)
{
    if (q == NULL || outbox != nb_outbox_identity(q->outbox) || why->code == NB_EXISTS)
        return;
    pthread_mutex_lock(&q->lock);
    q->refused++;
    q->why = *why;
    pthread_mutex_unlock(&q->lock);
}

void nb_queue_set(struct nb_queue *q, unsigned which, enum nb_queue_stream stream)
{
    if (q != NULL && atomic_exchange(&q->streams[which], (int)stream) != (int)stream)
        forget_turn(q);
}

void nb_queue_state(struct nb_queue *q, struct nb_queue_state *state)
{
    state->entries = nb_outbox_entries(q->outbox, &state->bytes);
    pthread_mutex_lock(&q->lock);
    state->refused = q->refused;
    (void)snprintf(state->reason, sizeof state->reason, "%s", q->why.text);
    /* One that was published before it was damaged is gone when it is delivered. */
    (void)snprintf(state->unreadable, sizeof state->unreadable, "%s",
                   state->entries > 0 ? q->unreadable.text : "");
    pthread_mutex_unlock(&q->lock);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void submit(void *user, struct nb_batch *batch, void (*done)(struct nb_batch *, void *),
                   void *done_user)
{
    struct nb_queue *q = user;
    if (nb_queue_takes(
            q, nb_relay_stream(nb_buffer_string(&batch->name), q->engine->settings.streams)))
        nb_queue_submit(q, batch, SIZE_MAX, done, done_user); /* how large is not known yet */
    else
        nb_unjoined.submit(NULL, batch, done, done_user);
}

static int ask(void *user, const struct nb_errand *errand, struct nb_errand_done *done,
               struct nb_error *error)
{
    (void)user;
    return nb_unjoined.ask(NULL, errand, done, error);
}

/* What was published and made, and came back with a crash, does not wait. */
static int pass_made(struct nb_queue *q, struct nb_error *error)
{
    uint64_t entry = 0;
    int rc = nb_once_last(q->engine, nb_outbox_identity(q->outbox), &entry, error);
    if (rc == 0)
        nb_outbox_remove(q->outbox, entry);
    return rc;
}

int nb_queue_new(struct nb_engine *engine, const char *folder,
                 const struct nb_outbox_limits *limits, struct nb_queue **queue,
                 struct nb_error *error)
{
    struct nb_queue *q = calloc(1, sizeof *q);
    if (q == NULL)
        return nb_error_no_memory(error);
    q->engine = engine;
    q->relay = (struct nb_relay){q, submit, ask, nb_unjoined.propose, nb_unjoined.propose_errand};
    pthread_mutex_init(&q->lock, NULL);
    int rc = nb_outbox_open(folder, limits, &q->outbox, error);
    if (rc == 0)
        rc = pass_made(q, error);
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
    nb_outbox_close(&q->outbox);
    pthread_mutex_destroy(&q->lock);
    free(q);
}
