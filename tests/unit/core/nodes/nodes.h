/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream in memory and the nodes that follow it: several engines in one process. For tests of how
 * nodes apply a stream; each test has its own thread beside those of the nodes.
 */
#ifndef NB_TESTS_UNIT_CORE_REPLICA_NODES_H
#define NB_TESTS_UNIT_CORE_REPLICA_NODES_H

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/nodes/replica.h"
#include "tests/unit/core/engine/picture.h"
#include "tests/unit/folder.h"

enum {
    NODES = 3,
    STREAMS = 4, /* at most */
    LOST_IDS = 32,
};

/* ---- a stream in memory ---------------------------------------------------------------------- */

struct message {
    char id[64];
    struct nb_buffer bytes;
};

struct stream {
    pthread_mutex_t lock;
    struct message *messages; /* the first has the position 1 */
    size_t count, room;
    atomic_bool is_away;
    atomic_uint known;        /* messages that came with an id that it has, or has lost */
    atomic_bool loses;        /* what nodes publish by themselves */
    struct nb_string instead; /* of the next message, under its id; or empty */
    size_t lost;              /* so many ids, of which the last are: */
    char lost_ids[LOST_IDS][64];
};

/* Call with the lock held. */
static inline void lose(struct stream *s, const char *id)
{
    for (size_t i = 0; i < s->lost && i < LOST_IDS; i++)
        atomic_fetch_add(&s->known, strcmp(s->lost_ids[i], id) == 0);
    snprintf(s->lost_ids[s->lost++ % LOST_IDS], sizeof s->lost_ids[0], "%s", id);
}

static inline int put_message(struct stream *s, const char *id, struct nb_string message,
                              struct nb_error *error)
{
    if (atomic_load(&s->is_away))
        return nb_error_set(error, NB_STOPPING, "the stream is away");
    pthread_mutex_lock(&s->lock);
    bool is_lost = atomic_load(&s->loses) && id[0] == 'p';
    if (is_lost)
        lose(s, id);
    bool is_known = false;
    for (size_t i = s->count > 200 ? s->count - 200 : 0; i < s->count; i++)
        is_known |= strcmp(s->messages[i].id, id) == 0;
    atomic_fetch_add(&s->known, is_known);
    if (!is_known && !is_lost) {
        must(nb_array_reserve(&s->messages, &s->room, s->count + 1, sizeof *s->messages) == 0);
        struct message *m = &s->messages[s->count++];
        *m = (struct message){.id = ""};
        snprintf(m->id, sizeof m->id, "%s", id);
        if (s->instead.length > 0)
            message = s->instead;
        s->instead.length = 0;
        must(nb_buffer_append(&m->bytes, message.bytes, message.length) == 0);
    }
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static inline size_t length_of(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    size_t count = s->count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* Messages stay where they are in memory but for their array. */
static inline struct message message_at(struct stream *s, uint64_t position)
{
    pthread_mutex_lock(&s->lock);
    struct message m = s->messages[position - 1];
    pthread_mutex_unlock(&s->lock);
    return m;
}

/* Takes away the messages behind the first `count`. Call while nobody reads. */
static inline void stream_cut(struct stream *s, size_t count)
{
    while (s->count > count)
        nb_buffer_deinit(&s->messages[--s->count].bytes);
}

static inline void stream_free(struct stream *s)
{
    stream_cut(s, 0);
    free(s->messages);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct node;

/* The worker of a node that follows one stream. */
struct worker {
    struct node *node;
    unsigned which;
    struct stream *stream;
    struct nb_replica *replica;
    pthread_t follower;
};

struct node {
    uint64_t member;
    char directory[96];
    struct nb_engine *engine;
    unsigned streams;      /* 0: one */
    struct stream *stream; /* the first of them */
    struct worker workers[STREAMS];
    atomic_bool stops;
    unsigned lag;     /* microseconds of a pause now and then */
    int64_t compares; /* every so many milliseconds; 0: never */
};

static inline unsigned streams_of(const struct node *n)
{
    return n->streams == 0 ? 1 : n->streams;
}

static inline void deliver(struct worker *l, uint64_t position)
{
    struct message m = message_at(l->stream, position);
    struct nb_string id = nb_string_of(m.id), message = nb_buffer_string(&m.bytes);
    struct nb_error error = {0};
    struct nb_traced d = {position, nb_message_checksum(id, message), id, message};
    int rc = nb_replica_deliver(l->replica, &d, &error);
    ck_assert_msg(rc == 0 || rc == NB_STOPPING || rc == NB_CORRUPT, "%d %s", rc, error.text);
}

static inline void publish_one(void *user, struct nb_string id, struct nb_string message)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)id.length, id.bytes);
    ck_assert_int_eq(put_message(user, text, message, NULL), 0);
}

static inline void wake(void *user)
{
    (void)user; /* it looks often */
}

