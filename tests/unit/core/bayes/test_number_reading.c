/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/numbers.h"
#include "tests/unit/run.h"

#include <check.h>
#include <math.h>

enum { ATTRIBUTE = 3, LABELS = 3 };
static const double NUMBERS[LABELS][3] = {{1.5, 2.5, 4}, {-3, 10, 10}, {7.25, 7.25, 7.25}};
static const uint32_t ALL[LABELS] = {0, 1, 2};

static uint64_t id_of(double value)
{
    uint64_t number;
    ck_assert(nb_decimal_of_double(value, &number));
    return nb_feature_number_id(ATTRIBUTE * 2, number);
}

static void learn(struct nb_model *model, uint32_t label, double value)
{
    struct nb_row_count row = {nb_model_find(model, id_of(value)), 1};
    if (row.row == NB_NO_ROW)
        ck_assert_int_eq(nb_model_append(model, id_of(value), &row.row), 0);
    ck_assert_int_eq(nb_model_add(model, label, &row, 1, 1, NULL), 0);
    nb_model_add_documents(model, label, 1);
}

/* Makes a model; `without` leaves out the first document of label 1. */
static struct nb_model *learned(bool without)
{
    struct nb_model *model = nb_model_new();
    for (uint32_t v = 0; v < LABELS; v++) {
        char name[] = {(char)('a' + v), '\0'};
        uint32_t label;
        ck_assert_int_eq(nb_model_label(model, (struct nb_string){name, 1}, &label), 0);
        for (int i = 0; i < 3; i++)
            if (!(without && v == 1 && i == 0))
                learn(model, label, NUMBERS[v][i]);
    }
    return model;
}

struct sums {
    double count, sum, squares;
};

static struct sums sums_of(uint32_t from, uint32_t to)
{
    struct sums s = {0, 0, 0};
    for (uint32_t v = from; v < to; v++)
        for (int i = 0; i < 3; i++) {
            s.count++;
            s.sum += NUMBERS[v][i];
            s.squares += NUMBERS[v][i] * NUMBERS[v][i];
        }
    return s;
}

static double variance_of(struct sums s)
{
    return s.squares / s.count - s.sum / s.count * (s.sum / s.count);
}

static double slow_density(struct sums s, struct sums all, double smoothing, double x)
{
    double variance = variance_of(s) + variance_of(all) * (smoothing / s.count + 1e-9);
    double far = x - s.sum / s.count;
    return -log(2 * acos(-1) * variance) / 2 - far * far / (2 * variance);
}

START_TEST(a_label_is_read_against_all_others)
{
    static const double smoothings[] = {0.02, 0.5, 3};
    struct nb_model *model = learned(false);
    struct sums all = sums_of(0, LABELS);
    for (double x = -6; x < 14; x += 0.75) {
        struct nb_number_reading r =
            nb_number_reading(model, NULL, id_of(x), ALL, LABELS, NB_NUMBER_OF_ALL);
        struct sums own = sums_of(0, 1), others = sums_of(1, LABELS);
        double a = smoothings[_i];
        double want = slow_density(own, all, a, x) - slow_density(others, all, a, x);
        double got = nb_number_reading_of(&r, 0, a);
        want = fmax(fmin(want, NB_NUMBER_READING_MOST), -NB_NUMBER_READING_MOST);
        ck_assert_msg(fabs(got - want) <= 1e-9 * fmax(1, fabs(want)), "%g: %.17g, must be %.17g", x,
                      got, want);
    }
    nb_model_free(&model);
}
END_TEST

START_TEST(one_left_out_is_one_that_was_not_learned)
{
    struct nb_model *model = learned(false), *other = learned(true);
    uint64_t id = id_of(NUMBERS[1][0]);
    struct nb_number_reading got = nb_number_reading(model, NULL, id, ALL, LABELS, 1);
    struct nb_number_reading want =
        nb_number_reading(other, NULL, id, ALL, LABELS, NB_NUMBER_OF_ALL);
    for (uint32_t v = 0; v < LABELS; v++) {
        double reading = nb_number_reading_of(&got, v, 0.1);
        ck_assert(!(fabs(reading - nb_number_reading_of(&want, v, 0.1)) > 0));
    }
    nb_model_free(&model);
    nb_model_free(&other);
}
END_TEST

