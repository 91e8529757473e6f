/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node finds out about its stream: a server has another message, the stream was made anew or
 * says another time, a receipt is not acknowledged; and that nodes have learned something else.
 */
#include "core/base/feature_hash.h"
#include "core/registry/registry.h"
#include "core/replica/carry.h"
#include "core/replica/digest.h"
#include "core/replica/operation.h"
#include "tests/unit/core/replica/nodes.h"

/* ---- a server of the stream that has another message ------------------------------------------
 */

struct astray {
    char root[NB_TEST_FOLDER_SIZE];
    struct stream stream;
    struct node nodes[NODES];
};

/* A document on a node; its position. */
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

static void mislead(struct astray *a, uint64_t position)
{
    pthread_mutex_init(&a->stream.lock, NULL);
    test_folder_make(a->root);
    a->stream.replaced = position;
    for (size_t i = 0; i < NODES; i++) {
        struct node *n = &a->nodes[i];
        snprintf(n->directory, sizeof n->directory, "%s/%zu", a->root, i);
        n->stream = &a->stream;
        n->member = 100 + i;
        atomic_store(&n->is_misled, i == NODES - 1);
        start(n);
    }
}

static void wait_until_astray(struct node *n)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    while (!atomic_load(&n->is_astray)) {
        ck_assert_msg(nb_clock_monotonic() < until, "it does not find out");
        usleep(500);
    }
    ck_assert_int_eq(n->error.code, NB_CONFLICT);
    ck_assert_msg(strstr(n->error.text, "change at 3 ") != NULL, "%s", n->error.text);
}

/* Until the second node knows that the third one was given the same. */
static void wait_until_agreed(struct astray *a, uint64_t position)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    for (uint64_t agreed = 0; agreed < position;) {
        ck_assert_msg(nb_clock_monotonic() < until, "they do not agree: %lu", agreed);
        usleep(500);
        for (size_t i = 1; i < NODES; i++) {
            uint64_t one = atomic_load(&a->nodes[i].lanes[0].agreed);
            agreed = i == 1 || one < agreed ? one : agreed;
        }
    }
}

/* All but the first node are given something else, and agree about it; the first one is stopped. */
static void mislead_all_but_one(struct astray *a)
{
    mislead(a, 3);
    for (size_t i = 1; i < NODES; i++)
        atomic_store(&a->nodes[i].is_misled, true);
    for (size_t i = 0; length_of(&a->stream) < 3; i++)
        (void)train_one(&a->nodes[0], (const char *[]){"one", "two", "three"}[i % 3]);
    stop(&a->nodes[0]);
    wait_until_agreed(a, 3);
}

static void end(struct astray *a)
{
    for (size_t i = 0; i < NODES; i++)
        stop(&a->nodes[i]);
    stream_free(&a->stream);
    test_folder_remove(a->root);
}

/* The change that it has another one for is the last: the others tell it nevertheless. It does not
 * forget what it has found out when it starts again. */
START_TEST(a_misled_node_finds_out)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead(&a, 3);
    for (size_t i = 0; length_of(&a.stream) < 3; i++)
        (void)train_one(&a.nodes[0], (const char *[]){"one", "two", "three"}[i % 3]);
    wait_until_astray(n);
    ck_assert_uint_eq(train_one(n, "four"), 0); /* refused */
    ck_assert_uint_gt(train_one(&a.nodes[0], "five"), 0);
    wait_until_applied(&a.nodes[1], length_of(&a.stream));
    ck_assert(!atomic_load(&a.nodes[0].is_astray) && !atomic_load(&a.nodes[1].is_astray));
    struct nb_chained told = nb_replica_told(n->lanes[0].replica);
    ck_assert_uint_ge(told.position, 3);
    ck_assert_int_eq(nb_replica_agrees(a.nodes[0].lanes[0].replica, told), 0);
    told = nb_replica_told(a.nodes[1].lanes[0].replica);
    ck_assert_int_eq(nb_replica_agrees(a.nodes[1].lanes[0].replica, told), 1);
    told.position += 1000; /* where nobody is yet */
    ck_assert_int_eq(nb_replica_agrees(a.nodes[0].lanes[0].replica, told), -1);
    stop(n);
    atomic_store(&n->is_astray, false);
    struct nb_error error = {0};
    start(n);
    ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "change at ") != NULL, "%s", error.text);
    end(&a);
}
END_TEST

