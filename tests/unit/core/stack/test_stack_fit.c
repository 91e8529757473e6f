/* SPDX-License-Identifier: Apache-2.0
 *
 * A fit gives the same weights as three plain passes.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack/stack_fit.h"
#include "core/stack/stack_private.h"
#include "tests/unit/run.h"

enum { SAMPLES = 40 };

/* Makes inputs like those of a document; some groups have no feature. */
static void random_inputs(struct nb_random *random, uint32_t labels, unsigned experts,
                          struct nb_stack_inputs *in)
{
    ck_assert_int_eq(nb_stack_inputs_room(in, labels), 0);
    in->size = labels;
    in->count = experts * NB_STACK_GROUPS;
    for (uint32_t v = 0; v < labels; v++)
        in->labels[v] = (v * 7) % labels;
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++)
        in->features[g] = (uint32_t)nb_random_below(random, 3);
    for (uint32_t i = 0; i < in->count; i++)
        for (uint32_t v = 0; v < labels; v++) {
            double x = (double)nb_random_below(random, 2001) / 1000 - 1;
            x = in->features[i % NB_STACK_GROUPS] == 0 ? 0 : x;
            in->x[i * labels + v] = labels == 2 && v == 1 ? -in->x[i * 2] : x;
        }
}

struct fixture {
    struct nb_stack_settings set;
    struct nb_stack *stack;
    struct nb_stack_inputs inputs[SAMPLES];
    uint32_t label[SAMPLES];
    struct nb_stack_weights *weights;
};

static void fixture_init(struct fixture *f, uint32_t labels)
{
    struct nb_random random = nb_random_of(71, labels);
    memset(f, 0, sizeof *f);
    nb_stack_settings_init(&f->set);
    ck_assert_int_eq(nb_stack_new(&f->set, &f->stack), 0);
    f->weights = nb_stack_weights_new(&f->set);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        random_inputs(&random, labels, nb_stack_bank(&f->set, labels)->size, &f->inputs[i]);
        f->label[i] = (uint32_t)nb_random_below(&random, labels);
    }
}

static void fixture_deinit(struct fixture *f)
{
    for (uint32_t i = 0; i < SAMPLES; i++)
        nb_stack_inputs_deinit(&f->inputs[i]);
    nb_stack_weights_free(&f->weights);
    nb_stack_free(&f->stack);
}

static void fit_all(struct fixture *f, struct nb_random random, uint64_t documents)
{
    uint64_t numbers[SAMPLES];
    uint64_t number;
    uint64_t cost;
    for (uint64_t i = 0; i < SAMPLES; i++)
        numbers[i] = 100 + i;
    struct nb_stack_fit *fit = nb_stack_fit_new(f->stack, random, numbers, SAMPLES);
    while (nb_stack_fit_next(fit, &number))
        ck_assert_int_eq(nb_stack_fit_add(fit, &f->inputs[number - 100], f->label[number - 100]),
                         0);
    for (unsigned steps = 0; !nb_stack_fit_is_done(fit); steps++) {
        ck_assert_uint_lt(steps, 3 * SAMPLES);
        ck_assert_int_eq(nb_stack_fit_step(fit, &cost), 0);
        ck_assert_uint_gt(cost, 0);
    }
    nb_stack_fit_close(fit, documents);
    ck_assert_int_eq(nb_stack_fit_finish(fit, false, f->weights), 0);
    nb_stack_fit_free(&fit);
}

/* Computes the weights of a fit by plain passes. */
static struct nb_stack_weights *plain_passes(const struct fixture *f, struct nb_random random)
{
    struct nb_stack_weights *w = nb_stack_weights_new(&f->set);
    unsigned first = nb_stack_set(f->inputs[0].size, 0);
    for (unsigned pass = 0; pass < 3; pass++) {
        uint32_t turns[SAMPLES];
        for (uint32_t i = 0; i < SAMPLES; i++)
            turns[i] = i;
        for (uint32_t i = SAMPLES; i > 1; i--) {
            uint32_t j = (uint32_t)nb_random_below(&random, i);
            uint32_t last = turns[i - 1];
            turns[i - 1] = turns[j];
            turns[j] = last;
        }
        for (unsigned e = 0; pass == 2 && e < NB_STACK_EXPERTS; e++)
            w->shared.values[nb_stack_place(first + e, NB_STACK_LOSS)] = 0;
        for (uint32_t i = 0; i < SAMPLES; i++)
            ck_assert_int_eq(nb_stack_learn(w, &f->inputs[turns[i]], f->label[turns[i]], 1), 0);
    }
    return w;
}

