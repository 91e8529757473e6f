/* SPDX-License-Identifier: Apache-2.0
 *
 * d-separation, patterns and equivalence, compared with their definitions, computed slowly.
 */
#include "core/networks/network/graph.h"
#include "core/networks/network/network_learn.h"
#include "networks.h"
#include "tests/unit/run.h"

enum { MOST = 6 }; /* nodes of a graph of which all orientations are tried */

static struct nb_graph *random_dag(struct nb_random *random, size_t count, double density)
{
    struct nb_graph *g = nb_graph_new(count);
    uint64_t turned = nb_random_below(random, 2);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (test_fraction(random) < density)
                nb_graph_arrow(g, turned ? i : j, turned ? j : i);
    return g;
}

static void ck_assert_same(const struct nb_graph *a, const struct nb_graph *b, const char *what,
                           int trial)
{
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_msg(memcmp(a->marks, b->marks, a->count * a->count) == 0, "%s, trial %d", what,
                  trial);
}

/* ---- d-separation by all paths --------------------------------------------------------------- */

struct path {
    const struct nb_graph *g;
    const nb_node_set *given, *to;
    size_t nodes[MOST + 2], length;
};

static bool has_given_descendant(const struct path *p, size_t node)
{
    uint32_t scratch[2 * MOST + 4];
    for (size_t i = 0; i < p->g->count; i++)
        if (p->given[i] && nb_graph_leads(p->g, node, i, scratch))
            return true;
    return false;
}

static bool is_active(const struct path *p)
{
    for (size_t i = 1; i + 1 < p->length; i++) {
        size_t node = p->nodes[i];
        bool meets = nb_graph_is_arrow(p->g, p->nodes[i - 1], node) &&
                     nb_graph_is_arrow(p->g, p->nodes[i + 1], node);
        if (meets ? !has_given_descendant(p, node) : p->given[node] != 0)
            return false;
    }
    return true;
}

/* Returns whether a path that begins as `p` leads to `to` and is active. */
static bool any_path(struct path *p)
{
    size_t at = p->nodes[p->length - 1];
    if (p->to[at])
        return is_active(p);
    for (size_t next = 0; next < p->g->count; next++) {
        bool is_new = nb_graph_is_adjacent(p->g, at, next);
        for (size_t i = 0; i < p->length; i++)
            is_new = is_new && p->nodes[i] != next;
        if (!is_new)
            continue;
        p->nodes[p->length++] = next;
        bool found = any_path(p);
        p->length--;
        if (found)
            return true;
    }
    return false;
}

static bool separates_slowly(const struct nb_graph *g, const nb_node_set *from,
                             const nb_node_set *to, const nb_node_set *given)
{
    for (size_t i = 0; i < g->count; i++) {
        struct path p = {g, given, to, {i}, 1};
        if (from[i] && any_path(&p))
            return false;
    }
    return true;
}

START_TEST(separation)
{
    struct nb_random random = nb_random_of(3, 4);
    int separated = 0;
    for (int trial = 0; trial < 3000; trial++) {
        struct nb_graph *g = random_dag(&random, 2 + (size_t)nb_random_below(&random, MOST - 1),
                                        test_fraction(&random));
        nb_node_set from[MOST] = {0}, to[MOST] = {0}, given[MOST] = {0};
        for (size_t i = 0; i < g->count; i++) {
            uint64_t kind = nb_random_below(&random, 4);
            from[i] = kind == 0;
            to[i] = kind == 1;
            given[i] = kind == 2;
        }
        bool got, want = separates_slowly(g, from, to, given);
        ck_assert_int_eq(nb_graph_separates(g, from, to, given, &got), 0);
        ck_assert_msg(got == want, "trial %d: %d, not %d", trial, got, want);
        separated += want;
        nb_graph_free(&g);
    }
    ck_assert_int_gt(separated, 500);
    ck_assert_int_lt(separated, 2500);
}
END_TEST

static bool separates(const struct nb_network *n, const char *a, const char *b, const char *given)
{
    struct nb_graph *g = nb_network_graph(n);
    nb_node_set from[8] = {0}, to[8] = {0}, known[8] = {0};
    bool separated;
    from[test_find(n, a)] = to[test_find(n, b)] = 1;
    for (struct nb_string w = test_word(&given); w.length > 0; w = test_word(&given))
        known[nb_network_find(n, w)] = 1;
    ck_assert_int_eq(nb_graph_separates(g, from, to, known, &separated), 0);
    nb_graph_free(&g);
    return separated;
}

