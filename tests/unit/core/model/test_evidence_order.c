/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/model/verdict_parts.h"
#include "tests/unit/run.h"

enum { ROWS = 2000, KINDS = 6 };

static uint64_t random_state;
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(2685821657736338717) >> 32) * n >> 32);
}

static double random_evidence(int kind, size_t i)
{
    double sign = random_below(2) == 0 ? 1 : -1;
    switch (kind) {
    case 0: /* in order already */
        return (double)i;
    case 1: /* many of them equal, of both signs */
        return (double)random_below(20) - 10;
    case 2: /* as evidence of words is */
        return sign * random_below(1u << 20) / (1 << 18);
    case 3: /* from denormal numbers to the largest */
        return sign * ldexp(1 + random_below(1000) / 1000., (int)random_below(2090) - 1070);
    case 4: /* what an estimate of 0 says, and nothing */
        return random_below(3) == 0 ? sign * (double)INFINITY : sign * random_below(3);
    default: /* all in one bin, and a few far above */
        return random_below(100) == 0 ? 1e30 : sign * random_below(1u << 20);
    }
}

static int by_strength(const void *a, const void *b)
{
    const struct nb_evidence *x = a, *y = b;
    double mx = fabs(x->evidence), my = fabs(y->evidence);
    if (mx != my)
        return mx > my ? -1 : 1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

START_TEST(the_strongest_evidence_comes_first)
{
    static struct nb_evidence rows[ROWS], want[ROWS], room[ROWS];
    random_state = 9 + (uint64_t)_i;
    for (int round = 0; round < 300; round++) {
        size_t count = random_below(round % 2 == 0 ? 80 : ROWS + 1);
        size_t most = random_below(round % 3 == 0 ? 20 : (uint32_t)count + 10);
        for (size_t i = 0; i < count; i++)
            rows[i] = want[i] =
                (struct nb_evidence){.feature = (uint32_t)(round % 4 == 1 ? count - i : i),
                                     .evidence = random_evidence(_i, i)};
        qsort(want, count, sizeof *want, by_strength);
        nb_evidence_sort(rows, count, most, room);
        for (size_t i = 0; i < count && i < most; i++)
            ck_assert_msg(rows[i].feature == want[i].feature &&
                              rows[i].evidence == want[i].evidence,
                          "round %d, %zu of %zu, row %zu", round, most, count, i);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence order");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, the_strongest_evidence_comes_first, 0, KINDS);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
