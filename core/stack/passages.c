/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/passages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/system.h"
#include "core/stack/stack_attributes.h"

const unsigned char nb_passage_fields[NB_PASSAGE_FIELDS] = {
    NB_FIELD_BODY, NB_FIELD_URL, NB_FIELD_CASE, NB_FIELD_PAIR, NB_FIELD_NGRAM};

void nb_stack_passages_free(struct nb_stack_passages **passages)
{
    struct nb_stack_passages *p = *passages;
    *passages = NULL;
    if (p != NULL)
        free(p->sums);
    free(p);
}

int nb_stack_passages_begin(const struct nb_stack_pass *pass)
{
    struct nb_stack_inputs *in = pass->inputs;
    uint32_t columns = pass->view->columns;
    assert(columns > 0 && columns <= NB_STACK_FEW_LABELS);
    if (in->passages == NULL && (in->passages = calloc(1, sizeof *in->passages)) == NULL)
        return NB_NO_MEMORY;
    struct nb_stack_passages *p = in->passages;
    p->experts = columns == 1 ? (unsigned)NB_STACK_EXPERTS : pass->experts;
    p->columns = columns;
    p->width = (p->experts + 1) * columns;
    size_t parts = (size_t)NB_PASSAGES * NB_PASSAGE_FIELDS * p->width;
    size_t need = parts + (size_t)NB_FIELDS * p->width + pass->view->size;
    if (nb_array_renew(&p->sums, &p->room, need, sizeof *p->sums) != 0)
        return NB_NO_MEMORY;
    p->common = p->sums + parts;
    p->t = p->common + (size_t)NB_FIELDS * p->width;
    p->end = 1;
    p->part = 0;
    return 0;
}

/* The sums of a part, by place in nb_passage_fields. */
static double *sums_of(const struct nb_stack_passages *p, uint32_t number)
{
    return p->sums + (size_t)number * NB_PASSAGE_FIELDS * p->width;
}

double *nb_stack_part_at(struct nb_stack_passages *p, uint32_t number)
{
    assert(number > 0 && number < NB_PASSAGES);
    for (; p->end <= number; p->end++) {
        memset(p->features[p->end], 0, sizeof p->features[p->end]);
        memset(sums_of(p, p->end), 0, (size_t)NB_PASSAGE_FIELDS * p->width * sizeof *p->sums);
    }
    return sums_of(p, number);
}

/* The place of a field in nb_passage_fields; NB_PASSAGE_FIELDS: none. */
static unsigned place_of(unsigned field)
{
    unsigned k = 0;
    while (k < NB_PASSAGE_FIELDS && nb_passage_fields[k] != field)
        k++;
    return k;
}

void nb_stack_passages_turn(const struct nb_stack_pass *pass, uint32_t number)
{
    struct nb_stack_passages *p = pass->inputs->passages;
    double *to = p->part == 0 ? NULL : nb_stack_part_at(p, p->part);
    double now[NB_PASSAGE_WIDTH_MOST];
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
        unsigned field = nb_passage_fields[k];
        uint32_t features = pass->inputs->features[field];
        double *before = sums_of(p, 0) + (size_t)k * p->width;
        nb_stack_many_sums_of_field(pass, field, now);
        if (to != NULL)
            p->features[p->part][k] += features - p->features[0][k];
        for (uint32_t i = 0; to != NULL && i < p->width; i++)
            to[k * p->width + i] += now[i] - before[i];
        p->features[0][k] = features;
        memcpy(before, now, p->width * sizeof *now);
    }
    p->part = number;
}

/* Notes the parts from the noted features. Two labels. */
static void collect(const struct nb_stack_pass *pass, const struct nb_feature *features,
                    size_t size)
{
    const struct nb_stack_inputs *in = pass->inputs;
    struct nb_stack_passages *p = in->passages;
    for (size_t i = 0; i < size; i++) {
        unsigned k = features[i].passage == 0 ? NB_PASSAGE_FIELDS
                                              : place_of(nb_feature_field(features[i].id));
        if (k == NB_PASSAGE_FIELDS)
            continue;
        (void)nb_stack_part_at(p, features[i].passage);
        p->features[features[i].passage][k]++;
    }
    for (size_t i = 0; i < in->said_count; i++) {
        const struct nb_stack_said *said = &in->said[i];
        const struct nb_feature *f = &features[said->place];
        unsigned k = f->passage == 0 ? NB_PASSAGE_FIELDS : place_of(nb_feature_field(f->id));
        if (k == NB_PASSAGE_FIELDS)
            continue;
        double *to = nb_stack_part_at(p, f->passage) + (size_t)k * p->width;
        for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
            to[e] += said->e[e];
        if (pass->twin != NULL)
            to[NB_STACK_EXPERTS] -= (double)nb_slots_at(pass->twin->slots, f->id) * said->r;
    }
}

