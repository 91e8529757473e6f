/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/known.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/counts/counts.h"
#include "core/model/order.h"

/* Measured on CLINC150 and 20 Newsgroups: core/EXPERIMENTS.md. */
static const double start_variance = 1; /* of each w_i, before the first example */
static const double drift = 1e-5;       /* forgets examples before about the last thousand */
static const double odds_most = 12;     /* clips log-odds */
/* ln 9: `known` is for texts of which one in ten is of no label. The examples are one to one. */
static const double prior_odds = 2.1972245773362196;
/* Documents that teach: each up to `all_up_to`, then one of `some`, then one of `few`. */
static const uint64_t all_up_to = 128, some_up_to = 2048, some = 8, few = 16;
static const double young = 250; /* documents of lessons, below which samples teach, too */

/* Places of the numbers: how many documents have taught, w, and the upper triangle of C. */
enum { TAUGHT, WEIGHTS, COVARIANCE = WEIGHTS + NB_KNOWN_INPUTS };
_Static_assert(COVARIANCE + NB_KNOWN_INPUTS * (NB_KNOWN_INPUTS + 1) / 2 <= NB_WEIGHTS_RANGE,
               "all numbers are in one range");

/* ---- the regression -------------------------------------------------------------------------- */

struct state {
    double w[NB_KNOWN_INPUTS], c[NB_KNOWN_INPUTS][NB_KNOWN_INPUTS];
};

static void read_state(const struct nb_weights *numbers, struct state *s)
{
    bool is_new = nb_weights_at(numbers, TAUGHT) <= 0;
    size_t place = COVARIANCE;
    for (unsigned i = 0; i < NB_KNOWN_INPUTS; i++) {
        s->w[i] = nb_weights_at(numbers, WEIGHTS + i);
        for (unsigned k = i; k < NB_KNOWN_INPUTS; k++, place++)
            s->c[i][k] = s->c[k][i] = !is_new  ? nb_weights_at(numbers, place)
                                      : i == k ? start_variance
                                               : 0;
    }
}

static double sigmoid(double z, const double w[], const double x[])
{
    for (unsigned i = 0; i < NB_KNOWN_INPUTS; i++)
        z += w[i] * x[i];
    return 1 / (1 + exp(-z));
}

double nb_known_of(const struct nb_weights *numbers, const double x[NB_KNOWN_INPUTS])
{
    double w[NB_KNOWN_INPUTS];
    for (unsigned i = 0; i < NB_KNOWN_INPUTS; i++)
        w[i] = nb_weights_at(numbers, WEIGHTS + i);
    /* Nine digits are more than it is worth, and cheap to print. */
    return nb_weights_at(numbers, TAUGHT) < NB_KNOWN_LEAST
               ? (double)NAN
               : rint(sigmoid(prior_odds, w, x) * 1e9) / 1e9;
}

/* One step; the drift ends at the start's variance, so that inputs that never vary stay bounded. */
static void step(struct state *s, const double x[], double y)
{
    double cx[NB_KNOWN_INPUTS] = {0}, spread = 0;
    for (unsigned i = 0; i < NB_KNOWN_INPUTS; i++) {
        if (s->c[i][i] < start_variance)
            s->c[i][i] += drift;
        for (unsigned k = 0; k < NB_KNOWN_INPUTS; k++)
            cx[i] += s->c[i][k] * x[k];
        spread += cx[i] * x[i];
    }
    double p = sigmoid(0, s->w, x), q = p * (1 - p), gain = 1 / (1 + q * spread);
    for (unsigned i = 0; i < NB_KNOWN_INPUTS; i++) {
        for (unsigned k = 0; k < NB_KNOWN_INPUTS; k++)
            s->c[i][k] -= q * gain * cx[i] * cx[k];
        s->w[i] += gain * cx[i] * (y - p);
    }
}

int nb_known_learn(struct nb_weights *numbers, const double x[NB_KNOWN_INPUTS], bool is_known)
{
    struct state s;
    size_t place = COVARIANCE;
    if (nb_weights_grow(numbers, NB_WEIGHTS_RANGE, NULL) != 0 ||
        nb_weights_reserve(numbers, NB_WEIGHTS_RANGE) != 0)
        return NB_NO_MEMORY;
    read_state(numbers, &s);
    step(&s, x, is_known ? 1 : 0);
    nb_weights_set(numbers, TAUGHT, nb_weights_at(numbers, TAUGHT) + 0.5);
    for (unsigned i = 0; i < NB_KNOWN_INPUTS; i++) {
        nb_weights_set(numbers, WEIGHTS + i, s.w[i]);
        for (unsigned k = i; k < NB_KNOWN_INPUTS; k++, place++)
            nb_weights_set(numbers, place, s.c[i][k]);
    }
    return 0;
}

