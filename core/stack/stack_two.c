/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of a document with two labels: one column of them, with r and e of the first label;
 * those of the second are minus these, to the bit. Rows are summed while they are read. Only where
 * a document is left out are all its rows read before the first is summed, because the offsets
 * follow from them; until then the documents of each row are noted.
 */
#include <assert.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stddef.h>
#include <string.h>

#include "core/base/array.h"
#include "core/counts/row_reader.h"
#include "core/stack/stack_attributes.h"

/* ---- sums ------------------------------------------------------------------------------------ */

/* What both experts say of a feature; of a bank of one the second number is 0. */
typedef double pair __attribute__((vector_size(16)));
_Static_assert(sizeof(pair) == NB_STACK_EXPERTS * sizeof(double), "a number for each expert");

/* Sums of the document, and where its evidence is kept: a local copy in each loop, which stores to
 * the evidence cannot change. */
struct sums {
    const struct nb_stack_reading *readings[NB_STACK_EXPERTS];
    const double *logs[NB_STACK_EXPERTS];
    uint32_t least; /* from this count on the logarithm is not in all tables */
    bool are_roots; /* the usual bank: two experts, both of the power 1.5 */
    bool is_alone;  /* the bank has one expert */
    pair offsets[NB_FIELDS], x[NB_FIELDS];
    struct nb_slots_values slots; /* of the twin; without it: of no slots */
    double gains[NB_FIELDS];
    struct nb_stack_said *said; /* the next one, for an explanation; NULL: nobody asks for one */
    struct nb_stack_term *term; /* the next one that the twin learns from; NULL: none is kept */
};

/* The evidence of a whole mail takes as much memory as the first-level cache has, so it is kept
 * only for an explanation. */
static inline __attribute__((always_inline)) struct sums begin_sums(const struct nb_stack_pass *p)
{
    const struct nb_stack_reading *one = &p->readings[0], *other = &p->readings[p->experts - 1];
    bool keeps_terms = p->twin != NULL && p->twin->keeps;
    struct sums s = {.readings = {one, other},
                     .logs = {one->logs.logs, other->logs.logs},
                     .least = one->logs.size < other->logs.size ? one->logs.size : other->logs.size,
                     .are_roots = p->experts == 2 && one->kind == NB_POWER_1_5 &&
                                  other->kind == NB_POWER_1_5,
                     .is_alone = p->experts == 1,
                     .slots = nb_slots_values(p->twin == NULL ? NULL : p->twin->slots),
                     .said = p->is_of_rows || p->inputs->is_brief ? NULL : p->inputs->said,
                     .term = keeps_terms ? p->twin->terms : NULL};
    for (unsigned field = 0; field < NB_FIELDS; field++)
        s.offsets[field] =
            (pair){p->offsets[field], p->offsets[(p->experts - 1) * (size_t)NB_FIELDS + field]};
    return s;
}

/* The gains of a feature. */
static inline __attribute__((always_inline)) pair gains_of(const struct sums *s, uint32_t first,
                                                           uint32_t second)
{
    if (__builtin_expect((first | second) < s->least, 1)) /* the bits of both: neither is above */
        return (pair){s->logs[0][first], s->logs[1][first]} -
               (pair){s->logs[0][second], s->logs[1][second]};
    return (pair){nb_stack_log(s->readings[0], first), nb_stack_log(s->readings[1], first)} -
           (pair){nb_stack_log(s->readings[0], second), nb_stack_log(s->readings[1], second)};
}

/* r sqrt|r|: two square roots for the time of one where there is an instruction for it. */
static inline pair roots_of(pair r)
{
#ifdef __SSE2__
    const __m128d magnitude = _mm_castsi128_pd(_mm_set1_epi64x(INT64_MAX));
    return r * (pair)_mm_sqrt_pd(_mm_and_pd((__m128d)r, magnitude));
#else
    return r * (pair){sqrt(fabs(r[0])), sqrt(fabs(r[1]))};
#endif
}

/* e of any bank. */
static __attribute__((noinline)) pair powers_of(const struct sums *s, pair r)
{
    return (pair){nb_stack_power(s->readings[0], r[0]),
                  s->is_alone ? 0 : nb_stack_power(s->readings[1], r[1])};
}

