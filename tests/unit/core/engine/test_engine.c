/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine on a real store: exactness of incremental changes, durability over close and reopen,
 * checkpoints, administration, dumps.
 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/archive/dump/export.h"
#include "core/archive/dump/import.h"
#include "core/archive/repair/repair.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/model/state.h"
#include "core/store/store_private.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_engine *engine;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static struct nb_document text(const char *s)
{
    return (struct nb_document){.kind = NB_DOCUMENT_TEXT, .bytes = s, .length = strlen(s)};
}

static void open_engine(void)
{
    struct nb_error error = {0};
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    open_engine();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static void reopen(void)
{
    nb_engine_close(&engine);
    open_engine();
}

static void print_difference(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static void verify(void)
{
    struct nb_error error = {0};
    nb_engine_close(&engine);
    int rc = nb_engine_verify(&settings, print_difference, NULL, &error);
    ck_assert_msg(rc == 0, "verify: %d %s", rc, error.text);
    open_engine();
}

/* Trains (label) or untrains (NULL) one document; returns the receipt's code. */
static int change(const char *model, const char *id, const char *label, const char *words,
                  struct nb_receipt *receipt)
{
    struct nb_batch *batch;
    struct nb_error error = {0};
    struct nb_document document = text(words == NULL ? "" : words);
    ck_assert_int_eq(nb_batch_new(engine, str(model), true, &batch, &error), 0);
    int rc = label != NULL
                 ? nb_batch_train(batch, &document, str(label), str(id), str("test"), &error)
                 : nb_batch_untrain(batch, &document, str(id), str("test"), &error);
    if (rc == 0) {
        nb_engine_apply(engine, batch);
        if (receipt != NULL)
            *receipt = *nb_batch_receipt(batch, 0);
        rc = nb_batch_receipt(batch, 0)->code;
    }
    nb_batch_free(&batch);
    return rc;
}

static void train(const char *model, const char *id, const char *label, const char *words)
{
    ck_assert_int_eq(change(model, id, label, words, NULL), 0);
}

/* Makes a model with a preset, for tests whose results depend on it. */
static void put_preset(const char *name, enum nb_preset preset)
{
    struct nb_settings wanted;
    bool created;
    nb_settings_init(&wanted, preset);
    ck_assert_int_eq(
        nb_engine_put_model(engine, str(name), &wanted, false, str(""), &created, NULL), 0);
    nb_settings_deinit(&wanted);
}

static double score_of(const char *model, const char *words, const char *label)
{
    struct nb_verdict verdict;
    struct nb_document document = text(words);
    double score = NAN;
    nb_verdict_init(&verdict);
    if (nb_engine_classify(engine, str(model), &document, 0, &verdict, NULL) == 0)
        for (size_t i = 0; i < verdict.size; i++)
            if (strcmp(verdict.labels[i], label) == 0)
                score = verdict.log_scores[i];
    nb_verdict_deinit(&verdict);
    return score;
}

static void expect_status(const char *id, const char *label, const char *words,
                          enum nb_status status)
{
    struct nb_receipt receipt;
    ck_assert_int_eq(change("m", id, label, words, &receipt), 0);
    ck_assert_int_eq(receipt.status, status);
}

START_TEST(statuses)
{
    expect_status("1", "spam", "free money", NB_LEARNED);
    expect_status("1", "spam", "free money", NB_UNCHANGED);
    expect_status("1", "ham", "free money", NB_RELABELLED);
    expect_status("1", "ham", "free lunch", NB_UPDATED);
    expect_status("2", "ham", "new words of a lunch", NB_LEARNED); /* some are known */
    expect_status("2", "ham", "new words of a lunch", NB_UNCHANGED);
    expect_status("2", NULL, NULL, NB_FORGOTTEN);
    expect_status("1", NULL, NULL, NB_FORGOTTEN);
    ck_assert_int_eq(change("m", "1", NULL, NULL, NULL), NB_NOT_FOUND);
    verify();
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &info, NULL), 0);
    ck_assert_uint_eq(info.documents, 0);
    ck_assert_uint_eq(info.vocabulary, 0);
    nb_model_info_deinit(&info);
}
END_TEST

START_TEST(scores_by_hand)
{
    train("m", "1", "a", "hello world");
    train("m", "2", "b", "bye world");
    /* |V| = 3, n_b = 2: ln(1/2) + ln((1 + 1) / (2 + 3)) */
    ck_assert_double_eq_tol(score_of("m", "bye", "b"), log(0.5) + log(0.4), 1e-12);
    reopen();
    ck_assert_double_eq_tol(score_of("m", "bye", "b"), log(0.5) + log(0.4), 1e-12);
}
END_TEST

/* ---- random histories ------------------------------------------------------------------------ */

enum { DOCUMENTS = 60, WORDS = 400 };

struct state {
    const char *label; /* NULL: not learned */
    char words[256];
};

static void random_words(unsigned *seed, char *words, size_t room)
{
    size_t at = 0;
    int count = rand_r(seed) % 20;
    words[0] = '\0';
    for (int i = 0; i < count; i++) {
        int word = (rand_r(seed) % WORDS) * (rand_r(seed) % WORDS) / WORDS;
        at += (size_t)snprintf(words + at, room - at, "w%d ", word);
    }
}

static void random_change(unsigned *seed, struct state *documents)
{
    static const char *const labels[] = {"a", "b", "c", "d"};
    int i = rand_r(seed) % DOCUMENTS;
    struct state *d = &documents[i];
    char id[16];
    snprintf(id, sizeof id, "d%d", i);
    if (rand_r(seed) % 4 == 0) {
        int rc = change("m", id, NULL, NULL, NULL);
        ck_assert_int_eq(rc, d->label == NULL ? NB_NOT_FOUND : 0);
        d->label = NULL;
        return;
    }
    if (rand_r(seed) % 2 == 0)
        random_words(seed, d->words, sizeof d->words);
    d->label = labels[rand_r(seed) % 4];
    train("m", id, d->label, d->words);
}