/* ---- its inputs ------------------------------------------------------------------------------ */

static enum nb_known_kind kind_of(uint64_t id)
{
    enum nb_field field = nb_feature_field(id);
    return field == NB_FIELD_NGRAM  ? NB_KNOWN_NGRAMS
           : field == NB_FIELD_PAIR ? NB_KNOWN_PAIRS
                                    : NB_KNOWN_WORDS;
}

/* Sets the features of each kind from those of each field. */
static void put_kinds(const uint32_t fields[NB_STACK_GROUPS], size_t size,
                      struct nb_known_seen *seen)
{
    seen->all[NB_KNOWN_PAIRS] = fields[NB_FIELD_PAIR];
    seen->all[NB_KNOWN_NGRAMS] = fields[NB_FIELD_NGRAM];
    seen->all[NB_KNOWN_WORDS] = (uint32_t)size - fields[NB_FIELD_PAIR] - fields[NB_FIELD_NGRAM];
}

/* Most features of a mail are known: the loop does little for these. */
void nb_known_see(const struct nb_feature *features, const uint64_t *cells, size_t size,
                  const uint32_t fields[NB_STACK_GROUPS], struct nb_known_seen *seen)
{
    *seen = (struct nb_known_seen){{0}, {0}};
    for (size_t i = 0; i < size; i++)
        if (cells[i] == 0 && !nb_feature_is_number(features[i].id))
            seen->unknown[kind_of(features[i].id)]++;
    for (size_t i = 0; fields == NULL && i < size; i++)
        seen->all[kind_of(features[i].id)]++;
    if (fields != NULL)
        put_kinds(fields, size, seen);
}

uint32_t nb_known_count(const struct nb_known_seen *seen)
{
    uint32_t count = 0;
    for (unsigned kind = 0; kind < NB_KNOWN_KINDS; kind++)
        count += seen->all[kind] - seen->unknown[kind];
    return count;
}

static double clip(double odds)
{
    return fmax(0, fmin(odds, odds_most));
}

/* The log-odds of the winner and the entropy. The log scores are ln P(v) plus a constant. */
static void put_scores(const struct nb_scores *s, double x[])
{
    double best = s->probabilities[s->best], others = 0, entropy = 0;
    double top = s->log_scores[s->best], log_best = log(best);
    for (size_t v = 0; v < s->size; v++) {
        double p = s->probabilities[v];
        others += v == s->best ? 0 : p;
        entropy -= p > 0 ? p * (s->log_scores[v] - top + log_best) : 0;
    }
    x[1] = (others > 0 ? fmax(-odds_most, fmin(log_best - log(others), odds_most)) : odds_most) / 4;
    x[2] = clip(top - s->log_scores[s->second]) / 4;
    x[3] = entropy / 2;
}

void nb_known_put(const struct nb_known_seen *seen, const struct nb_scores *scores,
                  double x[NB_KNOWN_INPUTS])
{
    memset(x, 0, NB_KNOWN_INPUTS * sizeof *x);
    x[0] = 1;
    if (scores != NULL)
        put_scores(scores, x);
    for (unsigned kind = 0; kind < NB_KNOWN_KINDS; kind++)
        x[4 + kind] = 2 * (double)seen->unknown[kind] / fmax(1, seen->all[kind]);
    x[7] = log1p(nb_known_count(seen)) / 4;
}

/* ---- lessons --------------------------------------------------------------------------------- */

void nb_known_teacher_deinit(struct nb_known_teacher *teacher)
{
    nb_stack_inputs_deinit(&teacher->inputs);
    nb_scores_deinit(&teacher->scores);
}

static const struct nb_weights *numbers_of(const struct nb_live *live)
{
    return nb_stack_weights_known(live->published->weights);
}

bool nb_known_wants(const struct nb_live *live)
{
    uint64_t documents = nb_model_documents_all(live->counts);
    uint64_t one_of = documents <= all_up_to ? 1 : documents <= some_up_to ? some : few;
    /* Fibonacci hashing: labels may come in turn. */
    return (documents * UINT64_C(0x9E3779B97F4A7C15) >> 32) % one_of == 0;
}

