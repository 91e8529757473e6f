/* SPDX-License-Identifier: Apache-2.0
 *
 * The reports that nodes publish of themselves; the results when they compare what they have
 * learned; the trace that a node keeps of the stream, and the changes that it hands over to another
 * store; and the effect of a full disk.
 */
#include "core/base/feature.h"
#include "core/model/registry.h"
#include "core/nodes/digest.h"
#include "core/nodes/operation.h"
#include "tests/unit/core/nodes/nodes.h"
#include "tests/unit/pwrite.h"
#include "tests/unit/run_with_tokenizer.h"
#include <errno.h>

/* ---- nodes ----------------------------------------------------------------------------------- */

struct together {
    char root[NB_TEST_FOLDER_SIZE];
    struct stream stream;
    struct node nodes[NODES];
};

/* Learns a document on a node; returns its position in the stream. */
static uint64_t train_one(struct node *n, const char *id)
{
    struct nb_batch *batch;
    atomic_int left;
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    atomic_init(&left, 1);
    ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at("ham"), string_at(id), string_at("who"), NULL),
        0);
    nb_engine_submit(n->engine, batch, count_down, &left);
    while (atomic_load(&left) > 0)
        usleep(50);
    const struct nb_receipt *r = nb_batch_receipt(batch, 0);
    uint64_t number = r->code == 0 ? r->number : 0;
    nb_batch_free(&batch);
    return number;
}

static void begin(struct together *a)
{
    pthread_mutex_init(&a->stream.lock, NULL);
    test_folder_make(a->root);
    for (size_t i = 0; i < NODES; i++) {
        struct node *n = &a->nodes[i];
        snprintf(n->directory, sizeof n->directory, "%s/%zu", a->root, i);
        n->stream = &a->stream;
        n->member = 100 + i;
        start(n);
    }
}

static void end(struct together *a)
{
    for (size_t i = 0; i < NODES; i++)
        stop(&a->nodes[i]);
    stream_free(&a->stream);
    test_folder_remove(a->root);
}

/* Gives the model a word, like a change that is not committed yet. */
static void put_word(struct nb_live *live, const char *word)
{
    uint64_t hash = nb_feature_hash(live->key, word, strlen(word));
    struct nb_row_count counts = {.count = 1};
    uint32_t label;
    ck_assert_int_eq(nb_model_label(live->counts, string_at("ham"), &label), 0);
    ck_assert_int_eq(nb_model_append(live->counts, nb_feature_id(NB_FIELD_BODY, hash), &counts.row),
                     0);
    nb_model_add_documents(live->counts, label, 1);
    ck_assert_int_eq(nb_model_add(live->counts, label, &counts, 1, 1, NULL), 0);
}

/* A model may be deleted and made anew between such a change and this one, which then brings the
 * words. */
