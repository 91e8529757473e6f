/* SPDX-License-Identifier: Apache-2.0
 *
 * The worst passage is the one that says most for the label when it is judged like a document of
 * its own, by every number of labels.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "core/base/random.h"
#include "core/stack/passages.h"
#include "tests/unit/core/stack/words.h"
#include "tests/unit/run.h"

enum { WORDS = 1500, LABELS_MOST = NB_STACK_FEW_LABELS + 1, SIZE_MOST = 900 };

struct document {
    uint32_t label;
    struct nb_row_count rows[SIZE_MOST];
    struct nb_feature bag[SIZE_MOST];
    size_t size;
};

struct fixture {
    struct nb_model *model;
    struct nb_stack *stack;
    struct nb_stack_weights *weights;
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_random random;
    struct document document;
    uint32_t labels;
};

/* Whether a field can be in a part of the text. */
static bool is_in_text(unsigned field)
{
    return memchr(nb_passage_fields, (int)field, NB_PASSAGE_FIELDS) != NULL;
}

/* Makes a document of some length, of which each of `parts` parts speaks for another label.
 * `is_mail`: it has header fields. */
static void make_document(struct fixture *f, uint32_t parts, bool is_mail)
{
    struct document *d = &f->document;
    *d = (struct document){.label = (uint32_t)nb_random_below(&f->random, f->labels)};
    for (uint32_t w = 0; w < WORDS && d->size < SIZE_MOST; w++) {
        unsigned field = w % NB_FIELDS;
        uint32_t part = 1 + w * parts / WORDS, speaks = (d->label + part) % f->labels;
        bool is_header =
            field == NB_FIELD_ADDRESS || field == NB_FIELD_RECEIVED || field == NB_FIELD_HEADER;
        if ((is_header && !is_mail) ||
            nb_random_below(&f->random, w % f->labels == speaks ? 2 : 5) != 0)
            continue;
        d->rows[d->size] = (struct nb_row_count){w, 1};
        d->bag[d->size++] = (struct nb_feature){word_id(w), 1, is_in_text(field) ? part : 0};
    }
}

static void compute(struct fixture *f, const struct nb_feature *bag, size_t size, bool keeps)
{
    nb_stack_inputs_twin(&f->inputs, f->weights, keeps);
    ck_assert_int_eq(nb_stack_inputs(f->stack, f->model, bag, size, &f->inputs, NULL), 0);
}

static void start(struct fixture *f, uint32_t labels)
{
    struct nb_stack_settings set;
    *f = (struct fixture){.model = model_of_words(labels, WORDS),
                          .random = nb_random_of(7, labels),
                          .labels = labels};
    nb_stack_settings_init(&set);
    ck_assert_int_eq(nb_stack_new(&set, &f->stack), 0);
    f->weights = nb_stack_weights_new(&set);
    nb_stack_inputs_init(&f->inputs);
    nb_scores_init(&f->scores);
    for (int i = 0; i < 40 + 4 * (int)labels; i++) {
        struct document *d = &f->document;
        make_document(f, 1, i % 2 == 0);
        if (i > 0) {
            compute(f, d->bag, d->size, true);
            ck_assert_int_eq(nb_stack_twin_learn(f->weights, &f->inputs, d->label, 1), 0);
            ck_assert_int_eq(nb_stack_learn(f->weights, &f->inputs, d->label, 1), 0);
        }
        ck_assert_int_eq(nb_model_add(f->model, d->label, d->rows, d->size, 1, NULL), 0);
        nb_model_add_documents(f->model, d->label, 1);
    }
}

static void end(struct fixture *f)
{
    nb_stack_free(&f->stack);
    nb_stack_weights_free(&f->weights);
    nb_stack_inputs_deinit(&f->inputs);
    nb_scores_deinit(&f->scores);
    nb_model_free(&f->model);
}

/* The log-odds of a label by these parts and by what is in no part; -INFINITY if the parts have too
 * few features. */