static inline void *follow(void *argument)
{
    struct worker *l = argument;
    struct node *n = l->node;
    while (!atomic_load(&n->stops)) {
        uint64_t began = nb_clock_monotonic(), end = length_of(l->stream);
        uint64_t at = l->replica->delivered.position + 1;
        atomic_store(&l->replica->last, end);
        atomic_store(&l->replica->stream,
                     atomic_load(&l->stream->is_away) ? NB_REPLICA_AWAY : NB_REPLICA_THERE);
        if (!atomic_load(&l->stream->is_away) &&
            nb_replica_take(l->replica, publish_one, l->stream) > 0)
            nb_replica_sent(l->replica, 0);
        if (at > end) {
            nb_replica_note_end(l->replica, began);
            nb_replica_tick(l->replica);
            usleep(200);
            continue;
        }
        deliver(l, at);
        if (at % 7 == 0 && at > 3 && at - 3 <= l->replica->delivered.position)
            deliver(l, at - 3); /* it came before */
        if (at % 32 == 0)       /* somebody else has published into the stream */
            ck_assert_int_eq(put_message(l->stream, n->directory, string_at("x"), NULL), 0);
        if (at % 16 == 0)
            usleep(n->lag);
    }
    atomic_store(&l->replica->stream, NB_REPLICA_AWAY);
    return NULL;
}

static const unsigned char cluster_key[NB_KEY_BYTES] = "a key that all nodes have";

static inline void settings_of(struct nb_engine_settings *settings, const char *directory)
{
    nb_engine_settings_init(settings);
    settings->directory = directory;
    settings->key = cluster_key;
    settings->shared = true;
    settings->group_documents = 5;
    settings->replay_features = 500;
    settings->superseded_seconds = 0;
    settings->unused_rows = 3;
    settings->labels = 5;
    settings->refit_units = UINT64_MAX;
    settings->map_size = (uint64_t)1 << 22;
}

/* Opens a node of streams that were made at `created`. */
static inline int open_node(struct node *n, uint64_t created, struct nb_error *error)
{
    struct nb_engine_settings settings;
    settings_of(&settings, n->directory);
    settings.streams = streams_of(n);
    ck_assert_msg(nb_engine_open(&settings, &n->engine, error) == 0, "%s", error->text);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < streams_of(n); i++) {
        struct worker *l = &n->workers[i];
        const struct nb_replica_settings how = {.wake = wake,
                                                .user = l,
                                                .stream = i,
                                                .patience = UINT64_C(20000000000),
                                                .same_for = 200,
                                                .compare_every = n->compares};
        *l = (struct worker){.node = n, .which = i, .stream = &n->stream[i]};
        rc = nb_replica_new(n->engine, &how, &l->replica, error);
        if (rc == 0)
            rc = nb_replica_join(l->replica, created, error);
    }
    return rc;
}

static inline void start(struct node *n)
{
    struct nb_error error = {0};
    int rc = open_node(n, 77, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    atomic_store(&n->stops, false);
    for (unsigned i = 0; i < streams_of(n); i++)
        atomic_store(&n->workers[i].replica->stream, NB_REPLICA_THERE);
    for (unsigned i = 0; i < streams_of(n); i++)
        ck_assert_int_eq(pthread_create(&n->workers[i].follower, NULL, follow, &n->workers[i]), 0);
}

static inline void stop(struct node *n)
{
    atomic_store(&n->stops, true);
    for (unsigned i = 0; i < streams_of(n); i++)
        ck_assert_int_eq(pthread_join(n->workers[i].follower, NULL), 0);
    for (unsigned i = 0; i < streams_of(n); i++)
        nb_replica_free(&n->workers[i].replica);
    nb_engine_close(&n->engine);
}

static inline uint64_t applied_of(struct worker *l)
{
    return atomic_load(&l->replica->place->applied);
}

/* Waits without a time limit as long as the worker makes progress. */
static inline void wait_until_worker(struct worker *l, uint64_t position)
{
    uint64_t until = 0, before = UINT64_MAX;
    for (uint64_t applied = 0; (applied = applied_of(l)) < position;) {
        uint64_t now = nb_clock_monotonic();
        if (applied != before)
            until = now + UINT64_C(60000000000);
        before = applied;
        ck_assert_msg(now < until, "applied %llu of %llu", (unsigned long long)applied,
                      (unsigned long long)position);
        usleep(500);
    }
}

static inline void wait_until_applied(struct node *n, uint64_t position)
{
    wait_until_worker(&n->workers[0], position);
}

static inline struct nb_document document_of(enum nb_document_kind kind, const char *bytes)
{
    return (struct nb_document){.kind = kind, .bytes = bytes, .length = strlen(bytes)};
}

static inline void count_down(struct nb_batch *batch, void *user)
{
    (void)batch;
    atomic_fetch_sub((atomic_int *)user, 1);
}

static inline void train(struct node *n, const char *label)
{
    struct nb_batch *batch;
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "a prize");
    ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at(label), string_at("d"), string_at(""), NULL), 0);
    nb_engine_apply(n->engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    nb_batch_free(&batch);
}

#endif
