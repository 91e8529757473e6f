/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void random_seed(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    random_state = seed * 2 + 1;
}

static bool close_to(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fmax(1.0, fmax(fabs(got), fabs(want)));
}

#define ck_assert_close(got, want)                                                                 \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        ck_assert_msg(close_to(got_, want_, 1e-9), "%s is %.17g, must be %.17g", #got, got_,       \
                      want_);                                                                      \
    } while (0)

/* ---- a small model and the same kept in a table ---------------------------------------------- */

enum { WORDS = 110, LABELS = 6, LABELS_MOST = 48 };

struct small {
    struct nb_model *model;
    uint32_t labels; /* the last of them never gets a document */
    uint64_t d[LABELS_MOST][WORDS], documents[LABELS_MOST];
};

static unsigned word_field(uint32_t word)
{
    return word % NB_FIELDS;
}

static uint64_t word_id(uint32_t word)
{
    return nb_feature_id((enum nb_field)word_field(word),
                         (word + 1) * UINT64_C(0xD6E8FEB86659FD93));
}

static void small_init(struct small *s, uint32_t labels)
{
    *s = (struct small){.model = nb_model_new(), .labels = labels};
    for (uint32_t v = 0; v < labels; v++) {
        char name[] = {(char)('z' - (int)v / 10), (char)('9' - (int)v % 10), '\0'};
        uint32_t label;
        ck_assert_int_eq(nb_model_label(s->model, (struct nb_string){name, 2}, &label), 0);
    }
    for (uint32_t w = 0; w < WORDS - 15; w++) { /* the last are never in the model */
        uint32_t row;
        ck_assert_int_eq(nb_model_append(s->model, word_id(w), &row), 0);
    }
}

static size_t random_bag(struct nb_feature *bag, uint32_t bias)
{
    bool seen[WORDS] = {false};
    size_t size = 0;
    for (uint32_t n = 5 + random_below(40); n > 0; n--) {
        uint32_t w = random_below(2) == 0 ? random_below(WORDS) : random_below(WORDS / 6) * 6;
        w = random_below(3) == 0 && w + bias < WORDS ? w + bias : w;
        if (!seen[w])
            bag[size++] = (struct nb_feature){word_id(w), 1 + random_below(5), 0};
        seen[w] = true;
    }
    return size;
}

static uint32_t word_of(uint64_t id)
{
    uint32_t w = 0;
    while (word_id(w) != id)
        w++;
    return w;
}

static void small_learn(struct small *s, uint32_t label, const struct nb_feature *bag, size_t size,
                        int sign)
{
    struct nb_row_count rows[WORDS];
    size_t known = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t w = word_of(bag[i].id);
        if (w >= WORDS - 15)
            continue;
        rows[known++] = (struct nb_row_count){w, bag[i].count};
        s->d[label][w] += (uint64_t)(int64_t)sign;
    }
    s->documents[label] += (uint64_t)(int64_t)sign;
    ck_assert_int_eq(nb_model_add(s->model, label, rows, known, sign, NULL), 0);
    nb_model_add_documents(s->model, label, sign);
}

static void small_train(struct small *s, uint32_t documents)
{
    struct nb_feature bag[WORDS];
    for (uint32_t i = 0; i < documents; i++) {
        uint32_t v = i % (s->labels == 1 ? 1 : s->labels - 1);
        small_learn(s, v, bag, random_bag(bag, v), 1);
    }
}

static uint32_t with_documents(const struct small *s)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < s->labels; v++)
        n += s->documents[v] != 0;
    return n;
}

/* ---- the recipe, slowly ---------------------------------------------------------------------- */

static double slow_evidence(const struct small *s, const struct nb_stack_expert *x, uint32_t w,
                            uint32_t v)
{
    double own = 0, all = 0, words = 0, d = (double)s->d[v][w], dw = 0;
    for (uint32_t u = 0; u < WORDS; u++) {
        bool any = false;
        for (uint32_t l = 0; l < s->labels && word_field(u) == word_field(w); l++) {
            any |= s->d[l][u] != 0;
            all += (double)s->d[l][u];
            own += l == v ? (double)s->d[l][u] : 0;
        }
        words += any;
    }
    for (uint32_t l = 0; l < s->labels; l++)
        dw += (double)s->d[l][w];
    if (!(dw > 0))
        return 0;
    double a = x->smoothing;
    double more = x->share * a * (words + 1);
    double r = log(d + a) - log(dw - d + a) - log(own + more) + log(all - own + more);
    return copysign(pow(fabs(r), x->power), r);
}

/* Returns x of a group, for fields and for the total. */
static double slow_input(const struct small *s, const struct nb_stack_settings *set,
                         const struct nb_stack_expert *x, const struct nb_feature *bag, size_t size,
                         unsigned group, uint32_t v)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned field = nb_feature_field(bag[i].id);
        bool in = group == NB_STACK_TOTAL ? field != NB_FIELD_NGRAM : field == group;
        if (!in)
            continue;
        n++;
        sum += slow_evidence(s, x, word_of(bag[i].id), v);
    }
    return n > 0 ? set->scale * sum / pow(n, set->length) : 0;
}

/* ---- fixtures -------------------------------------------------------------------------------- */

struct fixture {
    struct small s;
    struct nb_stack_settings set;
    struct nb_stack *stack;
    struct nb_stack_weights *weights;
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_feature bag[WORDS];
    size_t size;
};

static void fixture_init(struct fixture *f, uint32_t labels)
{
    memset(f, 0, sizeof *f);
    small_init(&f->s, labels);
    nb_stack_settings_init(&f->set);
}

static void fixture_start(struct fixture *f)
{
    ck_assert_int_eq(nb_stack_new(&f->set, &f->stack), 0);
    f->weights = nb_stack_weights_new(&f->set);
    ck_assert_ptr_nonnull(f->weights);
}

static void fixture_score(struct fixture *f)
{
    ck_assert_int_eq(nb_stack_inputs(f->stack, f->s.model, f->bag, f->size, &f->inputs, NULL), 0);
    ck_assert_int_eq(nb_stack_score(f->weights, &f->inputs, &f->scores), 0);
}

