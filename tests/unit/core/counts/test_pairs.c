/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of pairs of values, compared with counts made anew from the documents.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/counts/model.h"
#include "core/counts/pairs.h"
#include "tests/unit/run.h"

enum { FIELDS = 4, CATEGORIES = 3, VALUES = 3, LABELS = 2, DOCUMENTS = 200 };

static char names[FIELDS][2] = {"a", "b", "c", "d"};

/* Field 1 is not a category, so it is not counted. */
static const struct nb_attribute attributes[FIELDS] = {{names[0], NB_FIELD_KIND_CATEGORY},
                                                       {names[1], NB_FIELD_KIND_TEXT},
                                                       {names[2], NB_FIELD_KIND_CATEGORY},
                                                       {names[3], NB_FIELD_KIND_CATEGORY}};

struct document {
    uint32_t label;
    int values[FIELDS]; /* -1: none */
};

static uint32_t row_of(int field, int value)
{
    return (uint32_t)(field * 100 + value);
}

static struct document random_document(void)
{
    struct document d = {.label = (uint32_t)rand() % LABELS};
    for (int f = 0; f < FIELDS; f++)
        d.values[f] = rand() % (VALUES + 1) - 1;
    if (rand() % 2 == 0 && d.values[0] >= 0)
        d.values[2] = d.values[0]; /* so that they tell of each other */
    return d;
}

/* Counts a document, with its values in another order than the fields. */
static void count(struct nb_pairs *pairs, const struct document *d, int sign)
{
    struct nb_pair_values values = {.count = 0};
    for (int f = FIELDS - 1; f >= 0; f--)
        if (d->values[f] >= 0)
            nb_pair_values_add(&values, pairs, row_of(f, d->values[f]), (uint32_t)f);
    if (sign > 0)
        ck_assert_int_eq(nb_pairs_reserve(pairs, &values), 0);
    nb_pairs_add(pairs, d->label, &values, sign);
}

/* Returns the number of documents of `label` with these values; -1 stands for any value. */
static uint32_t count_slowly(const struct document *d, size_t size, uint32_t label, int f, int x,
                             int g, int y)
{
    uint32_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += d[i].label == label && d[i].values[f] >= 0 && d[i].values[g] >= 0 &&
             (x < 0 || d[i].values[f] == x) && (y < 0 || d[i].values[g] == y);
    return n;
}

static double entropy(uint32_t n)
{
    return n == 0 ? 0 : n * log(n);
}

static void assert_pair(const struct nb_pairs *pairs, const struct document *d, size_t size, int f,
                        int g)
{
    double weight = 0;
    for (uint32_t label = 0; label < LABELS; label++)
        for (int x = -1; x < VALUES; x++)
            for (int y = -1; y < VALUES; y++) {
                uint32_t n = count_slowly(d, size, label, f, x, g, y);
                uint32_t one = x < 0 ? NB_PAIR_ANY(f) : row_of(f, x);
                uint32_t other = y < 0 ? NB_PAIR_ANY(g) : row_of(g, y);
                ck_assert_uint_eq(nb_pairs_count(pairs, one, other, label), n);
                weight += (x < 0) == (y < 0) ? entropy(n) : -entropy(n);
            }
    double got = ldexp((double)nb_pairs_weight(pairs, nb_pairs_column(pairs, (size_t)f),
                                               nb_pairs_column(pairs, (size_t)g)),
                       -24);
    ck_assert_double_eq_tol(got, weight, 1e-5);
}

static struct nb_pairs *pairs_of(const struct document *d, size_t size)
{
    struct nb_pairs *pairs = nb_pairs_new((struct nb_attributes){attributes, FIELDS, false}, false);
    ck_assert_ptr_nonnull(pairs);
    for (size_t i = 0; i < size; i++)
        count(pairs, &d[i], 1);
    return pairs;
}

