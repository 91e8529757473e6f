/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out inputs equal those of a second model that was trained without the document.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/stack/stack_private.h"
#include "tests/unit/core/stack/words.h"
#include "tests/unit/run.h"

enum { WORDS = 130, DOCUMENTS = 90, LABELS_MOST = 48, SIZE_MOST = 60 };

struct document {
    uint32_t label;
    struct nb_row_count rows[SIZE_MOST];
    struct nb_feature bag[SIZE_MOST];
    size_t size;
};

struct fixture {
    struct nb_model *model;
    struct nb_stack_settings set;
    struct nb_stack *stack;
    struct nb_random random;
    struct document documents[DOCUMENTS];
};

/* Makes a document of rare and frequent words, so that some words are in one document only, and
 * some in most. */
static void make_document(struct fixture *f, struct document *d, uint32_t label)
{
    *d = (struct document){.label = label};
    for (uint32_t w = 0; w < WORDS && d->size < SIZE_MOST; w++) {
        uint64_t one_of = w < 20 ? 2 : w < 60 ? 9 : 60;
        if (nb_random_below(&f->random, one_of) != 0)
            continue;
        d->rows[d->size] = (struct nb_row_count){w, 1 + (uint32_t)nb_random_below(&f->random, 4)};
        d->bag[d->size] = (struct nb_feature){word_id(w), d->rows[d->size].count, 0};
        d->size++;
    }
}

static void learn(struct nb_model *model, const struct document *d)
{
    ck_assert_int_eq(nb_model_add(model, d->label, d->rows, d->size, 1, NULL), 0);
    nb_model_add_documents(model, d->label, 1);
}

/* Sets up the fixture; the last label has one document. */
static void fixture_init(struct fixture *f, uint32_t labels, uint64_t seed)
{
    *f = (struct fixture){.model = model_of_words(labels, WORDS),
                          .random = nb_random_of(seed, labels)};
    nb_stack_settings_init(&f->set);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        make_document(f, &f->documents[i], i == 0 ? labels - 1 : i % (labels - 1));
        learn(f->model, &f->documents[i]);
    }
}

static void fixture_deinit(struct fixture *f)
{
    nb_stack_free(&f->stack);
    nb_model_free(&f->model);
}

static void expect_without(struct fixture *f, uint32_t labels, uint32_t left_out)
{
    const struct document *z = &f->documents[left_out];
    struct nb_model *second = model_of_words(labels, WORDS);
    struct nb_stack *stack = NULL;
    struct nb_stack_inputs got, want;
    nb_stack_inputs_init(&got);
    nb_stack_inputs_init(&want);
    for (uint32_t i = 0; i < DOCUMENTS; i++)
        if (i != left_out)
            learn(second, &f->documents[i]);
    ck_assert_int_eq(nb_stack_new(&f->set, &stack), 0);
    ck_assert_int_eq(nb_stack_inputs_of_rows(f->stack, f->model, z->rows, z->size, z->label, &got),
                     0);
    ck_assert_int_eq(nb_stack_inputs(stack, second, z->bag, z->size, &want, NULL), 0);
    ck_assert_uint_eq(got.size, want.size);
    ck_assert_uint_eq(got.count, want.count);
    ck_assert_mem_eq(got.features, want.features, sizeof got.features);
    for (uint32_t i = 0; i < got.count * got.size; i++)
        ck_assert_msg(fabs(got.x[i] - want.x[i]) <= 1e-9 * fmax(1, fabs(want.x[i])),
                      "document %u, input %u: %.17g, must be %.17g", left_out, i, got.x[i],
                      want.x[i]);
    nb_stack_inputs_deinit(&got);
    nb_stack_inputs_deinit(&want);
    nb_stack_free(&stack);
    nb_model_free(&second);
}

static const uint32_t label_counts[] = {3, 4, 7, 34, LABELS_MOST};