static double odds_of(struct fixture *f, uint32_t place, uint32_t first, uint32_t count)
{
    struct nb_feature bag[SIZE_MOST];
    size_t size = 0;
    uint32_t own = 0;
    for (size_t i = 0; i < f->document.size; i++) {
        const struct nb_feature *feature = &f->document.bag[i];
        bool is_own = feature->passage >= first && feature->passage < first + count;
        bool is_common = feature->passage == 0 && nb_feature_field(feature->id) != NB_FIELD_HIDDEN;
        own += is_own;
        if (is_own || is_common)
            bag[size++] = *feature;
    }
    if (own < NB_PASSAGE_LEAST)
        return -INFINITY;
    f->inputs.wants_passages = false;
    compute(f, bag, size, false);
    ck_assert_int_eq(nb_stack_score(f->weights, &f->inputs, &f->scores), 0);
    return nb_stack_odds(&f->scores, place);
}

static void try_passage(struct fixture *f, uint32_t place, struct nb_stack_worst passage,
                        struct nb_stack_worst *worst)
{
    passage.log_odds += odds_of(f, place, passage.first, passage.count);
    if (passage.log_odds > worst->log_odds)
        *worst = passage;
}

/* A text: each part, less 3, and each four; a mail: two that overlap, and each four, less 1. */
static struct nb_stack_worst find_slowly(struct fixture *f, uint32_t place, uint32_t parts,
                                         bool is_mail)
{
    struct nb_stack_worst worst = {.log_odds = -INFINITY};
    for (uint32_t n = 1; n + is_mail <= parts; n++)
        try_passage(f, place, (struct nb_stack_worst){n, is_mail ? 2 : 1, is_mail ? 0 : -3},
                    &worst);
    for (uint32_t n = 1; n <= parts; n += 4)
        try_passage(f, place,
                    (struct nb_stack_worst){n, parts - n < 3 ? parts - n + 1 : 4, is_mail ? -1 : 0},
                    &worst);
    return worst;
}

static const uint32_t label_counts[] = {2, 3, 5, 20, NB_STACK_FEW_LABELS};

START_TEST(the_worst_passage_is_judged_like_a_document)
{
    struct fixture f;
    const bool is_mail = _i % 2 != 0;
    start(&f, label_counts[_i / 2]);
    for (uint32_t n = 0; n < 12; n++) {
        uint32_t parts = 3 + n, place = n % f.labels;
        make_document(&f, parts, is_mail);
        struct nb_stack_worst want = find_slowly(&f, place, parts, is_mail), got;
        for (int keeps = 0; keeps < 2; keeps++) {
            f.inputs.wants_passages = true;
            compute(&f, f.document.bag, f.document.size, keeps == 1);
            ck_assert(nb_stack_worst_passage(f.stack, f.weights, &f.inputs, place, &got));
            ck_assert_double_eq_tol(got.log_odds, want.log_odds, 1e-4);
            ck_assert_uint_eq(got.first, want.first);
            ck_assert_uint_eq(got.count, want.count);
        }
    }
    end(&f);
}
END_TEST

/* The whole is scored the same with and without passages. */
START_TEST(passages_leave_the_whole_alone)
{
    struct fixture f;
    start(&f, label_counts[_i]);
    make_document(&f, 9, true);
    f.inputs.wants_passages = false;
    compute(&f, f.document.bag, f.document.size, false);
    ck_assert_int_eq(nb_stack_score(f.weights, &f.inputs, &f.scores), 0);
    double want[LABELS_MOST];
    memcpy(want, f.scores.log_scores, f.labels * sizeof *want);
    f.inputs.wants_passages = true;
    compute(&f, f.document.bag, f.document.size, false);
    ck_assert_int_eq(nb_stack_score(f.weights, &f.inputs, &f.scores), 0);
    ck_assert_mem_eq(want, f.scores.log_scores, f.labels * sizeof *want);
    end(&f);
}
END_TEST

START_TEST(more_labels_have_no_passages)
{
    struct fixture f;
    struct nb_stack_worst worst;
    start(&f, LABELS_MOST);
    make_document(&f, 9, true);
    f.inputs.wants_passages = true;
    compute(&f, f.document.bag, f.document.size, false);
    ck_assert(!nb_stack_worst_passage(f.stack, f.weights, &f.inputs, 1, &worst));
    ck_assert_uint_eq(worst.count, 0);
    end(&f);
}
END_TEST

