/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits in an engine: verdicts must not depend on the order of training; weights that have missed
 * documents; refits that are cut off; and a rebuild from the ledger must give the same.
 */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/archive/repair/repair.h"
#include "core/base/random.h"
#include "core/engine/engine.h"
#include "core/model/refit.h"
#include "core/model/state.h"
#include "core/stack/stack_private.h"
#include "core/writer/submit.h"
#include "core/writer/upkeep.h"
#include "tests/unit/crash.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { WORDS_MOST = 600, LABELS = 3 };

static char root[NB_TEST_FOLDER_SIZE], directory[80], copy[80];
static struct nb_engine_settings settings;
static struct nb_engine *engine;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void open_engine(void)
{
    struct nb_error error = {0};
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    test_folder_make(root);
    snprintf(directory, sizeof directory, "%s/store", root);
    snprintf(copy, sizeof copy, "%s/copy", root);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    open_engine();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(root);
}

/* ---- models ---------------------------------------------------------------------------------- */

static void put_with(const char *model, enum nb_decision decision, double smoothing, bool twin)
{
    struct nb_settings s;
    struct nb_error error = {0};
    bool created;
    nb_settings_init(&s, NB_PRESET_TEXT);
    s.decision = (int)decision;
    s.sharp_smoothing = smoothing;
    s.twin = twin;
    ck_assert_msg(nb_engine_put_model(engine, str(model), &s, false, str(""), &created, &error) ==
                      0,
                  "%s", error.text);
    nb_settings_deinit(&s);
}

static void put(const char *model, enum nb_decision decision, double smoothing)
{
    put_with(model, decision, smoothing, true);
}

/* Makes the words of document `n` of a label; a third of them indicate the label. */
static void words_of(uint32_t label, uint32_t n, char words[WORDS_MOST])
{
    struct nb_random random = nb_random_of(label, n);
    size_t length = 0;
    for (unsigned i = 0; i < 30; i++) {
        uint32_t side =
            nb_random_below(&random, 5) == 0 ? (uint32_t)nb_random_below(&random, LABELS) : label;
        uint32_t word = (uint32_t)nb_random_below(&random, 40);
        length += (size_t)snprintf(words + length, WORDS_MOST - length, " %c%u",
                                   i % 3 == 0 ? 'a' + (int)side : 'x', word);
    }
}

static const char *const label_names[LABELS] = {"ham", "spam", "third"};

static void add(struct nb_batch *batch, uint32_t label, uint32_t n)
{
    char words[WORDS_MOST];
    char id[24];
    words_of(label, n, words);
    snprintf(id, sizeof id, "%u-%u", label, n);
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
    ck_assert_int_eq(
        nb_batch_train(batch, &document, str(label_names[label]), str(id), str(""), NULL), 0);
}

enum order { MIXED, FIRST_TO_LAST, LAST_TO_FIRST };

/* Learns `each` documents of each label, some in one batch. */
static void train(const char *model, uint32_t labels, uint32_t each, enum order order,
                  uint32_t batch_size)
{
    struct nb_batch *batch = NULL;
    for (uint32_t i = 0; i < labels * each; i++) {
        uint32_t label = order == MIXED           ? i % labels
                         : order == FIRST_TO_LAST ? i / each
                                                  : labels - 1 - i / each;
        if (batch == NULL)
            ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, NULL), 0);
        add(batch, label, order == MIXED ? i / labels : i % each);
        if (nb_batch_size(batch) < batch_size && i + 1 < labels * each)
            continue;
        nb_engine_apply(engine, batch);
        for (size_t k = 0; k < nb_batch_size(batch); k++)
            ck_assert_int_eq(nb_batch_receipt(batch, k)->code, 0);
        nb_batch_free(&batch);
    }
}

static void forget(const char *model, uint32_t label, uint32_t from, uint32_t to)
{
    for (uint32_t n = from; n < to; n++) {
        struct nb_batch *batch;
        char id[24];
        snprintf(id, sizeof id, "%u-%u", label, n);
        ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, NULL), 0);
        ck_assert_int_eq(nb_batch_untrain(batch, NULL, str(id), str(""), NULL), 0);
        nb_engine_apply(engine, batch);
        ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
        nb_batch_free(&batch);
    }
}