static void fixture_deinit(struct fixture *f)
{
    nb_stack_free(&f->stack);
    nb_stack_weights_free(&f->weights);
    nb_stack_inputs_deinit(&f->inputs);
    nb_scores_deinit(&f->scores);
    nb_model_free(&f->s.model);
}

/* A weight, as stored in its vector. */
struct weight {
    double value, squares;
};

/* Returns the weight of input i of the bank in use. */
static struct weight *weight_of(struct fixture *f, uint32_t i)
{
    unsigned set = nb_stack_set(f->inputs.size, i / NB_STACK_GROUPS);
    return (struct weight *)(f->weights->shared.values + nb_stack_place(set, i % NB_STACK_GROUPS));
}

static double value_of(const struct nb_stack_weights *w, uint32_t labels, unsigned e, unsigned g)
{
    return w->shared.values[nb_stack_place(nb_stack_set(labels, e), g)];
}

/* Sets weights other than the start values, so that no result is right by chance. */
static void random_weights(struct fixture *f)
{
    for (int i = 0; i < 40; i++) {
        uint32_t label = random_below(f->s.labels);
        f->size = random_bag(f->bag, label);
        fixture_score(f);
        ck_assert_int_eq(nb_stack_learn(f->weights, &f->inputs, label, 1), 0);
    }
}

/* ---- formulas -------------------------------------------------------------------------------- */

START_TEST(inputs_agree_with_the_formulas)
{
    static const double powers[] = {1, 1.5, 2, 1.3};
    random_seed(300 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, (uint32_t)_i + 1);
    f.set.two.experts[0].power = powers[random_below(4)];
    f.set.many.experts[0].power = powers[random_below(4)];
    f.set.many.size = 1 + random_below(2);
    f.set.many.experts[1] = (struct nb_stack_expert){.smoothing = 3, .share = 0.5, .power = 1.3};
    fixture_start(&f);
    for (int round = 0; round < 20; round++) {
        small_train(&f.s, 3 + random_below(12));
        f.size = random_bag(f.bag, random_below(LABELS));
        fixture_score(&f);
        uint32_t k = with_documents(&f.s);
        const struct nb_stack_bank *bank = k <= 2 ? &f.set.two : &f.set.many;
        ck_assert_uint_eq(f.inputs.size, k);
        ck_assert_uint_eq(f.inputs.count, bank->size * NB_STACK_GROUPS);
        for (uint32_t i = 0; i < f.inputs.count; i++) {
            for (uint32_t v = 0; v < k; v++) {
                if (v > 0) /* names sort against the numbers */
                    ck_assert_uint_lt(f.inputs.labels[v], f.inputs.labels[v - 1]);
                double want = slow_input(&f.s, &f.set, &bank->experts[i / NB_STACK_GROUPS], f.bag,
                                         f.size, i % NB_STACK_GROUPS, f.inputs.labels[v]);
                ck_assert_close(f.inputs.x[i * k + v], k == 1 ? 0 : want);
            }
        }
    }
    fixture_deinit(&f);
}
END_TEST

/* So many labels that rows which few of them have are added up by group. */
START_TEST(inputs_of_many_labels_agree_with_the_formulas)
{
    static const double powers[] = {2, 1, 1.5, 1.3};
    random_seed(330 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, LABELS_MOST);
    f.set.many.experts[0].power = powers[_i];
    f.set.many.size = 2;
    f.set.many.experts[1] =
        (struct nb_stack_expert){.smoothing = 3, .share = 0.5, .power = powers[3 - _i]};
    fixture_start(&f);
    for (int round = 0; round < 3; round++) {
        small_train(&f.s, round == 0 ? 60 : 100); /* the second time there are dense rows */
        f.size = random_bag(f.bag, random_below(LABELS_MOST));
        fixture_score(&f);
        uint32_t k = f.inputs.size;
        ck_assert_uint_eq(k, LABELS_MOST - 1);
        for (uint32_t i = 0; i < f.inputs.count; i++) {
            for (uint32_t v = random_below(8); v < k; v += 8) {
                double want = slow_input(&f.s, &f.set, &f.set.many.experts[i / NB_STACK_GROUPS],
                                         f.bag, f.size, i % NB_STACK_GROUPS, f.inputs.labels[v]);
                ck_assert_close(f.inputs.x[i * k + v], want);
            }
        }
    }
    fixture_deinit(&f);
}
END_TEST

static double *loss_of(struct fixture *f, unsigned e)
{
    size_t place = nb_stack_place(nb_stack_set(f->inputs.size, e), NB_STACK_LOSS);
    return &f->weights->shared.values[place];
}

static void slow_trust(struct fixture *f, double trust[NB_STACK_EXPERTS])
{
    unsigned experts = f->inputs.count / NB_STACK_GROUPS;
    double sum = 0;
    for (unsigned e = 0; e < experts; e++)
        sum += exp(-f->set.mixing * *loss_of(f, e));
    for (unsigned e = 0; e < experts; e++)
        trust[e] = exp(-f->set.mixing * *loss_of(f, e)) / sum;
}

/* Trusts one expert only, whose score is then the result. */
static void trust_only(struct fixture *f, unsigned only)
{
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        *loss_of(f, e) = e == only ? 0 : 1e9;
}

START_TEST(scores_are_weighted_sums)
{
    random_seed(500 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, (uint32_t)_i + 2);
    fixture_start(&f);
    small_train(&f.s, 40);
    random_weights(&f);
    f.size = random_bag(f.bag, 1);
    fixture_score(&f);
    uint32_t k = f.inputs.size;
    double z = 0;
    double trust[NB_STACK_EXPERTS];
    slow_trust(&f, trust);
    for (uint32_t v = 0; v < k; v++) {
        double s = 0;
        for (uint32_t i = 0; i < f.inputs.count; i++)
            s += trust[i / NB_STACK_GROUPS] * weight_of(&f, i)->value * f.inputs.x[i * k + v] /
                 (k == 2 ? 2 : 1);
        for (unsigned e = 0; e < f.inputs.count / NB_STACK_GROUPS; e++)
            s += trust[e] * nb_stack_bias(f.weights, f.inputs.labels[v], e);
        ck_assert_close(f.scores.log_scores[v], s);
        z += exp(s);
    }
    for (uint32_t v = 0; v < k; v++)
        ck_assert_close(f.scores.probabilities[v], exp(f.scores.log_scores[v]) / z);
    for (uint32_t v = 0; v < k; v++)
        ck_assert(f.scores.log_scores[f.scores.best] >= f.scores.log_scores[v]);
    fixture_deinit(&f);
}
END_TEST

