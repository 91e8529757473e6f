/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/bayes/scorer.h"
#include "core/stack/blend.h"
#include "core/stack/stack_private.h"
#include "tests/unit/run.h"

static uint64_t random_state;
static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * UINT64_C(2685821657736338717) >> 32) * n >> 32);
}

#define ck_assert_close(got, want)                                                                 \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        ck_assert_msg(fabs(got_ - want_) <= 1e-9 * fmax(1, fabs(want_)), "%s is %.17g, not %.17g", \
                      #got, got_, want_);                                                          \
    } while (0)

/* ---- models ---------------------------------------------------------------------------------- */

enum { WORDS = 60, LABELS = 3, BAG = 12 };
static const char *const NAMES[LABELS] = {"ham", "news", "spam"};

/* A model that learns like the program, and the same counts in tables. */
struct one {
    struct nb_model *counts;
    struct nb_stack *stack;
    struct nb_stack_weights *weights;
    double n[LABELS][WORDS], d[LABELS][WORDS], documents[LABELS];
};

static uint64_t id_of(uint32_t word)
{
    static const enum nb_field fields[] = {NB_FIELD_BODY, NB_FIELD_SUBJECT, NB_FIELD_NGRAM,
                                           NB_FIELD_PAIR};
    return nb_feature_id(fields[word % 4], (word + 1) * UINT64_C(0x9E3779B97F4A7C15));
}

static void one_init(struct one *m, const struct nb_stack_settings *settings)
{
    *m = (struct one){.counts = nb_model_new(), .weights = nb_stack_weights_new(settings)};
    ck_assert_int_eq(nb_stack_new(settings, &m->stack), 0);
}

static void one_free(struct one *m)
{
    nb_model_free(&m->counts);
    nb_stack_free(&m->stack);
    nb_stack_weights_free(&m->weights);
}

static void add(struct one *m, uint32_t label, const uint32_t *words, const uint32_t *counts,
                size_t size)
{
    struct nb_row_count rows[BAG];
    uint32_t number;
    ck_assert_int_eq(nb_model_label(m->counts, nb_string_of(NAMES[label]), &number), 0);
    for (size_t i = 0; i < size; i++) {
        uint32_t row = nb_model_find(m->counts, id_of(words[i]));
        if (row == NB_NO_ROW)
            ck_assert_int_eq(nb_model_append(m->counts, id_of(words[i]), &row), 0);
        rows[i] = (struct nb_row_count){.row = row, .count = counts[i]};
        m->n[label][words[i]] += counts[i];
        m->d[label][words[i]] += 1;
    }
    m->documents[label] += 1;
    nb_model_add_documents(m->counts, number, 1);
    ck_assert_int_eq(nb_model_add(m->counts, number, rows, size, 1, NULL), 0);
}

static size_t random_words(uint32_t *words, uint32_t *counts)
{
    size_t size = 0;
    for (uint32_t w = random_below(5); w < WORDS && size < BAG; w += 1 + random_below(8)) {
        words[size] = w;
        counts[size++] = 1 + random_below(3);
    }
    return size;
}

static size_t random_bag(struct nb_feature *bag)
{
    uint32_t words[BAG], counts[BAG];
    size_t size = random_words(words, counts);
    for (size_t i = 0; i < size; i++)
        bag[i] = (struct nb_feature){.id = id_of(words[i]), .count = counts[i]};
    return size;
}

/* Teaches documents with labels in random order, so that the numbers of the labels differ between
 * models. */