/* Expects the model to equal one newly trained on the current documents. */
static void compare_with_fresh(const struct state *documents)
{
    static const char probe[] = "w0 w1 w2 w3 w5 w8 w13 w21 w34 w55 w89 w144 w233 w377 new";
    for (int i = 0; i < DOCUMENTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        if (documents[i].label != NULL)
            train("fresh", id, documents[i].label, documents[i].words);
    }
    static const char *const labels[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        double got = score_of("m", probe, labels[i]);
        double want = score_of("fresh", probe, labels[i]);
        ck_assert_msg((isnan(got) && isnan(want)) || fabs(got - want) < 1e-9, "%s: %.17g, %.17g",
                      labels[i], got, want);
    }
    struct nb_model_info a;
    struct nb_model_info b;
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &a, NULL), 0);
    ck_assert_int_eq(nb_engine_model(engine, str("fresh"), &b, NULL), 0);
    ck_assert_uint_eq(a.vocabulary, b.vocabulary);
    ck_assert_uint_eq(a.documents, b.documents);
    nb_model_info_deinit(&a);
    nb_model_info_deinit(&b);
    ck_assert_int_eq(nb_engine_delete_model(engine, str("fresh"), str(""), NULL), 0);
}

static void random_history(unsigned seed, uint64_t replay_features)
{
    static struct state documents[DOCUMENTS];
    memset(documents, 0, sizeof documents);
    fprintf(stderr, "seed %u\n", seed);
    nb_engine_close(&engine);
    settings.replay_features = replay_features;
    open_engine();
    train("m", "d0", "a", "w0");
    documents[0].label = "a";
    snprintf(documents[0].words, sizeof documents[0].words, "w0");
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 80; i++)
            random_change(&seed, documents);
        if (round % 2 == 0)
            reopen();
        else
            verify();
    }
    compare_with_fresh(documents);
}

START_TEST(any_history_equals_a_fresh_training)
{
    random_history((unsigned)_i + 1, UINT32_MAX);
}
END_TEST

/* With a tail this short every commit writes ranges, and sweeps end in the middle of everything. */
START_TEST(any_history_with_checkpoints)
{
    random_history((unsigned)_i + 100, 50);
}
END_TEST

static void apply_pairs(unsigned pairs, bool back)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    for (unsigned i = 0; i < pairs; i++) {
        struct nb_document document = text(i % 2 == 0 ? "a" : "");
        char id[16];
        snprintf(id, sizeof id, "%u", i);
        int rc = back ? nb_batch_untrain(batch, NULL, str(id), str(""), NULL)
                      : nb_batch_train(batch, &document, str("a"), str(id), str(""), NULL);
        ck_assert_int_eq(rc, 0);
    }
    nb_engine_apply(engine, batch);
    nb_batch_free(&batch);
}

/* Documents that come and go leave nothing behind, also when they are so short, or empty, that a
 * great many of them come and go between two checkpoints. */
START_TEST(what_was_forgotten_is_dropped)
{
    enum { ROUNDS = 60, PAIRS = 2500 };
    struct nb_engine_statistics statistics;
    uint64_t early = 0;
    nb_engine_close(&engine);
    settings.replay_features = 100000;
    open_engine();
    for (int round = 0; round < ROUNDS; round++) {
        apply_pairs(PAIRS, false);
        apply_pairs(PAIRS, true);
        nb_engine_statistics(engine, &statistics);
        if (round == ROUNDS / 3)
            early = statistics.store_bytes;
    }
    ck_assert_uint_le(statistics.replay_features, 2 * settings.replay_features);
    ck_assert_uint_le(statistics.store_bytes, early + early / 4);
    verify();
}
END_TEST

/* ---- many trainers --------------------------------------------------------------------------- */

static void *train_many(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    char words[256];
    char id[32];
    for (int i = 0; i < 100; i++) {
        random_words(&seed, words, sizeof words);
        snprintf(id, sizeof id, "%u-%d", (unsigned)(uintptr_t)argument, i);
        train("m", id, i % 2 ? "a" : "b", words);
        (void)score_of("m", words, "a");
    }
    return NULL;
}

START_TEST(concurrent_trainers_share_commits)
{
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, train_many, (void *)(i + 1)), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    struct nb_engine_statistics statistics;
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_eq(statistics.learned, 800);
    ck_assert_uint_eq(statistics.queued, 0);
    ck_assert_uint_lt(statistics.commits, 800);
    verify();
}
END_TEST

START_TEST(the_map_grows)
{
    nb_engine_close(&engine);
    settings.map_size = 1 << 20;
    open_engine();
    struct nb_batch *batch;
    char id[16];
    unsigned seed = 7;
    char words[256];
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    for (int i = 0; i < 3000; i++) {
        random_words(&seed, words, sizeof words);
        struct nb_document document = text(words);
        snprintf(id, sizeof id, "%d", i);
        ck_assert_int_eq(nb_batch_train(batch, &document, str("a"), str(id), str(""), NULL), 0);
    }
    nb_engine_apply(engine, batch);
    for (size_t i = 0; i < nb_batch_size(batch); i++)
        ck_assert_int_eq(nb_batch_receipt(batch, i)->code, 0);
    nb_batch_free(&batch);
    verify();
}
END_TEST

/* ---- administration -------------------------------------------------------------------------- */

START_TEST(put_get_delete)
{
    struct nb_settings wanted;
    struct nb_model_info info;
    bool created;
    nb_settings_init(&wanted, NB_PRESET_TEXT);
    wanted.smoothing = 0.5;
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &wanted, false, str(""), &created, NULL),
                     0);
    ck_assert(created);
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &wanted, true, str(""), &created, NULL),
                     NB_CONFLICT);
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &wanted, false, str(""), &created, NULL),
                     0);
    ck_assert(!created);
    reopen();
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &info, NULL), 0);
    ck_assert_double_eq(info.settings.smoothing, 0.5);
    nb_model_info_deinit(&info);
    train("m", "1", "a", "x y");
    wanted.tokenizer_fields = 1;
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &wanted, false, str(""), &created, NULL),
                     NB_CONFLICT);
    nb_settings_deinit(&wanted);
    ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
    ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), NB_NOT_FOUND);
    /* A new model of the same name knows nothing of the old one. */
    train("m", "1", "b", "x y");
    ck_assert(isnan(score_of("m", "x", "a")));
    verify();
}
END_TEST

