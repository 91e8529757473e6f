/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/passages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "core/stack/stack_attributes.h"

const unsigned char nb_passage_fields[NB_PASSAGE_FIELDS] = {
    NB_FIELD_BODY, NB_FIELD_URL, NB_FIELD_CASE, NB_FIELD_PAIR, NB_FIELD_NGRAM};

int nb_stack_passages_begin(struct nb_stack_inputs *inputs)
{
    if (inputs->passages == NULL && (inputs->passages = malloc(sizeof *inputs->passages)) == NULL)
        return NB_NO_MEMORY;
    inputs->passages->end = 1;
    return 0;
}

struct nb_stack_part *nb_stack_part_at(struct nb_stack_passages *p, uint32_t number)
{
    assert(number > 0 && number < NB_PASSAGES);
    for (; p->end <= number; p->end++)
        memset(&p->list[p->end], 0, sizeof p->list[p->end]);
    return &p->list[number];
}

/* The place of a field in nb_passage_fields; NB_PASSAGE_FIELDS: none. */
static unsigned place_of(unsigned field)
{
    unsigned k = 0;
    while (k < NB_PASSAGE_FIELDS && nb_passage_fields[k] != field)
        k++;
    return k;
}

void nb_stack_passages_collect(const struct nb_stack_pass *p, const struct nb_feature *features,
                               size_t size)
{
    const struct nb_stack_inputs *in = p->inputs;
    for (size_t i = 0; i < size; i++) {
        unsigned k = features[i].passage == 0 ? NB_PASSAGE_FIELDS
                                              : place_of(nb_feature_field(features[i].id));
        if (k < NB_PASSAGE_FIELDS)
            nb_stack_part_at(in->passages, features[i].passage)->features[k]++;
    }
    for (size_t i = 0; i < in->said_count; i++) {
        const struct nb_stack_said *said = &in->said[i];
        const struct nb_feature *f = &features[said->place];
        unsigned k = f->passage == 0 ? NB_PASSAGE_FIELDS : place_of(nb_feature_field(f->id));
        if (k == NB_PASSAGE_FIELDS)
            continue;
        struct nb_stack_part *to = nb_stack_part_at(in->passages, f->passage);
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            to->x[k][e] += said->e[e];
        if (p->twin != NULL)
            to->gains[k] -= (double)nb_slots_at(p->twin->slots, f->id) * said->r;
    }
}

/* ---- judging --------------------------------------------------------------------------------- */

/* The document without its passages, and what all passages have in common. */
struct judge {
    const struct nb_stack *of;
    const struct nb_stack_settings *settings;
    const struct nb_stack_inputs *in;
    struct nb_stack_mix mix;
    double twin_bias;
    double x[NB_FIELDS][NB_STACK_EXPERTS], gains[NB_FIELDS];
    uint32_t features[NB_FIELDS];
    /* What the fields that no passage has add, and how many of them there are. */
    double stack, twin, total[NB_STACK_EXPERTS];
    uint32_t fields, total_features;
};

/* Takes the sums of the passages out of those of the document. */
static void take_common(struct judge *j)
{
    const struct nb_stack_inputs *in = j->in;
    for (size_t f = 0; f < NB_FIELDS; f++) {
        double share = nb_stack_share(j->settings, in->features[f]);
        j->features[f] = in->features[f];
        for (size_t e = 0; e < NB_STACK_EXPERTS && share > 0; e++)
            j->x[f][e] = in->x[(e * NB_STACK_GROUPS + f) * 2] / share;
        j->gains[f] = in->has_twin ? in->evidence->gains[f] : 0;
    }
    j->features[NB_FIELD_HIDDEN] = 0;
    for (uint32_t n = 1; n < in->passages->end; n++) {
        const struct nb_stack_part *p = &in->passages->list[n];
        for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
            unsigned f = nb_passage_fields[k];
            j->features[f] -= p->features[k];
            j->gains[f] -= p->gains[k];
            for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
                j->x[f][e] -= p->x[k][e];
        }
    }
}

/* Adds a field of which a passage, with what is common, has `features` features. */
static inline void add_field(const struct judge *j, unsigned f, const double x[NB_STACK_EXPERTS],
                             double gains, uint32_t features, double *stack, double *twin)
{
    double share = nb_stack_share_of(j->of, features), sum = 0;
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        sum += j->mix.trust[e] * j->mix.groups[e][f] * x[e];
    *stack += sum * share;
    *twin += features == 0 ? 0 : gains / sqrt((double)features);
}

