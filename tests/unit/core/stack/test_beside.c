/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts beside those of a model, compared with a model that has learned the same documents. A
 * document of weight 2 that belongs to two labels by halves counts as if each label had learned it
 * once.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/bayes/scorer.h"
#include "core/stack/blend.h"
#include "tests/unit/run.h"

#define ck_assert_close(got, want)                                                                 \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        ck_assert_msg(fabs(got_ - want_) <= 1e-9 * fmax(1, fabs(want_)), "%s is %.17g, not %.17g", \
                      #got, got_, want_);                                                          \
    } while (0)

enum { LABELS = 3, OWN = 15, BESIDE = 20, WORDS = 40, BAG = 10 };
static const char *const NAMES[LABELS] = {"one", "other", "third"};

/* A document, with two labels half and half, or with one label. */
struct document {
    uint32_t words[BAG], counts[BAG];
    size_t size;
    uint32_t labels[2];
};

struct corpus {
    struct document own[OWN], beside[BESIDE];
};

static uint64_t id_of(uint32_t word)
{
    static const enum nb_field fields[] = {NB_FIELD_BODY, NB_FIELD_SUBJECT, NB_FIELD_PAIR};
    return nb_feature_id(fields[word % 3], 77 + word);
}

/* Draws a document with words from `first` on. */
static struct document draw(struct nb_random *random, uint32_t first)
{
    struct document d = {.size = 0};
    for (uint32_t w = first + (uint32_t)nb_random_below(random, 4); w < WORDS && d.size < BAG;
         w += 1 + (uint32_t)nb_random_below(random, 6)) {
        d.words[d.size] = w;
        d.counts[d.size++] = 1 + (uint32_t)nb_random_below(random, 3);
    }
    d.labels[0] = (uint32_t)nb_random_below(random, LABELS);
    d.labels[1] = (uint32_t)nb_random_below(random, LABELS);
    return d;
}

static void fill(struct corpus *c, uint64_t seed)
{
    struct nb_random random = {seed};
    for (uint32_t i = 0; i < OWN; i++) {
        c->own[i] = draw(&random, 0);
        c->own[i].labels[0] = c->own[i].labels[1] = i % LABELS;
    }
    for (uint32_t i = 0; i < BESIDE; i++)
        c->beside[i] = draw(&random, i % 2 == 0 ? 20 : 0);
}

static const struct nb_besides none = {.count = 0};

/* ---- models ---------------------------------------------------------------------------------- */

/* Makes a model with the rows of all words and the labels in a fixed order. */
static struct nb_model *model_new(void)
{
    struct nb_model *m = nb_model_new();
    uint32_t ignored;
    for (uint32_t v = 0; v < LABELS; v++)
        ck_assert_int_eq(nb_model_label(m, nb_string_of(NAMES[v]), &ignored), 0);
    for (uint32_t w = 0; w < WORDS; w++)
        ck_assert_int_eq(nb_model_append(m, id_of(w), &ignored), 0);
    return m;
}

static void learn(struct nb_model *m, const struct document *d, uint32_t label)
{
    struct nb_row_count rows[BAG];
    for (size_t i = 0; i < d->size; i++)
        rows[i] = (struct nb_row_count){d->words[i], d->counts[i]};
    nb_model_add_documents(m, label, 1);
    ck_assert_int_eq(nb_model_add(m, label, rows, d->size, 1, NULL), 0);
}

/* Makes expected counts: the words of the model as columns, the documents as shares of their
 * labels. */
