/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents with several labels, computed again slowly: the labels of sets, scores by the book, the
 * linear machines as sums over documents, thresholds, and fits that do not depend on the order.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label_set.h"
#include "core/base/random.h"
#include "core/stack/multilabel_fit.h"
#include "tests/unit/run.h"

enum { WORDS = 30, DOCUMENTS = 80, LABELS = 3, WORDS_MOST = 12 };
static const char *const NAMES[LABELS] = {"a", "b", "c"};

struct document {
    struct nb_row_count rows[WORDS_MOST];
    size_t size;
    uint32_t set;
    bool has[LABELS];
};

struct world {
    struct nb_model *model;
    struct nb_multilabel *multilabel;
    bool is_by_the_book;
    struct document documents[DOCUMENTS];
    size_t count;
};

static uint64_t word_id(uint32_t word)
{
    return nb_feature_id(NB_FIELD_BODY, UINT64_C(0x9E3779B97F4A7C15) * (word + 1));
}

static bool has_word(const struct document *d, uint32_t word)
{
    for (size_t i = 0; i < d->size; i++)
        if (d->rows[i].row == word)
            return true;
    return false;
}

/* Words below 3 * 5 are mostly those of a label, five of each. */
static void draw(struct document *d, struct nb_random *random)
{
    *d = (struct document){.size = 0};
    for (uint32_t l = 0; l < LABELS; l++)
        d->has[l] = nb_random_below(random, 3) == 0;
    while (d->size < WORDS_MOST) {
        uint32_t word = (uint32_t)nb_random_below(random, WORDS);
        bool is_own = word >= LABELS * 5 || d->has[word / 5] || nb_random_below(random, 8) == 0;
        if (is_own && !has_word(d, word))
            d->rows[d->size++] =
                (struct nb_row_count){word, 1 + (uint32_t)nb_random_below(random, 3)};
    }
}

static uint32_t set_of(struct nb_model *model, const struct document *d)
{
    struct nb_string labels[LABELS];
    struct nb_buffer set = {0};
    size_t count = 0;
    uint32_t number;
    for (uint32_t l = 0; l < LABELS; l++)
        if (d->has[l])
            labels[count++] = nb_string_of(NAMES[l]);
    ck_assert_int_eq(nb_label_set_write(labels, count, &set, NULL), 0);
    ck_assert_int_eq(nb_model_label(model, nb_buffer_string(&set), &number), 0);
    nb_buffer_deinit(&set);
    return number;
}

static void learn(struct world *w, const struct document *d, int sign)
{
    ck_assert_int_eq(nb_model_add(w->model, d->set, d->rows, d->size, sign, NULL), 0);
    nb_model_add_documents(w->model, d->set, sign);
}

static void make(struct world *w, bool is_by_the_book)
{
    struct nb_random random = nb_random_of(7, 0);
    uint32_t row;
    *w = (struct world){
        .model = nb_model_new(), .is_by_the_book = is_by_the_book, .count = DOCUMENTS};
    ck_assert_int_eq(nb_multilabel_new(is_by_the_book, 1, &w->multilabel), 0);
    for (uint32_t word = 0; word < WORDS; word++)
        ck_assert_int_eq(nb_model_append(w->model, word_id(word), &row), 0);
    for (size_t i = 0; i < w->count; i++) {
        draw(&w->documents[i], &random);
        w->documents[i].set = set_of(w->model, &w->documents[i]);
        learn(w, &w->documents[i], 1);
    }
}

static void free_world(struct world *w)
{
    nb_multilabel_free(&w->multilabel);
    nb_model_free(&w->model);
}

/* The corpus of the documents in their order, or backwards. */
struct own_corpus {
    struct nb_multilabel_corpus corpus;
    uint32_t sets[DOCUMENTS];
    size_t begin[DOCUMENTS], end[DOCUMENTS];
    uint32_t rows[DOCUMENTS * WORDS_MOST], counts[DOCUMENTS * WORDS_MOST];
};

