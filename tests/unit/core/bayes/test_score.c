/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/explain.h"
#include "core/bayes/scorer.h"
#include "tests/unit/run.h"

static uint64_t random_state;
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(2685821657736338717) >> 32) * n >> 32);
}

static void random_seed(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    random_state = seed * 2 + 1;
}

static bool close_to(double got, double want)
{
    double scale = fmax(1.0, fmax(fabs(got), fabs(want)));
    return fabs(got - want) <= 1e-9 * scale;
}

#define ck_assert_close(got, want)                                                                 \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        ck_assert_msg(close_to(got_, want_), "%s is %.17g, must be %.17g", #got, got_, want_);     \
    } while (0)

/* ---- a small model and the same kept in a table ---------------------------------------------- */

enum { WORDS = 60, LABELS = 7, EVENTS = 4 };

struct small {
    struct nb_model *model;
    uint32_t labels; /* the last of them never gets a document */
    uint64_t n[LABELS][WORDS], d[LABELS][WORDS], documents[LABELS];
};

/* Returns the field of a word. One word in ten is in a field that has no tokens, and must never
 * count. */
static enum nb_field word_field(uint32_t word)
{
    return word % 10 == 9 ? NB_FIELD_PAIR : (enum nb_field)(word % 3);
}

/* Returns an id for a word. Ids, like hashes, are in another order than rows; nothing else depends
 * on them. */
static uint64_t word_id(uint32_t word)
{
    return nb_feature_id(word_field(word), (word + 1) * UINT64_C(0xD6E8FEB86659FD93));
}

/* Makes a model whose label names sort in the opposite order of their numbers. */
static void small_init(struct small *s, uint32_t labels)
{
    *s = (struct small){.model = nb_model_new(), .labels = labels};
    for (uint32_t v = 0; v < labels; v++) {
        char name[] = {(char)('z' - (int)v), '\0'};
        uint32_t label;
        ck_assert_int_eq(nb_model_label(s->model, (struct nb_string){name, 1}, &label), 0);
    }
    for (uint32_t w = 0; w < WORDS - 5; w++) { /* the last five are never in the model */
        uint32_t row;
        ck_assert_int_eq(nb_model_append(s->model, word_id(w), &row), 0);
    }
}

static void small_apply(struct small *s, uint32_t label, const uint32_t *counts, int sign)
{
    struct nb_row_count rows[WORDS];
    size_t size = 0;
    for (uint32_t w = 0; w < WORDS - 5; w++) {
        if (counts[w] == 0)
            continue;
        rows[size++] = (struct nb_row_count){w, counts[w]};
        s->n[label][w] += sign > 0 ? counts[w] : -(uint64_t)counts[w];
        s->d[label][w] += (uint64_t)(int64_t)sign;
    }
    s->documents[label] += (uint64_t)(int64_t)sign;
    ck_assert_int_eq(nb_model_add(s->model, label, rows, size, sign, NULL), 0);
    nb_model_add_documents(s->model, label, sign);
}

static void random_counts(uint32_t *counts)
{
    memset(counts, 0, WORDS * sizeof *counts);
    for (uint32_t i = random_below(25); i > 0; i--)
        counts[random_below(3) == 0 ? random_below(6) : random_below(WORDS)]++;
}

static void small_train(struct small *s, uint32_t documents)
{
    uint32_t counts[WORDS];
    for (uint32_t i = 0; i < documents; i++) {
        random_counts(counts);
        uint32_t v = random_below(s->labels == 1 ? 1 : s->labels - 1);
        for (uint32_t w = v; w < WORDS; w += LABELS) /* labels differ */
            counts[w] += counts[w] != 0;
        small_apply(s, v, counts, 1);
    }
}

static size_t bag_of(const uint32_t *counts, struct nb_feature *bag)
{
    size_t size = 0;
    for (uint32_t w = 0; w < WORDS; w++)
        if (counts[w] != 0)
            bag[size++] = (struct nb_feature){word_id(w), counts[w], 0};
    return size;
}

/* ---- the formulas as they stand in the books, slowly ----------------------------------------- */

static uint64_t total_of(const struct small *s, uint32_t w)
{
    uint64_t sum = 0;
    for (uint32_t v = 0; v < s->labels; v++)
        sum += s->n[v][w];
    return sum;
}

static uint64_t open_first(uint64_t id)
{
    return (id & NB_FEATURE_OPEN) << (64 - NB_FEATURE_OPEN_BITS) | id / (NB_FEATURE_OPEN + 1);
}