START_TEST(documents_come_and_go)
{
    struct document d[DOCUMENTS];
    srand((unsigned)_i);
    for (size_t i = 0; i < DOCUMENTS; i++)
        d[i] = random_document();
    struct nb_pairs *pairs = pairs_of(d, DOCUMENTS);
    for (size_t i = DOCUMENTS; i-- > DOCUMENTS / 3;)
        count(pairs, &d[i], -1);
    for (size_t i = 0; i < DOCUMENTS / 3; i++) { /* what was taken out leaves room */
        count(pairs, &d[i], 1);
        count(pairs, &d[i], -1);
    }
    assert_pair(pairs, d, DOCUMENTS / 3, 0, 2);
    assert_pair(pairs, d, DOCUMENTS / 3, 0, 3);
    assert_pair(pairs, d, DOCUMENTS / 3, 2, 3);
    struct nb_pairs *fresh = pairs_of(d, DOCUMENTS / 3);
    for (size_t i = 0; i < CATEGORIES; i++)
        for (size_t j = 0; j < CATEGORIES; j++)
            if (i != j)
                ck_assert_int_eq(nb_pairs_weight(pairs, i, j), nb_pairs_weight(fresh, j, i));
    nb_pairs_free(&fresh);
    nb_pairs_free(&pairs);
    ck_assert_ptr_null(pairs);
}
END_TEST

START_TEST(columns_are_the_categories)
{
    struct nb_pairs *pairs = pairs_of(NULL, 0);
    ck_assert_uint_eq(nb_pairs_columns(pairs), CATEGORIES);
    ck_assert_uint_eq(nb_pairs_attribute(pairs, 1), 2);
    ck_assert_uint_eq(nb_pairs_column(pairs, 1), NB_PAIR_NO_COLUMN);
    ck_assert_uint_eq(nb_pairs_column(pairs, 3), 2);
    struct nb_pair_values values = {.count = 0};
    nb_pair_values_add(&values, pairs, 7, 1);
    ck_assert_uint_eq(values.count, 0);
    nb_pair_values_add(&values, pairs, 9, 0);
    nb_pair_values_add(&values, pairs, 8, 0); /* a second value of a category */
    ck_assert_uint_eq(values.count, 1);
    ck_assert_uint_eq(values.at[0].row, 9);
    nb_pair_values_add(&values, pairs, NB_PAIR_ANY(2), 2);
    ck_assert_int_eq(nb_pairs_reserve(pairs, &values), NB_TOO_LARGE);
    nb_pairs_free(&pairs);
}
END_TEST

static uint32_t attribute_of(void *user, uint32_t row)
{
    (void)user;
    return row / 100;
}

/* Values 1 and 2 of field 2 are in one bin. */
static uint32_t bin_of(void *user, uint32_t row)
{
    (void)user;
    return row / 100 == 2 ? NB_PAIR_BIN(2, row % 100 > 0) : row;
}

/* Folded counts are those of documents that had the bins, and without a column the others stay. */
START_TEST(values_fold_into_bins)
{
    struct document d[DOCUMENTS], binned[DOCUMENTS];
    srand((unsigned)_i);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        binned[i] = d[i] = random_document();
        binned[i].values[2] = d[i].values[2] < 0 ? -1 : d[i].values[2] > 0;
    }
    const struct nb_pair_fold fold = {
        .keeps = {true, true, false}, .attribute = attribute_of, .value = bin_of};
    struct nb_pairs *pairs = pairs_of(d, DOCUMENTS), *want = pairs_of(binned, DOCUMENTS);
    struct nb_pairs *folded = nb_pairs_fold(pairs, &fold);
    ck_assert_ptr_nonnull(folded);
    ck_assert_uint_eq(nb_pairs_columns(folded), 2);
    ck_assert_uint_eq(nb_pairs_column(folded, 3), NB_PAIR_NO_COLUMN);
    ck_assert_int_eq(nb_pairs_weight(folded, 0, 1), nb_pairs_weight(want, 0, 1));
    for (uint32_t label = 0; label < LABELS; label++)
        for (int x = 0; x < VALUES; x++)
            for (uint32_t bin = 0; bin < 2; bin++)
                ck_assert_uint_eq(nb_pairs_count(folded, row_of(0, x), NB_PAIR_BIN(2, bin), label),
                                  nb_pairs_count(want, row_of(0, x), row_of(2, (int)bin), label));
    ck_assert_uint_eq(nb_pairs_count(folded, NB_PAIR_ANY(0), NB_PAIR_BIN(2, 1), 0),
                      nb_pairs_count(want, NB_PAIR_ANY(0), row_of(2, 1), 0));
    ck_assert_uint_eq(nb_pairs_count(folded, row_of(0, 1), row_of(3, 1), 0), 0);
    nb_pairs_free(&folded);
    nb_pairs_free(&want);
    nb_pairs_free(&pairs);
}
END_TEST