static void list(const struct world *w, struct own_corpus *own)
{
    size_t at = 0;
    own->corpus = (struct nb_multilabel_corpus){.is_by_the_book = w->is_by_the_book,
                                                .count = w->count,
                                                .sets = own->sets,
                                                .begin = own->begin,
                                                .end = own->end,
                                                .rows = own->rows,
                                                .counts = own->counts};
    for (size_t i = 0; i < w->count; i++) {
        const struct document *d = &w->documents[i];
        own->sets[i] = d->set;
        own->begin[i] = at;
        for (size_t k = 0; k < d->size; k++, at++) {
            own->rows[at] = d->rows[k].row;
            own->counts[at] = d->rows[k].count;
        }
        own->end[i] = at;
    }
}

static struct nb_multilabel_fit *fit_of(const struct world *w, double precision)
{
    static struct own_corpus own;
    struct nb_multilabel_fit *fit = NULL;
    list(w, &own);
    own.corpus.optimize = precision > 0 ? NB_OPTIMIZE_PRECISION : NB_OPTIMIZE_F1;
    own.corpus.precision = precision;
    ck_assert_int_eq(nb_multilabel_fit_new(w->multilabel, w->model, &own.corpus, &fit), 0);
    return fit;
}

static void judge(const struct world *w, const struct nb_multilabel_fit *fit,
                  const struct nb_multilabel_document *document,
                  struct nb_multilabel_scores *scores)
{
    nb_model_read_lock(w->model);
    ck_assert_int_eq(nb_multilabel_score(w->multilabel, w->model, fit, document, scores), 0);
    nb_model_unlock(w->model);
}

START_TEST(labels_are_those_of_the_sets)
{
    struct world w;
    struct nb_multilabel_labels labels;
    make(&w, false);
    size_t empty = nb_multilabel_memory(w.multilabel);
    nb_model_read_lock(w.model);
    ck_assert_int_eq(nb_multilabel_labels(w.multilabel, w.model, &labels), 0);
    nb_model_unlock(w.model);
    ck_assert_uint_eq(labels.count, LABELS);
    ck_assert_uint_ge(nb_multilabel_memory(w.multilabel),
                      empty + LABELS * (sizeof *labels.names + sizeof *labels.documents) +
                          labels.sets * sizeof *labels.begin);
    ck_assert_uint_eq(labels.all, DOCUMENTS);
    for (uint32_t l = 0; l < LABELS; l++) {
        uint64_t has = 0;
        for (size_t i = 0; i < w.count; i++)
            has += w.documents[i].has[l];
        ck_assert_str_eq(labels.names[l], NAMES[l]);
        ck_assert_uint_eq(labels.documents[l], has);
    }
    /* A set under another name: the labels are listed anew. */
    uint32_t only_a = nb_model_find_label(w.model, nb_string_of("\x1f"
                                                                "a"));
    ck_assert_uint_ne(only_a, UINT32_MAX);
    ck_assert_int_eq(nb_model_rename_label(w.model, only_a,
                                           nb_string_of("\x1f"
                                                        "z")),
                     0);
    nb_model_read_lock(w.model);
    ck_assert_int_eq(nb_multilabel_labels(w.multilabel, w.model, &labels), 0);
    nb_model_unlock(w.model);
    ck_assert_uint_eq(labels.count, LABELS + 1);
    ck_assert_str_eq(labels.names[LABELS], "z");
    free_world(&w);
}
END_TEST

/* ln P(l)/P(not l) + sum of n_w ln P(w|l)/P(w|not l), Laplace, from the documents one by one; all
 * but `out`. */