/* Returns the probability of the right label for a document that was not learned. */
static double verdict_of(const char *model, uint32_t label, uint32_t n, bool *calibrated)
{
    char words[WORDS_MOST];
    struct nb_verdict v;
    double own = 0;
    words_of(label, 100000 + n, words);
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
    nb_verdict_init(&v);
    ck_assert_int_eq(nb_engine_classify(engine, str(model), &document, 0, &v, NULL), 0);
    for (size_t i = 0; i < v.size; i++)
        own = strcmp(v.labels[i], label_names[label]) == 0 ? v.probabilities[i] : own;
    ck_assert(v.stacked);
    if (calibrated != NULL)
        *calibrated = v.calibrated;
    nb_verdict_deinit(&v);
    return own;
}

static bool is_calibrated(const char *model)
{
    bool calibrated;
    (void)verdict_of(model, 0, 0, &calibrated);
    return calibrated;
}

static void settle(void)
{
    struct nb_engine_statistics statistics;
    for (nb_engine_statistics(engine, &statistics); statistics.refits > 0;
         nb_engine_statistics(engine, &statistics))
        usleep(500);
}

/* Returns the mean log-loss over documents that were not learned. */
static double loss_of(const char *model, uint32_t labels)
{
    enum { EACH = 60 };
    double sum = 0;
    for (uint32_t v = 0; v < labels; v++)
        for (uint32_t n = 0; n < EACH; n++)
            sum -= log(fmax(verdict_of(model, v, n, NULL), 1e-9));
    return sum / (labels * EACH);
}

/* ---- a writer that stands still -------------------------------------------------------------- */

/* Stops in which the writer waits after a commit, without running slices of a refit. The writer
 * stands in one of the two; the other is the next. */
static struct stop {
    sem_t reached, go;
} stops[2];
static unsigned place;
static bool stands;

static void stand_still(struct nb_batch *batch, void *user)
{
    struct stop *stop = user;
    sem_post(&stop->reached);
    while (sem_wait(&stop->go) != 0)
        ;
    nb_batch_free(&batch);
}

static void go_on(void)
{
    ck_assert(stands);
    stands = false;
    sem_post(&stops[place].go);
}

/* The writer goes on, makes the changes of the batch, which is freed, and stands still again. */
static void stand_behind(struct nb_batch *batch)
{
    struct stop *next = &stops[1 - place];
    ck_assert(sem_init(&next->reached, 0, 0) == 0 && sem_init(&next->go, 0, 0) == 0);
    nb_engine_submit(engine, batch, stand_still, next);
    if (stands)
        go_on();
    while (sem_wait(&next->reached) != 0)
        ;
    place = 1 - place;
    stands = true;
}

/* Returns a batch that changes nothing, because its document does not exist. */
static struct nb_batch *idle_batch(void)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("idle"), false, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_untrain(batch, NULL, str("none"), str(""), NULL), 0);
    return batch;
}

struct putting {
    const char *model;
    enum nb_decision decision;
    double smoothing;
    bool twin;
};

static void *put_in_a_thread(void *argument)
{
    const struct putting *p = argument;
    put_with(p->model, p->decision, p->smoothing, p->twin);
    return NULL;
}

static bool task_waits(void)
{
    pthread_mutex_lock(&engine->queue.lock);
    bool waits = engine->queue.waiting == 1;
    pthread_mutex_unlock(&engine->queue.lock);
    return waits;
}

