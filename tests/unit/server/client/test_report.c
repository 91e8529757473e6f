/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of an evaluation as JSON, as a table and as plots; and the corpus that is
 * evaluated.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/client/evaluate/evaluation_report.h"
#include "server/client/evaluate/labelled_corpus.h"
#include "tests/unit/run.h"

static char ham[] = "ham", spam[] = "sp<a&m\n";
static char *const LABELS[] = {ham, spam};

/* Eight documents, of which two ham and one spam are judged wrongly. */
static json_t *figures_of_eight(void)
{
    static const struct {
        uint32_t label;
        double of_spam;
    } documents[] = {{0, 0.1}, {0, 0.2}, {0, 0.7}, {0, 0.8}, {1, 0.9}, {1, 0.95}, {1, 0.3}, {1, 1}};
    static const uint32_t numbers[] = {0, 1};
    struct nb_evaluator *evaluator;
    struct nb_evaluation evaluation = {0};
    ck_assert_int_eq(nb_evaluator_new(numbers, 2, 1, &evaluator), 0);
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        const double p[] = {1 - documents[i].of_spam, documents[i].of_spam};
        const struct nb_stored_score scored = {documents[i].label, 2, numbers, p,
                                               documents[i].of_spam - 0.5};
        ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
    }
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &evaluation), 0);
    json_t *figures = nb_evaluation_json(&evaluation, LABELS);
    ck_assert_ptr_nonnull(figures);
    nb_evaluation_deinit(&evaluation);
    nb_evaluator_free(&evaluator);
    return figures;
}

static double at(const json_t *figures, const char *name)
{
    ck_assert_msg(json_is_number(json_object_get(figures, name)), "%s", name);
    return json_number_value(json_object_get(figures, name));
}

START_TEST(figures_are_those_of_the_evaluation)
{
    json_t *figures = figures_of_eight();
    const json_t *labels = json_object_get(figures, "labels");
    const json_t *confusion = json_object_get(figures, "confusion");
    ck_assert_double_eq(at(figures, "documents"), 8);
    ck_assert_double_eq(at(figures, "accuracy"), 5.0 / 8);
    ck_assert_double_eq(at(figures, "false_positive_rate"), 0.5);
    ck_assert_double_eq(at(figures, "false_negative_rate"), 0.25);
    /* There are 16 pairs of a spam and a ham; the lowest spam (0.3) is in the wrong order in two of
     * them. */
    ck_assert_double_eq_tol(at(figures, "one_minus_roca_percent"), 100 * 2.0 / 16, 1e-9);
    ck_assert_double_eq(at(json_object_get(labels, "ham"), "documents"), 4);
    ck_assert_double_eq(at(json_object_get(labels, "ham"), "recall"), 0.5);
    ck_assert_double_eq(at(json_object_get(labels, spam), "predicted"), 5);
    ck_assert_double_eq(at(json_object_get(confusion, "ham"), spam), 2);
    ck_assert_double_eq(at(json_object_get(confusion, spam), "ham"), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(figures, "reliability")), NB_EVALUATION_BINS);
    ck_assert_uint_ge(json_array_size(json_object_get(figures, "roc")), 2);
    json_decref(figures);
}
END_TEST

START_TEST(figures_of_nothing_are_null)
{
    struct nb_evaluation evaluation = {0};
    struct nb_evaluator *evaluator;
    static const uint32_t numbers[] = {0, 1};
    ck_assert_int_eq(nb_evaluator_new(numbers, 2, 1, &evaluator), 0);
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &evaluation), 0);
    json_t *figures = nb_evaluation_json(&evaluation, LABELS);
    ck_assert(json_is_null(json_object_get(figures, "accuracy")));
    ck_assert(json_is_null(json_object_get(figures, "log_loss")));
    ck_assert_uint_eq(json_array_size(json_object_get(figures, "roc")), 0);
    /* JSON has no NAN: the printed text can be read again. */
    char *text = json_dumps(figures, 0);
    ck_assert_ptr_nonnull(text);
    free(text);
    json_decref(figures);
    nb_evaluation_deinit(&evaluation);
    nb_evaluator_free(&evaluator);
}
END_TEST

/* ---- tables for people ----------------------------------------------------------------------- */

static char *print(const struct nb_report *report)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    nb_report_print(report, out);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

START_TEST(a_report_shows_figures)
{
    json_t *figures = figures_of_eight();
    const struct nb_report report = {{"online"}, {figures}, 1, "spam", false};
    char *text = print(&report);
    ck_assert_ptr_nonnull(strstr(text, "positive label: spam\n"));
    ck_assert_ptr_nonnull(strstr(text, "accuracy              62.50 %\n"));
    ck_assert_ptr_nonnull(strstr(text, "false positives      50.000 %\n"));
    ck_assert_ptr_nonnull(strstr(text, "1 - area under ROC  12.5000 %\n"));
    ck_assert_ptr_nonnull(strstr(text, "sp<a&m "));
    ck_assert_ptr_null(strstr(text, "sp<a&m\n"));
    free(text);
    json_decref(figures);
}
END_TEST

