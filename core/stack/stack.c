/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/stack.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/stack/stack_evidence.h"
#include "core/stack/stack_private.h"

void nb_stack_settings_init(struct nb_stack_settings *settings)
{
    *settings = (struct nb_stack_settings){
        .two = {.size = 2,
                .experts = {{.smoothing = 0.02,
                             .share = 1,
                             .power = 1.5,
                             .start_field = 0.05,
                             .start_ngram = 0.2,
                             .start_total = 0.5},
                            {.smoothing = 0.5,
                             .share = 1,
                             .power = 1.5,
                             .start_field = 0.08,
                             .start_ngram = 0.35,
                             .start_total = 0.8}}},
        .many = {.size = 1,
                 .experts = {{.smoothing = 0.1,
                              .share = 0.3,
                              .power = 2,
                              .start_field = 0.05,
                              .start_ngram = 0.2,
                              .start_total = 0.6}}},
        .length = 0.8,
        .scale = 0.4,
        .rate = 0.12,
        .mixing = 0.5,
        .memory = 2000,
        .twin = true,
    };
}

/* ---- data derived from settings -------------------------------------------------------------- */

/* 1, 1.5 and 2 are exact as doubles, so that they can be compared. */
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
    atomic_store(&s->view_bytes, view->room * sizeof *view->labels +
                                     view->offset_room * sizeof *view->offsets +
                                     nb_numbers_memory(&view->numbers));
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
    for (uint32_t n = 0; n < NB_STACK_SHARES; n++)
        s->shares[n] = (float)nb_stack_share(settings, n);
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
    free(s->view.offsets);
    nb_numbers_deinit(&s->view.numbers);
    free(s);
}

void nb_stack_cut_numbers(struct nb_stack *stack, const struct nb_settings *settings)
{
    stack->cutting = nb_numbers_may_be_cut(settings) ? settings : NULL;
}

size_t nb_stack_memory(const struct nb_stack *stack)
{
    size_t readings = stack->settings.two.size + stack->settings.many.size;
    return sizeof *stack + readings * sizeof *stack->two + atomic_load(&stack->view_bytes);
}

/* ---- data derived from counts ---------------------------------------------------------------- */

static int labels_room(struct nb_stack_view *view, uint32_t labels)
{
    if (labels <= view->room)
        return 0;
    uint32_t room = labels + labels / 2;
    uint32_t *numbers = malloc(room * sizeof *numbers);
    if (numbers == NULL)
        return NB_NO_MEMORY;
    free(view->labels);
    view->labels = numbers;
    view->room = room;
    return 0;
}