static double faded(double k)
{
    double sum = 0;
    for (double i = 0; i < k; i++)
        sum = sum * (1 - 1.0 / 2000) + 1;
    return sum;
}

static void expect_pairs(const struct nb_weights *got, const struct nb_weights *want, size_t first,
                         size_t end)
{
    for (size_t i = first; i < end; i++) {
        double value = nb_weights_at(want, i) / (i % 2 == 0 ? 1 : 3);
        ck_assert_double_eq_tol(nb_weights_at(got, i), value, 1e-12);
    }
}

static const uint32_t label_counts[] = {2, 3, 9};

START_TEST(a_fit_is_three_passes)
{
    struct fixture f;
    struct nb_random random = nb_random_of(3, (uint64_t)_i);
    uint32_t labels = label_counts[_i];
    fixture_init(&f, labels);
    for (uint32_t i = 0; i < 20; i++) /* what was learned before leaves no trace */
        ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs[i], f.label[i], 1), 0);
    fit_all(&f, random, 900);
    struct nb_stack_weights *want = plain_passes(&f, random);
    for (unsigned e = 0; e < nb_stack_bank(&f.set, labels)->size; e++) {
        size_t place = nb_stack_place(nb_stack_set(labels, e), 0);
        size_t loss = nb_stack_place(nb_stack_set(labels, e), NB_STACK_LOSS);
        expect_pairs(&f.weights->shared, &want->shared, place, loss);
        expect_pairs(&f.weights->biases[e], &want->biases[e], 0, 2 * (size_t)labels);
        ck_assert_double_eq_tol(f.weights->shared.values[loss],
                                want->shared.values[loss] * faded(900) / faded(SAMPLES), 1e-9);
    }
    nb_stack_weights_free(&want);
    fixture_deinit(&f);
}
END_TEST

START_TEST(a_fit_of_nothing_gives_start_values)
{
    struct fixture f;
    fixture_init(&f, 2);
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_int_eq(nb_stack_learn(f.weights, &f.inputs[i], f.label[i], 1), 0);
    struct nb_stack_mark mark = nb_stack_weights_mark(f.weights);
    double before = nb_stack_bias(f.weights, 0, 0);
    struct nb_stack_fit *fit = nb_stack_fit_new(f.stack, nb_random_of(1, 1), NULL, 0);
    uint64_t cost;
    while (!nb_stack_fit_is_done(fit))
        ck_assert_int_eq(nb_stack_fit_step(fit, &cost), 0);
    nb_stack_fit_close(fit, 0);
    ck_assert_int_eq(nb_stack_fit_finish(fit, false, f.weights), 0);
    nb_stack_fit_free(&fit);
    struct nb_stack_weights *fresh = nb_stack_weights_new(&f.set);
    ck_assert_mem_eq(f.weights->shared.values, fresh->shared.values,
                     NB_STACK_SHARED * sizeof(double));
    ck_assert(!(fabs(nb_stack_bias(f.weights, 0, 0)) > 0));
    nb_stack_weights_rollback(f.weights, mark);
    ck_assert(!(fabs(nb_stack_bias(f.weights, 0, 0) - before) > 0));
    nb_stack_weights_free(&fresh);
    fixture_deinit(&f);
}
END_TEST