/* Returns whether w is among the first `skip_top` words, ordered by occurrences, then by the open
 * bits of their ids, then by the others. */
static bool skipped(const struct small *s, uint32_t w, uint64_t skip_top)
{
    uint64_t before = 0;
    for (uint32_t u = 0; u < WORDS; u++) {
        if (word_field(u) == NB_FIELD_PAIR || total_of(s, u) == 0)
            continue;
        if (total_of(s, u) > total_of(s, w) ||
            (total_of(s, u) == total_of(s, w) && open_first(word_id(u)) < open_first(word_id(w))))
            before++;
    }
    return before < skip_top;
}

static bool used(const struct small *s, const struct nb_settings *set, uint32_t w)
{
    if (word_field(w) == NB_FIELD_PAIR || total_of(s, w) == 0 || total_of(s, w) < set->min_count)
        return false;
    return !skipped(s, w, set->skip_top);
}

static double slow_weight(const struct small *s, const struct nb_settings *set, uint32_t v)
{
    if (set->prior == NB_PRIOR_EMPIRICAL)
        return (double)s->documents[v];
    if (set->prior == NB_PRIOR_UNIFORM)
        return 1;
    double mean = 0;
    for (size_t i = 0; i < set->weight_count; i++) {
        if (set->weights[i].label[0] == (char)('z' - (int)v))
            return set->weights[i].weight;
        mean += set->weights[i].weight / (double)set->weight_count;
    }
    return mean;
}

static double slow_prior(const struct small *s, const struct nb_settings *set, uint32_t v)
{
    double sum = 0;
    for (uint32_t u = 0; u < s->labels; u++)
        sum += s->documents[u] == 0 ? 0 : slow_weight(s, set, u);
    return log(slow_weight(s, set, v) / sum);
}

static double slow_score(const struct small *s, const struct nb_settings *set, uint32_t v,
                         const uint32_t *counts)
{
    double score = slow_prior(s, set, v);
    double alpha = set->smoothing;
    double size = 0, nv = 0, dv = 0, rest = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        if (!used(s, set, w))
            continue;
        size++;
        nv += (double)s->n[v][w];
        dv += (double)s->d[v][w];
        rest += (double)(total_of(s, w) - s->n[v][w]);
    }
    for (uint32_t w = 0; w < WORDS; w++) {
        if (!used(s, set, w))
            continue;
        double p = ((double)s->d[v][w] + alpha) / ((double)s->documents[v] + 2 * alpha);
        if (set->event_model == NB_EVENT_BERNOULLI)
            score += log(counts[w] != 0 ? p : 1 - p);
        if (counts[w] == 0)
            continue;
        if (set->event_model == NB_EVENT_MULTINOMIAL)
            score += counts[w] * log(((double)s->n[v][w] + alpha) / (nv + alpha * size));
        if (set->event_model == NB_EVENT_BINARY)
            score += log(((double)s->d[v][w] + alpha) / (dv + alpha * size));
        if (set->event_model == NB_EVENT_COMPLEMENT)
            score -= counts[w] *
                     log(((double)(total_of(s, w) - s->n[v][w]) + alpha) / (rest + alpha * size));
    }
    return score;
}

static void check_order_and_shares(const struct small *s, const struct nb_scores *scores)
{
    double best = -INFINITY, sum = 0;
    for (size_t i = 0; i < scores->size; i++) {
        if (i > 0) /* names sort against the numbers */
            ck_assert_uint_gt(scores->labels[i - 1], scores->labels[i]);
        ck_assert_uint_gt(s->documents[scores->labels[i]], 0);
        best = fmax(best, scores->log_scores[i]);
    }
    for (size_t i = 0; i < scores->size; i++)
        sum += exp(scores->log_scores[i] - best);
    for (size_t i = 0; i < scores->size; i++)
        ck_assert_close(scores->probabilities[i], exp(scores->log_scores[i] - best) / sum);
    ck_assert(scores->log_scores[scores->best] == best);
}