/* The writer goes on, puts settings, and stands still again. */
static void put_and_stand(const struct putting *p)
{
    pthread_t thread;
    if (!stands)
        stand_behind(idle_batch());
    ck_assert_int_eq(pthread_create(&thread, NULL, put_in_a_thread, (void *)(uintptr_t)p), 0);
    while (!task_waits())
        sched_yield();
    stand_behind(idle_batch());
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* Expects a refit after these settings: the weights are wrong until they are fitted. */
static void expect_refit(const struct putting *p)
{
    put_and_stand(p);
    ck_assert(!is_calibrated(p->model));
    go_on();
    settle();
    ck_assert(is_calibrated(p->model));
}

/* Expects no refit: the weights fit these settings. */
static void expect_no_refit(const struct putting *p)
{
    put_and_stand(p);
    ck_assert(is_calibrated(p->model));
    struct nb_engine_statistics statistics;
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_eq(statistics.refits, 0);
    go_on();
}

/* ---- the store ------------------------------------------------------------------------------- */

static void print_difference(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static void verify(const char *where)
{
    struct nb_error error = {0};
    struct nb_engine_settings s = settings;
    s.directory = where;
    int rc = nb_engine_verify(&s, print_difference, NULL, &error);
    ck_assert_msg(rc == 0, "verify: %d %s", rc, error.text);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct {
    uint32_t labels, each, batch;
} sizes[] = {{2, 25, 1}, {2, 200, 50}, {3, 120, 7}, {2, 900, 400}};

START_TEST(verdicts_do_not_depend_on_the_order)
{
    uint32_t labels = sizes[_i].labels;
    static const char *const names[] = {"mixed", "first", "last"};
    double loss[3];
    for (int o = 0; o < 3; o++) {
        put(names[o], NB_DECISION_STACKED, 0.02);
        train(names[o], labels, sizes[_i].each, (enum order)o, sizes[_i].batch);
        settle();
        ck_assert(is_calibrated(names[o]));
        loss[o] = loss_of(names[o], labels);
    }
    printf("log-loss %g %g %g\n", loss[0], loss[1], loss[2]);
    /* Without refits and weighed steps the sorted ones are at 1 and above. */
    ck_assert_double_lt(loss[1], loss[0] + 0.05);
    ck_assert_double_lt(loss[2], loss[0] + 0.05);
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
}
END_TEST

/* Learns a batch of `each` documents of each label, after which the writer stands still. */
static void learn_and_stand(const char *model, uint32_t labels, uint32_t each)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, NULL), 0);
    for (uint32_t i = 0; i < labels * each; i++)
        add(batch, i % labels, i / labels);
    stand_behind(batch);
}

/* Documents of the only label teach nothing, so a refit of a hundred is over with its first slice.
 * Of two labels it is under way for more slices than there are changes. */
START_TEST(documents_of_the_only_label_are_not_read)
{
    struct nb_engine_statistics statistics;
    settings.refit_units = 3000; /* a slice reads one document */
    nb_engine_close(&engine);
    open_engine();
    put("one", NB_DECISION_STACKED, 0.02);
    put("two", NB_DECISION_STACKED, 0.02);
    learn_and_stand("one", 1, 100);
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_eq(statistics.refits, 0);
    learn_and_stand("two", 2, 50);
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_eq(statistics.refits, 1);
    go_on();
}
END_TEST

/* Learns what train() learns, in its order but one by one, with gaps in which another model
 * learns. */
static void train_with_gaps(const char *model, uint32_t labels, uint32_t each)
{
    for (uint32_t i = 0; i < labels * each; i++) {
        struct nb_batch *batch;
        ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, NULL), 0);
        add(batch, i / each, i % each);
        nb_engine_apply(engine, batch);
        ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
        nb_batch_free(&batch);
        if (i % 3 == 0)
            train("neighbour", 1, 1, MIXED, 1);
        usleep(1000);
    }
}

/* The same documents in the same order give the same weights, to the bit. A gap in which a refit
 * rests enough makes them others, and a machine that is busy may make one: so there are some tries.
 */
