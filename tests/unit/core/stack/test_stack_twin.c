/* SPDX-License-Identifier: Apache-2.0
 *
 * The twin: its gradient compared with differences of its loss, its explanations, its switch, and
 * how it is taken back. tests/golden checks its formulas to 1e-9.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/stack/stack_attributes.h"
#include "tests/unit/core/stack/words.h"
#include "tests/unit/run.h"

enum { WORDS = 150, LABELS_MOST = 48, SIZE_MOST = 60 };

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
    struct nb_stack_weights *weights;
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    struct nb_random random;
    struct document last;
    uint32_t labels;
};

static void make_document(struct fixture *f, struct document *d)
{
    *d = (struct document){.label = (uint32_t)nb_random_below(&f->random, f->labels)};
    for (uint32_t w = 0; w < WORDS && d->size < SIZE_MOST; w++) {
        bool tells = w % f->labels == d->label;
        if (nb_random_below(&f->random, tells ? 2 : w < 20 ? 3 : 12) != 0)
            continue;
        d->rows[d->size] = (struct nb_row_count){w, 1 + (uint32_t)nb_random_below(&f->random, 3)};
        d->bag[d->size] = (struct nb_feature){word_id(w), d->rows[d->size].count, 0};
        d->size++;
    }
}

static void count(struct nb_model *model, const struct document *d)
{
    ck_assert_int_eq(nb_model_add(model, d->label, d->rows, d->size, 1, NULL), 0);
    nb_model_add_documents(model, d->label, 1);
}

static void fixture_start(struct fixture *f, uint32_t labels, uint64_t seed)
{
    *f = (struct fixture){.model = model_of_words(labels, WORDS),
                          .random = nb_random_of(seed, labels),
                          .labels = labels};
    nb_stack_settings_init(&f->set);
    ck_assert_int_eq(nb_stack_new(&f->set, &f->stack), 0);
    f->weights = nb_stack_weights_new(&f->set);
    ck_assert_ptr_nonnull(f->weights);
    nb_stack_inputs_init(&f->inputs);
    nb_scores_init(&f->scores);
}

static void fixture_deinit(struct fixture *f)
{
    nb_stack_free(&f->stack);
    nb_stack_weights_free(&f->weights);
    nb_stack_inputs_deinit(&f->inputs);
    nb_scores_deinit(&f->scores);
    nb_model_free(&f->model);
}

static void compute(struct fixture *f, const struct document *d)
{
    nb_stack_inputs_twin(&f->inputs, f->weights, true);
    ck_assert_int_eq(nb_stack_inputs(f->stack, f->model, d->bag, d->size, &f->inputs, NULL), 0);
}

static void score(struct fixture *f, const struct document *d)
{
    compute(f, d);
    ck_assert_int_eq(nb_stack_score(f->weights, &f->inputs, &f->scores), 0);
}

/* Learns this many documents. One label in five is wrong, so that there are errors to the end. */
static void train(struct fixture *f, int documents)
{
    for (int i = 0; i < documents; i++) {
        make_document(f, &f->last);
        if (nb_random_below(&f->random, 5) == 0)
            f->last.label = (uint32_t)nb_random_below(&f->random, f->labels);
        if (nb_model_documents_all(f->model) > 0) {
            compute(f, &f->last);
            ck_assert_int_eq(nb_stack_twin_learn(f->weights, &f->inputs, f->last.label, 1), 0);
            ck_assert_int_eq(nb_stack_learn(f->weights, &f->inputs, f->last.label, 1), 0);
        }
        count(f->model, &f->last);
    }
}

static size_t place_of(const struct fixture *f, uint32_t label)
{
    for (size_t v = 0; v < f->scores.size; v++)
        if (f->scores.labels[v] == label)
            return v;
    ck_abort_msg("label %u has no documents", label);
    return 0;
}

static struct nb_buffer bytes_of(const struct nb_stack_weights *weights)
{
    struct nb_buffer bytes = {0};
    struct nb_packer p = {.out = &bytes};
    nb_stack_weights_write(weights, &p);
    ck_assert_int_eq(p.code, 0);
    return bytes;
}

static void expect_bytes(const struct nb_stack_weights *weights, const struct nb_buffer *want)
{
    struct nb_buffer got = bytes_of(weights);
    ck_assert_uint_eq(got.length, want->length);
    ck_assert_mem_eq(got.bytes, want->bytes, want->length);
    nb_buffer_deinit(&got);
}

