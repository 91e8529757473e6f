/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits maps to log scores that stand on standard input, for calibration.py to compare with its own
 * slow computation. The method and three numbers, labels, documents and questions; of each document
 * the place of its label and its log scores; of each question its log scores:
 *
 *     platt|isotonic LABELS DOCUMENTS QUESTIONS     TRUTH SCORE ...     SCORE ...
 *
 * answers with a line of probabilities for each question, as often as there is input.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/calibration.h"

enum { LABELS_MOST = 50, DOCUMENTS_MOST = 5000 };

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "calibration_driver: %s\n", what);
        exit(2);
    }
}

static unsigned long number(void)
{
    unsigned long value;
    require(scanf("%lu", &value) == 1, "a number expected");
    return value;
}

static void read_scores(double *scores, unsigned long labels)
{
    for (unsigned long v = 0; v < labels; v++)
        require(scanf("%lf", &scores[v]) == 1, "a log score expected");
}

static struct nb_calibration *fit(const char *name, unsigned long labels, unsigned long count)
{
    static uint32_t truths[DOCUMENTS_MOST], numbers[LABELS_MOST];
    static double scores[DOCUMENTS_MOST * LABELS_MOST];
    struct nb_calibration *map = NULL;
    require(labels >= 2 && labels <= LABELS_MOST && count <= DOCUMENTS_MOST, "too many");
    for (uint32_t v = 0; v < labels; v++)
        numbers[v] = v + 7;
    for (unsigned long i = 0; i < count; i++) {
        truths[i] = (uint32_t)number();
        read_scores(scores + i * labels, labels);
    }
    const struct nb_calibration_scores all = {(uint32_t)labels, numbers, count, truths, scores};
    enum nb_calibration_method method =
        strcmp(name, "platt") == 0 ? NB_CALIBRATION_PLATT : NB_CALIBRATION_ISOTONIC;
    require(nb_calibration_fit(method, &all, &map) == 0, "fit");
    return map;
}

int main(void)
{
    char name[16];
    while (scanf("%15s", name) == 1) {
        unsigned long labels = number(), count = number(), questions = number();
        struct nb_calibration *map = fit(name, labels, count);
        for (unsigned long i = 0; i < questions; i++) {
            double scores[LABELS_MOST], said[LABELS_MOST];
            read_scores(scores, labels);
            nb_calibration_apply(map, map->labels, scores, said);
            for (unsigned long v = 0; v < labels; v++)
                printf("%s%.17g", v == 0 ? "" : " ", said[v]);
            printf("\n");
        }
        fflush(stdout);
        nb_calibration_free(&map);
    }
    return 0;
}