static void teach(struct one *m, unsigned documents, uint32_t labels)
{
    struct nb_stack_inputs inputs;
    nb_stack_inputs_init(&inputs);
    nb_stack_inputs_twin(&inputs, m->weights, true);
    for (unsigned i = 0; i < documents; i++) {
        uint32_t words[BAG], counts[BAG],
            label = labels == 2 ? random_below(2) * 2 : random_below(3);
        struct nb_feature bag[BAG];
        size_t size = random_words(words, counts);
        for (size_t k = 0; k < size; k++)
            bag[k] = (struct nb_feature){.id = id_of(words[k]), .count = counts[k]};
        uint32_t number = nb_model_find_label(m->counts, nb_string_of(NAMES[label]));
        if (nb_stack_inputs(m->stack, m->counts, bag, size, &inputs, NULL) == 0) {
            ck_assert_int_eq(nb_stack_twin_learn(m->weights, &inputs, number, 1), 0);
            ck_assert_int_eq(nb_stack_learn(m->weights, &inputs, number, 1), 0);
        }
        add(m, label, words, counts, size);
    }
    nb_stack_inputs_deinit(&inputs);
}

static struct nb_blend_source source_of(const struct one *m, uint64_t strength)
{
    return (struct nb_blend_source){
        .counts = m->counts, .weights = m->weights, .strength = strength};
}

/* ---- nothing of one's own -------------------------------------------------------------------- */

static void check_equal(const struct nb_blend *b, const struct one *m,
                        const struct nb_scores *blended, const struct nb_scores *plain)
{
    ck_assert_uint_eq(blended->size, plain->size);
    for (size_t v = 0; v < plain->size; v++) {
        ck_assert_str_eq(b->labels[blended->labels[v]].name,
                         nb_model_label_name(m->counts, plain->labels[v]).bytes);
        ck_assert_close(blended->log_scores[v], plain->log_scores[v]);
        ck_assert_close(blended->probabilities[v], plain->probabilities[v]);
    }
    ck_assert_uint_eq(blended->known, plain->known);
    ck_assert_uint_eq(blended->total, plain->total);
}

/* Expects the same result from the plain formulas and from a blend with empty models above the one
 * that has learned. */
static void check_empty(uint32_t labels, enum nb_event_model event_model)
{
    struct nb_stack_settings constants;
    struct nb_settings settings;
    struct nb_scorer *scorer;
    struct one empty, middle, parent;
    struct nb_blend b = {0};
    struct nb_scores book = {0}, stacked = {0}, plain = {0}, plain_book = {0};
    struct nb_stack_inputs inputs;
    struct nb_evidence rows[BAG + 1], plain_rows[BAG + 1];
    nb_stack_settings_init(&constants);
    nb_settings_init(&settings, NB_PRESET_MAIL);
    settings.event_model = (int)event_model;
    ck_assert_int_eq(nb_scorer_new(&settings, &scorer), 0);
    one_init(&empty, &constants);
    one_init(&middle, &constants);
    one_init(&parent, &constants);
    nb_stack_inputs_init(&inputs);
    nb_stack_inputs_twin(&inputs, parent.weights, false);
    teach(&parent, 80, labels);
    const struct nb_blend_source sources[] = {source_of(&empty, 10), source_of(&middle, 7),
                                              source_of(&parent, 1)};
    for (unsigned i = 0; i < 30; i++) {
        struct nb_feature bag[BAG];
        size_t size = random_bag(bag), count, plain_count;
        ck_assert_int_eq(nb_blend_begin(&b, &settings, sources, 3, NULL), 0);
        ck_assert_int_eq(nb_blend_score(&b, bag, size, &book, &stacked), 0);
        ck_assert_int_eq(nb_score(scorer, parent.counts, bag, size, &plain_book, NULL), 0);
        ck_assert_int_eq(nb_stack_inputs(parent.stack, parent.counts, bag, size, &inputs, NULL), 0);
        ck_assert_int_eq(nb_stack_score(parent.weights, &inputs, &plain), 0);
        stacked.known = stacked.total = 0;
        check_equal(&b, &parent, &stacked, &plain);
        check_equal(&b, &parent, &book, &plain_book);
        nb_blend_explain(&b, bag, size, &stacked, true, rows, &count);
        ck_assert_int_eq(nb_stack_explain(parent.stack, parent.counts, parent.weights, bag, size,
                                          NULL, &inputs, &plain, NULL, plain_rows, &plain_count),
                         0);
        ck_assert_uint_eq(count, plain_count);
        for (size_t k = 0; k < count; k++)
            ck_assert_close(rows[k].evidence, plain_rows[k].evidence);
        double against, plain_against;
        uint32_t ham = nb_model_find_label(parent.counts, nb_string_of("ham"));
        uint32_t spam = nb_model_find_label(parent.counts, nb_string_of("spam"));
        nb_blend_against(&b, bag, size, b.size - 1, 0, &against);
        ck_assert_int_eq(nb_stack_against(parent.stack, parent.counts, parent.weights, bag, size,
                                          spam, ham, &plain_against),
                         0);
        ck_assert_close(against, plain_against);
        nb_blend_explain(&b, bag, size, &book, false, rows, &count);
        ck_assert_int_eq(nb_explain(scorer, parent.counts, bag, size, NULL, &plain_book, plain_rows,
                                    &plain_count),
                         0);
        ck_assert_uint_eq(count, plain_count);
        for (size_t k = 0; k < count; k++)
            ck_assert_close(rows[k].evidence, plain_rows[k].evidence);
    }
    nb_blend_deinit(&b);
    nb_scores_deinit(&book);
    nb_scores_deinit(&stacked);
    nb_scores_deinit(&plain);
    nb_scores_deinit(&plain_book);
    nb_stack_inputs_deinit(&inputs);
    nb_scorer_free(&scorer);
    nb_settings_deinit(&settings);
    one_free(&empty);
    one_free(&middle);
    one_free(&parent);
}