START_TEST(a_report_has_room_for_all_evaluations)
{
    json_t *figures = figures_of_eight();
    struct nb_report report = {.count = NB_REPORT_MOST, .positive = "spam"};
    for (size_t i = 0; i < NB_REPORT_MOST; i++) {
        report.names[i] = "decision=stacked";
        report.figures[i] = figures;
    }
    char *text = print(&report);
    size_t columns = 0;
    char *end = strstr(text, "\ndocuments");
    ck_assert_ptr_nonnull(end);
    for (char *p = text; (p = strstr(p, "decision=stacked")) != NULL && p < end; p++)
        columns++;
    ck_assert_uint_eq(columns, NB_REPORT_MOST);
    free(text);
    json_decref(figures);
}
END_TEST

/* Nine labels in a circle: each is once mistaken for the next label, the first one twice. */
static json_t *figures_of_many(void)
{
    static char name[9][2];
    static char *names[9];
    static uint32_t numbers[9];
    struct nb_evaluator *evaluator;
    struct nb_evaluation evaluation = {0};
    for (uint32_t i = 0; i < 9; i++) {
        name[i][0] = (char)('a' + i);
        names[i] = name[i];
        numbers[i] = i;
    }
    ck_assert_int_eq(nb_evaluator_new(numbers, 9, 0, &evaluator), 0);
    for (uint32_t i = 0; i < 28; i++) {
        uint32_t truth = i < 27 ? i % 9 : 0, given = i < 18 ? truth : (truth + 1) % 9;
        double p[9] = {0};
        p[given] = 1;
        const struct nb_stored_score scored = {truth, 9, numbers, p, 0};
        ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
    }
    ck_assert_int_eq(nb_evaluator_finish(evaluator, 0, &evaluation), 0);
    json_t *figures = nb_evaluation_json(&evaluation, names);
    nb_evaluation_deinit(&evaluation);
    nb_evaluator_free(&evaluator);
    return figures;
}

START_TEST(a_report_of_many_labels)
{
    json_t *figures = figures_of_many();
    struct nb_report report = {{"online"}, {figures}, 1, "a", false};
    char *text = print(&report);
    /* 18 of 28 verdicts are right. Two labels, a and b, have 2 right of 7 documents and verdicts,
     * the other seven 2 of 6: macro-F1 is (2 * 4 / 7 + 7 * 4 / 6) / 9. */
    ck_assert_ptr_nonnull(
        strstr(text, "\naccuracy           64.29 %\nmacro-F1           64.55 %\n"));
    ck_assert_ptr_null(strstr(text, "positive label"));
    ck_assert_ptr_null(strstr(text, "is \\ given"));
    ck_assert_ptr_nonnull(strstr(text, "most often taken for another\n"));
    ck_assert_ptr_nonnull(strstr(text, "\na   b              2\n"));
    free(text);
    report.is_named = true;
    text = print(&report);
    ck_assert_ptr_nonnull(strstr(text, "positive label: a\n"));
    ck_assert_ptr_nonnull(strstr(text, "macro-F1"));
    free(text);
    json_decref(figures);
}
END_TEST

/* Another server may answer with any JSON. */
START_TEST(a_report_survives_any_json)
{
    static const char *const any[] = {
        "{}",
        "[]",
        "{\"labels\": 7, \"confusion\": []}",
        "{\"labels\": {\"a\": 1, \"b\": null}, \"confusion\": {\"a\": 5}}",
        "{\"accuracy\": \"much\", \"documents\": null, \"roc\": [1, {\"threshold\": {}}]}",
        ("{\"labels\": "
         "{\"1\":{},\"2\":{},\"3\":{},\"4\":{},\"5\":{},\"6\":{},\"7\":{},\"8\":{},\"9\":{}},"
         "\"worst_pairs\": [1, {}, {\"label\": [], \"given\": 7, \"documents\": \"many\"}]}")};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        json_t *figures = json_loads(any[i], 0, NULL);
        ck_assert_ptr_nonnull(figures);
        const struct nb_report report = {{"x"}, {figures}, 1, "spam", (i & 1) != 0};
        free(print(&report));
        json_decref(figures);
    }
}
END_TEST

/* ---- plots ----------------------------------------------------------------------------------- */