/* Two that read from the same server agree with each other, and start again. */
START_TEST(misled_nodes_that_agree_find_out_when_they_start)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead_all_but_one(&a);
    for (size_t i = 1; i < NODES; i++)
        stop(&a.nodes[i]);
    for (size_t i = 1; i < NODES; i++) {
        struct nb_error error = {0};
        n = &a.nodes[i];
        start(n);
        ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), NB_CONFLICT);
        ck_assert_msg(strstr(error.text, "change at ") != NULL, "%s", error.text);
    }
    start(&a.nodes[0]);
    end(&a);
}
END_TEST

/* And have agreed about much more, before another node tells them. */
START_TEST(misled_nodes_that_agree_find_out_late)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    mislead_all_but_one(&a);
    for (int i = 0; i < 3000; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        ck_assert_int_eq(put_message(&a.stream, id, &(struct nb_witness){0}, string_at("x"), NULL),
                         0);
    }
    wait_until_agreed(&a, length_of(&a.stream));
    start(&a.nodes[0]);
    for (size_t i = 1; i < NODES; i++)
        wait_until_astray(&a.nodes[i]);
    ck_assert(!atomic_load(&a.nodes[0].is_astray));
    end(&a);
}
END_TEST

/* Gives the model a word as a change does that is not committed yet. */
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
    static struct astray a;
    struct nb_batch *batch;
    struct nb_live *live;
    struct nb_operation o;
    struct nb_buffer out = {0};
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    a = (struct astray){.root = ""};
    mislead(&a, UINT64_MAX);
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
    ck_assert_int_eq(nb_carry_write(batch, 1, 1, 0, &out, NULL), 0);
    ck_assert_int_eq(nb_operation_read(&o, nb_buffer_string(&out), NULL), 0);
    ck_assert_uint_eq(o.born, 0);
    ck_assert_uint_gt(o.feature_count, 2);
    struct nb_unpacker u = nb_unpacker_of(o.features.bytes, o.features.length);
    for (size_t i = 0; i < o.feature_count; i++)
        ck_assert(nb_operation_next(&u).has_text);
    nb_buffer_deinit(&out);
    nb_batch_free(&batch);
    end(&a);
}
END_TEST

/* What came back is not promised before the stream says that a majority of its servers have it. */
START_TEST(a_receipt_waits_until_it_is_acknowledged)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_batch *batch;
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    atomic_int left;
    atomic_init(&left, 1);
    mislead(&a, UINT64_MAX);
    atomic_store(&a.stream.is_silent, true);
    ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at("ham"), string_at("d"), string_at(""), NULL), 0);
    nb_engine_submit(n->engine, batch, count_down, &left);
    wait_until_applied(n, 1);
    usleep(20000);
    ck_assert_int_eq(atomic_load(&left), 1);
    nb_replica_acknowledge(n->lanes[0].replica, message_at(&a.stream, 1).id, 1);
    ck_assert_int_eq(atomic_load(&left), 0);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    ck_assert_uint_eq(nb_batch_receipt(batch, 0)->number, 1);
    nb_batch_free(&batch);
    end(&a);
}
END_TEST

/* The copy that this node reads from has it at another place than the stream. */
START_TEST(a_receipt_has_the_place_that_is_acknowledged)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    mislead(&a, UINT64_MAX);
    ck_assert_uint_gt(train_one(n, "one"), 0);
    atomic_store(&a.stream.displaced, 1);
    ck_assert_uint_eq(train_one(n, "two"), 0); /* refused */
    atomic_store(&a.stream.displaced, 0);
    ck_assert_uint_gt(train_one(n, "two"), 0);
    end(&a);
}
END_TEST

/* Nodes that start together may make the stream twice, before anything is in it. */
START_TEST(a_stream_is_made_twice)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_error error = {0};
    mislead(&a, UINT64_MAX);
    stop(n);
    ck_assert_int_eq(open_node(n, 78, &error), 0);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 79, 0, &error), 0);
    nb_replica_free(&n->lanes[0].replica);
    nb_engine_close(&n->engine);
    start(n); /* of 77 again */
    ck_assert_uint_gt(train_one(n, "one"), 0);
    end(&a);
}
END_TEST