START_TEST(a_model_that_is_not_stored_yet_gives_no_words)
{
    static struct together a;
    struct nb_batch *batch;
    struct nb_live *live;
    struct nb_operation o;
    struct nb_buffer out = {0};
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    a = (struct together){.root = ""};
    begin(&a);
    struct nb_engine *engine = a.nodes[0].engine;
    ck_assert_int_eq(nb_batch_new(engine, string_at("new"), false, &batch, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(nb_batch_train(batch, &document, string_at("ham"),
                                        string_at(i == 0 ? "c" : "d"), string_at(""), NULL),
                         0);
        ck_assert_int_eq(nb_registry_find(engine, string_at("new"), true, &live, NULL), 0);
        if (i == 0)
            put_word(live, "some");
        nb_registry_release(engine, &live);
    }
    ck_assert_int_eq(nb_operation_of_change(batch, 1, 0, &o, NULL), 0);
    ck_assert_int_eq(nb_operation_write(&o, &out, NULL), 0);
    ck_assert_int_eq(nb_operation_read(&o, nb_buffer_string(&out), NULL), 0);
    ck_assert_uint_gt(o.change.other_count, 2);
    for (size_t i = 0; i < o.change.other_count; i++)
        ck_assert_uint_gt(nb_submitted_text(&o.change, i).length, 0);
    nb_operation_deinit(&o);
    nb_buffer_deinit(&out);
    nb_batch_free(&batch);
    end(&a);
}
END_TEST

static void close_node(struct node *n)
{
    nb_replica_free(&n->workers[0].replica);
    nb_engine_close(&n->engine);
}

/* ---- what a store keeps ---------------------------------------------------------------------- */

static void end_stopped(struct together *a)
{
    stream_free(&a->stream);
    test_folder_remove(a->root);
}

static void stop_all(struct together *a)
{
    for (size_t i = 0; i < NODES; i++)
        stop(&a->nodes[i]);
}

/* A store does not follow another stream; it stays what it was. */
START_TEST(a_stream_is_made_anew)
{
    static struct together a;
    a = (struct together){.root = ""};
    struct nb_error error = {0};
    begin(&a);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    stop_all(&a);
    ck_assert_int_eq(open_node(&a.nodes[0], 78, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "were made anew") != NULL, "%s", error.text);
    close_node(&a.nodes[0]);
    ck_assert_msg(open_node(&a.nodes[0], 77, &error) == 0, "%s", error.text);
    close_node(&a.nodes[0]);
    end_stopped(&a);
}
END_TEST

struct seen {
    struct stream *stream;
    uint64_t count;
};

static int is_as_it_came(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct seen *seen = user;
    (void)error;
    ck_assert_uint_eq(one->position, ++seen->count);
    struct message m = message_at(seen->stream, one->position);
    ck_assert(nb_string_equals(one->id, m.id));
    ck_assert(nb_string_same(one->message, nb_buffer_string(&m.bytes)));
    ck_assert_uint_eq(one->checksum, nb_message_checksum(one->id, one->message));
    return 0;
}

/* All that it has made is in its trace, also after a start; so are changes of a model, and what is
 * none. */
START_TEST(a_trace_has_what_came)
{
    static struct together a;
    a = (struct together){.root = ""};
    begin(&a);
    for (int i = 0; i < 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        ck_assert_uint_gt(train_one(&a.nodes[i % NODES], id), 0);
    }
    ck_assert_int_eq(nb_engine_delete_model(a.nodes[0].engine, string_at("a"), string_at(""), NULL),
                     0);
    wait_until_applied(&a.nodes[1], length_of(&a.stream));
    for (int i = 0; i < 2; i++) {
        struct seen seen = {.stream = &a.stream};
        ck_assert_int_eq(
            nb_message_scan(a.nodes[1].engine, NB_KEPT_TRACE, 0, 1, is_as_it_came, &seen, NULL), 0);
        ck_assert_uint_ge(seen.count, 41);
        stop(&a.nodes[1]);
        start(&a.nodes[1]);
    }
    end(&a);
}
END_TEST

static void open_engine(struct node *n)
{
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    settings_of(&settings, n->directory);
    ck_assert_msg(nb_engine_open(&settings, &n->engine, &error) == 0, "%s", error.text);
}

static int count_queued(void *user, const struct nb_traced *one, struct nb_error *error)
{
    (void)error;
    ck_assert(memchr(one->id.bytes, '-', one->id.length) != NULL);
    ++*(uint64_t *)user;
    return 0;
}

/* A node has made three changes that the stream has lost, and that others do not have. */
START_TEST(what_one_store_has_alone_is_handed_over)
{
    static struct together a;
    a = (struct together){.root = ""};
    uint64_t count = 0, found = 0;
    begin(&a);
    uint64_t position = train_one(&a.nodes[0], "of all");
    for (size_t i = 0; i < NODES; i++)
        wait_until_applied(&a.nodes[i], position);
    stop(&a.nodes[1]);
    stop(&a.nodes[2]);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    ck_assert_uint_gt(train_one(&a.nodes[0], "two"), 0);
    ck_assert_uint_gt(train_one(&a.nodes[0], "three"), 0);
    stop(&a.nodes[0]);
    stream_cut(&a.stream, (size_t)position);
    start(&a.nodes[1]);
    ck_assert_uint_gt(train_one(&a.nodes[1], "instead"), 0);
    stop(&a.nodes[1]);
    open_engine(&a.nodes[0]);
    open_engine(&a.nodes[1]);
    ck_assert_int_eq(nb_hand_over(a.nodes[0].engine, a.nodes[1].engine, &count, NULL), 0);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(
        nb_message_scan(a.nodes[1].engine, NB_KEPT_QUEUE, 0, 0, count_queued, &found, NULL), 0);
    ck_assert_uint_eq(found, 3);
    open_engine(&a.nodes[2]); /* what waits is handed over with its ids */
    ck_assert_int_eq(nb_hand_over(a.nodes[1].engine, a.nodes[2].engine, &count, NULL), 0);
    ck_assert_uint_eq(count, 4); /* and "instead", which that node has not got yet */
    for (size_t i = 0; i < NODES; i++)
        nb_engine_close(&a.nodes[i].engine);
    end_stopped(&a);
}
END_TEST

/* ---- digests that are compared --------------------------------------------------------------- */

static const int64_t SOON = 300; /* milliseconds */

static struct nb_point digested_of(struct node *n)
{
    struct nb_replica *r = n->workers[0].replica;
    pthread_mutex_lock(&r->lock);
    struct nb_point digested = r->digested;
    pthread_mutex_unlock(&r->lock);
    return digested;
}

/* Returns whether the first node and the node `other` have digests at the same position, later than
 * `position`; *same: they are equal. */
static bool digests_after(struct together *a, uint64_t position, size_t other, bool *same)
{
    struct nb_point one = digested_of(&a->nodes[0]);
    struct nb_point two = digested_of(&a->nodes[other]);
    *same = one.sum == two.sum;
    return one.position > position && one.position == two.position;
}

static bool wait_until_compared(struct together *a, uint64_t position, size_t other)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    bool same;
    while (!digests_after(a, position, other, &same)) {
        ck_assert_msg(nb_clock_monotonic() < until, "digests are not compared");
        usleep(500);
    }
    return same;
}