static char *plot(int (*draw)(const struct nb_report *, const char *, struct nb_error *),
                  const struct nb_report *report)
{
    char name[] = "/tmp/bayesd-plot-XXXXXX";
    static char text[100000];
    struct nb_error error = {0};
    int file = mkstemp(name);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(draw(report, name, &error), 0);
    ssize_t got = read(file, text, sizeof text - 1);
    ck_assert_int_gt(got, 0);
    text[got] = '\0';
    ck_assert_int_eq(close(file), 0);
    ck_assert_int_eq(unlink(name), 0);
    return text;
}

START_TEST(plots_escape_names)
{
    json_t *figures = figures_of_eight();
    const struct nb_report report = {{"a<b&c\x1B\n"}, {figures}, 1, "x<y", false};
    char *text = plot(nb_plot_roc, &report);
    ck_assert_int_eq(strncmp(text, "<svg ", 5), 0);
    ck_assert_str_eq(text + strlen(text) - 7, "</svg>\n");
    ck_assert_ptr_nonnull(strstr(text, "share of x&lt;y that is found"));
    ck_assert_ptr_nonnull(strstr(text, ">a&lt;b&amp;c</text>"));
    ck_assert_ptr_null(strchr(text, '\x1B'));
    text = plot(nb_plot_reliability, &report);
    ck_assert_ptr_nonnull(strstr(text, "<circle "));
    ck_assert_ptr_null(strstr(text, "nan"));
    json_decref(figures);
}
END_TEST

START_TEST(a_plot_that_cannot_be_written_is_an_error)
{
    const struct nb_report report = {.positive = "spam"};
    struct nb_error error = {0};
    ck_assert_int_eq(nb_plot_roc(&report, "/does/not/exist/x", &error), NB_NOT_FOUND);
    ck_assert_int_eq(nb_plot_reliability(&report, "/dev/full", &error), NB_IO);
}
END_TEST

/* ---- the corpus ------------------------------------------------------------------------------ */