static const uint32_t label_counts[] = {2, 3, 20, LABELS_MOST};

/* ---- one step -------------------------------------------------------------------------------- */

/* Sets the trust and the sharpness of the twin to 1, so that the scores are s + t. */
static void trust_the_twin(struct fixture *f)
{
    f->weights->twin.values[NB_STACK_BASE_LOSS] = 1e6;
    f->weights->twin.values[NB_STACK_TWIN_LOSS] = 0;
    f->weights->twin.values[NB_STACK_SHARPNESS] = 1;
}

static double loss(struct fixture *f, const struct document *d)
{
    score(f, d);
    double p = f->scores.probabilities[place_of(f, d->label)];
    return -log(0.9 * p + 0.1 / (double)f->scores.size);
}

/* Returns the derivative of the loss by the value of a slot, to the precision of floats. */
static double slope(struct fixture *f, const struct document *d, uint32_t slot)
{
    float *value = &f->weights->slots.table.values[slot];
    const float before = *value;
    const float step = 1.0F / 256;
    *value = before + step;
    double above = loss(f, d), high = (double)*value;
    *value = before - step;
    double below = loss(f, d), low = (double)*value;
    *value = before;
    return (above - below) / (high - low);
}

START_TEST(a_step_follows_the_gradient)
{
    struct fixture f;
    struct document d;
    double slopes[SIZE_MOST];
    const double weight = _i % 2 == 0 ? 1 : 0.25;
    fixture_start(&f, label_counts[_i / 2], 31);
    train(&f, 300);
    make_document(&f, &d);
    d.label = (d.label + 1) % f.labels; /* wrong: there is something to learn */
    trust_the_twin(&f);
    for (size_t i = 0; i < d.size; i++)
        slopes[i] = slope(&f, &d, nb_slots_of(&f.weights->slots, d.bag[i].id));
    float squares[SIZE_MOST], values[SIZE_MOST];
    for (size_t i = 0; i < d.size; i++) {
        uint32_t slot = nb_slots_of(&f.weights->slots, d.bag[i].id);
        squares[i] = f.weights->slots.table.squares[slot] = 0; /* so that h^2 is seen exactly */
        values[i] = f.weights->slots.table.values[slot];
    }
    compute(&f, &d);
    ck_assert_int_eq(nb_stack_twin_learn(f.weights, &f.inputs, d.label, weight), 0);
    for (size_t i = 0; i < d.size; i++) {
        uint32_t slot = nb_slots_of(&f.weights->slots, d.bag[i].id);
        double h = sqrt((double)f.weights->slots.table.squares[slot] - (double)squares[i]);
        double want = weight * slopes[i];
        ck_assert_msg(fabs(h - fabs(want)) <= 2e-3 * fabs(want) + 2e-6,
                      "word %zu: %g, the loss has %g", i, h, want);
        double moved = (double)f.weights->slots.table.values[slot] - (double)values[i];
        ck_assert(fabs(want) < 1e-5 || (moved < 0) == (want > 0));
    }
    fixture_deinit(&f);
}
END_TEST

/* What is right already changes no slot. */
START_TEST(what_is_settled_teaches_nothing)
{
    struct fixture f;
    fixture_start(&f, 2, 5);
    train(&f, 100);
    trust_the_twin(&f);
    score(&f, &f.last);
    f.weights->biases[0].values[nb_stack_bias_place(f.scores.labels[0])] = 50;
    f.weights->biases[1].values[nb_stack_bias_place(f.scores.labels[0])] = 50;
    nb_slots_commit(&f.weights->slots);
    compute(&f, &f.last);
    ck_assert_int_eq(nb_stack_twin_learn(f.weights, &f.inputs, f.scores.labels[0], 1), 0);
    ck_assert_uint_eq(f.weights->slots.old_size, 0);
    ck_assert_int_eq(nb_stack_twin_learn(f.weights, &f.inputs, f.scores.labels[1], 1), 0);
    ck_assert_uint_gt(f.weights->slots.old_size, 0);
    fixture_deinit(&f);
}
END_TEST