static struct nb_expected *expected_of(const struct nb_model *m, const struct document *documents,
                                       size_t count)
{
    uint32_t rows[WORDS], columns[BESIDE * BAG], counts[BESIDE * BAG];
    uint64_t ids[WORDS], vocabulary[NB_FIELDS + 1];
    bool learned[WORDS];
    size_t begin[BESIDE + 1], middle[BESIDE], share_begin[BESIDE + 1], size = 0, shares_size = 0;
    uint32_t labels[2 * BESIDE];
    double shares[2 * BESIDE];
    const uint32_t numbers[LABELS] = {0, 1, 2};
    struct nb_expected *expected;
    ck_assert_uint_le(count, BESIDE);
    for (uint32_t w = 0; w < WORDS; w++) {
        rows[w] = w;
        ids[w] = id_of(w);
        learned[w] = !nb_model_row_is_unused(m, w);
    }
    for (size_t d = 0; d < count; d++) {
        const struct document *from = &documents[d];
        bool is_one = from->labels[0] == from->labels[1];
        begin[d] = middle[d] = size;
        share_begin[d] = shares_size;
        for (size_t i = 0; i < from->size; i++) {
            columns[size] = from->words[i];
            counts[size++] = from->counts[i];
        }
        for (size_t k = 0; k < (is_one ? 1 : 2); k++) {
            labels[shares_size] = from->labels[k];
            shares[shares_size++] = is_one ? 1 : 0.5;
        }
    }
    begin[count] = size;
    share_begin[count] = shares_size;
    for (unsigned f = 0; f <= NB_FIELDS; f++)
        vocabulary[f] = nb_model_vocabulary(m, f);
    const struct nb_expected_columns all = {WORDS, rows, ids, learned, 0, NULL};
    const struct nb_em_documents matrix = {count, begin, middle, begin + 1, columns, counts};
    const struct nb_em em = {count, share_begin, labels, shares, 0, 0, 0};
    ck_assert_int_eq(nb_expected_new(&all, &matrix, &em, numbers, LABELS, vocabulary, &expected),
                     0);
    return expected;
}

/* ---- scores ---------------------------------------------------------------------------------- */

struct pair {
    struct nb_blend blend;
    struct nb_scores book, stacked;
};

static void score(struct pair *p, const struct nb_settings *settings, const struct nb_model *m,
                  const struct nb_stack_weights *weights, const struct nb_besides *besides,
                  const struct document *d)
{
    struct nb_feature bag[BAG];
    const struct nb_blend_source source = {.counts = m, .weights = weights, .strength = 1};
    for (size_t i = 0; i < d->size; i++)
        bag[i] = (struct nb_feature){id_of(d->words[i]), d->counts[i], 0};
    ck_assert_int_eq(nb_blend_begin(&p->blend, settings, &source, 1, besides), 0);
    ck_assert_int_eq(nb_blend_score(&p->blend, bag, d->size, &p->book, &p->stacked), 0);
}

static void check_same(const struct pair *a, const struct pair *b)
{
    ck_assert_uint_eq(a->book.size, LABELS);
    ck_assert_uint_eq(a->book.known, b->book.known);
    for (uint32_t v = 0; v < LABELS; v++) {
        ck_assert_close(a->book.log_scores[v], b->book.log_scores[v]);
        ck_assert_close(a->stacked.log_scores[v], b->stacked.log_scores[v]);
    }
}

static void pair_deinit(struct pair *p)
{
    nb_blend_deinit(&p->blend);
    nb_scores_deinit(&p->book);
    nb_scores_deinit(&p->stacked);
}

/* Returns weights that differ from those of a new stack. */
static struct nb_stack_weights *weights_of(const struct nb_model *m, const struct corpus *c)
{
    struct nb_stack_settings constants;
    struct nb_stack_inputs inputs;
    struct nb_stack *stack;
    nb_stack_settings_init(&constants);
    constants.twin = false;
    struct nb_stack_weights *weights = nb_stack_weights_new(&constants);
    nb_stack_inputs_init(&inputs);
    ck_assert_int_eq(nb_stack_new(&constants, &stack), 0);
    for (uint32_t i = 0; i < OWN; i++) {
        struct nb_feature bag[BAG];
        for (size_t k = 0; k < c->own[i].size; k++)
            bag[k] = (struct nb_feature){id_of(c->own[i].words[k]), c->own[i].counts[k], 0};
        ck_assert_int_eq(nb_stack_inputs(stack, m, bag, c->own[i].size, &inputs, NULL), 0);
        ck_assert_int_eq(nb_stack_learn(weights, &inputs, i % LABELS, 1), 0);
    }
    nb_stack_inputs_deinit(&inputs);
    nb_stack_free(&stack);
    return weights;
}