/* With 3 labels one of which has a single document the others are taken; then with all powers. */
START_TEST(inputs_are_those_of_a_model_without_the_document)
{
    static const double powers[] = {1.5, 2, 1, 1.3};
    uint32_t labels = label_counts[_i / 4];
    struct fixture f;
    fixture_init(&f, labels, 700 + (uint64_t)_i);
    f.set.two.experts[0].power = powers[_i % 4];
    f.set.many.experts[0].power = powers[_i % 4];
    f.set.many.size = 2;
    f.set.many.experts[1] =
        (struct nb_stack_expert){.smoothing = 3, .share = 0.5, .power = powers[3 - _i % 4]};
    ck_assert_int_eq(nb_stack_new(&f.set, &f.stack), 0);
    for (uint32_t i = 1; i < DOCUMENTS; i += 1 + (uint32_t)nb_random_below(&f.random, 8))
        if (nb_model_documents(f.model, f.documents[i].label) > 1)
            expect_without(&f, labels, i);
    fixture_deinit(&f);
}
END_TEST

START_TEST(two_labels_too)
{
    struct fixture f;
    fixture_init(&f, 2, 800 + (uint64_t)_i);
    learn(f.model, &f.documents[0]); /* the second label has two documents now, the same */
    ck_assert_int_eq(nb_stack_new(&f.set, &f.stack), 0);
    struct nb_stack_inputs got, want;
    nb_stack_inputs_init(&got);
    nb_stack_inputs_init(&want);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        const struct document *z = &f.documents[i];
        ck_assert_int_eq(
            nb_stack_inputs_of_rows(f.stack, f.model, z->rows, z->size, z->label, &got), 0);
        ck_assert_int_eq(nb_model_add(f.model, z->label, z->rows, z->size, -1, NULL), 0);
        nb_model_add_documents(f.model, z->label, -1);
        ck_assert_int_eq(nb_stack_inputs(f.stack, f.model, z->bag, z->size, &want, NULL), 0);
        ck_assert_uint_eq(got.size, 2);
        for (uint32_t k = 0; k < got.count * 2; k++)
            ck_assert(fabs(got.x[k] - want.x[k]) <= 1e-9 * fmax(1, fabs(want.x[k])));
        learn(f.model, z);
    }
    nb_stack_inputs_deinit(&got);
    nb_stack_inputs_deinit(&want);
    fixture_deinit(&f);
}
END_TEST

START_TEST(the_only_document_of_a_label_teaches_nothing)
{
    struct fixture f;
    struct nb_stack_inputs inputs;
    fixture_init(&f, 4, 31);
    nb_stack_inputs_init(&inputs);
    ck_assert_int_eq(nb_stack_new(&f.set, &f.stack), 0);
    const struct document *z = &f.documents[0];
    ck_assert_int_eq(nb_stack_inputs_of_rows(f.stack, f.model, z->rows, z->size, z->label, &inputs),
                     NB_CONFLICT);
    /* Without leaving anything out they are the inputs of the bag, to the bit. */
    struct nb_stack_inputs of_bag;
    nb_stack_inputs_init(&of_bag);
    ck_assert_int_eq(
        nb_stack_inputs_of_rows(f.stack, f.model, z->rows, z->size, NB_STACK_NO_LABEL, &inputs), 0);
    ck_assert_int_eq(nb_stack_inputs(f.stack, f.model, z->bag, z->size, &of_bag, NULL), 0);
    ck_assert_mem_eq(inputs.x, of_bag.x, (size_t)inputs.count * inputs.size * sizeof *inputs.x);
    nb_stack_inputs_deinit(&inputs);
    nb_stack_inputs_deinit(&of_bag);
    fixture_deinit(&f);
}
END_TEST

