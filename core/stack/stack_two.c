/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of a document with two labels. There is one column, with r and e of the first label;
 * those of the second are their negatives, to the bit. The evidence of a bag is added up while its
 * rows are read. If a document is left out, all its rows must be read before the first is summed,
 * because the offsets depend on them: so the counts of each row are noted first, and summed later.
 */
#include <assert.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stddef.h>
#include <string.h>

#include "core/base/array.h"
#include "core/counts/row_reader.h"
#include "core/stack/passages.h"
#include "core/stack/stack_attributes.h"

/* ---- notes ----------------------------------------------------------------------------------- */

/* The target of noted rows for add_noted: a local copy of the loop's data, which stores to the
 * notes cannot change. */
struct notes {
    const struct nb_model *model;
    struct nb_slots_values slots; /* of the twin: prefetched when the row is noted */
    struct nb_stack_noted *next;
    uint32_t label;      /* the first label */
    uint32_t out, first; /* out: 1 if a document is left out; first: 1 if it has the first label */
};

static inline struct notes notes_of(const struct nb_stack_pass *p)
{
    bool is_out = p->without != NULL;
    return (struct notes){.model = p->model,
                          .slots = nb_slots_values(p->twin == NULL ? NULL : p->twin->slots),
                          .next = p->inputs->noted,
                          .label = p->view->labels[0],
                          .out = is_out,
                          .first = is_out && p->without->label == p->view->labels[0]};
}

/* Writes the number of notes back to the inputs. */
static inline void keep_notes(const struct nb_stack_pass *p, const struct notes *notes)
{
    p->inputs->noted_count = notes->next == NULL ? 0 : (size_t)(notes->next - p->inputs->noted);
    assert(p->inputs->noted_count <= p->inputs->noted_room);
}

/* Notes a row without the left-out document; there must be room. Returns D_w including that
 * document. The next note overwrites a row that no document has, which avoids a branch. */
static inline uint64_t note(struct notes *n, uint64_t id, uint32_t row)
{
    struct nb_two_documents d = nb_counts_of_two(n->model, row, n->label);
    uint64_t left = nb_stack_less(d.all, n->out);
    uint64_t own = nb_stack_less(d.own, n->first);
    own = own < left ? own : left;
    assert(n->next != NULL);
    n->next->first = (uint32_t)own;
    n->next->second = (uint32_t)(left - own);
    n->next->id = id;
    n->next += left != 0;
    nb_slots_values_prefetch(&n->slots, (uint32_t)id);
    return d.all;
}

/* ---- the twin -------------------------------------------------------------------------------- */

/* A local copy of the twin's sums, which stores to the features' evidence cannot change. */
struct twin_sums {
    struct nb_slots_values slots; /* without a twin: no slots */
    double gains[NB_FIELDS];
};

static inline struct twin_sums twin_sums_of(const struct nb_stack_pass *p)
{
    return (struct twin_sums){.slots = nb_slots_values(p->twin == NULL ? NULL : p->twin->slots)};
}

/* `r` belongs to the first label; that of the second is its negative. */
static inline void add_to_twin(struct twin_sums *sums, unsigned field, uint32_t key, double r)
{
    sums->gains[field] -= (double)sums->slots.values[key & sums->slots.mask] * r;
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

/* Whether the terms that the twin learns from are kept. */
static inline bool keeps_terms(const struct nb_stack_pass *p)
{
    return p->twin != NULL && p->twin->keeps;
}

/* The sums of a document with two labels by the usual bank: both experts have the power 1.5, so the
 * evidence of a feature for both is computed at once, as a vector of two numbers. Only where
 * __SSE2__ is defined; elsewhere add_each computes the same bits for one expert after the other,
 * and classifying a mail takes 29 % more processor time, learning one 14 %. */
#ifdef __SSE2__

/* The sums of both experts of the usual bank, and the data to compute them. */
struct pairs {
    const struct nb_stack_reading *a, *b;
    const double *logs_a, *logs_b;
    uint32_t least; /* logarithms of counts below this are in both tables */
    __m128d offsets[NB_FIELDS], sums[NB_FIELDS];
    struct twin_sums twin;
};

static inline __attribute__((always_inline)) struct pairs begin_pairs(const struct nb_stack_pass *p)
{
    const struct nb_stack_reading *a = &p->readings[0], *b = &p->readings[1];
    struct pairs pairs = {.a = a,
                          .b = b,
                          .logs_a = a->logs.logs,
                          .logs_b = b->logs.logs,
                          .least = a->logs.size < b->logs.size ? a->logs.size : b->logs.size,
                          .twin = twin_sums_of(p)};
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        pairs.offsets[field] = _mm_set_pd(p->offsets[NB_FIELDS + field], p->offsets[field]);
        pairs.sums[field] = _mm_setzero_pd();
    }
    return pairs;
}