static void compare_soon(struct together *a)
{
    for (size_t i = 0; i < NODES; i++)
        a->nodes[i].compares = SOON;
    begin(a);
}

/* They have the same at one position, until one of them has learned something else of the same. */
START_TEST(nodes_compare_what_they_have_learned)
{
    static struct together a;
    a = (struct together){.root = ""};
    struct nb_live *live;
    compare_soon(&a);
    uint64_t position = train_one(&a.nodes[0], "one");
    ck_assert_uint_gt(position, 0);
    for (size_t i = 1; i < NODES; i++)
        ck_assert(wait_until_compared(&a, position, i));
    stop(&a.nodes[1]);
    start(&a.nodes[1]);
    ck_assert_uint_eq(digested_of(&a.nodes[1]).position, 0);
    ck_assert(wait_until_compared(&a, train_one(&a.nodes[0], "two"), 1));
    ck_assert_int_eq(nb_registry_acquire(a.nodes[1].engine, string_at("a"), false, &live, NULL), 0);
    live->checkpoint.last += 1000; /* until its next change */
    position = length_of(&a.stream);
    ck_assert(!wait_until_compared(&a, position, 1));
    ck_assert(wait_until_compared(&a, position, 2));
    nb_registry_release(a.nodes[1].engine, &live);
    end(&a);
}
END_TEST

/* Whoever may publish makes the nodes read their stores now and then, and not all the time. */
START_TEST(nodes_do_not_compare_all_the_time)
{
    static struct together a;
    a = (struct together){.root = ""};
    const struct nb_operation ask = {
        .relayed_change = {.kind = NB_RELAYED_CHANGE_COMPARE, .model = nb_string_of("digest")},
        .change.relayed.time = 1};
    struct nb_buffer message = {0};
    for (size_t i = 0; i < NODES; i++)
        a.nodes[i].compares = i == NODES - 1 ? 0 : 3600000;
    begin(&a);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    ck_assert_int_eq(nb_operation_write(&ask, &message, NULL), 0);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "ask %d", i);
        ck_assert_int_eq(put_message(&a.stream, id, nb_buffer_string(&message), NULL), 0);
    }
    nb_buffer_deinit(&message);
    uint64_t position = train_one(&a.nodes[0], "two");
    for (size_t i = 0; i < NODES; i++)
        wait_until_applied(&a.nodes[i], position);
    uint64_t first = digested_of(&a.nodes[0]).position;
    ck_assert_msg(first > 0 && first + 20 <= position + 1, "%llu of %llu",
                  (unsigned long long)first, (unsigned long long)position);
    ck_assert_uint_eq(digested_of(&a.nodes[1]).position, first);
    ck_assert_uint_eq(digested_of(&a.nodes[2]).position, 0);
    end(&a);
}
END_TEST

