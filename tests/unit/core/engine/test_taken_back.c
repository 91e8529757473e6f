/* SPDX-License-Identifier: Apache-2.0
 *
 * What a document taught the weights is taken back with it: compared with a model that never saw
 * the document, in random sequences of changes.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/archive/repair/repair.h"
#include "core/base/random.h"
#include "core/engine/engine.h"
#include "core/writer/submit.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { WORDS_MOST = 600, ASKED = 50, BASE = 200, LABELS = 2 };

static char root[NB_TEST_FOLDER_SIZE], directory[80];
static struct nb_engine_settings settings;
static struct nb_engine *engine;
static struct nb_random draws;

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
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    open_engine();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(root);
}

/* ---- documents ------------------------------------------------------------------------------- */

static const char *const names[] = {"ham", "spam", "third"};

/* Document `n`, whose words come half from its kind. */
static void words_of(uint32_t n, char words[WORDS_MOST])
{
    struct nb_random random = nb_random_of(7, n);
    size_t length = 0;
    for (unsigned i = 0; i < 24; i++) {
        bool own = nb_random_below(&random, 2) == 0;
        length += (size_t)snprintf(words + length, WORDS_MOST - length, " %c%u",
                                   own ? 'a' + (int)(n % 3) : 'x',
                                   (unsigned)nb_random_below(&random, 90));
    }
}

static void put(const char *model)
{
    struct nb_settings s;
    struct nb_error error = {0};
    bool created;
    nb_settings_init(&s, NB_PRESET_TEXT);
    ck_assert_msg(nb_engine_put_model(engine, str(model), &s, true, str(""), &created, &error) == 0,
                  "%s", error.text);
    nb_settings_deinit(&s);
}

static void apply(struct nb_batch *batch)
{
    nb_engine_apply(engine, batch);
    for (size_t i = 0; i < nb_batch_size(batch); i++)
        ck_assert_msg(nb_batch_receipt(batch, i)->code == 0, "%s",
                      nb_batch_receipt(batch, i)->error.text);
    nb_batch_free(&batch);
}

static struct nb_batch *batch_of(const char *model)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str(model), false, &batch, NULL), 0);
    return batch;
}

static void add(struct nb_batch *batch, uint32_t n, const char *label)
{
    char words[WORDS_MOST], id[24];
    words_of(n, words);
    snprintf(id, sizeof id, "%u", n);
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
    ck_assert_int_eq(nb_batch_train(batch, &document, str(label), str(id), str(""), NULL), 0);
}

static void train(const char *model, uint32_t n, const char *label)
{
    struct nb_batch *batch = batch_of(model);
    add(batch, n, label);
    apply(batch);
}

static void forget(const char *model, uint32_t n)
{
    struct nb_batch *batch = batch_of(model);
    char id[24];
    snprintf(id, sizeof id, "%u", n);
    ck_assert_int_eq(nb_batch_untrain(batch, NULL, str(id), str(""), NULL), 0);
    apply(batch);
}

/* Learns documents 0 to `count` - 1 in batches, in order; `mixed`: else label by label. */
static void train_base(const char *model, uint32_t count, uint32_t labels, bool mixed)
{
    put(model);
    struct nb_batch *batch = batch_of(model);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = mixed ? i : i % (count / labels) * labels + i / (count / labels);
        add(batch, n, names[n % labels]);
    }
    apply(batch);
}

static void settle(void)
{
    struct nb_engine_statistics statistics;
    for (nb_engine_statistics(engine, &statistics); statistics.refits > 0;
         nb_engine_statistics(engine, &statistics))
        usleep(200);
}