/* Writes a term for the twin, member by member: a copy of a whole term would wait for its parts. */
static inline void put_term(struct nb_stack_term *term, double r, uint32_t key, unsigned field)
{
    term->gain = -r;
    term->key = key;
    term->field = field;
    term->end = 0;
    term->is_dense = false;
}

/* Adds a feature that so many documents of each label have, at a place of the bag. */
static inline __attribute__((always_inline)) void add_feature(struct sums *s, uint64_t id,
                                                              unsigned field, uint32_t first,
                                                              uint32_t second, size_t place)
{
    pair r = gains_of(s, first, second) - s->offsets[field];
    pair e = s->are_roots ? roots_of(r) : powers_of(s, r);
    s->x[field] += e;
    s->gains[field] -= (double)s->slots.values[(uint32_t)id & s->slots.mask] * r[1];
    if (s->said != NULL) {
        memcpy(s->said->e, &e, sizeof e);
        s->said->r = r[1];
        s->said++->place = place;
    }
    if (s->term != NULL)
        put_term(s->term++, r[1], (uint32_t)id, field);
}

/* Puts the sums into the inputs, and those of the twin into its evidence. */
static inline __attribute__((always_inline)) void end_sums(const struct nb_stack_pass *p,
                                                           const struct sums *s)
{
    struct nb_stack_inputs *in = p->inputs;
    for (unsigned e = 0; e < p->experts; e++)
        for (unsigned field = 0; field < NB_FIELDS; field++)
            in->x[((size_t)e * NB_STACK_GROUPS + field) * 2] = s->x[field][e];
    in->said_count = s->said == NULL ? 0 : (size_t)(s->said - in->said);
    assert(in->said_count <= in->said_room);
    if (p->twin == NULL)
        return;
    memcpy(p->twin->gains, s->gains, sizeof s->gains);
    p->twin->term_count = s->term == NULL ? 0 : (size_t)(s->term - p->twin->terms);
    assert(p->twin->term_count <= p->twin->term_room);
}

/* ---- a bag ----------------------------------------------------------------------------------- */

void nb_stack_two_add(struct nb_stack_pass *p, const struct nb_feature *features, size_t size,
                      const struct nb_found *known)
{
    const uint32_t label = p->view->labels[0];
    struct sums sums = begin_sums(p);
    uint32_t counted[NB_FIELDS] = {0};
    struct nb_step own;
    struct nb_found found = {0};
    for (size_t i = 0; i < size; i++) {
        const size_t at = i % NB_MODEL_STEP;
        if (at == 0)
            found = nb_model_step_cells(p->model, features, i,
                                        size - i < NB_MODEL_STEP ? size - i : NB_MODEL_STEP, known,
                                        &own);
        struct nb_row row = {features[i].id, found.cells[at]};
        unsigned field = nb_feature_field(row.id);
        if (i + NB_MODEL_AHEAD < size)
            nb_slots_values_prefetch(&sums.slots, (uint32_t)features[i + NB_MODEL_AHEAD].id);
        if (field >= NB_FIELDS) {
            nb_stack_attributes_note(p->inputs, row.id, found.rows[at], false);
            continue;
        }
        counted[field]++;
        if (!nb_row_is_used(row))
            continue;
        struct nb_two_documents d = nb_counts_of_two_in(p->model, row, label);
        add_feature(&sums, row.id, field, d.own, d.others, i);
    }
    memcpy(p->inputs->features, counted, sizeof counted);
    end_sums(p, &sums);
}

/* ---- rows of a document that the counts have ------------------------------------------------- */

int nb_stack_two_start(struct nb_stack_pass *p, size_t size)
{
    struct nb_stack_inputs *in = p->inputs;
    in->noted_count = in->said_count = 0;
    return p->is_of_rows ? nb_array_renew(&in->noted, &in->noted_room, size, sizeof *in->noted)
                         : nb_array_renew(&in->said, &in->said_room, size, sizeof *in->said);
}

_Static_assert(offsetof(struct nb_stack_noted, second) == sizeof(uint32_t),
               "both are written as one number");