/* A step whose evidence is computed when it is wanted is the step with evidence that was kept. */
START_TEST(evidence_may_come_later)
{
    struct fixture f, other;
    bool teaches;
    fixture_start(&f, label_counts[_i], 19);
    fixture_start(&other, label_counts[_i], 19);
    train(&f, 200);
    train(&other, 200); /* the same documents */
    uint32_t wrong = (f.last.label + 1) % f.labels;
    compute(&other, &f.last);
    ck_assert_int_eq(nb_stack_twin_learn(other.weights, &other.inputs, wrong, .5), 0);
    nb_stack_inputs_twin(&f.inputs, f.weights, false);
    ck_assert_int_eq(nb_stack_inputs(f.stack, f.model, f.last.bag, f.last.size, &f.inputs, NULL),
                     0);
    ck_assert_int_eq(nb_stack_twin_learn(f.weights, &f.inputs, wrong, .5), 0); /* does nothing */
    ck_assert_int_eq(nb_stack_twin_weigh(f.weights, &f.inputs, wrong, .5, &teaches), 0);
    ck_assert(teaches);
    compute(&f, &f.last);
    ck_assert_int_eq(nb_stack_twin_learn_features(f.weights, &f.inputs, wrong, .5), 0);
    for (size_t i = 0; i < NB_STACK_TWIN_PLACES; i++)
        ck_assert_double_eq(f.weights->twin.values[i], other.weights->twin.values[i]);
    size_t slots = nb_slots_count(&f.weights->slots);
    ck_assert_uint_eq(slots, nb_slots_count(&other.weights->slots));
    ck_assert_mem_eq(f.weights->slots.table.values, other.weights->slots.table.values,
                     slots * sizeof *f.weights->slots.table.values);
    fixture_deinit(&f);
    fixture_deinit(&other);
}
END_TEST

/* What the twin keeps follows from its loss, where there are many labels. */
START_TEST(evidence_is_kept_where_it_is_wanted)
{
    struct fixture f;
    fixture_start(&f, 2, 3);
    ck_assert(nb_stack_twin_keeps(f.weights, 20, 1000));
    ck_assert(!nb_stack_twin_keeps(f.weights, 1000, 1000));
    f.weights->twin.values[NB_STACK_TWIN_LOSS] = 300;
    ck_assert(nb_stack_twin_keeps(f.weights, 1000, 1000));
    ck_assert(!nb_stack_twin_keeps(f.weights, 1000, 100000));
    fixture_deinit(&f);
}
END_TEST

/* A leave-one-out step is that of a model that does not have the document. */
START_TEST(leave_one_out_teaches_as_without_the_document)
{
    struct fixture f, other;
    struct document d;
    fixture_start(&f, label_counts[_i], 77);
    fixture_start(&other, label_counts[_i], 77);
    train(&f, 200);
    train(&other, 200); /* the same documents */
    make_document(&f, &d);
    count(f.model, &d);
    d.label = (d.label + 1) % f.labels; /* relabelled, to be unlikely */
    ck_assert_int_eq(nb_model_add(f.model, d.label, d.rows, d.size, 1, NULL), 0);
    nb_model_add_documents(f.model, d.label, 1);
    uint32_t first = (d.label + f.labels - 1) % f.labels;
    ck_assert_int_eq(nb_model_add(f.model, first, d.rows, d.size, -1, NULL), 0);
    nb_model_add_documents(f.model, first, -1);
    nb_stack_inputs_twin(&f.inputs, f.weights, true);
    ck_assert_int_eq(nb_stack_inputs_of_rows(f.stack, f.model, d.rows, d.size, d.label, &f.inputs),
                     0);
    compute(&other, &d);
    for (uint32_t v = 0; v < f.inputs.size; v++)
        ck_assert(fabs(f.inputs.t[v] - other.inputs.t[v]) < 1e-9);
    ck_assert_int_eq(nb_stack_twin_learn(f.weights, &f.inputs, d.label, 1), 0);
    ck_assert_int_eq(nb_stack_twin_learn(other.weights, &other.inputs, d.label, 1), 0);
    ck_assert_uint_gt(f.weights->slots.old_size, 0);
    for (uint32_t i = 0; i < nb_slots_count(&f.weights->slots); i++)
        ck_assert(fabsf(f.weights->slots.table.values[i] - other.weights->slots.table.values[i]) <
                  1e-6F);
    fixture_deinit(&f);
    fixture_deinit(&other);
}
END_TEST