START_TEST(a_number_far_away_says_no_more_than_there_is_to_know)
{
    struct nb_model *model = learned(false);
    struct nb_number_reading r =
        nb_number_reading(model, NULL, id_of(1e9), ALL, LABELS, NB_NUMBER_OF_ALL);
    ck_assert(!(fabs(nb_number_reading_of(&r, 2, 0.02) + NB_NUMBER_READING_MOST) > 0));
    nb_model_free(&model);
}
END_TEST

START_TEST(numbers_that_are_all_the_same_say_nothing)
{
    struct nb_model *model = nb_model_new();
    uint32_t label;
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"a", 1}, &label), 0);
    struct nb_number_reading r = nb_number_reading(model, NULL, id_of(5), ALL, 1, NB_NUMBER_OF_ALL);
    ck_assert(!nb_number_reading_says(&r));
    learn(model, label, 5);
    learn(model, label, 5);
    r = nb_number_reading(model, NULL, id_of(7), ALL, 1, NB_NUMBER_OF_ALL);
    ck_assert(!nb_number_reading_says(&r));
    nb_model_free(&model);
}
END_TEST

/* ---- bins ------------------------------------------------------------------------------------ */

/* Returns the settings of a model whose attributes up to ATTRIBUTE are numbers cut into bins. */
static struct nb_settings cut_settings(struct nb_attribute attributes[ATTRIBUTE + 1])
{
    static char name[] = "n";
    struct nb_settings s;
    nb_settings_init(&s, NB_PRESET_TEXT);
    for (int i = 0; i <= ATTRIBUTE; i++)
        attributes[i] = (struct nb_attribute){.name = name, .kind = NB_FIELD_KIND_NUMBER};
    s.attributes = attributes;
    s.attribute_count = ATTRIBUTE + 1;
    s.number = NB_NUMBER_BINS;
    return s;
}

/* Nine numbers have three bins: -3 to 2.5, 4 to 7.25, and 10. */
enum { BINS = 3 };
static size_t bin_of(double x)
{
    return x <= (2.5 + 4) / 2 ? 0 : x <= (7.25 + 10) / 2 ? 1 : 2;
}

/* Counts the label's numbers, and those of all other labels: in the bin, and in total. */
static void count(uint32_t label, size_t bin, double of_label[2], double of_others[2])
{
    of_label[0] = of_label[1] = of_others[0] = of_others[1] = 0;
    for (uint32_t v = 0; v < LABELS; v++)
        for (int i = 0; i < 3; i++) {
            double *sums = v == label ? of_label : of_others;
            sums[0] += bin_of(NUMBERS[v][i]) == bin;
            sums[1]++;
        }
}

static double slow_bin(const double of_label[2], const double of_others[2], double bins, double a)
{
    double own = (of_label[0] + a) / (of_label[1] + a * (bins + 1));
    double others = (of_others[0] + a) / (of_others[1] + a * (bins + 1));
    return log(own) - log(others);
}

