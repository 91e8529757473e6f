/* SPDX-License-Identifier: Apache-2.0
 *
 * Rising factorials against the sum of their logarithms, in long double.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/bayes/estimate.h"
#include "tests/unit/run.h"

static double slowly(double x, uint64_t n)
{
    long double sum = 0, lost = 0; /* Kahan: a long double may have no more bits than a double */
    for (uint64_t i = 0; i < n; i++) {
        long double more = logl((long double)x + (long double)i) - lost;
        long double next = sum + more;
        lost = (next - sum) - more;
        sum = next;
    }
    return (double)sum;
}

START_TEST(as_the_sum_of_logarithms)
{
    static const double starts[] = {1e-9, 0.02, 0.5, 1,   2.5, 7,  15.999,
                                    16,   16.5, 40,  1e3, 1e6, 3e9};
    static const uint64_t counts[] = {0, 1, 2, 3, 5, 15, 16, 17, 40, 1000, 100000};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            double want = slowly(starts[i], counts[k]);
            double got = nb_log_rising(starts[i], counts[k]);
            double error = fmax(1e-13, (double)counts[k] * 1e-15) + fabs(want) * 1e-15;
            ck_assert_msg(fabs(got - want) <= error, "%g, %llu: %.17g, want %.17g", starts[i],
                          (unsigned long long)counts[k], got, want);
        }
}
END_TEST

/* (x)_(m + n) = (x)_m (x + m)_n, also where a sum would take hours. */
START_TEST(parts_make_the_whole)
{
    static const uint64_t counts[] = {1, 30, UINT64_C(1) << 20, UINT64_C(1) << 32};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            double whole = nb_log_rising(0.3, counts[i] + counts[k]);
            double parts =
                nb_log_rising(0.3, counts[i]) + nb_log_rising(0.3 + (double)counts[i], counts[k]);
            ck_assert_double_eq_tol(parts / whole, 1, 1e-14);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rising");
    TCase *t = tcase_create("core");
    tcase_add_test(t, as_the_sum_of_logarithms);
    tcase_add_test(t, parts_make_the_whole);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
