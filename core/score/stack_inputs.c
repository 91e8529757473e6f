/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a document. Two labels have one column of sums, which is added up here; for more of
 * them see core/score/stack_many.c.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/array.h"
#include "core/score/stack_attributes.h"
#include "core/score/stack_private.h"

/* ---- inputs of a document -------------------------------------------------------------------- */

void nb_stack_inputs_init(struct nb_stack_inputs *inputs)
{
    *inputs = (struct nb_stack_inputs){0};
}

void nb_stack_inputs_deinit(struct nb_stack_inputs *inputs)
{
    free(inputs->labels);
    free(inputs->x);
    free(inputs->t);
    free(inputs->noted);
    nb_stack_scratch_free(&inputs->scratch);
    nb_stack_attributes_free(&inputs->attributes);
    nb_stack_evidence_free(&inputs->evidence);
    nb_stack_inputs_init(inputs);
}

void nb_stack_inputs_twin(struct nb_stack_inputs *inputs, const struct nb_stack_weights *weights,
                          bool keeps)
{
    inputs->twin = weights != NULL && weights->settings.twin ? weights : NULL;
    inputs->keeps = keeps;
}

int nb_stack_inputs_room(struct nb_stack_inputs *inputs, uint32_t labels)
{
    if (labels <= inputs->room)
        return 0;
    struct nb_stack_inputs larger = {.room = labels, .twin = inputs->twin, .keeps = inputs->keeps};
    larger.labels = malloc(labels * sizeof *larger.labels);
    larger.x = malloc((size_t)labels * NB_STACK_INPUTS * sizeof *larger.x);
    larger.t = malloc(labels * sizeof *larger.t);
    if (larger.labels == NULL || larger.x == NULL || larger.t == NULL) {
        nb_stack_inputs_deinit(&larger);
        return NB_NO_MEMORY;
    }
    nb_stack_inputs_deinit(inputs);
    *inputs = larger;
    return 0;
}

/* ---- two labels ------------------------------------------------------------------------------ */

/* Where rows are noted for add_noted: a copy of what the loops over them need, which no store to
 * what is noted can change. */
struct notes {
    const struct nb_model *model;
    struct nb_stack_noted *next;
    uint32_t label;      /* the first one */
    uint32_t out, first; /* 1: a document is left out; and it has the first label */
};

static struct notes notes_of(const struct nb_stack_pass *p)
{
    bool is_out = p->without != NULL;
    struct nb_stack_noted *noted = p->inputs->noted; /* NULL before there was any */
    return (struct notes){.model = p->model,
                          .next = noted == NULL ? NULL : noted + p->inputs->noted_count,
                          .label = p->view->labels[0],
                          .out = is_out,
                          .first = is_out && p->without->label == p->view->labels[0]};
}

/* Back to the inputs. */
static void keep_notes(const struct nb_stack_pass *p, const struct notes *notes)
{
    p->inputs->noted_count = notes->next == NULL ? 0 : (size_t)(notes->next - p->inputs->noted);
    assert(p->inputs->noted_count <= p->inputs->noted_room);
}

/* There must be room. Returns D_w with the document that is left out, of which the row has `out`,
 * and `first` of the first label. A row that no document has is overwritten by the next, so that
 * there is no branch. */
static inline uint64_t note(struct notes *n, unsigned field, const struct nb_row *row, size_t place,
                            uint32_t out, uint32_t first)
{
    struct nb_two_documents d = nb_counts_of_two(n->model, row, n->label);
    uint64_t left = nb_stack_less(d.all, out);
    uint64_t own = nb_stack_less(d.own, first);
    own = own < left ? own : left;
    assert(n->next != NULL);
    *n->next = (struct nb_stack_noted){.first = (uint32_t)own,
                                       .second = (uint32_t)(left - own),
                                       .key = (uint32_t)row->id,
                                       .field = field,
                                       .place = (uint32_t)place};
    n->next += left != 0;
    return d.all;
}

