/* SPDX-License-Identifier: Apache-2.0
 *
 * When the thread for documents without a label fits a model again, and when it drops its fit.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/system.h"
#include "core/em/unlabelled.h"
#include "core/engine/engine.h"
#include "core/model/live.h"
#include "core/model/registry.h"
#include "core/writer/writer.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { LABELLED = 12, UNLABELLED = 3 };
static const uint64_t hour = UINT64_C(3600000000000);

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine *engine;
static struct nb_live *live;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    struct nb_engine_settings settings;
    struct nb_settings of_model;
    struct nb_error error = {0};
    bool created;
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
    nb_settings_init(&of_model, NB_PRESET_BOOK);
    of_model.unlabelled_weight = .5;
    ck_assert_int_eq(
        nb_engine_put_model(engine, str("m"), &of_model, true, str(""), &created, NULL), 0);
    nb_settings_deinit(&of_model);
    ck_assert_int_eq(nb_registry_acquire(engine, str("m"), false, &live, NULL), 0);
}

static void teardown(void)
{
    nb_registry_release(engine, &live);
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static const char *text_of(int number)
{
    return number % 2 == 0 ? "meeting agenda minutes" : "winner prize money";
}

static const char *label_of(int number)
{
    return number % 2 == 0 ? "ham" : "spam";
}

/* Learns `count` documents from `first` on, with the labels of their texts or without labels. */
static void train(int first, int count, bool with_labels)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    for (int i = first; i < first + count; i++) {
        char id[16];
        struct nb_document document = {
            .kind = NB_DOCUMENT_TEXT, .bytes = text_of(i), .length = strlen(text_of(i))};
        struct nb_string label = with_labels ? str(label_of(i)) : (struct nb_string){NULL, 0};
        snprintf(id, sizeof id, "%d", i);
        ck_assert_int_eq(nb_batch_train(batch, &document, label, str(id), str(""), NULL), 0);
    }
    nb_engine_apply(engine, batch);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(nb_batch_receipt(batch, (size_t)i)->code, 0);
    nb_batch_free(&batch);
}

/* Returns the number of documents without a label in the current fit; 0: there is none. */
static uint64_t fitted(void)
{
    struct nb_refined *refined = nb_live_refined(live);
    uint64_t documents = refined == NULL ? 0 : refined->documents;
    nb_refined_release(&refined);
    return documents;
}

static void wait_until_fitted(uint64_t documents)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    while (fitted() != documents) {
        ck_assert_msg(nb_clock_monotonic() < until, "the fit has %lu documents, not %lu",
                      (unsigned long)fitted(), (unsigned long)documents);
        usleep(1000);
    }
}

static void rest_for_an_hour(void)
{
    while (atomic_load(&live->em.is_under_way)) /* it says itself when the next one may begin */
        usleep(1000);
    atomic_store(&live->em.due_at, nb_clock_monotonic() + hour);
}

START_TEST(a_model_rests_between_two_fits)
{
    train(0, LABELLED, true);
    train(LABELLED, UNLABELLED, false);
    wait_until_fitted(UNLABELLED);
    rest_for_an_hour();
    train(LABELLED + UNLABELLED, UNLABELLED - 1, false);
    usleep(300000);
    ck_assert_uint_eq(fitted(), UNLABELLED);
    atomic_store(&live->em.due_at, 0); /* it looks once a second */
    wait_until_fitted(2 * UNLABELLED - 1);
}
END_TEST

START_TEST(twice_the_documents_end_the_rest)
{
    train(0, LABELLED, true);
    train(LABELLED, UNLABELLED, false);
    wait_until_fitted(UNLABELLED);
    rest_for_an_hour();
    train(LABELLED + UNLABELLED, UNLABELLED, false);
    wait_until_fitted(2 * UNLABELLED);
}
END_TEST

/* Otherwise documents would be counted twice: by their new labels, and as they were expected. */
START_TEST(a_fit_ends_with_its_last_document)
{
    train(0, LABELLED, true);
    train(LABELLED, UNLABELLED, false);
    wait_until_fitted(UNLABELLED);
    rest_for_an_hour();
    train(LABELLED, UNLABELLED, true);
    wait_until_fitted(0);
}
END_TEST

/* The fit's `calls`th question whether to stop comes when documents get their labels. */
struct labelling {
    int calls;
    bool is_done;
};