static double slow_book(const struct world *w, const struct document *d, uint32_t label, size_t out)
{
    double documents[2] = {0, 0}, all[2] = {0, 0}, words = 0, z;
    double counts[2][WORDS] = {{0}};
    for (size_t i = 0; i < w->count; i++) {
        unsigned side = w->documents[i].has[label];
        if (i == out)
            continue;
        documents[side]++;
        for (size_t k = 0; k < w->documents[i].size; k++) {
            counts[side][w->documents[i].rows[k].row] += w->documents[i].rows[k].count;
            all[side] += w->documents[i].rows[k].count;
        }
    }
    for (uint32_t word = 0; word < WORDS; word++)
        words += counts[0][word] + counts[1][word] > 0;
    z = log(documents[1]) - log(documents[0]);
    for (size_t k = 0; k < d->size; k++) {
        uint32_t word = d->rows[k].row;
        if (counts[0][word] + counts[1][word] > 0)
            z += d->rows[k].count * (log((counts[1][word] + 1) / (all[1] + words)) -
                                     log((counts[0][word] + 1) / (all[0] + words)));
    }
    return z;
}

START_TEST(by_the_book)
{
    struct world w;
    struct nb_multilabel_scores scores = {.size = 0};
    make(&w, true);
    for (size_t i = 0; i < w.count; i++)
        for (int leaves_out = 0; leaves_out < 2; leaves_out++) {
            const struct document *d = &w.documents[i];
            const struct nb_multilabel_document document = {
                .rows = d->rows,
                .size = d->size,
                .without = leaves_out ? d->set : NB_MULTILABEL_NONE};
            judge(&w, NULL, &document, &scores);
            for (uint32_t l = 0; l < LABELS; l++)
                ck_assert_double_eq_tol(scores.log_odds[l],
                                        slow_book(&w, d, l, leaves_out ? i : SIZE_MAX), 1e-9);
        }
    struct nb_multilabel_fit *fit = fit_of(&w, 0);
    for (uint32_t l = 0; l < LABELS; l++) {
        uint64_t given = 0;
        for (size_t i = 0; i < w.count; i++)
            given += slow_book(&w, &w.documents[i], l, i) >= 0;
        ck_assert_uint_eq(fit->figures[l].given, given);
    }
    nb_multilabel_fit_release(&fit);
    nb_multilabel_scores_deinit(&scores);
    free_world(&w);
}
END_TEST

/* x . theta of a document, from the fit's cells; each word once. */
static double slow_score(const struct world *w, const struct nb_multilabel_fit *fit,
                         const struct document *d, uint32_t label)
{
    double squares = 0, sum = 0;
    for (size_t k = 0; k < d->size; k++) {
        uint64_t documents = 0;
        for (size_t i = 0; i < w->count; i++)
            documents += has_word(&w->documents[i], d->rows[k].row);
        double x = (1 + log((double)d->rows[k].count)) *
                   (1 + log((DOCUMENTS + 1.0) / ((double)documents + 1)));
        squares += x * x;
        for (size_t c = fit->begin[d->rows[k].row]; c < fit->begin[d->rows[k].row + 1]; c++)
            if (fit->cells[c].label == label)
                sum += x * (double)fit->cells[c].weight;
    }
    return fit->biases[label] + fit->slope * (fit->intercepts[label] + sum / sqrt(squares));
}

START_TEST(linear_machines)
{
    struct world w;
    struct nb_multilabel_scores scores = {.size = 0};
    unsigned right = 0;
    make(&w, false);
    struct nb_multilabel_fit *fit = fit_of(&w, 0);
    for (size_t i = 0; i < w.count; i++) {
        const struct document *d = &w.documents[i];
        const struct nb_multilabel_document document = {
            .rows = d->rows, .size = d->size, .without = NB_MULTILABEL_NONE};
        double evidence[WORDS_MOST];
        judge(&w, fit, &document, &scores);
        for (uint32_t l = 0; l < LABELS; l++) {
            ck_assert_double_eq_tol(scores.log_odds[l], slow_score(&w, fit, d, l), 1e-6);
            right += (scores.log_odds[l] >= scores.threshold[l]) == d->has[l];
            nb_model_read_lock(w.model);
            double sum =
                nb_multilabel_explain(w.multilabel, w.model, fit, &document, &scores, l, evidence);
            nb_model_unlock(w.model);
            for (size_t k = 0; k < d->size; k++)
                sum += evidence[k];
            ck_assert_double_eq_tol(sum, scores.log_odds[l], 1e-9);
        }
    }
    ck_assert_uint_ge(right, DOCUMENTS * LABELS * 8 / 10);
    nb_multilabel_fit_release(&fit);
    nb_multilabel_scores_deinit(&scores);
    free_world(&w);
}
END_TEST

