/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/stack_private.h"

void nb_stack_settings_init(struct nb_stack_settings *settings)
{
    *settings = (struct nb_stack_settings){
        .two = {.size = 2,
                .experts = {{.smoothing = 0.02,
                             .power = 1.5,
                             .start_field = 0.05,
                             .start_ngram = 0.2,
                             .start_total = 0.5},
                            {.smoothing = 0.5,
                             .power = 1.5,
                             .start_field = 0.08,
                             .start_ngram = 0.35,
                             .start_total = 0.8}}},
        .many = {.size = 1,
                 .experts = {{.smoothing = 0.1,
                              .power = 2,
                              .start_field = 0.05,
                              .start_ngram = 0.2,
                              .start_total = 0.6}}},
        .length = 0.8,
        .scale = 0.4,
        .rate = 0.12,
        .mixing = 0.5,
        .memory = 2000,
    };
}

/* ---- what the settings fix ------------------------------------------------------------------- */

/* Constants stand for themselves: 1, 1.5 and 2 have exact doubles. */
static enum nb_stack_power_kind power_kind(double power)
{
    static const double powers[] = {1, 1.5, 2};
    for (unsigned i = 0; i < 3; i++)
        if (!(power < powers[i]) && !(power > powers[i]))
            return (enum nb_stack_power_kind)i;
    return NB_POWER_ANY;
}

static void free_readings(struct nb_stack_reading *readings, unsigned size)
{
    for (unsigned e = 0; readings != NULL && e < size; e++)
        nb_log_table_deinit(&readings[e].logs);
    free(readings);
}

static struct nb_stack_reading *readings_of(const struct nb_stack_bank *bank)
{
    struct nb_stack_reading *readings = calloc(bank->size, sizeof *readings);
    for (unsigned e = 0; readings != NULL && e < bank->size; e++) {
        struct nb_stack_reading *r = &readings[e];
        r->power = bank->experts[e].power;
        r->kind = power_kind(r->power);
        if (nb_log_table_init(&r->logs, bank->experts[e].smoothing) != 0) {
            free_readings(readings, bank->size);
            return NULL;
        }
    }
    return readings;
}

static void note_bytes(struct nb_stack *s)
{
    const struct nb_stack_view *view = &s->view;
    size_t logs = 0;
    for (unsigned e = 0; e < s->settings.two.size; e++)
        logs += s->two[e].logs.size;
    for (unsigned e = 0; e < s->settings.many.size; e++)
        logs += s->many[e].logs.size;
    atomic_store(&s->view_bytes, view->room * (sizeof *view->labels + sizeof *view->position) +
                                     (view->offset_room + logs) * sizeof(double));
}

int nb_stack_new(const struct nb_stack_settings *settings, struct nb_stack **stack)
{
    assert(settings->two.size >= 1 && settings->two.size <= NB_STACK_EXPERTS);
    assert(settings->many.size >= 1 && settings->many.size <= NB_STACK_EXPERTS);
    struct nb_stack *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NB_NO_MEMORY;
    s->settings = *settings;
    s->two = readings_of(&settings->two);
    s->many = readings_of(&settings->many);
    if (s->two == NULL || s->many == NULL || pthread_mutex_init(&s->mutex, NULL) != 0) {
        free_readings(s->two, settings->two.size);
        free_readings(s->many, settings->many.size);
        free(s);
        return NB_NO_MEMORY;
    }
    note_bytes(s);
    *stack = s;
    return 0;
}

void nb_stack_free(struct nb_stack **stack)
{
    struct nb_stack *s = *stack;
    *stack = NULL;
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->mutex);
    free_readings(s->two, s->settings.two.size);
    free_readings(s->many, s->settings.many.size);
    free(s->view.labels);
    free(s->view.position);
    free(s->view.offsets);
    free(s);
}

size_t nb_stack_memory(const struct nb_stack *stack)
{
    size_t readings = stack->settings.two.size + stack->settings.many.size;
    return sizeof *stack + readings * sizeof *stack->two + atomic_load(&stack->view_bytes);
}

/* ---- what the counts fix --------------------------------------------------------------------- */

static int labels_room(struct nb_stack_view *view, uint32_t labels)
{
    if (labels <= view->room)
        return 0;
    uint32_t room = labels + labels / 2;
    uint32_t *numbers = malloc(room * sizeof *numbers);
    uint32_t *position = malloc(room * sizeof *position);
    if (numbers == NULL || position == NULL) {
        free(numbers);
        free(position);
        return NB_NO_MEMORY;
    }
    free(view->labels);
    free(view->position);
    view->labels = numbers;
    view->position = position;
    view->room = room;
    return 0;
}

