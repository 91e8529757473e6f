/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/stack_attributes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/numbers.h"

/* ---- memory ---------------------------------------------------------------------------------- */

void nb_stack_attributes_free(struct nb_stack_attributes **attributes)
{
    struct nb_stack_attributes *a = *attributes;
    *attributes = NULL;
    if (a == NULL)
        return;
    free(a->values);
    free(a->x);
    free(a->offsets);
    free(a->r);
    free(a);
}

void nb_stack_attributes_empty(struct nb_stack_inputs *inputs)
{
    struct nb_stack_attributes *a = inputs->attributes;
    inputs->failed = false;
    if (a == NULL)
        return;
    nb_present_attributes_empty(&a->present);
    a->size = 0;
}

uint32_t nb_stack_attribute_count(const struct nb_stack_inputs *inputs)
{
    return inputs->attributes == NULL ? 0 : inputs->attributes->present.count;
}

static int make(struct nb_stack_inputs *inputs)
{
    if (inputs->attributes == NULL)
        inputs->attributes = calloc(1, sizeof *inputs->attributes);
    return inputs->attributes != NULL ? 0 : NB_NO_MEMORY;
}

int nb_stack_attributes_room(struct nb_stack_inputs *inputs, uint32_t count, unsigned experts)
{
    assert(count <= NB_ATTRIBUTES_MOST);
    if (count == 0)
        return 0;
    if (make(inputs) != 0)
        return NB_NO_MEMORY;
    struct nb_stack_attributes *a = inputs->attributes;
    a->experts = experts;
    return nb_array_reserve(&a->x, &a->x_room, (size_t)count * experts * inputs->size,
                            sizeof *a->x);
}

/* ---- a document's values --------------------------------------------------------------------- */

void nb_stack_attributes_note(struct nb_stack_inputs *inputs, uint64_t id, uint32_t row,
                              bool is_unique)
{
    unsigned part = nb_feature_part(id);
    assert(nb_feature_field(id) == NB_FIELD_VALUE);
    if (nb_part_is_presence(part))
        return;
    struct nb_stack_attributes *a = make(inputs) == 0 ? inputs->attributes : NULL;
    if (a == NULL || nb_array_reserve(&a->values, &a->room, a->size + 1, sizeof *a->values) != 0) {
        inputs->failed = true;
        return;
    }
    uint32_t place = nb_present_attributes_add(&a->present, part, is_unique);
    a->values[a->size++] = (struct nb_stack_value){.id = id, .row = row, .place = place};
}

static double *offsets_of(const struct nb_stack_pass *p, uint32_t place, unsigned e)
{
    const struct nb_stack_attributes *a = p->inputs->attributes;
    return a->offsets + ((size_t)place * p->experts + e) * p->view->columns;
}

static void put_offsets(const struct nb_stack_pass *p)
{
    const struct nb_stack_attributes *a = p->inputs->attributes;
    for (uint32_t place = 0; place < a->present.count; place++) {
        const struct nb_present_attribute *one = &a->present.list[place];
        struct nb_stack_taken taken = nb_stack_taken(NULL, 0);
        if (p->without != NULL)
            taken = (struct nb_stack_taken){p->without->label, one->features, one->unique};
        for (unsigned e = 0; e < p->experts; e++)
            nb_stack_put_offsets(p->view, p->model, taken, NB_FIRST_PART + one->number * 2,
                                 p->readings[e].logs.addend, offsets_of(p, place, e));
    }
}

/* ---- readings -------------------------------------------------------------------------------- */

/* Returns how many documents have a value, not counting the left-out one. */
static uint64_t documents_of(const struct nb_stack_pass *p, struct nb_row row)
{
    return nb_stack_less(nb_counts_documents(p->model, row), p->without != NULL);
}

static uint64_t documents_of_label(const struct nb_stack_pass *p, struct nb_row row, uint32_t label,
                                   uint64_t all)
{
    bool is_out = p->without != NULL && p->without->label == label;
    uint64_t own = nb_stack_less(nb_counts_of(p->model, row, label).documents, is_out);
    return own < all ? own : all;
}