/* With two labels this is the logistic regression of the recipe: s = b + sum of w x, and minus that
 * for the other label. */
START_TEST(two_labels_are_a_logistic_regression)
{
    random_seed(9);
    struct fixture f;
    fixture_init(&f, 3);
    fixture_start(&f);
    small_train(&f.s, 30);
    f.size = random_bag(f.bag, 1);
    fixture_score(&f);
    double s = 0;
    for (uint32_t i = 0; i < f.inputs.count; i++) {
        ck_assert(f.inputs.x[2 * i] == -f.inputs.x[2 * i + 1]); /* to the bit */
        s += weight_of(&f, i)->value * f.inputs.x[2 * i] / 2;   /* no losses yet: half of both */
    }
    ck_assert_close(f.scores.log_scores[0] - f.scores.log_scores[1], s);
    ck_assert_close(f.scores.probabilities[0], 1 / (1 + exp(-s)));
    fixture_deinit(&f);
}
END_TEST

/* With two labels one against all others is one against the other, whatever the weights are. */
START_TEST(one_label_against_all_others)
{
    random_seed(77);
    struct fixture f;
    fixture_init(&f, 3);
    fixture_start(&f);
    small_train(&f.s, 40);
    for (int i = 0; i < 20; i++) {
        random_weights(&f);
        f.size = random_bag(f.bag, (uint32_t)i % 3);
        fixture_score(&f);
        ck_assert_uint_eq(f.scores.size, 2);
        for (unsigned v = 0; v < 2; v++) {
            double got = 0;
            ck_assert_int_eq(nb_stack_against(f.stack, f.s.model, f.weights, f.bag, f.size,
                                              f.scores.labels[v], f.scores.labels[1 - v], &got),
                             0);
            ck_assert_close(got, f.scores.log_scores[v] - f.scores.log_scores[1 - v]);
        }
    }
    fixture_deinit(&f);
}
END_TEST

START_TEST(start_values_are_the_recipes)
{
    struct nb_stack_settings set;
    nb_stack_settings_init(&set);
    struct nb_stack_weights *w = nb_stack_weights_new(&set);
    ck_assert(value_of(w, 2, 0, NB_FIELD_BODY) == 0.05);
    ck_assert(value_of(w, 2, 0, NB_FIELD_NGRAM) == 0.2);
    ck_assert(value_of(w, 2, 0, NB_STACK_TOTAL) == 0.5);
    ck_assert(value_of(w, 2, 1, NB_FIELD_BODY) == 0.08);
    ck_assert(value_of(w, 2, 1, NB_STACK_TOTAL) == 0.8);
    ck_assert(value_of(w, 3, 0, NB_FIELD_BODY) == 0.05);
    ck_assert(value_of(w, 3, 0, NB_STACK_TOTAL) == 0.6);
    nb_stack_weights_free(&w);
    ck_assert_ptr_null(w);
}
END_TEST

START_TEST(raised_weights_are_those_of_two_labels)
{
    struct nb_stack_settings set;
    nb_stack_settings_init(&set);
    struct nb_stack_weights *w = nb_stack_weights_new(&set);
    nb_stack_weights_raise(w, 1u << NB_FIELD_BODY | 1u << NB_FIELD_CASE, 4, 8);
    for (unsigned e = 0; e < 2; e++) {
        double start = e == 0 ? 0.05 : 0.08;
        ck_assert(value_of(w, 2, e, NB_FIELD_BODY) == 4 * start);
        ck_assert(value_of(w, 2, e, NB_FIELD_CASE) == 4 * start);
        ck_assert(value_of(w, 2, e, NB_FIELD_SUBJECT) == start);
        ck_assert(value_of(w, 2, e, NB_STACK_TOTAL) == 8 * (e == 0 ? 0.5 : 0.8));
    }
    ck_assert(value_of(w, 3, 0, NB_FIELD_BODY) == 0.05);
    nb_stack_weights_free(&w);
}
END_TEST

/* ---- learning -------------------------------------------------------------------------------- */

static double loss(struct fixture *f, uint32_t place)
{
    ck_assert_int_eq(nb_stack_score(f->weights, &f->inputs, &f->scores), 0);
    double best = f->scores.log_scores[f->scores.best];
    double z = exp(f->scores.log_scores[0] - best);
    for (uint32_t v = 1; v < f->inputs.size; v++)
        z += exp(f->scores.log_scores[v] - best);
    return log(z) + best - f->scores.log_scores[place];
}

/* Returns the derivative of the loss by one weight, from the losses at values on both sides of
 * it. */
static double slope(struct fixture *f, struct weight *w, uint32_t place)
{
    const double h = 1e-5;
    double value = w->value;
    w->value = value + h;
    double above = loss(f, place);
    w->value = value - h;
    double below = loss(f, place);
    w->value = value;
    return (above - below) / (2 * h);
}

/* Returns the weight of input i of the bank in use; after the inputs come the biases of each label
 * and expert. */
static struct weight *parameter(struct fixture *f, uint32_t i)
{
    uint32_t count = f->inputs.count;
    if (i < count)
        return weight_of(f, i);
    uint32_t experts = count / NB_STACK_GROUPS;
    uint32_t label = f->inputs.labels[(i - count) / experts];
    double *biases = f->weights->biases[(i - count) % experts].values;
    return (struct weight *)(biases + nb_stack_bias_place(label));
}