/* The gains of both experts. */
static inline __m128d gains_of(const struct pairs *s, uint32_t first, uint32_t second)
{
    if ((first | second) >= s->least) /* `first | second` is at least the larger of both */
        return _mm_sub_pd(_mm_set_pd(nb_stack_log(s->b, first), nb_stack_log(s->a, first)),
                          _mm_set_pd(nb_stack_log(s->b, second), nb_stack_log(s->a, second)));
    return _mm_sub_pd(_mm_set_pd(s->logs_b[first], s->logs_a[first]),
                      _mm_set_pd(s->logs_b[second], s->logs_a[second]));
}

/* Returns the number of the second expert. */
static inline double last_of(__m128d pair)
{
    return _mm_cvtsd_f64(_mm_unpackhi_pd(pair, pair));
}

/* Adds a feature that so many documents of each label have: r sqrt|r| for both experts, with two
 * square roots in the time of one, and the same bits. Adds nothing to the twin. Returns r of both,
 * and sets *e to what was added. */
static inline __attribute__((always_inline)) __m128d
add_to_experts(struct pairs *s, uint32_t first, uint32_t second, unsigned field, __m128d *e)
{
    const __m128d magnitude = _mm_castsi128_pd(_mm_set1_epi64x(INT64_MAX));
    __m128d r = _mm_sub_pd(gains_of(s, first, second), s->offsets[field]);
    *e = _mm_mul_pd(r, _mm_sqrt_pd(_mm_and_pd(r, magnitude)));
    s->sums[field] = _mm_add_pd(s->sums[field], *e);
    return r;
}

/* As add_to_experts, and adds to the twin. */
static inline __attribute__((always_inline)) __m128d
add_pair(struct pairs *s, uint32_t first, uint32_t second, unsigned field, uint32_t key, __m128d *e)
{
    __m128d r = add_to_experts(s, first, second, field, e);
    add_to_twin(&s->twin, field, key, last_of(r));
    return r;
}

/* Keeps the evidence of a feature for an explanation. */
static inline __attribute__((always_inline)) void say(struct nb_stack_said *said, __m128d e,
                                                      __m128d r)
{
    _mm_storeu_pd(said->e, e);
    _mm_storeh_pd(&said->r, r);
}

/* Puts the sums into the inputs, and those of the twin into its evidence. */
static inline __attribute__((always_inline)) void end_pairs(const struct nb_stack_pass *p,
                                                            const struct pairs *s)
{
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        double *x = p->inputs->x + (size_t)field * 2;
        __m128d sums = s->sums[field];
        x[0] = _mm_cvtsd_f64(sums);
        x[(size_t)NB_STACK_GROUPS * 2] = _mm_cvtsd_f64(_mm_unpackhi_pd(sums, sums));
    }
    if (p->twin != NULL)
        memcpy(p->twin->gains, s->twin.gains, sizeof s->twin.gains);
}

#endif

/* ---- reading --------------------------------------------------------------------------------- */

/* Notes the rows of a bag. */
static void two_note_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                         size_t size, const struct nb_found *known)
{
    struct notes notes = notes_of(p);
    uint32_t found[NB_MODEL_STEP];
    const uint32_t *rows = NULL;
    for (size_t i = 0; i < size; i++) {
        unsigned field = nb_feature_field(features[i].id);
        if (i % NB_MODEL_STEP == 0)
            rows = nb_model_step(p->model, features, i,
                                 size - i < NB_MODEL_STEP ? size - i : NB_MODEL_STEP,
                                 known == NULL ? NULL : known->rows, found);
        uint32_t row = rows[i % NB_MODEL_STEP];
        if (field >= NB_FIELDS) {
            nb_stack_attributes_note(p->inputs, features[i].id, row, false);
            continue;
        }
        p->inputs->features[field]++;
        if (row == NB_NO_ROW)
            continue;
        p->inputs->said[notes.next - p->inputs->noted].place = i;
        (void)note(&notes, features[i].id, row);
    }
    keep_notes(p, &notes);
}