/* Pearl 2000, chapter 1: the sprinkler. */
START_TEST(sprinkler)
{
    struct nb_network *n = test_network(TEST_SPRINKLER, 5);
    ck_assert(separates(n, "slippery", "season", "wet"));
    ck_assert(!separates(n, "slippery", "season", ""));
    ck_assert(separates(n, "rain", "sprinkler", "season"));
    ck_assert(!separates(n, "rain", "sprinkler", "season wet"));
    ck_assert(!separates(n, "rain", "sprinkler", "season slippery"));
    /* X4's Markovian parents are X2 and X3: given them it is independent of X1, and given less it
     * is not. */
    ck_assert(separates(n, "wet", "season", "rain sprinkler"));
    ck_assert(!separates(n, "wet", "season", "rain"));
    ck_assert(!separates(n, "wet", "season", "sprinkler"));
    nb_network_free(&n);
}
END_TEST

/* Grades and character are independent; among those who were admitted they are not. Smoking causes
 * cancer, or a gene causes both. */
START_TEST(colliders_and_common_causes)
{
    static const struct test_node admission[] = {
        {"gpa", "high low", "", {.5}},
        {"personality", "good bad", "", {.5}},
        {"admission", "yes no", "gpa personality", {.9, .6, .5, .1}},
    };
    static const struct test_node cancer[] = {
        {"gene", "yes no", "", {.3}},
        {"smoking", "yes no", "gene", {.8, .3}},
        {"cancer", "yes no", "gene", {.2, .02}},
    };
    struct nb_network *n = test_network(admission, 3);
    ck_assert(separates(n, "gpa", "personality", ""));
    ck_assert(!separates(n, "gpa", "personality", "admission"));
    nb_network_free(&n);
    n = test_network(cancer, 3);
    ck_assert(!separates(n, "smoking", "cancer", ""));
    ck_assert(separates(n, "smoking", "cancer", "gene"));
    nb_network_free(&n);
}
END_TEST

/* ---- patterns by all orientations ------------------------------------------------------------ */

/* Returns the independences of a graph: a bit for every pair and every given set. */
static size_t meaning(const struct nb_graph *g, unsigned char *independences)
{
    size_t n = g->count, at = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            for (unsigned set = 0; set < 1u << n; set++) {
                nb_node_set from[MOST] = {0}, to[MOST] = {0}, given[MOST] = {0};
                bool separated = false;
                for (size_t i = 0; i < n; i++)
                    given[i] = (set >> i & 1) != 0 && i != a && i != b;
                from[a] = to[b] = 1;
                ck_assert_int_eq(nb_graph_separates(g, from, to, given, &separated), 0);
                independences[at++] = separated;
            }
    return at;
}

static bool mean_the_same(const struct nb_graph *a, const struct nb_graph *b)
{
    unsigned char of_a[MOST * MOST << MOST], of_b[MOST * MOST << MOST];
    size_t length = meaning(a, of_a);
    ck_assert_uint_eq(length, meaning(b, of_b));
    return memcmp(of_a, of_b, length) == 0;
}

/* Returns the pattern by its definition: the edges that are common to all acyclic orientations with
 * the same independences. */
static struct nb_graph *pattern_slowly(const struct nb_graph *g)
{
    size_t edges[MOST * MOST][2], count = 0;
    uint32_t order[MOST];
    struct nb_graph *pattern = nb_graph_new(g->count);
    for (size_t a = 0; a < g->count; a++)
        for (size_t b = 0; b < a; b++)
            if (nb_graph_is_adjacent(g, a, b)) {
                edges[count][0] = a;
                edges[count++][1] = b;
            }
    for (unsigned way = 0; way < 1u << count; way++) {
        struct nb_graph *other = nb_graph_new(g->count);
        for (size_t e = 0; e < count; e++) {
            unsigned turned = way >> e & 1;
            nb_graph_arrow(other, edges[e][turned], edges[e][!turned]);
        }
        if (nb_graph_sort(other, order) == g->count && mean_the_same(g, other))
            for (size_t i = 0; i < g->count * g->count; i++)
                pattern->marks[i] |= other->marks[i];
        nb_graph_free(&other);
    }
    return pattern;
}

static int oracle(void *data, size_t a, size_t b, const uint32_t *given, size_t count, double *p)
{
    nb_node_set from[MOST] = {0}, to[MOST] = {0}, known[MOST] = {0};
    bool separated = false;
    from[a] = to[b] = 1;
    for (size_t i = 0; i < count; i++)
        known[given[i]] = 1;
    int rc = nb_graph_separates(data, from, to, known, &separated);
    *p = separated ? 1 : 0;
    return rc;
}