START_TEST(without_documents_it_is_the_parent)
{
    random_state = 17;
    check_empty(2, NB_EVENT_MULTINOMIAL);
    check_empty(3, NB_EVENT_MULTINOMIAL);
    check_empty(2, NB_EVENT_BINARY);
    check_empty(3, NB_EVENT_COMPLEMENT);
}
END_TEST

/* ---- both ------------------------------------------------------------------------------------ */

/* The weight of each source, by the formulas of core/stack/blend.h, written out for three. */
struct weighed {
    double s1, s2;     /* what a count of the parent is worth, and of its parent */
    double w0, w1, w2; /* in the weights */
    double smoothing;
};

static struct weighed weigh(double d0, double d1, double d2, double m0, double m1)
{
    struct weighed w;
    double to_middle = fmin(1, m1 / d2);
    double middle = d1 + to_middle * d2;
    double to_user = fmin(1, m0 / middle);
    double l1 = d1 / (d1 + m1), l0 = d0 / (d0 + m0);
    double k1 = to_middle + (1 - to_middle) * l1 * l1;
    w.smoothing = to_user * k1 + (1 - to_user * k1) * l0 * l0;
    w.s1 = to_user;
    w.s2 = to_user * to_middle;
    w.w0 = l0;
    w.w1 = (1 - l0) * l1;
    w.w2 = (1 - l0) * (1 - l1);
    return w;
}

static double documents_of(const struct one *m)
{
    return m->documents[0] + m->documents[1] + m->documents[2];
}

static double group_of(const struct one *m, unsigned e, unsigned group)
{
    return m->weights->shared.values[nb_stack_place(nb_stack_set(2, e), group)];
}

static double bias_of(const struct one *m, unsigned e)
{
    uint32_t ham = nb_model_find_label(m->counts, nb_string_of("ham"));
    uint32_t spam = nb_model_find_label(m->counts, nb_string_of("spam"));
    return nb_stack_bias(m->weights, spam, e) - nb_stack_bias(m->weights, ham, e);
}

static double mean(const struct weighed *w, double a, double b, double c)
{
    return w->w0 * a + w->w1 * b + w->w2 * c;
}

/* Return the sum of a field over all words for a label, T_v, and V of each model. */
static double field_sum(const struct one *m, uint32_t label, uint32_t field)
{
    double sum = 0;
    for (uint32_t w = field; w < WORDS; w += 4)
        sum += m->d[label][w];
    return sum;
}

