/* SPDX-License-Identifier: Apache-2.0
 *
 * EM over documents without a label that stand on standard input, for em.py to compare with its own
 * slow computation. Eight numbers, the prior of each label, the group of each word, the labelled
 * documents' count of each word and label, and the documents, each as how many words it has, and of
 * each its number and how often; then of each field of numbers and label how many labelled
 * documents have one, their mean and variance, and of each document and field its number, or "nan":
 *
 *     LABELS WORDS DOCUMENTS WEIGHT SMOOTHING BINARY GROUPS FIELDS
 *     PRIOR ...     GROUP ...     COUNT ...     SIZE WORD TIMES ...
 *     SIZE MEAN VARIANCE ...     NUMBER ...
 *
 * answers with the number of steps, what is maximized at the first step without annealing and at
 * the end, and the shares of each document; and with the counts that are expected: of each label
 * its documents, of each word and label occurrences and documents; as often as there is input.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/bayes/expected.h"

enum {
    LABELS_MOST = 10,
    WORDS_MOST = 200,
    DOCUMENTS_MOST = 200,
    USES_MOST = 20000,
    FIELDS_MOST = 4
};

static struct {
    size_t begin[DOCUMENTS_MOST + 1], middle[DOCUMENTS_MOST];
    uint32_t columns[USES_MOST], counts[USES_MOST];
    double labelled[WORDS_MOST * LABELS_MOST], priors[LABELS_MOST];
    uint32_t groups[WORDS_MOST];
    struct nb_normal normals[FIELDS_MOST * LABELS_MOST];
    double values[DOCUMENTS_MOST * FIELDS_MOST];
} input;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "em_driver: %s\n", what);
        exit(2);
    }
}

static double number(void)
{
    double value;
    require(scanf("%lf", &value) == 1, "a number expected");
    return value;
}

static void read_documents(size_t count)
{
    for (size_t d = 0; d < count; d++) {
        size_t size = (size_t)number();
        require(input.begin[d] + size <= USES_MOST, "too many words");
        for (size_t i = input.begin[d]; i < input.begin[d] + size; i++) {
            input.columns[i] = (uint32_t)number();
            input.counts[i] = (uint32_t)number();
        }
        input.middle[d] = input.begin[d + 1] = input.begin[d] + size;
    }
}

static void read_numbers(unsigned fields, unsigned labels, size_t documents)
{
    for (unsigned i = 0; i < fields * labels; i++) {
        double count = number(), mean = number(), variance = number();
        input.normals[i] = (struct nb_normal){count, mean, variance, (uint64_t)count};
    }
    for (size_t i = 0; i < documents * fields; i++)
        input.values[i] = number();
}

static void print_shares(const struct nb_em *em, uint32_t labels)
{
    printf("%u %.17g %.17g\n", em->iterations, em->first, em->log_likelihood);
    for (size_t d = 0; d < em->count; d++) {
        double shares[LABELS_MOST] = {0};
        for (size_t i = em->begin[d]; i < em->begin[d + 1]; i++)
            shares[em->labels[i]] = em->shares[i];
        for (uint32_t v = 0; v < labels; v++)
            printf("%.17g%c", shares[v], v + 1 == labels ? '\n' : ' ');
    }
}

static void print_counts(const struct nb_expected *expected, uint32_t words, uint32_t labels)
{
    for (uint32_t v = 0; v < labels; v++)
        printf("%.17g%c", nb_expected_documents(expected, v), v + 1 == labels ? '\n' : ' ');
    for (uint32_t w = 0; w < words; w++) {
        const struct nb_expected_cell *cells;
        double counts[LABELS_MOST][2] = {{0}};
        size_t size = nb_expected_find(expected, w, w + 1, &cells);
        for (size_t i = 0; i < size; i++) {
            counts[cells[i].label][0] = cells[i].occurrences;
            counts[cells[i].label][1] = cells[i].documents;
        }
        for (uint32_t v = 0; v < labels; v++)
            printf("%.17g %.17g%c", counts[v][0], counts[v][1], v + 1 == labels ? '\n' : ' ');
    }
}

static void answer(const struct nb_em_question *question)
{
    static uint32_t rows[WORDS_MOST], numbers[LABELS_MOST];
    static uint64_t ids[WORDS_MOST];
    static bool learned[WORDS_MOST];
    const uint64_t vocabulary[NB_FIELDS + 1] = {0};
    struct nb_expected *expected = NULL;
    struct nb_em em;
    for (uint32_t w = 0; w < question->words; w++) {
        rows[w] = w;
        ids[w] = w + 1;
    }
    for (uint32_t v = 0; v < question->labels; v++)
        numbers[v] = v;
    const struct nb_expected_columns columns = {question->words, rows, ids, learned, 0, NULL};
    require(nb_em_fit(question, &em) == 0, "fit");
    require(nb_expected_new(&columns, question->documents, &em, numbers, question->labels,
                            vocabulary, &expected) == 0,
            "counts");
    print_shares(&em, question->labels);
    print_counts(expected, question->words, question->labels);
    nb_expected_release(&expected);
    nb_em_deinit(&em);
}

int main(void)
{
    unsigned labels, words;
    size_t documents;
    while (scanf("%u %u %zu", &labels, &words, &documents) == 3) {
        require(labels > 0 && labels <= LABELS_MOST && words > 0 && words <= WORDS_MOST &&
                    documents > 0 && documents <= DOCUMENTS_MOST,
                "too many");
        double weight = number(), smoothing = number();
        bool is_binary = number() > 0;
        unsigned groups = (unsigned)number(), fields = (unsigned)number();
        require(groups > 0 && fields <= FIELDS_MOST, "too many groups or fields");
        for (unsigned v = 0; v < labels; v++)
            input.priors[v] = number();
        for (unsigned w = 0; w < words; w++)
            input.groups[w] = (uint32_t)number();
        for (unsigned i = 0; i < words * labels; i++)
            input.labelled[i] = number();
        read_documents(documents);
        read_numbers(fields, labels, documents);
        const struct nb_em_numbers numbers = {fields, input.values, input.normals};
        const struct nb_em_documents all = {documents,       input.begin,   input.middle,
                                            input.begin + 1, input.columns, input.counts};
        const struct nb_em_question question = {.documents = &all,
                                                .words = words,
                                                .labels = labels,
                                                .counts = input.labelled,
                                                .shares = input.priors,
                                                .groups = groups > 1 ? input.groups : NULL,
                                                .group_count = groups,
                                                .numbers = fields > 0 ? &numbers : NULL,
                                                .is_binary = is_binary,
                                                .weight = weight,
                                                .smoothing = smoothing,
                                                .iterations_most = 200};
        answer(&question);
        fflush(stdout);
    }
    return 0;
}