static unsigned expert_of(const struct fixture *f, uint32_t i)
{
    uint32_t count = f->inputs.count;
    return i < count ? i / NB_STACK_GROUPS : (i - count) % (count / NB_STACK_GROUPS);
}

/* Each expert follows the gradient of its own loss, and that loss is added to those before. */
START_TEST(steps_follow_the_gradient)
{
    enum { MOST = NB_STACK_INPUTS + LABELS * NB_STACK_EXPERTS };
    random_seed(700 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, (uint32_t)_i + 3);
    f.set.many.size = 1 + random_below(2);
    f.set.many.experts[1] = (struct nb_stack_expert){.smoothing = 3, .share = 0.5, .power = 1.3};
    f.set.memory = 50;
    fixture_start(&f);
    small_train(&f.s, 30);
    random_weights(&f);
    for (int round = 0; round < 10; round++) {
        uint32_t place = random_below(f.inputs.size);
        f.size = random_bag(f.bag, place);
        fixture_score(&f);
        double gradients[MOST] = {0}, own[NB_STACK_EXPERTS] = {0};
        double losses[NB_STACK_EXPERTS];
        struct weight before[MOST] = {0};
        uint32_t experts = f.inputs.count / NB_STACK_GROUPS;
        uint32_t all = f.inputs.count + f.inputs.size * experts;
        for (unsigned e = 0; e < experts; e++)
            losses[e] = *loss_of(&f, e);
        for (uint32_t i = 0; i < all; i++) {
            trust_only(&f, expert_of(&f, i));
            own[expert_of(&f, i)] = loss(&f, place);
            gradients[i] = slope(&f, parameter(&f, i), place);
            before[i] = *parameter(&f, i);
        }
        for (unsigned e = 0; e < experts; e++)
            *loss_of(&f, e) = losses[e];
        ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, f.inputs.labels[place], 1), 0);
        for (uint32_t i = 0; i < all; i++) {
            const struct weight *one = parameter(&f, i);
            double g = gradients[i], squares = before[i].squares + g * g;
            ck_assert(close_to(one->squares, squares, 1e-6));
            ck_assert(
                close_to(one->value, before[i].value - f.set.rate * g / (1 + sqrt(squares)), 1e-6));
        }
        for (unsigned e = 0; e < experts; e++)
            ck_assert_close(*loss_of(&f, e), losses[e] * (1 - 1.0 / 50) + fmin(own[e], 13.8));
    }
    fixture_deinit(&f);
}
END_TEST

/* An expert whose weights are turned round is soon not heard any more. */
START_TEST(trust_goes_to_the_better_expert)
{
    random_seed(77 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, 3);
    fixture_start(&f);
    small_train(&f.s, 40);
    random_weights(&f);
    unsigned bad = (unsigned)_i;
    double trust[NB_STACK_EXPERTS];
    for (int round = 0; round < 200; round++) {
        uint32_t place = random_below(2);
        f.size = random_bag(f.bag, place);
        fixture_score(&f);
        for (uint32_t g = 0; g < NB_STACK_GROUPS; g++)
            weight_of(&f, bad * NB_STACK_GROUPS + g)->value = -5;
        ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, f.inputs.labels[place], 1), 0);
        nb_stack_trust(f.weights, 2, trust);
        ck_assert_close(trust[0] + trust[1], 1);
    }
    ck_assert(trust[bad] < 1e-3);
    ck_assert(*loss_of(&f, bad) < 13.8 * f.set.memory);
    fixture_deinit(&f);
}
END_TEST

START_TEST(nothing_is_learned_where_nothing_can_be)
{
    random_seed(3);
    struct fixture f;
    fixture_init(&f, 4);
    fixture_start(&f);
    ck_assert_int_eq(nb_stack_inputs(f.stack, f.s.model, NULL, 0, &f.inputs, NULL), NB_CONFLICT);
    f.size = random_bag(f.bag, 0);
    small_learn(&f.s, 0, f.bag, f.size, 1);
    fixture_score(&f); /* one label has documents */
    ck_assert(f.scores.probabilities[0] == 1.0);
    ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, 0, 1), 0);
    ck_assert_uint_eq(f.weights->biases[0].ranges, 0);
    small_train(&f.s, 6);
    fixture_score(&f);
    double before[NB_STACK_SHARED];
    const double *now = f.weights->shared.values;
    const size_t two = NB_STACK_SHARED / 2 * sizeof *now; /* the sets of two labels come first */
    memcpy(before, now, sizeof before);
    ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, 3, 1), 0); /* has no documents */
    ck_assert_mem_eq(before, now, sizeof before);
    ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, 2, 1), 0);
    ck_assert_mem_ne(before, now, sizeof before);
    ck_assert_mem_eq(before, now, two);
    fixture_deinit(&f);
}
END_TEST

/* A field that tells and one that only seems to: what is learned online must tell them apart, and
 * the probabilities must come to mean something. */
START_TEST(learning_weighs_fields_and_calibrates)
{
    random_seed(41);
    struct fixture f;
    fixture_init(&f, 3);
    fixture_start(&f);
    double early = 0, late = 0;
    for (int i = 0; i < 600; i++) {
        uint32_t label = random_below(2);
        f.size = 0;
        for (uint32_t k = 0; k < 4; k++) { /* body words: nine in ten are the label's own */
            uint32_t side = random_below(10) != 0 ? label : 1 - label;
            f.bag[f.size++] = (struct nb_feature){word_id(11 * (2 * k + side)), 1, 0};
        }
        f.bag[f.size++] = (struct nb_feature){word_id(3 + 11 * random_below(8)), 1, 0}; /* noise */
        if (i >= 4) {
            fixture_score(&f);
            uint32_t place = f.inputs.labels[0] == label ? 0 : 1;
            *(i < 150    ? &early
              : i >= 450 ? &late
                         : &(double){0}) -= log(f.scores.probabilities[place]) / 150;
            ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, label, 1), 0);
        }
        small_learn(&f.s, i < 2 ? (uint32_t)i : label, f.bag, f.size, 1);
    }
    ck_assert(weight_of(&f, NB_FIELD_BODY)->value > 4 * fabs(weight_of(&f, 3)->value));
    ck_assert_msg(late < early && late < 0.12, "log-loss %g, then %g", early, late);
    fixture_deinit(&f);
}
END_TEST