static void check_added(const struct nb_settings *settings, uint64_t seed)
{
    struct corpus c;
    struct pair got = {.blend = {0}}, want = {.blend = {0}};
    struct nb_model *few = model_new(), *all = model_new();
    fill(&c, seed);
    for (uint32_t i = 0; i < OWN; i++) {
        learn(few, &c.own[i], c.own[i].labels[0]);
        learn(all, &c.own[i], c.own[i].labels[0]);
    }
    for (uint32_t i = 0; i < BESIDE; i++)
        for (unsigned k = 0; k < 2; k++)
            learn(all, &c.beside[i], c.beside[i].labels[k]);
    struct nb_stack_weights *weights = weights_of(few, &c);
    struct nb_expected *expected = expected_of(few, c.beside, BESIDE);
    const struct nb_besides beside = {.list = {{expected, 2}}, .count = 1};
    for (uint32_t i = 0; i < OWN; i++) {
        score(&got, settings, few, weights, &beside, &c.own[i]);
        score(&want, settings, all, weights, &none, &c.own[i]);
        check_same(&got, &want);
    }
    nb_expected_release(&expected);
    nb_stack_weights_free(&weights);
    nb_model_free(&few);
    nb_model_free(&all);
    pair_deinit(&got);
    pair_deinit(&want);
}

START_TEST(as_if_they_were_learned)
{
    struct nb_settings settings;
    nb_settings_init(&settings, NB_PRESET_TEXT);
    for (int event_model = 0; event_model <= NB_EVENT_COMPLEMENT; event_model++)
        for (uint64_t seed = 1; event_model != NB_EVENT_BERNOULLI && seed < 10; seed++) {
            settings.event_model = event_model;
            check_added(&settings, seed);
        }
    nb_settings_deinit(&settings);
}
END_TEST

/* With weight -1: documents of which others have all words, and one that has gone meanwhile, which
 * leaves no count below nothing. */
START_TEST(as_if_they_were_not_learned)
{
    struct nb_settings settings;
    struct corpus c;
    struct pair got = {.blend = {0}}, want = {.blend = {0}};
    struct nb_model *few = model_new(), *all = model_new();
    nb_settings_init(&settings, NB_PRESET_TEXT);
    fill(&c, 3);
    for (uint32_t i = 0; i < OWN; i++) {
        learn(few, &c.own[i], i % LABELS);
        learn(all, &c.own[i], i % LABELS);
        if (i >= 6)
            continue;
        c.beside[i] = c.own[i];
        learn(all, &c.own[i], i % LABELS);
    }
    struct nb_stack_weights *weights = weights_of(few, &c);
    struct nb_expected *expected = expected_of(all, c.beside, 6);
    const struct nb_besides beside = {.list = {{expected, -1}}, .count = 1};
    for (uint32_t i = 0; i < OWN; i++) {
        score(&got, &settings, all, weights, &beside, &c.own[i]);
        score(&want, &settings, few, weights, &none, &c.own[i]);
        check_same(&got, &want);
    }
    struct nb_model *gone = model_new();
    for (uint32_t v = 0; v < LABELS; v++)
        for (unsigned k = 0; k < 3; k++)
            learn(gone, &c.own[9], v);
    score(&got, &settings, gone, weights, &beside, &c.own[0]);
    for (uint32_t v = 0; v < LABELS; v++)
        ck_assert(isfinite(got.book.log_scores[v]) && isfinite(got.stacked.log_scores[v]));
    nb_model_free(&gone);
    nb_expected_release(&expected);
    nb_stack_weights_free(&weights);
    nb_model_free(&few);
    nb_model_free(&all);
    pair_deinit(&got);
    pair_deinit(&want);
    nb_settings_deinit(&settings);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside");
    TCase *test = tcase_create("beside");
    tcase_add_test(test, as_if_they_were_learned);
    tcase_add_test(test, as_if_they_were_not_learned);
    suite_add_tcase(suite, test);
    return test_run(suite);
}