static void put_labels(struct nb_stack_view *view, const struct nb_model *model)
{
    const uint32_t *sorted = nb_model_labels_sorted(model);
    uint32_t labels = nb_model_label_count(model);
    view->size = 0;
    for (uint32_t i = 0; i < labels; i++)
        if (nb_counts_of_label(model, sorted[i]) != 0)
            view->labels[view->size++] = sorted[i];
    assert(view->size <= labels && labels <= view->room);
    view->columns = view->size < 2 ? 0 : view->size == 2 ? 1 : labels;
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

/* Grows the tables of logarithms. All look-ups are for numbers of documents. */
static int grow_logs(struct nb_stack *s, const struct nb_model *model)
{
    struct nb_stack_reading *readings = s->view.size <= 2 ? s->two : s->many;
    unsigned size = nb_stack_bank(&s->settings, s->view.size)->size;
    int rc = 0;
    for (unsigned e = 0; rc == 0 && e < size; e++)
        rc = nb_log_table_grow(&readings[e].logs, nb_model_documents_all(model));
    return rc;
}

/* Returns T_v without the left-out document. */
static uint64_t presences(const struct nb_model *model, struct nb_stack_taken taken, uint32_t label,
                          unsigned sum)
{
    uint64_t all = sum < NB_FIELDS ? nb_counts_presences(model, label, sum)
                                   : nb_model_presences(model, label, sum);
    return label != taken.label ? all : nb_stack_less(all, taken.features);
}

void nb_stack_put_offsets(const struct nb_stack_view *view, const struct nb_model *model,
                          struct nb_stack_taken taken, unsigned sum, double added, double *offsets)
{
    uint64_t all = 0;
    uint64_t words = nb_stack_less(nb_model_vocabulary(model, sum), taken.unique);
    double virtual_all = added * ((double)words + 1);
    if (view->columns > 1)
        memset(offsets, 0, view->columns * sizeof *offsets); /* for labels without documents */
    for (uint32_t v = 0; v < view->size; v++) {
        uint64_t own = presences(model, taken, view->labels[v], sum);
        all += own;
        if (view->columns > 1)
            offsets[view->labels[v]] =
                (double)own; /* T_v for now; the offset when `all` is known */
    }
    if (view->columns == 1) {
        uint64_t own = presences(model, taken, view->labels[0], sum);
        offsets[0] = log((double)own + virtual_all) - log((double)(all - own) + virtual_all);
        return;
    }
    for (uint32_t v = 0; v < view->size; v++) {
        double *offset = &offsets[view->labels[v]];
        double own = *offset;
        *offset = log((own + virtual_all) / ((double)(all - (uint64_t)own) + virtual_all));
    }
}

/* Computes the offsets of a field. Under the mutex, or while no reader uses the view. */
static void put_field(struct nb_stack *s, const struct nb_model *model, unsigned field)
{
    struct nb_stack_view *view = &s->view;
    const struct nb_stack_bank *bank = nb_stack_bank(&s->settings, view->size);
    assert(field < NB_FIELDS && view->columns > 0);
    assert((size_t)bank->size * NB_FIELDS * view->columns <= view->offset_room);
    for (unsigned e = 0; e < bank->size; e++)
        nb_stack_put_offsets(view, model, nb_stack_taken(NULL, 0), field,
                             nb_stack_added(&bank->experts[e]),
                             view->offsets + ((size_t)e * NB_FIELDS + field) * view->columns);
    atomic_fetch_or_explicit(&view->fields, 1u << field, memory_order_release);
}

static int view_make(struct nb_stack *s, const struct nb_model *model)
{
    struct nb_stack_view *view = &s->view;
    atomic_store_explicit(&view->fields, 0, memory_order_relaxed);
    atomic_store_explicit(&view->has_numbers, false, memory_order_relaxed);
    int rc = labels_room(view, nb_model_label_count(model));
    if (rc != 0)
        return rc;
    put_labels(view, model);
    rc = offsets_room(view, nb_stack_bank(&s->settings, view->size)->size);
    if (rc == 0)
        rc = grow_logs(s, model);
    for (unsigned field = 0; rc == 0 && view->columns == 1 && field < NB_FIELDS; field++)
        put_field(s, model, field);
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

void nb_stack_view_field(struct nb_stack *stack, const struct nb_model *model, unsigned field)
{
    pthread_mutex_lock(&stack->mutex);
    uint32_t fields = atomic_load_explicit(&stack->view.fields, memory_order_relaxed);
    if ((fields >> field & 1u) == 0 && stack->view.columns != 0)
        put_field(stack, model, field);
    pthread_mutex_unlock(&stack->mutex);
}

int nb_stack_numbers(struct nb_stack *stack, const struct nb_model *model,
                     const struct nb_numbers **numbers)
{
    struct nb_stack_view *view = &stack->view;
    int rc = 0;
    *numbers = stack->cutting == NULL ? NULL : &view->numbers;
    if (stack->cutting == NULL || atomic_load_explicit(&view->has_numbers, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&stack->mutex);
    if (!atomic_load_explicit(&view->has_numbers, memory_order_relaxed)) {
        rc = nb_numbers_make(&view->numbers, stack->cutting, model, view->labels, view->size);
        atomic_store_explicit(&view->has_numbers, rc == 0, memory_order_release);
        note_bytes(stack);
    }
    pthread_mutex_unlock(&stack->mutex);
    return rc;
}

void nb_stack_evidence_free(struct nb_stack_evidence **evidence)
{
    struct nb_stack_evidence *e = *evidence;
    *evidence = NULL;
    if (e == NULL)
        return;
    free(e->sums);
    free(e->offsets);
    free(e->errors);
    free(e->terms);
    free(e->cell_labels);
    free(e->cell_gains);
    free(e);
}

static int sums_room(struct nb_stack_evidence *e, uint32_t columns)
{
    size_t room = (size_t)columns * NB_FIELDS;
    if (room <= e->sum_room)
        return 0;
    e->sum_room = 0;
    if (nb_array_resize(&e->sums, room, sizeof *e->sums) != 0 ||
        nb_array_resize(&e->offsets, room, sizeof *e->offsets) != 0 ||
        nb_array_resize(&e->errors, columns, sizeof *e->errors) != 0)
        return NB_NO_MEMORY;
    e->sum_room = room;
    return 0;
}

int nb_stack_evidence_start(struct nb_stack_evidence *e, const struct nb_slots *slots, bool keeps,
                            uint32_t columns, size_t size)
{
    e->slots = slots;
    e->keeps = keeps;
    e->columns = columns;
    e->fields = 0;
    e->term_count = e->cell_count = 0;
    e->failed = false;
    memset(e->u, 0, sizeof e->u);
    memset(e->gains, 0, sizeof e->gains);
    if (columns > 0 && sums_room(e, columns) != 0)
        return NB_NO_MEMORY;
    return keeps ? nb_array_renew(&e->terms, &e->term_room, size, sizeof *e->terms) : 0;
}

int nb_stack_evidence_room(struct nb_stack_evidence *e, size_t count)
{
    size_t wanted = e->cell_count + count;
    size_t room = nb_array_room(e->cell_room, wanted, sizeof *e->cell_gains);
    if (wanted <= e->cell_room)
        return 0;
    if (nb_array_resize(&e->cell_labels, room, sizeof *e->cell_labels) != 0 ||
        nb_array_resize(&e->cell_gains, room, sizeof *e->cell_gains) != 0) {
        e->failed = true;
        return NB_NO_MEMORY;
    }
    e->cell_room = room;
    return 0;
}

void nb_stack_evidence_shares(const uint32_t *features, uint32_t attributes,
                              double shares[NB_FIELDS])
{
    uint32_t fields = attributes;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        fields += features[field] != 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        shares[field] = features[field] == 0 ? 0 : 1 / sqrt((double)features[field] * fields);
}

void nb_stack_evidence_begin_field(struct nb_stack_evidence *e, unsigned field)
{
    assert(field < NB_FIELDS && e->columns > 0);
    e->fields |= 1u << field;
    memset(nb_stack_evidence_sums(e, field), 0, e->columns * sizeof *e->sums);
}

/* Sums are split into four parts that do not wait for each other: in one sum each addition would
 * wait for the one before. */
enum { PARTS = 4 };

static double gradient_dense(const double *errors, const double *gains, double absent, size_t size)
{
    double sums[PARTS] = {0};
    size_t i = 0;
    for (; i + PARTS <= size; i += PARTS)
        for (size_t k = 0; k < PARTS; k++)
            sums[k] += errors[i + k] * (gains[i + k] - absent);
    for (; i < size; i++)
        sums[0] += errors[i] * (gains[i] - absent);
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static double gradient_sparse(const double *errors, const uint32_t *labels, const double *gains,
                              size_t size)
{
    double sums[PARTS] = {0};
    size_t i = 0;
    for (; i + PARTS <= size; i += PARTS)
        for (size_t k = 0; k < PARTS; k++)
            sums[k] += errors[labels[i + k]] * gains[i + k];
    for (; i < size; i++)
        sums[0] += errors[labels[i]] * gains[i];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

double nb_stack_evidence_gradient(const struct nb_stack_evidence *e,
                                  const struct nb_stack_term *term, size_t first)
{
    const double *gains = e->cell_gains + first;
    size_t size = term->end - first;
    assert(first <= term->end && (!term->is_dense || size == e->columns));
    return term->is_dense ? gradient_dense(e->errors, gains, term->gain, size)
                          : gradient_sparse(e->errors, e->cell_labels + first, gains, size);
}
