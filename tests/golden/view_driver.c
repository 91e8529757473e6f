/* SPDX-License-Identifier: Apache-2.0
 *
 * Does to the stacks of a model (side 0), its parent (1) and that one's parent (2) what lines of
 * standard input say, for view.py to compare with its own slow computation. tests/golden/lines.h
 * has the words.
 *
 *     numbers HOW KIND ...                    (numbers of the enums; before anything else)
 *     strengths DOCUMENTS DOCUMENTS           (of the sides 0 and 1)
 *     train SIDE LABEL BAG                    untrain SIDE LABEL BAG
 *     learn SIDE WEIGHT LABEL BAG             the stack's weights, before the document is trained
 *     stack SIDE BAG                          answers "LABEL=SCORE ...", by the side alone
 *     stack-without SIDE LABEL BAG            the same of a document that it has learned
 *     view SIDES BAG                          answers "LABEL=SCORE ...", of so many sides
 *     view-without SIDES LABEL BAG            the same of a document that the side 0 has learned
 *     explain SIDES BAG                       answers "BEST SECOND EVIDENCE ... PRIOR" by place
 *     against SIDES LABEL OTHER BAG           answers with log-odds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/stack/blend.h"
#include "tests/golden/lines.h"

enum { SIDES = NB_BLEND_MOST, ATTRIBUTES_MOST = 16 };

static struct nb_model *models[SIDES];
static struct nb_stack *stacks[SIDES];
static struct nb_stack_weights *weights[SIDES];
static uint64_t strengths[SIDES];
static struct nb_settings settings;
static struct nb_attribute attributes[ATTRIBUTES_MOST];
static struct nb_blend blend;
static struct nb_feature bag[WORDS_MOST];

static unsigned side_of(char **rest)
{
    unsigned long side = strtoul(next(rest), NULL, 10);
    require(side <= SIDES, "side");
    return (unsigned)side;
}

static void numbers(char **rest)
{
    static char names[ATTRIBUTES_MOST][8];
    settings.number = atoi(next(rest));
    for (char *kind; (kind = next(rest)) != NULL && settings.attribute_count < ATTRIBUTES_MOST;) {
        size_t at = settings.attribute_count++;
        (void)snprintf(names[at], sizeof names[0], "a%zu", at);
        attributes[at] = (struct nb_attribute){names[at], atoi(kind)};
    }
    settings.attributes = attributes;
    for (unsigned side = 0; side < SIDES; side++)
        nb_stack_cut_numbers(stacks[side], &settings);
}

static uint32_t label_of(const struct nb_model *model, const char *name)
{
    return nb_model_find_label(model, nb_string_of(name));
}

static void read_inputs(unsigned side, const char *without, size_t size,
                        struct nb_stack_inputs *inputs)
{
    static struct nb_row_count rows[WORDS_MOST];
    const struct nb_model *model = models[side];
    nb_stack_inputs_init(inputs);
    nb_stack_inputs_twin(inputs, weights[side], true);
    if (without == NULL) {
        require(nb_stack_inputs(stacks[side], model, bag, size, inputs, NULL) == 0, "inputs");
        return;
    }
    for (size_t i = 0; i < size; i++)
        rows[i] = (struct nb_row_count){nb_model_find(model, bag[i].id), bag[i].count};
    require(nb_stack_inputs_of_rows(stacks[side], model, rows, size, label_of(model, without),
                                    inputs) == 0,
            "inputs without");
}

static void learn(char **rest)
{
    struct nb_stack_inputs inputs;
    unsigned side = side_of(rest);
    double weight = strtod(next(rest), NULL);
    uint32_t label = label_of(models[side], next(rest));
    read_inputs(side, NULL, read_bag(rest, bag), &inputs);
    require(nb_stack_twin_learn(weights[side], &inputs, label, weight) == 0, "twin");
    require(nb_stack_learn(weights[side], &inputs, label, weight) == 0, "learn");
    nb_stack_inputs_deinit(&inputs);
}

static void stack(char **rest, bool is_without)
{
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    unsigned side = side_of(rest);
    const char *without = is_without ? next(rest) : NULL;
    nb_scores_init(&scores);
    read_inputs(side, without, read_bag(rest, bag), &inputs);
    require(nb_stack_score(weights[side], &inputs, &scores) == 0, "stack");
    for (size_t i = 0; i < scores.size; i++)
        printf("%s=%.17g ", nb_model_label_name(models[side], scores.labels[i]).bytes,
               scores.log_scores[i]);
    nb_stack_inputs_deinit(&inputs);
    nb_scores_deinit(&scores);
}

/* Scores the bag by so many sides. */
static size_t view(unsigned sides, const char *without, char **rest, struct nb_scores *scores)
{
    struct nb_blend_source sources[SIDES];
    size_t size = read_bag(rest, bag);
    for (unsigned i = 0; i < sides; i++)
        sources[i] = (struct nb_blend_source){models[i], weights[i], strengths[i]};
    int rc = without == NULL ? nb_blend_begin(&blend, &settings, sources, sides, NULL)
                             : nb_blend_begin_without(&blend, &settings, sources, sides, bag, size,
                                                      label_of(models[0], without));
    require(rc == 0, "blend");
    require(nb_blend_score(&blend, bag, size, NULL, scores) == 0, "score");
    return size;
}

