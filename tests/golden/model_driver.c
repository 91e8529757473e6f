/* SPDX-License-Identifier: Apache-2.0
 *
 * Does to a model what lines of standard input say, for golden.py and fields.py to compare with
 * their own slow computation. tests/golden/lines.h has the words.
 *
 *     settings EVENT PRIOR ESTIMATE PREDICT SMOOTHING MIN_COUNT SKIP_TOP [LABEL=WEIGHT ...]
 * (numbers of the enums) train LABEL WORD:COUNT ...      untrain LABEL WORD:COUNT ... score
 * WORD:COUNT ... answers "KNOWN BEST LABEL=SCORE ..." explain WORD:COUNT ...          answers
 * "LABEL LABEL EVIDENCE ... PRIOR" in the bag's order
 *
 * and with the smoothing "m:M:2", whose p is a parent's, of these documents that the parent learns:
 *     parent-train LABEL WORD:COUNT ...
 *
 * and with counts beside the model's, of documents that have labels by shares, from the next
 * settings on:
 *     beside-clear WEIGHT             beside LABEL=SHARE,... WORD:COUNT ...
 *
 * and with attributes, which the settings that follow have:
 *     fields STRUCTURE NUMBER KIND ...        (numbers of the enums; before any document)
 *
 * and to the stack of the same model:
 *     stack WORD:COUNT ...            answers "LABEL=SCORE=MODERATED ..."
 *     stack-learn LABEL WORD:COUNT ...
 *     stack-against LABEL LABEL WORD:COUNT ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/scorer.h"
#include "core/counts/pairs.h"
#include "core/stack/blend.h"
#include "core/stack/stack.h"
#include "tests/golden/lines.h"

enum { WEIGHTS_MOST = 64, LABELS_MOST = 64, ATTRIBUTES_MOST = 64 };
enum { DOCUMENTS_MOST = 200, USES_MOST = 20000 };

static struct nb_model *model, *parent;
static struct nb_blend blend;
static struct nb_settings blended; /* what it borrows: without labels and weights */
static struct nb_scorer *scorer;
static struct nb_stack *stack;
static struct nb_stack_weights *stack_weights;
static struct {
    size_t begin[DOCUMENTS_MOST + 1], share_begin[DOCUMENTS_MOST + 1];
    uint32_t columns[USES_MOST], counts[USES_MOST], labels[USES_MOST];
    double shares[USES_MOST], weight;
    size_t count;
    struct nb_expected *expected; /* owned; of all of them; NULL: not there yet */
} beside;
static struct nb_attribute attributes[ATTRIBUTES_MOST];
static char attribute_names[ATTRIBUTES_MOST][8];
static size_t attribute_count;
static int structure, number;

static struct nb_prior_weight weight_of(char *item)
{
    char *equals = strchr(item, '=');
    require(equals != NULL, "LABEL=WEIGHT expected");
    *equals = '\0';
    return (struct nb_prior_weight){item, strtod(equals + 1, NULL)};
}

/* A number, "LABEL=NUMBER,...", "beta:ALPHA:BETA" or "m:M:P", P being the number of an enum. */
static void smoothing(char *text, struct nb_settings *s, struct nb_prior_weight *by_label)
{
    struct nb_smoothing *by = &s->smoothing_by;
    char *rest = NULL, *second = strchr(text, ':');
    if (strchr(text, '=') != NULL) {
        by->kind = NB_SMOOTHING_LABELS;
        by->labels = by_label;
        for (char *item = strtok_r(text, ",", &rest); item != NULL;
             item = strtok_r(NULL, ",", &rest))
            by_label[by->label_count++] = weight_of(item);
    } else if (second == NULL) {
        s->smoothing = strtod(text, NULL);
    } else {
        char *end;
        s->smoothing = strtod(second + 1, &end);
        by->kind = text[0] == 'b' ? NB_SMOOTHING_BETA : NB_SMOOTHING_M;
        by->beta = strtod(end + 1, NULL);
        by->p = by->kind == NB_SMOOTHING_M ? atoi(end + 1) : 0;
    }
}