/* `r` is that of the first label; that of the second is minus it. */
static inline void add_to_twin(const struct nb_stack_pass *p, size_t i, double r)
{
    const struct nb_stack_noted *n = &p->inputs->noted[i];
    if (p->twin == NULL)
        return;
    if (i + NB_MODEL_AHEAD < p->inputs->noted_count)
        nb_slots_prefetch(p->twin->slots, n[NB_MODEL_AHEAD].key);
    nb_stack_evidence_add_column(p->twin, n->field, n->key, -r);
}

#ifdef __SSE2__
/* The gains of both experts. */
static inline __m128d gains_of(const struct nb_stack_pass *p, const struct nb_stack_noted *n)
{
    const struct nb_stack_reading *a = &p->readings[0];
    const struct nb_stack_reading *b = &p->readings[1];
    return _mm_sub_pd(_mm_set_pd(nb_stack_log(b, n->first), nb_stack_log(a, n->first)),
                      _mm_set_pd(nb_stack_log(b, n->second), nb_stack_log(a, n->second)));
}

/* Both experts of the usual bank, r sqrt|r| each: two square roots for the time of one, and the
 * same bits. */
static void add_pairs(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    __m128d offsets[NB_FIELDS], sums[NB_FIELDS];
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        offsets[field] = _mm_set_pd(p->offsets[NB_FIELDS + field], p->offsets[field]);
        sums[field] = _mm_setzero_pd();
    }
    for (size_t i = 0; i < in->noted_count; i++) {
        const struct nb_stack_noted *n = &in->noted[i];
        __m128d r = _mm_sub_pd(gains_of(p, n), offsets[n->field]);
        __m128d e = _mm_mul_pd(r, _mm_sqrt_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), r)));
        sums[n->field] = _mm_add_pd(sums[n->field], e);
        add_to_twin(p, i, _mm_cvtsd_f64(_mm_unpackhi_pd(r, r)));
    }
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        double *x = in->x + (size_t)field * 2;
        x[0] = _mm_cvtsd_f64(sums[field]);
        x[(size_t)NB_STACK_GROUPS * 2] = _mm_cvtsd_f64(_mm_unpackhi_pd(sums[field], sums[field]));
    }
}
#endif

/* Adds what was noted to the sums, in its order. */
static void add_noted(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
#ifdef __SSE2__
    if (p->are_roots) {
        add_pairs(p);
        return;
    }
#endif
    for (size_t i = 0; i < in->noted_count; i++) {
        const struct nb_stack_noted *n = &in->noted[i];
        double *x = in->x + (size_t)n->field * 2;
        double r = 0;
        for (unsigned e = 0; e < p->experts; e++, x += (size_t)NB_STACK_GROUPS * 2) {
            const struct nb_stack_reading *reading = &p->readings[e];
            r = nb_stack_log(reading, n->first) - nb_stack_log(reading, n->second) -
                p->offsets[e * NB_FIELDS + n->field];
            *x += nb_stack_power(reading, r);
        }
        add_to_twin(p, i, r);
    }
}

/* ---- any number of labels -------------------------------------------------------------------- */

/* More than two labels: what is read of a row that is next but some, beside the row. */
static inline void prefetch_row(const struct nb_stack_pass *p, const struct nb_row *row)
{
    nb_counts_prefetch(p->model, row);
    if (p->twin != NULL)
        nb_slots_prefetch(p->twin->slots, (uint32_t)row->id);
}

/* More than two labels. */
static void add_row(const struct nb_stack_pass *p, unsigned field, const struct nb_row *row)
{
    uint64_t all = nb_counts_documents(p->model, row);
    if (p->without != NULL)
        all = nb_stack_less(all, 1);
    if (all != 0)
        nb_stack_many_add(p, field, row, all);
}