START_TEST(verdicts_do_not_depend_on_the_pace)
{
    enum { LABELS_HERE = 2, EACH = 60, TRIES = 8 };
    bool is_equal = false;
    settings.refit_units = 20000;
    nb_engine_close(&engine);
    open_engine();
    put("at-once", NB_DECISION_STACKED, 0.02);
    train("at-once", LABELS_HERE, EACH, FIRST_TO_LAST, 2 * EACH);
    settle();
    double want = loss_of("at-once", LABELS_HERE);
    for (unsigned i = 0; !is_equal && i < TRIES; i++) {
        char name[24];
        snprintf(name, sizeof name, "with-gaps-%u", i);
        put(name, NB_DECISION_STACKED, 0.02);
        train_with_gaps(name, LABELS_HERE, EACH);
        settle();
        double loss = loss_of(name, LABELS_HERE);
        is_equal = !(loss < want) && !(loss > want);
    }
    ck_assert(is_equal);
}
END_TEST

/* Two documents of each label teach nothing: the weights are the start values, in any order, after
 * a refit too. The third ones do. */
START_TEST(few_documents_leave_the_start_values)
{
    static const char *const names[] = {"mixed", "first", "last"};
    for (uint32_t labels = 2; labels <= LABELS; labels++) {
        double want[3];
        for (int o = 0; o < 3; o++) {
            put(names[o], NB_DECISION_STACKED, 0.02);
            train(names[o], labels, 2, (enum order)o, 1);
            for (uint32_t v = 0; v < labels; v++) {
                double own = verdict_of(names[o], v, 0, NULL);
                want[v] = o == MIXED ? own : want[v];
                ck_assert(own >= want[v] && own <= want[v]);
            }
            ck_assert_int_eq(nb_engine_refit(engine, str(names[o]), str(""), never, NULL, NULL), 0);
            settle();
            ck_assert(!(fabs(verdict_of(names[o], 0, 0, NULL) - want[0]) > 0));
        }
        train("mixed", labels, 4, MIXED, 1);
        ck_assert(fabs(verdict_of("mixed", 0, 0, NULL) - want[0]) > 1e-3);
        for (int o = 0; o < 3; o++)
            ck_assert_int_eq(nb_engine_delete_model(engine, str(names[o]), str(""), NULL), 0);
    }
}
END_TEST

/* The third ones of the first label teach nothing while it is alone: not those of the second label
 * only, either. */
START_TEST(three_documents_of_two_labels_teach_in_any_order)
{
    static const char *const names[] = {"mixed", "first", "last"};
    double loss[3];
    for (int o = 0; o < 3; o++) {
        put(names[o], NB_DECISION_STACKED, 0.02);
        train(names[o], 2, 3, (enum order)o, 1);
        settle();
        loss[o] = loss_of(names[o], 2);
    }
    printf("log-loss %g %g %g\n", loss[0], loss[1], loss[2]);
    ck_assert_double_eq_tol(loss[1], loss[0], 0.02);
    ck_assert_double_eq_tol(loss[2], loss[0], 0.02);
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
}
END_TEST

/* Opens the engine anew with small slices, and makes the model that keeps the writer busy. */
static void open_for_slices(void)
{
    settings.refit_units = 20000;
    nb_engine_close(&engine);
    open_engine();
    put("idle", NB_DECISION_BAYES, 0.02);
}

/* Weights that have missed documents, or are of other constants. */
START_TEST(settings_that_change_are_followed_by_a_refit)
{
    open_for_slices();
    put("m", NB_DECISION_BAYES, 0.02);
    put("always", NB_DECISION_STACKED, 0.02);
    train("m", 2, 150, FIRST_TO_LAST, 50);
    train("always", 2, 150, MIXED, 50);
    expect_refit(&(struct putting){"m", NB_DECISION_STACKED, 0.02, true});
    double loss = loss_of("m", 2);
    ck_assert_double_lt(fabs(loss - loss_of("always", 2)), 0.05);
    expect_refit(&(struct putting){"m", NB_DECISION_STACKED, 0.3, true});
    /* There and back, with a document meanwhile: it was missed. */
    put("m", NB_DECISION_BAYES, 0.3);
    forget("m", 0, 0, 1);
    expect_refit(&(struct putting){"m", NB_DECISION_STACKED, 0.3, true});
    /* There and back, and nothing was missed. */
    put("m", NB_DECISION_BAYES, 0.3);
    expect_no_refit(&(struct putting){"m", NB_DECISION_STACKED, 0.3, true});
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
}
END_TEST