static void check_document(const struct small *s, const struct nb_settings *set,
                           struct nb_scorer *scorer, const uint32_t *counts,
                           struct nb_scores *scores)
{
    struct nb_feature bag[WORDS];
    size_t size = bag_of(counts, bag);
    ck_assert_int_eq(nb_score(scorer, s->model, bag, size, scores, NULL), 0);
    size_t with_documents = 0;
    for (uint32_t v = 0; v < s->labels; v++)
        with_documents += s->documents[v] != 0;
    ck_assert_uint_eq(scores->size, with_documents);
    check_order_and_shares(s, scores);
    for (size_t i = 0; i < scores->size; i++)
        ck_assert_close(scores->log_scores[i], slow_score(s, set, scores->labels[i], counts));
    uint64_t total = 0, known = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        total += word_field(w) == NB_FIELD_PAIR ? 0 : counts[w];
        known += used(s, set, w) ? counts[w] : 0;
    }
    ck_assert_uint_eq(scores->total, total);
    ck_assert_uint_eq(scores->known, known);
}

static void check_explanation(const struct small *s, const struct nb_settings *set,
                              struct nb_scorer *scorer, const uint32_t *counts,
                              const struct nb_scores *scores)
{
    struct nb_feature bag[WORDS];
    struct nb_evidence rows[WORDS + 1];
    size_t size = bag_of(counts, bag);
    size_t count = 0;
    ck_assert_int_eq(nb_explain(scorer, s->model, bag, size, NULL, scores, rows, &count), 0);
    size_t words = 0;
    for (uint32_t w = 0; w < WORDS; w++)
        words += counts[w] != 0 && used(s, set, w);
    ck_assert_uint_eq(count, words + 1);
    ck_assert_uint_eq(rows[words].feature, NB_NO_FEATURE);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += rows[i].evidence;
    ck_assert_close(sum, scores->log_scores[scores->best] - scores->log_scores[scores->second]);
}

static struct nb_prior_weight given[] = {
    {(char[]){"v"}, 3}, {(char[]){"x"}, 0.25}, {(char[]){"z"}, 1}};

static struct nb_settings random_settings(int event)
{
    static const double smoothings[] = {1.0, 0.01, 7.5, 1e-6};
    struct nb_settings set;
    nb_settings_init(&set, NB_PRESET_TEXT);
    set.event_model = event;
    set.smoothing = smoothings[random_below(4)];
    set.prior = (int)random_below(3);
    if (set.prior == NB_PRIOR_GIVEN) {
        set.weights = given;
        set.weight_count = 3;
    }
    set.min_count = random_below(3) == 0 ? random_below(8) : 0;
    set.skip_top = random_below(3) == 0 ? random_below(20) : 0;
    set.skip_top = random_below(20) == 0 ? 1000 : set.skip_top;
    return set;
}