#ifdef __SSE2__
/* The sums when the present part began, to find what it adds. */
struct mark {
    uint32_t mask;    /* all bits, or 0 if passages are not wanted */
    uint32_t passage; /* the number of the part */
    __m128d sums[NB_PASSAGE_FIELDS];
    double gains[NB_PASSAGE_FIELDS];
    uint32_t features[NB_PASSAGE_FIELDS];
};

/* The state of a loop over a step of a bag. */
struct reading {
    struct pairs pairs;
    struct nb_stack_said *said; /* the next one */
    uint32_t features[NB_FIELDS];
    struct mark mark;
    unsigned turn; /* bits to rotate documents of a pair by: puts the first label first */
};

/* Sets the documents of both labels in a row that some label has. `turn` as in struct reading. */
static inline __attribute__((always_inline)) void put_documents(const struct nb_stack_pass *p,
                                                                struct nb_row row, unsigned turn,
                                                                uint32_t *first, uint32_t *second)
{
    uint32_t both = (uint32_t)row.cells;
    both = both << turn | both >> (-turn & 31);
    *first = both & NB_PAIR_D_MOST;
    *second = both >> NB_PAIR_D;
    if (__builtin_expect(nb_row_is_pair(row), 1))
        return;
    struct nb_two_documents d = nb_counts_of_two_else(p->model, row, p->view->labels[0]);
    *first = d.own;
    *second = (uint32_t)(d.all - d.own);
}

/* Ends the present part and goes on with another one. */
static __attribute__((noinline)) void turn_to(const struct nb_stack_pass *p,
                                              struct reading *reading, uint32_t passage)
{
    struct mark *mark = &reading->mark;
    struct nb_stack_passages *passages = p->inputs->passages;
    double *to = mark->passage == 0 ? NULL : nb_stack_part_at(passages, mark->passage);
    for (unsigned k = 0; k < NB_PASSAGE_FIELDS; k++) {
        unsigned field = nb_passage_fields[k];
        __m128d sums = reading->pairs.sums[field];
        double gains = reading->pairs.twin.gains[field];
        if (to != NULL) {
            double *own = to + (size_t)k * (NB_STACK_EXPERTS + 1);
            __m128d before = _mm_loadu_pd(own);
            _mm_storeu_pd(own, _mm_add_pd(before, _mm_sub_pd(sums, mark->sums[k])));
            own[NB_STACK_EXPERTS] += gains - mark->gains[k];
            passages->features[mark->passage][k] += reading->features[field] - mark->features[k];
        }
        mark->sums[k] = sums;
        mark->gains[k] = gains;
        mark->features[k] = reading->features[field];
    }
    mark->passage = passage;
}

/* Reads and sums a step of a bag. Callers pass a constant `says`: whether the evidence of each
 * feature is kept. For a mail this takes as much memory as the first-level cache has. */
static inline __attribute__((always_inline)) void
read_step(const struct nb_stack_pass *p, struct reading *reading, const struct nb_feature *features,
          size_t start, size_t step, size_t size, const struct nb_found *found, bool says)
{
    const unsigned turn = reading->turn;
    struct nb_stack_said *said = reading->said;
    for (size_t i = 0; i < step; i++) {
        uint64_t id = features[start + i].id;
        struct nb_row row = {id, found->cells[i]};
        unsigned field = nb_feature_field(id);
        uint32_t passage = features[start + i].passage & reading->mark.mask;
        if (__builtin_expect(passage != reading->mark.passage, 0))
            turn_to(p, reading, passage);
        if (start + i + NB_MODEL_AHEAD < size)
            nb_slots_values_prefetch(&reading->pairs.twin.slots,
                                     (uint32_t)features[start + i + NB_MODEL_AHEAD].id);
        if (field >= NB_FIELDS) {
            nb_stack_attributes_note(p->inputs, id, found->rows[i], false);
            continue;
        }
        reading->features[field]++;
        if (!nb_row_is_used(row))
            continue;
        uint32_t first, second;
        __m128d e;
        put_documents(p, row, turn, &first, &second);
        __m128d r = add_pair(&reading->pairs, first, second, field, (uint32_t)id, &e);
        if (!says)
            continue;
        said->place = start + i;
        say(said++, e, r);
    }
    reading->said = said;
}