START_TEST(bins_have_values_of_their_own)
{
    for (uint32_t a = 0; a < NB_ATTRIBUTES_MOST; a++)
        for (uint32_t bin = 0; bin < NB_PAIR_BINS_MOST; bin++) {
            ck_assert(nb_pair_is_bin(NB_PAIR_BIN(a, bin)));
            ck_assert_uint_eq(nb_pair_bin_attribute(NB_PAIR_BIN(a, bin)), a);
        }
    ck_assert(!nb_pair_is_bin(NB_PAIR_ANY(0)) && !nb_pair_is_bin(NB_PAIR_ROWS_MOST - 1));
    ck_assert(!nb_pair_is_bin(NB_PAIR_ANY(NB_ATTRIBUTES_MOST - 1)));
}
END_TEST

/* Many different pairs: the table grows, and has a limit. */
START_TEST(there_is_a_limit)
{
    struct nb_pairs *pairs = pairs_of(NULL, 0);
    size_t before = nb_pairs_memory(pairs);
    uint32_t n = 0;
    for (;; n++) {
        struct nb_pair_values values = {.count = 0};
        nb_pair_values_add(&values, pairs, n, 0);
        nb_pair_values_add(&values, pairs, UINT32_C(1) << 30 | n, 2);
        if (!nb_pairs_fit(pairs, &values))
            break;
        if (nb_pairs_reserve(pairs, &values) != 0)
            break;
        nb_pairs_add(pairs, 0, &values, 1);
    }
    ck_assert_uint_eq(n, (NB_PAIRS_MOST - 5) / 3 + 1);
    ck_assert_uint_gt(nb_pairs_memory(pairs), before);
    ck_assert_uint_le(nb_pairs_memory(pairs), before + (UINT32_C(128) << 20));
    ck_assert_uint_eq(nb_pairs_count(pairs, NB_PAIR_ANY(0), NB_PAIR_ANY(2), 0), n);
    nb_pairs_free(&pairs);
}
END_TEST

/* ---- of a model ------------------------------------------------------------------------------ */

static uint32_t both(const struct nb_model *model)
{
    return nb_pairs_count(nb_model_pairs(model), 0, 1, 0);
}

static void look(void *user)
{
    ck_assert_uint_eq(both(user), 1);
}

/* A document comes, goes, and is taken out for its leave-one-out score. */
START_TEST(a_model_keeps_its_pairs)
{
    static const struct nb_row_count rows[] = {{0, 1}, {1, 1}};
    struct nb_model *model = nb_model_new();
    uint32_t label, row;
    size_t fresh;
    ck_assert_ptr_nonnull(model);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"one", 3}, &label), 0);
    ck_assert_int_eq(nb_model_append(model, nb_feature_value_id(0, 7), &row), 0);
    ck_assert_int_eq(nb_model_append(model, nb_feature_value_id(4, 7), &row), 0); /* of `c` */
    struct nb_pairs *pairs = pairs_of(NULL, 0);
    nb_model_put_pairs(model, &pairs);
    ck_assert_ptr_null(pairs);
    struct nb_model_change come = {
        .add_label = label, .add = rows, .add_size = 2, .take_label = UINT32_MAX};
    struct nb_model_change go = {
        .add_label = UINT32_MAX, .take_label = label, .take = rows, .take_size = 2};
    ck_assert_int_eq(nb_model_change(model, &come, &fresh), 0);
    ck_assert_int_eq(nb_model_change(model, &come, &fresh), 0);
    ck_assert_uint_eq(both(model), 2);
    nb_model_without(model, label, rows, 2, look, model);
    ck_assert_uint_eq(both(model), 2);
    ck_assert_int_eq(nb_model_change(model, &go, &fresh), 0);
    ck_assert_uint_eq(both(model), 1);
    nb_model_put_pairs(model, &pairs);
    ck_assert_ptr_null(nb_model_pairs(model));
    nb_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs");
    TCase *tests = tcase_create("pairs");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, documents_come_and_go, 0, 10);
    tcase_add_test(tests, columns_are_the_categories);
    tcase_add_loop_test(tests, values_fold_into_bins, 0, 5);
    tcase_add_test(tests, bins_have_values_of_their_own);
    tcase_add_test(tests, there_is_a_limit);
    tcase_add_test(tests, a_model_keeps_its_pairs);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