static void put_labels(struct nb_stack_view *view, const struct nb_model *model)
{
    const uint32_t *sorted = nb_model_labels_sorted(model);
    uint32_t labels = nb_model_label_count(model);
    view->size = 0;
    for (uint32_t i = 0; i < labels; i++)
        if (nb_model_documents(model, sorted[i]) != 0)
            view->labels[view->size++] = sorted[i];
    for (uint32_t i = 0; i < labels; i++)
        view->position[i] = view->size;
    for (uint32_t v = 0; v < view->size; v++)
        view->position[view->labels[v]] = v;
    view->columns = nb_stack_columns(view->size);
}

static int offsets_room(struct nb_stack_view *view, unsigned experts)
{
    size_t need = (size_t)experts * NB_FIELDS * view->columns;
    if (need <= view->offset_room)
        return 0;
    double *offsets = malloc(need * sizeof *offsets);
    if (offsets == NULL)
        return NB_NO_MEMORY;
    free(view->offsets);
    view->offsets = offsets;
    view->offset_room = need;
    return 0;
}

static void put_offsets(struct nb_stack_view *view, const struct nb_model *model,
                        const struct nb_stack_bank *bank)
{
    double *to = view->offsets;
    for (unsigned e = 0; e < bank->size; e++) {
        for (unsigned field = 0; field < NB_FIELDS; field++) {
            uint64_t all = 0;
            for (uint32_t v = 0; v < view->size; v++)
                all += nb_model_presences(model, view->labels[v], field);
            double words = (double)nb_model_vocabulary(model, field) + 1;
            double virtual_all = bank->experts[e].smoothing * words;
            for (uint32_t v = 0; v < view->columns; v++) {
                uint64_t own = nb_model_presences(model, view->labels[v], field);
                *to++ = log((double)own + virtual_all) - log((double)(all - own) + virtual_all);
            }
        }
    }
}

/* What is looked up are numbers of documents. */
static int grow_logs(struct nb_stack *s, const struct nb_model *model)
{
    struct nb_stack_reading *readings = s->view.size <= 2 ? s->two : s->many;
    unsigned size = nb_stack_bank(&s->settings, s->view.size)->size;
    int rc = 0;
    for (unsigned e = 0; rc == 0 && e < size; e++)
        rc = nb_log_table_grow(&readings[e].logs, nb_model_documents_all(model));
    return rc;
}

static int view_make(struct nb_stack *s, const struct nb_model *model)
{
    struct nb_stack_view *view = &s->view;
    int rc = labels_room(view, nb_model_label_count(model));
    if (rc != 0)
        return rc;
    put_labels(view, model);
    const struct nb_stack_bank *bank = nb_stack_bank(&s->settings, view->size);
    rc = offsets_room(view, bank->size);
    if (rc == 0)
        rc = grow_logs(s, model);
    if (rc == 0)
        put_offsets(view, model, bank);
    note_bytes(s);
    return rc;
}

int nb_stack_view(struct nb_stack *stack, const struct nb_model *model,
                  const struct nb_stack_view **view)
{
    uint64_t generation = nb_model_generation(model);
    int rc = 0;
    if (atomic_load_explicit(&stack->generation, memory_order_acquire) != generation) {
        pthread_mutex_lock(&stack->mutex);
        if (atomic_load_explicit(&stack->generation, memory_order_relaxed) != generation) {
            atomic_store_explicit(&stack->generation, 0, memory_order_relaxed);
            rc = view_make(stack, model);
            if (rc == 0)
                atomic_store_explicit(&stack->generation, generation, memory_order_release);
        }
        pthread_mutex_unlock(&stack->mutex);
    }
    *view = &stack->view;
    return rc;
}

/* ---- inputs of a document -------------------------------------------------------------------- */

void nb_stack_inputs_init(struct nb_stack_inputs *inputs)
{
    *inputs = (struct nb_stack_inputs){0};
}

void nb_stack_inputs_deinit(struct nb_stack_inputs *inputs)
{
    free(inputs->labels);
    free(inputs->x);
    free(inputs->gains);
    nb_stack_inputs_init(inputs);
}

static int inputs_room(struct nb_stack_inputs *inputs, uint32_t labels)
{
    if (labels <= inputs->room)
        return 0;
    struct nb_stack_inputs larger = {.room = labels};
    larger.labels = malloc(labels * sizeof *larger.labels);
    larger.gains = malloc(((size_t)labels + 1) * sizeof *larger.gains);
    larger.x = malloc((size_t)labels * NB_STACK_INPUTS * sizeof *larger.x);
    if (larger.labels == NULL || larger.gains == NULL || larger.x == NULL) {
        nb_stack_inputs_deinit(&larger);
        return NB_NO_MEMORY;
    }
    nb_stack_inputs_deinit(inputs);
    *inputs = larger;
    return 0;
}

