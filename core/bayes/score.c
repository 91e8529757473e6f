/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/bayes/score_view.h"
#include "core/bayes/scorer.h"
#include "core/counts/counts.h"

/* ---- two labels ------------------------------------------------------------------------------ */

/* A fast path for the usual case: what words add to the scores of two labels, by the multinomial
 * model with the whole vocabulary. Its sums equal those of the steps below to the bit.
 *
 * Branches on which features are words, or which labels have a word, are unpredictable, so there
 * are none. First the words are listed; then all cells are read as pairs; cells that are no pairs
 * are read again; then all are summed. A label without the word adds 0, which changes no bit of its
 * sum. */

/* The sums over the features of a document. */
struct two_labels {
    double sums[2]; /* of each label, by number: count * (ln(n_wv + addend) - ln(addend)) */
    uint64_t total; /* positions */
    uint64_t known; /* positions of words that a label has */
};

/* The words of a step. */
struct words {
    uint32_t size;
    uint8_t place[NB_MODEL_STEP + 1];  /* in the step; one may be written past the end */
    uint32_t count[NB_MODEL_STEP + 1]; /* in the document; up to one is written past the end */
    uint64_t
        n[NB_MODEL_STEP + 1]; /* occurrences: label 0 in the lower half, label 1 in the upper */
    uint64_t bits;            /* OR of all `n`: each half is at least each count there */
    uint64_t forms;           /* OR of all cells */
};
_Static_assert(NB_MODEL_STEP <= UINT8_MAX + 1, "places have a byte");

/* The results of listing the words of a step. */
struct listing {
    uint64_t total; /* positions of all words, known or not */
    bool has_values;
};

/* Lists the words that have rows. The next word overwrites the place of a feature that is none. */
static void list_words(struct words *words, struct listing *listing,
                       const struct nb_feature *features, size_t step, const uint32_t *rows)
{
    uint32_t size = 0;
    *listing = (struct listing){.total = 0};
    for (size_t i = 0; i < step; i++) {
        enum nb_field field = nb_feature_field(features[i].id);
        bool is_token = nb_field_is_token(field);
        listing->has_values |= field == NB_FIELD_VALUE;
        listing->total += features[i].count & -(uint32_t)is_token;
        words->place[size] = (uint8_t)i;
        size += is_token & (rows[i] != NB_NO_ROW);
    }
    words->size = size;
}

/* The cells of two rows, and the same in memory. (gcc 14 for arm64 crashes over an argument of a
 * vector type with less than a vector's alignment.) */
typedef uint64_t two_rows __attribute__((vector_size(16)));
typedef two_rows two_rows_stored __attribute__((aligned(8), may_alias));

static inline two_rows occurrences_of_pairs(two_rows cells, unsigned label)
{
    two_rows d = cells >> (label * NB_PAIR_D) & NB_PAIR_D_MOST;
    return d + (cells >> (NB_PAIR_MORES + label * NB_PAIR_MORE) & NB_PAIR_MORE_MOST);
}