/* ---- explanations ---------------------------------------------------------------------------- */

START_TEST(explanations_add_up)
{
    random_seed(900 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, (uint32_t)_i + 1);
    fixture_start(&f);
    small_train(&f.s, 30);
    random_weights(&f);
    for (int round = 0; round < 30; round++) {
        f.size = random_bag(f.bag, random_below(LABELS));
        fixture_score(&f);
        struct nb_evidence rows[WORDS + 1];
        size_t count = 0;
        ck_assert_int_eq(nb_stack_explain(f.stack, f.s.model, f.weights, f.bag, f.size, NULL,
                                          &f.inputs, &f.scores, NULL, rows, &count),
                         0);
        ck_assert_uint_ge(count, 1);
        ck_assert_uint_eq(rows[count - 1].feature, NB_NO_FEATURE);
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += rows[i].evidence;
        ck_assert_close(sum,
                        f.scores.log_scores[f.scores.best] - f.scores.log_scores[f.scores.second]);
        small_train(&f.s, 2);
    }
    fixture_deinit(&f);
}
END_TEST

/* ---- counts go out again, and stored forms --------------------------------------------------- */

START_TEST(taking_a_document_out_restores_every_input)
{
    random_seed(60 + (uint64_t)_i);
    struct fixture f;
    fixture_init(&f, (uint32_t)_i + 2);
    fixture_start(&f);
    small_train(&f.s, 25);
    f.size = random_bag(f.bag, 2);
    fixture_score(&f);
    double before[NB_STACK_INPUTS * LABELS];
    size_t bytes = (size_t)f.inputs.count * f.inputs.size * sizeof *before;
    memcpy(before, f.inputs.x, bytes);
    struct nb_feature other[WORDS];
    size_t size = random_bag(other, 1);
    small_learn(&f.s, f.s.labels - 1, other, size, 1); /* a label more, for a while */
    fixture_score(&f);
    small_learn(&f.s, f.s.labels - 1, other, size, -1);
    fixture_score(&f);
    ck_assert_mem_eq(f.inputs.x, before, bytes);
    fixture_deinit(&f);
}
END_TEST

START_TEST(stored_weights_score_the_same)
{
    random_seed(90);
    struct fixture f;
    fixture_init(&f, 5);
    fixture_start(&f);
    small_train(&f.s, 25);
    random_weights(&f);
    struct nb_buffer bytes = {0};
    struct nb_packer w = {.out = &bytes};
    nb_stack_weights_write(f.weights, &w);
    struct nb_stack_weights *back = nb_stack_weights_new(&f.set);
    struct nb_unpacker r = nb_unpacker_of(bytes.bytes, bytes.length);
    ck_assert_int_eq(nb_stack_weights_read(back, &r), 0);
    ck_assert(nb_unpacker_done(&r));
    struct nb_scores scores;
    nb_scores_init(&scores);
    ck_assert_int_eq(nb_stack_score(back, &f.inputs, &scores), 0);
    ck_assert_int_eq(nb_stack_score(f.weights, &f.inputs, &f.scores), 0);
    ck_assert_mem_eq(scores.log_scores, f.scores.log_scores, scores.size * sizeof(double));
    for (size_t length = 0; length < bytes.length; length++) {
        r = nb_unpacker_of(bytes.bytes, length);
        ck_assert_int_eq(nb_stack_weights_read(back, &r), NB_CORRUPT);
    }
    ck_assert_mem_eq(back->shared.values, f.weights->shared.values,
                     NB_STACK_SHARED * sizeof(double)); /* untouched by failures */
    /* Of an older form: the first byte of the head, behind its length, is the form. */
    size_t form = (bytes.bytes[0] & 0x80) != 0 ? 2 : 1;
    struct nb_stack_weights *start = nb_stack_weights_new(&f.set);
    ck_assert_int_eq(bytes.bytes[form], 2);
    bytes.bytes[form] = 1;
    r = nb_unpacker_of(bytes.bytes, bytes.length);
    ck_assert_int_eq(nb_stack_weights_read(back, &r), 1);
    ck_assert(nb_unpacker_done(&r));
    ck_assert_mem_eq(back->shared.values, start->shared.values, NB_STACK_SHARED * sizeof(double));
    ck_assert_uint_eq(nb_weights_places(nb_stack_weights_order(back)), 0);
    bytes.bytes[form] = 3; /* of a later one */
    r = nb_unpacker_of(bytes.bytes, bytes.length);
    ck_assert_int_eq(nb_stack_weights_read(back, &r), NB_CORRUPT);
    nb_stack_weights_free(&start);
    nb_stack_weights_free(&back);
    nb_scores_deinit(&scores);
    nb_buffer_deinit(&bytes);
    fixture_deinit(&f);
}
END_TEST

/* ---- weights by record ----------------------------------------------------------------------- */

/* A store of records, which a commit writes and the next start reads. */
enum { RECORDS_MOST = 64 };
struct records {
    uint32_t number[RECORDS_MOST];
    struct nb_buffer bytes[RECORDS_MOST];
    size_t count;
};

static struct nb_buffer *record_of(struct records *store, uint32_t number)
{
    size_t i = 0;
    while (i < store->count && store->number[i] != number)
        i++;
    if (i == store->count) {
        ck_assert_uint_lt(store->count, RECORDS_MOST);
        store->number[store->count++] = number;
    }
    return &store->bytes[i];
}

/* Stores only the changed records; returns their number. */
static size_t store_changed(struct records *store, struct nb_stack_weights *weights)
{
    size_t count = 0;
    for (uint32_t n = 0; (n = nb_stack_weights_changed(weights, n)) != NB_STACK_NO_RECORD; n++) {
        struct nb_buffer *bytes = record_of(store, n);
        struct nb_packer to = {.out = bytes};
        bytes->length = 0;
        nb_stack_weights_write_record(weights, n, &to);
        ck_assert_int_eq(to.code, 0);
        count++;
    }
    nb_stack_weights_commit(weights);
    return count;
}

