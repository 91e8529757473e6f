/* SPDX-License-Identifier: Apache-2.0
 *
 * Networks for tests: written down as rows, or drawn at random.
 */
#ifndef NB_TESTS_UNIT_CORE_NETWORK_NETWORKS_H
#define NB_TESTS_UNIT_CORE_NETWORK_NETWORKS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/random.h"
#include "core/networks/network/network.h"

enum { TEST_CELLS = 1 << 20, TEST_ROWS = 16 };

/* A node: states and parents are separated by blanks. A node with two states has, for each row, the
 * probability of the first state. */
struct test_node {
    const char *name, *states, *parents;
    double first[TEST_ROWS];
};

/* Takes the next word of *text and moves *text on; length 0: there is none. */
static inline struct nb_string test_word(const char **text)
{
    *text += strspn(*text, " ");
    struct nb_string word = {*text, strcspn(*text, " ")};
    *text += word.length;
    return word;
}

static inline void test_add(struct nb_network *n, const struct test_node *node)
{
    struct nb_error error = {0};
    const char *states = node->states;
    ck_assert_msg(nb_network_add(n, nb_string_of(node->name), &error) == 0, "%s", error.text);
    for (struct nb_string s = test_word(&states); s.length > 0; s = test_word(&states))
        ck_assert_msg(nb_network_add_state(n, s, &error) == 0, "%s", error.text);
}

static inline struct nb_network *test_network(const struct test_node *nodes, size_t count)
{
    struct nb_network *n = nb_network_new(TEST_CELLS);
    struct nb_error error = {0};
    for (size_t i = 0; i < count; i++)
        test_add(n, &nodes[i]);
    for (size_t i = 0; i < count; i++) {
        const char *parents = nodes[i].parents;
        for (struct nb_string p = test_word(&parents); p.length > 0; p = test_word(&parents))
            ck_assert_msg(nb_network_add_parent(n, i, p, &error) == 0, "%s", error.text);
    }
    ck_assert_msg(nb_network_close(n, &error) == 0, "%s", error.text);
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < n->nodes[i].rows; row++) {
            double values[] = {nodes[i].first[row], 1 - nodes[i].first[row]};
            ck_assert_msg(nb_network_set_row(n, i, row, values, 2, &error) == 0, "%s", error.text);
        }
    return n;
}

static inline size_t test_find(const struct nb_network *n, const char *name)
{
    size_t found = nb_network_find(n, nb_string_of(name));
    ck_assert_msg(found != SIZE_MAX, "no node %s", name);
    return found;
}

static inline double test_fraction(struct nb_random *random)
{
    return (double)(nb_random_next(random) >> 11) * 0x1p-53;
}

/* Makes a network of `count` nodes n0, n1 ... with 1 to 3 states each. Two nodes have an edge with
 * the probability `density`; some probabilities are 0. */
static inline struct nb_network *test_random_network(struct nb_random *random, size_t count,
                                                     double density)
{
    struct nb_network *n = nb_network_new(TEST_CELLS);
    char name[16];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        ck_assert_int_eq(nb_network_add(n, nb_string_of(name), NULL), 0);
        uint64_t states = nb_random_below(random, 8) == 0 ? 1 : 2 + nb_random_below(random, 2);
        for (uint64_t s = 0; s < states; s++)
            ck_assert_int_eq(nb_network_add_state(n, (struct nb_string){&"abc"[s], 1}, NULL), 0);
    }
    /* From later to earlier ones in half of the networks: numbers are no order. */
    uint64_t turned = nb_random_below(random, 2);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            if (test_fraction(random) >= density)
                continue;
            snprintf(name, sizeof name, "n%zu", turned ? i : j);
            ck_assert_int_eq(nb_network_add_parent(n, turned ? j : i, nb_string_of(name), NULL), 0);
        }
    ck_assert_int_eq(nb_network_close(n, NULL), 0);
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < n->nodes[i].rows; row++) {
            double values[3], sum = 0;
            uint32_t states = n->nodes[i].state_count;
            for (uint32_t s = 0; s < states; s++) {
                values[s] = s > 0 && nb_random_below(random, 10) == 0 ? 0 : test_fraction(random);
                sum += values[s];
            }
            for (uint32_t s = 0; s < states; s++)
                values[s] /= sum;
            ck_assert_int_eq(nb_network_set_row(n, i, row, values, states, NULL), 0);
        }
    return n;
}

/* Pearl 2000, figure 1.2: the season (X1) governs rain (X2) and the sprinkler (X3), which make the
 * pavement wet (X4) and so slippery (X5). */
static const struct test_node TEST_SPRINKLER[] = {
    {"season", "dry rainy", "", {.6}},
    {"rain", "yes no", "season", {.1, .8}},
    {"sprinkler", "on off", "season", {.6, .1}},
    {"wet", "yes no", "rain sprinkler", {.99, .9, .85, .02}},
    {"slippery", "yes no", "wet", {.8, .05}},
};

/* Lauritzen and Spiegelhalter 1988, figure 2 and table 1. */
static const struct test_node TEST_ASIA[] = {
    {"asia", "yes no", "", {.01}},
    {"tub", "yes no", "asia", {.05, .01}},
    {"smoke", "yes no", "", {.5}},
    {"lung", "yes no", "smoke", {.1, .01}},
    {"bronc", "yes no", "smoke", {.6, .3}},
    {"either", "yes no", "lung tub", {1, 1, 1, 0}},
    {"xray", "yes no", "either", {.98, .05}},
    {"dysp", "yes no", "bronc either", {.9, .8, .7, .1}},
};

#endif