/* Returns a batch of one document, whose change runs a slice. */
static struct nb_batch *one_more(uint32_t n)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    add(batch, 0, n);
    return batch;
}

/* The weights of the stack are the same with and without the twin. */
START_TEST(a_twin_that_missed_documents_learns_anew)
{
    const struct putting on = {"m", NB_DECISION_STACKED, 0.02, true};
    const struct putting off = {"m", NB_DECISION_STACKED, 0.02, false};
    open_for_slices();
    put_with("m", NB_DECISION_STACKED, 0.02, false);
    train("m", 3, 150, FIRST_TO_LAST, 50);
    settle();
    double without = loss_of("m", 3);
    expect_refit(&on);
    double with = loss_of("m", 3);
    ck_assert(with < without || with > without);
    expect_no_refit(&off);
    expect_no_refit(&on);
    ck_assert_double_eq(loss_of("m", 3), with);
    expect_no_refit(&off);
    forget("m", 1, 0, 1);
    ck_assert(is_calibrated("m"));
    expect_refit(&on);
    /* It is switched off while a refit is under way, which begins again, and is on again then. */
    put_and_stand(&(struct putting){"m", NB_DECISION_STACKED, 0.3, true});
    ck_assert(!is_calibrated("m"));
    stand_behind(one_more(1000));
    put_and_stand(&(struct putting){"m", NB_DECISION_STACKED, 0.3, false});
    ck_assert(!is_calibrated("m"));
    stand_behind(one_more(1001));
    expect_refit(&(struct putting){"m", NB_DECISION_STACKED, 0.3, true});
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
}
END_TEST

START_TEST(what_is_forgotten_leaves_the_weights)
{
    settings.refit_units = 3000;
    nb_engine_close(&engine);
    open_engine();
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 2, 600, MIXED, 40);
    settle();
    forget("m", 0, 0, 109); /* not more than a tenth of those that are left */
    ck_assert(is_calibrated("m"));
    forget("m", 0, 109, 110);
    ck_assert(!is_calibrated("m"));
    settle();
    ck_assert(is_calibrated("m"));
    put("s", NB_DECISION_STACKED, 0.02);
    train("s", 2, 8, MIXED, 3);
    forget("s", 0, 0, 7); /* one of them is left, and its label is none without it */
    forget("s", 1, 0, 8);
    forget("s", 0, 7, 8);
    settle();
    train("s", 2, 20, FIRST_TO_LAST, 3);
    settle();
    ck_assert_double_lt(loss_of("s", 2), 0.2);
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
}
END_TEST

START_TEST(a_refit_on_request)
{
    struct nb_error error;
    put("m", NB_DECISION_STACKED, 0.02);
    put("book", NB_DECISION_BAYES, 0.02);
    train("m", 2, 60, MIXED, 1);
    double before = verdict_of("m", 0, 1, NULL);
    ck_assert_int_eq(nb_engine_refit(engine, str("m"), str("root"), never, NULL, &error), 0);
    double after = verdict_of("m", 0, 1, NULL);
    ck_assert(before < after || before > after);
    ck_assert_int_eq(nb_engine_refit(engine, str("book"), str(""), never, NULL, &error),
                     NB_CONFLICT);
    ck_assert_int_eq(nb_engine_refit(engine, str("none"), str(""), never, NULL, &error),
                     NB_NOT_FOUND);
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
    ck_assert_double_eq(verdict_of("m", 0, 1, NULL), after);
}
END_TEST

/* Returns a batch that begins a refit, because it forgets more than a tenth, and then learns
 * documents, each of which runs a slice. */
static struct nb_batch *revising_batch(uint32_t forgotten, uint32_t from, uint32_t learned)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    for (uint32_t n = 0; n < forgotten; n++) {
        char id[24];
        snprintf(id, sizeof id, "0-%u", n);
        ck_assert_int_eq(nb_batch_untrain(batch, NULL, str(id), str(""), NULL), 0);
    }
    for (uint32_t n = 0; n < learned; n++)
        add(batch, n % 2, from + n);
    return batch;
}

