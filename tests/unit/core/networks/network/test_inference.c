/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/networks/network/inference.h"
#include "networks.h"
#include "tests/unit/run.h"

static struct nb_inference_limits LIMITS = {1 << 20, 1e12};

/* ---- against an enumeration ------------------------------------------------------------------ */

static double joint(const struct nb_network *n, const uint32_t *states)
{
    double product = 1;
    for (size_t i = 0; i < n->count; i++) {
        size_t row = 0;
        for (size_t p = 0; p < n->nodes[i].parent_count; p++) {
            size_t parent = n->nodes[i].parents[p];
            row = row * n->nodes[parent].state_count + states[parent];
        }
        product *= n->nodes[i].table[row * n->nodes[i].state_count + states[i]];
    }
    return product;
}

/* Sums P over all combinations that agree with the evidence, for each state of `node`. */
static double enumerate(const struct nb_network *n, const struct nb_network_evidence *evidence,
                        size_t node, double *sums)
{
    uint32_t states[NB_NETWORK_NODES] = {0};
    double all = 0;
    size_t i;
    memset(sums, 0, n->nodes[node].state_count * sizeof *sums);
    do {
        bool agrees = true;
        for (i = 0; i < n->count; i++)
            agrees =
                agrees && (evidence->states[i] == UINT32_MAX || evidence->states[i] == states[i]);
        double p = agrees ? joint(n, states) : 0;
        sums[states[node]] += p;
        all += p;
        for (i = 0; i < n->count && ++states[i] == n->nodes[i].state_count; i++)
            states[i] = 0;
    } while (i < n->count);
    return all;
}

static struct nb_network_evidence random_evidence(const struct nb_network *n,
                                                  struct nb_random *random)
{
    struct nb_network_evidence evidence = nb_network_evidence_none();
    for (size_t i = 0; i < n->count; i++)
        if (nb_random_below(random, 3) == 0)
            evidence.states[i] = (uint32_t)nb_random_below(random, n->nodes[i].state_count);
    return evidence;
}

static void check_against_enumeration(const struct nb_network *n,
                                      const struct nb_network_evidence *evidence, int trial)
{
    double sums[3], got[3], log_evidence;
    for (size_t node = 0; node < n->count; node++) {
        double all = enumerate(n, evidence, node, sums);
        int rc = nb_network_infer(n, evidence, node, &LIMITS, got, &log_evidence, NULL);
        ck_assert_msg(rc == (all > 0 ? 0 : NB_UNUSABLE), "trial %d: %d", trial, rc);
        if (rc != 0)
            continue;
        ck_assert_msg(fabs(log_evidence - log(all)) < 1e-12 * (1 + fabs(log(all))), "trial %d",
                      trial);
        for (uint32_t s = 0; s < n->nodes[node].state_count; s++)
            ck_assert_msg(fabs(got[s] - sums[s] / all) < 1e-12, "trial %d, node %zu: %g, not %g",
                          trial, node, got[s], sums[s] / all);
    }
}

START_TEST(random_networks)
{
    struct nb_random random = nb_random_of(1, 2);
    int impossible = 0;
    for (int trial = 0; trial < 300; trial++) {
        double density = test_fraction(&random);
        struct nb_network *n =
            test_random_network(&random, 1 + (size_t)nb_random_below(&random, 8), density);
        struct nb_network_evidence evidence = random_evidence(n, &random);
        double sums[3];
        impossible += enumerate(n, &evidence, 0, sums) <= 0;
        check_against_enumeration(n, &evidence, trial);
        nb_network_free(&n);
    }
    ck_assert_int_gt(impossible, 3); /* evidence that cannot be was among them */
}
END_TEST

/* ---- published networks ---------------------------------------------------------------------- */