#define VALUE nb_feature_value_id(2, 4711)

/* Adds a value of an attribute, in one document of each label. */
static void add_value(struct fixture *f)
{
    struct nb_row_count value = {.count = 1};
    ck_assert_int_eq(nb_model_append(f->model, VALUE, &value.row), 0);
    for (uint32_t label = 0; label < 2; label++) {
        ck_assert_int_eq(nb_model_add(f->model, label, &value, 1, 1, NULL), 0);
        nb_model_add_documents(f->model, label, 1);
    }
}

/* Learns a counted document with the wrong label, so that the twin has something to learn. */
static void mislead(struct fixture *f, const struct document *d)
{
    struct nb_stack_inputs inputs;
    nb_stack_inputs_init(&inputs);
    nb_stack_inputs_twin(&inputs, f->weights, true);
    ck_assert_int_eq(
        nb_stack_inputs_of_rows(f->stack, f->model, d->rows, d->size, NB_STACK_NO_LABEL, &inputs),
        0);
    ck_assert_int_eq(nb_stack_twin_learn(f->weights, &inputs, 1 - d->label, 1), 0);
    nb_stack_inputs_deinit(&inputs);
}

/* What the twin learned since inputs were computed comes in to the bit, with a value of an
 * attribute, too. */
START_TEST(the_part_of_the_twin_is_computed_again)
{
    struct fixture f;
    struct document d;
    uint32_t row;
    fixture_start(&f, 2, 23);
    ck_assert_int_eq(nb_model_append(f.model, VALUE, &row), 0);
    train(&f, 100);
    for (int i = 0; i < 20; i++) {
        make_document(&f, &d);
        if (d.size == SIZE_MOST)
            d.size--;
        d.rows[d.size++] = (struct nb_row_count){row, 1};
        count(f.model, &d);
        nb_stack_inputs_twin(&f.inputs, f.weights, true);
        ck_assert_int_eq(
            nb_stack_inputs_of_rows(f.stack, f.model, d.rows, d.size, d.label, &f.inputs), 0);
        double before = f.inputs.t[1];
        mislead(&f, &d);
        nb_stack_inputs_twin_again(&f.inputs);
        double again = f.inputs.t[1];
        ck_assert_int_eq(
            nb_stack_inputs_of_rows(f.stack, f.model, d.rows, d.size, d.label, &f.inputs), 0);
        ck_assert_mem_eq(&again, &f.inputs.t[1], sizeof again);
        ck_assert(again > before || again < before);
        ck_assert_uint_eq(i > 0, f.inputs.attributes->values[0].says);
    }
    fixture_deinit(&f);
}
END_TEST

/* ---- one label against all others ------------------------------------------------------------ */

/* With two labels it is one against the other; and the switch is that of the weights. */
START_TEST(against_all_others_it_counts_too)
{
    struct fixture f;
    struct document d;
    fixture_start(&f, label_counts[_i], 78);
    train(&f, 200);
    add_value(&f);
    for (int i = 0; i < 20; i++) {
        double with = 0, without = 0;
        make_document(&f, &d);
        if (i % 2 == 0 && d.size < SIZE_MOST)
            d.bag[d.size++] = (struct nb_feature){VALUE, 1, 0};
        score(&f, &d);
        for (int twin = 0; twin < 2; twin++) {
            f.weights->settings.twin = twin;
            ck_assert_int_eq(nb_stack_against(f.stack, f.model, f.weights, d.bag, d.size, 1, 0,
                                              twin ? &with : &without),
                             0);
        }
        ck_assert(fabs(with - without) > 1e-6);
        double difference =
            f.scores.log_scores[place_of(&f, 1)] - f.scores.log_scores[place_of(&f, 0)];
        ck_assert(f.labels > 2 || fabs(with - difference) < 1e-9);
    }
    fixture_deinit(&f);
}
END_TEST

/* ---- explanations ---------------------------------------------------------------------------- */

