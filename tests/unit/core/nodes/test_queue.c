/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that wait in the queue of a node, and how they are published.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/nodes/operation.h"
#include "core/nodes/replica.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"
#include "tokenizer/document.h"

enum { LIMIT = 300, GROUP = NB_TAKEN_MOST };

static struct nb_string string_at(const char *text)
{
    return (struct nb_string){text, strlen(text)};
}

static const unsigned char cluster_key[NB_KEY_BYTES] = "a key that all nodes have";
static char published[LIMIT][NB_MESSAGE_ID_MOST];
static size_t published_count;

static void publish(void *user, struct nb_string id, struct nb_string message)
{
    (void)user;
    ck_assert(message.length > 0 && published_count < LIMIT);
    snprintf(published[published_count++], sizeof *published, "%.*s", (int)id.length, id.bytes);
}

static const struct nb_receipt *train(struct nb_engine *engine)
{
    static struct nb_receipt receipt;
    struct nb_batch *batch;
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = "some words", .length = strlen("some words")};
    ck_assert_int_eq(nb_batch_new(engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at("ham"), string_at("id"), string_at(""), NULL),
        0);
    nb_engine_apply(engine, batch);
    receipt = *nb_batch_receipt(batch, 0); /* what it borrows is not looked at */
    nb_batch_free(&batch);
    return &receipt;
}

static void put_into_queue(struct nb_engine *engine)
{
    ck_assert_int_eq(train(engine)->status, NB_QUEUED);
}

static uint64_t entry_of(const char *id)
{
    uint64_t identity, entry = 0;
    ck_assert(nb_message_id_read(nb_string_of(id), 'q', &identity, &entry));
    return entry;
}

/* A node's engine and its replica, in their own folder. */
struct world {
    char root[NB_TEST_FOLDER_SIZE];
    struct nb_engine *engine;
    struct nb_replica *replica;
};

static void wake(void *user)
{
    (void)user;
}

static void open_engine(struct world *w)
{
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    nb_engine_settings_init(&settings);
    settings.directory = w->root;
    settings.key = cluster_key;
    settings.shared = true;
    ck_assert_msg(nb_engine_open(&settings, &w->engine, &error) == 0, "%s", error.text);
}

static void open_world(struct world *w)
{
    struct nb_error error = {0};
    open_engine(w);
    const struct nb_replica_settings how = {
        .wake = wake, .queue_bytes = 1 << 20, .queue_entries = LIMIT, .same_for = 1};
    ck_assert_msg(nb_replica_new(w->engine, &how, &w->replica, &error) == 0, "%s", error.text);
}

static void set_up(struct world *w)
{
    published_count = 0;
    test_folder_make(w->root);
    open_world(w);
}

static void close_world(struct world *w)
{
    nb_replica_free(&w->replica);
    nb_engine_close(&w->engine);
}

static void tear_down(struct world *w)
{
    close_world(w);
    test_folder_remove(w->root);
}

static size_t take(struct world *w)
{
    published_count = 0;
    size_t count = nb_replica_take(w->replica, publish, NULL);
    ck_assert_uint_eq(count, published_count);
    return count;
}

static uint64_t left_in(struct world *w)
{
    uint64_t entries = atomic_load(&w->replica->queued);
    ck_assert((entries == 0) == (atomic_load(&w->replica->queued_bytes) == 0));
    return entries;
}

/* In order, many at once; each again until all that were taken are delivered, with the same id. */
START_TEST(what_waits_is_published_in_order)
{
    struct world w;
    set_up(&w);
    for (int i = 0; i < LIMIT - 1; i++)
        put_into_queue(w.engine);
    atomic_store(&w.replica->stream, NB_REPLICA_THERE);
    put_into_queue(w.engine); /* behind the others */
    ck_assert_uint_eq(take(&w), GROUP);
    for (unsigned i = 0; i < GROUP; i++)
        ck_assert_uint_eq(entry_of(published[i]), i + 1);
    nb_replica_sent(w.replica, 0);
    ck_assert_uint_eq(left_in(&w), LIMIT);
    ck_assert_uint_eq(take(&w), GROUP);
    ck_assert_uint_eq(entry_of(published[0]), 1);
    nb_replica_sent(w.replica, GROUP - 1); /* one is not delivered yet */
    ck_assert_uint_eq(left_in(&w), LIMIT);
    ck_assert_uint_eq(take(&w), GROUP);
    nb_replica_sent(w.replica, GROUP);
    ck_assert_uint_eq(left_in(&w), LIMIT - GROUP);
    close_world(&w);
    open_world(&w);
    ck_assert_uint_eq(take(&w), LIMIT - GROUP);
    ck_assert_uint_eq(entry_of(published[0]), GROUP + 1);
    nb_replica_sent(w.replica, LIMIT - GROUP);
    ck_assert_uint_eq(left_in(&w), 0);
    ck_assert_uint_eq(take(&w), 0);
    tear_down(&w);
}
END_TEST

/* What another store has left keeps its id. */
START_TEST(what_is_handed_over_has_its_id)
{
    struct world from, to;
    uint64_t count = 0;
    char id[NB_MESSAGE_ID_MOST];
    set_up(&from);
    set_up(&to);
    ck_assert_uint_eq(left_in(&to), 0);
    put_into_queue(from.engine);
    put_into_queue(from.engine);
    ck_assert_uint_eq(take(&from), 2);
    memcpy(id, published[1], sizeof id);
    nb_replica_free(&to.replica);
    ck_assert_int_eq(nb_hand_over(from.engine, to.engine, &count, NULL), 0);
    ck_assert_uint_eq(count, 2);
    close_world(&to);
    open_world(&to);
    ck_assert_uint_eq(take(&to), 2);
    ck_assert_str_eq(published[1], id);
    nb_replica_sent(to.replica, 2);
    ck_assert_uint_eq(left_in(&to), 0);
    tear_down(&to);
    tear_down(&from);
}
END_TEST

/* What does not fit is refused; a node that must not follow queues nothing. */
START_TEST(a_queue_has_bounds)
{
    struct world w;
    set_up(&w);
    for (int i = 0; i < LIMIT; i++)
        put_into_queue(w.engine);
    ck_assert_int_eq(train(w.engine)->code, NB_STOPPING);
    take(&w);
    nb_replica_sent(w.replica, GROUP);
    put_into_queue(w.engine);
    atomic_store(&w.replica->stream, NB_REPLICA_FORBIDDEN);
    ck_assert_int_eq(train(w.engine)->code, NB_STOPPING);
    tear_down(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("queue");
    TCase *t = tcase_create("queue");
    suite_add_tcase(s, t);
    tcase_add_test(t, what_waits_is_published_in_order);
    tcase_add_test(t, what_is_handed_over_has_its_id);
    tcase_add_test(t, a_queue_has_bounds);
    return test_run_with_tokenizer(s);
}
