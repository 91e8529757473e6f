/* SPDX-License-Identifier: Apache-2.0
 *
 * Near-duplicates: estimates against the true Jaccard similarity, and the list.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/ledger/document_lists.h"
#include "tests/unit/run.h"

static uint64_t state;

static uint64_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 8;
}

/* Returns the signature of `shared` features of a seed and `own` others. */
static struct nb_signature sign(uint64_t seed, size_t shared, size_t own)
{
    struct nb_signature_maker maker;
    struct nb_signature signature;
    nb_signature_begin(&maker);
    uint64_t before = state;
    state = seed;
    for (size_t i = 0; i < shared; i++)
        nb_signature_add(&maker, draw());
    state = before;
    for (size_t i = 0; i < own; i++)
        nb_signature_add(&maker, draw());
    nb_signature_end(&maker, &signature);
    return signature;
}

/* Documents of n features of which m are shared have the similarity m / (2n - m). */
START_TEST(the_estimate_is_near_the_truth)
{
    static const size_t sizes[] = {20, 64, 200, 1000, 20000};
    enum { ROUNDS = 200 };
    state = 1763;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (unsigned percent = 50; percent <= 100; percent += 10) {
            size_t shared = sizes[k] * percent / 100;
            double truth = (double)shared / (double)(2 * sizes[k] - shared);
            double sum = 0;
            double squares = 0;
            for (unsigned i = 0; i < ROUNDS; i++) {
                struct nb_signature a = sign(1000 + i, shared, sizes[k] - shared);
                struct nb_signature b = sign(1000 + i, shared, sizes[k] - shared);
                double estimate = nb_signature_similarity(&a, &b);
                sum += estimate;
                squares += (estimate - truth) * (estimate - truth);
            }
            ck_assert_msg(fabs(sum / ROUNDS - truth) < 0.03, "size %zu, %u %%: %f, truth %f",
                          sizes[k], percent, sum / ROUNDS, truth);
            /* Fewer features than bins are estimated with as many bins as there are features. */
            ck_assert(sqrt(squares / ROUNDS) < (sizes[k] < 64 ? 0.14 : 0.085));
        }
    }
}
END_TEST

START_TEST(equal_and_empty_and_strange_documents)
{
    struct nb_signature none = sign(1, 0, 0);
    struct nb_signature some = sign(1, 100, 0);
    struct nb_signature same = sign(1, 100, 0);
    struct nb_signature other = sign(2, 100, 0);
    ck_assert(nb_signature_similarity(&none, &none) == 1);
    ck_assert(nb_signature_similarity(&some, &same) == 1);
    ck_assert(nb_signature_similarity(&some, &none) == 0);
    ck_assert(nb_signature_similarity(&some, &other) < 0.1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("near-duplicates");
    TCase *t = tcase_create("near-duplicates");
    suite_add_tcase(s, t);
    tcase_add_test(t, the_estimate_is_near_the_truth);
    tcase_add_test(t, equal_and_empty_and_strange_documents);
    return test_run(s);
}