static struct nb_live *live_of(const char *model)
{
    for (size_t i = 0; i < engine->registry.count; i++)
        if (strcmp(engine->registry.models[i]->name, model) == 0)
            return engine->registry.models[i];
    ck_abort_msg("no model %s", model);
}

static size_t memory_of(const char *model)
{
    return nb_live_memory(live_of(model));
}

static struct nb_batch *refit_batch(enum nb_refit_part part)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_refit(batch, part, str("root"), NULL), 0);
    return batch;
}

/* In no slice is a verdict one of weights that are fitted in part, or of a twin that has learned
 * from some of the documents only. */
START_TEST(old_weights_serve_until_the_new_ones_are_there)
{
    unsigned passed = 0;
    open_for_slices();
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 3, 60, FIRST_TO_LAST, 20);
    settle();
    double before = verdict_of("m", 1, 1, NULL);
    stand_behind(refit_batch(NB_REFIT_WHOLE));
    for (; live_of("m")->fit != NULL; stand_behind(refit_batch(NB_REFIT_SLICE))) {
        passed += live_of("m")->pass != NULL;
        ck_assert_double_eq(verdict_of("m", 1, 1, NULL), before);
    }
    double after = verdict_of("m", 1, 1, NULL);
    ck_assert_uint_gt(passed, 20);
    ck_assert(before < after || before > after);
    go_on();
}
END_TEST

/* Runs a refit of `m` to its end, in slices of so much work. Returns the loss then. */
static double refit_in_slices(uint64_t units)
{
    settings.refit_units = units;
    open_engine();
    stand_behind(refit_batch(NB_REFIT_WHOLE));
    while (live_of("m")->fit != NULL)
        stand_behind(refit_batch(NB_REFIT_SLICE));
    double loss = loss_of("m", 2);
    go_on();
    nb_engine_close(&engine);
    return loss;
}

/* With two labels the twin's documents are read together; what it learns from each changes what it
 * says of the next. */
START_TEST(documents_that_are_read_together_teach_like_one_after_the_other)
{
    put("idle", NB_DECISION_BAYES, 0.02);
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 2, 90, MIXED, 20);
    settle();
    nb_engine_close(&engine);
    test_crash_copy(directory, copy);
    double together = refit_in_slices(NB_REFIT_UNITS);
    settings.directory = copy;
    double one_by_one = refit_in_slices(1);
    ck_assert_double_eq(together, one_by_one);
    open_engine();
}
END_TEST

/* Begins a refit of the model m, of which many slices are left. */
static void begin_in_slices(void)
{
    open_for_slices();
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 2, 90, MIXED, 20);
    settle();
    stand_behind(refit_batch(NB_REFIT_WHOLE));
}

static unsigned proposed;

static void count_proposed(void *user, const struct nb_batch *batch,
                           const struct nb_relayed_change *relayed_change)
{
    (void)user;
    (void)relayed_change;
    proposed += (unsigned)nb_batch_size(batch);
}

/* The writer would ask for the same slice again and again until the stream brings it. */
START_TEST(a_node_asks_for_a_slice_and_has_nothing_more_to_do)
{
    static const struct nb_relay relay = {.propose = count_proposed};
    begin_in_slices();
    engine->relays[0] = &relay;
    engine->settings.shared = true;
    ck_assert(!nb_refits_some(engine, true));
    ck_assert_uint_eq(proposed, 1);
    engine->settings.shared = false;
    engine->relays[0] = NULL;
    ck_assert(nb_refits_some(engine, true)); /* alone it makes it */
    ck_assert_uint_eq(proposed, 1);
    go_on();
    settle();
}
END_TEST