static void close_node(struct node *n)
{
    nb_replica_free(&n->lanes[0].replica);
    nb_engine_close(&n->engine);
}

/* What the store of a node that is stopped says. */
static uint64_t created_of(struct node *n)
{
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    settings_of(&settings, n->directory);
    ck_assert_msg(nb_engine_open(&settings, &n->engine, &error) == 0, "%s", error.text);
    uint64_t created = n->engine->standing.places[0].created;
    nb_engine_close(&n->engine);
    return created;
}

/* A node that has something, and is stopped; the others are, too. */
static struct node *one_with_changes(struct astray *a)
{
    mislead(a, UINT64_MAX);
    ck_assert_uint_gt(train_one(&a->nodes[0], "one"), 0);
    ck_assert_uint_gt(train_one(&a->nodes[0], "two"), 0);
    for (size_t i = 0; i < NODES; i++)
        stop(&a->nodes[i]);
    return &a->nodes[0];
}

static void end_stopped(struct astray *a)
{
    stream_free(&a->stream);
    test_folder_remove(a->root);
}

/* Servers that have started again say another time of a stream that was made twice. What this node
 * has made last is in it. */
START_TEST(a_stream_says_another_time)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    ck_assert_uint_eq(created_of(n), 77);
    ck_assert_msg(open_node(n, 78, &error) == 0, "%s", error.text);
    ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), 0);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 78);
    ck_assert_int_eq(open_node(n, 78, &error), 0);
    uint64_t length = length_of(&a.stream), at = nb_replica_applied(n->lanes[0].replica);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 79, length, &error), 0);
    ck_assert_uint_eq(nb_replica_applied(n->lanes[0].replica), at);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 79);
    start(n);
    ck_assert_uint_gt(train_one(n, "three"), at);
    stop(n);
    end_stopped(&a);
}
END_TEST

/* Refused, at the start and while it follows; the store stays what it was. */
static void expect_anew(struct astray *a, const char *what)
{
    struct nb_error error = {0};
    struct node *n = &a->nodes[0];
    uint64_t length = length_of(&a->stream);
    ck_assert_msg(open_node(n, 78, &error) == NB_CONFLICT, "%s", what);
    ck_assert_msg(strstr(error.text, "was made anew") != NULL, "%s: %s", what, error.text);
    nb_engine_close(&n->engine);
    ck_assert_msg(open_node(n, 77, &error) == 0, "%s: %s", what, error.text);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "was made anew") != NULL, "%s: %s", what, error.text);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 77);
}

START_TEST(a_stream_is_made_anew)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    ck_assert_int_eq(open_node(n, 77, &error), 0);
    uint64_t at = nb_replica_applied(n->lanes[0].replica);
    close_node(n);
    ck_assert_uint_ge(at, 2);
    a.stream.replaced = at;
    atomic_store(&a.stream.leads, true);
    expect_anew(&a, "another message there");
    atomic_store(&a.stream.leads, false);
    a.stream.gone = at;
    expect_anew(&a, "cut");
    a.stream.gone = UINT64_MAX;
    expect_anew(&a, "empty");
    a.stream.gone = 0;
    end_stopped(&a);
}
END_TEST

/* The last message is the same, and one before it is not. */
START_TEST(a_stream_that_says_another_time_is_compared)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    ck_assert_int_eq(open_node(n, 77, &error), 0);
    a.stream.replaced = nb_replica_applied(n->lanes[0].replica) - 1;
    uint64_t length = length_of(&a.stream);
    ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), 0);
    atomic_store(&a.stream.leads, true);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "another change at") != NULL, "%s", error.text);
    close_node(n);
    end_stopped(&a);
}
END_TEST

/* Nobody knows yet. */
START_TEST(a_stream_says_another_time_and_no_more)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    uint64_t length = length_of(&a.stream);
    atomic_store(&a.stream.is_mute, true);
    ck_assert_int_eq(open_node(n, 78, &error), NB_STOPPING);
    nb_engine_close(&n->engine);
    ck_assert_int_eq(open_node(n, 77, &error), 0);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), NB_STOPPING);
    atomic_store(&a.stream.is_mute, false);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), 0);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 78);
    end_stopped(&a);
}
END_TEST

