/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/network.h"
#include "networks.h"
#include "tests/unit/run.h"

static struct nb_network *two_nodes(void)
{
    struct nb_network *n = nb_network_new(100);
    struct test_node a = {"a", "x y", "", {0}}, b = {"b", "x y z", "", {0}};
    test_add(n, &a);
    test_add(n, &b);
    return n;
}

static void ck_assert_says(const struct nb_error *error, int code, const char *a, const char *b)
{
    ck_assert_int_eq(error->code, code);
    ck_assert_msg(strstr(error->text, a) != NULL && strstr(error->text, b) != NULL,
                  "\"%s\" lacks \"%s\" or \"%s\"", error->text, a, b);
}

START_TEST(names)
{
    static const char long_name[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    struct nb_network *n = two_nodes();
    struct nb_error e;
    nb_network_add(n, nb_string_of("a"), &e);
    ck_assert_says(&e, NB_INVALID, "'a'", "twice");
    nb_network_add_state(n, nb_string_of("z"), &e);
    ck_assert_says(&e, NB_INVALID, "'b'", "'z' twice");
    static const struct nb_string bad[] = {{"", 0}, {"a\nb", 3}, {"\xff", 1}, {"a\0b", 3}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(nb_network_add(n, bad[i], &e), NB_UNUSABLE);
        ck_assert_says(&e, NB_UNUSABLE, "name of a node", "UTF-8");
        ck_assert_int_eq(nb_network_add_state(n, bad[i], &e), NB_UNUSABLE);
    }
    ck_assert_int_eq(sizeof long_name - 1, NB_NETWORK_NAME_BYTES);
    ck_assert_int_eq(nb_network_add(n, nb_string_of(long_name), &e), 0);
    struct nb_string longer = {"01234567890123456789012345678901234567890123456789012345678901234",
                               65};
    ck_assert_int_eq(nb_network_add(n, longer, &e), NB_UNUSABLE);
    nb_network_free(&n);
}
END_TEST

START_TEST(parents)
{
    struct nb_network *n = two_nodes();
    struct nb_error e;
    nb_network_add_parent(n, 0, nb_string_of("c"), &e);
    ck_assert_says(&e, NB_INVALID, "'a'", "no node 'c'");
    nb_network_add_parent(n, 0, nb_string_of("a"), &e);
    ck_assert_says(&e, NB_INVALID, "'a'", "its own parent");
    ck_assert_int_eq(nb_network_add_parent(n, 0, nb_string_of("b"), &e), 0);
    nb_network_add_parent(n, 0, nb_string_of("b"), &e);
    ck_assert_says(&e, NB_INVALID, "'a'", "'b' twice");
    nb_network_free(&n);
}
END_TEST

/* Cycles of two and more nodes, beside nodes that lead into them and out of them. */
START_TEST(cycles)
{
    static const char *const edges[][2] = {
        {"r", "a"}, {"a", "b"}, {"b", "c"}, {"c", "a"}, {"c", "o"}};
    static const char *const named[] = {"o", "r", "a", "b", "c"};
    struct nb_error e;
    for (int length = 2; length <= 3; length++) {
        struct nb_network *n = nb_network_new(1000);
        for (size_t i = 0; i < 5; i++) {
            struct test_node node = {named[i], "x y", "", {0}};
            test_add(n, &node);
        }
        for (size_t i = 0; i < 5; i++)
            ck_assert_int_eq(
                nb_network_add_parent(n, test_find(n, edges[i][1]), nb_string_of(edges[i][0]), &e),
                0);
        if (length == 2) /* c -> b closes a shorter one */
            ck_assert_int_eq(nb_network_add_parent(n, test_find(n, "b"), nb_string_of("c"), &e), 0);
        ck_assert_int_eq(nb_network_close(n, &e), NB_INVALID);
        ck_assert_says(&e, NB_INVALID, "ancestor of itself", "cycle");
        ck_assert_ptr_null(strstr(e.text, "'o'"));
        ck_assert_ptr_null(strstr(e.text, "'r'"));
        nb_network_free(&n);
    }
}
END_TEST

START_TEST(tables)
{
    struct nb_network *n = two_nodes();
    struct nb_error e;
    double good[] = {.2, .3, .5}, nearly[] = {.333, .333, .334}, less[] = {.33, .33, .33},
           negative[] = {-.1, .6, .5}, odd[] = {0. / 0., .5, .5};
    ck_assert_int_eq(nb_network_add_parent(n, 1, nb_string_of("a"), &e), 0);
    ck_assert_int_eq(nb_network_close(n, &e), 0);
    ck_assert_uint_eq(n->nodes[1].rows, 2);
    ck_assert_uint_eq(n->cells, 8);
    ck_assert_int_eq(nb_network_set_row(n, 1, 0, good, 3, &e), 0);
    ck_assert_int_eq(nb_network_set_row(n, 1, 1, nearly, 3, &e), 0);
    nb_network_set_row(n, 1, 1, less, 3, &e);
    ck_assert_says(&e, NB_INVALID, "'b': row 2", "0.99");
    nb_network_set_row(n, 1, 0, negative, 3, &e);
    ck_assert_says(&e, NB_INVALID, "'b': row 1", "-0.1");
    nb_network_set_row(n, 1, 0, odd, 3, &e);
    ck_assert_says(&e, NB_INVALID, "'b': row 1", "0 to 1");
    nb_network_set_row(n, 1, 0, good, 2, &e);
    ck_assert_says(&e, NB_INVALID, "2 probabilities", "3 states");
    nb_network_free(&n);
}
END_TEST

START_TEST(limits)
{
    struct nb_network *n = nb_network_new(7);
    struct test_node a = {"a", "x y", "", {0}}, b = {"b", "x y z", "", {0}};
    struct nb_error e;
    test_add(n, &a);
    test_add(n, &b);
    ck_assert_int_eq(nb_network_add_parent(n, 1, nb_string_of("a"), &e), 0);
    ck_assert_int_eq(nb_network_close(n, &e), NB_TOO_LARGE); /* 2 + 6 */
    ck_assert_says(&e, NB_TOO_LARGE, "'b'", "table_cells");
    nb_network_free(&n);
    n = nb_network_new(1u << 20);
    char name[16];
    for (int i = 0; i < NB_NETWORK_NODES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        struct test_node node = {name, "x", "", {0}};
        test_add(n, &node);
    }
    ck_assert_int_eq(nb_network_add(n, nb_string_of("more"), &e), NB_TOO_LARGE);
    for (int i = 1; i < NB_NETWORK_STATES; i++) {
        snprintf(name, sizeof name, "s%d", i);
        ck_assert_int_eq(nb_network_add_state(n, nb_string_of(name), &e), 0);
    }
    ck_assert_int_eq(nb_network_add_state(n, nb_string_of("more"), &e), NB_TOO_LARGE);
    nb_network_free(&n);
}
END_TEST

/* So many parents that the product of their states overflows. */
START_TEST(overflow)
{
    struct nb_network *n = nb_network_new(1u << 20);
    struct nb_error e;
    char name[16];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%d", i);
        struct test_node node = {name, "a b c d", "", {0}};
        test_add(n, &node);
    }
    for (int i = 0; i < 99; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ck_assert_int_eq(nb_network_add_parent(n, 99, nb_string_of(name), &e), 0);
    }
    ck_assert_int_eq(nb_network_close(n, &e), NB_TOO_LARGE);
    ck_assert_says(&e, NB_TOO_LARGE, "'n99'", "table_cells");
    nb_network_free(&n);
}
END_TEST

START_TEST(incomplete)
{
    struct nb_network *n = nb_network_new(100);
    struct nb_error e;
    ck_assert_int_eq(nb_network_close(n, &e), NB_INVALID);
    ck_assert_says(&e, NB_INVALID, "at least", "one node");
    ck_assert_int_eq(nb_network_add(n, nb_string_of("a"), &e), 0);
    ck_assert_int_eq(nb_network_close(n, &e), NB_INVALID);
    ck_assert_says(&e, NB_INVALID, "'a'", "no states");
    nb_network_free(&n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("network");
    TCase *tests = tcase_create("network");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, names);
    tcase_add_test(tests, parents);
    tcase_add_test(tests, cycles);
    tcase_add_test(tests, tables);
    tcase_add_test(tests, limits);
    tcase_add_test(tests, overflow);
    tcase_add_test(tests, incomplete);
    return test_run(suite);
}
