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

/* Numbers of entries, of one digit and of two. */
static const uint64_t entries[] = {1, 0x11};

/* It is the same entry, whenever it is published, and has another id when its last one may be known
 * to a part of the stream's servers alone. */
START_TEST(an_id_is_not_used_for_long)
{
    enum { PERIODS = 17 /* one more than there are, until ids come again */ };
    static const struct nb_outbox_limits limits = {1 << 20, 20};
    const uint64_t entry = entries[_i];
    char root[NB_TEST_FOLDER_SIZE];
    char before[NB_MESSAGE_ID_MOST] = "";
    struct nb_engine_settings settings;
    struct nb_engine *engine;
    struct nb_queue *queue;
    struct nb_error error = {0};
    test_folder_make(root);
    nb_engine_settings_init(&settings);
    settings.directory = root;
    settings.key = cluster_key;
    settings.shared = true;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
    ck_assert_msg(nb_queue_new(engine, root, &limits, &queue, &error) == 0, "%s", error.text);
    for (uint64_t i = 0; i < entry; i++)
        put_into_queue(engine);
    nb_queue_set(queue, 0, NB_QUEUE_THERE);
    nb_queue_go_on(queue, 0, SAME_MILLISECONDS, publish, NULL);
    struct nb_relayed last = entry_of(published);
    last.entry = entry - 1;
    nb_queue_delivered(queue, &last); /* and those before */
    for (int i = 0; i < PERIODS; i++) {
        nb_queue_refused(queue, published); /* it comes again */
        published[0] = '\0';
        nb_queue_go_on(queue, 0, SAME_MILLISECONDS, publish, NULL);
        ck_assert_str_ne(published, "");
        ck_assert_str_ne(published, before);
        ck_assert_uint_eq(entry_of(published).entry, entry);
        ck_assert_uint_eq(entry_of(published).outbox, last.outbox);
        snprintf(before, sizeof before, "%s", published);
        usleep(SAME_MILLISECONDS * 1000);
    }
    nb_queue_free(&queue);
    nb_engine_close(&engine);
    test_folder_remove(root);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("queue");
    TCase *t = tcase_create("queue");
    suite_add_tcase(s, t);
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