/* With two labels the sums are those of the first one, and the twin's those of the second. */
static void put_two(const struct nb_stack_pass *pass, unsigned field, double *to)
{
    const struct nb_stack_inputs *in = pass->inputs;
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        to[e] = e < pass->experts ? in->x[((size_t)e * NB_STACK_GROUPS + field) * 2] : 0;
    to[NB_STACK_EXPERTS] = pass->twin != NULL ? pass->twin->gains[field] : 0;
}

void nb_stack_passages_whole(const struct nb_stack_pass *pass)
{
    struct nb_stack_passages *p = pass->inputs->passages;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        double *to = p->common + (size_t)field * p->width;
        if (p->columns == 1)
            put_two(pass, field, to);
        else
            nb_stack_many_sums_of_field(pass, field, to);
    }
}

void nb_stack_passages_end(const struct nb_stack_pass *pass, const struct nb_feature *features,
                           size_t size)
{
    const struct nb_stack_inputs *in = pass->inputs;
    struct nb_stack_passages *p = in->passages;
    if (p->columns == 1 && !pass->is_summed)
        collect(pass, features, size);
    memcpy(p->common_features, in->features, sizeof p->common_features);
    p->common_features[NB_FIELD_HIDDEN] = 0;
    for (uint32_t n = 1; n < p->end; n++) {
        const double *part = sums_of(p, n);
        for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
            unsigned field = nb_passage_fields[k];
            double *common = p->common + (size_t)field * p->width;
            p->common_features[field] -= p->features[n][k];
            for (uint32_t i = 0; i < p->width; i++)
                common[i] -= part[k * p->width + i];
        }
    }
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Sums by column; those of all fields but n-grams by expert and column. */
struct sums {
    double stack[NB_STACK_FEW_LABELS], twin[NB_STACK_FEW_LABELS];
    double total[NB_STACK_EXPERTS * NB_STACK_FEW_LABELS];
};

/* What all passages of a document have in common. */
struct judge {
    const struct nb_stack *of;
    const struct nb_stack_inputs *in;
    const struct nb_stack_passages *passages;
    uint32_t place; /* of the label among those with documents */
    struct nb_stack_mix mix;
    /* What the fields that no passage has, the attributes and the biases add. */
    struct sums sums;
    double twin_bias[NB_STACK_FEW_LABELS];
    uint32_t fields, total_features; /* how many of them there are */
};

/* A passage. */
struct summed {
    double sums[NB_PASSAGE_FIELDS * NB_PASSAGE_WIDTH_MOST];
    uint32_t features[NB_PASSAGE_FIELDS];
};

/* Adds a field of which a passage has `features` features, with what is common. `own` are the sums
 * of the passage alone; NULL: the field is in no passage. `total`: NULL for a field that does not
 * count there. */
static inline __attribute__((always_inline)) void add_field(const struct judge *j, unsigned field,
                                                            const double *own, uint32_t features,
                                                            unsigned experts, unsigned columns,
                                                            struct sums *to, double *total)
{
    const double *common = j->passages->common + (size_t)field * (experts + 1) * columns;
    double share = nb_stack_share_of(j->of, features), of_twin = 1 / sqrt((double)features);
    for (unsigned e = 0; e < experts; e++) {
        double w = share * j->mix.trust[e] * j->mix.groups[e][field];
        for (unsigned c = 0; c < columns; c++) {
            unsigned i = e * columns + c;
            double sum = common[i] + (own != NULL ? own[i] : 0);
            to->stack[c] += w * sum;
            if (total != NULL)
                total[i] += sum;
        }
    }
    for (unsigned c = 0; c < columns; c++) {
        unsigned i = experts * columns + c;
        to->twin[c] += of_twin * (common[i] + (own != NULL ? own[i] : 0));
    }
}