/* One document's features on their way into the inputs. */
struct pass {
    const struct nb_model *model;
    const struct nb_stack_view *view;
    const struct nb_stack_reading *readings;
    unsigned experts;
    bool are_roots; /* two experts, both of power 1.5 */
    struct nb_stack_inputs *inputs;
};

/* Adds e of r = gain - offset for every column. A loop for each power, so that the short ones are
 * only additions and multiplications. */
static void add_powers(const struct nb_stack_reading *reading, const double *gains,
                       const double *offsets, uint32_t columns, double *x)
{
    switch (reading->kind) {
    case NB_POWER_1:
        for (uint32_t v = 0; v < columns; v++)
            x[v] += gains[v] - offsets[v];
        return;
    case NB_POWER_2:
        for (uint32_t v = 0; v < columns; v++) {
            double r = gains[v] - offsets[v];
            x[v] += r * fabs(r);
        }
        return;
    case NB_POWER_1_5:
    case NB_POWER_ANY:
        break;
    }
    for (uint32_t v = 0; v < columns; v++)
        x[v] += nb_stack_power(reading, gains[v] - offsets[v]);
}

/* Puts the gains of a row's cells over those of labels that do not have the feature. Labels without
 * documents have a place of their own behind the others. The two cells in the row are written
 * without a look at whether they are there, the second first: one that is not there says that label
 * 0 has no document with the feature, which is so or is put right by the first. */
static void put_gains(const struct pass *p, const struct nb_stack_reading *reading,
                      const struct nb_row *row, uint64_t all)
{
    double *gains = p->inputs->gains;
    const uint32_t *position = p->view->position;
    double absent = nb_stack_gain(reading, 0, all);
    for (uint32_t v = 0; v < p->view->columns; v++)
        gains[v] = absent;
    gains[position[row->label[1]]] = nb_stack_gain(reading, row->d[1], all);
    gains[position[row->label[0]]] = nb_stack_gain(reading, row->d[0], all);
    if (row->more == NB_NO_ROW)
        return;
    const struct nb_spill *run = nb_row_run(&p->model->pool, row);
    for (uint32_t i = 0; i < run->used; i++)
        gains[position[run[i].label]] = nb_stack_gain(reading, run[i].d, all);
}

/* d_wv of the label in the only column there is, with two labels. */
static uint64_t first_documents(const struct pass *p, const struct nb_row *row)
{
    uint32_t label = p->view->labels[0];
    uint64_t documents = row->label[1] == label ? row->d[1] : 0;
    documents = row->label[0] == label ? row->d[0] : documents;
    if (row->more == NB_NO_ROW)
        return documents;
    const struct nb_spill *run = nb_row_run(&p->model->pool, row); /* of labels that were once */
    for (uint32_t i = 0; i < run->used; i++)
        documents = run[i].label == label ? run[i].d : documents;
    return documents;
}

/* Adds what every expert says of a feature to the sums of its field. Not inlined, so that the loop
 * over the features of a model with two labels keeps its registers: a tenth of its time. */
static __attribute__((noinline)) void add_columns(const struct pass *p, unsigned field,
                                                  const struct nb_row *row, uint64_t all)
{
    uint32_t columns = p->view->columns;
    for (unsigned e = 0; e < p->experts; e++) {
        const struct nb_stack_reading *reading = &p->readings[e];
        const double *offsets = p->view->offsets + ((size_t)e * NB_FIELDS + field) * columns;
        double *x = p->inputs->x + (size_t)(e * NB_STACK_GROUPS + field) * p->inputs->size;
        put_gains(p, reading, row, all);
        add_powers(reading, p->inputs->gains, offsets, columns, x);
    }
}

#ifdef __SSE2__
/* Both experts of the usual bank, r sqrt|r| each: two square roots for the time of one, and the
 * same bits. */
static void add_pair(const struct pass *p, unsigned field, uint64_t first, uint64_t all, double *x)
{
    const struct nb_stack_reading *a = &p->readings[0];
    const struct nb_stack_reading *b = &p->readings[1];
    const double *offsets = p->view->offsets + field;
    __m128d gains = _mm_set_pd(nb_stack_gain(b, first, all), nb_stack_gain(a, first, all));
    __m128d r = _mm_sub_pd(gains, _mm_set_pd(offsets[NB_FIELDS], offsets[0]));
    __m128d e = _mm_mul_pd(r, _mm_sqrt_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), r)));
    x[0] += _mm_cvtsd_f64(e);
    x[(size_t)NB_STACK_GROUPS * 2] += _mm_cvtsd_f64(_mm_unpackhi_pd(e, e));
}
#endif