START_TEST(a_row_that_was_dropped_is_no_feature)
{
    struct fixture f;
    struct nb_stack_inputs inputs;
    fixture_init(&f, _i == 0 ? 2 : 4, 53);
    nb_stack_inputs_init(&inputs);
    ck_assert_int_eq(nb_stack_new(&f.set, &f.stack), 0);
    uint32_t unused;
    ck_assert_int_eq(nb_model_append(f.model, word_id(WORDS), &unused), 0);
    ck_assert_int_eq(nb_model_drop_row(f.model, unused), 0);
    struct nb_row_count rows[SIZE_MOST + 1];
    const struct document *z = &f.documents[2];
    memcpy(rows, z->rows, z->size * sizeof *rows);
    rows[z->size] = (struct nb_row_count){unused, 1};
    for (int left_out = 0; left_out < 2; left_out++) {
        uint32_t without = left_out ? z->label : NB_STACK_NO_LABEL;
        ck_assert_int_eq(
            nb_stack_inputs_of_rows(f.stack, f.model, rows, z->size + 1, without, &inputs),
            NB_CORRUPT);
        ck_assert_int_eq(nb_stack_inputs_of_rows(f.stack, f.model, rows, z->size, without, &inputs),
                         0);
    }
    nb_stack_inputs_deinit(&inputs);
    fixture_deinit(&f);
}
END_TEST

/* ---- weighed steps --------------------------------------------------------------------------- */

/* Returns a weight after its first step of AdaGrad. */
static double first_step(double start, double gradient)
{
    return start - 0.12 * gradient / (1 + fabs(gradient));
}

START_TEST(weight_scales_gradient_and_loss)
{
    static const double weights[] = {1, 0.5, 0.03};
    struct fixture f;
    fixture_init(&f, 4, 77 + (uint64_t)_i);
    ck_assert_int_eq(nb_stack_new(&f.set, &f.stack), 0);
    struct nb_stack_weights *w = nb_stack_weights_new(&f.set);
    struct nb_stack_inputs in;
    struct nb_scores scores;
    nb_stack_inputs_init(&in);
    nb_scores_init(&scores);
    const struct document *z = &f.documents[5];
    ck_assert_int_eq(nb_stack_inputs_of_rows(f.stack, f.model, z->rows, z->size, z->label, &in), 0);
    ck_assert_int_eq(nb_stack_score(w, &in, &scores), 0); /* one expert, trusted wholly */
    double *loss = &w->shared.values[nb_stack_place(nb_stack_set(in.size, 0), NB_STACK_LOSS)];
    *loss = 7;
    double gradient = 0, want_loss = 0;
    for (uint32_t v = 0; v < in.size; v++) {
        bool own = in.labels[v] == z->label;
        gradient += (scores.probabilities[v] - own) * in.x[NB_FIELD_BODY * in.size + v];
        want_loss +=
            own ? (1 - weights[_i] / 2000) * 7 - weights[_i] * log(scores.probabilities[v]) : 0;
    }
    ck_assert_int_eq(nb_stack_learn(w, &in, z->label, weights[_i]), 0);
    double got = w->shared.values[nb_stack_place(nb_stack_set(in.size, 0), NB_FIELD_BODY)];
    ck_assert_double_eq_tol(got, first_step(0.05, weights[_i] * gradient), 1e-12);
    ck_assert_double_eq_tol(*loss, want_loss, 1e-9);
    nb_scores_deinit(&scores);
    nb_stack_inputs_deinit(&in);
    nb_stack_weights_free(&w);
    fixture_deinit(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leave-one-out");
    TCase *inputs = tcase_create("inputs");
    tcase_add_loop_test(inputs, inputs_are_those_of_a_model_without_the_document, 0,
                        4 * (int)(sizeof label_counts / sizeof *label_counts));
    tcase_add_loop_test(inputs, two_labels_too, 0, 4);
    tcase_add_test(inputs, the_only_document_of_a_label_teaches_nothing);
    tcase_add_loop_test(inputs, a_row_that_was_dropped_is_no_feature, 0, 2);
    tcase_add_loop_test(inputs, weight_scales_gradient_and_loss, 0, 3);
    suite_add_tcase(suite, inputs);
    return test_run(suite);
}