static double probability(const struct nb_network *n, const struct nb_network_evidence *evidence,
                          const char *node)
{
    double p[3];
    struct nb_error error = {0};
    int rc = nb_network_infer(n, evidence, test_find(n, node), &LIMITS, p, NULL, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    return p[0];
}

static void know(const struct nb_network *n, struct nb_network_evidence *evidence, const char *node,
                 uint32_t state)
{
    evidence->states[test_find(n, node)] = state;
}

/* Marginals as Lauritzen and Spiegelhalter 1988 and its many users have them. */
START_TEST(asia)
{
    static const struct {
        const char *node;
        double prior, later; /* later: a visit to Asia and dyspnoea */
    } rows[] = {{"tub", .0104, .08775096}, {"lung", .055, .09952515}, {"bronc", .45, .81140207},
                {"either", .064828, NAN},  {"xray", .11029004, NAN},  {"dysp", .4359706, 1},
                {"smoke", .5, NAN}};
    struct nb_network *n = test_network(TEST_ASIA, 8);
    struct nb_network_evidence none = nb_network_evidence_none(),
                               later = nb_network_evidence_none();
    double p[2], log_evidence;
    know(n, &later, "asia", 0);
    know(n, &later, "dysp", 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_double_eq_tol(probability(n, &none, rows[i].node), rows[i].prior, 5e-9);
        if (!isnan(rows[i].later))
            ck_assert_double_eq_tol(probability(n, &later, rows[i].node), rows[i].later, 5e-9);
    }
    ck_assert_int_eq(nb_network_infer(n, &later, 0, &LIMITS, p, &log_evidence, NULL), 0);
    ck_assert_double_eq_tol(exp(log_evidence), .004501375, 1e-12);
    nb_network_free(&n);
}
END_TEST

/* Pearl's alarm with the numbers of Russell and Norvig: P(burglary | both call) = .284. */
START_TEST(burglary)
{
    static const struct test_node nodes[] = {
        {"burglary", "yes no", "", {.001}},
        {"earthquake", "yes no", "", {.002}},
        {"alarm", "yes no", "burglary earthquake", {.95, .94, .29, .001}},
        {"john", "yes no", "alarm", {.9, .05}},
        {"mary", "yes no", "alarm", {.7, .01}},
    };
    struct nb_network *n = test_network(nodes, 5);
    struct nb_network_evidence evidence = nb_network_evidence_none();
    ck_assert_double_eq_tol(probability(n, &evidence, "alarm"), .002516442, 1e-9);
    know(n, &evidence, "john", 0);
    know(n, &evidence, "mary", 0);
    ck_assert_double_eq_tol(probability(n, &evidence, "burglary"), .284171835364, 1e-11);
    know(n, &evidence, "earthquake", 0); /* explains the alarm away */
    ck_assert_double_lt(probability(n, &evidence, "burglary"), .01);
    nb_network_free(&n);
}
END_TEST

/* ---- limits and samples ---------------------------------------------------------------------- */

START_TEST(limits_are_named)
{
    struct nb_network *n = test_network(TEST_ASIA, 8);
    struct nb_network_evidence none = nb_network_evidence_none();
    struct nb_inference_limits few = {20, 1000}, no_work = {1 << 20, 0};
    struct nb_error error = {0};
    double p[2];
    ck_assert_int_eq(nb_network_infer(n, &none, 7, &few, p, NULL, &error), NB_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(error.text, "factor_cells"));
    ck_assert_int_eq(nb_network_infer(n, &none, 0, &few, p, NULL, &error), 0);
    ck_assert_int_eq(nb_network_infer(n, &none, 7, &no_work, p, NULL, &error), NB_TOO_LARGE);
    ck_assert_int_eq(nb_network_infer(n, &none, 0, &no_work, p, NULL, &error), 0);
    nb_network_free(&n);
}
END_TEST

/* A chain of 200 nodes: products of 200 probabilities of evidence stay above 0. */
START_TEST(long_products)
{
    static char names[201][8];
    struct nb_network *n = nb_network_new(TEST_CELLS);
    struct nb_network_evidence evidence = nb_network_evidence_none();
    double row[] = {1e-9, 1 - 1e-9}, p[2], log_evidence;
    for (size_t i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        ck_assert_int_eq(nb_network_add(n, nb_string_of(names[i]), NULL), 0);
        ck_assert_int_eq(nb_network_add_state(n, nb_string_of("a"), NULL), 0);
        ck_assert_int_eq(nb_network_add_state(n, nb_string_of("b"), NULL), 0);
        evidence.states[i] = i == 0 ? UINT32_MAX : 0;
    }
    for (size_t i = 1; i < 200; i++)
        ck_assert_int_eq(nb_network_add_parent(n, i, nb_string_of(names[i - 1]), NULL), 0);
    ck_assert_int_eq(nb_network_close(n, NULL), 0);
    for (size_t i = 0; i < 200; i++)
        for (size_t r = 0; r < n->nodes[i].rows; r++)
            ck_assert_int_eq(nb_network_set_row(n, i, r, row, 2, NULL), 0);
    ck_assert_int_eq(nb_network_infer(n, &evidence, 0, &LIMITS, p, &log_evidence, NULL), 0);
    ck_assert_double_eq_tol(p[0], 1e-9, 1e-20);
    ck_assert_double_eq_tol(log_evidence, 199 * log(1e-9), 1e-6);
    /* Every node of the chain, nothing being known: each sum has 4 products. */
    struct nb_inference_limits few = {2000, 200 * 200 * 4};
    struct nb_network_evidence none = nb_network_evidence_none();
    for (size_t i = 0; i < 200; i++) {
        ck_assert_int_eq(nb_network_infer(n, &none, i, &few, p, NULL, NULL), 0);
        ck_assert_double_eq_tol(p[0], 1e-9, 1e-20);
    }
    nb_network_free(&n);
}
END_TEST

/* Adds a node with the states a and b. */
static void add_node(struct nb_network *n, const char *name)
{
    ck_assert_int_eq(nb_network_add(n, nb_string_of(name), NULL), 0);
    ck_assert_int_eq(nb_network_add_state(n, nb_string_of("a"), NULL), 0);
    ck_assert_int_eq(nb_network_add_state(n, nb_string_of("b"), NULL), 0);
}

/* A cause with 253 effects that are known: 126 speak for each of its states, a million to one, and
 * the last one for none. So each state has a product of 126 small numbers, and stays as probable as
 * it was. What the cause comes from is a sum over such products. */
START_TEST(much_evidence_for_both)
{
    enum { EFFECTS = 253 };
    static char names[EFFECTS][8];
    const double half[] = {.5, .5}, low[] = {1e-6, 1 - 1e-6}, high[] = {1 - 1e-6, 1e-6};
    const double same[] = {.8, .2}, other[] = {.3, .7};
    struct nb_network *n = nb_network_new(TEST_CELLS);
    struct nb_network_evidence evidence = nb_network_evidence_none();
    double p[2], log_evidence;
    add_node(n, "root");
    add_node(n, "cause");
    ck_assert_int_eq(nb_network_add_parent(n, 1, nb_string_of("root"), NULL), 0);
    for (size_t i = 0; i < EFFECTS; i++) {
        snprintf(names[i], sizeof names[i], "e%zu", i);
        add_node(n, names[i]);
        ck_assert_int_eq(nb_network_add_parent(n, 2 + i, nb_string_of("cause"), NULL), 0);
        evidence.states[2 + i] = 0;
    }
    ck_assert_int_eq(nb_network_close(n, NULL), 0);
    ck_assert_int_eq(nb_network_set_row(n, 0, 0, half, 2, NULL), 0);
    ck_assert_int_eq(nb_network_set_row(n, 1, 0, same, 2, NULL), 0);
    ck_assert_int_eq(nb_network_set_row(n, 1, 1, other, 2, NULL), 0);
    for (size_t i = 0; i < EFFECTS; i++) { /* the last one tells nothing */
        bool is_last = i == EFFECTS - 1;
        ck_assert_int_eq(nb_network_set_row(n, 2 + i, 0, is_last || i % 2 ? high : low, 2, NULL),
                         0);
        ck_assert_int_eq(
            nb_network_set_row(n, 2 + i, 1, is_last || i % 2 == 0 ? high : low, 2, NULL), 0);
    }
    ck_assert_int_eq(nb_network_infer(n, &evidence, 1, &LIMITS, p, &log_evidence, NULL), 0);
    ck_assert_double_eq_tol(p[0], .55, 1e-10);
    ck_assert_double_eq_tol(log_evidence, 126 * log(1e-6) + 127 * log(1 - 1e-6), 1e-9);
    ck_assert_int_eq(nb_network_infer(n, &evidence, 0, &LIMITS, p, NULL, NULL), 0);
    ck_assert_double_eq_tol(p[0], .5, 1e-10); /* as before: the effects tell nothing of the cause */
    nb_network_free(&n);
}
END_TEST

/* Frequencies of 200,000 samples, weighed if there is evidence, against the exact answers: five
 * standard deviations. */
START_TEST(samples)
{
    enum { SAMPLES = 200000 };
    struct nb_network *n = test_network(TEST_SPRINKLER, 5);
    for (int known = 0; known < 2; known++) {
        struct nb_network_evidence evidence = nb_network_evidence_none();
        struct nb_random random = nb_random_of(7, 0), again = nb_random_of(7, 0);
        double sums[5] = {0}, weights = 0, squares = 0;
        uint32_t states[5], same[5];
        if (known)
            know(n, &evidence, "slippery", 0);
        for (int i = 0; i < SAMPLES; i++) {
            double weight = nb_network_sample(n, &evidence, &random, states);
            ck_assert_double_eq(weight, nb_network_sample(n, &evidence, &again, same));
            ck_assert_mem_eq(states, same, sizeof states);
            weights += weight;
            squares += weight * weight;
            for (size_t node = 0; node < 5; node++)
                sums[node] += states[node] == 0 ? weight : 0;
        }
        double effective = weights * weights / squares;
        for (size_t node = 0; node < 5; node++) {
            double p = probability(n, &evidence, n->nodes[node].name);
            ck_assert_double_le(fabs(sums[node] / weights - p),
                                5 * sqrt(p * (1 - p) / effective) + 1e-12);
        }
    }
    nb_network_free(&n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inference");
    TCase *tests = tcase_create("inference");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, random_networks);
    tcase_add_test(tests, asia);
    tcase_add_test(tests, burglary);
    tcase_add_test(tests, limits_are_named);
    tcase_add_test(tests, long_products);
    tcase_add_test(tests, much_evidence_for_both);
    tcase_add_test(tests, samples);
    return test_run(suite);
}