/* The log-odds of one label rise; the others stay as they are among each other. */
START_TEST(a_label_is_raised_against_all_others)
{
    struct fixture f;
    start(&f, label_counts[_i]);
    make_document(&f, 9, true);
    compute(&f, f.document.bag, f.document.size, false);
    ck_assert_int_eq(nb_stack_score(f.weights, &f.inputs, &f.scores), 0);
    const uint32_t place = f.labels - 1;
    double before[LABELS_MOST], whole = nb_stack_odds(&f.scores, place);
    memcpy(before, f.scores.log_scores, f.labels * sizeof *before);
    ck_assert_double_eq_tol(nb_stack_raise(&f.scores, place, whole - 1), 0, 1e-300);
    ck_assert_mem_eq(before, f.scores.log_scores, f.labels * sizeof *before);
    ck_assert_double_eq_tol(nb_stack_raise(&f.scores, place, whole + 4), 4, 1e-9);
    ck_assert_double_eq_tol(nb_stack_odds(&f.scores, place), whole + 4, 1e-9);
    double p = f.scores.probabilities[place];
    ck_assert_double_eq_tol(log(p / (1 - p)), whole + 4, 1e-6);
    for (uint32_t v = 0; v + 1 < f.labels; v++)
        ck_assert_double_eq_tol(f.scores.log_scores[v] - f.scores.log_scores[0],
                                before[v] - before[0], 1e-9);
    end(&f);
}
END_TEST

static void set_margin(struct nb_stack_weights *weights, size_t place, double value)
{
    ck_assert_int_eq(nb_weights_grow(&weights->margins, place + 1, NULL), 0);
    ck_assert_int_eq(nb_weights_reserve(&weights->margins, 1), 0);
    nb_weights_set(&weights->margins, place, value);
}

START_TEST(a_margin_is_the_least_from_which_on_none_costs_too_much)
{
    struct nb_stack_settings set;
    nb_stack_settings_init(&set);
    struct nb_stack_weights *weights = nb_stack_weights_new(&set);
    ck_assert_ptr_nonnull(weights);
    struct nb_stack_margins m = nb_stack_margins(weights, false);
    ck_assert_double_eq(m.plain, 9); /* the first margins */
    ck_assert_double_eq(m.against, 5.5);
    ck_assert_double_eq(nb_stack_margins(weights, true).plain, 6);
    set_margin(weights, NB_PASSAGE_FRESH,
               1); /* the start is forgotten, and nothing costs anything */
    m = nb_stack_margins(weights, false);
    ck_assert_double_eq(m.plain, 4);
    ck_assert_double_eq(m.against, 5);
    set_margin(weights, NB_PASSAGE_COSTS + 6, 1); /* the margin 7 */
    set_margin(weights, NB_PASSAGE_COSTS_AGAINST, 1);
    m = nb_stack_margins(weights, false);
    ck_assert_double_eq(m.plain, 7.5);
    ck_assert_double_eq(m.against, 5.5);
    set_margin(weights, NB_PASSAGE_LOSS, 99); /* a hundredth of this may be paid: .99 */
    ck_assert_double_eq(nb_stack_margins(weights, false).plain, 7.5);
    set_margin(weights, NB_PASSAGE_LOSS, 101);
    ck_assert_double_eq(nb_stack_margins(weights, false).plain, 4);
    set_margin(weights, NB_PASSAGE_COSTS + NB_PASSAGE_MARGINS - 1, 2);
    ck_assert(isinf(nb_stack_margins(weights, false).plain));
    nb_stack_weights_free(&weights);
}
END_TEST

int main(void)
{
    enum { COUNTS = sizeof label_counts / sizeof *label_counts };
    Suite *suite = suite_create("passages");
    TCase *tc = tcase_create("passages");
    tcase_add_loop_test(tc, the_worst_passage_is_judged_like_a_document, 0, 2 * COUNTS);
    tcase_add_loop_test(tc, passages_leave_the_whole_alone, 0, COUNTS);
    tcase_add_test(tc, more_labels_have_no_passages);
    tcase_add_test(tc, a_margin_is_the_least_from_which_on_none_costs_too_much);
    tcase_add_loop_test(tc, a_label_is_raised_against_all_others, 0, COUNTS);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