/* Sums what the fields add that no passage has, and the attributes. */
static void sum_common(struct judge *j, const struct nb_stack_weights *weights)
{
    const struct nb_stack_inputs *in = j->in;
    uint32_t attributes = nb_stack_attribute_count(in), passage_fields = 0;
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++)
        passage_fields |= 1u << nb_passage_fields[k];
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        if ((passage_fields >> f & 1u) != 0 || j->features[f] == 0)
            continue;
        add_field(j, f, j->x[f], j->gains[f], j->features[f], &j->stack, &j->twin);
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            j->total[e] += j->x[f][e];
        j->total_features += j->features[f];
        j->fields++;
    }
    j->fields += attributes;
    for (unsigned e = 0; e < weights->settings.two.size; e++) {
        double bias =
            nb_stack_bias(weights, in->labels[0], e) - nb_stack_bias(weights, in->labels[1], e);
        for (uint32_t place = 0; place < attributes; place++)
            bias += nb_stack_attribute_weight(weights, in->attributes->present.list[place].number,
                                              2, e) *
                    nb_stack_attribute_x(in, place, e)[0];
        j->stack += j->mix.trust[e] * bias;
    }
    if (!in->has_twin)
        return;
    double shares[NB_FIELDS], t = in->t[1] + nb_stack_twin_bias(weights, in->labels, 2, 1);
    nb_stack_evidence_shares(in->features, attributes, shares);
    for (unsigned f = 0; f < NB_FIELDS; f++)
        t -= shares[f] * in->evidence->gains[f];
    j->twin_bias = t;
}

/* The log-odds of the second label by a passage. */
static double judge_passage(const struct judge *j, const struct nb_stack_part *p)
{
    double stack = j->stack, twin = j->twin, total[NB_STACK_EXPERTS];
    uint32_t fields = j->fields, total_features = j->total_features;
    memcpy(total, j->total, sizeof total);
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
        unsigned f = nb_passage_fields[k];
        uint32_t features = j->features[f] + p->features[k];
        double x[NB_STACK_EXPERTS], gains = j->gains[f] + p->gains[k];
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            x[e] = j->x[f][e] + p->x[k][e];
        if (features == 0)
            continue;
        add_field(j, f, x, gains, features, &stack, &twin);
        fields++;
        if (f == NB_FIELD_NGRAM)
            continue;
        total_features += features;
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            total[e] += x[e];
    }
    double sum = 0;
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        sum += j->mix.trust[e] * j->mix.groups[e][NB_STACK_TOTAL] * total[e];
    stack += sum * nb_stack_share_of(j->of, total_features);
    twin = j->twin_bias + (fields == 0 ? 0 : twin / sqrt((double)fields));
    return j->mix.twin * twin - j->mix.stack * stack;
}

/* The passages of a text: so many parts, from every so many on. A short one says too much by
 * chance, so it is lowered by `less` where it stands alone; in a mail, the header fields stand with
 * it. Measured: core/EXPERIMENTS.md. */
static const struct size {
    uint32_t parts, step;
    double less;
} SIZES[2][NB_PASSAGE_SIZES] = {{{1, 1, 3}, {4, 4, 0}}, {{2, 1, 0}, {4, 4, 1}}}; /* texts; mails */

static void add_part(struct nb_stack_part *to, const struct nb_stack_part *part)
{
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            to->x[k][e] += part->x[k][e];
        to->gains[k] += part->gains[k];
        to->features[k] += part->features[k];
    }
}

/* Judges the passage of `count` parts from `first` on, and notes it if it is the worst so far. */
static void judge_parts(const struct judge *j, uint32_t first, uint32_t count, double less,
                        uint32_t place, struct nb_stack_worst *worst)
{
    struct nb_stack_part sum = j->in->passages->list[first];
    uint32_t own = 0;
    for (uint32_t n = 1; n < count; n++)
        add_part(&sum, &j->in->passages->list[first + n]);
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++)
        own += sum.features[k];
    if (own < NB_PASSAGE_LEAST)
        return;
    double odds = (place == 1 ? 1 : -1) * judge_passage(j, &sum) - less;
    if (odds > worst->log_odds)
        *worst = (struct nb_stack_worst){.first = first, .count = count, .log_odds = odds};
}

