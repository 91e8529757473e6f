/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that wait in the outbox of a node, and the ids with which they are published.
 */
#include "core/replica/queue.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "tests/unit/folder.h"
#include "tokenizer/document.h"

enum { SAME_MILLISECONDS = 50 };

static struct nb_string string_at(const char *text)
{
    return (struct nb_string){text, strlen(text)};
}

static const unsigned char cluster_key[NB_KEY_BYTES] = "a key that all nodes have";
static char published[NB_MESSAGE_ID_MOST];

static int publish(struct nb_replica *replica, const char *id, const struct nb_buffer *message,
                   struct nb_error *error)
{
    (void)replica, (void)error;
    ck_assert_uint_gt(message->length, 0);
    snprintf(published, sizeof published, "%s", id);
    return 0;
}

static void put_into_queue(struct nb_engine *engine)
{
    struct nb_batch *batch;
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = "some words", .length = strlen("some words")};
    ck_assert_int_eq(nb_batch_new(engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at("ham"), string_at("id"), string_at(""), NULL),
        0);
    nb_engine_apply(engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->status, NB_QUEUED);
    nb_batch_free(&batch);
}

static struct nb_relayed entry_of(const char *id)
{
    struct nb_relayed relayed = {.outbox = 0};
    nb_queue_read_id(id, &relayed);
    return relayed;
}

/* A node's engine and its queue, in a folder of their own. */
struct world {
    char root[NB_TEST_FOLDER_SIZE];
    struct nb_engine *engine;
    struct nb_queue *queue;
};

static void set_up(struct world *w)
{
    static const struct nb_outbox_limits limits = {1 << 20, 20};
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    test_folder_make(w->root);
    nb_engine_settings_init(&settings);
    settings.directory = w->root;
    settings.key = cluster_key;
    settings.shared = true;
    ck_assert_msg(nb_engine_open(&settings, &w->engine, &error) == 0, "%s", error.text);
    ck_assert_msg(nb_queue_new(w->engine, w->root, &limits, &w->queue, &error) == 0, "%s",
                  error.text);
}

static void tear_down(struct world *w)
{
    nb_queue_free(&w->queue);
    nb_engine_close(&w->engine);
    test_folder_remove(w->root);
}

/* Numbers of entries, of one digit and of two. */
static const uint64_t entries[] = {1, 0x11};

/* It is the same entry, whenever it is published, and has another id when its last one may be known
 * to a part of the stream's servers alone. */
START_TEST(an_id_is_not_used_for_long)
{
    enum { PERIODS = 17 /* one more than there are, until ids come again */ };
    const uint64_t entry = entries[_i];
    char before[NB_MESSAGE_ID_MOST] = "";
    struct world w;
    set_up(&w);
    for (uint64_t i = 0; i < entry; i++)
        put_into_queue(w.engine);
    nb_queue_set(w.queue, 0, NB_QUEUE_THERE);
    nb_queue_go_on(w.queue, 0, SAME_MILLISECONDS, publish, NULL);
    struct nb_relayed last = entry_of(published);
    last.entry = entry - 1;
    nb_queue_delivered(w.queue, &last); /* and those before */
    for (int i = 0; i < PERIODS; i++) {
        nb_queue_refused(w.queue, published); /* it comes again */
        published[0] = '\0';
        nb_queue_go_on(w.queue, 0, SAME_MILLISECONDS, publish, NULL);
        ck_assert_str_ne(published, "");
        ck_assert_str_ne(published, before);
        ck_assert_uint_eq(entry_of(published).entry, entry);
        ck_assert_uint_eq(entry_of(published).outbox, last.outbox);
        snprintf(before, sizeof before, "%s", published);
        usleep(SAME_MILLISECONDS * 1000);
    }
    tear_down(&w);
}
END_TEST

enum { IN_THE_FIRST = 100 }; /* a byte of the first message */

static void change_byte(const char *root, long at)
{
    char path[NB_TEST_FOLDER_SIZE + sizeof "/outbox"];
    snprintf(path, sizeof path, "%s/outbox", root);
    FILE *file = fopen(path, "r+b");
    ck_assert(file != NULL && fseek(file, at, SEEK_SET) == 0);
    int byte = fgetc(file);
    ck_assert(byte != EOF && fseek(file, at, SEEK_SET) == 0);
    ck_assert_int_eq(fputc(byte ^ 1, file), byte ^ 1);
    ck_assert_int_eq(fclose(file), 0);
}

/* An entry that the disk has changed is not published, nor are those behind it, and that is said.
 */
START_TEST(an_entry_that_is_damaged_is_told)
{
    struct world w;
    struct nb_queue_state state;
    set_up(&w);
    put_into_queue(w.engine);
    put_into_queue(w.engine);
    nb_queue_set(w.queue, 0, NB_QUEUE_THERE);
    for (int damaged = 1; damaged >= 0; damaged--) {
        change_byte(w.root, IN_THE_FIRST);
        published[0] = '\0';
        nb_queue_go_on(w.queue, 0, SAME_MILLISECONDS, publish, NULL);
        nb_queue_state(w.queue, &state);
        ck_assert_uint_eq(state.entries, 2);
        ck_assert_int_eq(published[0] == '\0', damaged);
        ck_assert_int_eq(strstr(state.unreadable, "damaged at byte 48") != NULL, damaged);
        ck_assert_int_eq(state.unreadable[0] != '\0', damaged);
    }
    tear_down(&w);
}
END_TEST

/* It had been published before: when it is delivered nothing waits, and nothing is wrong. */
START_TEST(a_damaged_entry_that_is_delivered_is_told_no_more)
{
    struct world w;
    struct nb_queue_state state;
    set_up(&w);
    put_into_queue(w.engine);
    nb_queue_set(w.queue, 0, NB_QUEUE_THERE);
    nb_queue_go_on(w.queue, 0, SAME_MILLISECONDS, publish, NULL);
    const struct nb_relayed sent = entry_of(published);
    change_byte(w.root, IN_THE_FIRST);
    nb_queue_go_on(w.queue, 0, SAME_MILLISECONDS, publish, NULL);
    nb_queue_state(w.queue, &state);
    ck_assert_str_ne(state.unreadable, "");
    nb_queue_delivered(w.queue, &sent);
    nb_queue_state(w.queue, &state);
    ck_assert_uint_eq(state.entries, 0);
    ck_assert_str_eq(state.unreadable, "");
    tear_down(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("queue");
    TCase *t = tcase_create("queue");
    suite_add_tcase(s, t);
    tcase_add_test(t, an_entry_that_is_damaged_is_told);
    tcase_add_test(t, a_damaged_entry_that_is_delivered_is_told_no_more);
    tcase_add_loop_test(t, an_id_is_not_used_for_long, 0, sizeof entries / sizeof *entries);
    SRunner *runner = srunner_create(s);
    if (nb_tokenizer_setup(NULL) != 0)
        return EXIT_FAILURE;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    nb_tokenizer_teardown();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
