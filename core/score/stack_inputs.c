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
    nb_stack_scratch_free(&inputs->scratch);
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

#ifdef __SSE2__
/* Both experts of the usual bank, r sqrt|r| each: two square roots for the time of one, and the
 * same bits. Returns r of the second. */
static double add_pair(const struct nb_stack_pass *p, unsigned field, uint64_t first, uint64_t all,
                       double *x)
{
    const struct nb_stack_reading *a = &p->readings[0];
    const struct nb_stack_reading *b = &p->readings[1];
    const double *offsets = p->offsets + field;
    __m128d gains = _mm_set_pd(nb_stack_gain(b, first, all), nb_stack_gain(a, first, all));
    __m128d r = _mm_sub_pd(gains, _mm_set_pd(offsets[NB_FIELDS], offsets[0]));
    __m128d e = _mm_mul_pd(r, _mm_sqrt_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), r)));
    x[0] += _mm_cvtsd_f64(e);
    x[(size_t)NB_STACK_GROUPS * 2] += _mm_cvtsd_f64(_mm_unpackhi_pd(e, e));
    return _mm_cvtsd_f64(_mm_unpackhi_pd(r, r));
}
#endif

/* `r` is that of the first label; that of the second is minus it. */
static inline void add_twin_column(const struct nb_stack_pass *p, unsigned field,
                                   const struct nb_row *row, double r)
{
    if (p->twin != NULL)
        (void)nb_stack_evidence_add(p->twin, field, row->id, -r);
}

/* Two labels, that is, one column. */
static void add_column(const struct nb_stack_pass *p, unsigned field, const struct nb_row *row,
                       uint64_t all)
{
    uint64_t first = nb_counts_of_two(p->model, row, p->view->labels[0]);
    if (p->without != NULL && p->without->label == p->view->labels[0])
        first = nb_stack_less(first, 1);
    first = first < all ? first : all;
    double *x = p->inputs->x + (size_t)field * 2;
#ifdef __SSE2__
    if (p->are_roots) {
        add_twin_column(p, field, row, add_pair(p, field, first, all, x));
        return;
    }
#endif
    double r = 0;
    for (unsigned e = 0; e < p->experts; e++, x += (size_t)NB_STACK_GROUPS * 2) {
        const struct nb_stack_reading *reading = &p->readings[e];
        double offset = p->offsets[e * NB_FIELDS + field];
        r = nb_stack_gain(reading, first, all) - offset;
        *x += nb_stack_power(reading, r);
    }
    add_twin_column(p, field, row, r);
}

static void add_row(const struct nb_stack_pass *p, unsigned field, const struct nb_row *row)
{
    uint64_t all = nb_counts_documents(p->model, row);
    if (p->without != NULL)
        all = nb_stack_less(all, 1);
    if (all == 0)
        return;
    if (p->view->columns == 1)
        add_column(p, field, row, all);
    else if (p->view->columns > 1)
        nb_stack_many_add(p, field, row, all);
}

static void add_features(const struct nb_stack_pass *p, const struct nb_feature *features,
                         size_t size)
{
    uint32_t rows[NB_MODEL_STEP];
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        nb_model_find_all(p->model, features + start, step, rows);
        for (size_t i = 0; i < step; i++) {
            if (p->twin != NULL && i + NB_MODEL_AHEAD < step)
                nb_slots_prefetch(p->twin->slots, features[start + i + NB_MODEL_AHEAD].id);
            unsigned field = nb_feature_field(features[start + i].id);
            assert(field < NB_FIELDS);
            p->inputs->features[field]++;
            if (rows[i] != NB_NO_ROW)
                add_row(p, field, nb_model_row(p->model, rows[i]));
        }
    }
}

/* Rows that lie anywhere in memory: some are under way while one is added. */
static void add_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (i + NB_MODEL_AHEAD < size)
            __builtin_prefetch(nb_model_row(p->model, rows[i + NB_MODEL_AHEAD].row));
        const struct nb_row *row = nb_model_row(p->model, rows[i].row);
        unsigned field = nb_feature_field(row->id);
        assert(field < NB_FIELDS);
        p->inputs->features[field]++;
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
    nb_stack_evidence_shares(in->features, shares);
    in->t[in->size - 1] = in->t[0] = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        in->t[in->size - 1] += shares[field] * p->twin->gains[field];
}

/* Sums become inputs. Returns 0 or NB_NO_MEMORY. */
static int finish(const struct nb_stack_pass *p, const struct nb_stack_settings *settings)
{
    struct nb_stack_inputs *in = p->inputs;
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
    return p->twin != NULL && p->twin->failed ? NB_NO_MEMORY : 0;
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
    return begin_twin(pass, size);
}

int nb_stack_inputs(struct nb_stack *stack, const struct nb_model *model,
                    const struct nb_feature *features, size_t size, struct nb_stack_inputs *inputs,
                    struct nb_error *error)
{
    struct nb_stack_pass pass;
    int rc = begin(&pass, stack, model, size, inputs);
    if (rc == NB_CONFLICT)
        return nb_error_set(error, rc, "the model has not learned a document yet");
    if (rc != 0 || (inputs->size > 2 && nb_stack_many_start(&pass, size) != 0))
        return nb_error_no_memory(error);
    add_features(&pass, features, size);
    if (inputs->size > 2)
        nb_stack_many_finish(&pass);
    return finish(&pass, &stack->settings) != 0 ? nb_error_no_memory(error) : 0;
}

/* ---- a document that the counts have --------------------------------------------------------- */

static void sum_up(const struct nb_model *model, const struct nb_row_count *rows, size_t size,
                   struct nb_stack_without *without)
{
    for (size_t i = 0; i < size; i++) {
        if (i + NB_MODEL_AHEAD < size)
            __builtin_prefetch(nb_model_row(model, rows[i + NB_MODEL_AHEAD].row));
        const struct nb_row *row = nb_model_row(model, rows[i].row);
        unsigned field = nb_feature_field(row->id);
        assert(field < NB_FIELDS);
        without->features[field]++;
        without->unique[field] += nb_counts_documents(model, row) == 1;
    }
}

/* With two labels: the offsets of the document's fields. */
static void put_own_offsets(struct nb_stack_pass *p, double *offsets)
{
    const struct nb_stack_bank *bank = nb_stack_bank(&p->stack->settings, p->view->size);
    for (unsigned e = 0; e < p->experts; e++)
        for (unsigned field = 0; field < NB_FIELDS; field++)
            if (p->without->features[field] != 0)
                nb_stack_put_offsets(p->view, p->model, p->without, field,
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
    if (without != NB_STACK_NO_LABEL) {
        sum_up(model, rows, size, &out);
        pass.without = &out;
    }
    if (pass.without != NULL && inputs->size == 2)
        put_own_offsets(&pass, offsets);
    if (inputs->size > 2 && nb_stack_many_start(&pass, size) != 0)
        return NB_NO_MEMORY;
    add_rows(&pass, rows, size);
    if (inputs->size > 2)
        nb_stack_many_finish(&pass);
    return finish(&pass, &stack->settings);
}