bool nb_known_is_young(const struct nb_live *live)
{
    return nb_weights_at(numbers_of(live), TAUGHT) < young;
}

/* Counts the features of a counted document without the document, and without its whole label. */
static void see_rows(const struct nb_model *model, const struct nb_rows *rows, uint32_t label,
                     struct nb_known_seen seen[2])
{
    seen[0] = seen[1] = (struct nb_known_seen){{0}, {0}};
    for (size_t i = 0; i < rows->size; i++) {
        struct nb_row row = nb_model_row(model, rows->counts[i].row);
        enum nb_known_kind kind = kind_of(row.id);
        struct nb_two_documents d = nb_counts_of_two(model, rows->counts[i].row, label);
        seen[0].all[kind]++;
        seen[0].unknown[kind] += d.all <= 1;
        seen[1].unknown[kind] += d.all <= d.own;
    }
    memcpy(seen[1].all, seen[0].all, sizeof seen[0].all);
}

/* Takes a label out of scores, and ranks the others. */
static void drop_label(struct nb_scores *s, uint32_t label)
{
    size_t to = 0;
    for (size_t v = 0; v < s->size; v++) {
        if (s->labels[v] == label)
            continue;
        s->labels[to] = s->labels[v];
        s->log_scores[to++] = s->log_scores[v];
    }
    s->size = to;
    nb_scores_rank(s);
}

/* Sets the inputs that follow from the stack's scores of one example. */
static int put_example(struct nb_known_teacher *t, const struct nb_live *live,
                       const struct nb_stack_inputs *inputs, uint32_t label, bool is_known,
                       const struct nb_known_seen *seen, double x[])
{
    int rc = inputs == NULL ? 0 : nb_stack_score(live->published->weights, inputs, &t->scores);
    if (rc != 0)
        return rc;
    if (inputs != NULL && !is_known)
        drop_label(&t->scores, label);
    if (inputs != NULL)
        (void)nb_scores_moderate_by(&t->scores, live->counts, is_known ? label : NB_LABELS_NONE);
    nb_known_put(seen, inputs != NULL ? &t->scores : NULL, x);
    return 0;
}

int nb_known_teach(struct nb_known_teacher *t, struct nb_live *live,
                   const struct nb_stack_inputs *inputs, const struct nb_rows *rows, uint32_t label)
{
    struct nb_stack_weights *weights = live->published->weights;
    struct nb_known_seen seen[2];
    double x[2][NB_KNOWN_INPUTS];
    uint64_t of_label = nb_model_documents(live->counts, label);
    int rc = 0;
    if (of_label == 0 || !nb_order_teaches(of_label - 1) ||
        of_label == nb_model_documents_all(live->counts))
        return 0;
    const struct nb_stack_inputs *gone = NULL;
    if (inputs->size <= 2) {
        inputs = NULL;
    } else {
        nb_stack_inputs_twin(&t->inputs, weights, false);
        rc = nb_stack_inputs_without_label(live->published->stack, live->counts, rows->counts,
                                           rows->size, label, &t->inputs);
        gone = &t->inputs;
    }
    see_rows(live->counts, rows, label, seen);
    if (rc == 0)
        rc = put_example(t, live, inputs, label, true, &seen[0], x[0]);
    if (rc == 0)
        rc = put_example(t, live, gone, label, false, &seen[1], x[1]);
    if (rc != 0)
        return rc;
    struct nb_weights *numbers = nb_stack_weights_known(weights);
    nb_stack_weights_lock(weights);
    rc = nb_known_learn(numbers, x[0], true);
    if (rc == 0)
        rc = nb_known_learn(numbers, x[1], false);
    nb_stack_weights_unlock(weights);
    return rc;
}

int nb_known_reset(struct nb_live *live)
{
    struct nb_weights *numbers = nb_stack_weights_known(live->published->weights);
    if (nb_weights_reserve(numbers, NB_WEIGHTS_RANGE) != 0)
        return NB_NO_MEMORY;
    nb_stack_weights_lock(live->published->weights);
    for (size_t place = 0; place < nb_weights_places(numbers); place++)
        nb_weights_set(numbers, place, 0);
    nb_stack_weights_unlock(live->published->weights);
    return 0;
}
