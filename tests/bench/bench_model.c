/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the model alone, with two labels and growing numbers of features: the time to score a
 * document and to learn one, and the bytes of memory per feature. `bench_model [MOST_FEATURES]`.
 *
 * Features follow Zipf's law, as words do: the k-th most frequent is drawn with a chance of about
 * 1/k. A document has 250 features, 20 of which the model has never seen.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/system.h"
#include "core/bayes/scorer.h"

enum { BAG = 250, UNSEEN = 20, DOCUMENTS = 4000, ROUNDS = 5 };

static uint64_t random_state = 88172645463325252u;
static double random_unit(void)
{
    random_state ^= random_state >> 12; /* xorshift64* (Vigna 2016) */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(random_state * UINT64_C(2685821657736338717) >> 11) * 0x1p-53;
}

static uint64_t feature_id(uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return nb_feature_id(NB_FIELD_BODY, x ^ (x >> 31));
}

static void require(int rc)
{
    if (rc != 0) {
        fprintf(stderr, "bench_model: error %d\n", rc);
        exit(1);
    }
}

static size_t allocated(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static struct nb_model *model_of(uint32_t features)
{
    struct nb_model *m = nb_model_new();
    uint32_t label;
    if (m == NULL)
        exit(1);
    require(nb_model_label(m, (struct nb_string){"ham", 3}, &label));
    require(nb_model_label(m, (struct nb_string){"spam", 4}, &label));
    nb_model_add_documents(m, 0, 1000);
    nb_model_add_documents(m, 1, 1000);
    for (uint32_t i = 0; i < features; i++) {
        uint32_t row;
        require(nb_model_append(m, feature_id(i), &row));
        uint32_t n = 1 + features / 10 / (i + 1);
        struct nb_cell cells[2] = {{i % 2, n, 1}, {1, n, 1}};
        require(nb_model_set_cells(m, row, cells, i % 2 == 0 && i % 3 == 0 ? 2 : 1));
    }
    return m;
}

/* Draws ranks by Zipf's law with exponent 1: the logarithm of the rank is uniform. */
static void fill_bag(struct nb_feature *bag, uint32_t features)
{
    for (size_t i = 0; i < BAG; i++) {
        double rank = exp(random_unit() * log(features));
        uint64_t number = i < UNSEEN ? features + (uint64_t)(random_unit() * 1e9) : (uint64_t)rank;
        bag[i] = (struct nb_feature){feature_id(number), 1 + (i % 4 == 0), 0};
    }
}

/* Returns the microseconds per document. For each document the best round counts, so that other
 * work of the machine is left out. A round scores all documents in turn, so that cold caches count.
 */
static double time_scores(const struct nb_model *m, struct nb_scorer *scorer,
                          const struct nb_feature *bags)
{
    static double times[DOCUMENTS];
    struct nb_scores scores;
    nb_scores_init(&scores);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t d = 0; d < DOCUMENTS; d++) {
            uint64_t start = nb_clock_monotonic();
            nb_model_read_lock(m);
            require(nb_score(scorer, m, bags + d * BAG, BAG, &scores, NULL));
            nb_model_unlock(m);
            double us = (double)(nb_clock_monotonic() - start) / 1e3;
            times[d] = round == 0 ? us : fmin(times[d], us);
        }
    }
    nb_scores_deinit(&scores);
    double sum = 0;
    for (size_t d = 0; d < DOCUMENTS; d++)
        sum += times[d];
    return sum / DOCUMENTS;
}

static double time_learning(struct nb_model *m, const struct nb_feature *bags)
{
    uint64_t start = nb_clock_monotonic();
    for (size_t d = 0; d < DOCUMENTS; d++) {
        uint32_t rows[BAG];
        struct nb_row_count counts[BAG];
        size_t size = 0;
        nb_model_find_all(m, bags + d * BAG, BAG, rows);
        for (size_t i = 0; i < BAG; i++)
            if (rows[i] != NB_NO_ROW)
                counts[size++] = (struct nb_row_count){rows[i], 1};
        require(nb_model_add(m, (uint32_t)d % 2, counts, size, 1, NULL));
    }
    return (double)(nb_clock_monotonic() - start) / 1e3 / DOCUMENTS;
}

static void bench(uint32_t features, struct nb_scorer *scorer, struct nb_feature *bags)
{
    size_t before = allocated();
    uint64_t start = nb_clock_monotonic();
    struct nb_model *m = model_of(features);
    double seconds = (double)(nb_clock_monotonic() - start) / 1e9;
    double taken = (double)(allocated() - before);
    for (size_t d = 0; d < DOCUMENTS; d++)
        fill_bag(bags + d * BAG, features);
    double score = time_scores(m, scorer, bags);
    double learn = time_learning(m, bags);
    printf("%10u %10.2f %10.2f %12.2f %12.2f %10.2f\n", features, score, learn,
           (double)nb_model_memory(m) / features, taken / features, seconds);
    fflush(stdout);
    nb_model_free(&m);
}

int main(int argc, char **argv)
{
    double most = argc > 1 ? atof(argv[1]) : 1e7;
    struct nb_feature *bags = malloc(DOCUMENTS * BAG * sizeof *bags);
    if (bags == NULL)
        return 1;
    printf("%10s %10s %10s %12s %12s %10s\n", "features", "score us", "learn us", "model B/f",
           "malloc B/f", "build s");
    for (double features = 1e4; features <= most; features *= 10) {
        struct nb_settings settings;
        struct nb_scorer *scorer;
        nb_settings_init(&settings, NB_PRESET_BOOK);
        require(nb_scorer_new(&settings, &scorer));
        bench((uint32_t)features, scorer, bags);
        nb_scorer_free(&scorer);
    }
    free(bags);
    return 0;
}