/* ---- digests that are compared --------------------------------------------------------------- */

static const uint64_t SOON = UINT64_C(300000000);

/* A digest at a later position than that, of the first node, and of another one there. */
static bool digests_after(struct astray *a, uint64_t position, size_t other, bool *same)
{
    struct nb_chained one = nb_replica_digested(a->nodes[0].lanes[0].replica);
    struct nb_chained two = nb_replica_digested(a->nodes[other].lanes[0].replica);
    *same = one.chain == two.chain;
    return one.position > position && one.position == two.position;
}

static bool wait_until_compared(struct astray *a, uint64_t position, size_t other)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    bool same;
    while (!digests_after(a, position, other, &same)) {
        ck_assert_msg(nb_clock_monotonic() < until, "digests are not compared");
        usleep(500);
    }
    return same;
}

static void compare_soon(struct astray *a)
{
    for (size_t i = 0; i < NODES; i++)
        a->nodes[i].compares = SOON;
    mislead(a, UINT64_MAX);
}

/* They have the same at one position, until one of them has learned something else of the same. */
START_TEST(nodes_compare_what_they_have_learned)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_live *live;
    compare_soon(&a);
    uint64_t position = train_one(&a.nodes[0], "one");
    ck_assert_uint_gt(position, 0);
    for (size_t i = 1; i < NODES; i++)
        ck_assert(wait_until_compared(&a, position, i));
    stop(&a.nodes[1]);
    start(&a.nodes[1]);
    ck_assert_uint_eq(nb_replica_digested(a.nodes[1].lanes[0].replica).position, 0);
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
    static struct astray a;
    a = (struct astray){.root = ""};
    const struct nb_operation ask = {
        .kind = NB_OPERATION_ERRAND + (unsigned)NB_ERRAND_BARRIER,
        .time = 1,
        .errand = {.kind = NB_ERRAND_BARRIER, .model = nb_string_of("digest")}};
    struct nb_buffer message = {0};
    for (size_t i = 0; i < NODES; i++)
        a.nodes[i].compares = i == NODES - 1 ? 0 : UINT64_C(3600000000000);
    mislead(&a, UINT64_MAX);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    ck_assert_int_eq(nb_operation_write(&ask, &message), 0);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "ask %d", i);
        ck_assert_int_eq(
            put_message(&a.stream, id, &(struct nb_witness){0}, nb_buffer_string(&message), NULL),
            0);
    }
    nb_buffer_deinit(&message);
    uint64_t position = train_one(&a.nodes[0], "two");
    for (size_t i = 0; i < NODES; i++)
        wait_until_applied(&a.nodes[i], position);
    uint64_t first = nb_replica_digested(a.nodes[0].lanes[0].replica).position;
    ck_assert_msg(first > 0 && first + 20 <= position + 1, "%lu of %lu", first, position);
    ck_assert_uint_eq(nb_replica_digested(a.nodes[1].lanes[0].replica).position, first);
    ck_assert_uint_eq(nb_replica_digested(a.nodes[2].lanes[0].replica).position, 0);
    end(&a);
}
END_TEST

/* It makes no changes while it reads, so that it gives up. */
START_TEST(a_digest_takes_so_long_and_no_longer)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_digest digest, again;
    struct nb_error error = {0};
    struct nb_engine *engine;
    mislead(&a, UINT64_MAX);
    engine = a.nodes[0].engine;
    for (int i = 0; i < 1500; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        ck_assert_uint_gt(train_one(&a.nodes[0], id), 0);
    }
    ck_assert_int_eq(nb_digest_within(engine, 0, 0, 0, &digest, &error), NB_TOO_LARGE);
    ck_assert_msg(strstr(error.text, "too large to be compared") != NULL, "%s", error.text);
    stop(&a.nodes[0]);
    ck_assert_int_eq(open_node(&a.nodes[0], 77, &error), 0);
    engine = a.nodes[0].engine;
    ck_assert_int_eq(nb_digest_within(engine, 0, 0, UINT64_MAX, &digest, &error), 0);
    ck_assert_int_eq(nb_digest(engine, 0, 0, &again, &error), 0);
    ck_assert_str_eq(digest.digits, again.digits);
    close_node(&a.nodes[0]);
    start(&a.nodes[0]);
    end(&a);
}
END_TEST

