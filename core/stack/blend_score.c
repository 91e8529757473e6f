/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores a document with a blend: its scores, what each feature adds to them, and one label against
 * all others together.
 */
#include <assert.h>
#include <string.h>

#include "core/bayes/estimate.h"
#include "core/stack/blend_attributes.h"
#include "core/stack/blend_private.h"

/* ---- one feature ----------------------------------------------------------------------------- */

/* By the book, after nb_blend_put_sums: the addend of a feature: m p_w, or one number for all. */
static double blend_addend(const struct nb_blend *b, uint64_t id)
{
    if (b->pool == NULL)
        return b->smoothing * b->addend;
    struct nb_row row = nb_model_row_or_none(b->pool, nb_model_find(b->pool, id));
    uint64_t pooled = nb_blend_is_binary(b) ? nb_counts_documents(b->pool, row)
                                            : nb_counts_occurrences(b->pool, row);
    return b->settings->smoothing * ((double)pooled + 1) / b->pool_sum;
}

/* By the book: what one position of the feature that was read last adds to the log score of the
 * label at a place, with the feature's addend. */
static double blend_term(const struct nb_blend *b, double smoothing, uint32_t place)
{
    bool binary = nb_blend_is_binary(b);
    double own = binary ? b->documents[place] : b->occurrences[place];
    if (b->settings->event_model == NB_EVENT_COMPLEMENT)
        return b->ends[place] - log(fmax(b->all_occurrences - own, 0) + smoothing);
    if (!(own + smoothing > 0))
        return -(double)INFINITY;
    return log(own + smoothing) - b->ends[place];
}

/* By the stack: r_v of an expert. The offsets of the field must have been computed. */
static double blend_reading(const struct nb_blend *b, unsigned e, unsigned field, uint32_t place)
{
    double smoothing = b->smoothing * nb_blend_bank(b)->experts[e].smoothing;
    double own = b->documents[place];
    return log(own + smoothing) - log(fmax(b->all_documents - own, 0) + smoothing) -
           b->offsets[((size_t)e * NB_FIELDS + field) * b->size + place];
}

/* ---- the features of a document -------------------------------------------------------------- */

static void add_to_book(struct nb_blend *b, const struct nb_feature *feature)
{
    double weight = nb_blend_is_binary(b) ? 1 : (double)feature->count;
    double addend = blend_addend(b, feature->id);
    for (uint32_t v = 0; v < b->size; v++)
        b->scores[v] += weight * blend_term(b, addend, v);
}

static void add_to_stack(struct nb_blend *b, unsigned field, uint64_t id)
{
    const struct nb_stack_bank *bank = nb_blend_bank(b);
    double u = nb_blend_has_twin(b) ? nb_blend_slot(b, id) : 0;
    double *twin = nb_blend_twin_sums(b, field);
    nb_blend_put_offsets(b, field);
    for (unsigned e = 0; e < bank->size; e++) {
        double *x = nb_blend_x(b, e, field);
        double r = 0;
        for (uint32_t v = 0; v < b->size; v++) {
            bool is_other = b->size == 2 && v == 1; /* the evidence of two labels is opposite */
            r = is_other ? -r : blend_reading(b, e, field, v);
            x[v] += nb_blend_power(bank->experts[e].power, r);
            twin[v] += e + 1 == bank->size ? u * r : 0;
        }
    }
}

static int add_value(struct nb_blend *b, const struct nb_feature *feature,
                     const uint32_t rows[NB_BLEND_MOST], struct nb_scores *book)
{
    nb_blend_add_value(b, feature, book);
    return b->is_stacked ? nb_blend_attributes_note(b, feature->id, rows) : 0;
}