/* The new weights, too: they would have missed them. */
START_TEST(what_comes_while_the_twin_learns_teaches_the_new_weights)
{
    begin_in_slices();
    while (nb_refit_weights(live_of("m")) == NULL)
        stand_behind(refit_batch(NB_REFIT_SLICE));
    double before = nb_stack_bias(nb_refit_weights(live_of("m")), 0, 0);
    stand_behind(refit_batch(NB_REFIT_SLICE));
    ck_assert_double_eq(nb_stack_bias(nb_refit_weights(live_of("m")), 0, 0), before);
    stand_behind(one_more(1000));
    double after = nb_stack_bias(nb_refit_weights(live_of("m")), 0, 0);
    ck_assert(before < after || before > after);
    go_on();
    settle();
    ck_assert_double_lt(loss_of("m", 2), 0.2);
    nb_engine_close(&engine);
    verify(directory);
    open_engine();
}
END_TEST

/* One that is under way goes on in each gap between two changes. One that would make the weights
 * better begins when the writer has had nothing else to do for a second. */
START_TEST(a_short_gap_begins_no_refit_of_skew)
{
    enum { EACH = 350, ONE_LABEL = 300 };
    settings.refit_units = 200000;
    nb_engine_close(&engine);
    open_engine();
    put("idle", NB_DECISION_BAYES, 0.02);
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 3, EACH, MIXED, 100);
    settle();
    const struct nb_live *m = live_of("m");
    stand_behind(refit_batch(NB_REFIT_WHOLE));
    for (uint32_t n = 0; n < ONE_LABEL; n++)
        stand_behind(one_more(1000 + n));
    while (m->fit != NULL)
        stand_behind(refit_batch(NB_REFIT_SLICE));
    ck_assert(atomic_load(&m->wants_refit));
    go_on();
    usleep(20000);
    stand_behind(idle_batch());
    ck_assert(atomic_load(&m->wants_refit) && m->fit == NULL);
    go_on();
    settle();
    ck_assert(!atomic_load(&m->wants_refit));
}
END_TEST

/* The list of current entries stays; what a refit takes is there while it is under way. */
START_TEST(a_refit_counts_as_memory)
{
    enum {
        TAKEN = 200,
        DOUBLES = 2
    }; /* documents that the slices have taken; of each, in a field */
    settings.refit_units = 3000;
    nb_engine_close(&engine);
    open_engine();
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 2, 600, MIXED, 50);
    settle();
    size_t before = memory_of("m");
    stand_behind(revising_batch(112, 1000, TAKEN));
    size_t meanwhile = memory_of("m");
    go_on();
    settle();
    size_t after = memory_of("m");
    ck_assert_uint_gt(meanwhile, before + TAKEN * DOUBLES * sizeof(double));
    ck_assert_uint_gt(meanwhile, after + TAKEN * DOUBLES * sizeof(double));
}
END_TEST

/* A copy of the file is what a crash would leave: the refit begins again there. While it is under
 * way here, changes go on, and each runs a slice. */
START_TEST(a_refit_that_is_cut_off_begins_again)
{
    settings.refit_units = 3000; /* a few hundred slices */
    nb_engine_close(&engine);
    open_engine();
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 2, 210, FIRST_TO_LAST, 50);
    settle();
    stand_behind(revising_batch(45, 1000, 40));
    ck_assert(!is_calibrated("m"));
    test_crash_copy(directory, copy);
    go_on();
    settle();
    double here = loss_of("m", 2);
    nb_engine_close(&engine);
    verify(directory);
    verify(copy);
    settings.directory = copy;
    open_engine();
    settle();
    ck_assert(is_calibrated("m"));
    struct nb_engine_statistics statistics;
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_gt(statistics.commits, 375); /* of the documents, no two in a slice */
    ck_assert_double_lt(fabs(loss_of("m", 2) - here), 0.05);
    nb_engine_close(&engine);
    verify(copy);
    settings.directory = directory;
    open_engine();
}
END_TEST

/* Returns the number of commits that the writer makes for a batch before it stands still again. */
static uint64_t commits_of(struct nb_batch *batch)
{
    struct nb_engine_statistics before, after;
    nb_engine_statistics(engine, &before);
    stand_behind(batch);
    nb_engine_statistics(engine, &after);
    return after.commits - before.commits;
}

