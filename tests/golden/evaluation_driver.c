/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates what lines of standard input say, for evaluation.py to compare with its own slow
 * computation. Labels are numbers, named in the order in which they sort.
 *
 *     new POSITIVE LABEL ...          an empty evaluation; POSITIVE is an index
 *     add TRUTH LOG_ODDS LABEL:P ...  a document; without labels one that was not scored
 *     figures WINDOW                  answers its numbers, one line
 *     threshold WINDOW RATE           answers "THRESHOLD ACHIEVED", or "none"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/evaluation.h"

enum { LABELS_MOST = 64 };

static struct nb_evaluator *evaluator;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "evaluation_driver: %s\n", what);
        exit(2);
    }
}

static void renew(char *rest)
{
    uint32_t labels[LABELS_MOST];
    size_t count = 0, positive = strtoul(rest, &rest, 10);
    while (*rest == ' ' && count < LABELS_MOST)
        labels[count++] = (uint32_t)strtoul(rest, &rest, 10);
    nb_evaluator_free(&evaluator);
    require(nb_evaluator_new(labels, count, positive, &evaluator) == 0, "new");
}

static void add(char *rest)
{
    uint32_t labels[LABELS_MOST];
    double p[LABELS_MOST];
    struct nb_stored_score scored = {.labels = labels, .probabilities = p};
    scored.label = (uint32_t)strtoul(rest, &rest, 10);
    scored.log_odds = strtod(rest, &rest);
    while (*rest == ' ' && scored.size < LABELS_MOST) {
        labels[scored.size] = (uint32_t)strtoul(rest, &rest, 10);
        require(*rest == ':', "a label without a probability");
        p[scored.size++] = strtod(rest + 1, &rest);
    }
    require(nb_evaluator_add(evaluator, &scored) == 0, "add");
}

static void figures(char *rest)
{
    struct nb_evaluation e;
    require(nb_evaluator_finish(evaluator, strtoull(rest, NULL, 10), &e) == 0, "finish");
    printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g", e.accuracy, e.macro_f1,
           e.one_minus_roca, e.lam, e.false_positive_rate, e.false_negative_rate, e.log_loss,
           e.brier, e.ece);
    for (size_t i = 0; i < NB_EVALUATION_BINS; i++)
        printf(" %llu %.17g %.17g", (unsigned long long)e.bins[i].documents, e.bins[i].confidence,
               e.bins[i].accuracy);
    for (size_t i = 0; i < e.label_count; i++)
        printf(" %llu %.17g %.17g %.17g", (unsigned long long)e.labels[i].documents,
               e.labels[i].precision, e.labels[i].recall, e.labels[i].f1);
    for (size_t i = 0; i < e.pair_count; i++)
        printf(" %u %u %llu", e.pairs[i].truth, e.pairs[i].predicted,
               (unsigned long long)e.pairs[i].documents);
    putchar('\n');
    nb_evaluation_deinit(&e);
}

static void threshold(char *rest)
{
    uint64_t window = strtoull(rest, &rest, 10);
    double found, achieved, rate = strtod(rest, NULL);
    if (nb_evaluator_threshold(evaluator, window, rate, &found, &achieved, NULL) == 0)
        printf("%.17g %.17g\n", found, achieved);
    else
        puts("none");
}

int main(void)
{
    static const struct {
        const char *verb;
        void (*act)(char *rest);
    } verbs[] = {{"new ", renew}, {"add ", add}, {"figures ", figures}, {"threshold ", threshold}};
    static char line[1 << 14];
    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t i = 0, count = sizeof verbs / sizeof *verbs;
        while (i < count && strncmp(line, verbs[i].verb, strlen(verbs[i].verb)) != 0)
            i++;
        require(i < count, line);
        verbs[i].act(line + strlen(verbs[i].verb));
        (void)fflush(stdout);
    }
    nb_evaluator_free(&evaluator);
    return 0;
}