static void two_sum_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                        size_t size, const struct nb_found *known)
{
    struct nb_step own;
    struct reading reading = {
        .pairs = begin_pairs(p), .said = p->inputs->said, .turn = p->view->labels[0] * NB_PAIR_D};
    assert(p->view->labels[0] < 2);
    reading.mark.mask = p->inputs->has_passages ? UINT32_MAX : 0;
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        struct nb_found found = nb_model_step_cells(p->model, features, start, step, known, &own);
        if (p->inputs->is_brief)
            read_step(p, &reading, features, start, step, size, &found, false);
        else
            read_step(p, &reading, features, start, step, size, &found, true);
    }
    if (reading.mark.passage != 0)
        turn_to(p, &reading, 0);
    memcpy(p->inputs->features, reading.features, sizeof reading.features);
    p->inputs->said_count = reading.said == NULL ? 0 : (size_t)(reading.said - p->inputs->said);
    end_pairs(p, &reading.pairs);
}
#endif

_Static_assert(offsetof(struct nb_stack_noted, second) == sizeof(uint32_t),
               "both are written as one number");

/* If the labels are not 0 and 1, `label` matches no row. */
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

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the rows of a counted document, four at a time (core/counts/row_reader.h), and counts its
 * features. The rows are noted, or summed at once if the offsets are known. */
struct surveying {
    struct nb_row_reader reader;
    struct nb_reader_labels labels;
    struct nb_slots_values slots; /* of the twin: prefetched when a row is looked at */
    uint32_t features[NB_FIELDS];
    uint32_t shared[NB_FIELDS]; /* features that other documents have, too */
    size_t others;              /* rows that belong to no field */
};

/* Looks at four rows (nb_reader_look), and prefetches the twin's slots for them. */
static inline __attribute__((always_inline)) void look_at(struct surveying *s, size_t i,
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
                                                               size_t size, struct surveying *s)
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
read_four(struct surveying *s, size_t i, bool is_inside, struct nb_four_rows *four)
{
    nb_reader_ask(&s->reader, i + NB_READER_ASKED, is_inside);
    look_at(s, i + NB_READER_LOOKED, is_inside);
    return (is_inside || i + NB_READER_FOUR <= s->reader.size) &&
           nb_reader_read(&s->reader, i, &s->labels, four);
}

/* Returns how many rows have enough rows behind them to prefetch without a check. */
static size_t size_inside(const struct surveying *s)
{
    enum { BEHIND = NB_READER_ASKED + NB_READER_FOUR - 1 };
    return s->reader.size < BEHIND ? 0 : s->reader.size - BEHIND;
}

static size_t end_survey(const struct surveying *s, struct nb_stack_without *without)
{
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        without->features[field] = s->features[field];
        without->unique[field] = s->features[field] - s->shared[field];
    }
    return s->others;
}

/* Counts a row. Returns whether it belongs to a field. */
static inline bool count_row(struct surveying *s, unsigned field)
{
    bool is_other = field >= NB_FIELDS;
    if (__builtin_expect(is_other, 0))
        s->others++;
    else
        s->features[field]++;
    return !is_other;
}

/* Notes four rows of any form, or as many as are left. Returns where to note the next row. */
static __attribute__((noinline)) struct nb_stack_noted *
note_any(struct surveying *s, struct notes notes, struct nb_stack_noted *next, size_t i)
{
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    notes.next = next;
    for (size_t k = 0; k < NB_READER_FOUR && i + k < s->reader.size; k++) {
        unsigned field = nb_feature_field(ids[k]);
        if (count_row(s, field))
            s->shared[field] += note(&notes, ids[k], s->reader.rows[i + k].row) != 1;
    }
    return notes.next;
}

static inline __attribute__((always_inline)) struct nb_stack_noted *
note_four(struct surveying *s, const struct notes *notes, struct nb_stack_noted *next, size_t i,
          bool is_inside)
{
    struct nb_four_rows four;
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    if (__builtin_expect(!read_four(s, i, is_inside, &four), 0))
        return note_any(s, *notes, next, i);
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++) {
        unsigned field = nb_feature_field(ids[k]);
        if (!count_row(s, field))
            continue;
        s->shared[field] += four.are_used[k];
        memcpy(next, &four.documents[k], sizeof four.documents[k]);
        next->id = ids[k];
        next += four.are_used[k]; /* if unused, the next note overwrites it */
    }
    return next;
}

static size_t two_note_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                            size_t size, struct nb_stack_without *without)
{
    struct notes notes = notes_of(p);
    struct nb_stack_noted *next = notes.next;
    struct surveying s;
    begin_survey(p, rows, size, &s);
    size_t i = 0;
    for (const size_t inside = size_inside(&s); i < inside; i += NB_READER_FOUR)
        next = note_four(&s, &notes, next, i, true);
    for (; i < size; i += NB_READER_FOUR)
        next = note_four(&s, &notes, next, i, false);
    notes.next = next;
    keep_notes(p, &notes);
    return end_survey(&s, without);
}

