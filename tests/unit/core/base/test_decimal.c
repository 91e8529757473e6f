/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as decimals of 49 bits, and their exact sums.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/number.h"
#include "tests/unit/run.h"

static uint64_t decimal(const char *text)
{
    uint64_t number = UINT64_MAX;
    ck_assert_msg(nb_decimal_read(nb_string_of(text), &number), "%s", text);
    ck_assert(number >> NB_DECIMAL_BITS == 0);
    return number;
}

START_TEST(a_number_has_one_form)
{
    static const struct {
        const char *from, *shown;
    } cases[] = {
        {"0", "0"},
        {"-0.000", "0"},
        {"+1", "1"},
        {"1.", "1"},
        {".5", "0.5"},
        {"100", "100"},
        {"1e2", "100"},
        {"1E+2", "100"},
        {"-12.50", "-12.5"},
        {"0.0000000000001", "0.0000000000001"},
        {"0.00000000000004", "0"},
        {"-0.00000000000006", "-0.0000000000001"},
        {"0.99999999999999", "1"},
        {"123456789012345", "123456789012300"},
        {"999999999999949", "999999999999900"},
        {"1234567890.12345", "1234567890.123"},
        {"2.5e-3", "0.0025"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NB_DECIMAL_TEXT];
        uint64_t number = decimal(cases[i].from);
        ck_assert_uint_eq(nb_decimal_write(number, text), strlen(cases[i].shown));
        ck_assert_str_eq(text, cases[i].shown);
        ck_assert_uint_eq(decimal(text), number);
        ck_assert_double_eq_tol(nb_int128_double(nb_decimal_fixed(number)) * NB_FIXED_UNIT,
                                atof(text), 1e-14 + fabs(atof(text)) * 1e-15);
    }
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
    static const char *const bad[] = {
        "",    "-",       ".",   "e5",  "1e",  "1e+",  "0x1",   " 1",    "1 ",
        "1,5", "1.2.",    "nan", "inf", "--1", "1e15", "-1e15", "1e400", "999999999999999.9",
        "1_0", "\xD9\xA1"};
    uint64_t number;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!nb_decimal_read(nb_string_of(bad[i]), &number), "%s", bad[i]);
    ck_assert(!nb_decimal_read((struct nb_string){"1\0", 2}, &number));
    ck_assert(!nb_decimal_of_double((double)NAN, &number));
    ck_assert(!nb_decimal_of_double(-(double)INFINITY, &number));
    ck_assert(!nb_decimal_of_feature(nb_string_of("12"), &number));
    ck_assert(nb_decimal_of_feature(nb_string_of("a b=12"), &number));
    ck_assert_uint_eq(number, decimal("12"));
}
END_TEST

/* Whatever the bits are: a dump may have any. */
START_TEST(every_number_is_bounded)
{
    uint64_t bits = (UINT64_C(1) << NB_DECIMAL_BITS) - 1;
    char text[NB_DECIMAL_TEXT];
    nb_int128 bound = (nb_int128)1 << 94;
    ck_assert(nb_decimal_fixed(bits) > -bound && nb_decimal_fixed(bits) < 0);
    ck_assert_uint_lt(nb_decimal_write(bits, text), sizeof text);
    ck_assert(nb_decimal_fixed(~UINT64_C(0)) == nb_decimal_fixed(bits));
}
END_TEST

static struct nb_wide wide(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (struct nb_wide){(nb_uint128)b << 64 | a, (nb_uint128)d << 64 | c};
}

static void assert_wide(struct nb_wide got, struct nb_wide want)
{
    ck_assert(got.low == want.low && got.high == want.high);
}

START_TEST(wide_numbers_carry)
{
    const nb_uint128 most = ~(nb_uint128)0;
    assert_wide(nb_wide_product(most, most), wide(1, 0, UINT64_MAX - 1, UINT64_MAX));
    assert_wide(nb_wide_product((nb_uint128)1 << 64, 5), wide(0, 5, 0, 0));
    assert_wide(nb_wide_times(wide(0, UINT64_MAX, 1, 0), 4), wide(0, UINT64_MAX - 3, 7, 0));
    struct nb_wide one = wide(1, 0, 0, 0), below = wide(UINT64_MAX, UINT64_MAX, 6, 0);
    assert_wide(nb_wide_add(below, one), wide(0, 0, 7, 0));
    assert_wide(nb_wide_subtract(wide(0, 0, 7, 0), one), below);
    ck_assert_double_eq(nb_wide_double(wide(3, 1, 0, 1)), 0x1p192 + 0x1p64 + 3);
}
END_TEST

