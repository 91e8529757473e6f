/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches whose features were looked up, and whose new features were predicted, long before they
 * are applied: other batches in the meantime must not change the result.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/repair/repair.h"
#include "core/engine/engine.h"
#include "core/model/state.h"
#include "core/writer/batch.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_engine *engine;

static const char many[] =
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi "
    "omicron pi rho sigma tau upsilon phi chi psi omega";

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    struct nb_settings wanted;
    bool created;
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_int_eq(nb_engine_open(&settings, &engine, NULL), 0);
    nb_settings_init(&wanted, NB_PRESET_BOOK);
    wanted.near_duplicates = 1;
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &wanted, false, str(""), &created, NULL),
                     0);
    nb_settings_deinit(&wanted);
}

static void print_difference(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

/* Checks that the store agrees with its ledger. */
static void teardown(void)
{
    struct nb_error error = {0};
    nb_engine_close(&engine);
    int rc = nb_engine_verify(&settings, print_difference, NULL, &error);
    ck_assert_msg(rc == 0, "verify: %d %s", rc, error.text);
    test_folder_remove(directory);
}

static struct nb_batch *batch_as(const char *const documents[], size_t count, const char *prefix,
                                 bool single)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), single, &batch, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        struct nb_document document = {
            .kind = NB_DOCUMENT_TEXT, .bytes = documents[i], .length = strlen(documents[i])};
        char id[32];
        snprintf(id, sizeof id, "%s%zu", prefix, i);
        ck_assert_int_eq(
            nb_batch_train(batch, &document, str(i % 2 ? "ham" : "spam"), str(id), str(""), NULL),
            0);
    }
    return batch;
}

static struct nb_batch *batch_of(const char *const documents[], size_t count, const char *prefix)
{
    return batch_as(documents, count, prefix, false);
}

/* Applies a batch. Returns the number of new features. */
static uint64_t apply(struct nb_batch *batch, enum nb_status status)
{
    uint64_t fresh = 0;
    nb_engine_apply(engine, batch);
    for (size_t i = 0; i < nb_batch_size(batch); i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i);
        ck_assert_int_eq(receipt->code, 0);
        ck_assert_int_eq(receipt->status, status);
        fresh += receipt->new_tokens;
    }
    nb_batch_free(&batch);
    return fresh;
}

static uint64_t lost_rows(void)
{
    ck_assert_uint_eq(engine->registry.count, 1);
    return nb_model_lost_rows(engine->registry.models[0]->counts);
}

/* The rows of a near-duplicate are taken back. */
static void lose_rows(void)
{
    char near[sizeof many + 16];
    const char *const twin[] = {near};
    uint64_t lost = lost_rows();
    snprintf(near, sizeof near, "%s unheard", many);
    (void)apply(batch_of(twin, 1, "t"), NB_NEAR_DUPLICATE);
    ck_assert_uint_gt(lost_rows(), lost);
}

START_TEST(rows_that_are_lost_meanwhile)
{
    static const char *const first[] = {many, "one two three four five"};
    static const char *const waiting[] = {"one five six seven", "alpha two six eight",
                                          "pi rho nine nine"};
    ck_assert_uint_eq(apply(batch_of(first, 2, "f"), NB_LEARNED), 29);
    struct nb_batch *batch = batch_of(waiting, 3, "w");
    ck_assert_uint_eq(batch->changes[0].lost_rows, lost_rows());
    ck_assert_uint_eq(batch->changes[0].known_count, 2);
    lose_rows();
    ck_assert_uint_eq(apply(batch, NB_LEARNED), 4);
}
END_TEST

/* After a commit that failed the rows that a document was looked up with may be those of other
 * features, or of the same in another order, or be there no more: the document is not learned. */
START_TEST(rows_that_have_other_features_now)
{
    enum { WAYS = 3 };
    static const char *const first[] = {many, "one two three four five"};
    static const char *const waiting[] = {"one two two six", "one two two seven",
                                          "one two two eight"};
    (void)apply(batch_of(first, 2, "f"), NB_LEARNED);
    struct nb_batch *batch = batch_of(waiting, WAYS, "w");
    struct nb_row_count *known[WAYS];
    for (size_t i = 0; i < WAYS; i++) {
        known[i] = batch->changes[i].known;
        ck_assert_uint_eq(batch->changes[i].known_count, 2);
    }
    known[0][1].row++;
    uint32_t count = known[1][0].count;
    known[1][0].count = known[1][1].count;
    known[1][1].count = count;
    known[2][1].row = UINT32_MAX - 1;
    lose_rows();
    nb_engine_apply(engine, batch);
    for (size_t i = 0; i < WAYS; i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i);
        ck_assert_int_eq(receipt->code, NB_IO);
        ck_assert_str_eq(receipt->error.text, "a commit failed meanwhile: send the document again");
    }
    nb_batch_free(&batch);
    ck_assert_uint_eq(apply(batch_of(waiting, 1, "w"), NB_LEARNED), 1);
}
END_TEST