/* The column of the label at a place. */
static uint32_t column_of(const struct judge *j, uint32_t place)
{
    return j->passages->columns == 1 ? 0 : j->in->labels[place];
}

/* Adds the biases and what attributes add to the column of the label at a place. With two labels
 * the column has the difference of the first and the second one, the twin's that of the second and
 * the first. */
static void add_biases(struct judge *j, const struct nb_stack_weights *weights, uint32_t place)
{
    const struct nb_stack_inputs *in = j->in;
    uint32_t attributes = nb_stack_attribute_count(in), c = column_of(j, place);
    for (unsigned e = 0; e < in->count / NB_STACK_GROUPS; e++) {
        double bias = nb_stack_bias(weights, in->labels[place], e);
        if (in->size == 2)
            bias -= nb_stack_bias(weights, in->labels[1], e);
        for (uint32_t a = 0; a < attributes; a++)
            bias += nb_stack_attribute_weight(weights, in->attributes->present.list[a].number,
                                              in->size, e) *
                    nb_stack_attribute_x(in, a, e)[place];
        j->sums.stack[c] += j->mix.trust[e] * bias;
    }
    uint32_t of = in->size == 2 ? 1 : place;
    if (in->has_twin)
        j->twin_bias[c] =
            nb_stack_twin_bias(weights, in->labels, in->size, of) + in->t[of] - j->passages->t[of];
}

/* Sums what the fields add that no passage has, the attributes and the biases. */
static void sum_common(struct judge *j, const struct nb_stack_weights *weights)
{
    const struct nb_stack_passages *p = j->passages;
    uint32_t passage_fields = 0;
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++)
        passage_fields |= 1u << nb_passage_fields[k];
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        if ((passage_fields >> f & 1u) != 0 || p->common_features[f] == 0)
            continue;
        add_field(j, f, NULL, p->common_features[f], p->experts, p->columns, &j->sums,
                  j->sums.total);
        j->total_features += p->common_features[f];
        j->fields++;
    }
    j->fields += nb_stack_attribute_count(j->in);
    for (uint32_t place = 0; place < (j->in->size == 2 ? 1 : j->in->size); place++)
        add_biases(j, weights, place);
}

/* The log-odds of the label, from the scores by column; with two labels from those of the second
 * label above the first. */
static double odds_of_columns(const struct judge *j, const double *scores)
{
    double most = -INFINITY, sum = 0;
    if (j->in->size == 2)
        return j->place == 1 ? scores[0] : -scores[0];
    for (uint32_t v = 0; v < j->in->size; v++)
        most = v != j->place ? fmax(most, scores[j->in->labels[v]]) : most;
    for (uint32_t v = 0; v < j->in->size; v++)
        sum += v != j->place ? exp(scores[j->in->labels[v]] - most) : 0;
    return scores[j->in->labels[j->place]] - most - log(sum);
}

/* The log-odds of the label by a passage. `experts` and `columns` are constants where that makes
 * it faster. */
static inline __attribute__((always_inline)) double
judge_passage(const struct judge *j, const struct summed *own, unsigned experts, unsigned columns)
{
    const struct nb_stack_passages *p = j->passages;
    const size_t width = (size_t)(experts + 1) * columns;
    struct sums sums = j->sums;
    uint32_t fields = j->fields, total_features = j->total_features;
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
        unsigned f = nb_passage_fields[k];
        uint32_t features = p->common_features[f] + own->features[k];
        if (features == 0)
            continue;
        add_field(j, f, own->sums + k * width, features, experts, columns, &sums,
                  f == NB_FIELD_NGRAM ? NULL : sums.total);
        fields++;
        total_features += f == NB_FIELD_NGRAM ? 0 : features;
    }
    double share = nb_stack_share_of(j->of, total_features);
    double of_twin = fields == 0 ? 0 : 1 / sqrt((double)fields);
    double of_stack = columns == 1 ? -j->mix.stack : j->mix.stack;
    for (unsigned c = 0; c < columns; c++) {
        for (unsigned e = 0; e < experts; e++)
            sums.stack[c] += share * j->mix.trust[e] * j->mix.groups[e][NB_STACK_TOTAL] *
                             sums.total[e * columns + c];
        sums.stack[c] =
            j->mix.twin * (j->twin_bias[c] + of_twin * sums.twin[c]) + of_stack * sums.stack[c];
    }
    return odds_of_columns(j, sums.stack);
}

