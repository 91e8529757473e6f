/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacked decision alone: time to score a mail in a model of 1.7 million features, the number
 * that 6,047 mails of SpamAssassin's corpus leave, without and with n-grams, and to learn from one;
 * and a text with 20 labels. Numbers of features by field as that corpus has them on average; 15 %
 * of a mail's are new; those that are not occur by Zipf's law.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/stack.h"

enum { DOCUMENTS = 600, ROUNDS = 10, BAG_MOST = 2000, ROWS = 1700000 };

static const unsigned per_field[NB_FIELDS] = {
    [NB_FIELD_BODY] = 166,    [NB_FIELD_SUBJECT] = 13, [NB_FIELD_ADDRESS] = 46,
    [NB_FIELD_RECEIVED] = 44, [NB_FIELD_HEADER] = 60,  [NB_FIELD_STRUCTURE] = 17,
    [NB_FIELD_URL] = 17,      [NB_FIELD_HIDDEN] = 2,   [NB_FIELD_CASE] = 48,
    [NB_FIELD_PAIR] = 279,    [NB_FIELD_NGRAM] = 1118,
};

static uint64_t random_state = 88172645463325252u;
static double random_unit(void)
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(random_state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

static void require(int rc)
{
    if (rc != 0) {
        fprintf(stderr, "bench_stack: error %d\n", rc);
        exit(1);
    }
}

static uint64_t feature_id(unsigned field, uint64_t i)
{
    uint64_t x = (i * NB_FIELDS + field + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return nb_feature_id((enum nb_field)field, x ^ (x >> 31));
}

static uint64_t field_rows(unsigned field)
{
    unsigned all = 0;
    for (unsigned f = 0; f < NB_FIELDS; f++)
        all += per_field[f];
    return 1 + (uint64_t)ROWS * per_field[field] / all;
}

/* Rows in the order of first sight: frequent features of all fields come first. */
static struct nb_model *model_of(uint32_t labels)
{
    struct nb_model *m = nb_model_new();
    if (m == NULL)
        exit(1);
    for (uint32_t v = 0; v < labels; v++) {
        char name[] = {(char)('a' + (int)v), '\0'};
        uint32_t label;
        require(nb_model_label(m, (struct nb_string){name, 1}, &label));
        nb_model_add_documents(m, label, 3000);
    }
    for (uint64_t i = 0; i < field_rows(NB_FIELD_NGRAM); i++) {
        for (unsigned f = 0; f < NB_FIELDS; f++) {
            if (i >= field_rows(f))
                continue;
            uint32_t row;
            require(nb_model_append(m, feature_id(f, i), &row));
            struct nb_cell cells[32];
            size_t size = 0;
            uint32_t d = 1 + (uint32_t)(3000 / (i + 1));
            for (uint32_t v = 0; v < labels; v++)
                if (random_unit() < (i < 20000 ? 0.7 : 1.3 / labels))
                    cells[size++] = (struct nb_cell){v, d, d};
            require(nb_model_set_cells(m, row, cells, size));
        }
    }
    return m;
}

static size_t fill_bag(struct nb_feature *bag, bool ngrams)
{
    size_t size = 0;
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        if (f == NB_FIELD_NGRAM && !ngrams)
            continue;
        for (unsigned i = 0; i < per_field[f]; i++) {
            double rows = (double)field_rows(f);
            double number = random_unit() < 0.15 ? rows * (1 + random_unit() * 1e3)
                                                 : exp(random_unit() * log(rows));
            bag[size++] = (struct nb_feature){feature_id(f, (uint64_t)number), 1};
        }
    }
    return size;
}

static void bench(const char *what, uint32_t labels, const struct nb_model *m, bool ngrams)
{
    struct nb_stack_settings settings;
    nb_stack_settings_init(&settings);
    struct nb_stack *stack;
    struct nb_stack_weights *weights = nb_stack_weights_new(&settings);
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    nb_stack_inputs_init(&inputs);
    nb_scores_init(&scores);
    struct nb_feature *bags = malloc((size_t)DOCUMENTS * BAG_MOST * sizeof *bags);
    if (weights == NULL || bags == NULL)
        exit(1);
    require(nb_stack_new(&settings, &stack));
    size_t size = 0;
    for (size_t d = 0; d < DOCUMENTS; d++)
        size = fill_bag(bags + d * BAG_MOST, ngrams);
    /* The best of some rounds for each document, the others in between: what a machine with other
     * work does to some of them is left out, cold caches are not. */
    static double times[DOCUMENTS];
    double best = 0, learn = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t d = 0; d < DOCUMENTS; d++) {
            uint64_t start = nb_clock_monotonic();
            require(nb_stack_inputs(stack, m, bags + d * BAG_MOST, size, &inputs, NULL));
            require(nb_stack_score(weights, &inputs, &scores));
            double us = (double)(nb_clock_monotonic() - start) / 1e3;
            times[d] = round == 0 ? us : fmin(times[d], us);
        }
        uint64_t start = nb_clock_monotonic();
        for (uint32_t d = 0; d < DOCUMENTS; d++)
            require(nb_stack_learn(weights, &inputs, d % labels));
        learn = fmin(learn, (double)(nb_clock_monotonic() - start) / 1e3 / DOCUMENTS);
    }
    for (size_t d = 0; d < DOCUMENTS; d++)
        best += times[d] / DOCUMENTS;
    printf("%-28s %8u %10zu %10.2f %10.2f\n", what, labels, size, best, learn);
    free(bags);
    nb_scores_deinit(&scores);
    nb_stack_inputs_deinit(&inputs);
    nb_stack_weights_free(&weights);
    nb_stack_free(&stack);
}

int main(void)
{
    printf("%-28s %8s %10s %10s %10s\n", "", "labels", "features", "score us", "learn us");
    struct nb_model *m = model_of(2);
    printf("rows: %u\n", nb_model_rows(m));
    bench("mail without n-grams", 2, m, false);
    bench("mail with n-grams", 2, m, true);
    nb_model_free(&m);
    m = model_of(20);
    bench("20 labels without n-grams", 20, m, false);
    bench("20 labels with n-grams", 20, m, true);
    nb_model_free(&m);
    return 0;
}