static bool label_meanwhile(void *user)
{
    struct labelling *l = user;
    if (l->calls-- == 0) {
        train(LABELLED, UNLABELLED, true);
        usleep(100000); /* the thread looks, and is not let in */
        l->is_done = true;
    }
    return false;
}

/* The thread could not fit the model when it was asked to, because somebody else did. */
START_TEST(what_changes_during_a_fit_is_not_missed)
{
    struct labelling l = {.calls = _i};
    struct nb_unlabelled_report report;
    train(0, LABELLED, true);
    train(LABELLED, UNLABELLED, false);
    wait_until_fitted(UNLABELLED);
    rest_for_an_hour();
    ck_assert_int_eq(nb_engine_refine(engine, str("m"), label_meanwhile, &l, &report, NULL), 0);
    ck_assert(l.is_done);
    wait_until_fitted(0);
}
END_TEST

/* Publishes a new state once, as when settings are put or the writer has fitted a map. */
static bool publish_meanwhile(void *user)
{
    void (**publish)(struct nb_live *, struct nb_published *) = user;
    struct nb_published *next;
    if (*publish == NULL)
        return false;
    next = nb_published_next(&live->published->settings, live->key, live->published);
    ck_assert_ptr_nonnull(next);
    (*publish)(live, next);
    *publish = NULL;
    return false;
}

/* The map of probabilities has no part in it. */
START_TEST(a_fit_is_of_settings)
{
    struct nb_unlabelled_report report;
    struct nb_error error = {0};
    void (*publish)(struct nb_live *, struct nb_published *) = nb_live_publish;
    train(0, LABELLED, true);
    train(LABELLED, UNLABELLED, false);
    wait_until_fitted(UNLABELLED);
    rest_for_an_hour();
    int rc = nb_engine_refine(engine, str("m"), publish_meanwhile, &publish, &report, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    publish = nb_live_publish_others;
    rc = nb_engine_refine(engine, str("m"), publish_meanwhile, &publish, &report, &error);
    ck_assert_int_eq(rc, NB_CONFLICT);
}
END_TEST

static int leave_memory(struct nb_engine *e, void *argument, struct nb_error *error)
{
    (void)error;
    atomic_fetch_add(&live->references, 1);
    *(bool *)argument = nb_trim_model(e, live);
    atomic_fetch_sub(&live->references, 1);
    return 0;
}

/* The model that the test has no reference to is in the registry all the same. */
static void drop_from_memory(void)
{
    struct nb_live *kept = live;
    bool is_gone = false;
    nb_registry_release(engine, &live);
    live = kept;
    while (!is_gone) { /* others may use it yet */
        ck_assert_int_eq(nb_writer_run(engine, leave_memory, &is_gone, NULL), 0);
        usleep(1000);
    }
}

/* Nothing is published for a model that is not in memory. */
START_TEST(a_fit_ends_with_its_settings_also_while_the_model_is_not_in_memory)
{
    struct nb_settings settings;
    bool created;
    train(0, LABELLED, true);
    train(LABELLED, UNLABELLED, false);
    wait_until_fitted(UNLABELLED);
    rest_for_an_hour();
    drop_from_memory();
    nb_settings_init(&settings, NB_PRESET_BOOK);
    settings.unlabelled_weight = .25;
    ck_assert_int_eq(
        nb_engine_put_model(engine, str("m"), &settings, false, str(""), &created, NULL), 0);
    nb_settings_deinit(&settings);
    ck_assert(!atomic_load(&live->loaded));
    ck_assert_int_eq(nb_registry_acquire(engine, str("m"), false, &live, NULL), 0);
    ck_assert_uint_eq(fitted(), 0);
    atomic_store(&live->em.due_at, 0);
    wait_until_fitted(UNLABELLED);
    struct nb_refined *refined = nb_live_refined(live);
    ck_assert_double_eq(refined->weight, .25);
    nb_refined_release(&refined);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("worker");
    TCase *t = tcase_create("worker");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_model_rests_between_two_fits);
    tcase_add_test(t, twice_the_documents_end_the_rest);
    tcase_add_test(t, a_fit_ends_with_its_last_document);
    tcase_add_loop_test(t, what_changes_during_a_fit_is_not_missed, 0, 6);
    tcase_add_test(t, a_fit_is_of_settings);
    tcase_add_test(t, a_fit_ends_with_its_settings_also_while_the_model_is_not_in_memory);
    return test_run_with_tokenizer(s);
}