static void put_open(const char *name)
{
    struct nb_settings wanted;
    bool created;
    nb_settings_init(&wanted, NB_PRESET_TEXT);
    wanted.new_fields = NB_NEW_FIELDS_LEARN;
    ck_assert_int_eq(
        nb_engine_put_model(engine, str(name), &wanted, false, str(""), &created, NULL), 0);
    ck_assert(created);
    nb_settings_deinit(&wanted);
}

/* A stream of documents begins before its model is deleted and made anew, and goes on with a value
 * of a field that the old one has not. The new one keeps its name and what it has learned. */
START_TEST(a_deleted_model_gets_no_new_field)
{
    const struct nb_string country = str("DE");
    const struct nb_value value = {.name = str("country"), .items = &country, .count = 1};
    struct nb_document document = text("x y"), later = text("x y");
    struct nb_model_info info;
    struct nb_batch *batch;
    struct nb_error error = {0};
    later.values = (struct nb_values){&value, 1};
    put_open("m");
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, str("a"), str("1"), str(""), NULL), 0);
    ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
    put_open("m");
    train("m", "new", "b", "z");
    ck_assert_int_eq(nb_batch_train(batch, &later, str("a"), str("2"), str(""), &error),
                     NB_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "deleted or replaced"));
    nb_engine_apply(engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, NB_NOT_FOUND);
    nb_batch_free(&batch);
    reopen();
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &info, NULL), 0);
    ck_assert_uint_eq(info.documents, 1);
    ck_assert_uint_eq(info.settings.attribute_count, 0);
    nb_model_info_deinit(&info);
    ck_assert(!isnan(score_of("m", "z", "b")));
    verify();
}
END_TEST

static void *list_models(void *argument)
{
    atomic_bool *ends = argument;
    uintptr_t wrong = 0;
    while (!atomic_load(ends)) {
        struct nb_model_info *infos;
        size_t count;
        bool more;
        ck_assert_int_eq(nb_engine_models(engine, str(""), 1, &infos, &count, &more, NULL), 0);
        wrong += more && count == 0;
        for (size_t i = 0; i < count; i++)
            nb_model_info_deinit(&infos[i]);
        free(infos);
    }
    return (void *)wrong;
}

/* The only model of a page is deleted while it is listed: whoever asks goes on with the last name
 * of a page, so that one with more behind it has at least one. */
START_TEST(a_page_with_more_behind_it_has_a_model)
{
    enum { TIMES = 500 };
    atomic_bool ends = false;
    pthread_t lister;
    void *wrong;
    put_preset("z", NB_PRESET_TEXT);
    ck_assert_int_eq(pthread_create(&lister, NULL, list_models, &ends), 0);
    for (int i = 0; i < TIMES; i++) {
        put_preset("a", NB_PRESET_TEXT);
        ck_assert_int_eq(nb_engine_delete_model(engine, str("a"), str(""), NULL), 0);
    }
    atomic_store(&ends, true);
    pthread_join(lister, &wrong);
    ck_assert_ptr_null(wrong);
}
END_TEST

/* What deleted models leave goes also when the writer is never without work for long. */
enum { NEWBORN = 400 };
static pthread_barrier_t newborn_barrier;

static void *train_newborn(void *argument)
{
    (void)argument;
    for (int i = 0; i < NEWBORN; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        pthread_barrier_wait(&newborn_barrier);
        train(name, "1", "a", "x");
    }
    return NULL;
}

/* Whoever comes first makes the model; the other one finds it. */
START_TEST(put_and_train_make_the_same_model)
{
    struct nb_settings wanted;
    struct nb_error error;
    pthread_t trainer;
    bool created;
    nb_settings_init(&wanted, NB_PRESET_TEXT);
    ck_assert_int_eq(pthread_barrier_init(&newborn_barrier, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&trainer, NULL, train_newborn, NULL), 0);
    for (int i = 0; i < NEWBORN; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        pthread_barrier_wait(&newborn_barrier);
        int rc = nb_engine_put_model(engine, str(name), &wanted, false, str(""), &created, &error);
        ck_assert_msg(rc == 0, "%s: %s", name, error.text);
    }
    pthread_join(trainer, NULL);
    pthread_barrier_destroy(&newborn_barrier);
    nb_settings_deinit(&wanted);
}
END_TEST

/* The writer purges a part of its time: a sanitizer slows that, but not the disk. So the load goes
 * on for as long as is in proportion to what there is to purge. */
START_TEST(deleted_models_leave_nothing_under_load)
{
    enum { ROUNDS = 60 };
    struct nb_engine_statistics statistics;
    uint64_t before = 0;
    uint64_t first = 0;
    train("keep", "1", "a", "x y");
    for (int round = 0; round < ROUNDS; round++) {
        nb_engine_statistics(engine, &statistics);
        before = round == 0 ? statistics.store_bytes : before;
        uint64_t start = nb_clock_monotonic();
        apply_pairs(1000, false);
        ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
        uint64_t end = nb_clock_monotonic() + 2 * (nb_clock_monotonic() - start);
        nb_engine_statistics(engine, &statistics);
        first = round == 0 ? statistics.store_bytes - before : first;
        for (int i = 0; i < 50 || nb_clock_monotonic() < end; i++)
            train("keep", "1", i % 2 == 0 ? "a" : "b", "x y");
    }
    ck_assert_uint_le(statistics.store_bytes, before + first * ROUNDS / 4);
    verify();
}
END_TEST

START_TEST(names_and_labels_are_checked)
{
    static const char *const bad_names[] = {"", "-a", ".a", "a/b", "a b", "\xC3\xA9"};
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++)
        ck_assert_msg(nb_check_model_name(str(bad_names[i]), NULL) == NB_UNUSABLE, "%zu", i);
    ck_assert_int_eq(nb_check_model_name(str("a.b_c@d+e-9"), NULL), 0);
    ck_assert_int_eq(nb_check_model_name((struct nb_string){"a\0b", 3}, NULL), NB_UNUSABLE);
    static const char *const bad_labels[] = {"", "a\nb", "\x7F", "\xC2\x85", "\xFF", "\xC3"};
    for (size_t i = 0; i < sizeof bad_labels / sizeof *bad_labels; i++)
        ck_assert_msg(nb_check_label(str(bad_labels[i]), NULL) == NB_UNUSABLE, "%zu", i);
    ck_assert_int_eq(nb_check_label(str("\xC3\xA9t\xC3\xA9 \xE6\x97\xA5"), NULL), 0);
    struct nb_error error;
    ck_assert_int_eq(nb_check_label(str("a\nb"), &error), NB_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "this one has some"));
    ck_assert_int_eq(nb_check_label(str("\xFF"), &error), NB_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "is not UTF-8"));
}
END_TEST

