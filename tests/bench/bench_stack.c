/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the stacked decision alone: the time to score a mail and to learn from one, without and
 * with n-grams, in a model of 1.7 million features, the number that 6,047 mails of SpamAssassin's
 * corpus give, with two labels and with 20; and the same for texts with a thousand labels, either
 * of words that few labels have or of words that follow Zipf's law. A mail has as many features of
 * each field as that corpus has on average; 15 % of them are new, the others follow Zipf's law.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/system.h"
#include "core/bayes/scorer.h"
#include "core/stack/stack.h"

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

/* Rows are in the order in which features are first seen: frequent features of all fields come
 * first. */
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
            bag[size++] = (struct nb_feature){feature_id(f, (uint64_t)number), 1, 0};
        }
    }
    return size;
}

static void learn_one(struct nb_stack_weights *weights, const struct nb_stack_inputs *inputs,
                      uint32_t label)
{
    require(nb_stack_twin_learn(weights, inputs, label, 1));
    require(nb_stack_learn(weights, inputs, label, 1));
}

/* With `twin` the twin learns from every document before times are taken. All that is learned here
 * is an error of the twin. */
static void bench(const char *what, uint32_t labels, const struct nb_model *m, bool ngrams,
                  bool twin)
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
    for (uint32_t d = 0; twin && d < DOCUMENTS; d++) {
        nb_stack_inputs_twin(&inputs, weights, true);
        require(nb_stack_inputs(stack, m, bags + d * BAG_MOST, size, &inputs, NULL));
        learn_one(weights, &inputs, d % labels);
    }
    /* For each document the best round counts, so that other work of the machine is left out. A
     * round scores all documents in turn, so that cold caches count. */
    static double times[DOCUMENTS];
    double best = 0, learn = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        nb_stack_inputs_twin(&inputs, twin ? weights : NULL, false);
        for (size_t d = 0; d < DOCUMENTS; d++) {
            uint64_t start = nb_clock_monotonic();
            require(nb_stack_inputs(stack, m, bags + d * BAG_MOST, size, &inputs, NULL));
            require(nb_stack_score(weights, &inputs, &scores));
            double us = (double)(nb_clock_monotonic() - start) / 1e3;
            times[d] = round == 0 ? us : fmin(times[d], us);
        }
        nb_stack_inputs_twin(&inputs, twin ? weights : NULL, true);
        require(nb_stack_inputs(stack, m, bags, size, &inputs, NULL));
        uint64_t start = nb_clock_monotonic();
        for (uint32_t d = 0; d < DOCUMENTS; d++)
            learn_one(weights, &inputs, d % labels);
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

/* ---- a thousand labels ----------------------------------------------------------------------- */

enum { MANY = 1000, MANY_DOCUMENTS = 20 /* of each label */, MANY_BAG = 700 };

/* Features of a text of 250 words. */
static const unsigned text_fields[NB_FIELDS] = {
    [NB_FIELD_BODY] = 170, [NB_FIELD_CASE] = 40, [NB_FIELD_PAIR] = 240, [NB_FIELD_NGRAM] = 250};

/* Draws a feature of a text of `label`. With `zipf` it is one of 40,000 that all labels share.
 * Without it three in four features are among 500 that 5 labels share, the others among the 40,000.
 */
static uint64_t text_feature(unsigned field, uint32_t label, bool zipf)
{
    double rows = zipf ? 40000 : random_unit() < 0.75 ? 500 : 40000;
    double number = exp(random_unit() * log(rows));
    return feature_id(field, (uint64_t)number + (zipf || rows > 500 ? 0 : 40000 + label / 5 * 500));
}

/* Fills the bag with distinct features, in the order of their fields. Returns their number. */
static size_t text_bag(struct nb_feature *bag, uint32_t label, bool zipf)
{
    size_t size = 0;
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        size_t first = size;
        while (size - first < text_fields[f]) {
            uint64_t id = text_feature(f, label, zipf);
            size_t i = first;
            while (i < size && bag[i].id != id)
                i++;
            if (i == size)
                bag[size++] = (struct nb_feature){id, 1, 0};
        }
    }
    return size;
}

static void count_bag(struct nb_model *m, uint32_t label, const struct nb_feature *bag, size_t size)
{
    static struct nb_row_count rows[MANY_BAG];
    for (size_t i = 0; i < size; i++) {
        uint32_t row = nb_model_find(m, bag[i].id);
        if (row == NB_NO_ROW)
            require(nb_model_append(m, bag[i].id, &row));
        rows[i] = (struct nb_row_count){row, 1};
    }
    size_t fresh;
    struct nb_model_change change = {
        .add_label = label, .add = rows, .add_size = size, .take_label = UINT32_MAX};
    require(nb_model_change(m, &change, &fresh));
}