/* The passages of a text: so many parts, from every so many on. A short one says too much by
 * chance, so it is lowered by `less` where it stands alone; in a mail, the header fields stand with
 * it. Measured: core/EXPERIMENTS.md. */
static const struct size {
    uint32_t parts, step;
    double less;
} SIZES[2][NB_PASSAGE_SIZES] = {{{1, 1, 3}, {4, 4, 0}}, {{2, 1, 0}, {4, 4, 1}}}; /* texts; mails */

/* Adds a part to a passage. */
static void add_part(const struct nb_stack_passages *p, uint32_t number, struct summed *to)
{
    const double *sums = sums_of(p, number);
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++)
        to->features[k] += p->features[number][k];
    for (unsigned i = 0; i < NB_PASSAGE_FIELDS * p->width; i++)
        to->sums[i] += sums[i];
}

/* Judges the passage of `count` parts from `first` on, and notes it if it is the worst so far. */
static void judge_parts(const struct judge *j, uint32_t first, uint32_t count, double less,
                        struct nb_stack_worst *worst)
{
    const struct nb_stack_passages *p = j->passages;
    struct summed sum;
    uint32_t own = 0;
    memcpy(sum.features, p->features[first], sizeof sum.features);
    memcpy(sum.sums, sums_of(p, first), (size_t)NB_PASSAGE_FIELDS * p->width * sizeof *sum.sums);
    for (uint32_t n = 1; n < count; n++)
        add_part(p, first + n, &sum);
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++)
        own += sum.features[k];
    if (own < NB_PASSAGE_LEAST)
        return;
    double odds = p->columns == 1 ? judge_passage(j, &sum, NB_STACK_EXPERTS, 1)
                                  : judge_passage(j, &sum, p->experts, p->columns);
    if (odds - less > worst->log_odds)
        *worst = (struct nb_stack_worst){.first = first, .count = count, .log_odds = odds - less};
}