bool nb_stack_worst_passage(const struct nb_stack *stack, const struct nb_stack_weights *weights,
                            const struct nb_stack_inputs *inputs, uint32_t place,
                            struct nb_stack_worst *worst)
{
    const struct nb_stack_passages *passages = inputs->passages;
    *worst = (struct nb_stack_worst){.log_odds = -INFINITY};
    if (!inputs->has_passages || passages->end < 3)
        return false; /* the whole is one part */
    struct judge j = {.settings = &stack->settings, .of = stack, .in = inputs};
    nb_stack_mix_add(&j.mix, weights, 1, 2, inputs->has_twin);
    take_common(&j);
    sum_common(&j, weights);
    const struct size *sizes = SIZES[nb_stack_is_mail(inputs)];
    uint32_t equal = passages->end - 1, n;
    equal = equal < NB_PASSAGES_EQUAL ? equal : NB_PASSAGES_EQUAL;
    for (const struct size *s = sizes; s < sizes + NB_PASSAGE_SIZES; s++) {
        for (n = 1; n + s->parts <= equal + 1; n += s->step)
            judge_parts(&j, n, s->parts, s->less, place, worst);
        if (s->step > 1 && n <= equal)
            judge_parts(&j, n, equal + 1 - n, s->less, place, worst);
    }
    for (n = equal + 1; n < passages->end; n++)
        judge_parts(&j, n, 1, sizes[NB_PASSAGE_SIZES - 1].less, place, worst);
    return worst->count != 0;
}

/* ---- the margins ----------------------------------------------------------------------------- */

/* Two grids of margins, from `least` on: of all passages, and of those that contradict the whole by
 * more than CONTRAST. Measured on SpamAssassin's corpus and Enron 1 and 2: core/EXPERIMENTS.md. */
static const struct grid {
    size_t costs; /* the first place */
    unsigned count;
    double least;
    double price;    /* what passages may cost, as a share of the log-loss */
    double first[2]; /* the first margins, of texts and of mails */
} PLAIN = {NB_PASSAGE_COSTS, NB_PASSAGE_MARGINS, 4, 0.01, {9, 6}},
  AGAINST = {NB_PASSAGE_COSTS_AGAINST, NB_PASSAGE_MARGINS_AGAINST, 5, 0.03, {5.5, 6}};

static const double MARGIN_STEP = 0.5, CONTRAST = 14;
static const double PRIOR_COST = 3; /* at first, for each unit below the first margin */
static const double MEMORY = 1000;  /* judged documents */

static double margin_at(const struct grid *grid, unsigned i)
{
    return grid->least + MARGIN_STEP * i;
}

/* ln(1 + e^x). */
static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* The least margin from which on none costs too much; INFINITY: none. */
static double choose(const struct nb_weights *w, const struct grid *grid, bool is_mail)
{
    size_t at = is_mail ? NB_PASSAGE_PLACES_OF_KIND : 0;
    double fresh = nb_weights_at(w, at + NB_PASSAGE_FRESH);
    double most = grid->price * nb_weights_at(w, at + NB_PASSAGE_LOSS);
    unsigned i = grid->count;
    while (i > 0 && nb_weights_at(w, at + grid->costs + i - 1) +
                            (1 - fresh) * PRIOR_COST *
                                fmax(0, grid->first[is_mail] - margin_at(grid, i - 1)) <=
                        most)
        i--;
    return i == grid->count ? (double)INFINITY : margin_at(grid, i);
}

struct nb_stack_margins nb_stack_margins(const struct nb_stack_weights *weights, bool is_mail)
{
    const struct nb_weights *w = &weights->margins;
    return (struct nb_stack_margins){.plain = choose(w, &PLAIN, is_mail),
                                     .against = choose(w, &AGAINST, is_mail)};
}

double nb_stack_passage_odds(double whole, double worst, struct nb_stack_margins margins)
{
    double margin = worst - whole > CONTRAST ? fmin(margins.plain, margins.against) : margins.plain;
    return fmax(whole, worst - margin);
}

/* Adds to a faded sum, for `weight` documents. */
static void fade_to(struct nb_weights *w, size_t place, double add, double weight)
{
    nb_weights_set(w, place, (1 - weight / MEMORY) * nb_weights_at(w, place) + weight * add);
}

