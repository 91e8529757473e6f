/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/known.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/counts/counts.h"
#include "core/model/order.h"

/* Measured on CLINC150, 20 Newsgroups and others: core/EXPERIMENTS.md. */
static const double start_variance = 1; /* of each w_i, before the first example */
/* Forgets examples: drift is `drift_all` / documents, and at least `drift_least`. */
static const double drift_all = 2, drift_least = 1e-5;
static const double odds_most = 12; /* clips log-odds ... */
static const double gap_most = 100; /* ... and distances of scores */
/* ln 4: `known` is for texts of which one in five is of no label. The examples are one to one. */
static const double prior_odds = 1.3862943611198906;
/* Of L labels, (L - 2) / `pair_labels` of the unknown examples leave two out, and at most
 * `pairs_most`: of few labels two are a large part of the documents. */
static const double pair_labels = 20, pairs_most = 0.85;
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

double nb_known_taught(const struct nb_weights *numbers)
{
    return nb_weights_at(numbers, TAUGHT);
}

/* One step; the drift ends at the start's variance, so that inputs that never vary stay bounded. */
static void step(struct state *s, const double x[], double y, double drift)
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

int nb_known_learn(struct nb_weights *numbers, const double x[NB_KNOWN_INPUTS], bool is_known,
                   uint64_t documents)
{
    struct state s;
    size_t place = COVARIANCE;
    if (nb_weights_grow(numbers, NB_WEIGHTS_RANGE, NULL) != 0 ||
        nb_weights_reserve(numbers, NB_WEIGHTS_RANGE) != 0)
        return NB_NO_MEMORY;
    read_state(numbers, &s);
    step(&s, x, is_known ? 1 : 0, fmax(drift_least, drift_all / fmax(1, (double)documents)));
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
    *seen = (struct nb_known_seen){{0}, {0}, {0}};
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

static uint64_t documents_of(const struct nb_model *model, uint32_t row, uint32_t label)
{
    return nb_counts_of(model, nb_model_row(model, row), label).documents;
}

void nb_known_see_foreign(const struct nb_model *model, const struct nb_feature *features,
                          const uint32_t *rows, size_t size, uint32_t label,
                          struct nb_known_seen *seen)
{
    for (size_t i = 0; i < size; i++)
        if (rows[i] == NB_NO_ROW || documents_of(model, rows[i], label) == 0)
            seen->foreign[kind_of(features[i].id)]++;
}

void nb_known_add(struct nb_known_seen *seen, uint64_t id, bool is_known, bool is_own)
{
    enum nb_known_kind kind = kind_of(id);
    seen->all[kind]++;
    seen->unknown[kind] += !is_known;
    seen->foreign[kind] += !is_own;
}

/* The log-odds of the winner, and how far the scores lie apart. */
static void put_scores(const struct nb_scores *s, double x[])
{
    double best = s->probabilities[s->best], others = 0, sum = 0, squares = 0;
    for (size_t v = 0; v < s->size; v++) {
        double gap = fmin(s->log_scores[s->best] - s->log_scores[v], gap_most);
        others += v == s->best ? 0 : s->probabilities[v];
        sum += gap;
        squares += gap * gap;
    }
    double mean = sum / (double)s->size;
    double odds = others > 0 ? log(best) - log(others) : odds_most;
    x[1] = fmax(-odds_most, fmin(odds, odds_most)) / 4;
    x[2] = mean / 10;
    x[3] = sqrt(fmax(0, squares / (double)s->size - mean * mean)) / 5;
}

static double share_of(const uint32_t part[], const struct nb_known_seen *seen, unsigned kind)
{
    return 2 * (double)part[kind] / fmax(1, seen->all[kind]);
}

void nb_known_put(const struct nb_known_seen *seen, const struct nb_scores *scores,
                  double x[NB_KNOWN_INPUTS])
{
    memset(x, 0, NB_KNOWN_INPUTS * sizeof *x);
    x[0] = 1;
    x[4] = share_of(seen->unknown, seen, NB_KNOWN_WORDS);
    x[5] = share_of(seen->unknown, seen, NB_KNOWN_NGRAMS);
    x[6] = share_of(seen->unknown, seen, NB_KNOWN_PAIRS);
    if (scores != NULL) {
        put_scores(scores, x);
        x[6] = share_of(seen->foreign, seen, NB_KNOWN_WORDS);
        x[7] = share_of(seen->foreign, seen, NB_KNOWN_NGRAMS);
    }
    x[8] = log1p(nb_known_count(seen)) / 4;
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

/* An example: a counted document without itself, or without all documents of its label (out[0]) and
 * of another one. */
struct example {
    uint32_t label, out[2];
    unsigned outs;
};

/* Counts the features of the example, and those that the winner of its scores does not have. */
static void see_rows(const struct nb_model *model, const struct nb_rows *rows,
                     const struct example *e, uint32_t winner, struct nb_known_seen *seen)
{
    *seen = (struct nb_known_seen){{0}, {0}, {0}};
    for (size_t i = 0; i < rows->size; i++) {
        uint32_t row = rows->counts[i].row;
        enum nb_known_kind kind = kind_of(nb_model_row_id(model, row));
        struct nb_two_documents d = nb_counts_of_two(model, row, e->label);
        uint64_t out = e->outs == 0 ? 1 : d.own;
        out += e->outs == 2 ? documents_of(model, row, e->out[1]) : 0;
        seen->all[kind]++;
        seen->unknown[kind] += d.all <= out;
        seen->foreign[kind] +=
            winner == e->label ? d.own <= 1 : documents_of(model, row, winner) == 0;
    }
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

/* Sets the inputs of both examples of a document without scores: there are none, or only of two
 * labels. */
static void put_both(const struct nb_model *model, const struct nb_rows *rows, uint32_t label,
                     double x[2][NB_KNOWN_INPUTS])
{
    struct nb_known_seen seen[2] = {{{0}, {0}, {0}}};
    for (size_t i = 0; i < rows->size; i++) {
        enum nb_known_kind kind = kind_of(nb_model_row(model, rows->counts[i].row).id);
        struct nb_two_documents d = nb_counts_of_two(model, rows->counts[i].row, label);
        seen[0].all[kind]++;
        seen[0].unknown[kind] += d.all <= 1;
        seen[1].unknown[kind] += d.all <= d.own;
    }
    memcpy(seen[1].all, seen[0].all, sizeof seen[0].all);
    nb_known_put(&seen[0], NULL, x[0]);
    nb_known_put(&seen[1], NULL, x[1]);
}

/* Sets the inputs of one example from its scores. `inputs`: those to the stack; NULL: the scores
 * are set, and by the book. */
static int put_example(const struct nb_live *live, const struct nb_stack_inputs *inputs,
                       struct nb_scores *scores, const struct nb_rows *rows, struct example *e,
                       double x[])
{
    struct nb_known_seen seen;
    int rc = inputs == NULL ? 0 : nb_stack_score(live->published->weights, inputs, scores);
    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < e->outs; i++) {
        e->out[i] = i == 0 ? e->label : scores->labels[scores->best];
        drop_label(scores, e->out[i]);
    }
    if (inputs != NULL)
        (void)nb_scores_moderate_by(scores, live->counts, e->outs == 0 ? e->label : NB_LABELS_NONE);
    see_rows(live->counts, rows, e, scores->labels[scores->best], &seen);
    nb_known_put(&seen, scores, x);
    return 0;
}

/* How many labels the next unknown example leaves out: spread evenly by the golden ratio. */
static unsigned labels_out(const struct nb_weights *numbers, size_t labels)
{
    double turn = nb_weights_at(numbers, TAUGHT) * 0.6180339887498949;
    double pairs = fmin(pairs_most, ((double)labels - 2) / pair_labels);
    return labels > 3 && turn - floor(turn) < pairs ? 2 : 1;
}

bool nb_known_uses_scores(const struct nb_settings *settings, size_t labels)
{
    return labels > 2 &&
           (settings->decision == NB_DECISION_STACKED || !nb_settings_walk_vocabulary(settings));
}

/* Sets the inputs of both examples. */
static int put_scored(struct nb_known_teacher *t, const struct nb_live *live,
                      const struct nb_stack_inputs *inputs, struct nb_scores *book,
                      const struct nb_rows *rows, uint32_t label, double x[2][NB_KNOWN_INPUTS])
{
    struct nb_stack_weights *weights = live->published->weights;
    struct nb_scores *scores = inputs != NULL ? &t->scores : book;
    size_t labels = inputs != NULL ? inputs->size : book->size;
    struct example known = {.label = label};
    struct example unknown = {.label = label,
                              .outs = labels_out(nb_stack_weights_known(weights), labels)};
    int rc = put_example(live, inputs, scores, rows, &known, x[0]);
    if (rc == 0 && inputs != NULL) {
        nb_stack_inputs_twin(&t->inputs, weights, false);
        rc = nb_stack_inputs_without_label(live->published->stack, live->counts, rows->counts,
                                           rows->size, label, &t->inputs);
        inputs = &t->inputs;
    }
    return rc != 0 ? rc : put_example(live, inputs, scores, rows, &unknown, x[1]);
}

int nb_known_teach(struct nb_known_teacher *t, struct nb_live *live,
                   const struct nb_stack_inputs *inputs, struct nb_scores *book,
                   const struct nb_rows *rows, uint32_t label)
{
    struct nb_stack_weights *weights = live->published->weights;
    struct nb_weights *numbers = nb_stack_weights_known(weights);
    double x[2][NB_KNOWN_INPUTS];
    uint64_t of_label = nb_model_documents(live->counts, label);
    uint64_t documents = nb_model_documents_all(live->counts);
    int rc = 0;
    if (of_label == 0 || !nb_order_teaches(of_label - 1) || of_label == documents)
        return 0;
    if (inputs != NULL ? inputs->size > 2 : book != NULL)
        rc = put_scored(t, live, inputs, book, rows, label, x);
    else
        put_both(live->counts, rows, label, x);
    if (rc != 0)
        return rc;
    nb_stack_weights_lock(weights);
    rc = nb_known_learn(numbers, x[0], true, documents);
    if (rc == 0)
        rc = nb_known_learn(numbers, x[1], false, documents);
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