static void check_extension(const struct nb_graph *g, const struct nb_graph *pattern, int trial)
{
    struct nb_graph *extension;
    uint32_t order[MOST];
    ck_assert_int_eq(nb_pattern_extend(pattern, &extension), 0);
    ck_assert_ptr_nonnull(extension);
    ck_assert_uint_eq(nb_graph_sort(extension, order), g->count);
    ck_assert_int_eq(nb_pattern_compare(g, extension).difference, NB_PATTERN_SAME);
    ck_assert_msg(mean_the_same(g, extension), "trial %d", trial);
    nb_graph_free(&extension);
}

/* The pattern of a graph; what IC finds when it is told the graph's independences; and an
 * extension, which means the same. */
START_TEST(patterns)
{
    struct nb_random random = nb_random_of(5, 6);
    struct nb_learn_settings settings = {.alpha = .5, .most_given = MOST, .most_tests = 100000};
    int lines = 0, arrows = 0;
    for (int trial = 0; trial < 150; trial++) {
        struct nb_graph *g =
            random_dag(&random, 2 + (size_t)nb_random_below(&random, 4), test_fraction(&random));
        struct nb_graph *want = pattern_slowly(g), *got = nb_pattern_of(g);
        struct nb_learned learned;
        ck_assert_same(got, want, "pattern", trial);
        ck_assert_int_eq(nb_learn_pattern(g->count, oracle, g, &settings, &learned, NULL), 0);
        ck_assert_same(learned.pattern, want, "IC", trial);
        check_extension(g, want, trial);
        for (size_t a = 0; a < g->count; a++)
            for (size_t b = 0; b < g->count; b++) {
                lines += a != b && nb_graph_is_line(want, a, b);
                arrows += a != b && nb_graph_is_arrow(want, a, b);
            }
        nb_learned_deinit(&learned);
        nb_graph_free(&g);
        nb_graph_free(&want);
        nb_graph_free(&got);
    }
    ck_assert_int_gt(lines, 100);
    ck_assert_int_gt(arrows, 100);
}
END_TEST

/* Verma and Pearl's theorem: same edges and v-structures, same independences. */
START_TEST(equivalence)
{
    struct nb_random random = nb_random_of(7, 8);
    int same = 0;
    for (int trial = 0; trial < 600; trial++) {
        size_t count = 2 + (size_t)nb_random_below(&random, 3);
        struct nb_graph *a = random_dag(&random, count, .7), *b = random_dag(&random, count, .7);
        struct nb_pattern_answer answer = nb_pattern_compare(a, b);
        ck_assert_msg((answer.difference == NB_PATTERN_SAME) == mean_the_same(a, b), "trial %d",
                      trial);
        same += answer.difference == NB_PATTERN_SAME;
        nb_graph_free(&a);
        nb_graph_free(&b);
    }
    ck_assert_int_gt(same, 50);
}
END_TEST

/* The difference is named: X -> Y -> Z and X <- Y <- Z are the same, X -> Y <- Z is not. */
START_TEST(differences)
{
    struct nb_graph *chain = nb_graph_new(3), *back = nb_graph_new(3), *met = nb_graph_new(3);
    nb_graph_arrow(chain, 0, 1);
    nb_graph_arrow(chain, 1, 2);
    nb_graph_arrow(back, 2, 1);
    nb_graph_arrow(back, 1, 0);
    nb_graph_arrow(met, 0, 1);
    nb_graph_arrow(met, 2, 1);
    ck_assert_int_eq(nb_pattern_compare(chain, back).difference, NB_PATTERN_SAME);
    struct nb_pattern_answer answer = nb_pattern_compare(chain, met);
    ck_assert_int_eq(answer.difference, NB_PATTERN_V_STRUCTURE);
    ck_assert(!answer.is_in_first && answer.a == 0 && answer.b == 2 && answer.c == 1);
    nb_graph_cut(met, 0, 1);
    answer = nb_pattern_compare(chain, met);
    ck_assert_int_eq(answer.difference, NB_PATTERN_EDGE);
    ck_assert(answer.is_in_first && answer.a == 0 && answer.b == 1);
    nb_graph_free(&chain);
    nb_graph_free(&back);
    nb_graph_free(&met);
}
END_TEST

/* A square of lines has no orientation without a v-structure. */
START_TEST(no_extension)
{
    struct nb_graph *square = nb_graph_new(4), *extension;
    for (size_t i = 0; i < 4; i++)
        nb_graph_line(square, i, (i + 1) % 4);
    ck_assert_int_eq(nb_pattern_extend(square, &extension), 0);
    ck_assert_ptr_null(extension);
    nb_graph_free(&square);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graphs");
    TCase *tests = tcase_create("graphs");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, separation);
    tcase_add_test(tests, sprinkler);
    tcase_add_test(tests, colliders_and_common_causes);
    tcase_add_test(tests, patterns);
    tcase_add_test(tests, equivalence);
    tcase_add_test(tests, differences);
    tcase_add_test(tests, no_extension);
    return test_run(suite);
}