/* Where the labels are others than 0 and 1, `label` finds nothing in any row. */
static struct nb_reader_labels reader_labels(const struct nb_stack_pass *p)
{
    const uint32_t *labels = p->view->labels;
    struct nb_reader_labels l = {.turn = labels[0] == 0 ? 0 : NB_PAIR_D};
    if (p->view->size != 2 || labels[0] + labels[1] != 1)
        return l;
    l.label = l.any = UINT32_MAX;
    if (p->without == NULL)
        return l;
    unsigned shift = p->without->label == labels[0] ? 0 : NB_PAIR_D;
    l.one = UINT32_C(1) << shift;
    l.label = (uint32_t)NB_PAIR_D_MOST << shift;
    l.any = 0;
    return l;
}

/* Where the rows of a document are read, and what is counted of them. */
struct survey {
    struct nb_row_reader reader;
    struct nb_reader_labels labels;
    struct nb_slots_values slots; /* of the twin: asked for when a row is looked at */
    uint32_t features[NB_FIELDS];
    uint32_t shared[NB_FIELDS]; /* those that other documents have, too */
    size_t others;              /* those that are of no field */
};

/* Looks at four rows, and asks for what the twin has of them. */
static inline __attribute__((always_inline)) void look_at(struct survey *s, size_t i,
                                                          bool is_inside)
{
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    nb_reader_look(&s->reader, i, is_inside);
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++)
        if (is_inside || i + k < s->reader.size)
            nb_slots_values_prefetch(&s->slots, (uint32_t)ids[k]);
}

static inline __attribute__((always_inline)) void begin_survey(const struct nb_stack_pass *p,
                                                               const struct nb_row_count *rows,
                                                               size_t size, struct survey *s)
{
    nb_reader_init(&s->reader, p->model, rows, size);
    s->labels = reader_labels(p);
    s->slots = nb_slots_values(p->twin == NULL ? NULL : p->twin->slots);
    memset(s->features, 0, sizeof s->features);
    memset(s->shared, 0, sizeof s->shared);
    s->others = 0;
    for (size_t i = 0; i < NB_READER_ASKED; i += NB_READER_FOUR)
        nb_reader_ask(&s->reader, i, false);
    for (size_t i = 0; i < NB_READER_LOOKED; i += NB_READER_FOUR)
        look_at(s, i, false);
}

/* Prefetches later rows, and reads the four from `i` on. `is_inside`, a constant at each call: all
 * rows to prefetch exist. Returns as nb_reader_read. */
static inline __attribute__((always_inline)) bool
read_four(struct survey *s, size_t i, bool is_inside, struct nb_four_rows *four)
{
    nb_reader_ask(&s->reader, i + NB_READER_ASKED, is_inside);
    look_at(s, i + NB_READER_LOOKED, is_inside);
    return (is_inside || i + NB_READER_FOUR <= s->reader.size) &&
           nb_reader_read(&s->reader, i, &s->labels, four);
}

/* How many rows have as many behind them as are asked for. */
static size_t size_inside(const struct survey *s)
{
    enum { BEHIND = NB_READER_ASKED + NB_READER_FOUR - 1 };
    return s->reader.size < BEHIND ? 0 : s->reader.size - BEHIND;
}

static size_t end_survey(const struct survey *s, struct nb_stack_without *without)
{
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        without->features[field] = s->features[field];
        without->unique[field] = s->features[field] - s->shared[field];
    }
    return s->others;
}

/* Counts a row. Returns whether it is of a field. */
static inline bool count_row(struct survey *s, unsigned field)
{
    bool is_other = field >= NB_FIELDS;
    if (__builtin_expect(is_other, 0))
        s->others++;
    else
        s->features[field]++;
    return !is_other;
}

/* Any row. Sets its documents without the left-out one. Returns whether there are any. */
static inline bool read_any(const struct nb_stack_pass *p, struct survey *s, size_t i,
                            unsigned field, struct nb_stack_noted *to)
{
    const uint32_t label = p->view->labels[0];
    const bool is_out = p->without != NULL, is_of_first = is_out && p->without->label == label;
    const struct nb_counts_rows rows = nb_counts_rows(p->model);
    struct nb_two_documents d = nb_counts_of_two(p->model, &rows, s->reader.rows[i].row, label);
    uint64_t all = (uint64_t)d.own + d.others, left = nb_stack_less(all, is_out);
    uint64_t own = nb_stack_less(d.own, is_of_first);
    own = own < left ? own : left; /* more, if the counts do not have the document any more */
    s->shared[field] += all != 1;
    to->first = (uint32_t)own;
    to->second = (uint32_t)(left - own);
    return left != 0;
}