static double field_words(const struct one *m, uint32_t field)
{
    double words = 0;
    for (uint32_t w = field; w < WORDS; w += 4)
        words += m->d[0][w] + m->d[2][w] > 0;
    return words;
}

/* The log-odds of spam of two labels by core/stack/stack.h, from the tables, without the
 * twin. */
static double odds_of(const struct one m[3], const struct weighed *w, const uint32_t *words,
                      size_t size)
{
    static const double A[] = {0.02, 0.5};
    static const unsigned FIELD[] = {NB_FIELD_BODY, NB_FIELD_SUBJECT, NB_FIELD_NGRAM,
                                     NB_FIELD_PAIR};
    double trust[3][NB_STACK_EXPERTS], odds = 0;
    for (unsigned i = 0; i < 3; i++)
        nb_stack_trust(m[i].weights, 2, trust[i]);
    for (unsigned e = 0; e < 2; e++) {
        double sum = mean(w, bias_of(&m[0], e), bias_of(&m[1], e), bias_of(&m[2], e));
        double x[4] = {0}, features[4] = {0}, total = 0, of_total = 0, k = w->smoothing * A[e];
        for (size_t i = 0; i < size; i++) {
            uint32_t f = words[i] % 4;
            double v =
                fmax(field_words(&m[0], f), fmax(field_words(&m[1], f), field_words(&m[2], f)));
            double t[2], d[2];
            for (unsigned l = 0; l < 2; l++) {
                t[l] = field_sum(&m[0], l * 2, f) + w->s1 * field_sum(&m[1], l * 2, f) +
                       w->s2 * field_sum(&m[2], l * 2, f);
                d[l] = m[0].d[l * 2][words[i]] + w->s1 * m[1].d[l * 2][words[i]] +
                       w->s2 * m[2].d[l * 2][words[i]];
            }
            features[f]++;
            if (d[0] + d[1] <= 0)
                continue;
            double r =
                log(d[1] + k) - log(d[0] + k) - log(t[1] + k * (v + 1)) + log(t[0] + k * (v + 1));
            x[f] += copysign(pow(fabs(r), 1.5), r);
        }
        for (uint32_t f = 0; f < 4; f++) {
            if (features[f] <= 0)
                continue;
            sum += mean(w, group_of(&m[0], e, FIELD[f]), group_of(&m[1], e, FIELD[f]),
                        group_of(&m[2], e, FIELD[f])) *
                   x[f] * 0.4 / pow(features[f], 0.8);
            total += f != 2 ? x[f] : 0;
            of_total += f != 2 ? features[f] : 0;
        }
        if (of_total > 0)
            sum += mean(w, group_of(&m[0], e, NB_STACK_TOTAL), group_of(&m[1], e, NB_STACK_TOTAL),
                        group_of(&m[2], e, NB_STACK_TOTAL)) *
                   total * 0.4 / pow(of_total, 0.8);
        odds += mean(w, trust[0][e], trust[1][e], trust[2][e]) * sum;
    }
    return odds;
}

/* Multinomial, by core/stack/blend.h: smoothing 1, ln P(spam) P(w|spam) ... less that of ham.
 */