START_TEST(scores_agree_with_the_formulas)
{
    random_seed(1000 + (uint64_t)_i);
    for (int round = 0; round < 60; round++) {
        struct small s;
        small_init(&s, 1 + random_below(LABELS));
        struct nb_settings set = random_settings(_i);
        struct nb_scorer *scorer;
        ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
        struct nb_scores scores;
        nb_scores_init(&scores);
        for (int step = 0; step < 5; step++) { /* counts move, the scorer stays */
            uint32_t counts[WORDS];
            small_train(&s, 1 + random_below(10));
            for (int i = 0; i < 4; i++) {
                random_counts(counts);
                if (i == 3)
                    memset(counts, 0, sizeof counts);
                check_document(&s, &set, scorer, counts, &scores);
                check_explanation(&s, &set, scorer, counts, &scores);
            }
        }
        nb_scores_deinit(&scores);
        nb_scorer_free(&scorer);
        ck_assert_ptr_null(scorer);
        nb_model_free(&s.model);
    }
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

/* Three documents: y = "sun sun wind", y = "sun rain", n = "rain rain". Six words' worth of counts:
 *            n_y  d_y  n_n  d_n          the document: "sun rain rain hail"; hail is unknown
 *   sun       3    2    0    0           |V| = 3, n_y = 5, d_y = 4, n_n = 2, d_n = 1
 *   wind      1    1    0    0           documents: y 2, n 1
 *   rain      1    1    2    1 */
static void hand_model(struct small *s)
{
    small_init(s, 3); /* z: y of the comment, y: n of the comment, x: never a document */
    uint32_t counts[WORDS] = {[0] = 2, [1] = 1};
    small_apply(s, 0, counts, 1);
    uint32_t second[WORDS] = {[0] = 1, [2] = 1};
    small_apply(s, 0, second, 1);
    uint32_t third[WORDS] = {[2] = 2};
    small_apply(s, 1, third, 1);
}

START_TEST(worked_example)
{
    static const struct {
        int event;
        double yes, no; /* products of the fractions, before the logarithm */
    } cases[] = {
        /* multinomial, alpha 1: 2/3 (4/8) (2/8)^2; 1/3 (1/5) (3/5)^2 */
        {NB_EVENT_MULTINOMIAL, 2. / 3 * 4 / 8 * 2 / 8 * 2 / 8, 1. / 3 * 1 / 5 * 3 / 5 * 3 / 5},
        /* binary: 2/3 (3/7) (2/7); 1/3 (1/4) (2/4) */
        {NB_EVENT_BINARY, 2. / 3 * 3 / 7 * 2 / 7, 1. / 3 * 1 / 4 * 2 / 4},
        /* bernoulli: 2/3 sun 3/4, rain 2/4, no wind 2/4; 1/3 sun 1/3, rain 2/3, no wind 2/3 */
        {NB_EVENT_BERNOULLI, 2. / 3 * 3 / 4 * 2 / 4 * 2 / 4, 1. / 3 * 1 / 3 * 2 / 3 * 2 / 3},
        /* complement: 2/3 over (1/5)(3/5)^2; 1/3 over (4/8)(2/8)^2 */
        {NB_EVENT_COMPLEMENT, 2. / 3 / (1. / 5 * 3 / 5 * 3 / 5), 1. / 3 / (4. / 8 * 2 / 8 * 2 / 8)},
    };
    struct small s;
    hand_model(&s);
    struct nb_settings set;
    nb_settings_init(&set, NB_PRESET_TEXT);
    set.event_model = cases[_i].event;
    struct nb_scorer *scorer;
    struct nb_scores scores;
    nb_scores_init(&scores);
    ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
    struct nb_feature bag[] = {{word_id(0), 1, 0}, {word_id(2), 2, 0}, {word_id(58), 1, 0}};
    ck_assert_int_eq(nb_score(scorer, s.model, bag, 3, &scores, NULL), 0);
    ck_assert_uint_eq(scores.size, 2);
    ck_assert_uint_eq(scores.labels[0], 1);
    ck_assert_close(scores.log_scores[0], log(cases[_i].no));
    ck_assert_close(scores.log_scores[1], log(cases[_i].yes));
    ck_assert_close(scores.probabilities[1], cases[_i].yes / (cases[_i].yes + cases[_i].no));
    ck_assert_uint_eq(scores.best, cases[_i].yes > cases[_i].no ? 1 : 0);
    ck_assert_uint_eq(scores.second, 1 - scores.best);
    ck_assert_uint_eq(scores.total, 4);
    ck_assert_uint_eq(scores.known, 3);
    nb_scores_deinit(&scores);
    nb_scorer_free(&scorer);
    nb_model_free(&s.model);
}
END_TEST

START_TEST(telling_words_by_hand)
{
    static const struct {
        int event;
        double sun; /* P(sun|y) / P(sun|n) */
    } cases[] = {
        {NB_EVENT_MULTINOMIAL, (4. / 8) / (1. / 5)},
        {NB_EVENT_BINARY, (3. / 7) / (1. / 4)},
        {NB_EVENT_BERNOULLI, (3. / 4) / (1. / 3)},
        {NB_EVENT_COMPLEMENT, (4. / 8) / (1. / 5)},
    };
    struct small s;
    hand_model(&s);
    struct nb_settings set;
    nb_settings_init(&set, NB_PRESET_TEXT);
    set.event_model = cases[_i].event;
    struct nb_scorer *scorer;
    ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
    ck_assert_close(nb_row_evidence(scorer, s.model, 0, 0), log(cases[_i].sun));
    ck_assert_close(nb_row_evidence(scorer, s.model, 0, 1), -log(cases[_i].sun));
    ck_assert(nb_row_evidence(scorer, s.model, 3, 0) == 0.0); /* outside the vocabulary */
    ck_assert(nb_row_evidence(scorer, s.model, 0, 2) == 0.0); /* a label without documents */
    nb_scorer_free(&scorer);
    nb_model_free(&s.model);
}
END_TEST

/* Two models after as many changes each, as one that is dropped and loaded again is: the view of
 * the first must not be taken for the second's. */
START_TEST(a_view_serves_no_other_model)
{
    struct nb_settings set;
    struct nb_scorer *scorer;
    struct nb_scores scores;
    nb_settings_init(&set, NB_PRESET_TEXT);
    nb_scores_init(&scores);
    ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct small s;
        small_init(&s, 3);
        uint32_t counts[WORDS] = {[0] = 1};
        small_apply(&s, i, counts, 1);
        ck_assert_int_eq(nb_score(scorer, s.model, NULL, 0, &scores, NULL), 0);
        ck_assert_uint_eq(scores.size, 1);
        ck_assert_uint_eq(scores.labels[0], i);
        nb_model_free(&s.model);
    }
    nb_scores_deinit(&scores);
    nb_scorer_free(&scorer);
}
END_TEST