START_TEST(refused_training_makes_no_model)
{
    struct nb_batch *batch;
    struct nb_document document = text("x");
    ck_assert_int_eq(nb_batch_new(engine, str("m"), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, str(""), str(""), str(""), NULL),
                     NB_UNUSABLE);
    nb_batch_free(&batch);
    ck_assert(isnan(score_of("m", "x", "a")));
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &info, NULL), NB_NOT_FOUND);
    /* One that was tokenized but never submitted neither. */
    ck_assert_int_eq(nb_batch_new(engine, str("m"), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, str("a"), str(""), str(""), NULL), 0);
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &info, NULL), NB_NOT_FOUND);
    nb_batch_free(&batch);
    ck_assert_int_eq(nb_engine_model(engine, str("m"), &info, NULL), NB_NOT_FOUND);
}
END_TEST

START_TEST(cold_models_are_dropped_and_come_back)
{
    nb_engine_close(&engine);
    settings.memory = 1; /* every model that nobody uses is too much */
    open_engine();
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        train(name, "1", "a", "hello world");
    }
    struct nb_engine_statistics s;
    for (int i = 0; i < 6000; i++) {
        nb_engine_statistics(engine, &s);
        if (s.models_loaded == 0)
            break;
        usleep(10000);
    }
    ck_assert_uint_eq(s.models_loaded, 0);
    ck_assert_uint_eq(s.models, 5);
    ck_assert(!isnan(score_of("m3", "hello", "a")));
    train("m3", "2", "b", "bye");
    ck_assert(!isnan(score_of("m3", "hello", "b")));
    settings.memory = 0;
    verify();
}
END_TEST

START_TEST(a_second_engine_is_refused)
{
    struct nb_engine *second;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_engine_open(&settings, &second, &error), NB_LOCKED);
    ck_assert_ptr_nonnull(strstr(error.text, directory));
}
END_TEST

/* ---- vocabulary, documents, dumps ------------------------------------------------------------ */

/* Write a listing as text, one line for each token. */
static int list_header(void *user, uint64_t size, const char *const *labels, size_t count)
{
    return nb_buffer_printf(user, "%llu %zu %s %s\n", (unsigned long long)size, count, labels[0],
                            labels[1]);
}

static int list_token(void *user, const struct nb_telling_token *token)
{
    return nb_buffer_printf(user, "%.*s %llu %llu\n", (int)token->token.length, token->token.bytes,
                            (unsigned long long)token->counts[0],
                            (unsigned long long)token->counts[1]);
}

START_TEST(telling_tokens)
{
    struct nb_buffer out = {0};
    struct nb_vocabulary_sink sink = {list_header, list_token, &out};
    train("m", "1", "spam", "free free money");
    train("m", "2", "ham", "lunch money");
    reopen();
    ck_assert_int_eq(nb_engine_vocabulary(engine, str("m"), str("spam"), 2, 1000, &sink, NULL), 0);
    ck_assert_int_eq(nb_engine_vocabulary(engine, str("m"), str("spam"), 3, 5, &sink, NULL), 0);
    ck_assert_int_eq(nb_engine_vocabulary(engine, str("m"), str("spam"), 3, 1, &sink, NULL), 0);
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    ck_assert_str_eq(out.bytes, "3 2 ham spam\nfree 0 2\nmoney 1 1\n"
                                "3 2 ham spam\nfree 0 2\nmoney 1 1\n"
                                "3 2 ham spam\nfree 0 2\n");
    nb_buffer_deinit(&out);
    ck_assert_int_eq(nb_engine_vocabulary(engine, str("m"), str("none"), 2, 1000, &sink, NULL),
                     NB_NOT_FOUND);
}
END_TEST

START_TEST(documents_are_found)
{
    struct nb_document_info info;
    train("m", "x/y", "spam", "free free money");
    reopen();
    ck_assert_int_eq(nb_engine_document(engine, str("m"), str("x/y"), &info, NULL), 0);
    ck_assert_str_eq(info.label, "spam");
    ck_assert_str_eq(info.source, "test");
    ck_assert_uint_eq(info.tokens, 3);
    nb_document_info_deinit(&info);
    ck_assert_int_eq(nb_engine_document(engine, str("m"), str("z"), &info, NULL), NB_NOT_FOUND);
}
END_TEST

struct copy {
    struct nb_import *import;
    struct nb_error error;
    int fail_at; /* records until the copy breaks off; -1: never */
    struct nb_dump_totals totals;
};

static int stop_here(struct copy *c)
{
    return c->fail_at >= 0 && c->fail_at-- == 0 ? NB_INVALID : 0;
}

static int copy_header(void *user, const struct nb_dump_header *header)
{
    struct copy *c = user;
    return stop_here(c) != 0 ? NB_INVALID : nb_import_header(c->import, header, &c->error);
}

static int copy_words(void *user, const struct nb_dump_words *words)
{
    struct copy *c = user;
    return stop_here(c) != 0 ? NB_INVALID : nb_import_words(c->import, words, &c->error);
}

static int copy_document(void *user, const struct nb_dump_document *document)
{
    struct copy *c = user;
    return stop_here(c) != 0 ? NB_INVALID : nb_import_document(c->import, document, &c->error);
}

static int copy_end(void *user, const struct nb_dump_totals *totals)
{
    ((struct copy *)user)->totals = *totals;
    return 0;
}

static int copy_model(const char *from, const char *to, int fail_at)
{
    struct copy c = {.fail_at = fail_at};
    struct nb_dump_sink sink = {copy_header, copy_words, copy_document, copy_end, &c};
    bool created;
    uint64_t dropped;
    ck_assert_int_eq(nb_import_begin(engine, str(to), str(""), &c.import, &c.error), 0);
    int rc = nb_engine_export(engine, str(from), &sink, &c.error);
    if (rc == 0)
        rc = nb_import_commit(&c.import, &c.totals, &created, &dropped, &c.error);
    else
        nb_import_abort(&c.import);
    ck_assert_ptr_null(c.import);
    if (fail_at < 0)
        ck_assert_msg(rc == 0, "%s", c.error.text);
    return rc;
}