/* The same with two labels, that is, one column: the gains need no place to be put. The same
 * numbers, in a third of the time. */
static void add_column(const struct pass *p, unsigned field, const struct nb_row *row, uint64_t all)
{
    uint64_t first = first_documents(p, row);
    double *x = p->inputs->x + (size_t)field * 2;
#ifdef __SSE2__
    if (p->are_roots) {
        add_pair(p, field, first, all, x);
        return;
    }
#endif
    for (unsigned e = 0; e < p->experts; e++, x += (size_t)NB_STACK_GROUPS * 2) {
        const struct nb_stack_reading *reading = &p->readings[e];
        double offset = p->view->offsets[e * NB_FIELDS + field];
        *x += nb_stack_power(reading, nb_stack_gain(reading, first, all) - offset);
    }
}

static void add_row(const struct pass *p, unsigned field, const struct nb_row *row)
{
    uint64_t all = nb_row_documents(p->model, row);
    if (all == 0)
        return;
    if (p->view->columns == 1)
        add_column(p, field, row, all);
    else if (p->view->columns > 1)
        add_columns(p, field, row, all);
}

static void add_features(const struct pass *p, const struct nb_feature *features, size_t size)
{
    uint32_t rows[NB_MODEL_STEP];
    for (size_t start = 0; start < size; start += NB_MODEL_STEP) {
        size_t step = size - start < NB_MODEL_STEP ? size - start : NB_MODEL_STEP;
        nb_model_find_all(p->model, features + start, step, rows);
        for (size_t i = 0; i < step; i++) {
            unsigned field = nb_feature_field(features[start + i].id);
            p->inputs->features[field]++;
            if (rows[i] != NB_NO_ROW)
                add_row(p, field, nb_model_row(p->model, rows[i]));
        }
    }
}

/* Sums over fields become the total's, and sums become inputs. */
static void finish(const struct pass *p, const struct nb_stack_settings *settings)
{
    struct nb_stack_inputs *in = p->inputs;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        in->features[NB_STACK_TOTAL] += field == NB_FIELD_NGRAM ? 0 : in->features[field];
    double shares[NB_STACK_GROUPS];
    for (unsigned g = 0; g < NB_STACK_GROUPS; g++)
        shares[g] = nb_stack_share(settings, in->features[g]);
    for (unsigned e = 0; e < p->experts; e++) {
        double *x = in->x + (size_t)e * NB_STACK_GROUPS * in->size;
        for (unsigned field = 0; field < NB_FIELDS; field++)
            for (uint32_t v = 0; v < p->view->columns && field != NB_FIELD_NGRAM; v++)
                x[NB_STACK_TOTAL * in->size + v] += x[field * in->size + v];
        for (unsigned g = 0; g < NB_STACK_GROUPS; g++) {
            for (uint32_t v = 0; v < p->view->columns; v++)
                x[g * in->size + v] *= shares[g];
            if (in->size == 2)
                x[(size_t)g * 2 + 1] = -x[(size_t)g * 2];
        }
    }
}

int nb_stack_inputs(struct nb_stack *stack, const struct nb_model *model,
                    const struct nb_feature *features, size_t size, struct nb_stack_inputs *inputs,
                    struct nb_error *error)
{
    const struct nb_stack_view *view;
    int rc = nb_stack_view(stack, model, &view);
    if (rc == 0 && view->size == 0)
        return nb_error_set(error, NB_CONFLICT, "the model has not learned a document yet");
    if (rc == 0)
        rc = inputs_room(inputs, view->size);
    if (rc != 0)
        return nb_error_no_memory(error);
    struct pass pass = {
        .model = model,
        .view = view,
        .readings = nb_stack_readings(stack, view->size),
        .experts = nb_stack_bank(&stack->settings, view->size)->size,
        .inputs = inputs,
    };
    pass.are_roots = pass.experts == 2 && pass.readings[0].kind == NB_POWER_1_5 &&
                     pass.readings[1].kind == NB_POWER_1_5;
    inputs->size = view->size;
    inputs->count = pass.experts * NB_STACK_GROUPS;
    memcpy(inputs->labels, view->labels, view->size * sizeof *view->labels);
    memset(inputs->x, 0, (size_t)inputs->count * view->size * sizeof *inputs->x);
    memset(inputs->features, 0, sizeof inputs->features);
    add_features(&pass, features, size);
    finish(&pass, &stack->settings);
    return 0;
}
