/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels: from name to number, and from number to name.
 */
#include "core/counts/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/search.h"
#include "core/counts/model_private.h"

enum { FIRST_LABELS = 4 };

static struct nb_string name_of(const struct nb_model *model, uint32_t label)
{
    return (struct nb_string){model->labels[label]->name, model->labels[label]->length};
}

static bool is_before(const void *of, size_t at, const void *name)
{
    const struct nb_model *model = of;
    return nb_string_compare(name_of(model, model->sorted[at]), *(const struct nb_string *)name) <
           0;
}

/* Where a name stands, or would stand, among the sorted ones. */
static uint32_t name_place(const struct nb_model *model, struct nb_string name, bool *there)
{
    uint32_t place = (uint32_t)nb_search(model, model->label_count, &name, is_before);
    *there =
        place < model->label_count && nb_string_same(name_of(model, model->sorted[place]), name);
    return place;
}

static int labels_grow(struct nb_model *model)
{
    uint32_t room = model->label_room == 0 ? FIRST_LABELS : model->label_room * 2;
    struct nb_label **labels = malloc(room * sizeof *labels);
    uint32_t *sorted = malloc(room * sizeof *sorted);
    if (labels == NULL || sorted == NULL) {
        free(labels);
        free(sorted);
        return NB_NO_MEMORY;
    }
    if (model->label_count != 0) {
        memcpy(labels, model->labels, model->label_count * sizeof *labels);
        memcpy(sorted, model->sorted, model->label_count * sizeof *sorted);
    }
    if (model->parts != NULL && nb_model_grow_parts(model, model->parts->count, room, false) != 0) {
        free(labels);
        free(sorted);
        return NB_NO_MEMORY;
    }
    struct nb_label **old_labels = model->labels;
    uint32_t *old_sorted = model->sorted;
    nb_model_write_lock(model);
    model->labels = labels;
    model->sorted = sorted;
    nb_model_unlock(model);
    free(old_labels);
    free(old_sorted);
    atomic_fetch_add(&model->other_bytes,
                     (room - model->label_room) * (sizeof *labels + sizeof *sorted));
    model->label_room = room;
    return 0;
}

static struct nb_label *label_new(struct nb_string name)
{
    struct nb_label *label = calloc(1, sizeof *label);
    char *copy = malloc(name.length + 1);
    if (label == NULL || copy == NULL) {
        free(label);
        free(copy);
        return NULL;
    }
    if (name.length != 0)
        memcpy(copy, name.bytes, name.length);
    copy[name.length] = '\0';
    label->name = copy;
    label->length = name.length;
    return label;
}

int nb_model_label(struct nb_model *model, struct nb_string name, uint32_t *label)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    if (there) {
        *label = model->sorted[place];
        return 0;
    }
    if (model->label_count >= NB_LABELS_MOST)
        return NB_TOO_LARGE;
    if (model->label_count == model->label_room && labels_grow(model) != 0)
        return NB_NO_MEMORY;
    struct nb_label *made = label_new(name);
    if (made == NULL)
        return NB_NO_MEMORY;
    uint32_t number = model->label_count;
    nb_model_write_lock(model);
    memmove(model->sorted + place + 1, model->sorted + place,
            (number - place) * sizeof *model->sorted);
    model->sorted[place] = number;
    model->labels[number] = made;
    model->label_count++;
    nb_model_next_generation(model);
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, sizeof *made + name.length + 1);
    *label = number;
    return 0;
}

/* Takes the label out of the list by name. */
static void unsort(struct nb_model *model, uint32_t label)
{
    uint32_t at = 0;
    while (model->sorted[at] != label)
        at++;
    memmove(model->sorted + at, model->sorted + at + 1,
            (model->label_count - at - 1) * sizeof *model->sorted);
}

int nb_model_reserve_rename(struct nb_model *model, struct nb_string name)
{
    struct nb_label *made = label_new(name);
    if (made == NULL)
        return NB_NO_MEMORY;
    nb_label_free(model->spare);
    model->spare = made;
    return 0;
}

int nb_model_rename_label(struct nb_model *model, uint32_t label, struct nb_string name)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    assert(label < model->label_count && !there);
    struct nb_label *made = model->spare;
    if (made == NULL || !nb_string_same((struct nb_string){made->name, made->length}, name))
        made = label_new(name);
    else
        model->spare = NULL;
    if (made == NULL)
        return NB_NO_MEMORY;
    struct nb_label *old = model->labels[label];
    nb_model_write_lock(model);
    made->documents = old->documents;
    memcpy(made->occurrences, old->occurrences, sizeof made->occurrences);
    memcpy(made->presences, old->presences, sizeof made->presences);
    for (uint32_t at = 0; at < place; at++)
        if (model->sorted[at] == label) {
            place--; /* its own place becomes free */
            break;
        }
    unsort(model, label);
    memmove(model->sorted + place + 1, model->sorted + place,
            (model->label_count - place - 1) * sizeof *model->sorted);
    model->sorted[place] = label;
    model->labels[label] = made;
    nb_model_retire(model, old);
    nb_model_next_generation(model);
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, sizeof *made + name.length + 1);
    return 0;
}

void nb_model_truncate_labels(struct nb_model *model, uint32_t labels)
{
    if (model->label_count <= labels)
        return;
    nb_model_write_lock(model);
    while (model->label_count > labels) {
        uint32_t last = model->label_count - 1;
        assert(model->labels[last]->documents == 0);
        unsort(model, last);
        nb_model_retire(model, model->labels[last]);
        model->label_count = last;
    }
    nb_model_next_generation(model);
    nb_model_unlock(model);
}

uint32_t nb_model_find_label(const struct nb_model *model, struct nb_string name)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    return there ? model->sorted[place] : UINT32_MAX;
}

uint32_t nb_model_label_count(const struct nb_model *model)
{
    return model->label_count;
}

struct nb_string nb_model_label_name(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return name_of(model, label);
}

const uint32_t *nb_model_labels_sorted(const struct nb_model *model)
{
    return model->sorted;
}