/* After a batch that was as foreseen, the texts of two are encoded ahead. The second to be applied
 * has features that the first has brought: all, some, or in another document. */
START_TEST(features_that_others_bring_meanwhile)
{
    static const char *const before[] = {"one two", "three four"};
    static const char *const waiting[] = {"red green blue cyan magenta yellow black white",
                                          "one red orange purple brown pink grey teal navy",
                                          "lime olive maroon silver gold coral plum ivory"};
    static const char *const other[] = {"lime red violet indigo beige khaki mint salmon lilac"};
    (void)apply(batch_of(before, 2, "b"), NB_LEARNED);
    ck_assert(atomic_load(&engine->spares.foresees));
    struct nb_batch *all = batch_of(waiting, 3, "a");
    struct nb_batch *again = batch_of(waiting, 3, "g");
    struct nb_batch *some = batch_of(other, 1, "s");
    ck_assert_uint_eq(all->changes[1].foreseen_count, 7);
    ck_assert_uint_gt(all->changes[1].foreseen_texts.length, 0);
    ck_assert_uint_eq(apply(some, NB_LEARNED), 9);
    ck_assert(atomic_load(&engine->spares.foresees));
    ck_assert_uint_eq(apply(all, NB_LEARNED), 7 + 7 + 7);
    ck_assert(!atomic_load(&engine->spares.foresees));
    nb_engine_apply(engine, again); /* all are near-duplicates */
    nb_batch_free(&again);
    struct nb_batch *last = batch_of(other, 1, "l");
    ck_assert_uint_eq(last->changes[0].foreseen_count, 0);
    nb_batch_free(&last);
}
END_TEST

static uint32_t rows(void)
{
    ck_assert_uint_eq(engine->registry.count, 1);
    return nb_model_rows(engine->registry.models[0]->counts);
}

static void forget(const char *id)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_untrain(batch, NULL, str(id), str(""), NULL), 0);
    (void)apply(batch, NB_FORGOTTEN);
}

/* What is foreseen as new is not looked up again, unless others may have brought it: each word gets
 * one row, whatever waits beside what. (A replay finds a second one.) */
START_TEST(a_feature_gets_one_row)
{
    static const char *const first[] = {"one two three", "two four", "five six one"};
    static const char *const beside[] = {"four five seven", "seven eight two"};
    static const char *const late[] = {"seven nine ten", "ten one eleven"};
    static const char *const again[] = {"twelve two four", "four thirteen twelve"};
    static const char *const more[] = {"fourteen fifteen", "fifteen sixteen", "sixteen seventeen"};
    struct nb_batch *a = batch_of(first, 3, "a");
    struct nb_batch *b = batch_of(beside, 2, "b");
    (void)apply(a, NB_LEARNED);
    ck_assert_uint_eq(rows(), 6);
    struct nb_batch *c = batch_of(late, 2, "c");
    (void)apply(b, NB_LEARNED);
    ck_assert_uint_eq(rows(), 8);
    (void)apply(c, NB_LEARNED);
    ck_assert_uint_eq(rows(), 11);
    forget("a1");
    forget("b0"); /* no document has "four" now; its row stays */
    struct nb_batch *d = batch_of(again, 2, "d");
    ck_assert(d->changes[0].others[1].has_row && !d->changes[0].others[1].is_foreseen);
    (void)apply(d, NB_LEARNED);
    ck_assert_uint_eq(rows(), 13);
    (void)apply(batch_as(more, 3, "e", true), NB_LEARNED);
    ck_assert_uint_eq(rows(), 17);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("waiting_batches");
    TCase *t = tcase_create("waiting_batches");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, rows_that_are_lost_meanwhile);
    tcase_add_test(t, rows_that_have_other_features_now);
    tcase_add_test(t, features_that_others_bring_meanwhile);
    tcase_add_test(t, a_feature_gets_one_row);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