/* It makes no changes while it reads, so that it gives up. */
START_TEST(a_digest_takes_so_long_and_no_longer)
{
    static struct together a;
    a = (struct together){.root = ""};
    struct nb_digest digest, again;
    struct nb_error error = {0};
    struct nb_engine *engine;
    begin(&a);
    engine = a.nodes[0].engine;
    for (int i = 0; i < 1500; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        ck_assert_uint_gt(train_one(&a.nodes[0], id), 0);
    }
    ck_assert_int_eq(nb_digest(engine, 0, 0, 0, &digest, &error), NB_TOO_LARGE);
    ck_assert_msg(strstr(error.text, "too large to be compared") != NULL, "%s", error.text);
    stop(&a.nodes[0]);
    ck_assert_int_eq(open_node(&a.nodes[0], 77, &error), 0);
    engine = a.nodes[0].engine;
    ck_assert_int_eq(nb_digest(engine, 0, 0, UINT64_MAX, &digest, &error), 0);
    ck_assert_int_eq(nb_digest(engine, 0, 0, UINT64_MAX, &again, &error), 0);
    ck_assert_str_eq(digest.digits, again.digits);
    close_node(&a.nodes[0]);
    start(&a.nodes[0]);
    end(&a);
}
END_TEST

/* What they find is published by all of them, and again while it does not come back. */
START_TEST(what_nodes_find_has_ids_of_its_time)
{
    static struct together a;
    a = (struct together){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_settings settings;
    bool created;
    begin(&a);
    for (size_t i = 1; i < NODES; i++)
        stop(&a.nodes[i]);
    nb_settings_init(&settings, NB_PRESET_TEXT);
    settings.max_documents = 2;
    ck_assert_int_eq(nb_engine_put_model(n->engine, string_at("a"), &settings, false, string_at(""),
                                         &created, NULL),
                     0);
    nb_settings_deinit(&settings);
    atomic_store(&a.stream.loses, true);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_gt(train_one(n, (const char *[]){"one", "two", "three", "four"}[i]), 0);
    usleep(300000); /* from now on the writer looks once a second */
    pthread_mutex_lock(&a.stream.lock);
    a.stream.lost = 0;
    atomic_store(&a.stream.known, 0);
    pthread_mutex_unlock(&a.stream.lock);
    for (size_t lost = 0; lost < 2;) {
        usleep(10000);
        pthread_mutex_lock(&a.stream.lock);
        lost = a.stream.lost;
        pthread_mutex_unlock(&a.stream.lock);
    }
    ck_assert_uint_eq(atomic_load(&a.stream.known), 0);
    atomic_store(&a.stream.loses, false);
    for (size_t i = 1; i < NODES; i++)
        start(&a.nodes[i]);
    end(&a);
}
END_TEST

/* Who may write the tables can take the id of a message before it comes. */
START_TEST(another_message_under_an_id_is_no_answer)
{
    static struct together a;
    a = (struct together){.root = ""};
    const struct nb_operation relayed_change = {
        .relayed_change = {.kind = NB_RELAYED_CHANGE_DROP, .model = nb_string_of("a")},
        .change.relayed.time = 1};
    struct nb_buffer message = {0};
    struct nb_error error = {0};
    begin(&a);
    uint64_t position = train_one(&a.nodes[0], "one");
    ck_assert_uint_gt(position, 0);
    ck_assert_int_eq(nb_operation_write(&relayed_change, &message, NULL), 0);
    a.stream.instead = nb_buffer_string(&message);
    ck_assert_uint_eq(train_one(&a.nodes[0], "two"), 0);
    struct message change = message_at(&a.stream, position);
    a.stream.instead = nb_buffer_string(&change.bytes);
    ck_assert_int_eq(
        nb_engine_delete_model(a.nodes[0].engine, string_at("a"), string_at(""), &error),
        NB_CONFLICT);
    ck_assert_ptr_nonnull(strstr(error.text, "something else"));
    position = train_one(&a.nodes[1], "three");
    ck_assert_uint_gt(position, 0);
    wait_until_applied(&a.nodes[0], position);
    nb_buffer_deinit(&message);
    end(&a);
}
END_TEST

/* ---- a full disk ----------------------------------------------------------------------------- */

static atomic_bool is_full;
static atomic_uint refused;

/* Replaces the library's function: nothing is written while the disk is full. */
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    if (!atomic_load(&is_full))
        return test_pwrite(file, bytes, size, at);
    atomic_fetch_add(&refused, 1);
    errno = ENOSPC;
    return -1;
}