/* ---- edges ----------------------------------------------------------------------------------- */

START_TEST(nothing_learned_is_a_conflict)
{
    struct small s;
    small_init(&s, 2);
    struct nb_settings set;
    nb_settings_init(&set, NB_PRESET_TEXT);
    struct nb_scorer *scorer;
    struct nb_scores scores;
    struct nb_error error;
    nb_scores_init(&scores);
    ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
    ck_assert_int_eq(nb_score(scorer, s.model, NULL, 0, &scores, &error), NB_CONFLICT);
    ck_assert_int_eq(error.code, NB_CONFLICT);
    uint32_t empty[WORDS] = {0};
    small_apply(&s, 0, empty, 1); /* a document without a word */
    struct nb_feature bag = {word_id(1), 3, 0};
    ck_assert_int_eq(nb_score(scorer, s.model, &bag, 1, &scores, &error), 0);
    ck_assert_uint_eq(scores.size, 1);
    ck_assert(scores.log_scores[0] == 0.0 && scores.probabilities[0] == 1.0);
    ck_assert_uint_eq(scores.best, 0);
    ck_assert_uint_eq(scores.second, 0);
    ck_assert_uint_eq(scores.known, 0);
    nb_scores_deinit(&scores);
    nb_scorer_free(&scorer);
    nb_model_free(&s.model);
}
END_TEST

START_TEST(ties_go_to_the_first_by_name)
{
    struct small s;
    small_init(&s, 4);
    uint32_t counts[WORDS] = {[0] = 2, [4] = 1};
    for (uint32_t v = 0; v < 4; v++)
        small_apply(&s, v, counts, 1);
    struct nb_feature bag[] = {{word_id(0), 1, 0}, {word_id(4), 7, 0}};
    for (int event = 0; event < EVENTS; event++) {
        struct nb_settings set;
        nb_settings_init(&set, NB_PRESET_TEXT);
        set.event_model = event;
        struct nb_scorer *scorer;
        struct nb_scores scores;
        nb_scores_init(&scores);
        ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
        ck_assert_int_eq(nb_score(scorer, s.model, bag, 2, &scores, NULL), 0);
        ck_assert_uint_eq(scores.best, 0);
        ck_assert_uint_eq(scores.labels[0], 3);
        ck_assert_uint_eq(scores.second, 1);
        nb_scores_deinit(&scores);
        nb_scorer_free(&scorer);
    }
    nb_model_free(&s.model);
}
END_TEST

START_TEST(an_empty_label_changes_nothing)
{
    random_seed(77);
    struct small s;
    small_init(&s, 3);
    small_train(&s, 20);
    uint32_t counts[WORDS];
    random_counts(counts);
    struct nb_feature bag[WORDS];
    size_t size = bag_of(counts, bag);
    struct nb_settings set = random_settings(_i);
    struct nb_scorer *scorer;
    struct nb_scores before, after;
    nb_scores_init(&before);
    nb_scores_init(&after);
    ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
    ck_assert_int_eq(nb_score(scorer, s.model, bag, size, &before, NULL), 0);
    uint32_t label;
    ck_assert_int_eq(nb_model_label(s.model, (struct nb_string){"a first one", 11}, &label), 0);
    ck_assert_int_eq(nb_score(scorer, s.model, bag, size, &after, NULL), 0);
    ck_assert_uint_eq(before.size, after.size);
    for (size_t i = 0; i < before.size; i++) {
        ck_assert_uint_eq(before.labels[i], after.labels[i]);
        ck_assert(before.log_scores[i] == after.log_scores[i]); /* to the bit */
    }
    nb_scores_deinit(&before);
    nb_scores_deinit(&after);
    nb_scorer_free(&scorer);
    nb_model_free(&s.model);
}
END_TEST