START_TEST(export_and_import_score_the_same)
{
    unsigned seed = 42;
    static struct state documents[DOCUMENTS];
    train("m", "d0", "a", "w1");
    documents[0].label = "a";
    snprintf(documents[0].words, sizeof documents[0].words, "w1");
    for (int i = 0; i < 300; i++)
        random_change(&seed, documents);
    train("copy", "x", "other", "to be replaced");
    ck_assert_int_eq(copy_model("m", "copy", -1), 0);
    for (int round = 0; round < 2; round++) {
        double a = score_of("m", "w1 w2 w3 w5 w8", "a");
        ck_assert(a == score_of("copy", "w1 w2 w3 w5 w8", "a"));
        reopen();
    }
    /* The copy goes on learning and forgetting under the same ids. */
    for (int i = 0; i < DOCUMENTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        if (documents[i].label != NULL)
            ck_assert_int_eq(change("copy", id, NULL, NULL, NULL), 0);
    }
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(engine, str("copy"), &info, NULL), 0);
    ck_assert_uint_eq(info.vocabulary, 0);
    nb_model_info_deinit(&info);
    verify();
}
END_TEST

/* Plays the writer's part when the map has to grow: waits until no snapshot is open. */
static void *grow(void *user)
{
    struct nb_error error = {0};
    (void)user;
    ck_assert_msg(nb_store_enter_alone(engine->store, &error) == 0, "%s", error.text);
    nb_gate_open(&engine->store->gate);
    return NULL;
}

struct growing {
    int growths; /* still to come */
    size_t beginnings, features, documents;
    bool is_growing;
    pthread_t thread;
};

static void end_growth(struct growing *g)
{
    if (g->is_growing)
        ck_assert_int_eq(pthread_join(g->thread, NULL), 0);
    g->is_growing = false;
}

/* Starts a thread that waits to grow the store. */
static void begin_growth(struct growing *g)
{
    end_growth(g);
    if (g->growths-- <= 0)
        return;
    ck_assert_int_eq(pthread_create(&g->thread, NULL, grow, NULL), 0);
    g->is_growing = true;
    while (!nb_gate_is_closed(&engine->store->gate))
        usleep(100);
}

static int count_header(void *user, const struct nb_dump_header *header)
{
    struct growing *g = user;
    (void)header;
    g->beginnings++;
    return 0;
}

static int count_words(void *user, const struct nb_dump_words *words)
{
    ((struct growing *)user)->features += words->count;
    return 0;
}

static int count_document(void *user, const struct nb_dump_document *document)
{
    (void)document;
    ((struct growing *)user)->documents++;
    return 0;
}

static int count_end(void *user, const struct nb_dump_totals *totals)
{
    struct growing *g = user;
    ck_assert_uint_eq(totals->documents, g->documents);
    ck_assert_uint_eq(totals->features, g->features);
    return 0;
}

/* Takes steps until a header was written, which is in the middle of an export. */
static struct nb_export *begun_export(const struct nb_dump_sink *sink)
{
    const struct growing *g = sink->user;
    struct nb_error error = {0};
    struct nb_export *export;
    bool end = false;
    ck_assert_int_eq(nb_export_begin(engine, str("m"), 60, &export, &error), 0);
    while (g->beginnings == 0)
        ck_assert_int_eq(nb_export_next(export, sink, &end, &error), 0);
    return export;
}

static void train_two(void)
{
    put_preset("m", NB_PRESET_BOOK);
    train("m", "1", "a", "one two three");
    train("m", "2", "b", "three four");
}

/* The store grows before each step that is left; another model changes, and the export goes on. */
START_TEST(an_export_does_not_hold_up_a_growing_store)
{
    struct growing g = {.growths = 0};
    struct nb_dump_sink sink = {count_header, count_words, count_document, count_end, &g};
    struct nb_error error = {0};
    bool end = false;
    train_two();
    struct nb_export *export = begun_export(&sink);
    put_preset("other", NB_PRESET_BOOK);
    while (!end) {
        train("other", "1", "a", "more");
        (void)grow(NULL);
        ck_assert_msg(nb_export_next(export, &sink, &end, &error) == 0, "%s", error.text);
    }
    nb_export_end(&export);
    ck_assert_ptr_null(export);
    ck_assert_uint_eq(g.beginnings, 1);
    ck_assert_uint_eq(g.documents, 2);
    ck_assert_uint_eq(g.features, 4);
}
END_TEST

/* What a later snapshot has must be what the export began with. */
START_TEST(an_export_ends_when_its_model_changes_and_the_store_grows)
{
    struct growing g = {.growths = 0};
    struct nb_dump_sink sink = {count_header, count_words, count_document, count_end, &g};
    struct nb_error error = {0};
    bool end = false;
    train_two();
    struct nb_export *export = begun_export(&sink);
    train("m", "2", "a", "three four");
    (void)grow(NULL);
    ck_assert_int_eq(nb_export_next(export, &sink, &end, &error), NB_IO);
    ck_assert(nb_export_is_lost(export));
    ck_assert_ptr_nonnull(strstr(error.text, "the model has changed"));
    nb_export_end(&export);
    g = (struct growing){.growths = 0};
    ck_assert_msg(nb_engine_export(engine, str("m"), &sink, &error) == 0, "%s", error.text);
    ck_assert_uint_eq(g.documents, 2);
}
END_TEST

/* Changes between two steps are not in it. */
START_TEST(an_export_is_one_state)
{
    struct growing g = {.growths = 0};
    struct nb_dump_sink sink = {count_header, count_words, count_document, count_end, &g};
    struct nb_error error = {0};
    struct nb_export *export;
    bool end = false;
    put_preset("m", NB_PRESET_BOOK);
    train("m", "1", "a", "one two three");
    ck_assert_int_eq(nb_export_begin(engine, str("m"), 60, &export, &error), 0);
    for (int i = 0; !end; i++) {
        char id[24];
        snprintf(id, sizeof id, "later-%d", i);
        train("m", id, "b", "new words come");
        ck_assert_msg(nb_export_next(export, &sink, &end, &error) == 0, "%s", error.text);
    }
    nb_export_end(&export);
    ck_assert_uint_eq(g.documents, 1);
    ck_assert_uint_eq(g.features, 3);
    ck_assert_int_eq(nb_export_begin(engine, str("none"), 60, &export, &error), NB_NOT_FOUND);
    ck_assert_ptr_null(export);
}
END_TEST

