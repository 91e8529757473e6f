/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether bins or Gaussians predict better, compared with leave-one-out in doubles for every
 * number; and the sample that stands for many numbers.
 */
#include "core/bayes/numbers.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/random.h"
#include "tests/unit/run.h"

enum { LABELS = 2, NUMBERS_MOST = 1500 };
static const uint32_t NAMES[LABELS] = {0, 1};

struct number {
    double value;
    uint32_t label;
};

struct data {
    size_t count;
    struct number numbers[NUMBERS_MOST]; /* in order, all different */
};

static int by_value(const void *a, const void *b)
{
    const struct number *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Draws numbers that differ little between the labels, so that both ways predict about equally
 * well. */
static void draw(struct data *d, size_t count, uint64_t seed)
{
    struct nb_random random = {seed};
    d->count = count;
    for (size_t i = 0; i < count; i++) {
        uint32_t label = (uint32_t)nb_random_below(&random, LABELS);
        double sum = 0.3 * label;
        for (int k = 0; k < 12; k++)
            sum += nb_random_fraction(&random) - 0.5;
        d->numbers[i] = (struct number){round(sum * 1e9) / 1e9, label};
    }
    qsort(d->numbers, count, sizeof *d->numbers, by_value);
    for (size_t i = 1; i < count; i++)
        ck_assert(d->numbers[i - 1].value < d->numbers[i].value);
}

static void learn(struct nb_model *model, const struct number *number, int sign)
{
    uint64_t bits;
    ck_assert(nb_decimal_of_double(number->value, &bits));
    uint64_t id = nb_feature_number_id(0, bits);
    uint32_t row = nb_model_find(model, id);
    if (row == NB_NO_ROW)
        ck_assert_int_eq(nb_model_add_row(model, id, &row), 0);
    struct nb_row_count one = {row, 1};
    nb_model_add_documents(model, number->label, sign);
    ck_assert_int_eq(nb_model_add(model, number->label, &one, 1, sign, NULL), 0);
}

/* Makes a model of the numbers. With `has_gone`, forgotten numbers lie between the others. */
static struct nb_model *model_of(const struct data *d, bool has_gone)
{
    struct nb_model *model = nb_model_new();
    for (uint32_t v = 0; v < LABELS; v++) {
        char name[] = {(char)('a' + v), '\0'};
        uint32_t label;
        ck_assert_int_eq(nb_model_label(model, (struct nb_string){name, 1}, &label), 0);
    }
    for (size_t i = 0; i < d->count; i++) {
        const struct number gone = {d->numbers[i].value + 1e-10, 0};
        learn(model, &d->numbers[i], 1);
        if (has_gone && i % 3 == 0) {
            learn(model, &gone, 1);
            learn(model, &gone, -1);
        }
    }
    return model;
}

/* ---- the slow computation -------------------------------------------------------------------- */

/* Returns ln of the density of the other numbers of a label at number `out`. */
static double density(const struct data *d, size_t out, uint32_t label, double added)
{
    double sum = 0, squares = 0, count = 0;
    for (size_t i = 0; i < d->count; i++)
        if (i != out && d->numbers[i].label == label) {
            sum += d->numbers[i].value;
            count++;
        }
    for (size_t i = 0; i < d->count; i++)
        if (i != out && d->numbers[i].label == label)
            squares += (d->numbers[i].value - sum / count) * (d->numbers[i].value - sum / count);
    double variance = squares / count + added, far = d->numbers[out].value - sum / count;
    return -log(2 * acos(-1) * variance) / 2 - far * far / (2 * variance);
}

static double bin_share(const struct nb_bins *bins, const struct data *d, size_t out,
                        uint32_t label)
{
    uint64_t bits;
    ck_assert(nb_decimal_of_double(d->numbers[out].value, &bits));
    size_t bin = nb_bins_find(bins, nb_decimal_fixed(bits));
    double own = label == d->numbers[out].label ? 1 : 0;
    return log(((double)bins->counts[bin * (LABELS + 1) + label] - own + 1) /
               ((double)bins->sums[label] - own + (double)bins->count));
}

static double loss(const struct nb_bins *bins, const struct data *d, size_t out, double added,
                   bool is_binned)
{
    double sum = 0, own = 0;
    for (uint32_t v = 0; v < LABELS; v++) {
        bool is_own = v == d->numbers[out].label;
        double others = (double)bins->sums[v] - (is_own ? 1 : 0);
        double p = others * exp(is_binned ? bin_share(bins, d, out, v) : density(d, out, v, added));
        sum += p;
        own = is_own ? p : own;
    }
    return log(sum / own);
}

static bool slow_choice(const struct nb_bins *bins, const struct data *d, double added, bool of_all)
{
    size_t groups = of_all || d->count < NB_NUMBERS_COMPARED ? d->count : NB_NUMBERS_COMPARED;
    double gaussian = 0, binned = 0;
    for (size_t g = 0; g < groups; g++) {
        size_t first = g * d->count / groups, end = (g + 1) * d->count / groups;
        struct nb_random random = nb_random_of(g, d->count);
        size_t out = first + (size_t)nb_random_below(&random, end - first);
        gaussian += loss(bins, d, out, added, false);
        binned += loss(bins, d, out, added, true);
    }
    return binned < gaussian;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Finds what the setting `auto` chooses. */
static void choose(const struct data *d, bool has_gone, struct nb_numbers *numbers)
{
    struct nb_settings settings;
    struct nb_model *model = model_of(d, has_gone);
    nb_settings_init(&settings, NB_PRESET_BOOK);
    settings.number = NB_NUMBER_AUTO;
    ck_assert_int_eq(nb_settings_add_attribute(&settings, nb_string_of("x"), NB_FIELD_KIND_NUMBER),
                     0);
    ck_assert_int_eq(nb_numbers_make(numbers, &settings, model, NAMES, LABELS), 0);
    nb_settings_deinit(&settings);
    nb_model_free(&model);
}

START_TEST(the_smaller_loss_of_those_that_stand_for_all)
{
    static struct data d;
    static const size_t counts[] = {30, 500, 513, 700, 1500};
    unsigned chosen[2] = {0, 0}, differ = 0;
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct nb_numbers numbers = {0};
            draw(&d, counts[n], seed);
            choose(&d, seed % 2 == 0, &numbers);
            bool want = slow_choice(&numbers.counts[0].bins, &d, numbers.added, false);
            ck_assert_int_eq(numbers.counts[0].is_cut, want);
            chosen[want]++;
            if (d.count > NB_NUMBERS_COMPARED)
                differ += want != slow_choice(&numbers.counts[0].bins, &d, numbers.added, true);
            nb_numbers_deinit(&numbers);
        }
    ck_assert_uint_gt(chosen[0], 0);
    ck_assert_uint_gt(chosen[1], 0);
    ck_assert_uint_gt(differ, 0); /* else nothing shows that not all are left out */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number_loss");
    TCase *choices = tcase_create("choices");
    tcase_set_timeout(choices, 120);
    tcase_add_test(choices, the_smaller_loss_of_those_that_stand_for_all);
    suite_add_tcase(suite, choices);
    return test_run(suite);
}