static double book_odds(const struct one m[3], const struct weighed *w, const uint32_t *words,
                        const uint32_t *counts, size_t size)
{
    double documents[2], sums[2] = {0}, odds, vocabulary = 0;
    for (unsigned i = 0; i < 3; i++) {
        double tokens = 0;
        for (uint32_t word = 0; word < WORDS; word++)
            tokens += word % 4 < 2 && m[i].d[0][word] + m[i].d[2][word] > 0;
        vocabulary = fmax(vocabulary, tokens);
    }
    for (unsigned l = 0; l < 2; l++) {
        documents[l] =
            m[0].documents[l * 2] + w->s1 * m[1].documents[l * 2] + w->s2 * m[2].documents[l * 2];
        for (uint32_t word = 0; word < WORDS; word++)
            if (word % 4 < 2)
                sums[l] +=
                    m[0].n[l * 2][word] + w->s1 * m[1].n[l * 2][word] + w->s2 * m[2].n[l * 2][word];
    }
    odds = log(documents[1] / documents[0]);
    for (size_t i = 0; i < size; i++) {
        double n[2], all = 0;
        for (unsigned l = 0; l < 2; l++)
            all += n[l] = m[0].n[l * 2][words[i]] + w->s1 * m[1].n[l * 2][words[i]] +
                          w->s2 * m[2].n[l * 2][words[i]];
        if (words[i] % 4 >= 2 || all <= 0)
            continue;
        odds += counts[i] * (log((n[1] + w->smoothing) / (sums[1] + w->smoothing * vocabulary)) -
                             log((n[0] + w->smoothing) / (sums[0] + w->smoothing * vocabulary)));
    }
    return odds;
}

START_TEST(three_levels_by_hand)
{
    struct nb_stack_settings constants;
    struct nb_settings settings;
    struct one m[3];
    struct nb_blend b = {0};
    struct nb_scores book = {0}, stacked = {0};
    random_state = 23;
    nb_stack_settings_init(&constants);
    constants.twin = false;
    nb_settings_init(&settings, NB_PRESET_MAIL);
    for (unsigned i = 0; i < 3; i++)
        one_init(&m[i], &constants);
    teach(&m[0], 9, 2);
    teach(&m[1], 30, 2);
    teach(&m[2], 90, 2);
    for (uint64_t strength = 2; strength < 300; strength *= 5) {
        const struct nb_blend_source sources[] = {source_of(&m[0], strength), source_of(&m[1], 20),
                                                  source_of(&m[2], 1)};
        struct weighed w = weigh(documents_of(&m[0]), documents_of(&m[1]), documents_of(&m[2]),
                                 (double)strength, 20);
        ck_assert_int_eq(nb_blend_begin(&b, &settings, sources, 3, NULL), 0);
        ck_assert_close(b.scale[2], w.s2);
        ck_assert_close(b.share[1], w.w1);
        for (unsigned i = 0; i < 20; i++) {
            uint32_t words[BAG], counts[BAG];
            struct nb_feature bag[BAG];
            size_t size = random_words(words, counts);
            for (size_t k = 0; k < size; k++)
                bag[k] = (struct nb_feature){.id = id_of(words[k]), .count = counts[k]};
            ck_assert_int_eq(nb_blend_score(&b, bag, size, &book, &stacked), 0);
            ck_assert_close(stacked.log_scores[1] - stacked.log_scores[0],
                            odds_of(m, &w, words, size));
            ck_assert_close(book.log_scores[1] - book.log_scores[0],
                            book_odds(m, &w, words, counts, size));
        }
    }
    nb_blend_deinit(&b);
    nb_scores_deinit(&book);
    nb_scores_deinit(&stacked);
    nb_settings_deinit(&settings);
    for (unsigned i = 0; i < 3; i++)
        one_free(&m[i]);
}
END_TEST

/* With the twin, and of three labels of which the model knows two: rows sum to the verdict, and
 * shares to 1. */