static int growing_list(void *user, uint64_t size, const char *const *labels, size_t count)
{
    (void)size, (void)labels, (void)count;
    begin_growth(user);
    return 0;
}

static int growing_token(void *user, const struct nb_telling_token *token)
{
    struct growing *g = user;
    ck_assert(token->token.length > 0);
    g->features++;
    begin_growth(g);
    return 0;
}

START_TEST(a_listing_goes_on_when_the_store_grows)
{
    struct growing g = {.growths = 3};
    struct nb_vocabulary_sink sink = {growing_list, growing_token, &g};
    struct nb_error error = {0};
    train("m", "1", "a", "one two three");
    train("m", "2", "b", "three four");
    int rc = nb_engine_vocabulary(engine, str("m"), str("a"), 10, 1000, &sink, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_uint_eq(g.features, 4);
    ck_assert_int_le(g.growths, 0);
    ck_assert(!g.is_growing);
}
END_TEST

static double probability_of(const char *model, const char *words)
{
    struct nb_verdict verdict;
    struct nb_document document = text(words);
    nb_verdict_init(&verdict);
    ck_assert_int_eq(nb_engine_classify(engine, str(model), &document, 0, &verdict, NULL), 0);
    ck_assert(verdict.stacked);
    double probability = verdict.probabilities[0];
    nb_verdict_deinit(&verdict);
    return probability;
}

static void put_stacked(const char *model, double rate)
{
    struct nb_settings wanted;
    bool created;
    nb_settings_init(&wanted, NB_PRESET_TEXT);
    wanted.decision = NB_DECISION_STACKED;
    wanted.learning_rate = rate;
    wanted.ready_documents = 3;
    ck_assert_int_eq(
        nb_engine_put_model(engine, str(model), &wanted, false, str(""), &created, NULL), 0);
    nb_settings_deinit(&wanted);
}

static uint64_t scored_documents(const char *model)
{
    struct nb_evaluation_report report;
    if (nb_engine_evaluation(engine, str(model), str(""), -1, NB_SCORES_BEFORE_LEARNING, &report,
                             NULL) != 0)
        return 0;
    uint64_t documents = report.evaluations[NB_EVALUATION_WINDOWS - 1].documents;
    nb_evaluation_report_deinit(&report);
    return documents;
}

/* What the stack learned is stored with each commit, goes with a dump, and stays when settings
 * change; a document's score moves with it and goes with it. */
START_TEST(the_stack_is_kept)
{
    unsigned seed = 5;
    char words[256];
    char id[16];
    put_stacked("m", 0.1);
    double fresh = 0;
    for (int i = 0; i < 60; i++) {
        random_words(&seed, words, sizeof words);
        snprintf(id, sizeof id, "%d", i);
        strcat(words, i % 2 ? " red" : " blue");
        train("m", id, i % 2 ? "a" : "b", words);
        if (i == 1)
            fresh = probability_of("m", "w3 w5 red");
    }
    double learned = probability_of("m", "w3 w5 red");
    ck_assert(learned != fresh);
    ck_assert_uint_eq(scored_documents("m"), 60);
    reopen();
    ck_assert(probability_of("m", "w3 w5 red") == learned);
    ck_assert_int_eq(copy_model("m", "copy", -1), 0);
    ck_assert(probability_of("copy", "w3 w5 red") == learned);
    ck_assert_uint_eq(scored_documents("copy"), 60);
    put_stacked("m", 0.1); /* other constants are followed by a refit: test_refits.c */
    ck_assert(probability_of("m", "w3 w5 red") == learned);
    ck_assert_int_eq(change("m", "7", NULL, NULL, NULL), 0);
    train("m", "8", "a", "changed sides");
    ck_assert_uint_eq(scored_documents("m"), 59);
    verify();
    ck_assert_uint_eq(scored_documents("m"), 59);
}
END_TEST

START_TEST(one_label_leaves_room_for_the_other)
{
    struct nb_verdict v;
    struct nb_document document = text("x");
    put_stacked("m", 0.1);
    train("m", "1", "ham", "x y");
    train("m", "2", "ham", "y z");
    nb_verdict_init(&v);
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 0, &v, NULL), 0);
    ck_assert_uint_eq(v.size, 1);
    ck_assert_double_eq_tol(v.probabilities[0], 0.75, 1e-15); /* (2 + 1) / (2 + 2) */
    train("m", "3", "spam", "x x");
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 0, &v, NULL), 0);
    ck_assert_uint_eq(v.size, 2);
    /* Labels of other trades have no known counterpart. */
    put_stacked("other", 0.1);
    train("other", "1", "sport", "x y");
    ck_assert_int_eq(nb_engine_classify(engine, str("other"), &document, 0, &v, NULL), 0);
    ck_assert_double_eq_tol(v.probabilities[0], 1, 1e-15);
    nb_verdict_deinit(&v);
}
END_TEST

START_TEST(too_little_training_is_said)
{
    struct nb_verdict v;
    struct nb_document document = text("x");
    put_stacked("m", 0.1);
    nb_verdict_init(&v);
    for (int i = 0; i < 6; i++) {
        char id[4] = {(char)('a' + i), '\0'};
        train("m", id, i % 2 ? "left" : "right", "x y z");
        ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 0, &v, NULL), 0);
        ck_assert_int_eq(v.ready, i == 5);
        if (i < 5)
            ck_assert_ptr_nonnull(strstr(v.missing, i % 2 ? "left" : i == 0 ? "right" : "left"));
    }
    nb_verdict_deinit(&v);
}
END_TEST