START_TEST(other_labels_are_told)
{
    struct fixture f, g;
    uint64_t numbers[2] = {1, 2};
    fixture_init(&f, 2);
    fixture_init(&g, 3);
    struct nb_stack_fit *fit = nb_stack_fit_new(f.stack, nb_random_of(1, 1), numbers, 2);
    ck_assert_int_eq(nb_stack_fit_add(fit, &f.inputs[0], 0), 0);
    ck_assert_int_eq(nb_stack_fit_add(fit, &g.inputs[0], 0), NB_CONFLICT);
    f.inputs[1].labels[0] = 9;
    ck_assert_int_eq(nb_stack_fit_add(fit, &f.inputs[1], 9), NB_CONFLICT);
    nb_stack_fit_free(&fit);
    fixture_deinit(&f);
    fixture_deinit(&g);
}
END_TEST

/* Adds a label to the inputs, at a given place among the others. */
static void with_another_label(const struct nb_stack_inputs *in, uint32_t place,
                               struct nb_stack_inputs *larger)
{
    *larger = (struct nb_stack_inputs){0};
    ck_assert_int_eq(nb_stack_inputs_room(larger, in->size + 1), 0);
    larger->size = in->size + 1;
    larger->count = in->count;
    memcpy(larger->features, in->features, sizeof in->features);
    for (uint32_t v = 0; v < larger->size; v++) {
        uint32_t from = v - (v > place);
        larger->labels[v] = v == place ? in->size : in->labels[from];
        for (uint32_t i = 0; i < in->count; i++)
            larger->x[i * larger->size + v] = v == place ? 0.5 : in->x[i * in->size + from];
    }
}

/* With many labels, ones that come while a fit reads its documents change nothing of it: a stream
 * in which labels come all the time would never see the end of one. */
START_TEST(labels_that_come_later_are_left_out)
{
    struct fixture plain, more;
    fixture_init(&plain, 5);
    fixture_init(&more, 5);
    for (uint32_t i = 1; i < SAMPLES; i++) {
        struct nb_stack_inputs larger;
        with_another_label(&more.inputs[i], i % 6, &larger);
        nb_stack_inputs_deinit(&more.inputs[i]);
        more.inputs[i] = larger;
    }
    fit_all(&plain, nb_random_of(1, 1), SAMPLES);
    fit_all(&more, nb_random_of(1, 1), SAMPLES);
    ck_assert_mem_eq(plain.weights->shared.values, more.weights->shared.values,
                     NB_STACK_SHARED * sizeof(double));
    for (uint32_t label = 0; label < 6; label++) {
        double difference =
            nb_stack_bias(plain.weights, label, 0) - nb_stack_bias(more.weights, label, 0);
        ck_assert(!(fabs(difference) > 0));
    }
    fixture_deinit(&plain);
    fixture_deinit(&more);
}
END_TEST

/* Each constant and start value counts, and whether the twin is among the weights. */
START_TEST(fingerprints_tell_constants_apart)
{
    struct nb_stack_settings set;
    struct nb_stack *stack = NULL;
    double all[9];
    for (int i = 0; i < 9; i++) {
        nb_stack_settings_init(&set);
        double *const members[] = {&set.length,
                                   &set.rate,
                                   &set.memory,
                                   &set.two.experts[1].power,
                                   &set.many.experts[0].smoothing,
                                   &set.many.experts[0].share,
                                   &set.two.experts[0].start_total};
        if (i > 0 && i < 8)
            *members[i - 1] += 0.25;
        ck_assert_int_eq(nb_stack_new(&set, &stack), 0);
        all[i] = nb_stack_fingerprint(stack, i < 8);
        nb_stack_free(&stack);
        ck_assert(all[i] > 0);
        for (int k = 0; k < i; k++)
            ck_assert(all[k] < all[i] || all[k] > all[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack_fit");
    TCase *fits = tcase_create("fits");
    tcase_add_loop_test(fits, a_fit_is_three_passes, 0, 3);
    tcase_add_test(fits, a_fit_of_nothing_gives_start_values);
    tcase_add_test(fits, other_labels_are_told);
    tcase_add_test(fits, labels_that_come_later_are_left_out);
    tcase_add_test(fits, fingerprints_tell_constants_apart);
    suite_add_tcase(suite, fits);
    return test_run(suite);
}