static struct nb_number_reading number_of(const struct nb_stack_pass *p, uint64_t id)
{
    uint32_t without = p->without != NULL ? p->without->label : NB_NUMBER_OF_ALL;
    return nb_number_reading(p->model, p->inputs->attributes->numbers, id, p->view->labels,
                             p->view->size, without);
}

static bool says(const struct nb_stack_pass *p, const struct nb_stack_value *value)
{
    if (nb_feature_is_number(value->id)) {
        struct nb_number_reading number = number_of(p, value->id);
        return nb_number_reading_says(&number);
    }
    return value->row != NB_NO_ROW && documents_of(p, nb_model_row(p->model, value->row)) != 0;
}

/* How many labels are read: one of two, else all. The function below returns the column of the
 * label at a place. */
static uint32_t labels_read(const struct nb_stack_pass *p)
{
    return p->view->columns == 1 ? 1 : p->view->size;
}

static uint32_t column_of(const struct nb_stack_pass *p, uint32_t v)
{
    return p->view->columns == 1 ? 0 : p->view->labels[v];
}

static double reading_of(const struct nb_stack_pass *p, const struct nb_stack_value *value,
                         unsigned e, uint32_t v)
{
    struct nb_row row = nb_model_row(p->model, value->row);
    uint64_t all = documents_of(p, row);
    uint64_t own = documents_of_label(p, row, p->view->labels[v], all);
    assert(all > 0);
    return nb_stack_gain(&p->readings[e], own, all) -
           offsets_of(p, value->place, e)[column_of(p, v)];
}

double nb_stack_value_reading(const struct nb_stack_pass *p, const struct nb_stack_value *value,
                              unsigned e, uint32_t v)
{
    if (v >= labels_read(p)) /* the evidence of two labels is opposite, to the bit */
        return -nb_stack_value_reading(p, value, e, 0);
    if (!nb_feature_is_number(value->id))
        return reading_of(p, value, e, v);
    struct nb_number_reading number = number_of(p, value->id);
    return nb_number_reading_of(&number, v, p->readings[e].logs.addend);
}

/* Sets r_v by column for labels that have documents; with two labels only for the first. */
static void put_readings(const struct nb_stack_pass *p, const struct nb_stack_value *value,
                         unsigned e, double *r)
{
    bool is_number = nb_feature_is_number(value->id);
    struct nb_number_reading number = {0};
    if (is_number)
        number = number_of(p, value->id);
    memset(r, 0, p->view->columns * sizeof *r);
    for (uint32_t v = 0; v < labels_read(p); v++)
        r[column_of(p, v)] = is_number
                                 ? nb_number_reading_of(&number, v, p->readings[e].logs.addend)
                                 : reading_of(p, value, e, v);
}

static void add_to_x(const struct nb_stack_pass *p, uint32_t place, unsigned e, const double *r)
{
    double *x = nb_stack_attribute_x(p->inputs, place, e);
    if (p->view->columns == 1) {
        x[0] += nb_stack_power(&p->readings[e], r[0]);
        return;
    }
    for (uint32_t v = 0; v < p->view->size; v++)
        x[v] += nb_stack_power(&p->readings[e], r[p->view->labels[v]]);
}

/* Returns the value's u times its share in the twin. */
static double weight_in_twin(const struct nb_stack_inputs *in, const struct nb_slots *slots,
                             const struct nb_stack_value *value)
{
    return (double)nb_slots_at(slots, value->id) * nb_stack_attribute_share(in, value->place);
}

/* The twin uses the last expert's readings. With two labels its column belongs to the second. */
static void add_to_twin(const struct nb_stack_pass *p, const struct nb_stack_value *value,
                        const double *r)
{
    double u = weight_in_twin(p->inputs, p->twin->slots, value);
    double *t = p->inputs->t;
    if (p->view->columns == 1) {
        t[1] -= u * r[0];
        return;
    }
    for (uint32_t v = 0; v < p->view->size; v++)
        t[v] += u * r[p->view->labels[v]];
}