START_TEST(extreme_counts_stay_finite)
{
    struct small s;
    small_init(&s, 3);
    uint32_t counts[WORDS] = {[0] = UINT32_MAX, [1] = 1};
    small_apply(&s, 0, counts, 1);
    uint32_t other[WORDS] = {[1] = UINT32_MAX};
    small_apply(&s, 1, other, 1);
    for (int event = 0; event < EVENTS; event++) {
        struct nb_settings set;
        nb_settings_init(&set, NB_PRESET_TEXT);
        set.event_model = event;
        set.smoothing = event % 2 == 0 ? 1e-300 : 1e6;
        struct nb_scorer *scorer;
        struct nb_scores scores;
        nb_scores_init(&scores);
        ck_assert_int_eq(nb_scorer_new(&set, &scorer), 0);
        struct nb_feature bag[] = {{word_id(0), UINT32_MAX, 0}, {word_id(1), UINT32_MAX, 0}};
        ck_assert_int_eq(nb_score(scorer, s.model, bag, 2, &scores, NULL), 0);
        for (size_t i = 0; i < 2; i++) {
            ck_assert(isfinite(scores.log_scores[i]));
            ck_assert(scores.probabilities[i] >= 0 && scores.probabilities[i] <= 1);
            ck_assert_close(
                scores.log_scores[i],
                slow_score(&s, &set, scores.labels[i], (uint32_t[WORDS]){UINT32_MAX, UINT32_MAX}));
        }
        nb_scores_deinit(&scores);
        nb_scorer_free(&scorer);
    }
    nb_model_free(&s.model);
}
END_TEST

/* ---- readers beside the writer --------------------------------------------------------------- */

struct shared {
    struct nb_model *model;
    struct nb_scorer *scorers[EVENTS];
    atomic_bool stop;
    atomic_uint bad;
};

/* Every document has word 0 of its label's half exactly once, so a reader can tell a half-made
 * state: occurrences of a label over the fields are ten times its documents. */
static void *read_on(void *user)
{
    struct shared *shared = user;
    struct nb_scores scores;
    nb_scores_init(&scores);
    uint64_t state = (uint64_t)(uintptr_t)&scores | 1;
    while (!atomic_load(&shared->stop)) {
        struct nb_feature bag[40];
        for (uint64_t i = 0; i < 40; i++) {
            state = state * UINT64_C(6364136223846793005) + 1;
            bag[i] = (struct nb_feature){nb_feature_id(NB_FIELD_BODY, (state >> 40) * 77), 1, 0};
        }
        nb_model_read_lock(shared->model);
        int rc = nb_score(shared->scorers[state >> 62], shared->model, bag, 40, &scores, NULL);
        for (uint32_t v = 0; v < 2; v++)
            if (nb_model_occurrences(shared->model, v, NB_FIELDS) !=
                10 * nb_model_documents(shared->model, v))
                atomic_fetch_add(&shared->bad, 1);
        nb_model_unlock(shared->model);
        if (rc != 0 && rc != NB_CONFLICT)
            atomic_fetch_add(&shared->bad, 1);
    }
    nb_scores_deinit(&scores);
    return NULL;
}

static void write_some(struct shared *shared, uint32_t round)
{
    struct nb_row_count rows[10];
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t id = nb_feature_id(NB_FIELD_BODY, (uint64_t)(round * 10 + i) * 77);
        rows[i] = (struct nb_row_count){nb_model_find(shared->model, id), 1};
        if (rows[i].row == NB_NO_ROW)
            ck_assert_int_eq(nb_model_append(shared->model, id, &rows[i].row), 0);
    }
    struct nb_model_change change = {.add_label = round % 2, .add = rows, .add_size = 10};
    change.take_label = UINT32_MAX;
    size_t fresh;
    ck_assert_int_eq(nb_model_change(shared->model, &change, &fresh), 0);
    if (round % 3 != 0)
        return;
    change = (struct nb_model_change){.take_label = round % 2, .take = rows, .take_size = 10};
    change.add_label = UINT32_MAX;
    ck_assert_int_eq(nb_model_change(shared->model, &change, &fresh), 0);
}