/* Any four rows, or as many as there are. Returns where the next one is noted. */
static __attribute__((noinline)) struct nb_stack_noted *
note_any(const struct nb_stack_pass *p, struct survey *s, struct nb_stack_noted *next, size_t i)
{
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    for (size_t k = 0; k < NB_READER_FOUR && i + k < s->reader.size; k++) {
        unsigned field = nb_feature_field(ids[k]);
        if (!count_row(s, field))
            continue;
        next->id = ids[k];
        next += read_any(p, s, i + k, field, next); /* else it is overwritten */
    }
    return next;
}

static inline __attribute__((always_inline)) struct nb_stack_noted *
note_four(const struct nb_stack_pass *p, struct survey *s, struct nb_stack_noted *next, size_t i,
          bool is_inside)
{
    struct nb_four_rows four;
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    if (__builtin_expect(!read_four(s, i, is_inside, &four), 0))
        return note_any(p, s, next, i);
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++) {
        unsigned field = nb_feature_field(ids[k]);
        if (!count_row(s, field))
            continue;
        s->shared[field] += four.are_used[k];
        memcpy(next, &four.documents[k], sizeof four.documents[k]);
        next->id = ids[k];
        next += four.are_used[k]; /* else it is overwritten */
    }
    return next;
}

/* Notes all rows of a document. */
static void note_rows(const struct nb_stack_pass *p, struct survey *s)
{
    struct nb_stack_noted *next = p->inputs->noted;
    size_t i = 0;
    for (const size_t inside = size_inside(s); i < inside; i += NB_READER_FOUR)
        next = note_four(p, s, next, i, true);
    for (; i < s->reader.size; i += NB_READER_FOUR)
        next = note_four(p, s, next, i, false);
    p->inputs->noted_count = next == NULL ? 0 : (size_t)(next - p->inputs->noted);
    assert(p->inputs->noted_count <= p->inputs->noted_room);
}

/* As note_any. */
static __attribute__((noinline)) void sum_any(const struct nb_stack_pass *p, struct survey *s,
                                              struct sums *sums, size_t i)
{
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    for (size_t k = 0; k < NB_READER_FOUR && i + k < s->reader.size; k++) {
        unsigned field = nb_feature_field(ids[k]);
        struct nb_stack_noted d;
        if (count_row(s, field) && read_any(p, s, i + k, field, &d))
            add_feature(sums, ids[k], field, d.first, d.second, i + k);
    }
}

static inline __attribute__((always_inline)) void sum_four(const struct nb_stack_pass *p,
                                                           struct survey *s, struct sums *sums,
                                                           size_t i, bool is_inside)
{
    struct nb_four_rows four;
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    if (__builtin_expect(!read_four(s, i, is_inside, &four), 0)) {
        sum_any(p, s, sums, i);
        return;
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++) {
        unsigned field = nb_feature_field(ids[k]);
        uint64_t d = four.documents[k];
        if (count_row(s, field) && d != 0) /* new features come last */
            add_feature(sums, ids[k], field, (uint32_t)d, (uint32_t)(d >> 32), i + k);
    }
}

/* Sums all rows of a document that is not left out. */
static void sum_rows(const struct nb_stack_pass *p, struct survey *s)
{
    struct sums sums = begin_sums(p);
    size_t i = 0;
    for (const size_t inside = size_inside(s); i < inside; i += NB_READER_FOUR)
        sum_four(p, s, &sums, i, true);
    for (; i < s->reader.size; i += NB_READER_FOUR)
        sum_four(p, s, &sums, i, false);
    end_sums(p, &sums);
}

size_t nb_stack_two_survey(struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                           struct nb_stack_without *without)
{
    struct survey s;
    assert(p->is_of_rows);
    begin_survey(p, rows, size, &s);
    if (p->without == NULL)
        sum_rows(p, &s);
    else
        note_rows(p, &s);
    return end_survey(&s, without);
}

void nb_stack_two_finish(const struct nb_stack_pass *p)
{
    if (p->without == NULL)
        return;
    struct sums sums = begin_sums(p);
    for (size_t i = 0; i < p->inputs->noted_count; i++) {
        const struct nb_stack_noted *n = &p->inputs->noted[i];
        add_feature(&sums, n->id, nb_feature_field(n->id), n->first, n->second, i);
    }
    end_sums(p, &sums);
}