/* The features from `start` in the bag on. */
static void add_found(const struct nb_stack_pass *p, const struct nb_feature *features,
                      size_t start, const uint32_t *rows, size_t size)
{
    struct notes notes = notes_of(p);
    for (size_t i = 0; i < size; i++) {
        unsigned field = nb_feature_field(features[start + i].id);
        if (field >= NB_FIELDS) {
            nb_stack_attributes_note(p->inputs, features[start + i].id, rows[i], false);
            continue;
        }
        p->inputs->features[field]++;
        if (rows[i] == NB_NO_ROW)
            continue;
        if (p->view->columns == 1)
            (void)note(&notes, field, nb_model_row(p->model, rows[i]), start + i, 0, 0);
        else if (p->view->columns > 1)
            add_row(p, field, nb_model_row(p->model, rows[i]));
    }
    keep_notes(p, &notes);
}

static void add_features(const struct nb_stack_pass *p, const struct nb_feature *features,
                         size_t size, const uint32_t *known)
{
    uint32_t found[NB_MODEL_STEP];
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        add_found(p, features, start, nb_model_step(p->model, features, start, step, known, found),
                  step);
    }
}

/* Half way between the request for a row and its turn its cells are asked for. */
enum { AHEAD_OF_CELLS = NB_MODEL_AHEAD / 2 };

static inline const struct nb_row *row_of(const struct nb_stack_pass *p,
                                          const struct nb_row_count *rows, size_t size, size_t i)
{
    if (i + NB_MODEL_AHEAD < size)
        __builtin_prefetch(nb_model_row(p->model, rows[i + NB_MODEL_AHEAD].row));
    return nb_model_row(p->model, rows[i].row);
}

/* The rows have been looked at. */
static void add_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const struct nb_row *row = row_of(p, rows, size, i);
        if (i + AHEAD_OF_CELLS < size)
            prefetch_row(p, nb_model_row(p->model, rows[i + AHEAD_OF_CELLS].row));
        unsigned field = nb_feature_field(row->id);
        if (field < NB_FIELDS)
            add_row(p, field, row);
    }
}

/* The group of all fields but n-grams, for which the sums of these are added up in their order. */
static void put_total(const struct nb_stack_pass *p, double *x)
{
    const struct nb_stack_inputs *in = p->inputs;
    double *total = x + (size_t)NB_STACK_TOTAL * in->size;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        if (field == NB_FIELD_NGRAM || in->features[field] == 0)
            continue;
        for (uint32_t v = 0; v < in->size; v++)
            total[v] += x[(size_t)field * in->size + v];
    }
}

static void finish_twin(const struct nb_stack_pass *p)
{
    struct nb_stack_inputs *in = p->inputs;
    double shares[NB_FIELDS];
    in->has_twin = true;
    in->is_kept = p->twin->keeps;
    if (in->size > 2)
        return; /* nb_stack_many_finish did the rest */
    nb_stack_evidence_shares(in->features, nb_stack_attribute_count(in), shares);
    in->t[in->size - 1] = in->t[0] = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        in->t[in->size - 1] += shares[field] * p->twin->gains[field];
}

/* Sums become inputs. Returns 0 or NB_NO_MEMORY. */
static int finish(const struct nb_stack_pass *p, const struct nb_stack_settings *settings)
{
    struct nb_stack_inputs *in = p->inputs;
    if (in->size > 2)
        nb_stack_many_finish(p);
    else if (in->size == 2)
        add_noted(p);
    for (unsigned field = 0; field < NB_FIELDS; field++)
        in->features[NB_STACK_TOTAL] += field == NB_FIELD_NGRAM ? 0 : in->features[field];
    for (unsigned e = 0; e < p->experts; e++) {
        double *x = in->x + (size_t)e * NB_STACK_GROUPS * in->size;
        put_total(p, x);
        for (unsigned g = 0; g < NB_STACK_GROUPS; g++) {
            if (in->features[g] == 0)
                continue;
            double share = nb_stack_share(settings, in->features[g]);
            for (uint32_t v = 0; v < in->size; v++)
                x[(size_t)g * in->size + v] *= share;
            if (in->size == 2)
                x[(size_t)g * 2 + 1] = -x[(size_t)g * 2];
        }
    }
    if (p->twin != NULL)
        finish_twin(p);
    if (p->twin != NULL && p->twin->failed)
        return NB_NO_MEMORY;
    return nb_stack_attributes_put(p);
}