START_TEST(explanations_add_up)
{
    struct fixture f;
    struct document d;
    fixture_start(&f, label_counts[_i], 12);
    for (int round = 0; round < 20; round++) {
        train(&f, 20);
        make_document(&f, &d);
        score(&f, &d);
        struct nb_evidence rows[SIZE_MOST + 1];
        size_t filled = 0;
        ck_assert_int_eq(nb_stack_explain(f.stack, f.model, f.weights, d.bag, d.size, NULL,
                                          &f.inputs, &f.scores, NULL, rows, &filled),
                         0);
        double sum = 0;
        for (size_t i = 0; i < filled; i++)
            sum += rows[i].evidence;
        double want = f.scores.log_scores[f.scores.best] - f.scores.log_scores[f.scores.second];
        ck_assert_msg(fabs(sum - want) <= 1e-9 * fmax(1, want), "%.17g, must be %.17g", sum, want);
    }
    fixture_deinit(&f);
}
END_TEST

/* In one pass with the rows, the sums have the same bits as afterwards. */
START_TEST(sums_are_those_of_the_rows)
{
    struct fixture f;
    struct document d;
    fixture_start(&f, label_counts[_i], 12);
    for (int round = 0; round < 20; round++) {
        struct nb_evidence rows[SIZE_MOST + 1], at_once[SIZE_MOST + 1];
        struct nb_evidence_sums sums = {.factor = .7}, sums_at_once = {.factor = .7};
        size_t filled = 0, filled_at_once = 0;
        train(&f, 20);
        make_document(&f, &d);
        score(&f, &d);
        ck_assert_int_eq(nb_stack_explain(f.stack, f.model, f.weights, d.bag, d.size, NULL,
                                          &f.inputs, &f.scores, NULL, rows, &filled),
                         0);
        nb_evidence_sum(d.bag, rows, filled, &sums);
        ck_assert_int_eq(nb_stack_explain(f.stack, f.model, f.weights, d.bag, d.size, NULL,
                                          &f.inputs, &f.scores, &sums_at_once, at_once,
                                          &filled_at_once),
                         0);
        ck_assert_uint_eq(filled, filled_at_once);
        for (size_t i = 0; i < filled; i++)
            ck_assert(rows[i].feature == at_once[i].feature &&
                      rows[i].evidence == at_once[i].evidence);
        for (unsigned field = 0; field < NB_FIELDS; field++)
            ck_assert(sums.fields[field] == sums_at_once.fields[field]);
    }
    fixture_deinit(&f);
}
END_TEST

/* ---- the switch ------------------------------------------------------------------------------ */

/* Without the twin the scores are the stack's, to the bit; with it they are others. */
START_TEST(the_switch_turns_the_twin_off)
{
    struct fixture f;
    struct document d;
    struct nb_scores off, stack;
    nb_scores_init(&off);
    nb_scores_init(&stack);
    fixture_start(&f, label_counts[_i], 3);
    train(&f, 200);
    make_document(&f, &d);
    score(&f, &d);
    ck_assert(f.inputs.has_twin && f.inputs.is_kept);
    nb_stack_inputs_twin(&f.inputs, NULL, false);
    ck_assert_int_eq(nb_stack_inputs(f.stack, f.model, d.bag, d.size, &f.inputs, NULL), 0);
    ck_assert_int_eq(nb_stack_score(f.weights, &f.inputs, &stack), 0);
    ck_assert(
        memcmp(stack.log_scores, f.scores.log_scores, stack.size * sizeof *stack.log_scores) != 0);
    f.weights->settings.twin = false;
    compute(&f, &d);
    ck_assert(!f.inputs.has_twin && !f.inputs.is_kept);
    ck_assert_int_eq(nb_stack_score(f.weights, &f.inputs, &off), 0);
    ck_assert_mem_eq(off.log_scores, stack.log_scores, off.size * sizeof *off.log_scores);
    struct nb_buffer before = bytes_of(f.weights);
    ck_assert_int_eq(nb_stack_twin_learn(f.weights, &f.inputs, d.label, 1), 0);
    expect_bytes(f.weights, &before);
    nb_buffer_deinit(&before);
    nb_scores_deinit(&off);
    nb_scores_deinit(&stack);
    fixture_deinit(&f);
}
END_TEST

/* ---- taking back, storing -------------------------------------------------------------------- */