static void fields(char **rest)
{
    structure = atoi(next(rest));
    number = atoi(next(rest));
    attribute_count = 0;
    for (char *kind; (kind = next(rest)) != NULL && attribute_count < ATTRIBUTES_MOST;) {
        char *name = attribute_names[attribute_count];
        (void)snprintf(name, sizeof attribute_names[0], "a%zu", attribute_count);
        attributes[attribute_count++] = (struct nb_attribute){name, atoi(kind)};
    }
    if (structure == NB_STRUCTURE_NAIVE || nb_model_pairs(model) != NULL)
        return;
    struct nb_pairs *pairs =
        nb_pairs_new((struct nb_attributes){.list = attributes, .count = attribute_count}, true);
    require(pairs != NULL && nb_model_documents_all(model) == 0, "pairs");
    nb_model_put_pairs(model, &pairs);
}

/* ---- counts beside --------------------------------------------------------------------------- */

static void beside_clear(char **rest)
{
    beside.weight = strtod(next(rest), NULL);
    beside.count = 0;
    nb_expected_release(&beside.expected);
}

static uint32_t row_of(struct nb_model *of, uint64_t id)
{
    uint32_t row = nb_model_find(of, id);
    if (row == NB_NO_ROW)
        require(nb_model_append(of, id, &row) == 0, "row");
    return row;
}

static void beside_add(char **rest)
{
    static struct nb_feature bag[WORDS_MOST];
    char *inner = NULL;
    size_t at = beside.share_begin[beside.count], use = beside.begin[beside.count];
    require(beside.count < DOCUMENTS_MOST, "too many documents");
    for (char *item = strtok_r(next(rest), ",", &inner); item != NULL;
         item = strtok_r(NULL, ",", &inner)) {
        struct nb_prior_weight share = weight_of(item);
        struct nb_string name = {share.label, strlen(share.label)};
        require(nb_model_label(model, name, &beside.labels[at]) == 0, "label");
        beside.shares[at++] = share.weight;
    }
    size_t size = read_bag(rest, bag);
    require(use + size <= USES_MOST, "too many words");
    for (size_t i = 0; i < size; i++) {
        beside.columns[use] = row_of(model, bag[i].id);
        beside.counts[use++] = bag[i].count;
    }
    beside.count++;
    beside.share_begin[beside.count] = at;
    beside.begin[beside.count] = use;
}

/* Rows are columns, and labels have their own numbers. */
static void make_expected(void)
{
    static uint32_t rows[WORDS_MOST], numbers[LABELS_MOST];
    static uint64_t ids[WORDS_MOST];
    static bool learned[WORDS_MOST];
    uint64_t vocabulary[NB_FIELDS + 1];
    uint32_t count = nb_model_rows(model), labels = nb_model_label_count(model);
    require(count <= WORDS_MOST && labels <= LABELS_MOST, "too many");
    for (uint32_t row = 0; row < count; row++) {
        rows[row] = row;
        ids[row] = nb_model_row_id(model, row);
        learned[row] = !nb_model_row_is_unused(model, row);
    }
    for (uint32_t v = 0; v < labels; v++)
        numbers[v] = v;
    for (unsigned field = 0; field <= NB_FIELDS; field++)
        vocabulary[field] = nb_model_vocabulary(model, field);
    const struct nb_expected_columns columns = {count, rows, ids, learned, 0, NULL};
    const struct nb_em_documents documents = {beside.count,     beside.begin,   beside.begin + 1,
                                              beside.begin + 1, beside.columns, beside.counts};
    const struct nb_em shares = {.count = beside.count,
                                 .begin = beside.share_begin,
                                 .labels = beside.labels,
                                 .shares = beside.shares};
    nb_expected_release(&beside.expected);
    require(nb_expected_new(&columns, &documents, &shares, numbers, labels, vocabulary,
                            &beside.expected) == 0,
            "expected counts");
}