static void explain(const struct nb_scores *scores, size_t size)
{
    static struct nb_evidence rows[WORDS_MOST + 1];
    static double evidence[WORDS_MOST];
    size_t count = 0;
    nb_blend_explain(&blend, bag, size, scores, true, rows, &count);
    memset(evidence, 0, size * sizeof *evidence);
    for (size_t i = 0; i + 1 < count; i++)
        evidence[rows[i].feature] = rows[i].evidence;
    printf("%s %s", blend.labels[scores->best].name, blend.labels[scores->second].name);
    for (size_t i = 0; i < size; i++)
        printf(" %.17g", evidence[i]);
    printf(" %.17g", rows[count - 1].evidence);
}

static uint32_t place_of(const char *label)
{
    uint32_t v = 0;
    while (v < blend.size && strcmp(blend.labels[v].name, label) != 0)
        v++;
    require(v < blend.size, "label of the view");
    return v;
}

static void of_view(char **rest, const char *verb)
{
    struct nb_scores scores;
    unsigned sides = side_of(rest);
    bool is_against = strcmp(verb, "against") == 0;
    const char *first = is_against || strcmp(verb, "view-without") == 0 ? next(rest) : NULL;
    const char *other = is_against ? next(rest) : NULL;
    nb_scores_init(&scores);
    size_t size = view(sides, is_against ? NULL : first, rest, &scores);
    if (is_against) {
        double log_odds;
        require(nb_blend_against(&blend, bag, size, place_of(first), place_of(other), &log_odds) ==
                    0,
                "against");
        printf("%.17g", log_odds);
    } else if (strcmp(verb, "explain") == 0) {
        explain(&scores, size);
    } else {
        for (uint32_t v = 0; v < blend.size; v++)
            printf("%s=%.17g ", blend.labels[v].name, scores.log_scores[v]);
    }
    nb_scores_deinit(&scores);
}

/* Returns whether the line wants an answer. */
static bool do_line(char *line)
{
    char *rest = NULL;
    const char *verb = strtok_r(line, " \n", &rest);
    require(verb != NULL, "a verb expected");
    if (strcmp(verb, "numbers") == 0) {
        numbers(&rest);
    } else if (strcmp(verb, "strengths") == 0) {
        for (unsigned i = 0; i + 1 < SIDES; i++)
            strengths[i] = strtoull(next(&rest), NULL, 10);
    } else if (strcmp(verb, "train") == 0 || strcmp(verb, "untrain") == 0) {
        unsigned side = side_of(&rest);
        change(models[side], &rest, verb[0] == 't' ? 1 : -1);
    } else if (strcmp(verb, "learn") == 0) {
        learn(&rest);
    } else if (strncmp(verb, "stack", 5) == 0) {
        stack(&rest, verb[5] != '\0');
        return true;
    } else {
        of_view(&rest, verb);
        return true;
    }
    return false;
}

int main(void)
{
    struct nb_stack_settings constants;
    char *line = NULL;
    size_t room = 0;
    nb_stack_settings_init(&constants);
    nb_settings_init(&settings, NB_PRESET_TEXT);
    for (unsigned i = 0; i < SIDES; i++) {
        models[i] = nb_model_new();
        weights[i] = nb_stack_weights_new(&constants);
        require(models[i] != NULL && weights[i] != NULL, "out of memory");
        require(nb_stack_new(&constants, &stacks[i]) == 0, "out of memory");
    }
    while (getline(&line, &room, stdin) > 0) {
        if (do_line(line))
            printf("\n");
        fflush(stdout);
    }
    free(line);
    nb_blend_deinit(&blend);
    for (unsigned i = 0; i < SIDES; i++) {
        nb_stack_free(&stacks[i]);
        nb_stack_weights_free(&weights[i]);
        nb_model_free(&models[i]);
    }
    return 0;
}