/* Numbers of all sizes come and go: what is left is what was there. */
/* Ties go to the even neighbour, and the last of 128 bits breaks a tie. */
START_TEST(wide_numbers_are_rounded_once)
{
    const nb_uint128 large = (nb_uint128)1 << 100, half = (nb_uint128)1 << 47;
    ck_assert_double_eq(nb_uint128_double(UINT64_MAX), 0x1p64);
    ck_assert_double_eq(nb_uint128_double((nb_uint128)1 << 64), 0x1p64);
    ck_assert_double_eq(nb_uint128_double(large + half), 0x1p100);
    ck_assert_double_eq(nb_uint128_double(large + half + 1), 0x1p100 + 0x1p48);
    ck_assert_double_eq(nb_uint128_double(large + 3 * half - 1), 0x1p100 + 0x1p48);
    ck_assert_double_eq(nb_uint128_double(large + 3 * half), 0x1p100 + 0x1p49);
    ck_assert_double_eq(nb_uint128_double(~(nb_uint128)0), 0x1p128);
    ck_assert_double_eq(nb_int128_double(-(nb_int128)(large + half + 1)), -0x1p100 - 0x1p48);
    ck_assert_double_eq(nb_int128_double(-7), -7);
#ifdef __SIZEOF_INT128__ /* else there may be no cast */
    uint64_t random = 1;
    for (unsigned i = 0; i < 100000; i++) {
        nb_uint128 x = 0;
        for (unsigned k = 0; k < 2; k++)
            x = x << 64 | (random = random * UINT64_C(6364136223846793005) + 1442695040888963407);
        x = x >> i % 128 & ~(nb_uint128)0 << i % 97;
        ck_assert_double_eq(nb_uint128_double(x), (double)x);
        ck_assert_double_eq(nb_int128_double((nb_int128)x), (double)(nb_int128)x);
    }
#endif
}
END_TEST

START_TEST(moments_are_exact)
{
    struct nb_moments m = {0}, none = {0};
    nb_moments_add(&m, nb_decimal_fixed(decimal("1700000000000")), 1, 1);
    nb_moments_add(&m, nb_decimal_fixed(decimal("1700000000003")), 3, 1);
    ck_assert_double_eq(nb_moments_mean(&m), 1700000000002.25);
    ck_assert_double_eq(nb_moments_variance(&m), 1.6875);
    const struct nb_moments before = m;
    static const char *const others[] = {"999999999999900", "-999999999999900", "0.0000000000001",
                                         "-7.25"};
    for (unsigned i = 0; i < 400; i++)
        nb_moments_add(&m, nb_decimal_fixed(decimal(others[i % 4])), i + 1, 1);
    for (unsigned i = 400; i-- > 0;)
        nb_moments_add(&m, nb_decimal_fixed(decimal(others[i % 4])), i + 1, -1);
    ck_assert(m.count == 4 && m.sum == before.sum);
    assert_wide(m.squares, before.squares);
    nb_int128 fixed = nb_decimal_fixed(decimal("1700000000002"));
    ck_assert_double_eq(nb_moments_deviation(&m, fixed), -0.25);
    nb_moments_merge(&m, &before, -1);
    ck_assert(m.count == 0 && m.sum == 0);
    assert_wide(m.squares, none.squares);
    ck_assert_double_eq(nb_moments_variance(&m), 0);
    nb_moments_add(&m, -(nb_int128)9999999999999 * 1000000000000000, UINT32_MAX, 1);
    nb_moments_add(&m, (nb_int128)9999999999999 * 1000000000000000, 1, 1);
    ck_assert_double_eq_tol(nb_moments_variance(&m), 4e30 / 0x1p32, 1e13);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decimal");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_number_has_one_form);
    tcase_add_test(all, what_is_no_number_is_refused);
    tcase_add_test(all, every_number_is_bounded);
    tcase_add_test(all, wide_numbers_carry);
    tcase_add_test(all, wide_numbers_are_rounded_once);
    tcase_add_test(all, moments_are_exact);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
