/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/networks/network/graph.h"
#include "core/networks/network/inference.h"
#include "core/networks/network/network_learn.h"
#include "networks.h"
#include "tests/unit/run.h"

static const struct nb_learn_settings SETTINGS = {
    .alpha = .01, .most_given = 8, .most_tests = 100000, .most_cells = 1 << 20};

/* ---- tests of independence ------------------------------------------------------------------- */

/* Tables of the chi-squared distribution (Abramowitz and Stegun 1964, table 26.8), and closed
 * forms: exp(-x/2) with two degrees, erfc(sqrt(x/2)) with one. */
START_TEST(chi_squared)
{
    static const struct {
        double degrees, tail, x;
    } rows[] = {{1, .05, 3.84145882069},   {1, .001, 10.8275661706}, {2, .05, 5.99146454711},
                {3, .01, 11.3448667301},   {5, .5, 4.35146019110},   {10, .95, 3.94029913612},
                {10, .001, 29.5882984450}, {30, .05, 43.7729718257}, {100, .05, 124.342113404},
                {100, .995, 67.3275633054}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_double_eq_tol(nb_chi_squared_tail(rows[i].x, rows[i].degrees), rows[i].tail,
                                1e-11);
    for (double x = .001; x < 1400; x *= 1.3) {
        double one = erfc(sqrt(x / 2)), two = exp(-x / 2);
        ck_assert_double_le(fabs(nb_chi_squared_tail(x, 1) - one), 1e-14 + one * 1e-12);
        ck_assert_double_le(fabs(nb_chi_squared_tail(x, 2) - two), 1e-14 + two * 1e-12);
    }
    ck_assert_double_eq(nb_chi_squared_tail(0, 4), 1);
    ck_assert_double_eq(nb_chi_squared_tail(1e6, 4), 0);
}
END_TEST

/* Makes columns from rows of letters; '.' is a missing value. The columns are named a, b, c ... */
static struct nb_columns *columns_of(const char *const *rows, size_t count)
{
    struct nb_columns *c = nb_columns_new(1 << 20);
    size_t width = strlen(rows[0]);
    ck_assert_uint_le(width, 8);
    for (size_t i = 0; i < width; i++)
        ck_assert_int_eq(nb_columns_add(c, (struct nb_string){&"abcdefgh"[i], 1}, NULL), 0);
    for (size_t r = 0; r < count; r++) {
        ck_assert_int_eq(nb_columns_add_row(c, NULL), 0);
        for (size_t i = 0; i < width; i++)
            if (rows[r][i] != '.')
                ck_assert_int_eq(nb_columns_set(c, i, (struct nb_string){rows[r] + i, 1}, NULL), 0);
    }
    ck_assert_int_eq(nb_columns_close(c, NULL), 0);
    return c;
}

/* Returns the sum by its definition, cell by cell, from the rows as written. */
static double slow_g_squared(const char *const *rows, size_t count, const char *strata)
{
    double g = 0;
    for (; *strata != '\0'; strata++)
        for (char x = 'a'; x <= 'c'; x++)
            for (char y = 'a'; y <= 'c'; y++) {
                double all = 0, of_x = 0, of_y = 0, both = 0;
                for (size_t r = 0; r < count; r++) {
                    if (rows[r][2] != *strata || rows[r][0] == '.' || rows[r][1] == '.')
                        continue;
                    all++;
                    of_x += rows[r][0] == x;
                    of_y += rows[r][1] == y;
                    both += rows[r][0] == x && rows[r][1] == y;
                }
                g += both > 0 ? 2 * both * log(both * all / (of_x * of_y)) : 0;
            }
    return g;
}

START_TEST(g_squared)
{
    static const char *const rows[] = {"aau", "aau", "abu", "bbu", "bbu", "cau", "cbu", "aav",
                                       "bav", "bbv", "abv", "abv", "b.v", ".av", "aaw", "baw"};
    const uint32_t given = 2;
    struct nb_columns *c = columns_of(rows, 16);
    struct nb_independence got;
    ck_assert_int_eq(nb_independence_test(c, 0, 1, &given, 1, 1000, &got), 0);
    ck_assert_double_eq_tol(got.g_squared, slow_g_squared(rows, 16, "uvw"), 1e-12);
    /* u: (3 - 1)(2 - 1); v: (2 - 1)(2 - 1), since c does not occur; w: none. */
    ck_assert_double_eq(got.degrees, 3);
    ck_assert_double_eq(got.p, nb_chi_squared_tail(got.g_squared, 3));
    ck_assert_int_eq(nb_independence_test(c, 0, 1, &given, 1, 17, &got), NB_TOO_LARGE);
    ck_assert_int_eq(nb_independence_test(c, 0, 1, &given, 1, 18, &got), 0);
    nb_columns_free(&c);
}
END_TEST

/* A constant column depends on nothing. */
START_TEST(no_degrees)
{
    static const char *const rows[] = {"ab", "ac", "ab"};
    struct nb_columns *c = columns_of(rows, 3);
    struct nb_independence got;
    ck_assert_int_eq(nb_independence_test(c, 0, 1, NULL, 0, 1000, &got), 0);
    ck_assert_double_eq(got.degrees, 0);
    ck_assert_double_eq(got.p, 1);
    nb_columns_free(&c);
}
END_TEST

/* ---- learning -------------------------------------------------------------------------------- */

/* Draws samples of a network; column i is node places[i]. */
static struct nb_columns *sample(const struct nb_network *n, const size_t *places, size_t rows)
{
    struct nb_columns *c = nb_columns_new(rows * n->count);
    struct nb_network_evidence none = nb_network_evidence_none();
    struct nb_random random = nb_random_of(11, 0);
    uint32_t states[NB_NETWORK_NODES];
    for (size_t i = 0; i < n->count; i++)
        ck_assert_int_eq(nb_columns_add(c, nb_string_of(n->nodes[places[i]].name), NULL), 0);
    for (size_t r = 0; r < rows; r++) {
        (void)nb_network_sample(n, &none, &random, states);
        ck_assert_int_eq(nb_columns_add_row(c, NULL), 0);
        for (size_t i = 0; i < n->count; i++) {
            const struct nb_network_node *node = &n->nodes[places[i]];
            ck_assert_int_eq(
                nb_columns_set(c, i, nb_string_of(node->states[states[places[i]]]), NULL), 0);
        }
    }
    ck_assert_int_eq(nb_columns_close(c, NULL), 0);
    return c;
}

static void ck_assert_separator(const struct nb_learned *l, size_t a, size_t b, unsigned set)
{
    const struct nb_separator *s = &l->separators[a * l->pattern->count + b];
    unsigned got = 0;
    for (size_t i = 0; i < s->count; i++)
        got |= 1u << s->nodes[i];
    ck_assert_msg(got == set, "%zu and %zu: %x, not %x", a, b, got, set);
}

/* Pearl 2000, section 2.5: of the sprinkler IC finds X1 - X2 and X1 - X3 undirected, X2 -> X4 <- X3
 * as a v-structure, and X4 -> X5 because the other direction would make another one. */
START_TEST(sprinkler)
{
    static const size_t as_it_is[] = {0, 1, 2, 3, 4};
    struct nb_network *n = test_network(TEST_SPRINKLER, 5);
    struct nb_columns *c = sample(n, as_it_is, 100000);
    struct nb_learned l;
    struct nb_error error = {0};
    ck_assert_msg(nb_learn_columns(c, &SETTINGS, &l, &error) == 0, "%s", error.text);
    struct nb_graph *want = nb_graph_new(5);
    nb_graph_line(want, 0, 1);
    nb_graph_line(want, 0, 2);
    nb_graph_arrow(want, 1, 3);
    nb_graph_arrow(want, 2, 3);
    nb_graph_arrow(want, 3, 4);
    ck_assert_mem_eq(l.pattern->marks, want->marks, 25);
    ck_assert_separator(&l, 1, 2, 1u << 0);           /* rain, sprinkler: season */
    ck_assert_separator(&l, 0, 3, 1u << 1 | 1u << 2); /* season, wet: its Markovian parents */
    ck_assert_separator(&l, 0, 4, 1u << 3);           /* season, slippery: wet */
    ck_assert_uint_eq(l.untested, 0);
    nb_learned_deinit(&l);
    nb_graph_free(&want);
    nb_columns_free(&c);
    nb_network_free(&n);
}
END_TEST

/* The same pattern whatever the order of the columns is. */
START_TEST(order)
{
    struct nb_network *n = test_network(TEST_ASIA, 8);
    struct nb_random random = nb_random_of(1, 1);
    struct nb_graph *first = nb_graph_new(8);
    for (int trial = 0; trial < 6; trial++) {
        size_t places[8];
        for (size_t i = 0; i < 8; i++) {
            size_t j = (size_t)nb_random_below(&random, i + 1);
            places[i] = places[j];
            places[j] = i;
        }
        struct nb_columns *c = sample(n, places, 5000);
        struct nb_learned l;
        ck_assert_int_eq(nb_learn_columns(c, &SETTINGS, &l, NULL), 0);
        for (size_t a = 0; a < 8; a++)
            for (size_t b = 0; b < 8; b++) {
                bool mark = nb_graph_mark(l.pattern, a, b);
                if (trial == 0)
                    first->marks[places[a] * 8 + places[b]] = mark;
                else
                    ck_assert_int_eq(nb_graph_mark(first, places[a], places[b]), mark);
            }
        nb_learned_deinit(&l);
        nb_columns_free(&c);
    }
    nb_graph_free(&first);
    nb_network_free(&n);
}
END_TEST

/* Tests that contradict each other: they make both inner nodes of a chain of four colliders. The
 * edge between these keeps both directions, and this is reported. */
static int contradictory(void *data, size_t a, size_t b, const uint32_t *given, size_t count,
                         double *p)
{
    (void)data;
    (void)given;
    *p = (a + 1 == b || b + 1 == a) ? 0 : count == 0 ? 1 : 0;
    return 0;
}

START_TEST(conflicts)
{
    struct nb_learned l;
    ck_assert_int_eq(nb_learn_pattern(4, contradictory, NULL, &SETTINGS, &l, NULL), 0);
    ck_assert(nb_graph_is_arrow(l.pattern, 0, 1));
    ck_assert(nb_graph_is_arrow(l.pattern, 3, 2));
    ck_assert(nb_graph_is_line(l.pattern, 1, 2));
    ck_assert_int_eq(l.conflicts[1 * 4 + 2], 1);
    ck_assert_int_eq(l.conflicts[0 * 4 + 1], 0);
    nb_learned_deinit(&l);
}
END_TEST

static bool at_once(void *user)
{
    (void)user;
    return true;
}

START_TEST(limits)
{
    static const char *const rows[] = {"aaa", "aba", "bab", "bbb", "aab", "bba"};
    struct nb_columns *c = columns_of(rows, 6);
    struct nb_learn_settings few = SETTINGS, stopped = SETTINGS, small = SETTINGS;
    struct nb_learned l;
    struct nb_error error = {0};
    few.most_tests = 2;
    stopped.stop = at_once;
    small.most_cells = 3;
    ck_assert_int_eq(nb_learn_columns(c, &few, &l, &error), NB_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(error.text, "[networks] tests"));
    ck_assert_int_eq(nb_learn_columns(c, &stopped, &l, &error), NB_STOPPING);
    ck_assert_int_eq(nb_learn_columns(c, &small, &l, &error), 0);
    ck_assert_uint_eq(l.untested, l.tests);
    ck_assert(nb_graph_is_line(l.pattern, 0, 1)); /* what was not tested stays */
    nb_learned_deinit(&l);
    nb_columns_free(&c);
    c = nb_columns_new(3);
    ck_assert_int_eq(nb_columns_add(c, nb_string_of("a"), NULL), 0);
    ck_assert_int_eq(nb_columns_add(c, nb_string_of("b"), NULL), 0);
    ck_assert_int_eq(nb_columns_add_row(c, NULL), 0);
    ck_assert_int_eq(nb_columns_add_row(c, &error), NB_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(error.text, "learn_values"));
    ck_assert_int_eq(nb_columns_close(c, &error), NB_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "'a' has no value"));
    nb_columns_free(&c);
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

/* (N + prior) / (N of the parents' states + states * prior), by hand; missing values count in no
 * table that needs them. */
START_TEST(posterior_means)
{
    static const char *const rows[] = {"xp", "xp", "xq", "yq", "x.", ".q"};
    struct nb_columns *c = columns_of(rows, 6);
    struct nb_graph *g = nb_graph_new(2);
    struct nb_network *n = NULL;
    nb_graph_arrow(g, 0, 1);
    ck_assert_int_eq(nb_learn_tables(c, g, .5, 100, &n, NULL), 0);
    static const double want_a[] = {4.5 / 6, 1.5 / 6};
    static const double want_b[] = {2.5 / 4, 1.5 / 4, .5 / 2, 1.5 / 2};
    for (size_t i = 0; i < 2; i++)
        ck_assert_double_eq_tol(n->nodes[0].table[i], want_a[i], 1e-15);
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq_tol(n->nodes[1].table[i], want_b[i], 1e-15);
    nb_network_free(&n);
    ck_assert_int_eq(nb_learn_tables(c, g, .5, 5, &n, NULL), NB_TOO_LARGE);
    nb_graph_free(&g);
    nb_columns_free(&c);
}
END_TEST

/* Of 100,000 samples the tables come back, along an extension of the learned pattern. */
START_TEST(tables_come_back)
{
    static const size_t as_it_is[] = {0, 1, 2, 3, 4};
    struct nb_network *n = test_network(TEST_SPRINKLER, 5), *again = NULL;
    struct nb_columns *c = sample(n, as_it_is, 100000);
    struct nb_learned l;
    struct nb_graph *extension, *graph = nb_network_graph(n);
    struct nb_inference_limits most = {1000, 1e6};
    struct nb_network_evidence evidence = nb_network_evidence_none();
    ck_assert_int_eq(nb_learn_columns(c, &SETTINGS, &l, NULL), 0);
    ck_assert_int_eq(nb_pattern_extend(l.pattern, &extension), 0);
    ck_assert_int_eq(nb_pattern_compare(graph, extension).difference, NB_PATTERN_SAME);
    ck_assert_int_eq(nb_learn_tables(c, extension, 1, 1000, &again, NULL), 0);
    evidence.states[4] = 0; /* slippery: by bytes its states are no, yes */
    struct nb_network_evidence sorted = nb_network_evidence_none();
    sorted.states[4] = 1;
    for (size_t i = 0; i < 4; i++) {
        double want[2], got[2];
        size_t state = nb_network_find_state(&again->nodes[i], nb_string_of(n->nodes[i].states[0]));
        ck_assert_int_eq(nb_network_infer(n, &evidence, i, &most, want, NULL, NULL), 0);
        ck_assert_int_eq(nb_network_infer(again, &sorted, i, &most, got, NULL, NULL), 0);
        ck_assert_double_eq_tol(got[state], want[0], .01);
    }
    nb_learned_deinit(&l);
    nb_graph_free(&extension);
    nb_graph_free(&graph);
    nb_columns_free(&c);
    nb_network_free(&n);
    nb_network_free(&again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("learn");
    TCase *tests = tcase_create("learn");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, chi_squared);
    tcase_add_test(tests, g_squared);
    tcase_add_test(tests, no_degrees);
    tcase_add_test(tests, sprinkler);
    tcase_add_test(tests, order);
    tcase_add_test(tests, conflicts);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, posterior_means);
    tcase_add_test(tests, tables_come_back);
    return test_run(suite);
}