/* Takes over the twin of other weights, which have learned something else, or nothing. */
static void take_twin(struct fixture *f, bool has_learned)
{
    struct nb_stack_weights *other = nb_stack_weights_new(&f->set);
    struct nb_stack_weights *own = f->weights;
    f->weights = other;
    train(f, has_learned ? 20 : 0);
    float u = nb_slots_at(&other->slots, word_id(3));
    double c = other->twin.values[NB_STACK_SHARPNESS];
    double d = nb_weights_at(&other->twin_biases, nb_stack_bias_place(1));
    f->weights = own;
    ck_assert_int_eq(nb_stack_twin_room(own, other), 0);
    ck_assert_int_eq(nb_stack_twin_take(own, other), 0);
    ck_assert(nb_slots_at(&own->slots, word_id(3)) == u && nb_slots_count(&other->slots) == 0);
    ck_assert(has_learned == (nb_slots_count(&own->slots) > 0));
    ck_assert(own->twin.values[NB_STACK_SHARPNESS] == c);
    ck_assert(nb_weights_at(&own->twin_biases, nb_stack_bias_place(1)) == d);
    nb_stack_weights_free(&other);
}

START_TEST(what_was_learned_or_taken_over_is_taken_back)
{
    struct fixture f;
    fixture_start(&f, label_counts[_i], 8);
    train(&f, 150);
    nb_stack_weights_commit(f.weights);
    struct nb_buffer committed = bytes_of(f.weights);
    train(&f, 30);
    struct nb_stack_mark mark = nb_stack_weights_mark(f.weights);
    struct nb_buffer before = bytes_of(f.weights);
    train(&f, 5);
    take_twin(&f, true);
    train(&f, 5);
    take_twin(&f, false);
    train(&f, 30);
    nb_stack_weights_rollback(f.weights, mark);
    expect_bytes(f.weights, &before);
    nb_stack_weights_rollback(f.weights, (struct nb_stack_mark){0});
    expect_bytes(f.weights, &committed);
    nb_buffer_deinit(&before);
    nb_buffer_deinit(&committed);
    fixture_deinit(&f);
}
END_TEST

/* A copy has the same bytes and says the same; bytes that are cut do not read back. */
START_TEST(copies_say_the_same)
{
    struct fixture f;
    fixture_start(&f, label_counts[_i], 8);
    train(&f, 150);
    struct nb_buffer bytes = bytes_of(f.weights);
    struct nb_stack_weights *copy = nb_stack_weights_new(&f.set);
    struct nb_unpacker r = nb_unpacker_of(bytes.bytes, bytes.length);
    ck_assert_int_eq(nb_stack_weights_read(copy, &r), 0);
    ck_assert(nb_unpacker_done(&r));
    expect_bytes(copy, &bytes);
    score(&f, &f.last);
    double before = f.scores.log_scores[0];
    struct nb_stack_weights *original = f.weights;
    f.weights = copy;
    score(&f, &f.last);
    ck_assert(f.scores.log_scores[0] == before);
    f.weights = original;
    for (size_t length = 0; length < bytes.length; length += 13) {
        r = nb_unpacker_of(bytes.bytes, length);
        ck_assert_int_eq(nb_stack_weights_read(copy, &r), NB_CORRUPT);
    }
    nb_stack_weights_free(&copy);
    nb_buffer_deinit(&bytes);
    fixture_deinit(&f);
}
END_TEST

int main(void)
{
    const int counts = (int)(sizeof label_counts / sizeof *label_counts);
    Suite *s = suite_create("stack_twin");
    TCase *t = tcase_create("stack_twin");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_step_follows_the_gradient, 0, 2 * counts);
    tcase_add_test(t, what_is_settled_teaches_nothing);
    tcase_add_loop_test(t, evidence_may_come_later, 0, counts);
    tcase_add_test(t, evidence_is_kept_where_it_is_wanted);
    tcase_add_loop_test(t, leave_one_out_teaches_as_without_the_document, 0, counts);
    tcase_add_test(t, the_part_of_the_twin_is_computed_again);
    tcase_add_loop_test(t, against_all_others_it_counts_too, 0, counts);
    tcase_add_loop_test(t, explanations_add_up, 0, counts);
    tcase_add_loop_test(t, sums_are_those_of_the_rows, 0, counts);
    tcase_add_loop_test(t, the_switch_turns_the_twin_off, 0, counts);
    tcase_add_loop_test(t, what_was_learned_or_taken_over_is_taken_back, 0, counts);
    tcase_add_loop_test(t, copies_say_the_same, 0, counts);
    return test_run(s);
}
