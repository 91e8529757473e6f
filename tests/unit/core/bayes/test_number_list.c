/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/bins.h"
#include "tests/unit/run.h"

#include <check.h>
#include <stdlib.h>

enum { ATTRIBUTES = 2, LABELS = 3, NUMBERS = 40, LEFT = 1 };
static const uint32_t NAMES[LABELS - LEFT] = {2, 0}; /* label 1 has no place */

static uint64_t random_state = 11;
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(2685821657736338717) >> 32) * n >> 32);
}

static uint64_t number_id(uint32_t attribute, int value)
{
    uint64_t number;
    ck_assert(nb_decimal_of_double(value / 4.0, &number));
    return nb_feature_number_id(attribute * 2, number);
}

static struct nb_model *model_of(void)
{
    struct nb_model *model = nb_model_new();
    for (uint32_t v = 0; v < LABELS; v++) {
        char name[] = {(char)('a' + v), '\0'};
        uint32_t label;
        ck_assert_int_eq(nb_model_label(model, (struct nb_string){name, 1}, &label), 0);
    }
    return model;
}

static void count(struct nb_model *model, uint32_t row, uint32_t label, int sign)
{
    struct nb_row_count one = {row, 1};
    ck_assert_int_eq(nb_model_add(model, label, &one, 1, sign, NULL), 0);
}

/* Learns a word or a number; there are so few of these that they repeat. */
static void learn(struct nb_model *model)
{
    uint32_t attribute = random_below(ATTRIBUTES), row;
    int value = (int)random_below(NUMBERS) - NUMBERS / 2;
    uint64_t id = random_below(4) == 0 ? nb_feature_id(NB_FIELD_BODY, random_below(50) + 1)
                                       : number_id(attribute, value);
    row = nb_model_find(model, id);
    if (row == NB_NO_ROW)
        ck_assert_int_eq(nb_model_add_row(model, id, &row), 0);
    count(model, row, random_below(LABELS), 1);
}

/* Forgets a document of a row; sometimes drops the rows without documents. */
static void forget(struct nb_model *model)
{
    uint32_t rows = nb_model_rows(model);
    uint32_t row = rows > 0 ? random_below(rows) : 0;
    if (rows == 0 || nb_model_is_dropped(nb_model_row_id(model, row)))
        return;
    for (uint32_t v = 0; v < LABELS; v++)
        while (nb_model_count(model, row, v) > 0)
            count(model, row, v, -1);
    if (random_below(2) == 0)
        ck_assert_int_eq(nb_model_drop_row(model, row), 0);
}

static void check_span(const struct nb_model *model, struct nb_number_span got,
                       struct nb_number_span want)
{
    ck_assert_uint_eq(got.count, want.count);
    for (size_t i = 0; i < got.count; i++) {
        const struct nb_number_row *row = &got.rows[i];
        size_t cells = got.begin[i + 1] - got.begin[i];
        ck_assert(row->fixed == want.rows[i].fixed);
        ck_assert_uint_eq(row->row, want.rows[i].row);
        ck_assert(row->fixed == nb_decimal_fixed(nb_model_row_id(model, row->row)));
        ck_assert(i == 0 || got.rows[i - 1].fixed < row->fixed);
        ck_assert_uint_eq(cells, want.begin[i + 1] - want.begin[i]);
        for (size_t k = 0; k < cells; k++) {
            const struct nb_number_cell *cell = &got.cells[got.begin[i] + k];
            ck_assert_uint_lt(cell->place, LABELS - LEFT);
            ck_assert(k == 0 || cell[-1].place < cell->place);
            ck_assert_uint_eq(cell->documents, nb_model_count(model, row->row, NAMES[cell->place]));
            ck_assert_uint_gt(cell->documents, 0);
        }
    }
}

/* Checks that a list kept from one state of the counts to the next equals a new list. */
static void check(struct nb_number_list *list, const struct nb_model *model)
{
    struct nb_number_list fresh = {.count = 0};
    ck_assert_int_eq(nb_number_list_make(list, model, NAMES, LABELS - LEFT), 0);
    ck_assert_int_eq(nb_number_list_make(&fresh, model, NAMES, LABELS - LEFT), 0);
    for (size_t attribute = 0; attribute < ATTRIBUTES; attribute++)
        check_span(model, nb_number_list_span(list, attribute),
                   nb_number_list_span(&fresh, attribute));
    ck_assert_uint_eq(nb_number_list_span(list, ATTRIBUTES).count, 0);
    nb_number_list_deinit(&fresh);
}

START_TEST(it_follows_a_model)
{
    struct nb_number_list list = {.count = 0};
    struct nb_model *model = model_of();
    size_t most = 0;
    for (int i = 0; i < 400; i++) {
        for (uint32_t n = random_below(i % 10 == 0 ? 30 : 4); n > 0; n--)
            learn(model);
        if (random_below(3) == 0)
            forget(model);
        check(&list, model);
        most = list.count > most ? list.count : most;
    }
    ck_assert_uint_gt(most, NUMBERS);
    nb_number_list_deinit(&list);
    nb_model_free(&model);
}
END_TEST

START_TEST(it_is_not_taken_for_that_of_another_model)
{
    struct nb_number_list list = {.count = 0};
    for (int i = 0; i < 4; i++) {
        struct nb_model *model = model_of();
        for (int k = 0; k < 20; k++)
            learn(model);
        check(&list, model);
        nb_model_free(&model);
    }
    nb_number_list_deinit(&list);
}
END_TEST

START_TEST(rows_that_were_taken_back_are_none)
{
    struct nb_number_list list = {.count = 0};
    struct nb_model *model = model_of();
    uint32_t row;
    ck_assert_int_eq(nb_model_append(model, number_id(0, 1), &row), 0);
    check(&list, model);
    nb_model_truncate(model, row);
    ck_assert_int_eq(nb_model_append(model, number_id(0, 2), &row), 0);
    check(&list, model);
    ck_assert_uint_eq(list.count, 1);
    nb_number_list_deinit(&list);
    nb_model_free(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number_list");
    TCase *lists = tcase_create("lists");
    tcase_add_test(lists, it_follows_a_model);
    tcase_add_test(lists, it_is_not_taken_for_that_of_another_model);
    tcase_add_test(lists, rows_that_were_taken_back_are_none);
    suite_add_tcase(suite, lists);
    return test_run(suite);
}