static void add_value(const struct nb_stack_pass *p, size_t i)
{
    const struct nb_stack_attributes *a = p->inputs->attributes;
    struct nb_stack_value *value = &a->values[i];
    bool is_kept = p->twin != NULL && p->twin->keeps;
    double *r = a->r + (is_kept ? i : 0) * p->view->columns;
    value->says = says(p, value);
    for (unsigned e = 0; value->says && e < p->experts; e++) {
        put_readings(p, value, e, r);
        add_to_x(p, value->place, e, r);
    }
    if (value->says && p->twin != NULL && !nb_feature_is_number(value->id))
        add_to_twin(p, value, r);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int put_numbers(const struct nb_stack_pass *p)
{
    struct nb_stack_attributes *a = p->inputs->attributes;
    bool has = false;
    for (size_t i = 0; i < a->size && !has; i++)
        has = nb_feature_is_number(a->values[i].id);
    a->numbers = NULL;
    return has ? nb_stack_numbers(p->stack, p->model, &a->numbers) : 0;
}

static int make_room(const struct nb_stack_pass *p)
{
    struct nb_stack_attributes *a = p->inputs->attributes;
    size_t offsets = (size_t)a->present.count * p->experts * p->view->columns;
    bool is_kept = p->twin != NULL && p->twin->keeps;
    size_t readings = (is_kept ? a->size : 1) * p->view->columns;
    int rc = nb_stack_attributes_room(p->inputs, a->present.count, p->experts);
    if (rc == 0)
        rc = nb_array_reserve(&a->offsets, &a->offset_room, offsets, sizeof *a->offsets);
    return rc != 0 ? rc : nb_array_reserve(&a->r, &a->r_room, readings, sizeof *a->r);
}

static void finish(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    for (uint32_t place = 0; place < in->attributes->present.count; place++) {
        double share =
            nb_stack_share(&p->stack->settings, in->attributes->present.list[place].features);
        for (unsigned e = 0; e < p->experts; e++) {
            double *x = nb_stack_attribute_x(in, place, e);
            for (uint32_t v = 0; v < in->size; v++)
                x[v] *= share;
            if (in->size == 2)
                x[1] = -x[0];
        }
    }
}

int nb_stack_attributes_put(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    if (in->failed)
        return NB_NO_MEMORY;
    if (nb_stack_attribute_count(in) == 0)
        return 0;
    if (make_room(p) != 0 || put_numbers(p) != 0)
        return NB_NO_MEMORY;
    memset(in->attributes->x, 0,
           (size_t)in->attributes->present.count * p->experts * in->size *
               sizeof *in->attributes->x);
    if (p->view->columns == 0)
        return 0; /* a single label has no evidence against it */
    put_offsets(p);
    for (size_t i = 0; i < in->attributes->size; i++)
        add_value(p, i);
    finish(p);
    return 0;
}

/* ---- the twin -------------------------------------------------------------------------------- */

double nb_stack_attribute_share(const struct nb_stack_inputs *inputs, uint32_t place)
{
    uint32_t fields = inputs->attributes->present.count;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        fields += inputs->features[field] != 0;
    return 1 / sqrt((double)inputs->attributes->present.list[place].features * fields);
}

void nb_stack_attributes_twin_again(const struct nb_stack_inputs *in)
{
    const struct nb_stack_attributes *a = in->attributes;
    assert(in->size == 2 && in->is_kept);
    for (size_t i = 0; a != NULL && i < a->size; i++)
        if (a->values[i].says && !nb_feature_is_number(a->values[i].id))
            in->t[1] -= weight_in_twin(in, in->evidence->slots, &a->values[i]) * a->r[i];
}

double nb_stack_value_gradient(const struct nb_stack_inputs *inputs, size_t value)
{
    const struct nb_stack_evidence *evidence = inputs->evidence;
    const double *r = inputs->attributes->r + value * evidence->columns;
    double sum = 0;
    assert(inputs->is_kept && inputs->attributes->values[value].says);
    if (evidence->columns == 1)
        return -evidence->errors[0] * r[0];
    for (uint32_t column = 0; column < evidence->columns; column++)
        sum += evidence->errors[column] * r[column];
    return sum;
}