/* Servers of the stream may not agree which ids they know: no node uses one that was used before,
 * also when it comes to the same place later, with an empty store. */
START_TEST(what_nodes_tell_has_ids_of_its_own)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead(&a, UINT64_MAX);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    wait_until_agreed(&a, 1);
    usleep(1500000); /* all have had their turn */
    stop(n);
    test_folder_remove(n->directory);
    atomic_store(&n->sees, 1);
    size_t before = length_of(&a.stream);
    ck_assert_uint_ge(before, 3);
    start(n);
    while (length_of(&a.stream) == before && atomic_load(&a.stream.known) == 0)
        usleep(500);
    atomic_store(&n->sees, 0);
    ck_assert_uint_eq(atomic_load(&a.stream.known), 0);
    end(&a);
}
END_TEST

/* What they find is published by all of them, and again while it does not come back. */
START_TEST(what_nodes_find_has_ids_of_its_time)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_settings settings;
    bool created;
    mislead(&a, UINT64_MAX);
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
    for (size_t lost = 0; lost < 12;) {
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

/* What it publishes before it has found out does not mislead the others. */
START_TEST(a_misled_node_publishes)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead(&a, 3);
    for (size_t i = 0; length_of(&a.stream) < 3; i++)
        (void)train_one(&a.nodes[0], (const char *[]){"one", "two", "three"}[i % 3]);
    wait_until_applied(n, 3);
    (void)train_one(n, "four"); /* unless it has found out so soon */
    wait_until_astray(n);
    ck_assert_uint_gt(train_one(&a.nodes[0], "five"), 0);
    ck_assert_uint_gt(train_one(&a.nodes[1], "six"), 0);
    size_t length = length_of(&a.stream);
    wait_until_applied(&a.nodes[0], length);
    for (size_t i = 1; i <= length; i++) {
        struct nb_witness w = message_at(&a.stream, i).witness;
        if (w.member == n->member && w.position >= 3)
            ck_assert_uint_gt(atomic_load(&a.nodes[0].warnings), 0);
    }
    end(&a);
}
END_TEST

/* The server that has another message leads: the stream has what that one has. */
START_TEST(the_others_find_out)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    mislead(&a, 3);
    atomic_store(&a.stream.leads, true);
    for (size_t i = 0; length_of(&a.stream) < 3; i++)
        (void)train_one(&a.nodes[NODES - 1], (const char *[]){"one", "two", "three"}[i % 3]);
    for (size_t i = 0; i < NODES - 1; i++)
        wait_until_astray(&a.nodes[i]);
    ck_assert(!atomic_load(&a.nodes[NODES - 1].is_astray));
    end(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("streams");
    TCase *t = tcase_create("streams");
    suite_add_tcase(s, t);
    tcase_add_test(t, a_stream_is_made_twice);
    tcase_add_test(t, a_stream_says_another_time);
    tcase_add_test(t, a_stream_is_made_anew);
    tcase_add_test(t, nodes_compare_what_they_have_learned);
    tcase_add_test(t, nodes_do_not_compare_all_the_time);
    tcase_add_test(t, a_digest_takes_so_long_and_no_longer);
    tcase_add_test(t, a_stream_that_says_another_time_is_compared);
    tcase_add_test(t, a_stream_says_another_time_and_no_more);
    tcase_add_test(t, a_model_that_is_not_stored_yet_gives_no_words);
    tcase_add_test(t, a_receipt_waits_until_it_is_acknowledged);
    tcase_add_test(t, a_receipt_has_the_place_that_is_acknowledged);
    tcase_add_test(t, a_misled_node_finds_out);
    tcase_add_test(t, misled_nodes_that_agree_find_out_when_they_start);
    tcase_add_test(t, misled_nodes_that_agree_find_out_late);
    tcase_add_test(t, a_misled_node_publishes);
    tcase_add_test(t, what_nodes_tell_has_ids_of_its_own);
    tcase_add_test(t, what_nodes_find_has_ids_of_its_time);
    tcase_add_test(t, the_others_find_out);
    SRunner *runner = srunner_create(s);
    if (nb_tokenizer_setup(NULL) != 0)
        return EXIT_FAILURE;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    nb_tokenizer_teardown();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