/* Learns what each margin of a grid costs a document. */
static void learn_costs(struct nb_weights *w, const struct grid *grid,
                        struct nb_stack_judged judged, double sign)
{
    double weight = judged.counts_twice ? 2 : 1;
    size_t at = judged.is_mail ? NB_PASSAGE_PLACES_OF_KIND : 0;
    for (unsigned i = 0; i < grid->count; i++) {
        double z = judged.worst - margin_at(grid, i);
        bool is_raised = z > judged.whole;
        fade_to(w, at + grid->costs + i,
                is_raised ? softplus(sign * z) - softplus(sign * judged.whole) : 0, weight);
    }
}

int nb_stack_margins_learn(struct nb_stack_weights *weights, struct nb_stack_judged judged,
                           bool is_label)
{
    struct nb_weights *w = &weights->margins;
    size_t at = judged.is_mail ? NB_PASSAGE_PLACES_OF_KIND : 0;
    double sign = is_label ? -1 : 1, weight = judged.counts_twice ? 2 : 1;
    int rc = nb_weights_grow(w, NB_WEIGHTS_RANGE, weights->lock);
    if (rc == 0)
        rc = nb_weights_reserve(w, NB_WEIGHTS_RANGE);
    if (rc != 0)
        return rc;
    nb_lock_write(weights->lock);
    fade_to(w, at + NB_PASSAGE_LOSS, softplus(sign * judged.whole), weight);
    fade_to(w, at + NB_PASSAGE_FRESH, 1 / MEMORY, weight);
    learn_costs(w, &PLAIN, judged, sign);
    if (judged.worst - judged.whole <= CONTRAST)
        judged.worst = judged.whole;
    learn_costs(w, &AGAINST, judged, sign);
    nb_lock_release(weights->lock);
    return 0;
}

double nb_stack_raise(struct nb_scores *scores, uint32_t place, double log_odds)
{
    assert(scores->size == 2 && place < 2);
    double by = log_odds - (scores->log_scores[place] - scores->log_scores[1 - place]);
    if (!(by > 0))
        return 0;
    scores->log_scores[place] += by / 2;
    scores->log_scores[1 - place] -= by / 2;
    nb_scores_rank(scores);
    return by;
}

/* Units of stored log-odds, and their limit. */
static const double UNITS = 65536, ODDS_MOST = 32000;

static uint32_t units_of(double odds)
{
    return (uint32_t)(int32_t)lrint(fmax(-ODDS_MOST, fmin(odds, ODDS_MOST)) * UNITS);
}

uint64_t nb_stack_judged_pack(struct nb_stack_judged judged)
{
    uint32_t whole = (units_of(judged.whole) & ~UINT32_C(1)) | judged.counts_twice;
    uint32_t worst = (units_of(judged.worst) & ~UINT32_C(1)) | judged.is_mail;
    return (uint64_t)whole << 32 | worst;
}

static double odds_of(uint32_t units)
{
    return (double)(int32_t)(units & ~UINT32_C(1)) / UNITS;
}

struct nb_stack_judged nb_stack_judged_unpack(uint64_t packed)
{
    return (struct nb_stack_judged){.whole = odds_of((uint32_t)(packed >> 32)),
                                    .worst = odds_of((uint32_t)packed),
                                    .is_mail = (packed & 1) != 0,
                                    .counts_twice = (packed >> 32 & 1) != 0};
}

bool nb_stack_is_mail(const struct nb_stack_inputs *inputs)
{
    return inputs->features[NB_FIELD_ADDRESS] + inputs->features[NB_FIELD_RECEIVED] +
               inputs->features[NB_FIELD_HEADER] >
           0;
}

int nb_stack_judge(const struct nb_stack *stack, const struct nb_stack_weights *weights,
                   const struct nb_stack_inputs *inputs, uint32_t place,
                   struct nb_stack_judged *judged)
{
    struct nb_stack_worst worst;
    struct nb_scores scores;
    nb_scores_init(&scores);
    int rc = nb_stack_score(weights, inputs, &scores);
    if (rc == 0) {
        judged->whole = scores.log_scores[place] - scores.log_scores[1 - place];
        bool has = nb_stack_worst_passage(stack, weights, inputs, place, &worst);
        judged->worst = has ? worst.log_odds : judged->whole;
        judged->is_mail = nb_stack_is_mail(inputs);
    }
    nb_scores_deinit(&scores);
    return rc;
}