/* Sets `odds` to ln P(last label) / P(first) of texts that were not learned. */
static void ask(const char *model, double odds[ASKED])
{
    for (uint32_t i = 0; i < ASKED; i++) {
        char words[WORDS_MOST];
        struct nb_verdict v;
        words_of(1000000 + i, words);
        struct nb_document document = {
            .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
        nb_verdict_init(&v);
        ck_assert_int_eq(nb_engine_classify(engine, str(model), &document, 0, &v, NULL), 0);
        ck_assert_uint_ge(v.size, 2);
        odds[i] = log(v.probabilities[v.size - 1] / v.probabilities[0]);
        nb_verdict_deinit(&v);
    }
}

static double most_apart(const double a[ASKED], const double b[ASKED])
{
    double most = 0;
    for (unsigned i = 0; i < ASKED; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_difference(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

/* A replay of the ledger gives the same weights. */
static void verify(void)
{
    struct nb_error error = {0};
    nb_engine_close(&engine);
    ck_assert_msg(nb_engine_verify(&settings, print_difference, NULL, &error) == 0, "%s",
                  error.text);
    open_engine();
}

/* ---- the last change ------------------------------------------------------------------------- */

static void expect_same(const char *model, const double before[ASKED], const char *what)
{
    double now[ASKED];
    ask(model, now);
    ck_assert_msg(most_apart(before, now) <= 1e-9, "%s: %g apart", what, most_apart(before, now));
}

/* Teaches a document and takes it back; relabels one and relabels it back; and the same with a
 * document that was relabelled before it is taken back. */
static void take_back_last(const char *model, uint32_t labels, bool reopens)
{
    double before[ASKED], taught[ASKED];
    settle();
    ask(model, before);
    for (uint32_t round = 0; round < 6; round++) {
        train(model, 5000 + round, names[round % labels]);
        ask(model, taught);
        if (round == 0)
            ck_assert(most_apart(before, taught) > 1e-4);
        if (reopens && round == 1) {
            nb_engine_close(&engine);
            open_engine();
        }
        forget(model, 5000 + round);
        expect_same(model, before, "taught and taken back");
        train(model, 1, names[1 + round % (labels - 1) == 1 ? 0 : 1]);
        train(model, 1, names[1]);
        expect_same(model, before, "relabelled and back");
        train(model, 6000 + round, "ham");
        train(model, 6000 + round, "spam");
        forget(model, 6000 + round);
        expect_same(model, before, "taught, relabelled and taken back");
    }
}

START_TEST(the_last_change_is_taken_back_exactly)
{
    train_base("mixed", 90, 2, true);
    take_back_last("mixed", 2, true);
    train_base("sorted", 90, 2, false);
    take_back_last("sorted", 2, false);
    train_base("three", 90, 3, true);
    take_back_last("three", 3, true);
    train_base("large", 1200, 2, true);
    take_back_last("large", 2, false);
    verify();
}
END_TEST

/* ---- random sequences ------------------------------------------------------------------------ */

/* A pair of models: "seen-..." learns documents that it takes back, "never-..." the others alone.
 */
struct pair {
    char never[16], seen[16];
};
enum { PAIRS = 50, ROUNDS = 20, COUNT = PAIRS * ROUNDS * ASKED };

/* Begins a refit, which a small model lets wait for a fifth of a second. */
static void begin_refit(const char *model)
{
    struct nb_batch *batch = batch_of(model);
    ck_assert_int_eq(nb_batch_refit(batch, NB_REFIT_WHOLE, str(""), NULL), 0);
    apply(batch);
}

/* One sequence of documents, the first with the number `first`. Some are taken back at random later
 * times, relabelled before or not. Sets `apart` to the differences of the verdicts. */
static void run_sequence(const struct pair *pair, uint32_t first, double apart[ASKED])
{
    enum { STEPS = 12, OPEN_MOST = 3 };
    uint32_t open[OPEN_MOST], opened = 0, next = first;
    double never[ASKED], seen[ASKED];
    for (uint32_t step = 0; step < STEPS || opened > 0; step++) {
        uint32_t what = (uint32_t)nb_random_below(&draws, 3);
        uint32_t n = next++;
        if (what == 0 && opened < OPEN_MOST && step < STEPS) {
            train(pair->seen, n, names[nb_random_below(&draws, LABELS)]);
            open[opened++] = n;
        } else if (what == 1 && opened > 0) {
            uint32_t at = (uint32_t)nb_random_below(&draws, opened);
            if (nb_random_below(&draws, 3) == 0)
                train(pair->seen, open[at], names[0]);
            forget(pair->seen, open[at]);
            open[at] = open[--opened];
        } else if (step < STEPS) {
            train(pair->seen, n, names[n % LABELS]);
            train(pair->never, n, names[n % LABELS]);
        }
    }
    ask(pair->never, never);
    ask(pair->seen, seen);
    for (unsigned i = 0; i < ASKED; i++)
        apart[i] = fabs(never[i] - seen[i]);
}

/* After a refit of both, both are the same but for rounding: rows have other numbers in "seen", so
 * that sums are added in another order, slots are floats, and the twin passes over a document just
 * below its threshold. Most are less than 1e-9 apart. */
static void fit_again(const struct pair *pairs)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        begin_refit(pairs[i].never);
        begin_refit(pairs[i].seen);
    }
    settle();
    for (unsigned i = 0; i < PAIRS; i++) {
        double never[ASKED];
        double seen[ASKED];
        ask(pairs[i].never, never);
        ask(pairs[i].seen, seen);
        ck_assert_msg(most_apart(never, seen) <= .05, "%g apart", most_apart(never, seen));
    }
}

START_TEST(random_sequences_leave_no_trace)
{
    static double apart[COUNT];
    static struct pair pairs[PAIRS];
    double *at = apart;
    draws = nb_random_of(3, 1);
    for (unsigned i = 0; i < PAIRS; i++) {
        snprintf(pairs[i].never, sizeof pairs[i].never, "never-%u", i);
        snprintf(pairs[i].seen, sizeof pairs[i].seen, "seen-%u", i);
        train_base(pairs[i].never, BASE, LABELS, true);
        train_base(pairs[i].seen, BASE, LABELS, true);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < PAIRS; i++, at += ASKED)
            run_sequence(&pairs[i], 10000 + (round * PAIRS + i) * 100, at);
        fit_again(pairs);
    }
    qsort(apart, COUNT, sizeof *apart, by_size);
    printf("taken back: median %.2g, 90%% %.2g, 99%% %.2g\n", apart[COUNT / 2],
           apart[COUNT / 10 * 9], apart[COUNT / 100 * 99]);
    fflush(stdout);
    ck_assert(apart[COUNT / 2] <= .005 && apart[COUNT / 100 * 99] <= .05);
    verify();
}
END_TEST

/* ---- some time ago --------------------------------------------------------------------------- */

/* What became of a wrongly labelled document after 5, 30 or 60 others, which have unlearned a part
 * of it meanwhile. */
enum correction { FORGOTTEN, RELABELLED, RELABELLED_AND_FORGOTTEN };

/* Sets `apart` to the differences of the verdicts from those of a model that never saw the wrong
 * label, but learned the document when it was relabelled. */
static void correct(uint32_t i, enum correction how, double apart[ASKED])
{
    static const uint32_t laters[] = {5, 30, 60};
    double never[ASKED], seen[ASKED];
    struct pair pair;
    uint32_t first = 50000 + i * 100, wrong = first - first % 6 + 1, later = laters[i % 3];
    snprintf(pair.never, sizeof pair.never, "n-%u-%u", how, i);
    snprintf(pair.seen, sizeof pair.seen, "s-%u-%u", how, i);
    train_base(pair.never, 300, LABELS, true);
    train_base(pair.seen, 300, LABELS, true);
    begin_refit(pair.never);
    begin_refit(pair.seen);
    settle();
    train(pair.seen, wrong, names[0]);
    for (uint32_t k = 0; k < later + (how == FORGOTTEN ? 0 : 10); k++) {
        if (k == later)
            train(pair.seen, wrong, names[1]);
        if (k == later && how == RELABELLED)
            train(pair.never, wrong, names[1]);
        train(pair.never, first + 10 + k, names[(first + k) % LABELS]);
        train(pair.seen, first + 10 + k, names[(first + k) % LABELS]);
    }
    if (how != RELABELLED)
        forget(pair.seen, wrong);
    ask(pair.never, never);
    ask(pair.seen, seen);
    for (unsigned k = 0; k < ASKED; k++)
        apart[k] = fabs(never[k] - seen[k]);
}

static void correct_some(enum correction how)
{
    enum { SOME = 24 };
    static double apart[SOME * ASKED];
    size_t count = sizeof apart / sizeof *apart;
    for (uint32_t i = 0; i < SOME; i++)
        correct(i, how, apart + (size_t)i * ASKED);
    qsort(apart, count, sizeof *apart, by_size);
    printf("some time ago: median %.2g, 90%% %.2g, 99%% %.2g\n", apart[count / 2],
           apart[count / 10 * 9], apart[count / 100 * 99]);
    fflush(stdout);
    ck_assert(apart[count / 2] <= 1e-3 && apart[count / 100 * 99] <= .02);
    verify();
}

START_TEST(what_later_documents_learned_from_it_is_taken_back)
{
    correct_some(FORGOTTEN);
}
END_TEST

START_TEST(a_relabelled_document_is_as_if_it_had_never_had_the_other_label)
{
    correct_some(RELABELLED);
}
END_TEST

START_TEST(a_document_that_was_relabelled_is_forgotten)
{
    correct_some(RELABELLED_AND_FORGOTTEN);
}
END_TEST

/* ---- refits ---------------------------------------------------------------------------------- */

/* Teaches the words of document `n` under another id. */
static void train_again(const char *model, uint32_t n, uint32_t id, const char *label)
{
    char words[WORDS_MOST], text[24];
    struct nb_batch *batch = batch_of(model);
    words_of(n, words);
    snprintf(text, sizeof text, "%u", id);
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
    ck_assert_int_eq(nb_batch_train(batch, &document, str(label), str(text), str(""), NULL), 0);
    apply(batch);
}

/* If the documents that were taken back had no new words, the rows have the same numbers as if they
 * had never come, and a refit on request gives the same weights, whatever was taught between. */
START_TEST(a_refit_of_the_same_rows_leaves_no_trace)
{
    double never[ASKED], seen[ASKED];
    for (uint32_t i = 0; i < 6; i++) {
        const char *models[] = {"never", "seen"};
        for (unsigned m = 0; m < 2; m++) {
            train_base(models[m], 240, LABELS, i % 2 == 0);
            settle();
            for (uint32_t k = 0; k < 40; k++) {
                if (m == 1 && k % 4 == i % 4)
                    train_again("seen", k * 3 + i, 7000 + k, names[k / 4 % LABELS]);
                train(models[m], 8000 + k, names[k % LABELS]);
            }
            for (uint32_t k = i % 4; m == 1 && k < 40; k += 4)
                forget("seen", 7000 + (k * 7 + 4 * i) % 40 / 4 * 4 + i % 4);
            begin_refit(models[m]);
        }
        settle();
        ask("never", never);
        ask("seen", seen);
        ck_assert_msg(most_apart(never, seen) <= 1e-9, "%u: %g apart", i, most_apart(never, seen));
        for (unsigned m = 0; m < 2; m++)
            ck_assert_int_eq(nb_engine_delete_model(engine, str(models[m]), str(""), NULL), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("taken_back");
    TCase *tests = tcase_create("taken_back");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, the_last_change_is_taken_back_exactly);
    tcase_add_test(tests, random_sequences_leave_no_trace);
    tcase_add_test(tests, what_later_documents_learned_from_it_is_taken_back);
    tcase_add_test(tests, a_relabelled_document_is_as_if_it_had_never_had_the_other_label);
    tcase_add_test(tests, a_document_that_was_relabelled_is_forgotten);
    tcase_add_test(tests, a_refit_of_the_same_rows_leaves_no_trace);
    suite_add_tcase(suite, tests);
    return test_run_with_tokenizer(suite);
}