START_TEST(readers_see_whole_documents_only)
{
    struct shared shared = {.model = nb_model_new()};
    for (int event = 0; event < EVENTS; event++) {
        struct nb_settings set;
        nb_settings_init(&set, NB_PRESET_TEXT);
        set.event_model = event;
        set.skip_top = event == 0 ? 5 : 0;
        ck_assert_int_eq(nb_scorer_new(&set, &shared.scorers[event]), 0);
    }
    uint32_t label;
    ck_assert_int_eq(nb_model_label(shared.model, (struct nb_string){"a", 1}, &label), 0);
    ck_assert_int_eq(nb_model_label(shared.model, (struct nb_string){"b", 1}, &label), 0);
    pthread_t readers[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, &shared), 0);
    for (uint32_t round = 0; round < 3000; round++) {
        write_some(&shared, round);
        if (round % 500 == 0) {
            char name[2] = {(char)('c' + (int)(round / 500)), 0};
            ck_assert_int_eq(nb_model_label(shared.model, (struct nb_string){name, 1}, &label), 0);
        }
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(readers[i], NULL);
    ck_assert_uint_eq(atomic_load(&shared.bad), 0);
    for (int event = 0; event < EVENTS; event++)
        nb_scorer_free(&shared.scorers[event]);
    nb_model_free(&shared.model);
}
END_TEST

/* ---- scores from few documents --------------------------------------------------------------- */

START_TEST(moderation_by_hand)
{
    /* d = 1/5 + 1/2 = 0.7; p = +-ln(5/2) */
    static const struct {
        double difference, prior, doubt, expected;
    } table[] = {
        {6, -0.91629073187415511, 0.7, 0.53300179088902611}, /* 1 / sqrt(1 + 0.1 0.7 6^2) */
        {6, 0.91629073187415511, 0.7, 0.65824503761212970},  /* only what is above the prior */
        {-6, 0.91629073187415511, 0.7, 0.53300179088902611}, /* as the first, of the other label */
        {-6, -0.91629073187415511, 0.7, 0.65824503761212970},
        {0.5, 0.91629073187415511, 0.7, 1}, /* not surer than the prior */
        {0, 1, 0.7, 1},
        {6, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double found = nb_scores_moderation(table[i].difference, table[i].prior, table[i].doubt);
        ck_assert_msg(fabs(found - table[i].expected) < 1e-9, "row %zu: %.17g", i, found);
    }
}
END_TEST

/* Whatever the prior: what was surer stays surer, and nothing becomes surer or another label's. */
START_TEST(moderation_keeps_the_order)
{
    static const double priors[] = {-6.2, -1, 0, 0.3, 2, 6.2};
    static const double doubts[] = {0, 0.001, 0.1, 1, 2};
    for (size_t i = 0; i < 30; i++) {
        double before = -HUGE_VAL;
        for (int step = -400; step <= 400; step++) {
            double a = step / 20.0;
            double pulled = a * nb_scores_moderation(a, priors[i % 6], doubts[i / 6]);
            ck_assert_msg(pulled >= before - 1e-12, "%zu: %g -> %g", i, a, pulled);
            ck_assert_msg(fabs(pulled) <= fabs(a) && pulled * a >= 0, "%zu: %g -> %g", i, a,
                          pulled);
            before = pulled;
        }
    }
}
END_TEST

static void begin_scores(struct nb_scores *s, size_t size, const double *log_scores,
                         const uint64_t *documents)
{
    nb_scores_init(s);
    ck_assert_int_eq(nb_scores_grow(s, size), 0);
    s->size = size;
    for (size_t i = 0; i < size; i++) {
        s->log_scores[i] = log_scores[i];
        s->documents[i] = documents[i];
    }
    nb_scores_rank(s);
}

START_TEST(moderation_of_three_labels_by_hand)
{
    static const double log_scores[] = {0, 4, 1};
    static const uint64_t documents[] = {3, 8, 2};
    static const double expected[] = {0.018451623105585877, 0.9323533653291094,
                                      0.049195011565304765};
    struct nb_scores s;
    begin_scores(&s, 3, log_scores, documents);
    /* d = 2 (P / D summed), p = ln(8/2), a = 3 */
    ck_assert_double_eq_tol(nb_scores_moderate(&s), 0.980639887589155, 1e-9);
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq_tol(s.probabilities[i], expected[i], 1e-9);
    nb_scores_deinit(&s);
}
END_TEST

/* However sure the scores are: the bounds of the comment in the header. */
START_TEST(few_documents_do_not_make_sure)
{
    static const struct {
        uint64_t documents;
        double most;
    } table[] = {{1, 0.91}, {3, 0.98}, {10, 0.9992}, {100, 1 - 1e-10}};
    static const double log_scores[] = {0, 1e6};
    double before = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const uint64_t documents[] = {table[i].documents, table[i].documents};
        struct nb_scores s;
        begin_scores(&s, 2, log_scores, documents);
        double factor = nb_scores_moderate(&s);
        ck_assert_double_eq_tol(s.log_scores[1], factor * 1e6, 1e-9);
        ck_assert_msg(s.best == 1 && s.probabilities[1] > before, "row %zu", i);
        ck_assert_msg(s.probabilities[1] <= table[i].most, "row %zu: %.17g", i, s.probabilities[1]);
        before = s.probabilities[1];
        nb_scores_deinit(&s);
    }
}
END_TEST