/* Returns how many cells of the rows of a bag are not zero. */
static double cells_of(const struct nb_model *m, const struct nb_feature *bag, size_t size)
{
    double cells = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t row = nb_model_find(m, bag[i].id);
        cells += row == NB_NO_ROW ? 0 : (double)nb_model_cells(m, row, NULL, 0);
    }
    return cells;
}

/* Returns the processor time of this thread, in microseconds. */
static double thread_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, size_t count)
{
    qsort(times, count, sizeof *times, by_size);
    return times[count / 2];
}

static void bench_thousand(const char *what, bool zipf, bool twin)
{
    enum { SCORED = 300 };
    static struct nb_feature bag[MANY_BAG];
    struct nb_model *m = nb_model_new();
    struct nb_stack_settings set;
    struct nb_settings book;
    nb_stack_settings_init(&set);
    nb_settings_init(&book, NB_PRESET_BOOK);
    struct nb_stack *stack;
    struct nb_scorer *scorer;
    struct nb_stack_weights *weights = nb_stack_weights_new(&set);
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    nb_stack_inputs_init(&inputs);
    nb_scores_init(&scores);
    if (m == NULL || weights == NULL)
        exit(1);
    require(nb_stack_new(&set, &stack));
    require(nb_scorer_new(&book, &scorer));
    for (uint32_t v = 0; v < MANY; v++) {
        char name[8];
        uint32_t label;
        snprintf(name, sizeof name, "l%04u", v);
        require(nb_model_label(m, (struct nb_string){name, 5}, &label));
    }
    for (uint32_t i = 0; i < MANY * MANY_DOCUMENTS; i++)
        count_bag(m, i % MANY, bag, text_bag(bag, i % MANY, zipf));
    static double stacked[SCORED], by_book[SCORED], learn[SCORED];
    double cells = 0, records = 0;
    for (uint32_t i = 0; i < SCORED; i++) {
        uint32_t label = (uint32_t)(random_unit() * MANY);
        size_t size = text_bag(bag, label, zipf);
        cells += cells_of(m, bag, size);
        /* The last document has changed the counts, so both views are out of date, as in a daemon.
         */
        nb_stack_inputs_twin(&inputs, twin ? weights : NULL, true);
        double start = thread_time();
        require(nb_stack_inputs(stack, m, bag, size, &inputs, NULL));
        learn_one(weights, &inputs, label);
        double learned = thread_time();
        nb_stack_inputs_twin(&inputs, twin ? weights : NULL, false);
        require(nb_stack_inputs(stack, m, bag, size, &inputs, NULL));
        require(nb_stack_score(weights, &inputs, &scores));
        double scored = thread_time();
        require(nb_score(scorer, m, bag, size, &scores, NULL)); /* makes the view of the scorer */
        double viewed = thread_time();
        require(nb_score(scorer, m, bag, size, &scores, NULL));
        by_book[i] = thread_time() - viewed;
        stacked[i] = scored - learned;
        learn[i] = learned - start;
        for (uint32_t n = 0; (n = nb_stack_weights_changed(weights, n)) != NB_STACK_NO_RECORD; n++)
            records++;
        nb_stack_weights_commit(weights);
        count_bag(m, label, bag, size);
    }
    printf("%-28s %8u %10u %10.2f %10.2f  %.2f by the book; %.0f counts, %.0f records\n", what,
           (unsigned)MANY, (unsigned)MANY_BAG, median(stacked, SCORED), median(learn, SCORED),
           median(by_book, SCORED), cells / SCORED, records / SCORED);
    nb_scores_deinit(&scores);
    nb_stack_inputs_deinit(&inputs);
    nb_stack_weights_free(&weights);
    nb_stack_free(&stack);
    nb_scorer_free(&scorer);
    nb_model_free(&m);
}

static void bench_thousands(void)
{
    for (int twin = 0; twin < 2; twin++) {
        bench_thousand(twin ? "1,000 labels, own, twin" : "1,000 labels, own words", false, twin);
        bench_thousand(twin ? "1,000 labels, Zipf, twin" : "1,000 labels, Zipf", true, twin);
    }
}

int main(int count, char **arguments)
{
    printf("%-28s %8s %10s %10s %10s\n", "", "labels", "features", "score us", "learn us");
    if (count > 1 && strcmp(arguments[1], "thousand") == 0) {
        bench_thousands();
        return 0;
    }
    struct nb_model *m = model_of(2);
    printf("rows: %u\n", nb_model_rows(m));
    bench("mail without n-grams", 2, m, false, false);
    bench("mail with n-grams", 2, m, true, false);
    bench("mail with n-grams and twin", 2, m, true, true);
    nb_model_free(&m);
    m = model_of(20);
    bench("20 labels without n-grams", 20, m, false, false);
    bench("20 labels with n-grams", 20, m, true, false);
    bench("20 labels, n-grams, twin", 20, m, true, true);
    nb_model_free(&m);
    bench_thousands();
    return 0;
}