static void settings(char **rest)
{
    struct nb_settings s;
    char parent_name[] = "parent";
    struct nb_prior_weight weights[WEIGHTS_MOST], by_label[WEIGHTS_MOST];
    nb_settings_init(&s, NB_PRESET_BOOK);
    s.event_model = atoi(next(rest));
    s.prior = atoi(next(rest));
    s.estimate = atoi(next(rest));
    s.predict = atoi(next(rest));
    smoothing(next(rest), &s, by_label);
    s.min_count = strtoull(next(rest), NULL, 10);
    s.skip_top = strtoull(next(rest), NULL, 10);
    s.weights = weights;
    s.attributes = attributes;
    s.attribute_count = attribute_count;
    s.structure = structure;
    s.number = number;
    for (char *item; (item = next(rest)) != NULL && s.weight_count < WEIGHTS_MOST;)
        weights[s.weight_count++] = weight_of(item);
    if (s.prior == NB_PRIOR_DIRICHLET) { /* the first one, without a label, is the default */
        s.prior_default = weights[0].weight;
        s.weights++;
        s.weight_count--;
    }
    if (nb_smoothing_is_of_parent(&s.smoothing_by))
        s.parent = parent_name;
    require(nb_settings_check(&s, NULL) == 0, "bad settings");
    nb_settings_deinit(&blended);
    require(nb_settings_copy(&blended, &s) == 0, "out of memory");
    nb_scorer_free(&scorer);
    if (beside.count == 0) {
        require(nb_scorer_new(&s, &scorer) == 0, "out of memory");
        return;
    }
    make_expected();
    const struct nb_besides all = {.list = {{beside.expected, beside.weight}}, .count = 1};
    require(nb_scorer_new_beside(&s, &all, &scorer) == 0, "out of memory");
}

/* By the counts of the model and its parent. */
static const char *label_of(const struct nb_scores *scores, size_t i)
{
    uint32_t label = scores->labels[i];
    return nb_smoothing_is_of_parent(&blended.smoothing_by)
               ? blend.labels[label].name
               : nb_model_label_name(model, label).bytes;
}

static void read_scores(const struct nb_feature *bag, size_t size, struct nb_scores *scores)
{
    const struct nb_blend_source both[] = {{.counts = model}, {.counts = parent}};
    if (!nb_smoothing_is_of_parent(&blended.smoothing_by)) {
        require(nb_score(scorer, model, bag, size, scores, NULL) == 0, "score");
        return;
    }
    require(nb_blend_begin(&blend, &blended, both, 2, NULL) == 0, "blend");
    require(nb_blend_score(&blend, bag, size, scores, NULL) == 0, "score of both");
}

static void read_evidence(const struct nb_feature *bag, size_t size, const struct nb_scores *scores,
                          struct nb_evidence *rows, size_t *count)
{
    if (nb_smoothing_is_of_parent(&blended.smoothing_by))
        nb_blend_explain(&blend, bag, size, scores, false, rows, count);
    else
        require(nb_explain(scorer, model, bag, size, NULL, scores, rows, count) == 0, "explain");
}

static void score(char **rest, bool explain)
{
    static struct nb_feature bag[WORDS_MOST];
    static struct nb_evidence rows[WORDS_MOST + 1];
    struct nb_scores scores;
    nb_scores_init(&scores);
    size_t size = read_bag(rest, bag);
    read_scores(bag, size, &scores);
    const char *best = label_of(&scores, scores.best);
    if (explain) {
        size_t count = 0;
        double evidence[WORDS_MOST] = {0};
        read_evidence(bag, size, &scores, rows, &count);
        printf("%s %s", best, label_of(&scores, scores.second));
        for (size_t i = 0; i + 1 < count; i++)
            evidence[rows[i].feature] = rows[i].evidence;
        for (size_t i = 0; i < size; i++)
            printf(" %.17g", evidence[i]);
        printf(" %.17g\n", rows[count - 1].evidence);
    } else {
        printf("%llu %s", (unsigned long long)scores.known, best);
        for (size_t i = 0; i < scores.size; i++)
            printf(" %s=%.17g", label_of(&scores, i), scores.log_scores[i]);
        printf("\n");
    }
    fflush(stdout);
    nb_scores_deinit(&scores);
}

/* The leave-one-out inputs of a learned document, all of whose words have rows. */
static void inputs_without(const struct nb_feature *bag, size_t size, uint32_t label,
                           struct nb_stack_inputs *inputs)
{
    static struct nb_row_count rows[WORDS_MOST];
    for (size_t i = 0; i < size; i++)
        rows[i] = (struct nb_row_count){nb_model_find(model, bag[i].id), bag[i].count};
    require(nb_stack_inputs_of_rows(stack, model, rows, size, label, inputs) == 0, "inputs");
}