/* Of documents that are learned while a refit is under way, each runs a slice. Where a slice counts
 * as long, it has a commit of its own; where none does, two share one. */
START_TEST(a_commit_waits_for_two_slices_or_a_long_one)
{
    enum { DOCUMENTS = 40 };
    static const struct {
        uint64_t slice_long, commits;
    } cases[] = {{0, DOCUMENTS}, {UINT64_MAX, DOCUMENTS / 2}};
    settings.refit_units = 3000; /* of reading one document: the refit is under way for long */
    settings.slice_long = cases[_i].slice_long;
    nb_engine_close(&engine);
    open_engine();
    put("idle", NB_DECISION_BAYES, 0.02);
    put("m", NB_DECISION_STACKED, 0.02);
    train("m", 2, 60, MIXED, 20);
    settle();
    stand_behind(refit_batch(NB_REFIT_WHOLE));
    ck_assert_uint_eq(commits_of(revising_batch(0, 1000, DOCUMENTS)), cases[_i].commits);
    ck_assert_ptr_nonnull(live_of("m")->fit);
    go_on();
    settle();
}
END_TEST

static void learn_one(const char *model, uint32_t label, uint32_t n)
{
    struct nb_batch *batch;
    char words[WORDS_MOST];
    words_of(label, n, words);
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
    ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, str(label_names[label]), str("one"), str(""), NULL), 0);
    nb_engine_apply(engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    nb_batch_free(&batch);
}

/* A document that is the only one of its label costs the same, whatever was read before, of another
 * model: in a replay, of all models in the order of their names, that is something else. */
START_TEST(a_slice_ends_where_it_does_in_a_replay)
{
    settings.refit_units = 3150; /* 3,000 are of reading, 9 of a feature with three labels */
    nb_engine_close(&engine);
    open_engine();
    put("idle", NB_DECISION_BAYES, 0.02);
    put("a", NB_DECISION_STACKED, 0.02);
    put("other", NB_DECISION_STACKED, 0.02);
    train("other", 3, 20, MIXED, 60);
    settle();
    learn_one("a", 0, 1);
    learn_one("a", 0, 2);
    learn_one("a", 1, 3);
    stand_behind(idle_batch());
    test_crash_copy(directory, copy); /* a stop would drop what was superseded */
    go_on();
    verify(copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refits");
    TCase *refits = tcase_create("refits");
    tcase_add_checked_fixture(refits, setup, teardown);
    tcase_set_timeout(refits, 120);
    tcase_add_loop_test(refits, verdicts_do_not_depend_on_the_order, 0,
                        (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(refits, verdicts_do_not_depend_on_the_pace);
    tcase_add_test(refits, documents_of_the_only_label_are_not_read);
    tcase_add_test(refits, few_documents_leave_the_start_values);
    tcase_add_test(refits, three_documents_of_two_labels_teach_in_any_order);
    tcase_add_test(refits, settings_that_change_are_followed_by_a_refit);
    tcase_add_test(refits, a_twin_that_missed_documents_learns_anew);
    tcase_add_test(refits, what_is_forgotten_leaves_the_weights);
    tcase_add_test(refits, a_slice_ends_where_it_does_in_a_replay);
    tcase_add_test(refits, a_refit_on_request);
    tcase_add_test(refits, old_weights_serve_until_the_new_ones_are_there);
    tcase_add_test(refits, documents_that_are_read_together_teach_like_one_after_the_other);
    tcase_add_test(refits, a_node_asks_for_a_slice_and_has_nothing_more_to_do);
    tcase_add_test(refits, what_comes_while_the_twin_learns_teaches_the_new_weights);
    tcase_add_test(refits, a_short_gap_begins_no_refit_of_skew);
    tcase_add_test(refits, a_refit_counts_as_memory);
    tcase_add_test(refits, a_refit_that_is_cut_off_begins_again);
    tcase_add_loop_test(refits, a_commit_waits_for_two_slices_or_a_long_one, 0, 2);
    suite_add_tcase(suite, refits);
    return test_run_with_tokenizer(suite);
}