/* Whether there is one is known from the inputs. */
static int begin_twin(struct nb_stack_pass *pass, size_t size)
{
    struct nb_stack_inputs *in = pass->inputs;
    in->has_twin = in->is_kept = false;
    if (in->twin == NULL)
        return 0;
    if (in->evidence == NULL && (in->evidence = calloc(1, sizeof *in->evidence)) == NULL)
        return NB_NO_MEMORY;
    pass->twin = in->evidence;
    pass->twin->features = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        pass->twin->features += nb_model_vocabulary(pass->model, field);
    for (unsigned part = 0; part < nb_model_parts(pass->model); part++)
        pass->twin->features += nb_model_vocabulary(pass->model, NB_FIRST_PART + part);
    return nb_stack_evidence_start(pass->twin, &in->twin->slots, in->keeps, pass->view->columns,
                                   size);
}

/* Fills in the pass, and empties the inputs. Returns 0, NB_CONFLICT or NB_NO_MEMORY. */
static int begin(struct nb_stack_pass *pass, struct nb_stack *stack, const struct nb_model *model,
                 size_t size, struct nb_stack_inputs *inputs)
{
    const struct nb_stack_view *view;
    int rc = nb_stack_view(stack, model, &view);
    if (rc == 0 && view->size == 0)
        return NB_CONFLICT;
    if (rc == 0)
        rc = nb_stack_inputs_room(inputs, view->size);
    if (rc != 0)
        return rc;
    *pass = (struct nb_stack_pass){
        .stack = stack,
        .model = model,
        .view = view,
        .readings = nb_stack_readings(stack, view->size),
        .experts = nb_stack_bank(&stack->settings, view->size)->size,
        .inputs = inputs,
        .offsets = view->offsets,
    };
    pass->are_roots = pass->experts == 2 && pass->readings[0].kind == NB_POWER_1_5 &&
                      pass->readings[1].kind == NB_POWER_1_5;
    assert(view->size <= inputs->room && pass->experts <= NB_STACK_EXPERTS);
    inputs->size = view->size;
    inputs->count = pass->experts * NB_STACK_GROUPS;
    memcpy(inputs->labels, view->labels, view->size * sizeof *view->labels);
    memset(inputs->x, 0, (size_t)inputs->count * view->size * sizeof *inputs->x);
    memset(inputs->features, 0, sizeof inputs->features);
    inputs->noted_count = 0;
    nb_stack_attributes_empty(inputs);
    rc = view->columns != 1
             ? 0
             : nb_array_reserve(&inputs->noted, &inputs->noted_room, size, sizeof *inputs->noted);
    return rc != 0 ? rc : begin_twin(pass, size);
}

int nb_stack_inputs(struct nb_stack *stack, const struct nb_model *model,
                    const struct nb_feature *features, size_t size, struct nb_stack_inputs *inputs,
                    struct nb_error *error)
{
    return nb_stack_inputs_found(stack, model, features, size, NULL, inputs, error);
}

int nb_stack_inputs_found(struct nb_stack *stack, const struct nb_model *model,
                          const struct nb_feature *features, size_t size, const uint32_t *rows,
                          struct nb_stack_inputs *inputs, struct nb_error *error)
{
    struct nb_stack_pass pass;
    int rc = begin(&pass, stack, model, size, inputs);
    if (rc == NB_CONFLICT)
        return nb_error_set(error, rc, "the model has not learned a document yet");
    if (rc != 0 || (inputs->size > 2 && nb_stack_many_start(&pass, size) != 0))
        return nb_error_no_memory(error);
    add_features(&pass, features, size, rows);
    return finish(&pass, &stack->settings) != 0 ? nb_error_no_memory(error) : 0;
}