/* Adds one feature, whose rows are known. Returns 0 or NB_NO_MEMORY. */
static int add_feature(struct nb_blend *b, const struct nb_feature *feature,
                       const uint32_t rows[NB_BLEND_MOST], struct nb_scores *book)
{
    unsigned field = nb_feature_field(feature->id);
    bool is_token = nb_field_is_token(field);
    if (field == NB_FIELD_VALUE)
        return add_value(b, feature, rows, book);
    assert(field < NB_FIELDS);
    b->features[field]++;
    b->features[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM;
    if (book != NULL)
        book->total += is_token ? feature->count : 0;
    if (!nb_blend_read(b, rows))
        return 0;
    if (is_token && book != NULL) {
        book->known += feature->count;
        add_to_book(b, feature);
    }
    if (b->is_stacked && b->size > 1)
        add_to_stack(b, field, feature->id);
    return 0;
}

static int add_features(struct nb_blend *b, const struct nb_feature *features, size_t size,
                        struct nb_scores *book)
{
    uint32_t rows[NB_BLEND_MOST][NB_MODEL_STEP];
    const unsigned count = b->count;
    int rc = 0;
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        for (unsigned i = 0; i < count; i++)
            nb_model_find_all(b->sources[i].counts, features + start, step, rows[i]);
        for (size_t i = 0; rc == 0 && i < step; i++) {
            uint32_t of_one[NB_BLEND_MOST] = {0};
            for (unsigned s = 0; s < count; s++)
                of_one[s] = rows[s][i];
            rc = add_feature(b, &features[start + i], of_one, book);
        }
    }
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Returns an expert's score of a label. */
static double score_expert(const struct nb_blend *b, unsigned e, uint32_t place)
{
    double sum = 0, total = 0;
    for (unsigned g = 0; g < NB_FIELDS; g++) {
        double x = nb_blend_x(b, e, g)[place];
        total += g != NB_FIELD_NGRAM ? x : 0;
        sum += b->weights.groups[e][g] * nb_stack_share(&b->stack, b->features[g]) * x;
    }
    sum += b->weights.groups[e][NB_STACK_TOTAL] *
           nb_stack_share(&b->stack, b->features[NB_STACK_TOTAL]) * total;
    return nb_blend_bias(b, e, place) + nb_stack_half(b->size) * sum;
}

/* Returns t_v. */
static double score_twin(const struct nb_blend *b, const double shares[NB_FIELDS], uint32_t place)
{
    double sum = nb_blend_twin_bias(b, place);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        sum += shares[field] * nb_blend_twin_sums(b, field)[place];
    return nb_blend_attribute_count(b) > 0 ? sum + b->attributes->twin[place] : sum;
}

static void finish_stack(const struct nb_blend *b, struct nb_scores *scores)
{
    double shares[NB_FIELDS];
    nb_stack_evidence_shares(b->features, nb_blend_attribute_count(b), shares);
    memcpy(scores->sureness, b->weights.sureness, sizeof scores->sureness);
    for (uint32_t v = 0; v < b->size; v++) {
        double stack = nb_blend_attribute_count(b) > 0 ? b->attributes->stack[v] : 0;
        for (unsigned e = 0; e < nb_blend_bank(b)->size; e++)
            stack += b->weights.trust[e] * score_expert(b, e, v);
        scores->log_scores[v] = b->weights.stack * stack;
        if (nb_blend_has_twin(b) && b->size > 2)
            scores->log_scores[v] += b->weights.twin * score_twin(b, shares, v);
    }
    if (!nb_blend_has_twin(b) || b->size != 2)
        return;
    double half = nb_stack_half(2) * b->weights.twin * score_twin(b, shares, 1);
    scores->log_scores[0] -= half; /* the one column is the difference of both scores */
    scores->log_scores[1] += half;
}

static int begin_scores(const struct nb_blend *b, struct nb_scores *scores)
{
    if (nb_scores_grow(scores, b->size) != 0)
        return NB_NO_MEMORY;
    scores->size = b->size;
    scores->total = scores->known = scores->weighed = 0;
    for (uint32_t v = 0; v < b->size; v++)
        scores->labels[v] = v;
    return 0;
}

int nb_blend_score(struct nb_blend *b, const struct nb_feature *features, size_t size,
                   struct nb_scores *book, struct nb_scores *stacked)
{
    assert(b->size > 0 && (stacked == NULL || b->is_stacked));
    assert(book == NULL || (!b->without.is_set && b->settings->event_model != NB_EVENT_BERNOULLI &&
                            !nb_settings_leave_words_out(b->settings)));
    if ((book != NULL && begin_scores(b, book) != 0) ||
        (stacked != NULL && begin_scores(b, stacked) != 0))
        return NB_NO_MEMORY;
    if (book != NULL && nb_blend_put_values(b) != 0)
        return NB_NO_MEMORY;
    if (book != NULL)
        nb_blend_put_sums(b);
    memset(b->features, 0, sizeof b->features);
    memset(b->x, 0, (size_t)NB_STACK_INPUTS * b->size * sizeof *b->x);
    memset(b->twin, 0, (size_t)NB_FIELDS * b->size * sizeof *b->twin);
    nb_blend_attributes_empty(b);
    if (add_features(b, features, size, book) != 0 || nb_blend_attributes_put(b) != 0)
        return NB_NO_MEMORY;
    if (book != NULL) {
        nb_blend_end_values(b);
        memcpy(book->log_scores, b->scores, b->size * sizeof *b->scores);
        nb_scores_rank(book);
    }
    if (stacked != NULL) {
        finish_stack(b, stacked);
        nb_scores_rank(stacked);
    }
    return 0;
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* The stack's evidence of the feature that was read last. */
static double stack_evidence(const struct nb_blend *b, const struct nb_stack_worth *worth,
                             unsigned field, uint64_t id, const struct nb_scores *scores)
{
    const struct nb_stack_bank *bank = nb_blend_bank(b);
    double sum = 0;
    for (unsigned e = 0; e < bank->size; e++) {
        double best = blend_reading(b, e, field, (uint32_t)scores->best);
        double second = blend_reading(b, e, field, (uint32_t)scores->second);
        sum += worth->stack[e][field] * (nb_blend_power(bank->experts[e].power, best) -
                                         nb_blend_power(bank->experts[e].power, second));
        if (e + 1 == bank->size && nb_blend_has_twin(b))
            sum += nb_blend_slot(b, id) * worth->twin[field] * (best - second);
    }
    return sum;
}

/* Returns the difference of the biases. */
static double bias_evidence(const struct nb_blend *b, uint32_t best, uint32_t second)
{
    double sum = 0;
    for (unsigned e = 0; e < nb_blend_bank(b)->size; e++)
        sum += b->weights.trust[e] * (nb_blend_bias(b, e, best) - nb_blend_bias(b, e, second));
    sum *= b->weights.stack;
    if (nb_blend_has_twin(b))
        sum += b->weights.twin * (nb_blend_twin_bias(b, best) - nb_blend_twin_bias(b, second));
    return sum;
}

/* Explains a value by the stack; *value noted values come before it in the bag. */
static bool explain_noted(struct nb_blend *b, uint64_t id, size_t *value, uint32_t best,
                          uint32_t second, double *evidence)
{
    if (nb_part_is_presence(nb_feature_part(id)) || nb_blend_attribute_count(b) == 0)
        return false;
    assert(b->attributes->values[*value].id == id);
    return nb_blend_attributes_explain(b, (*value)++, best, second, evidence);
}

void nb_blend_explain(struct nb_blend *b, const struct nb_feature *features, size_t size,
                      const struct nb_scores *scores, bool stacked, struct nb_evidence *rows,
                      size_t *count)
{
    uint32_t best = (uint32_t)scores->best, second = (uint32_t)scores->second;
    size_t filled = 0, value = 0;
    struct nb_stack_worth worth;
    assert(best < b->size && second < b->size && (!stacked || b->is_stacked));
    if (stacked)
        nb_stack_put_worth(&b->weights, &b->stack, b->features, nb_blend_attribute_count(b),
                           b->size, &worth);
    for (size_t i = 0; i < size && b->size > 1; i++) {
        unsigned field = nb_feature_field(features[i].id);
        uint32_t found[NB_BLEND_MOST] = {0};
        double of_value;
        if (field == NB_FIELD_VALUE) {
            bool says = stacked ? explain_noted(b, features[i].id, &value, best, second, &of_value)
                                : nb_blend_explain_value(b, &features[i], best, second, &of_value);
            if (says)
                rows[filled++] = (struct nb_evidence){.feature = (uint32_t)i, .evidence = of_value};
            continue;
        }
        nb_blend_find(b, features[i].id, found);
        if (!nb_blend_read(b, found) || (!stacked && !nb_field_is_token(field)))
            continue;
        double weight = nb_blend_is_binary(b) ? 1 : (double)features[i].count;
        double addend = blend_addend(b, features[i].id);
        double evidence = stacked ? stack_evidence(b, &worth, field, features[i].id, scores)
                                  : weight * nb_log_evidence(blend_term(b, addend, best),
                                                             blend_term(b, addend, second));
        rows[filled++] = (struct nb_evidence){.feature = (uint32_t)i, .evidence = evidence};
    }
    nb_blend_put_sums(b);
    double rest = stacked ? bias_evidence(b, best, second) : b->scores[best] - b->scores[second];
    rows[filled++] = (struct nb_evidence){.feature = NB_NO_FEATURE, .evidence = rest};
    *count = filled;
}

void nb_blend_shares(struct nb_blend *b, const struct nb_feature *feature,
                     double shares[NB_BLEND_MOST])
{
    double all = 0;
    for (unsigned i = 0; i < NB_BLEND_MOST; i++)
        shares[i] = i < b->count && feature == NULL ? b->share[i] : 0;
    for (unsigned i = 0; i < b->count && feature != NULL; i++) {
        const struct nb_model *counts = b->sources[i].counts;
        uint32_t row = nb_model_find(counts, feature->id);
        if (row != NB_NO_ROW)
            shares[i] =
                b->scale[i] * (double)nb_counts_documents(counts, nb_model_row(counts, row));
        all += shares[i];
    }
    for (unsigned i = 0; i < b->count && all > 0; i++)
        shares[i] /= all;
}

/* ---- one label against all others together --------------------------------------------------- */

struct against {
    struct nb_blend *blend;
    uint32_t label;
    struct nb_stack_against sums;
};

/* Returns ln((own + more) / (others + more)), where others is all - own. */
static double log_ratio(double own, double all, double more)
{
    return log(own + more) - log(fmax(all - own, 0) + more);
}

static void put_against_offsets(struct against *a)
{
    const struct nb_blend *b = a->blend;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        double words = nb_blend_vocabulary(b, field), all = 0;
        for (uint32_t v = 0; v < b->size; v++)
            all += nb_blend_sum(b, v, field, true);
        for (unsigned e = 0; e < b->stack.two.size; e++)
            a->sums.offsets[e][field] =
                log_ratio(nb_blend_sum(b, a->label, field, true), all,
                          nb_stack_added(&b->stack.two.experts[e]) * b->smoothing * (words + 1));
    }
}

static int add_to_against(struct against *a, uint64_t id)
{
    struct nb_blend *b = a->blend;
    unsigned field = nb_feature_field(id);
    uint32_t rows[NB_BLEND_MOST] = {0};
    nb_blend_find(b, id, rows);
    if (field == NB_FIELD_VALUE)
        return nb_blend_attributes_note(b, id, rows);
    assert(field < NB_FIELDS);
    a->sums.features[field]++;
    a->sums.features[NB_STACK_TOTAL] += field != NB_FIELD_NGRAM;
    double r = 0;
    if (!nb_blend_read(b, rows))
        return 0;
    for (unsigned e = 0; e < b->stack.two.size; e++) {
        const struct nb_stack_expert *x = &b->stack.two.experts[e];
        r = log_ratio(b->documents[a->label], b->all_documents, x->smoothing * b->smoothing) -
            a->sums.offsets[e][field];
        a->sums.x[e][field] += nb_blend_power(x->power, r);
    }
    if (nb_blend_has_twin(b))
        a->sums.twin[field] += nb_blend_slot(b, id) * r;
    return 0;
}

int nb_blend_against(struct nb_blend *b, const struct nb_feature *features, size_t size,
                     uint32_t label, uint32_t other, double *log_odds)
{
    struct against a = {.blend = b, .label = label};
    struct nb_stack_mix mix;
    double bias = 0, twin_bias = 0;
    int rc = 0;
    assert(b->is_stacked && label < b->size && other < b->size);
    nb_blend_put_weights(b, 2, &mix);
    put_against_offsets(&a);
    nb_blend_attributes_empty(b);
    for (size_t i = 0; rc == 0 && i < size; i++)
        rc = add_to_against(&a, features[i].id);
    if (rc == 0)
        rc = nb_blend_attributes_against(b, &mix, a.sums.features, label, &a.sums.attributes,
                                         &a.sums.twin_of_attributes);
    a.sums.attribute_count = nb_blend_attribute_count(b);
    for (unsigned e = 0; e < b->stack.two.size; e++)
        bias += mix.trust[e] * (nb_blend_bias(b, e, label) - nb_blend_bias(b, e, other));
    if (nb_blend_has_twin(b))
        twin_bias = nb_blend_twin_bias(b, label) - nb_blend_twin_bias(b, other);
    *log_odds = nb_stack_against_odds(&a.sums, &mix, &b->stack, bias, twin_bias);
    return rc;
}