/* Reads all words as pairs. */
static void read_pairs(struct words *words, const struct nb_feature *features,
                       const uint64_t *cells)
{
    two_rows bits = {0, 0}, forms = {0, 0};
    if (words->size > 0)
        words->place[words->size] = words->place[0]; /* fills up an odd number of words */
    for (uint32_t i = 0; i < words->size; i += 2) {
        /* The analyzer does not see the stores of four places at once.
         * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
        uint32_t one = words->place[i], other = words->place[i + 1];
        two_rows both = {cells[one], cells[other]};
        two_rows n = occurrences_of_pairs(both, 0) | occurrences_of_pairs(both, 1) << 32;
        *(two_rows_stored *)(words->n + i) = n;
        words->count[i] = features[one].count;
        words->count[i + 1] = features[other].count;
        bits |= n;
        forms |= both;
    }
    words->bits = bits[0] | bits[1];
    words->forms = forms[0] | forms[1];
}

/* Returns the occurrences in both labels, as in words.n, of a row that is no pair. */
static uint64_t read_other(struct nb_row row, const struct nb_model *model)
{
    uint32_t n[2] = {0, 0};
    if (nb_row_is_spilled(row)) {
        const struct nb_spill *run = nb_row_run(&model->pool, row);
        assert(run->used <= 2);
        n[run[0].label & 1] = run[0].n;
        n[~run[0].label & 1] = run[1].n; /* 0 without a second cell */
    } else {
        struct nb_cell cells[2];
        uint32_t size = nb_row_unpack(row, cells);
        for (uint32_t i = 0; i < size; i++)
            n[cells[i].label & 1] = cells[i].occurrences;
    }
    return (uint64_t)n[1] << 32 | n[0];
}

/* Reads the words whose rows are no pairs. */
static void read_others(struct words *words, const struct nb_model *model, const uint64_t *cells)
{
    for (uint32_t i = 0; i < words->size; i++) {
        struct nb_row row = {.cells = cells[words->place[i]]};
        if (nb_row_is_pair(row))
            continue;
        words->n[i] = read_other(row, model);
        words->bits |= words->n[i];
    }
}

/* Numbers of both labels. */
typedef double pair __attribute__((vector_size(16)));

/* Adds all words. Callers pass a constant `is_in_table`: the logarithms of all counts are in the
 * table. */
static inline __attribute__((always_inline)) void add_words(struct two_labels *two,
                                                            const struct nb_log_table *table,
                                                            const struct words *words,
                                                            bool is_in_table)
{
    const struct nb_log_table logs = *table;
    const pair none = {logs.logs[0], logs.logs[0]};
    pair sums = {two->sums[0], two->sums[1]};
    uint64_t known = 0;
    for (uint32_t i = 0; i < words->size; i++) {
        uint32_t n0 = (uint32_t)words->n[i], n1 = (uint32_t)(words->n[i] >> 32);
        pair both = {is_in_table ? logs.logs[n0] : nb_log_table_at(&logs, n0),
                     is_in_table ? logs.logs[n1] : nb_log_table_at(&logs, n1)};
        sums += (double)words->count[i] * (both - none);
        known += n0 + (uint64_t)n1 == 0 ? 0 : words->count[i];
    }
    two->sums[0] = sums[0];
    two->sums[1] = sums[1];
    two->known += known;
}

/* Adds `step` features, at most NB_MODEL_STEP, whose rows and cells have been looked up. The model
 * has two labels, both with documents. Returns false, and adds nothing, if any feature is the value
 * of an attribute. */
static bool two_labels_add(struct two_labels *two, const struct nb_log_table *logs,
                           const struct nb_model *model, const struct nb_feature *features,
                           size_t step, const struct nb_found *found)
{
    struct words words;
    struct listing listing;
    assert(step <= NB_MODEL_STEP && nb_model_label_count(model) == 2);
    list_words(&words, &listing, features, step, found->rows);
    if (listing.has_values)
        return false;
    read_pairs(&words, features, found->cells);
    if (words.forms >= NB_FORM_SINGLE)
        read_others(&words, model, found->cells);
    if (((words.bits | words.bits >> 32) & UINT32_MAX) < logs->size)
        add_words(two, logs, &words, true);
    else
        add_words(two, logs, &words, false);
    two->total += listing.total;
    return true;
}

/* ---- a bag ----------------------------------------------------------------------------------- */

/* The sums of one document while its features are read. */
struct pass {
    const struct nb_scorer *scorer;
    const struct nb_model *model;
    const struct nb_score_view *view;
    double *sums; /* corrections, by position in the view */
    /* Owned; used instead of the sums by a scorer with factors. Else NULL. */
    struct nb_log_product *products;
    double common;   /* added to every label (complement) */
    uint64_t weight; /* known positions, or known distinct words with a model of presence */
    uint64_t total, known;
    bool has_values;              /* the sums include values of attributes */
    const struct nb_given *given; /* values that categories depend on; NULL: there is no tree */
};

/* One word of the document while it is summed, with local copies of the data that each cell reads:
 * stores to the sums cannot change them. */
struct word {
    const struct nb_scorer *scorer;
    const uint32_t *position;
    const struct nb_score_label *labels;
    double *sums;
    uint32_t room; /* of `position` */
    enum nb_event_model event;
    double weight;
    uint64_t all; /* occurrences in all labels; complement only */
};

static inline __attribute__((always_inline)) void add_cell(void *user, struct nb_cell cell)
{
    const struct word *w = user;
    assert(cell.label < w->room);
    uint32_t position = w->position[cell.label];
    if (position == NB_NOT_SCORED)
        return;
    uint64_t documents = w->event == NB_EVENT_BERNOULLI ? w->labels[position].documents : 0;
    w->sums[position] += w->weight * nb_correction_by(w->event, w->scorer, documents, cell, w->all);
}

/* Adds a row for a scorer without factors. Callers pass a constant `event`, which is inlined. */
static inline __attribute__((always_inline)) void add_row(struct pass *p, struct nb_row row,
                                                          uint32_t count, enum nb_event_model event)
{
    const struct nb_scorer *s = p->scorer;
    bool complement = event == NB_EVENT_COMPLEMENT;
    if (!nb_counts_any(row))
        return;
    uint64_t all = complement || s->filters ? nb_counts_occurrences(p->model, row) : 0;
    if (s->filters && !nb_score_view_uses(s, p->view, row.id, all))
        return;
    uint32_t weight = nb_weight_of(s, count);
    struct word word = {.scorer = s,
                        .position = p->view->position,
                        .labels = p->view->labels,
                        .sums = p->sums,
                        .room = p->view->room,
                        .event = event,
                        .weight = weight,
                        .all = all};
    p->known += count;
    p->weight += weight;
    if (complement)
        p->common -= weight * nb_log_of(s, all);
    nb_counts_each(p->model, row, add_cell, &word);
}

static void add_multinomial(struct pass *p, uint32_t number, struct nb_row row, uint32_t count)
{
    (void)number;
    add_row(p, row, count, NB_EVENT_MULTINOMIAL);
}

static void add_other(struct pass *p, uint32_t number, struct nb_row row, uint32_t count)
{
    (void)number;
    add_row(p, row, count, (enum nb_event_model)p->scorer->settings.event_model);
}

/* Multiplies the product of the label at a position by the factor of an attribute's feature. */
static void add_attribute(const struct pass *p, const struct nb_feature *feature, uint32_t number,
                          uint32_t position, struct nb_log_product *product)
{
    struct nb_row row = nb_model_row_or_none(p->model, number);
    const struct nb_attribute_scores *scores = &p->scorer->attributes;
    uint8_t parent =
        p->given == NULL ? NB_PAIR_NO_COLUMN : nb_given_parent(p->given, scores->tree, feature->id);
    if (parent == NB_PAIR_NO_COLUMN)
        nb_attribute_add(scores, p->model, feature, row, position, product);
    else
        nb_log_product_add(
            product, nb_attribute_value_given(scores, p->model,
                                              nb_tree_value(scores->tree, feature->id, number),
                                              p->given->values[parent], position));
}

/* Adds a feature of an attribute. */
static void add_value(struct pass *p, const struct nb_feature *feature, uint32_t number)
{
    struct nb_row row = nb_model_row_or_none(p->model, number);
    bool is_token = nb_feature_is_token(feature->id);
    p->total += is_token ? feature->count : 0;
    if (!nb_attribute_says(&p->scorer->attributes, feature, row))
        return;
    p->known += is_token ? feature->count : 0;
    p->has_values = true;
    for (uint32_t i = 0; i < p->view->size; i++) {
        struct nb_log_product one = {0, 0};
        struct nb_log_product *product = p->products != NULL ? &p->products[i] : &one;
        add_attribute(p, feature, number, i, product);
        p->sums[i] += one.log; /* no estimate is 0 unless there are products */
    }
}

/* Adds a row for a scorer with factors. */
static void add_factor_row(struct pass *p, uint32_t number, struct nb_row row, uint32_t count)
{
    const struct nb_scorer *s = p->scorer;
    (void)row;
    uint32_t weight = nb_weight_of(s, count);
    if (!nb_score_uses(s, p->model, p->view, number))
        return;
    p->known += count;
    p->weight += weight;
    struct nb_factor_word word = nb_factor_word_of(s, p->model, p->view, number, weight);
    for (uint32_t i = 0; i < p->view->size; i++)
        nb_log_product_add(&p->products[i], nb_factor_of(s, p->model, p->view, i, &word));
}

/* Adds a feature of the row `number`, which is `row`. */
typedef void add_each(struct pass *p, uint32_t number, struct nb_row row, uint32_t count);

/* Adds the features of a step. Callers pass a constant `add`, which is inlined. */
static inline __attribute__((always_inline)) void
add_step(struct pass *p, const struct nb_feature *features, size_t step,
         const struct nb_found *found, add_each *add)
{
    for (size_t i = 0; i < step; i++) {
        const struct nb_feature *f = &features[i];
        if (!nb_field_is_token(nb_feature_field(f->id))) {
            if (nb_feature_field(f->id) == NB_FIELD_VALUE)
                add_value(p, f, found->rows[i]);
            continue;
        }
        p->total += f->count;
        if (found->rows[i] != NB_NO_ROW)
            add(p, found->rows[i], (struct nb_row){f->id, found->cells[i]}, f->count);
    }
}

static void add_multinomial_step(struct pass *p, const struct nb_feature *features, size_t step,
                                 const struct nb_found *found)
{
    add_step(p, features, step, found, add_multinomial);
}

static void add_other_step(struct pass *p, const struct nb_feature *features, size_t step,
                           const struct nb_found *found)
{
    add_step(p, features, step, found, add_other);
}

static void add_factor_step(struct pass *p, const struct nb_feature *features, size_t step,
                            const struct nb_found *found)
{
    add_step(p, features, step, found, add_factor_row);
}

static void add_step_of_two(struct pass *p, const struct nb_feature *features, size_t step,
                            const struct nb_found *found)
{
    const uint32_t *position = p->view->position;
    struct two_labels two = {.sums = {p->sums[position[0]], p->sums[position[1]]}};
    if (!two_labels_add(&two, &p->scorer->logs, p->model, features, step, found)) {
        add_multinomial_step(p, features, step, found);
        return;
    }
    p->sums[position[0]] = two.sums[0];
    p->sums[position[1]] = two.sums[1];
    p->total += two.total;
    p->known += two.known;
    p->weight += two.known;
}

typedef void add_each_step(struct pass *p, const struct nb_feature *features, size_t step,
                           const struct nb_found *found);

static add_each_step *way_of(const struct pass *p)
{
    if (p->scorer->has_factors)
        return add_factor_step;
    if (nb_scorer_has_two_labels(p->scorer, p->model))
        return add_step_of_two;
    return p->scorer->settings.event_model == NB_EVENT_MULTINOMIAL ? add_multinomial_step
                                                                   : add_other_step;
}

static void add_features(struct pass *p, const struct nb_feature *features, size_t size,
                         const struct nb_found *known)
{
    struct nb_step own;
    add_each_step *add = way_of(p);
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        struct nb_found found = nb_model_step_cells(p->model, features, start, step, known, &own);
        add(p, features + start, step, &found);
    }
}

/* Makes the products, which begin as those of a document without words. */
static int begin_products(struct pass *p)
{
    if (!p->scorer->has_factors)
        return 0;
    p->products = malloc(p->view->size * sizeof *p->products);
    if (p->products == NULL)
        return NB_NO_MEMORY;
    for (uint32_t i = 0; i < p->view->size; i++)
        p->products[i] = (struct nb_log_product){0, (int64_t)p->view->estimates[i].certain};
    return 0;
}

/* Turns the products into sums: -infinity for a product of 0. */
static void end_products(struct pass *p)
{
    for (uint32_t i = 0; i < p->view->size && p->products != NULL; i++)
        p->sums[i] = nb_log_product_value(p->products[i]);
    free(p->products);
}

/* Turns the sums into scores. Without known positions the zero terms are left out: for an empty
 * vocabulary they are logarithms of 0. */
static void finish(const struct pass *p, struct nb_scores *scores)
{
    for (size_t i = 0; i < scores->size; i++) {
        const struct nb_score_label *l = &p->view->labels[i];
        scores->labels[i] = l->label;
        double score = l->base;
        if (p->scorer->has_factors)
            score +=
                (double)p->weight * nb_position_term(p->scorer, p->view, (uint32_t)i, p->weight) +
                p->sums[i];
        else if (p->weight != 0)
            score += (double)p->weight * l->zero_term + p->common + p->sums[i];
        else if (p->has_values)
            score += p->sums[i];
        scores->log_scores[i] = score;
    }
    scores->total = p->total;
    scores->known = p->known;
    scores->weighed = p->weight;
}

int nb_score(struct nb_scorer *scorer, const struct nb_model *model,
             const struct nb_feature *features, size_t size, struct nb_scores *scores,
             struct nb_error *error)
{
    return nb_score_found(scorer, model, features, size, NULL, scores, error);
}

int nb_score_found(struct nb_scorer *scorer, const struct nb_model *model,
                   const struct nb_feature *features, size_t size, const struct nb_found *found,
                   struct nb_scores *scores, struct nb_error *error)
{
    const struct nb_score_view *view;
    int rc = nb_scorer_view(scorer, model, &view);
    if (rc == 0 && view->size == 0)
        return nb_error_set(error, NB_CONFLICT, "the model has not learned a document yet");
    if (rc == 0)
        rc = nb_scores_grow(scores, view->size);
    if (rc != 0)
        return nb_error_no_memory(error);
    assert(view->size <= scores->room);
    scores->size = view->size;
    memset(scores->log_scores, 0, view->size * sizeof *scores->log_scores);
    struct pass pass = {.scorer = scorer, .model = model, .view = view, .sums = scores->log_scores};
    struct nb_given given;
    if (scorer->attributes.tree != NULL) {
        nb_given_find(&given, scorer->attributes.tree, model, features, size);
        pass.given = &given;
    }
    if (begin_products(&pass) != 0)
        return nb_error_no_memory(error);
    add_features(&pass, features, size, found);
    end_products(&pass);
    finish(&pass, scores);
    nb_scores_rank(scores);
    return 0;
}

/* ---- scores of labels ------------------------------------------------------------------------ */

void nb_scores_init(struct nb_scores *scores)
{
    *scores = (struct nb_scores){0};
}

void nb_scores_deinit(struct nb_scores *scores)
{
    free(scores->labels);
    free(scores->log_scores);
    free(scores->probabilities);
    free(scores->documents);
    nb_scores_init(scores);
}

int nb_scores_grow(struct nb_scores *scores, size_t size)
{
    if (size <= scores->room)
        return 0;
    struct nb_scores larger = {.room = size};
    larger.labels = malloc(size * sizeof *larger.labels);
    larger.log_scores = malloc(size * sizeof *larger.log_scores);
    larger.probabilities = malloc(size * sizeof *larger.probabilities);
    larger.documents = malloc(size * sizeof *larger.documents);
    if (larger.labels == NULL || larger.log_scores == NULL || larger.probabilities == NULL ||
        larger.documents == NULL) {
        nb_scores_deinit(&larger);
        return NB_NO_MEMORY;
    }
    nb_scores_deinit(scores);
    *scores = larger;
    return 0;
}

/* Sets winner and runner-up: highest score, ties to the first by name. */
static void put_order(struct nb_scores *scores)
{
    const double *s = scores->log_scores;
    size_t best = 0, second = scores->size > 1 ? 1 : 0;
    if (scores->size > 1 && s[1] > s[0]) {
        best = 1;
        second = 0;
    }
    double most = s[best], next = s[second];
    for (size_t i = 2; i < scores->size; i++) {
        if (s[i] > most) {
            second = best;
            next = most;
            best = i;
            most = s[i];
        } else if (s[i] > next) {
            second = i;
            next = s[i];
        }
    }
    scores->best = best;
    scores->second = second;
}

/* Computes the soft-max relative to the highest score, so that nothing overflows. Equal scores have
 * equal probabilities, even if all are -infinity. */
static void put_probabilities(struct nb_scores *scores)
{
    double most = scores->log_scores[scores->best];
    bool is_any_possible = most > -(double)INFINITY;
    double sum = 0;
    double *p = scores->probabilities;
    for (size_t i = 0; i < scores->size; i++) {
        p[i] = is_any_possible ? exp(scores->log_scores[i] - most) : 1;
        sum += p[i];
    }
    for (size_t i = 0; i < scores->size; i++)
        p[i] /= sum;
}

/* Whether label i comes before label k. */
static bool comes_first(const struct nb_scores *scores, const double *p, size_t i, size_t k)
{
    const double *s = scores->log_scores;
    if (p[i] > p[k] || p[i] < p[k])
        return p[i] > p[k];
    return s[i] > s[k] || (!(s[i] < s[k]) && i < k);
}

void nb_scores_choose(struct nb_scores *scores, const double *probabilities)
{
    size_t best = 0;
    for (size_t i = 1; i < scores->size; i++)
        best = comes_first(scores, probabilities, i, best) ? i : best;
    size_t second = best == 0 && scores->size > 1 ? 1 : 0;
    for (size_t i = 0; i < scores->size; i++)
        if (i != best && (second == best || comes_first(scores, probabilities, i, second)))
            second = i;
    scores->best = best;
    scores->second = second;
}

void nb_scores_rank(struct nb_scores *scores)
{
    assert(scores->size > 0 && scores->size <= scores->room);
    put_order(scores);
    put_probabilities(scores);
}

/* ---- how sure the stack is, of many labels --------------------------------------------------- */

double nb_scores_clarity(const struct nb_scores *scores)
{
    const double least = 1e-12; /* of 1 - P(winner) */
    double others = 0;
    for (size_t i = 0; i < scores->size; i++)
        others += i != scores->best ? scores->probabilities[i] : 0;
    return log(0.5 - log(fmax(others, least)));
}

/* Multiplies the log scores by a factor and ranks them again. */
static void multiply(struct nb_scores *scores, double factor)
{
    for (size_t i = 0; i < scores->size; i++)
        scores->log_scores[i] *= factor;
    nb_scores_rank(scores);
}

/* ---- scores from few documents --------------------------------------------------------------- */

/* (pi / 8) (1/2)^2, rounded; measured on SpamAssassin's corpus, Enron, SMS, Reuters and 20
 * Newsgroups. */
static const double MODERATION = 0.1;

double nb_scores_moderation(double difference, double prior, double doubt)
{
    assert(doubt >= 0);
    double a = fabs(difference);
    double p = fmin(fmax(difference < 0 ? -prior : prior, 0), a);
    double evidence = a - p;
    if (evidence == 0)
        return 1;
    double pulled = p + evidence / sqrt(1 + MODERATION * doubt * evidence * evidence);
    return fmin(pulled / a, 1); /* rounding may exceed 1 */
}

/* Returns d over all labels. */
static double doubt_of(const struct nb_scores *scores)
{
    double doubt = 0;
    for (size_t i = 0; i < scores->size; i++) {
        assert(scores->documents[i] > 0);
        double part = scores->size == 2 ? 1 : 2 * scores->probabilities[i];
        doubt += part / (double)scores->documents[i];
    }
    return doubt;
}

double nb_scores_moderate(struct nb_scores *scores)
{
    assert(scores->best < scores->size && scores->second < scores->size);
    double sureness = 1;
    if (scores->size > 2) {
        sureness = exp(scores->sureness[0] + scores->sureness[1] * nb_scores_clarity(scores));
        multiply(scores, sureness);
    }
    double difference = scores->log_scores[scores->best] - scores->log_scores[scores->second];
    double prior = log((double)scores->documents[scores->best]) -
                   log((double)scores->documents[scores->second]);
    double factor = nb_scores_moderation(difference, prior, doubt_of(scores));
    multiply(scores, factor);
    return sureness * factor;
}

double nb_scores_moderate_by(struct nb_scores *scores, const struct nb_model *model,
                             uint32_t without)
{
    for (size_t i = 0; i < scores->size; i++) {
        uint32_t label = scores->labels[i];
        scores->documents[i] = nb_model_documents(model, label) - (label == without);
    }
    return nb_scores_moderate(scores);
}

/* Returns ln of the sum of exp(temperature * (score - best score)). ln P(label), by the soft-max of
 * the scores times `temperature`, is temperature * (score - best score) minus this. */
static double log_sum(const struct nb_scores *scores, double temperature)
{
    double sum = 0;
    for (size_t i = 0; i < scores->size; i++)
        sum += exp(temperature * (scores->log_scores[i] - scores->log_scores[scores->best]));
    assert(sum >= 1); /* the best adds 1 */
    return log(sum);
}

double nb_scores_pool(struct nb_scores *scores, double temperature, double share,
                      const struct nb_scores *own)
{
    assert(scores->size == own->size && share >= 0 && share < 1 && temperature > 0);
    double end = log_sum(scores, temperature) - log(share);
    double own_end = log_sum(own, 1) - log1p(-share);
    double top = scores->log_scores[scores->best], own_top = own->log_scores[own->best];
    for (size_t i = 0; i < scores->size; i++) {
        double one = temperature * (scores->log_scores[i] - top) - end;
        double other = own->log_scores[i] - own_top - own_end;
        double most = fmax(one, other);
        scores->log_scores[i] = most + log(exp(one - most) + exp(other - most));
    }
    nb_scores_rank(scores);
    double of_own = own->log_scores[scores->best] - own_top - own_end;
    return fmax(-expm1(of_own - scores->log_scores[scores->best]), 0);
}
