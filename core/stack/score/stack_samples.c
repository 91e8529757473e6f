/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/score/stack_samples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/stack/score/stack_attributes.h"
#include "core/stack/score/stack_private.h"

_Static_assert((int)NB_STACK_GROUPS <= 32, "a bit for each group");
_Static_assert((int)NB_ATTRIBUTES_MOST <= UINT8_MAX + 1, "a byte for the number of an attribute");

void nb_stack_samples_init(struct nb_stack_samples *s)
{
    *s = (struct nb_stack_samples){.size = 0};
    nb_stack_inputs_init(&s->inputs);
}

void nb_stack_samples_deinit(struct nb_stack_samples *s)
{
    nb_stack_inputs_deinit(&s->inputs);
    free(s->list);
    free(s->values);
    free(s->attributes);
    free(s->places);
}

size_t nb_stack_samples_memory(const struct nb_stack_samples *s)
{
    return s->room * sizeof *s->list + s->value_room * sizeof *s->values + s->attribute_room;
}

unsigned nb_stack_samples_experts(const struct nb_stack_samples *s)
{
    return s->inputs.count / NB_STACK_GROUPS;
}

static uint32_t columns_of(const struct nb_stack_samples *s)
{
    return s->inputs.size == 2 ? 1 : s->inputs.size;
}

static int begin_labels(struct nb_stack_samples *s, const struct nb_stack_inputs *inputs)
{
    struct nb_stack_inputs *own = &s->inputs;
    if (nb_stack_inputs_room(own, inputs->size) != 0 ||
        nb_array_resize(&s->places, inputs->size, sizeof *s->places) != 0)
        return NB_NO_MEMORY;
    own->size = inputs->size;
    own->count = inputs->count;
    memcpy(own->labels, inputs->labels, own->size * sizeof *own->labels);
    for (uint32_t v = 0; v < own->size; v++)
        s->places[v] = v;
    return 0;
}

/* The first document determines the labels. With more than two, later documents may have further
 * labels, which are ignored. */
static int take_labels(struct nb_stack_samples *s, const struct nb_stack_inputs *inputs)
{
    const struct nb_stack_inputs *own = &s->inputs;
    uint32_t at = 0;
    if (s->size == 0)
        return begin_labels(s, inputs);
    if (own->count != inputs->count || (own->size <= 2 && inputs->size != own->size))
        return NB_CONFLICT;
    for (uint32_t v = 0; v < own->size; v++) {
        while (at < inputs->size && inputs->labels[at] != own->labels[v])
            at++;
        if (at == inputs->size)
            return NB_CONFLICT;
        s->places[v] = at++;
    }
    return 0;
}

/* Adds an input to the values: that of the labels of all. */
static void put_input(struct nb_stack_samples *s, const double *x)
{
    uint32_t columns = columns_of(s);
    double *to = s->values + s->value_count;
    for (uint32_t v = 0; v < columns; v++)
        to[v] = x[s->places[v]];
    s->value_count += columns;
}

static void put_attributes(struct nb_stack_samples *s, const struct nb_stack_inputs *inputs,
                           struct nb_stack_sample *sample)
{
    sample->first_attribute = s->attribute_count;
    sample->attributes = nb_stack_attribute_count(inputs);
    for (uint32_t place = 0; place < sample->attributes; place++) {
        uint32_t number = inputs->attributes->present.list[place].number;
        s->attributes[s->attribute_count++] = (uint8_t)number;
        for (unsigned e = 0; e < nb_stack_samples_experts(s); e++)
            put_input(s, nb_stack_attribute_x(inputs, place, e));
    }
}

static void put_values(struct nb_stack_samples *s, const struct nb_stack_inputs *inputs,
                       struct nb_stack_sample *sample)
{
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        if (inputs->features[g] == 0)
            continue;
        sample->groups |= 1u << g;
        for (unsigned e = 0; e < nb_stack_samples_experts(s); e++)
            put_input(s, inputs->x + (size_t)(e * NB_STACK_GROUPS + g) * inputs->size);
    }
    put_attributes(s, inputs, sample);
    assert(s->value_count <= s->value_room);
}

int nb_stack_samples_add(struct nb_stack_samples *s, const struct nb_stack_inputs *inputs,
                         uint32_t label)
{
    int rc = take_labels(s, inputs);
    if (rc != 0)
        return rc;
    uint32_t attributes = nb_stack_attribute_count(inputs);
    size_t each = (size_t)columns_of(s) * nb_stack_samples_experts(s);
    size_t most = s->value_count + each * (NB_STACK_GROUPS + attributes);
    if (nb_array_reserve(&s->attributes, &s->attribute_room, s->attribute_count + attributes,
                         sizeof *s->attributes) != 0 ||
        nb_array_reserve(&s->list, &s->room, s->size + 1, sizeof *s->list) != 0 ||
        nb_array_reserve(&s->values, &s->value_room, most, sizeof *s->values) != 0)
        return NB_NO_MEMORY;
    struct nb_stack_sample *sample = &s->list[s->size++];
    *sample = (struct nb_stack_sample){.first = s->value_count, .label = label};
    put_values(s, inputs, sample);
    return 0;
}

/* Sets the attributes of the inputs from a sample; their values begin at `from`. */
static int take_attributes(struct nb_stack_samples *s, const struct nb_stack_sample *sample,
                           const double *from)
{
    struct nb_stack_inputs *in = &s->inputs;
    uint32_t columns = columns_of(s);
    nb_stack_attributes_empty(in);
    if (nb_stack_attributes_room(in, sample->attributes, nb_stack_samples_experts(s)) != 0)
        return NB_NO_MEMORY;
    for (uint32_t place = 0; place < sample->attributes; place++) {
        uint32_t number = s->attributes[sample->first_attribute + place];
        in->attributes->present.list[in->attributes->present.count++] =
            (struct nb_present_attribute){.number = number, .features = 1};
        for (unsigned e = 0; e < nb_stack_samples_experts(s); e++, from += columns) {
            double *x = nb_stack_attribute_x(in, place, e);
            memcpy(x, from, columns * sizeof *x);
            if (in->size == 2)
                x[1] = -x[0];
        }
    }
    return 0;
}

int nb_stack_samples_take(struct nb_stack_samples *s, const struct nb_stack_sample *sample)
{
    struct nb_stack_inputs *in = &s->inputs;
    const double *from = s->values + sample->first;
    uint32_t columns = columns_of(s);
    for (uint32_t g = 0; g < NB_STACK_GROUPS; g++) {
        in->features[g] = sample->groups >> g & 1u;
        for (unsigned e = 0; e < nb_stack_samples_experts(s); e++) {
            double *x = in->x + (size_t)(e * NB_STACK_GROUPS + g) * in->size;
            if (in->features[g] == 0) {
                memset(x, 0, in->size * sizeof *x);
                continue;
            }
            memcpy(x, from, columns * sizeof *x);
            from += columns;
            if (in->size == 2)
                x[1] = -x[0];
        }
    }
    return take_attributes(s, sample, from);
}

void nb_stack_samples_drop(struct nb_stack_samples *s)
{
    free(s->list);
    free(s->values);
    free(s->attributes);
    s->list = NULL;
    s->values = NULL;
    s->attributes = NULL;
    s->room = s->value_count = s->value_room = 0;
    s->attribute_count = s->attribute_room = 0;
}