START_TEST(explanations_add_up)
{
    struct nb_stack_settings constants;
    struct nb_settings settings;
    struct one m[2];
    struct nb_blend b = {0};
    struct nb_scores book = {0}, stacked = {0};
    struct nb_evidence rows[BAG + 1];
    random_state = 5;
    nb_stack_settings_init(&constants);
    nb_settings_init(&settings, NB_PRESET_MAIL);
    for (unsigned labels = 2; labels <= 3; labels++) {
        one_init(&m[0], &constants);
        one_init(&m[1], &constants);
        teach(&m[0], 12, 2);
        teach(&m[1], 60, labels);
        const struct nb_blend_source sources[] = {source_of(&m[0], 10), source_of(&m[1], 1)};
        ck_assert_int_eq(nb_blend_begin(&b, &settings, sources, 2, NULL), 0);
        ck_assert_uint_eq(b.size, labels);
        for (unsigned i = 0; i < 30; i++) {
            struct nb_feature bag[BAG];
            size_t size = random_bag(bag), count;
            ck_assert_int_eq(nb_blend_score(&b, bag, size, &book, &stacked), 0);
            for (unsigned s = 0; s < 2; s++) {
                const struct nb_scores *scores = s == 0 ? &book : &stacked;
                double sum = 0;
                nb_blend_explain(&b, bag, size, scores, s == 1, rows, &count);
                for (size_t k = 0; k < count; k++) {
                    double shares[NB_BLEND_MOST];
                    sum += rows[k].evidence;
                    nb_blend_shares(&b,
                                    rows[k].feature == NB_NO_FEATURE ? NULL : &bag[rows[k].feature],
                                    shares);
                    ck_assert_close(shares[0] + shares[1], 1);
                }
                ck_assert_close(sum, scores->log_scores[scores->best] -
                                         scores->log_scores[scores->second]);
            }
        }
        one_free(&m[0]);
        one_free(&m[1]);
    }
    nb_blend_deinit(&b);
    nb_scores_deinit(&book);
    nb_scores_deinit(&stacked);
    nb_settings_deinit(&settings);
}
END_TEST

/* What a document would get if it had not been learned: from the counts of all, and from those of a
 * second model that never saw it. */
START_TEST(leaving_out_is_not_learning)
{
    struct nb_stack_settings constants;
    struct nb_settings settings;
    struct one all, rest, parent;
    struct nb_blend a = {0}, b = {0};
    struct nb_scores left_out = {0}, never = {0};
    random_state = 11;
    nb_stack_settings_init(&constants);
    nb_settings_init(&settings, NB_PRESET_MAIL);
    for (unsigned labels = 2; labels <= 3; labels++) {
        one_init(&all, &constants);
        one_init(&rest, &constants);
        one_init(&parent, &constants);
        teach(&all, 12, labels);
        teach(&parent, 40, labels);
        nb_model_free(&all.counts);
        all.counts = nb_model_new();
        for (unsigned i = 0; i < 12; i++) {
            uint32_t words[BAG], counts[BAG];
            size_t size = random_words(words, counts);
            add(&all, i % labels * (labels == 2 ? 2 : 1), words, counts, size);
            add(&rest, i % labels * (labels == 2 ? 2 : 1), words, counts, size);
        }
        uint32_t words[BAG], counts[BAG];
        struct nb_feature bag[BAG];
        size_t size = random_words(words, counts);
        for (size_t k = 0; k < size; k++)
            bag[k] = (struct nb_feature){.id = id_of(words[k]), .count = counts[k]};
        add(&all, 2, words, counts, size);
        struct nb_blend_source with[] = {source_of(&all, 10), source_of(&parent, 1)};
        struct nb_blend_source without[] = {source_of(&rest, 10), source_of(&parent, 1)};
        without[0].weights = all.weights;
        uint32_t label = nb_model_find_label(all.counts, nb_string_of("spam"));
        ck_assert_int_eq(nb_blend_begin_without(&a, &settings, with, 2, bag, size, label), 0);
        ck_assert_int_eq(nb_blend_score(&a, bag, size, NULL, &left_out), 0);
        ck_assert_int_eq(nb_blend_begin(&b, &settings, without, 2, NULL), 0);
        ck_assert_int_eq(nb_blend_score(&b, bag, size, NULL, &never), 0);
        ck_assert_uint_eq(left_out.size, never.size);
        for (size_t v = 0; v < never.size; v++)
            ck_assert_close(left_out.log_scores[v], never.log_scores[v]);
        one_free(&all);
        one_free(&rest);
        one_free(&parent);
    }
    nb_blend_deinit(&a);
    nb_blend_deinit(&b);
    nb_scores_deinit(&left_out);
    nb_scores_deinit(&never);
    nb_settings_deinit(&settings);
}
END_TEST