/* P = (1 - share) P_own + share P, of log scores that are no logarithms of P. */
START_TEST(two_opinions_by_hand)
{
    static const uint64_t documents[] = {1, 1, 1};
    static const double with[] = {4, 0, 2}, own[] = {-7, -5, -6};
    double of_with[3], of_own[3];
    struct nb_scores s, o;
    begin_scores(&s, 3, with, documents);
    begin_scores(&o, 3, own, documents);
    double with_sum = exp(2) + exp(0) + exp(1), own_sum = exp(-2) + exp(0) + exp(-1);
    for (int v = 0; v < 3; v++) {
        of_with[v] = exp(with[v] / 2) / with_sum;
        of_own[v] = exp(own[v] + 5) / own_sum;
    }
    double part = nb_scores_pool(&s, 0.5, 0.3, &o);
    for (int v = 0; v < 3; v++) {
        ck_assert_double_eq_tol(s.probabilities[v], 0.7 * of_own[v] + 0.3 * of_with[v], 1e-12);
        ck_assert_double_eq_tol(s.log_scores[v], log(s.probabilities[v]), 1e-12);
    }
    ck_assert_uint_eq(s.best, 1);
    ck_assert_uint_eq(s.second, 0);
    ck_assert_double_eq_tol(part, 0.3 * of_with[1] / s.probabilities[1], 1e-12);
    nb_scores_deinit(&s);
    nb_scores_deinit(&o);
}
END_TEST

/* However sure the second opinion is. */
START_TEST(a_pool_loses_no_more_than_its_share)
{
    static const uint64_t documents[] = {1, 1};
    static const double own[] = {0, 2};
    for (double sure = 1; sure < 1e9; sure *= 10) {
        const double with[] = {sure, 0};
        struct nb_scores s, o;
        begin_scores(&s, 2, with, documents);
        begin_scores(&o, 2, own, documents);
        double part = nb_scores_pool(&s, 1, 0.9, &o);
        ck_assert(s.probabilities[1] >= 0.1 * o.probabilities[1] * (1 - 1e-12));
        ck_assert(part >= 0 && part <= 1 && isfinite(s.log_scores[0]));
        nb_scores_deinit(&s);
        nb_scores_deinit(&o);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("score");
    TCase *formulas = tcase_create("formulas");
    tcase_set_timeout(formulas, 60);
    tcase_add_loop_test(formulas, scores_agree_with_the_formulas, 0, EVENTS);
    tcase_add_loop_test(formulas, worked_example, 0, EVENTS);
    tcase_add_loop_test(formulas, telling_words_by_hand, 0, EVENTS);
    suite_add_tcase(suite, formulas);
    TCase *edges = tcase_create("edges");
    tcase_add_test(edges, a_view_serves_no_other_model);
    tcase_add_test(edges, nothing_learned_is_a_conflict);
    tcase_add_test(edges, ties_go_to_the_first_by_name);
    tcase_add_loop_test(edges, an_empty_label_changes_nothing, 0, EVENTS);
    tcase_add_test(edges, extreme_counts_stay_finite);
    suite_add_tcase(suite, edges);
    TCase *few = tcase_create("few documents");
    tcase_add_test(few, moderation_by_hand);
    tcase_add_test(few, moderation_keeps_the_order);
    tcase_add_test(few, moderation_of_three_labels_by_hand);
    tcase_add_test(few, few_documents_do_not_make_sure);
    suite_add_tcase(suite, few);
    TCase *two = tcase_create("two opinions");
    tcase_add_test(two, two_opinions_by_hand);
    tcase_add_test(two, a_pool_loses_no_more_than_its_share);
    suite_add_tcase(suite, two);
    TCase *threads = tcase_create("threads");
    tcase_set_timeout(threads, 120);
    tcase_add_test(threads, readers_see_whole_documents_only);
    suite_add_tcase(suite, threads);
    return test_run(suite);
}