/* That it is not tokenized again shows when another text is given for the same document. */
START_TEST(a_document_is_tokenized_once_for_several_models)
{
    struct nb_settings other;
    struct nb_verdict verdict;
    struct nb_error error = {0};
    struct nb_document first = text("w1 w1 w1"), second = text("w2");
    bool created;
    nb_verdict_init(&verdict);
    for (int m = 0; m < 3; m++) {
        const char *model = m == 0 ? "m" : m == 1 ? "n" : "once";
        train(model, "1", "a", "w1 w3");
        train(model, "2", "b", "w2 w3");
        if (m == 2) {
            nb_settings_init(&other, NB_PRESET_TEXT);
            other.max_term_count = 1;
            ck_assert_int_eq(
                nb_engine_put_model(engine, str(model), &other, false, str(""), &created, &error),
                0);
        }
    }
    ck_assert_int_eq(nb_engine_classify_again(engine, str("m"), &first, 1, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 3);
    ck_assert_int_eq(nb_engine_classify_again(engine, str("n"), &second, 5, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 3);
    ck_assert_uint_eq(verdict.explanation[0].count, 3);
    ck_assert_int_eq(nb_engine_classify_again(engine, str("m"), &second, 0, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 3);
    /* This one sees documents otherwise, and so does the one after it. */
    ck_assert_int_eq(nb_engine_classify_again(engine, str("once"), &second, 0, &verdict, &error),
                     0);
    ck_assert_uint_eq(verdict.total, 1);
    ck_assert_str_eq(verdict.labels[verdict.best], "b");
    ck_assert_int_eq(nb_engine_classify_again(engine, str("m"), &first, 0, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 3);
    /* Its texts were not kept, so it is tokenized again for whoever explains. */
    ck_assert_int_eq(nb_engine_classify_again(engine, str("m"), &second, 5, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 1);
    ck_assert_uint_eq(verdict.explanation[0].token.length, 2);
    ck_assert_mem_eq(verdict.explanation[0].token.bytes, "w2", 2);
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &first, 0, &verdict, &error), 0);
    /* A failure in between changes nothing; another document begins anew. */
    ck_assert_int_eq(nb_engine_classify_again(engine, str("none"), &second, 0, &verdict, &error),
                     NB_NOT_FOUND);
    ck_assert_int_eq(nb_engine_classify_again(engine, str("n"), &second, 0, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 3);
    ck_assert_int_eq(nb_engine_classify(engine, str("n"), &second, 0, &verdict, &error), 0);
    ck_assert_uint_eq(verdict.total, 1);
    nb_verdict_deinit(&verdict);
}
END_TEST

START_TEST(a_broken_import_changes_nothing)
{
    train("m", "1", "a", "one two");
    train("m", "2", "b", "three");
    train("copy", "x", "other", "stays as it is");
    for (int fail_at = 0; fail_at < 4; fail_at++) {
        ck_assert_int_ne(copy_model("m", "copy", fail_at), 0);
        ck_assert(!isnan(score_of("copy", "stays", "other")));
        ck_assert_int_ne(copy_model("m", "nowhere", fail_at), 0);
        ck_assert(isnan(score_of("nowhere", "one", "a")));
    }
    verify();
}
END_TEST

/* A model that came while another was imported under its name stays, if the import is told so. */
START_TEST(an_import_may_not_replace)
{
    struct nb_dump_header header = {.label_count = 0};
    struct nb_import *import;
    struct nb_error error = {0};
    bool created;
    uint64_t dropped;
    nb_settings_init(&header.settings, NB_PRESET_BOOK);
    for (int is_late = 0; is_late < 2; is_late++) {
        ck_assert_int_eq(nb_import_begin(engine, str("m"), str(""), &import, NULL), 0);
        ck_assert_int_eq(nb_import_header(import, &header, NULL), 0);
        nb_import_only_new(import);
        if (is_late) {
            ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
            train("m", "1", "a", "one two");
            train("m", "2", "b", "three");
        }
        int rc = nb_import_commit(&import, NULL, &created, &dropped, &error);
        ck_assert_int_eq(rc, is_late ? NB_CONFLICT : 0);
    }
    ck_assert_ptr_nonnull(strstr(error.text, "exists"));
    ck_assert(!isnan(score_of("m", "one", "a")));
    nb_settings_deinit(&header.settings);
    verify();
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

static atomic_bool is_looking;

static void *look_at_x(void *argument)
{
    struct nb_model_info info;
    (void)argument;
    while (atomic_load(&is_looking))
        if (nb_engine_model(engine, str("x"), &info, NULL) == 0)
            nb_model_info_deinit(&info);
    return NULL;
}

static void import_empty(const char *name)
{
    struct nb_dump_header header = {.label_count = 0};
    struct nb_import *import;
    bool created;
    uint64_t dropped;
    nb_settings_init(&header.settings, NB_PRESET_TEXT);
    ck_assert_int_eq(nb_import_begin(engine, str(name), str(""), &import, NULL), 0);
    ck_assert_int_eq(nb_import_header(import, &header, NULL), 0);
    ck_assert_int_eq(nb_import_commit(&import, NULL, &created, &dropped, NULL), 0);
    nb_settings_deinit(&header.settings);
}

/* Looking at a model that is just coming into being does not end it. */
enum { COLD_MODELS = 300 };

static const char *cold_name(int i)
{
    static _Thread_local char name[16];
    snprintf(name, sizeof name, "cold%d", i);
    return name;
}

static atomic_int cold_turn;

static void *load_in_turn(void *unused)
{
    (void)unused;
    for (int i = 0; i < COLD_MODELS; i++) {
        while (atomic_load(&cold_turn) < i)
            sched_yield();
        (void)nb_engine_load(engine, str(cold_name(i)), NULL);
    }
    return NULL;
}

static void put_smoothing(const char *model, double smoothing)
{
    struct nb_settings of;
    struct nb_error error = {0};
    bool created;
    nb_settings_init(&of, NB_PRESET_TEXT);
    of.smoothing = smoothing;
    int rc = nb_engine_put_model(engine, str(model), &of, false, str("test"), &created, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    nb_settings_deinit(&of);
}

/* The settings that hold are those of the store, whoever was quicker. */
START_TEST(models_load_while_their_settings_change)
{
    pthread_t loader;
    for (int i = 0; i < COLD_MODELS; i++) {
        train(cold_name(i), "1", "a", "hello world");
        train(cold_name(i), "2", "b", "bye world");
    }
    reopen();
    atomic_store(&cold_turn, -1);
    ck_assert_int_eq(pthread_create(&loader, NULL, load_in_turn, NULL), 0);
    for (int i = 0; i < COLD_MODELS; i++) {
        atomic_store(&cold_turn, i);
        put_smoothing(cold_name(i), 2);
    }
    pthread_join(loader, NULL);
    for (int i = 0; i < COLD_MODELS; i++) /* |V| = 3, n_b = 2: ln(1/2) + ln((1 + 2) / (2 + 6)) */
        ck_assert_double_eq_tol(score_of(cold_name(i), "bye", "b"), log(0.5) + log(3. / 8), 1e-12);
    verify();
}
END_TEST

START_TEST(models_are_made_under_observation)
{
    pthread_t observers[2];
    atomic_store(&is_looking, true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&observers[i], NULL, look_at_x, NULL), 0);
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 0)
            import_empty("x");
        else if (i % 3 == 1)
            put_preset("x", NB_PRESET_TEXT);
        else
            train("x", "1", "a", "w");
        ck_assert_msg(nb_engine_delete_model(engine, str("x"), str(""), NULL) == 0, "round %d", i);
    }
    atomic_store(&is_looking, false);
    for (int i = 0; i < 2; i++)
        pthread_join(observers[i], NULL);
}
END_TEST

START_TEST(explanations_sum_to_the_difference)
{
    struct nb_verdict v;
    struct nb_document document = text("free free lunch money new");
    put_preset("m", NB_PRESET_BOOK);
    train("m", "1", "spam", "free free money");
    train("m", "2", "ham", "lunch money");
    nb_verdict_init(&v);
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 100, &v, NULL), 0);
    ck_assert_str_eq(v.labels[v.best], "spam");
    ck_assert_uint_eq(v.total, 5);
    ck_assert_uint_eq(v.known, 4);
    double sum = 0;
    for (size_t i = 0; i < v.explanation_count; i++)
        sum += v.explanation[i].evidence;
    ck_assert_double_eq_tol(sum, v.log_scores[1] - v.log_scores[0], 1e-12);
    ck_assert_uint_eq(v.explanation_count, 4);
    ck_assert_ptr_null(v.explanation[3].token.bytes);
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 1, &v, NULL), 0);
    ck_assert_uint_eq(v.explanation_count, 2);
    ck_assert_ptr_nonnull(v.explanation[0].token.bytes);
    ck_assert_ptr_null(v.explanation[1].token.bytes);
    nb_verdict_deinit(&v);
}
END_TEST