START_TEST(a_forgotten_document_leaves_no_trace)
{
    struct world w, other;
    make(&w, false);
    make(&other, false);
    struct document wrong = w.documents[3];
    wrong.has[0] = !wrong.has[0];
    wrong.set = set_of(w.model, &wrong);
    learn(&w, &wrong, 1);
    struct nb_multilabel_fit *before = fit_of(&w, 0);
    learn(&w, &wrong, -1);
    struct nb_multilabel_fit *after = fit_of(&w, 0), *never = fit_of(&other, 0);
    ck_assert_uint_eq(after->labels, never->labels);
    ck_assert_double_eq(after->slope, never->slope);
    for (uint32_t l = 0; l < LABELS; l++) {
        ck_assert_double_eq(after->biases[l], never->biases[l]);
        ck_assert_double_eq(after->intercepts[l], never->intercepts[l]);
        ck_assert_double_eq(after->figures[l].threshold, never->figures[l].threshold);
    }
    for (uint32_t row = 0; row < WORDS; row++)
        for (size_t c = after->begin[row]; c < after->begin[row + 1]; c++)
            ck_assert_double_eq((double)after->cells[c].weight, (double)never->cells[c].weight);
    nb_multilabel_fit_release(&before);
    nb_multilabel_fit_release(&after);
    nb_multilabel_fit_release(&never);
    free_world(&w);
    free_world(&other);
}
END_TEST

START_TEST(thresholds_hold_a_precision)
{
    struct world w;
    make(&w, false);
    for (int tenths = 5; tenths <= 10; tenths++) {
        double bound = tenths / 10.0;
        struct nb_multilabel_fit *fit = fit_of(&w, bound);
        for (uint32_t l = 0; l < LABELS; l++)
            ck_assert((double)fit->figures[l].right >=
                      bound * (double)fit->figures[l].given - 1e-9);
        nb_multilabel_fit_release(&fit);
    }
    free_world(&w);
}
END_TEST

static bool stops(void *user)
{
    unsigned *left = user;
    return *left == 0 || --*left == 0;
}

START_TEST(fits_that_are_not_made)
{
    static struct own_corpus own;
    struct nb_multilabel_fit *fit = NULL;
    struct world w;
    unsigned left = 2;
    make(&w, false);
    list(&w, &own);
    own.corpus.stop = stops;
    own.corpus.user = &left;
    ck_assert_int_eq(nb_multilabel_fit_new(w.multilabel, w.model, &own.corpus, &fit), NB_STOPPING);
    own.corpus.stop = NULL;
    own.sets[5] = 1000; /* a set that the model does not have */
    ck_assert_int_eq(nb_multilabel_fit_new(w.multilabel, w.model, &own.corpus, &fit), NB_CONFLICT);
    ck_assert_ptr_null(fit);
    free_world(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multilabel");
    TCase *tests = tcase_create("multilabel");
    tcase_add_test(tests, labels_are_those_of_the_sets);
    tcase_add_test(tests, by_the_book);
    tcase_add_test(tests, linear_machines);
    tcase_add_test(tests, a_forgotten_document_leaves_no_trace);
    tcase_add_test(tests, thresholds_hold_a_precision);
    tcase_add_test(tests, fits_that_are_not_made);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