/* Returns n of a word over all labels. Over the token words, sets *sum to the sum of n and *words
 * to the number of words with n > 0. */
static double pooled(const struct one *m, uint32_t word, double *sum, double *words)
{
    double of_word = 0;
    *sum = *words = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        double n = m->n[0][w] + m->n[1][w] + m->n[2][w];
        if (w % 4 > 1) /* n-grams and pairs */
            continue;
        *sum += n;
        *words += n > 0;
        of_word = w == word ? n : of_word;
    }
    return of_word;
}

/* The smoothing {"m", "p": "parent"}: own counts and labels, and the parent's share of a word. */
START_TEST(the_parent_gives_the_share)
{
    struct nb_settings settings;
    struct nb_blend b = {.size = 0};
    struct nb_scores book;
    struct one m[2];
    enum { M = 7, WORD = 5 };
    random_state = 11;
    nb_settings_init(&settings, NB_PRESET_BOOK);
    settings.smoothing = M;
    settings.smoothing_by = (struct nb_smoothing){NB_SMOOTHING_M, .p = NB_SMOOTHING_PARENT};
    for (unsigned i = 0; i < 2; i++) {
        struct nb_stack_settings stack;
        nb_stack_settings_init(&stack);
        one_init(&m[i], &stack);
        teach(&m[i], 30, i == 0 ? 2 : 3);
    }
    const struct nb_blend_source sources[] = {{.counts = m[0].counts}, {.counts = m[1].counts}};
    const struct nb_feature bag = {.id = id_of(WORD), .count = 2};
    double sum, words, own_sum, own_words;
    double share = (pooled(&m[1], WORD, &sum, &words) + 1) / (sum + words + 1);
    nb_scores_init(&book);
    ck_assert_int_eq(nb_blend_begin(&b, &settings, sources, 2, NULL), 0);
    ck_assert_int_eq(nb_blend_score(&b, &bag, 1, &book, NULL), 0);
    ck_assert_uint_eq(book.size, 2); /* news is the parent's alone */
    ck_assert_double_gt(pooled(&m[0], WORD, &own_sum, &own_words), 0);
    for (uint32_t v = 0; v < 2; v++) {
        uint32_t label = v * 2;
        double n = 0;
        for (uint32_t w = 0; w < WORDS; w++)
            n += w % 4 > 1 ? 0 : m[0].n[label][w];
        double want = log(m[0].documents[label] / documents_of(&m[0])) +
                      2 * log((m[0].n[label][WORD] + M * share) / (n + M));
        ck_assert_close(book.log_scores[v], want);
    }
    nb_scores_deinit(&book);
    nb_blend_deinit(&b);
    nb_settings_deinit(&settings);
    one_free(&m[0]);
    one_free(&m[1]);
}
END_TEST

START_TEST(nothing_is_known)
{
    struct nb_stack_settings constants;
    struct nb_settings settings;
    struct one m;
    struct nb_blend b = {0};
    nb_stack_settings_init(&constants);
    nb_settings_init(&settings, NB_PRESET_MAIL);
    one_init(&m, &constants);
    struct nb_blend_source source = source_of(&m, 1);
    ck_assert_int_eq(nb_blend_begin(&b, &settings, &source, 1, NULL), NB_CONFLICT);
    nb_blend_deinit(&b);
    nb_settings_deinit(&settings);
    one_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blend");
    TCase *test = tcase_create("blend");
    tcase_add_test(test, without_documents_it_is_the_parent);
    tcase_add_test(test, three_levels_by_hand);
    tcase_add_test(test, explanations_add_up);
    tcase_add_test(test, leaving_out_is_not_learning);
    tcase_add_test(test, the_parent_gives_the_share);
    tcase_add_test(test, nothing_is_known);
    suite_add_tcase(suite, test);
    return test_run(suite);
}