/* ---- weights of the stack -------------------------------------------------------------------- */

/* A document that brought nothing new leaves no entry when it is forgotten, but taught the weights.
 */
START_TEST(weights_stay_when_their_documents_are_dropped)
{
    put_stacked("m", 0.1);
    train("m", "1", "spam", "free money");
    train("m", "2", "ham", "lunch money");
    train("m", "3", "ham", "free lunch free money");
    train("m", "4", "spam", "money");
    ck_assert_int_eq(change("m", "4", NULL, NULL, NULL), 0);
    train("m", "5", "ham", "lunch");
    reopen(); /* saves the counts and drops what is superfluous */
    verify();
}
END_TEST

/* Deletes a record, as if its key were damaged and named another model. */
static void delete_weights(uint32_t record)
{
    struct nb_store *store;
    struct nb_view view;
    struct nb_store_key key = nb_store_key_number(1, record);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_delete(&view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
}

static void count_difference(void *user, const char *line)
{
    (void)line;
    ++*(unsigned *)user;
}

/* Both the record of names, 0, and a range of places. */
START_TEST(a_missing_record_of_weights_is_damage)
{
    struct nb_verdict verdict;
    struct nb_document document = text("free lunch");
    struct nb_error error = {0};
    unsigned differences = 0;
    put_stacked("m", 0.1);
    train("m", "1", "spam", "free money");
    train("m", "2", "ham", "lunch money");
    verify();
    nb_engine_close(&engine);
    delete_weights((uint32_t)_i);
    ck_assert_int_eq(nb_engine_verify(&settings, count_difference, &differences, &error), 1);
    ck_assert_uint_gt(differences, 0);
    open_engine();
    nb_verdict_init(&verdict);
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 0, &verdict, &error),
                     NB_DAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "weights"));
    nb_verdict_deinit(&verdict);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("engine");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, statuses);
    tcase_add_test(t, scores_by_hand);
    tcase_add_loop_test(t, any_history_equals_a_fresh_training, 0, 3);
    tcase_add_loop_test(t, any_history_with_checkpoints, 0, 3);
    tcase_add_test(t, what_was_forgotten_is_dropped);
    tcase_add_test(t, concurrent_trainers_share_commits);
    tcase_add_test(t, the_map_grows);
    tcase_add_test(t, put_get_delete);
    tcase_add_test(t, a_deleted_model_gets_no_new_field);
    tcase_add_test(t, a_page_with_more_behind_it_has_a_model);
    tcase_add_test(t, put_and_train_make_the_same_model);
    tcase_add_test(t, deleted_models_leave_nothing_under_load);
    tcase_add_test(t, names_and_labels_are_checked);
    tcase_add_test(t, refused_training_makes_no_model);
    tcase_add_test(t, cold_models_are_dropped_and_come_back);
    tcase_add_test(t, a_second_engine_is_refused);
    tcase_add_test(t, telling_tokens);
    tcase_add_test(t, documents_are_found);
    tcase_add_test(t, export_and_import_score_the_same);
    tcase_add_test(t, an_export_does_not_hold_up_a_growing_store);
    tcase_add_test(t, an_export_ends_when_its_model_changes_and_the_store_grows);
    tcase_add_test(t, an_export_is_one_state);
    tcase_add_test(t, a_listing_goes_on_when_the_store_grows);
    tcase_add_test(t, the_stack_is_kept);
    tcase_add_test(t, one_label_leaves_room_for_the_other);
    tcase_add_test(t, too_little_training_is_said);
    tcase_add_test(t, a_broken_import_changes_nothing);
    tcase_add_test(t, an_import_may_not_replace);
    tcase_add_test(t, models_load_while_their_settings_change);
    tcase_add_test(t, models_are_made_under_observation);
    tcase_add_test(t, explanations_sum_to_the_difference);
    tcase_add_test(t, a_document_is_tokenized_once_for_several_models);
    tcase_add_test(t, weights_stay_when_their_documents_are_dropped);
    tcase_add_loop_test(t, a_missing_record_of_weights_is_damage, 0, 2);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