/* ---- a document that the counts have --------------------------------------------------------- */

/* The rows of values, apart: the loop over words calls nothing. Returns 0, or NB_CORRUPT if a row
 * was dropped. */
static int survey_values(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                         size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const struct nb_row *row = nb_model_row(p->model, rows[i].row);
        unsigned field = nb_feature_field(row->id);
        if (field >= NB_FIELDS && field != NB_FIELD_VALUE)
            return NB_CORRUPT; /* NB_DROPPED_ID */
        if (field == NB_FIELD_VALUE)
            nb_stack_attributes_note(p->inputs, row->id, rows[i].row,
                                     nb_counts_documents(p->model, row) == 1);
    }
    return 0;
}

/* Looks at all rows, the only time with two labels, for whose sake this loop is short. Returns 0,
 * or NB_CORRUPT if one of them was dropped. */
static int survey(const struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                  struct nb_stack_without *without)
{
    struct notes notes = notes_of(p);
    bool notes_rows = p->view->columns == 1;
    size_t others = 0;
    for (size_t i = 0; i < size; i++) {
        const struct nb_row *row = row_of(p, rows, size, i);
        unsigned field = nb_feature_field(row->id);
        if (!notes_rows && i + AHEAD_OF_CELLS < size)
            nb_counts_prefetch(p->model, nb_model_row(p->model, rows[i + AHEAD_OF_CELLS].row));
        if (field >= NB_FIELDS) {
            others++;
            continue;
        }
        uint64_t all = notes_rows ? note(&notes, field, row, i, notes.out, notes.first)
                                  : nb_counts_documents(p->model, row);
        without->features[field]++;
        without->unique[field] += all == 1;
    }
    keep_notes(p, &notes);
    memcpy(p->inputs->features, without->features, sizeof without->features);
    return others == 0 ? 0 : survey_values(p, rows, size);
}

/* With two labels: the offsets of the document's fields. */
static void put_own_offsets(struct nb_stack_pass *p, double *offsets)
{
    const struct nb_stack_bank *bank = nb_stack_bank(&p->stack->settings, p->view->size);
    for (unsigned e = 0; e < p->experts; e++)
        for (unsigned field = 0; field < NB_FIELDS; field++)
            if (p->without->features[field] != 0)
                nb_stack_put_offsets(p->view, p->model, nb_stack_taken(p->without, field), field,
                                     bank->experts[e].smoothing, &offsets[e * NB_FIELDS + field]);
    p->offsets = offsets;
}

int nb_stack_inputs_of_rows(struct nb_stack *stack, const struct nb_model *model,
                            const struct nb_row_count *rows, size_t size, uint32_t without,
                            struct nb_stack_inputs *inputs)
{
    struct nb_stack_pass pass;
    struct nb_stack_without out = {.label = without};
    double offsets[NB_STACK_EXPERTS * NB_FIELDS] = {0};
    if (without != NB_STACK_NO_LABEL && nb_model_documents(model, without) < 2)
        return NB_CONFLICT;
    int rc = begin(&pass, stack, model, size, inputs);
    if (rc != 0)
        return rc;
    pass.without = without != NB_STACK_NO_LABEL ? &out : NULL;
    rc = survey(&pass, rows, size, &out);
    if (rc == 0 && pass.without != NULL && inputs->size == 2)
        put_own_offsets(&pass, offsets);
    if (rc == 0 && inputs->size > 2)
        rc = nb_stack_many_start(&pass, size);
    if (rc != 0)
        return rc;
    if (inputs->size > 2)
        add_rows(&pass, rows, size);
    return finish(&pass, &stack->settings);
}