/* Loads the head first, then the other records from the last to the first. */
static struct nb_stack_weights *load(const struct records *store,
                                     const struct nb_stack_settings *set)
{
    struct nb_stack_weights *weights = nb_stack_weights_new(set);
    for (size_t i = 0; i < store->count; i++) {
        size_t at = i == 0 ? 0 : store->count - i;
        struct nb_string bytes = {store->bytes[at].bytes, store->bytes[at].length};
        ck_assert_int_eq(nb_stack_weights_read_record(weights, store->number[at], bytes), 0);
    }
    return weights;
}

static void records_deinit(struct records *store)
{
    for (size_t i = 0; i < store->count; i++)
        nb_buffer_deinit(&store->bytes[i]);
}

static struct nb_buffer all_of(const struct nb_stack_weights *weights)
{
    struct nb_buffer bytes = {0};
    struct nb_packer to = {.out = &bytes};
    nb_stack_weights_write(weights, &to);
    ck_assert_int_eq(to.code, 0);
    return bytes;
}

static void expect_equal(const struct nb_stack_weights *a, const struct nb_stack_weights *b)
{
    struct nb_buffer x = all_of(a), y = all_of(b);
    ck_assert_uint_eq(x.length, y.length);
    ck_assert_mem_eq(x.bytes, y.bytes, x.length);
    nb_buffer_deinit(&x);
    nb_buffer_deinit(&y);
}

static void learn_one(struct fixture *f)
{
    uint32_t label = random_below(f->s.labels - 1); /* one that has documents */
    f->size = random_bag(f->bag, label);
    fixture_score(f);
    ck_assert_int_eq(nb_stack_learn(f->weights, &f->inputs, label, 1), 0);
}

/* Commits store what changed; a start reads the same weights, with nothing left to store. */
START_TEST(commits_store_what_changed)
{
    random_seed(120 + (uint64_t)_i);
    struct fixture f;
    struct records store = {0};
    fixture_init(&f, (uint32_t)_i + 3);
    fixture_start(&f);
    small_train(&f.s, 25);
    ck_assert_uint_eq(store_changed(&store, f.weights), 1); /* the head */
    ck_assert_uint_eq(store_changed(&store, f.weights), 0);
    for (int round = 0; round < 30; round++) {
        learn_one(&f);
        ck_assert_uint_ge(store_changed(&store, f.weights), 1);
        ck_assert_uint_eq(store_changed(&store, f.weights), 0);
        struct nb_stack_weights *loaded = load(&store, &f.set);
        expect_equal(loaded, f.weights);
        ck_assert_uint_eq(nb_stack_weights_changed(loaded, 0), NB_STACK_NO_RECORD);
        nb_stack_weights_free(&loaded);
    }
    records_deinit(&store);
    fixture_deinit(&f);
}
END_TEST

/* What one group commits and the next takes back leaves weights and store as they were. */
START_TEST(rollbacks_restore_to_the_bit)
{
    random_seed(140 + (uint64_t)_i);
    struct fixture f;
    struct records store = {0};
    fixture_init(&f, (uint32_t)_i + 3);
    fixture_start(&f);
    small_train(&f.s, 25);
    for (int round = 0; round < 40; round++) {
        for (uint32_t i = random_below(3); i > 0; i--)
            learn_one(&f);
        if (random_below(2) == 0)
            store_changed(&store, f.weights);
        struct nb_buffer before = all_of(f.weights);
        uint32_t first_changed = nb_stack_weights_changed(f.weights, 1);
        struct nb_stack_mark mark = nb_stack_weights_mark(f.weights);
        for (uint32_t i = random_below(4); i > 0; i--)
            learn_one(&f);
        struct nb_stack_mark later = nb_stack_weights_mark(f.weights);
        for (uint32_t i = random_below(3); i > 0; i--)
            learn_one(&f);
        if (random_below(2) == 0)
            nb_stack_weights_rollback(f.weights, later);
        nb_stack_weights_rollback(f.weights, mark);
        struct nb_buffer after = all_of(f.weights);
        ck_assert_uint_eq(after.length, before.length);
        ck_assert_mem_eq(after.bytes, before.bytes, before.length);
        ck_assert_uint_eq(nb_stack_weights_changed(f.weights, 1), first_changed);
        nb_buffer_deinit(&before);
        nb_buffer_deinit(&after);
        if (random_below(4) == 0) { /* the whole group */
            nb_stack_weights_rollback(f.weights, (struct nb_stack_mark){0});
            ck_assert_uint_eq(nb_stack_weights_changed(f.weights, 1), NB_STACK_NO_RECORD);
        }
    }
    records_deinit(&store);
    fixture_deinit(&f);
}
END_TEST

static void put_name(struct nb_packer *to, const char *name)
{
    nb_pack_string(to, (struct nb_string){name, strlen(name)});
}

/* The store of a program that has one field that this one has not, lacks two that this one has, and
 * has everything in another order. */