/* ---- summing --------------------------------------------------------------------------------- */

#ifdef __SSE2__
/* The target if rows are summed as they are read. */
struct summing {
    const struct nb_stack_pass *p;
    struct pairs pairs;
    struct nb_stack_term *term; /* the next one; NULL: terms are not kept */
};

static inline __attribute__((always_inline)) void sum_row(struct summing *sum, uint64_t id,
                                                          uint32_t first, uint32_t second)
{
    __m128d e;
    unsigned field = nb_feature_field(id);
    __m128d r = add_pair(&sum->pairs, first, second, field, (uint32_t)id, &e);
    if (sum->term != NULL)
        put_term(sum->term++, last_of(r), (uint32_t)id, field);
}

/* As note_any, but sums the rows. */
static __attribute__((noinline)) void sum_any(struct surveying *s, struct summing *sum, size_t i)
{
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    for (size_t k = 0; k < NB_READER_FOUR && i + k < s->reader.size; k++) {
        if (!count_row(s, nb_feature_field(ids[k])))
            continue;
        struct nb_two_documents d =
            nb_counts_of_two(sum->p->model, s->reader.rows[i + k].row, sum->p->view->labels[0]);
        if (d.all != 0)
            sum_row(sum, ids[k], d.own, (uint32_t)(d.all - d.own));
    }
}

static inline __attribute__((always_inline)) void sum_four(struct surveying *s, struct summing *sum,
                                                           size_t i, bool is_inside)
{
    struct nb_four_rows four;
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    if (__builtin_expect(!read_four(s, i, is_inside, &four), 0)) {
        sum_any(s, sum, i);
        return;
    }
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++) {
        if (!count_row(s, nb_feature_field(ids[k])))
            continue;
        uint64_t d = four.documents[k];
        if (d != 0) /* predictable: new features come last */
            sum_row(sum, ids[k], (uint32_t)d, (uint32_t)(d >> 32));
    }
}

static size_t two_sum_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                           size_t size, struct nb_stack_without *without)
{
    struct summing sum = {
        .p = p, .pairs = begin_pairs(p), .term = keeps_terms(p) ? p->twin->terms : NULL};
    struct surveying s;
    begin_survey(p, rows, size, &s);
    size_t i = 0;
    for (const size_t inside = size_inside(&s); i < inside; i += NB_READER_FOUR)
        sum_four(&s, &sum, i, true);
    for (; i < size; i += NB_READER_FOUR)
        sum_four(&s, &sum, i, false);
    if (sum.term != NULL)
        p->twin->term_count = (size_t)(sum.term - p->twin->terms);
    end_pairs(p, &sum.pairs);
    return end_survey(&s, without);
}
#endif

/* ---- sums of what was noted ------------------------------------------------------------------ */

/* Keeps the terms that the twin learns from, made from the notes' evidence. */
static void keep_terms(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    for (size_t i = 0; i < in->noted_count; i++)
        put_term(&p->twin->terms[p->twin->term_count++], in->said[i].r, (uint32_t)in->noted[i].id,
                 nb_feature_field(in->noted[i].id));
    assert(p->twin->term_count <= p->twin->term_room);
}

#ifdef __SSE2__
static inline __attribute__((always_inline)) __m128d
add_noted(struct pairs *s, const struct nb_stack_noted *noted, __m128d *e)
{
    return add_pair(s, noted->first, noted->second, nb_feature_field(noted->id),
                    (uint32_t)noted->id, e);
}

/* Adds the notes to the sums, in their order, and keeps the data that an explanation needs. */
static void add_pairs(const struct nb_stack_pass *p)
{
    const struct nb_stack_noted *noted = p->inputs->noted;
    struct nb_stack_said *said = p->inputs->said;
    struct pairs pairs = begin_pairs(p);
    __m128d e;
    for (size_t i = 0, count = p->inputs->noted_count; i < count; i++) {
        __m128d r = add_noted(&pairs, &noted[i], &e);
        say(&said[i], e, r);
    }
    end_pairs(p, &pairs);
}

