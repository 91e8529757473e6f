/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that wait in the queue of a node, and how they are published.
 */
#include "core/nodes/queue.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "tests/unit/folder.h"
#include "tokenizer/document.h"

enum { LIMIT = 20 };

static struct nb_string string_at(const char *text)
{
    return (struct nb_string){text, strlen(text)};
}

static const unsigned char cluster_key[NB_KEY_BYTES] = "a key that all nodes have";
static char published[LIMIT][NB_MESSAGE_ID_MOST];
static size_t published_count, fails_at;

static int publish(struct nb_replica *replica, const char *id, struct nb_string message, bool lasts,
                   struct nb_error *error)
{
    (void)replica;
    ck_assert(message.length > 0 && lasts);
    if (published_count + 1 == fails_at)
        return nb_error_set(error, NB_STOPPING, "the database is away");
    snprintf(published[published_count++], sizeof *published, "%s", id);
    return 0;
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

static struct nb_relayed entry_of(const char *id)
{
    struct nb_relayed relayed = {.outbox = 0};
    nb_queue_read_id(nb_string_of(id), &relayed);
    return relayed;
}

/* A node's engine and its queue, in their own folder. */
struct world {
    char root[NB_TEST_FOLDER_SIZE];
    struct nb_engine *engine;
    struct nb_queue *queue;
};

static void open_world(struct world *w)
{
    static const struct nb_queue_limits limits = {1 << 20, LIMIT};
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    nb_engine_settings_init(&settings);
    settings.directory = w->root;
    settings.key = cluster_key;
    settings.shared = true;
    ck_assert_msg(nb_engine_open(&settings, &w->engine, &error) == 0, "%s", error.text);
    ck_assert_msg(nb_queue_new(w->engine, &limits, &w->queue, &error) == 0, "%s", error.text);
}

static void set_up(struct world *w)
{
    published_count = 0;
    test_folder_make(w->root);
    open_world(w);
}

static void open_again(struct world *w)
{
    nb_queue_free(&w->queue);
    nb_engine_close(&w->engine);
    open_world(w);
}

static void tear_down(struct world *w)
{
    nb_queue_free(&w->queue);
    nb_engine_close(&w->engine);
    test_folder_remove(w->root);
}

/* In order, many at once; each again until it is delivered, with the same id. */
START_TEST(what_waits_is_published_in_order)
{
    enum { ENTRIES = 15 };
    struct world w;
    struct nb_queue_state state;
    set_up(&w);
    for (int i = 0; i < ENTRIES; i++)
        put_into_queue(w.engine);
    nb_queue_go_on(w.queue, 0, publish, NULL);
    ck_assert_uint_eq(published_count, 0); /* the stream is away */
    nb_queue_set(w.queue, 0, NB_QUEUE_THERE);
    ck_assert(nb_queue_takes(w.queue, 0));
    fails_at = 5;
    nb_queue_go_on(w.queue, 0, publish, NULL);
    ck_assert_uint_eq(published_count, 4);
    fails_at = 0;
    nb_queue_go_on(w.queue, 0, publish, NULL);
    nb_queue_go_on(w.queue, 0, publish, NULL);
    ck_assert_uint_eq(published_count, ENTRIES);
    for (unsigned i = 0; i < ENTRIES; i++)
        ck_assert_uint_eq(entry_of(published[i]).entry, i + 1);
    nb_queue_delivered(w.queue, 0, nb_string_of("q00000000000000aa-f")); /* of another node */
    nb_queue_go_on(w.queue, 0, publish, NULL);
    nb_queue_state(w.queue, &state);
    ck_assert_uint_eq(state.entries, ENTRIES);
    nb_queue_delivered(w.queue, 0, nb_string_of(published[9]));
    nb_queue_go_on(w.queue, 0, publish, NULL);
    nb_queue_state(w.queue, &state);
    ck_assert_uint_eq(state.entries, ENTRIES - 10);
    open_again(&w);
    nb_queue_set(w.queue, 0, NB_QUEUE_THERE);
    published_count = 0;
    nb_queue_go_on(w.queue, 0, publish, NULL);
    ck_assert_uint_eq(published_count, ENTRIES - 10);
    nb_queue_delivered(w.queue, 0, nb_string_of(published[ENTRIES - 11]));
    nb_queue_go_on(w.queue, 0, publish, NULL);
    nb_queue_state(w.queue, &state);
    ck_assert(state.entries == 0 && state.bytes == 0);
    ck_assert(!nb_queue_takes(w.queue, 0));
    tear_down(&w);
}
END_TEST

/* What another store has left keeps its id. */
START_TEST(what_is_adopted_has_its_id)
{
    struct world w;
    struct nb_queue_state state;
    set_up(&w);
    nb_queue_free(&w.queue);
    ck_assert(!nb_queue_is_left(w.engine));
    ck_assert_int_eq(nb_queue_adopt(w.engine, 0, string_at("00aa-1"), string_at("m"), NULL), 0);
    ck_assert_int_eq(nb_queue_adopt(w.engine, 0, string_at("00aa-2"), string_at("m"), NULL), 0);
    ck_assert(nb_queue_is_left(w.engine));
    open_again(&w);
    nb_queue_set(w.queue, 0, NB_QUEUE_THERE);
    nb_queue_go_on(w.queue, 0, publish, NULL);
    ck_assert_uint_eq(published_count, 2);
    ck_assert_str_eq(published[1], "00aa-2");
    nb_queue_delivered(w.queue, 0, string_at("00aa-2"));
    nb_queue_go_on(w.queue, 0, publish, NULL);
    nb_queue_state(w.queue, &state);
    ck_assert_uint_eq(state.entries, 0);
    tear_down(&w);
}
END_TEST

/* What does not fit is refused; a node that must not follow queues nothing. */
START_TEST(a_queue_has_bounds)
{
    struct world w;
    set_up(&w);
    for (int i = 0; i < LIMIT; i++)
        ck_assert_int_eq(train(w.engine)->status, NB_QUEUED);
    ck_assert_int_eq(train(w.engine)->code, NB_STOPPING);
    nb_queue_set(w.queue, 0, NB_QUEUE_FORBIDDEN);
    ck_assert(!nb_queue_takes(w.queue, 0));
    tear_down(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("queue");
    TCase *t = tcase_create("queue");
    suite_add_tcase(s, t);
    tcase_add_test(t, what_waits_is_published_in_order);
    tcase_add_test(t, what_is_adopted_has_its_id);
    tcase_add_test(t, a_queue_has_bounds);
    SRunner *runner = srunner_create(s);
    if (nb_tokenizer_setup(NULL) != 0)
        return EXIT_FAILURE;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    nb_tokenizer_teardown();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