/* A corpus of 100 documents of three labels, read from an NDJSON file. */
static void read_corpus(struct nb_labelled_corpus *corpus)
{
    static const char *const labels[] = {"spam", "ham", "list"};
    char name[] = "/tmp/bayesd-corpus-XXXXXX";
    char *paths[] = {name};
    const struct nb_files_options options = {.format = "ndjson"};
    struct nb_error error = {0};
    FILE *file = fdopen(mkstemp(name), "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 100; i++)
        ck_assert_int_gt(fprintf(file,
                                 "{\"text\": \"text %d\", \"id\": \"%d\", \"label\": \"%s\"}\n", i,
                                 i, labels[i % 3]),
                         0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(nb_labelled_corpus_read(corpus, &options, paths, 1, &error) == 0, "%s",
                  error.text);
    ck_assert_int_eq(unlink(name), 0);
}

START_TEST(a_corpus_gives_back_its_documents)
{
    struct nb_labelled_corpus corpus = {0};
    struct nb_item item;
    struct nb_error error = {0};
    char text[20], id[20];
    read_corpus(&corpus);
    ck_assert_uint_eq(corpus.count, 100);
    ck_assert_uint_eq(corpus.label_count, 3);
    ck_assert_str_eq(corpus.labels[0], "ham");
    ck_assert_str_eq(corpus.labels[1], "list");
    ck_assert_str_eq(corpus.labels[2], "spam");
    for (size_t i = 0; i < 100; i++) {
        ck_assert_int_eq(nb_labelled_corpus_get(&corpus, i, &item, &error), 0);
        (void)snprintf(text, sizeof text, "text %zu", i);
        (void)snprintf(id, sizeof id, "%zu", i);
        ck_assert(nb_string_equals(item.content, text));
        ck_assert(nb_string_equals(item.id, id));
        ck_assert(nb_string_equals(item.label, i % 3 == 0 ? "spam" : i % 3 == 1 ? "ham" : "list"));
        ck_assert_ptr_nonnull(strrchr(item.name, ':'));
        ck_assert(!item.is_mail);
    }
    nb_labelled_corpus_deinit(&corpus);
}
END_TEST

START_TEST(a_shuffle_depends_on_the_seed_alone)
{
    struct nb_labelled_corpus one = {0}, two = {0};
    size_t moved = 0, seen[100] = {0};
    read_corpus(&one);
    read_corpus(&two);
    nb_labelled_corpus_shuffle(&one, 7);
    nb_labelled_corpus_shuffle(&two, 7);
    for (size_t i = 0; i < 100; i++) {
        struct nb_item item;
        struct nb_error error;
        ck_assert_uint_eq(one.entries[i].offset, two.entries[i].offset);
        ck_assert_int_eq(nb_labelled_corpus_get(&one, i, &item, &error), 0);
        char id[20];
        (void)snprintf(id, sizeof id, "%.*s", (int)item.id.length, item.id.bytes);
        size_t number = strtoul(id, NULL, 10);
        seen[number]++;
        moved += number != i;
    }
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(seen[i], 1);
    ck_assert_uint_gt(moved, 80);
    nb_labelled_corpus_shuffle(&two, 8);
    size_t same = 0;
    for (size_t i = 0; i < 100; i++)
        same += one.entries[i].offset == two.entries[i].offset;
    ck_assert_uint_lt(same, 20);
    nb_labelled_corpus_deinit(&one);
    nb_labelled_corpus_deinit(&two);
}
END_TEST

START_TEST(a_document_without_a_label_is_refused)
{
    struct nb_labelled_corpus corpus = {0};
    struct nb_error error = {0};
    char name[] = "/tmp/bayesd-corpus-XXXXXX";
    char *paths[] = {name};
    const struct nb_files_options options = {.label = NULL};
    int file = mkstemp(name);
    ck_assert_int_eq(write(file, "text", 4), 4);
    ck_assert_int_eq(close(file), 0);
    ck_assert_int_eq(nb_labelled_corpus_read(&corpus, &options, paths, 1, &error), NB_CLIENT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "has no label"));
    ck_assert_int_eq(unlink(name), 0);
    nb_labelled_corpus_deinit(&corpus);
}
END_TEST

/* Evaluations, each as its 1 - ROCA, accuracy and log-loss; and the number of labels. */
static const struct {
    double figures[3][3];
    int labels;
    bool is_named;
    size_t count, best;
} races[] = {
    {{{.5, .9, .2}, {.1, .8, .3}, {.3, .99, .1}}, 2, false, 3, 1},
    {{{.5, .9, .2}, {.1, .8, .3}, {.3, .99, .1}}, 3, false, 3, 2}, /* the greatest accuracy wins */
    {{{.5, .9, .2}, {.1, .8, .3}, {.3, .99, .1}}, 3, true, 3, 1},  /* named: 1 - ROCA decides */
    {{{.1, .9, .2}, {.1, .8, .1}}, 2, false, 2, 1}, /* 1 - ROCA is equal: log-loss decides */
    {{{.1, .9, .2}, {.1, .8, .2}}, 2, false, 2, 2}, /* equal in both: none wins */
    {{{.1, .9, .2}, {.1, .9, .2}, {.0, .9, .2}}, 2, false, 3, 2}, /* equal, but not the best */
    {{{.1, .9, .2}}, 2, false, 1, 1},
};

START_TEST(the_best_has_the_least_area_above_its_curve)
{
    struct nb_report report = {.count = races[_i].count, .is_named = races[_i].is_named};
    for (size_t i = 0; i < report.count; i++) {
        const double *of = races[_i].figures[i];
        report.figures[i] =
            json_pack("{s:f,s:f,s:f,s:{s:i,s:i}}", "one_minus_roca_percent", of[0], "accuracy",
                      of[1], "log_loss", of[2], "labels", "a", 1, "b", 2);
        if (races[_i].labels > 2)
            (void)json_object_set_new(json_object_get(report.figures[i], "labels"), "c",
                                      json_integer(1));
    }
    ck_assert_uint_eq(nb_winner_find(&report), races[_i].best);
    for (size_t i = 0; i < report.count; i++)
        json_decref(report.figures[i]);
}
END_TEST

START_TEST(a_shell_reads_back_what_is_quoted)
{
    static const char *const WORDS[][2] = {
        {"smoothing=0.5", "smoothing=0.5"},
        {"", "''"},
        {"a b", "'a b'"},
        {"it's", "'it'\\''s'"},
        {"fields={\"a\":1}", "'fields={\"a\":1}'"},
        {"$(x)", "'$(x)'"},
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_winner_quote(WORDS[i][0], &out), 0);
        ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
        ck_assert_str_eq(out.bytes, WORDS[i][1]);
        nb_buffer_deinit(&out);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *all = tcase_create("all");
    tcase_add_test(all, figures_are_those_of_the_evaluation);
    tcase_add_test(all, figures_of_nothing_are_null);
    tcase_add_test(all, a_report_shows_figures);
    tcase_add_test(all, a_report_of_many_labels);
    tcase_add_test(all, a_report_has_room_for_all_evaluations);
    tcase_add_test(all, a_report_survives_any_json);
    tcase_add_test(all, plots_escape_names);
    tcase_add_test(all, a_plot_that_cannot_be_written_is_an_error);
    tcase_add_test(all, a_corpus_gives_back_its_documents);
    tcase_add_test(all, a_shuffle_depends_on_the_seed_alone);
    tcase_add_test(all, a_document_without_a_label_is_refused);
    tcase_add_loop_test(all, the_best_has_the_least_area_above_its_curve, 0,
                        (int)(sizeof races / sizeof *races));
    tcase_add_test(all, a_shell_reads_back_what_is_quoted);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
