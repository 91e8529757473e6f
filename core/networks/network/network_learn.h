/* SPDX-License-Identifier: Apache-2.0
 *
 * IC: the pattern of a graph from independences (Verma and Pearl 1990; Pearl 2000, section 2.5), by
 * the order-independent PC algorithm (Spirtes, Glymour and Scheines 2000; Colombo and Maathuis
 * 2014). One thread.
 *
 * 1. Every two nodes are joined. For set sizes 0, 1, 2 ..., each joined pair is tested given every
 *    set of that size out of the nodes that were joined to one of the two when the size began. If
 *    the greatest p of these tests is above alpha, the edge is removed, and the set with this p
 *    separates the pair.
 * 2. Of a - c - b with a and b not joined, c becomes a collider, a -> c <- b, unless c is in the
 *    set that separates a and b. An edge that would get two directions stays a line: the tests
 *    contradict each other, and the edge is listed among the conflicts.
 * 3. nb_pattern_orient.
 *
 * Since all sets of a size are tested before an edge is removed, and the best one is taken, the
 * result does not depend on the order of the nodes, except for ties: of equal sets the one with the
 * smallest numbers wins. Callers that want no dependence at all number the nodes by name.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_NETWORK_LEARN_H
#define NB_CORE_NETWORKS_NETWORK_NETWORK_LEARN_H

#include "core/networks/network/columns.h"
#include "core/networks/network/graph.h"

/* Whether two columns are independent given others: the G-squared test, the likelihood ratio test
 * of conditional independence (Spirtes, Glymour and Scheines 2000, section 5.5; Neapolitan 2004).
 * Pure functions; any thread. */

/* P(X >= x) of the chi-squared distribution with `degrees` degrees of freedom: the regularized
 * upper incomplete gamma function Q(degrees / 2, x / 2), by its series or its continued fraction
 * (Abramowitz and Stegun 1964, 26.4.19, 6.5.29 and 6.5.31). `degrees` is above 0, x at least 0. */
double nb_chi_squared_tail(double x, double degrees);

struct nb_independence {
    double g_squared, degrees;
    double p; /* probability of data at least as dependent as these, if there is no dependence */
};

/* Tests columns a and b given the columns `given`:
 *
 *     G^2 = 2 sum N_abs ln (N_abs N_s / (N_as N_bs))
 *
 * with degrees of freedom (states of a that occur - 1) (states of b that occur - 1) summed over the
 * combinations s of the given columns' states. A state whose margin is 0 cannot differ, so it adds
 * no degree (Bishop, Fienberg and Holland 1975, section 3.8). Rows in which one of these columns is
 * missing are skipped. With 0 degrees p is 1.
 *
 * Returns 0; NB_TOO_LARGE, without a text: more than `most_cells` counts would be needed;
 * NB_NO_MEMORY. */
int nb_independence_test(const struct nb_columns *columns, size_t a, size_t b,
                         const uint32_t *given, size_t given_count, size_t most_cells,
                         struct nb_independence *result);

struct nb_learn_settings {
    double alpha;         /* 0 to 1: a pair with p above it is taken for independent */
    size_t most_given;    /* the greatest set that is tried */
    uint64_t most_tests;  /* NB_TOO_LARGE beyond it */
    size_t most_cells;    /* counts of one test; a test that needs more is not made */
    bool (*stop)(void *); /* asked before each test; true: NB_STOPPING. NULL: never */
    void *user;
};

/* The set that separates two nodes that are not adjacent. */
struct nb_separator {
    uint32_t *nodes; /* owned; growing */
    size_t count;
    double p;
};

struct nb_learned {
    struct nb_graph *pattern; /* owned */
    /* [a * count + b] for a < b; all 0 for adjacent pairs. */
    struct nb_separator *separators; /* owned */
    unsigned char *conflicts; /* owned: [a * count + b], a < b: would be directed both ways */
    uint64_t tests, untested; /* tests made; tests left out because of most_cells */
};
void nb_learned_deinit(struct nb_learned *learned);

/* A test of independence: sets *p. Returns 0, NB_TOO_LARGE (it cannot be made) or another code. */
typedef int nb_independence_of(void *data, size_t a, size_t b, const uint32_t *given, size_t count,
                               double *p);

/* Learns the pattern of `count` nodes by asking `test`. On success the caller owns the contents of
 * `learned`. Returns 0, NB_TOO_LARGE, NB_STOPPING or NB_NO_MEMORY. */
int nb_learn_pattern(size_t count, nb_independence_of *test, void *data,
                     const struct nb_learn_settings *settings, struct nb_learned *learned,
                     struct nb_error *error);

/* The same, with G-squared tests of columns. */
int nb_learn_columns(const struct nb_columns *columns, const struct nb_learn_settings *settings,
                     struct nb_learned *learned, struct nb_error *error);

/* The network of a graph of arrows whose nodes are the columns: tables are posterior means under a
 * Dirichlet prior of `prior` for each state, (N_xp + prior) / (N_p + states * prior). The table of
 * a node skips rows in which the node or a parent is missing. `prior` is above 0. On success the
 * caller owns *network. Returns 0, NB_TOO_LARGE (more than `most_cells` probabilities) or
 * NB_NO_MEMORY. */
int nb_learn_tables(const struct nb_columns *columns, const struct nb_graph *graph, double prior,
                    size_t most_cells, struct nb_network **network, struct nb_error *error);

#endif