START_TEST(weights_are_stored_by_name)
{
    static const char *const sets[] = {"many", "three.new", "two.robust"};
    static const char *const columns[] = {"loss", "total", "title", "body"};
    struct nb_stack_settings set;
    nb_stack_settings_init(&set);
    struct nb_buffer head = {0}, range = {0};
    struct nb_packer to = {.out = &head};
    nb_pack_u8(&to, 1);
    nb_pack_varint(&to, 3);
    for (int i = 0; i < 3; i++)
        put_name(&to, sets[i]);
    nb_pack_varint(&to, 4);
    for (int i = 0; i < 4; i++)
        put_name(&to, columns[i]);
    to.out = &range;
    nb_pack_u64(&to, (UINT64_C(1) << 24) - 1);
    for (int i = 0; i < 24; i++)
        nb_pack_double(&to, 1 + i);
    struct nb_stack_weights *w = nb_stack_weights_new(&set);
    struct nb_string head_bytes = {head.bytes, head.length};
    struct nb_string range_bytes = {range.bytes, range.length};
    ck_assert_int_eq(nb_stack_weights_read_record(w, 1, range_bytes), NB_CORRUPT); /* no head yet */
    ck_assert_int_eq(nb_stack_weights_read_record(w, 0, head_bytes), 0);
    ck_assert_int_eq(nb_stack_weights_read_record(w, 1, range_bytes), 0);
    ck_assert_int_eq(nb_stack_weights_read_record(w, 2, range_bytes),
                     NB_CORRUPT); /* past its end */
    ck_assert(value_of(w, 3, 0, NB_STACK_LOSS) == 1);
    ck_assert(value_of(w, 3, 0, NB_STACK_TOTAL) == 3);
    ck_assert(value_of(w, 3, 0, NB_FIELD_BODY) == 7);
    ck_assert(w->shared.values[nb_stack_place(nb_stack_set(3, 0), NB_FIELD_BODY) + 1] == 8);
    ck_assert(value_of(w, 3, 0, NB_FIELD_SUBJECT) == 0.05); /* not stored: as at the start */
    ck_assert(value_of(w, 2, 1, NB_STACK_TOTAL) == 19);
    ck_assert(value_of(w, 2, 1, NB_FIELD_BODY) == 23);
    ck_assert(value_of(w, 2, 0, NB_FIELD_BODY) == 0.05);
    struct records store = {0};
    ck_assert_uint_eq(store_changed(&store, w), 1 + w->shared.ranges); /* in our own order */
    struct nb_stack_weights *again = load(&store, &set);
    expect_equal(again, w);
    ck_assert_uint_eq(nb_stack_weights_changed(again, 0), NB_STACK_NO_RECORD);
    nb_stack_weights_free(&again);
    nb_stack_weights_free(&w);
    records_deinit(&store);
    nb_buffer_deinit(&head);
    nb_buffer_deinit(&range);
}
END_TEST

/* The store of a program with so many fields that its ranges outnumber ours: those left over are
 * emptied, so that they say nothing under our head. */
START_TEST(left_over_ranges_are_emptied)
{
    enum { COLUMNS = 100 };
    struct nb_stack_settings set;
    nb_stack_settings_init(&set);
    struct nb_buffer head = {0}, range = {0};
    struct nb_packer to = {.out = &head};
    nb_pack_u8(&to, 1);
    nb_pack_varint(&to, 1);
    put_name(&to, "many");
    nb_pack_varint(&to, COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        char name[] = {'f', (char)('0' + i / 10), (char)('0' + i % 10), '\0'};
        put_name(&to, i == COLUMNS - 1 ? "url" : name);
    }
    to.out = &range;
    nb_pack_u64(&to, UINT64_C(1) << (2 * (COLUMNS - 1) % 64));
    nb_pack_double(&to, 42);
    struct nb_stack_weights *w = nb_stack_weights_new(&set);
    ck_assert_int_eq(
        nb_stack_weights_read_record(w, 0, (struct nb_string){head.bytes, head.length}), 0);
    ck_assert_int_eq(
        nb_stack_weights_read_record(w, 4, (struct nb_string){range.bytes, range.length}), 0);
    ck_assert(value_of(w, 3, 0, NB_FIELD_URL) == 42);
    struct records store = {0};
    ck_assert_uint_eq(store_changed(&store, w), 5); /* head, two of ours, two of theirs */
    ck_assert_uint_eq(record_of(&store, 4)->length, 0);
    struct nb_stack_weights *again = load(&store, &set);
    expect_equal(again, w);
    nb_stack_weights_free(&again);
    nb_stack_weights_free(&w);
    records_deinit(&store);
    nb_buffer_deinit(&head);
    nb_buffer_deinit(&range);
}
END_TEST

START_TEST(damaged_records_are_refused_or_harmless)
{
    random_seed(160);
    struct fixture f;
    struct records store = {0};
    fixture_init(&f, 4);
    fixture_start(&f);
    small_train(&f.s, 25);
    random_weights(&f);
    store_changed(&store, f.weights);
    for (size_t i = 0; i < store.count; i++) {
        struct nb_buffer *b = &store.bytes[i];
        for (size_t bit = 0; bit < 8 * b->length; bit++) {
            b->bytes[bit / 8] = (char)(b->bytes[bit / 8] ^ 1 << bit % 8);
            struct nb_stack_weights *w = nb_stack_weights_new(&f.set);
            int rc = 0;
            for (size_t k = 0; rc == 0 && k < store.count; k++)
                rc = nb_stack_weights_read_record(
                    w, store.number[k],
                    (struct nb_string){store.bytes[k].bytes, store.bytes[k].length});
            ck_assert(rc == 0 || rc == NB_CORRUPT);
            nb_stack_weights_free(&w);
            b->bytes[bit / 8] = (char)(b->bytes[bit / 8] ^ 1 << bit % 8);
        }
        for (size_t length = 1; length < b->length; length++) {
            struct nb_stack_weights *w = load(&(struct records){0}, &f.set);
            int rc =
                i == 0 ? 0
                       : nb_stack_weights_read_record(
                             w, 0, (struct nb_string){store.bytes[0].bytes, store.bytes[0].length});
            ck_assert_int_eq(rc, 0);
            ck_assert_int_eq(nb_stack_weights_read_record(w, store.number[i],
                                                          (struct nb_string){b->bytes, length}),
                             NB_CORRUPT);
            nb_stack_weights_free(&w);
        }
    }
    records_deinit(&store);
    fixture_deinit(&f);
}
END_TEST

START_TEST(inputs_of_other_settings_are_refused)
{
    struct fixture f;
    fixture_init(&f, 3);
    random_seed(2);
    fixture_start(&f);
    small_train(&f.s, 6);
    f.size = random_bag(f.bag, 0);
    fixture_score(&f);
    f.set.two.size = 1;
    struct nb_stack_weights *other = nb_stack_weights_new(&f.set);
    ck_assert_int_eq(nb_stack_score(other, &f.inputs, &f.scores), NB_CORRUPT);
    ck_assert_int_eq(nb_stack_learn(other, &f.inputs, 0, 1), NB_CORRUPT);
    nb_stack_weights_free(&other);
    fixture_deinit(&f);
}
END_TEST

