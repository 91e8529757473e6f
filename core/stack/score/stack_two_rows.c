/* SPDX-License-Identifier: Apache-2.0
 *
 * Two labels: the rows of a document that the counts have, of which it may be left out. They are
 * read four at a time (core/counts/row_reader.h), and noted, or summed where all is known.
 */
#include "core/stack/score/stack_two_rows.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/counts/row_reader.h"
#include "core/stack/score/stack_attributes.h"
#include "core/stack/score/stack_notes.h"
#include "core/stack/score/stack_pairs.h"

void nb_stack_two_note_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                           size_t size, const struct nb_found *known)
{
    struct nb_stack_notes notes = nb_stack_notes_of(p);
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
        (void)nb_stack_note(&notes, features[i].id, row);
    }
    nb_stack_keep_notes(p, &notes);
}

#ifdef __SSE2__
/* The state of a loop over a step of a bag. */
struct reading {
    struct nb_stack_pairs pairs;
    struct nb_stack_said *said; /* the next one */
    uint32_t features[NB_FIELDS];
    unsigned
        turn; /* by so many bits documents of a pair are turned: the first label's come first */
};

/* Documents of both labels, of a row that some label has. `turn` turns those of a pair. */
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

/* `says` is a constant where this is called: what each feature says is kept. Of a mail that is as
 * much memory as the first-level cache has. */
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
        __m128d r = nb_stack_add_pair(&reading->pairs, first, second, field, (uint32_t)id, &e);
        if (!says)
            continue;
        said->place = start + i;
        nb_stack_say(said++, e, r);
    }
    reading->said = said;
}

void nb_stack_two_sum_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                          size_t size, const struct nb_found *known)
{
    struct nb_step own;
    struct reading reading = {.pairs = nb_stack_begin_pairs(p),
                              .said = p->inputs->said,
                              .turn = p->view->labels[0] * NB_PAIR_D};
    assert(p->view->labels[0] < 2);
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        struct nb_found found = nb_model_step_cells(p->model, features, start, step, known, &own);
        if (p->inputs->is_brief)
            read_step(p, &reading, features, start, step, size, &found, false);
        else
            read_step(p, &reading, features, start, step, size, &found, true);
    }
    memcpy(p->inputs->features, reading.features, sizeof reading.features);
    p->inputs->said_count = reading.said == NULL ? 0 : (size_t)(reading.said - p->inputs->said);
    nb_stack_end_pairs(p, &reading.pairs);
}
#endif

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

/* ---- reading --------------------------------------------------------------------------------- */

/* Where the rows of a document are read, and what is counted of them. */
struct surveying {
    struct nb_row_reader reader;
    struct nb_reader_labels labels;
    struct nb_slots_values slots; /* of the twin: asked for when a row is looked at */
    uint32_t features[NB_FIELDS];
    uint32_t shared[NB_FIELDS]; /* those that other documents have, too */
    size_t others;              /* those that are of no field */
};

/* Looks at four rows, and asks for what the twin has of them. */
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

/* How many rows have as many behind them as are asked for. */
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

/* Counts a row. Returns whether it is of a field. */
static inline bool count_row(struct surveying *s, unsigned field)
{
    bool is_other = field >= NB_FIELDS;
    if (__builtin_expect(is_other, 0))
        s->others++;
    else
        s->features[field]++;
    return !is_other;
}

/* Any four rows, or as many as there are. Returns where the next one is noted. */
static __attribute__((noinline)) struct nb_stack_noted *
note_any(struct surveying *s, struct nb_stack_notes notes, struct nb_stack_noted *next, size_t i)
{
    const uint64_t *ids = nb_reader_ids(&s->reader, i);
    notes.next = next;
    for (size_t k = 0; k < NB_READER_FOUR && i + k < s->reader.size; k++) {
        unsigned field = nb_feature_field(ids[k]);
        if (count_row(s, field))
            s->shared[field] += nb_stack_note(&notes, ids[k], s->reader.rows[i + k].row) != 1;
    }
    return notes.next;
}

static inline __attribute__((always_inline)) struct nb_stack_noted *
note_four(struct surveying *s, const struct nb_stack_notes *notes, struct nb_stack_noted *next,
          size_t i, bool is_inside)
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
        next += four.are_used[k]; /* else it is overwritten */
    }
    return next;
}

size_t nb_stack_two_note_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                              size_t size, struct nb_stack_without *without)
{
    struct nb_stack_notes notes = nb_stack_notes_of(p);
    struct nb_stack_noted *next = notes.next;
    struct surveying s;
    begin_survey(p, rows, size, &s);
    size_t i = 0;
    for (const size_t inside = size_inside(&s); i < inside; i += NB_READER_FOUR)
        next = note_four(&s, &notes, next, i, true);
    for (; i < size; i += NB_READER_FOUR)
        next = note_four(&s, &notes, next, i, false);
    notes.next = next;
    nb_stack_keep_notes(p, &notes);
    return end_survey(&s, without);
}

/* ---- summing --------------------------------------------------------------------------------- */

#ifdef __SSE2__
/* Where rows are summed as they are read. */
struct summing {
    const struct nb_stack_pass *p;
    struct nb_stack_pairs pairs;
    struct nb_stack_term *term; /* the next one; NULL: they are not kept */
};

static inline __attribute__((always_inline)) void sum_row(struct summing *sum, uint64_t id,
                                                          uint32_t first, uint32_t second)
{
    __m128d e;
    unsigned field = nb_feature_field(id);
    __m128d r = nb_stack_add_pair(&sum->pairs, first, second, field, (uint32_t)id, &e);
    if (sum->term != NULL)
        nb_stack_put_term(sum->term++, nb_stack_last_of(r), (uint32_t)id, field);
}

/* As note_any. */
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
        if (d != 0) /* new features come last */
            sum_row(sum, ids[k], (uint32_t)d, (uint32_t)(d >> 32));
    }
}

size_t nb_stack_two_sum_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                             size_t size, struct nb_stack_without *without)
{
    struct summing sum = {.p = p,
                          .pairs = nb_stack_begin_pairs(p),
                          .term = nb_stack_keeps_terms(p) ? p->twin->terms : NULL};
    struct surveying s;
    begin_survey(p, rows, size, &s);
    size_t i = 0;
    for (const size_t inside = size_inside(&s); i < inside; i += NB_READER_FOUR)
        sum_four(&s, &sum, i, true);
    for (; i < size; i += NB_READER_FOUR)
        sum_four(&s, &sum, i, false);
    if (sum.term != NULL)
        p->twin->term_count = (size_t)(sum.term - p->twin->terms);
    nb_stack_end_pairs(p, &sum.pairs);
    return end_survey(&s, without);
}
#endif