static void *put_model(void *argument)
{
    struct node *n = argument;
    struct nb_settings settings;
    bool created = false;
    nb_settings_init(&settings, NB_PRESET_TEXT);
    int rc = nb_engine_put_model(n->engine, string_at("b"), &settings, true, string_at("who"),
                                 &created, NULL);
    nb_settings_deinit(&settings);
    ck_assert(rc == 0 && created);
    return NULL;
}

static uint64_t documents_of(struct node *n)
{
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(n->engine, string_at("a"), &info, NULL), 0);
    uint64_t documents = info.documents;
    nb_model_info_deinit(&info);
    return documents;
}

/* What was delivered meanwhile is not lost: it is delivered again, each once, and clients wait. */
START_TEST(a_full_disk_delays_what_is_delivered)
{
    enum { CHANGES = 30 };
    static struct together a;
    struct nb_batch *batches[CHANGES];
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    struct nb_digest digests[NODES];
    pthread_t putting;
    atomic_int left;
    a = (struct together){.root = ""};
    begin(&a);
    ck_assert_uint_gt(train_one(&a.nodes[0], "before"), 0);
    atomic_init(&left, CHANGES);
    atomic_store(&is_full, true);
    for (int i = 0; i < CHANGES; i++) {
        struct node *n = &a.nodes[i % NODES];
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        if (i == CHANGES / 2)
            ck_assert_int_eq(pthread_create(&putting, NULL, put_model, n), 0);
        ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batches[i], NULL), 0);
        ck_assert_int_eq(nb_batch_train(batches[i], &document, string_at("ham"), string_at(id),
                                        string_at("who"), NULL),
                         0);
        nb_engine_submit(n->engine, batches[i], count_down, &left);
        usleep(5000);
    }
    usleep(200000);
    ck_assert_int_eq(atomic_load(&left), CHANGES);
    ck_assert_uint_gt(atomic_load(&refused), 0);
    atomic_store(&is_full, false);
    while (atomic_load(&left) > 0)
        usleep(1000);
    ck_assert_int_eq(pthread_join(putting, NULL), 0);
    for (int i = 0; i < CHANGES; i++) {
        const struct nb_receipt *r = nb_batch_receipt(batches[i], 0);
        ck_assert_msg(r->code == 0, "%d: %s", i, r->error.text);
        nb_batch_free(&batches[i]);
    }
    uint64_t position = train_one(&a.nodes[0], "after");
    for (size_t i = 0; i < NODES; i++) {
        wait_until_applied(&a.nodes[i], position);
        ck_assert_uint_eq(documents_of(&a.nodes[i]), CHANGES + 2);
        ck_assert_int_eq(nb_digest(a.nodes[i].engine, 0, 0, UINT64_MAX, &digests[i], NULL), 0);
        ck_assert_str_eq(digests[i].digits, digests[0].digits);
    }
    end(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("streams");
    TCase *t = tcase_create("streams");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60); /* a store that was full is tried again after some seconds */
    tcase_add_test(t, a_stream_is_made_anew);
    tcase_add_test(t, a_trace_has_what_came);
    tcase_add_test(t, what_one_store_has_alone_is_handed_over);
    tcase_add_test(t, nodes_compare_what_they_have_learned);
    tcase_add_test(t, nodes_do_not_compare_all_the_time);
    tcase_add_test(t, a_digest_takes_so_long_and_no_longer);
    tcase_add_test(t, a_model_that_is_not_stored_yet_gives_no_words);
    tcase_add_test(t, what_nodes_find_has_ids_of_its_time);
    tcase_add_test(t, another_message_under_an_id_is_no_answer);
    tcase_add_test(t, a_full_disk_delays_what_is_delivered);
    return test_run_with_tokenizer(s);
}