START_TEST(extreme_counts_stay_finite)
{
    struct fixture f;
    fixture_init(&f, 3);
    fixture_start(&f);
    for (uint32_t w = 0; w < 20; w++) {
        struct nb_cell cell = {w % 2, UINT32_MAX, UINT32_MAX};
        ck_assert_int_eq(nb_model_set_cells(f.s.model, w, &cell, 1), 0);
        f.bag[f.size++] = (struct nb_feature){word_id(w - w % 2), UINT32_MAX, 0};
    }
    nb_model_add_documents(f.s.model, 0, UINT32_MAX);
    nb_model_add_documents(f.s.model, 1, UINT32_MAX);
    fixture_score(&f);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs, 1, 1), 0);
    fixture_score(&f);
    for (uint32_t v = 0; v < 2; v++)
        ck_assert(isfinite(f.scores.log_scores[v]) && f.scores.probabilities[v] >= 0);
    fixture_deinit(&f);
}
END_TEST

/* ---- readers beside the writer --------------------------------------------------------------- */

struct shared {
    struct fixture *f;
    atomic_bool stop;
    atomic_uint bad;
};

static void *read_on(void *user)
{
    struct shared *shared = user;
    struct fixture *f = shared->f;
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    nb_stack_inputs_init(&inputs);
    nb_scores_init(&scores);
    while (!atomic_load(&shared->stop)) {
        struct nb_evidence rows[WORDS + 1];
        size_t count = 0;
        nb_model_read_lock(f->s.model);
        int rc = nb_stack_inputs(f->stack, f->s.model, f->bag, f->size, &inputs, NULL);
        nb_stack_weights_read_lock(f->weights);
        rc = rc != 0 ? rc : nb_stack_score(f->weights, &inputs, &scores);
        rc = rc != 0 ? rc
                     : nb_stack_explain(f->stack, f->s.model, f->weights, f->bag, f->size, NULL,
                                        &inputs, &scores, NULL, rows, &count);
        nb_stack_weights_unlock(f->weights);
        nb_model_unlock(f->s.model);
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += rows[i].evidence;
        double want = scores.log_scores[scores.best] - scores.log_scores[scores.second];
        if (rc != 0 || !close_to(sum, want, 1e-9))
            atomic_fetch_add(&shared->bad, 1);
    }
    nb_stack_inputs_deinit(&inputs);
    nb_scores_deinit(&scores);
    return NULL;
}

START_TEST(readers_see_whole_states_only)
{
    random_seed(12);
    struct fixture f;
    fixture_init(&f, 5);
    fixture_start(&f);
    small_train(&f.s, 10);
    f.size = random_bag(f.bag, 0);
    struct shared shared = {.f = &f};
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, &shared), 0);
    struct nb_stack_inputs inputs;
    nb_stack_inputs_init(&inputs);
    for (uint32_t i = 0; i < 800; i++) {
        struct nb_feature bag[WORDS];
        uint32_t label = i % 4;
        size_t size = random_bag(bag, label);
        ck_assert_int_eq(nb_stack_inputs(f.stack, f.s.model, bag, size, &inputs, NULL), 0);
        ck_assert_int_eq(nb_stack_learn(f.weights, &inputs, label, 1), 0);
        small_learn(&f.s, label, bag, size, 1);
    }
    atomic_store(&shared.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    ck_assert_uint_eq(atomic_load(&shared.bad), 0);
    nb_stack_inputs_deinit(&inputs);
    fixture_deinit(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack");
    TCase *formulas = tcase_create("formulas");
    tcase_add_loop_test(formulas, inputs_agree_with_the_formulas, 0, LABELS);
    tcase_add_loop_test(formulas, inputs_of_many_labels_agree_with_the_formulas, 0, 4);
    tcase_add_loop_test(formulas, scores_are_weighted_sums, 0, LABELS - 1);
    tcase_add_test(formulas, two_labels_are_a_logistic_regression);
    tcase_add_test(formulas, one_label_against_all_others);
    tcase_add_test(formulas, start_values_are_the_recipes);
    tcase_add_test(formulas, raised_weights_are_those_of_two_labels);
    tcase_add_loop_test(formulas, explanations_add_up, 0, LABELS);
    tcase_add_test(formulas, extreme_counts_stay_finite);
    tcase_set_timeout(formulas, 60);
    suite_add_tcase(suite, formulas);
    TCase *learning = tcase_create("learning");
    tcase_add_loop_test(learning, trust_goes_to_the_better_expert, 0, 2);
    tcase_add_loop_test(learning, steps_follow_the_gradient, 0, LABELS - 2);
    tcase_add_test(learning, nothing_is_learned_where_nothing_can_be);
    tcase_add_test(learning, learning_weighs_fields_and_calibrates);
    suite_add_tcase(suite, learning);
    TCase *form = tcase_create("stored forms");
    tcase_add_loop_test(form, taking_a_document_out_restores_every_input, 0, LABELS - 1);
    tcase_add_test(form, stored_weights_score_the_same);
    tcase_add_loop_test(form, commits_store_what_changed, 0, LABELS - 2);
    tcase_add_loop_test(form, rollbacks_restore_to_the_bit, 0, LABELS - 2);
    tcase_add_test(form, weights_are_stored_by_name);
    tcase_add_test(form, left_over_ranges_are_emptied);
    tcase_add_test(form, damaged_records_are_refused_or_harmless);
    tcase_set_timeout(form, 60);
    tcase_add_test(form, inputs_of_other_settings_are_refused);
    suite_add_tcase(suite, form);
    TCase *threads = tcase_create("threads");
    tcase_set_timeout(threads, 120);
    tcase_add_test(threads, readers_see_whole_states_only);
    suite_add_tcase(suite, threads);
    return test_run(suite);
}