/* The scores, and what is left of them for labels of few documents, of which one is left out. */
static void print_stacked(struct nb_scores *scores, uint32_t without)
{
    static double plain[LABELS_MOST];
    require(scores->size <= LABELS_MOST, "too many labels");
    memcpy(plain, scores->log_scores, scores->size * sizeof *plain);
    (void)nb_scores_moderate_by(scores, model, without);
    for (size_t i = 0; i < scores->size; i++)
        printf("%s%s=%.17g=%.17g", i == 0 ? "" : " ",
               nb_model_label_name(model, scores->labels[i]).bytes, plain[i],
               scores->log_scores[i]);
    printf("\n");
    fflush(stdout);
}

/* "stack BAG" scores by the stack; "stack-learn WEIGHT LABEL BAG" learns, as every document in the
 * life of the weights does; "stack-without LABEL BAG" scores a learned document as if it were not
 * learned. */
static void stacked(char **rest, const char *verb)
{
    static struct nb_feature bag[WORDS_MOST];
    struct nb_stack_inputs inputs;
    struct nb_scores scores;
    nb_stack_inputs_init(&inputs);
    nb_scores_init(&scores);
    nb_stack_inputs_twin(&inputs, stack_weights, true);
    bool learn = strcmp(verb, "stack-learn") == 0;
    double weight = learn ? strtod(next(rest), NULL) : 0;
    const char *name = strcmp(verb, "stack") != 0 ? next(rest) : "";
    size_t size = read_bag(rest, bag);
    uint32_t label = nb_model_find_label(model, (struct nb_string){name, strlen(name)});
    if (learn || *name == '\0')
        require(nb_stack_inputs(stack, model, bag, size, &inputs, NULL) == 0, "inputs");
    else
        inputs_without(bag, size, label, &inputs);
    if (learn) {
        require(nb_stack_twin_learn(stack_weights, &inputs, label, weight) == 0, "twin");
        require(nb_stack_learn(stack_weights, &inputs, label, weight) == 0, "learn");
    } else {
        require(nb_stack_score(stack_weights, &inputs, &scores) == 0, "stack");
        print_stacked(&scores, label);
    }
    nb_stack_inputs_deinit(&inputs);
    nb_scores_deinit(&scores);
}

/* "stack-against LABEL OTHER BAG" answers with the log-odds of a label against all others. */
static void stacked_against(char **rest)
{
    static struct nb_feature bag[WORDS_MOST];
    double log_odds;
    uint32_t label = nb_model_find_label(model, nb_string_of(next(rest)));
    uint32_t other = nb_model_find_label(model, nb_string_of(next(rest)));
    size_t size = read_bag(rest, bag);
    require(nb_stack_against(stack, model, stack_weights, bag, size, label, other, &log_odds) == 0,
            "against");
    printf("%.17g\n", log_odds);
    fflush(stdout);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    model = nb_model_new();
    parent = nb_model_new();
    struct nb_stack_settings constants;
    nb_stack_settings_init(&constants);
    stack_weights = nb_stack_weights_new(&constants);
    require(model != NULL && parent != NULL && stack_weights != NULL, "out of memory");
    require(nb_stack_new(&constants, &stack) == 0, "out of memory");
    while (getline(&line, &room, stdin) > 0) {
        char *rest = NULL;
        const char *verb = strtok_r(line, " \n", &rest);
        if (verb == NULL)
            continue;
        if (strcmp(verb, "fields") == 0)
            fields(&rest);
        else if (strcmp(verb, "settings") == 0)
            settings(&rest);
        else if (strcmp(verb, "train") == 0)
            change(model, &rest, 1);
        else if (strcmp(verb, "untrain") == 0)
            change(model, &rest, -1);
        else if (strcmp(verb, "beside-clear") == 0)
            beside_clear(&rest);
        else if (strcmp(verb, "beside") == 0)
            beside_add(&rest);
        else if (strcmp(verb, "parent-train") == 0)
            change(parent, &rest, 1);
        else if (strcmp(verb, "score") == 0 || strcmp(verb, "explain") == 0)
            score(&rest, verb[0] == 'e');
        else if (strcmp(verb, "stack-against") == 0)
            stacked_against(&rest);
        else if (strncmp(verb, "stack", 5) == 0)
            stacked(&rest, verb);
        else
            require(false, "unknown verb");
    }
    free(line);
    nb_scorer_free(&scorer);
    nb_stack_free(&stack);
    nb_stack_weights_free(&stack_weights);
    nb_model_free(&model);
    nb_model_free(&parent);
    nb_expected_release(&beside.expected);
    nb_blend_deinit(&blend);
    nb_settings_deinit(&blended);
    return 0;
}