/* Labels in another order than the one that the numbers were cut in. */
START_TEST(a_number_that_is_cut_is_read_by_its_bin)
{
    static const uint32_t turned[LABELS] = {2, 0, 1};
    struct nb_attribute attributes[ATTRIBUTE + 1];
    struct nb_settings settings = cut_settings(attributes);
    struct nb_model *model = learned(false);
    struct nb_numbers numbers = {0};
    ck_assert_int_eq(nb_numbers_make(&numbers, &settings, model, ALL, LABELS), 0);
    ck_assert_uint_eq(numbers.counts[ATTRIBUTE].bins.count, BINS);
    for (double x = -6; x < 14; x += 0.75)
        for (uint32_t place = 0; place < LABELS; place++) {
            struct nb_number_reading r =
                nb_number_reading(model, &numbers, id_of(x), turned, LABELS, NB_NUMBER_OF_ALL);
            double own[2], others[2];
            count(turned[place], bin_of(x), own, others);
            double want = slow_bin(own, others, BINS, 0.5);
            ck_assert(nb_number_reading_says(&r));
            ck_assert_double_eq_tol(nb_number_reading_of(&r, place, 0.5), want, 1e-12);
        }
    nb_numbers_deinit(&numbers);
    nb_model_free(&model);
}
END_TEST

/* One of label 1 is taken out of its bin, and of all; the bins are as they were. */
START_TEST(one_left_out_is_not_in_its_bin)
{
    struct nb_attribute attributes[ATTRIBUTE + 1];
    struct nb_settings settings = cut_settings(attributes);
    struct nb_model *model = learned(false);
    struct nb_numbers numbers = {0};
    double x = NUMBERS[1][0];
    ck_assert_int_eq(nb_numbers_make(&numbers, &settings, model, ALL, LABELS), 0);
    struct nb_number_reading r = nb_number_reading(model, &numbers, id_of(x), ALL, LABELS, 1);
    for (uint32_t v = 0; v < LABELS; v++) {
        double own[2], others[2];
        count(v, bin_of(x), own, others);
        double *less = v == 1 ? own : others;
        less[0]--;
        less[1]--;
        ck_assert_double_eq_tol(nb_number_reading_of(&r, v, 0.02),
                                slow_bin(own, others, BINS, 0.02), 1e-12);
    }
    nb_numbers_deinit(&numbers);
    nb_model_free(&model);
}
END_TEST

/* Of 5 and 7 each has a bin: the one that only the document has is none. */
START_TEST(a_bin_that_only_the_document_has_says_nothing)
{
    struct nb_attribute attributes[ATTRIBUTE + 1];
    struct nb_settings settings = cut_settings(attributes);
    struct nb_model *model = nb_model_new();
    struct nb_numbers numbers = {0};
    uint32_t labels[2];
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"a", 1}, &labels[0]), 0);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"b", 1}, &labels[1]), 0);
    learn(model, labels[0], 5);
    learn(model, labels[1], 5);
    learn(model, labels[1], 7);
    ck_assert_int_eq(nb_numbers_make(&numbers, &settings, model, ALL, 2), 0);
    ck_assert_uint_eq(numbers.counts[ATTRIBUTE].bins.count, 2);
    struct nb_number_reading r = nb_number_reading(model, &numbers, id_of(7), ALL, 2, labels[1]);
    ck_assert(!nb_number_reading_says(&r));
    r = nb_number_reading(model, &numbers, id_of(7), ALL, 2, NB_NUMBER_OF_ALL);
    ck_assert(nb_number_reading_says(&r));
    r = nb_number_reading(model, &numbers, id_of(5), ALL, 2, labels[1]);
    ck_assert(nb_number_reading_says(&r)); /* of one bin, in which the other label has its number */
    nb_numbers_deinit(&numbers);
    nb_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number_reading");
    TCase *readings = tcase_create("readings");
    tcase_add_loop_test(readings, a_label_is_read_against_all_others, 0, 3);
    tcase_add_test(readings, one_left_out_is_one_that_was_not_learned);
    tcase_add_test(readings, a_number_far_away_says_no_more_than_there_is_to_know);
    tcase_add_test(readings, numbers_that_are_all_the_same_say_nothing);
    tcase_add_test(readings, a_number_that_is_cut_is_read_by_its_bin);
    tcase_add_test(readings, one_left_out_is_not_in_its_bin);
    tcase_add_test(readings, a_bin_that_only_the_document_has_says_nothing);
    suite_add_tcase(suite, readings);
    return test_run(suite);
}