/* Sums notes of rows without a twin or an explanation, as for most documents of a refit. */
static void add_pairs_alone(const struct nb_stack_pass *p)
{
    const struct nb_stack_noted *noted = p->inputs->noted;
    struct pairs pairs = begin_pairs(p);
    __m128d e;
    for (size_t i = 0, count = p->inputs->noted_count; i < count; i++)
        (void)add_to_experts(&pairs, noted[i].first, noted[i].second, nb_feature_field(noted[i].id),
                             &e);
    end_pairs(p, &pairs);
}

/* As add_pairs_alone, with a twin. */
static void add_pairs_of_rows(const struct nb_stack_pass *p)
{
    const struct nb_stack_noted *noted = p->inputs->noted;
    struct nb_stack_term *terms = keeps_terms(p) ? p->twin->terms : NULL;
    struct pairs pairs = begin_pairs(p);
    size_t count = p->inputs->noted_count;
    __m128d e;
    for (size_t i = 0; i < count; i++) {
        __m128d r = add_noted(&pairs, &noted[i], &e);
        if (terms != NULL)
            put_term(&terms[i], last_of(r), (uint32_t)noted[i].id, nb_feature_field(noted[i].id));
    }
    if (terms != NULL)
        p->twin->term_count = count;
    end_pairs(p, &pairs);
}
#endif

/* Sums the notes for any bank. */
static void add_each(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    struct twin_sums twin = twin_sums_of(p);
    for (size_t i = 0; i < in->noted_count; i++) {
        const struct nb_stack_noted *n = &in->noted[i];
        struct nb_stack_said *said = &in->said[i];
        unsigned field = nb_feature_field(n->id);
        double *x = in->x + (size_t)field * 2;
        memset(said->e, 0, sizeof said->e);
        for (unsigned e = 0; e < p->experts; e++, x += (size_t)NB_STACK_GROUPS * 2) {
            const struct nb_stack_reading *reading = &p->readings[e];
            said->r = nb_stack_log(reading, n->first) - nb_stack_log(reading, n->second) -
                      p->offsets[e * NB_FIELDS + field];
            said->e[e] = nb_stack_power(reading, said->r);
            *x += said->e[e];
        }
        add_to_twin(&twin, field, (uint32_t)n->id, said->r);
    }
    if (p->twin != NULL)
        memcpy(p->twin->gains, twin.gains, sizeof twin.gains);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Whether no explanation will need the evidence of each row. */
static bool is_silent(const struct nb_stack_pass *p)
{
#ifdef __SSE2__
    return p->are_roots && p->is_of_rows;
#else
    (void)p;
    return false;
#endif
}

int nb_stack_two_start(struct nb_stack_pass *p, size_t size)
{
    struct nb_stack_inputs *in = p->inputs;
    p->are_roots = p->experts == 2 && p->readings[0].kind == NB_POWER_1_5 &&
                   p->readings[1].kind == NB_POWER_1_5;
    p->is_summed = false;
    in->noted_count = in->said_count = 0;
    int rc = nb_array_renew(&in->noted, &in->noted_room, size, sizeof *in->noted);
    return rc != 0 || is_silent(p)
               ? rc
               : nb_array_renew(&in->said, &in->said_room, size, sizeof *in->said);
}

void nb_stack_two_add(struct nb_stack_pass *p, const struct nb_feature *features, size_t size,
                      const struct nb_found *known)
{
#ifdef __SSE2__
    p->is_summed = p->are_roots && (p->twin == NULL || !p->twin->keeps) && p->view->labels[0] < 2;
    if (p->is_summed) {
        two_sum_bag(p, features, size, known);
        return;
    }
#endif
    two_note_bag(p, features, size, known);
}

size_t nb_stack_two_survey(struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                           struct nb_stack_without *without)
{
    assert(p->is_of_rows);
#ifdef __SSE2__
    const uint32_t *labels = p->view->labels;
    p->is_summed =
        p->are_roots && p->without == NULL && p->view->size == 2 && labels[0] < 2 && labels[1] < 2;
    if (p->is_summed)
        return two_sum_rows(p, rows, size, without);
#endif
    return two_note_rows(p, rows, size, without);
}

void nb_stack_two_finish(const struct nb_stack_pass *p)
{
    if (p->is_summed)
        return;
#ifdef __SSE2__
    if (is_silent(p)) {
        (p->twin == NULL ? add_pairs_alone : add_pairs_of_rows)(p);
        return;
    }
    if (p->are_roots)
        add_pairs(p);
    else
#endif
        add_each(p);
    p->inputs->said_count = p->inputs->noted_count;
    if (keeps_terms(p))
        keep_terms(p);
}