bool nb_stack_worst_passage(const struct nb_stack *stack, const struct nb_stack_weights *weights,
                            const struct nb_stack_inputs *inputs, uint32_t place,
                            struct nb_stack_worst *worst)
{
    const struct nb_stack_passages *passages = inputs->passages;
    *worst = (struct nb_stack_worst){.log_odds = -INFINITY};
    if (!inputs->has_passages || passages->end < 3)
        return false; /* the whole is one part */
    struct judge j = {.of = stack, .in = inputs, .passages = passages, .place = place};
    nb_stack_mix_add(&j.mix, weights, 1, inputs->size, inputs->has_twin);
    sum_common(&j, weights);
    const struct size *sizes = SIZES[nb_stack_is_mail(inputs)];
    uint32_t equal = passages->end - 1, n;
    equal = equal < NB_PASSAGES_EQUAL ? equal : NB_PASSAGES_EQUAL;
    for (const struct size *s = sizes; s < sizes + NB_PASSAGE_SIZES; s++) {
        for (n = 1; n + s->parts <= equal + 1; n += s->step)
            judge_parts(&j, n, s->parts, s->less, worst);
        if (s->step > 1 && n <= equal)
            judge_parts(&j, n, equal + 1 - n, s->less, worst);
    }
    for (n = equal + 1; n < passages->end; n++)
        judge_parts(&j, n, 1, sizes[NB_PASSAGE_SIZES - 1].less, worst);
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
/* What passages may always cost in so many documents: where the whole is never wrong, the share of
 * its log-loss is nothing. */
static const double COST_LEAST = 0.05;

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
    double most = fmax(grid->price * nb_weights_at(w, at + NB_PASSAGE_LOSS), COST_LEAST);
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

/* How a document changes the faded sums. */
struct fading {
    double weight; /* for so many documents it stands */
    double left;   /* of what it has added so much has not faded; taking back only */
    bool is_back;  /* it is taken back */
};

/* Adds to a faded sum, s = (1 - weight / MEMORY) before + weight add; or finds the sum without it:
 * of what was added, and of what faded for it, there is `left`. */
static void fade_to(struct nb_weights *w, size_t place, double add, struct fading how)
{
    double sum = nb_weights_at(w, place), keeps = 1 - how.weight / MEMORY;
    double before = (sum - how.weight * add) / keeps;
    nb_weights_set(w, place,
                   how.is_back ? sum + how.left * (before - sum) : keeps * sum + how.weight * add);
}

/* Learns what each margin of a grid costs a document. */
static void learn_costs(struct nb_weights *w, const struct grid *grid,
                        struct nb_stack_judged judged, double sign, struct fading how)
{
    size_t at = judged.is_mail ? NB_PASSAGE_PLACES_OF_KIND : 0;
    for (unsigned i = 0; i < grid->count; i++) {
        double z = judged.worst - margin_at(grid, i);
        bool is_raised = z > judged.whole;
        fade_to(w, at + grid->costs + i,
                is_raised ? softplus(sign * z) - softplus(sign * judged.whole) : 0, how);
    }
}

static int change_margins(struct nb_stack_weights *weights, struct nb_stack_judged judged,
                          bool is_label, struct fading how)
{
    struct nb_weights *w = &weights->margins;
    size_t at = judged.is_mail ? NB_PASSAGE_PLACES_OF_KIND : 0;
    double sign = is_label ? -1 : 1;
    int rc = nb_weights_grow(w, NB_WEIGHTS_RANGE, weights->lock);
    if (rc == 0)
        rc = nb_weights_reserve(w, NB_WEIGHTS_RANGE);
    if (rc != 0)
        return rc;
    nb_lock_write(weights->lock);
    fade_to(w, at + NB_PASSAGE_LOSS, softplus(sign * judged.whole), how);
    fade_to(w, at + NB_PASSAGE_FRESH, 1 / MEMORY, how);
    learn_costs(w, &PLAIN, judged, sign, how);
    if (judged.worst - judged.whole <= CONTRAST)
        judged.worst = judged.whole;
    learn_costs(w, &AGAINST, judged, sign, how);
    nb_lock_release(weights->lock);
    return 0;
}

int nb_stack_margins_learn(struct nb_stack_weights *weights, struct nb_stack_judged judged,
                           bool is_label)
{
    return change_margins(weights, judged, is_label,
                          (struct fading){.weight = judged.counts_twice ? 2 : 1});
}

int nb_stack_margins_unlearn(struct nb_stack_weights *weights, struct nb_stack_judged judged,
                             bool is_label, uint64_t later)
{
    return change_margins(weights, judged, is_label,
                          (struct fading){.weight = judged.counts_twice ? 2 : 1,
                                          .left = exp(-(double)later / MEMORY),
                                          .is_back = true});
}

double nb_stack_odds(const struct nb_scores *scores, uint32_t place)
{
    double most = -INFINITY, sum = 0;
    assert(scores->size > 1 && place < scores->size);
    for (size_t v = 0; v < scores->size; v++)
        most = v != place ? fmax(most, scores->log_scores[v]) : most;
    for (size_t v = 0; v < scores->size; v++)
        sum += v != place ? exp(scores->log_scores[v] - most) : 0;
    return scores->log_scores[place] - most - log(sum);
}

void nb_stack_add_odds(struct nb_scores *scores, uint32_t place, double by)
{
    double size = (double)scores->size;
    for (size_t v = 0; v < scores->size; v++)
        scores->log_scores[v] += v == place ? by * (size - 1) / size : -by / size;
    nb_scores_rank(scores);
}

double nb_stack_raise(struct nb_scores *scores, uint32_t place, double log_odds)
{
    double by = log_odds - nb_stack_odds(scores, place);
    if (!(by > 0))
        return 0;
    nb_stack_add_odds(scores, place, by);
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
        judged->whole = nb_stack_odds(&scores, place);
        bool has = nb_stack_worst_passage(stack, weights, inputs, place, &worst);
        judged->worst = has ? worst.log_odds : judged->whole;
        judged->is_mail = nb_stack_is_mail(inputs);
    }
    nb_scores_deinit(&scores);
    return rc;
}
