/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/group.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"

enum {
    GROUP_BYTES = 64 << 20, /* of one transaction, approximately */
    CHANGE_BYTES = 12288,   /* pages that a change touches besides its entry */
    FEATURE_BYTES = 16,
};

static uint64_t weight(const struct nb_submitted *change)
{
    return CHANGE_BYTES + nb_submitted_size(change) * FEATURE_BYTES + change->texts.length * 2;
}

bool nb_group_add(struct nb_group *group, struct nb_batch *batch)
{
    assert(batch->live != NULL || batch->size == 0);
    while (batch->written < batch->size) {
        struct nb_submitted *change = &batch->changes[batch->written];
        uint64_t bytes = weight(change);
        if (group->size > 0 && (group->size >= group->engine->settings.group_documents ||
                                group->bytes + bytes > GROUP_BYTES))
            return false;
        bool good = nb_array_reserve(&group->items, &group->room, group->size + 1,
                                     sizeof *group->items) == 0;
        if (!good && group->size > 0)
            return false;
        batch->written++;
        atomic_fetch_sub(&group->engine->counters.queued, 1);
        if (!good) {
            change->receipt.code = nb_error_no_memory(&change->receipt.error);
            continue;
        }
        group->items[group->size++] = (struct nb_group_item){.batch = batch, .change = change};
        group->bytes += bytes;
    }
    return true;
}

void nb_group_cut(struct nb_group *group, size_t size)
{
    assert(size <= group->size);
    while (group->size > size) {
        const struct nb_group_item *item = &group->items[--group->size];
        assert(item->batch->written > 0);
        item->batch->written--;
        group->bytes -= weight(item->change);
        if (!item->change->is_aged) /* aged documents are found again */
            atomic_fetch_add(&group->engine->counters.queued, 1);
    }
}

void nb_group_clear(struct nb_group *group)
{
    group->model_count = group->label_count = 0;
}

void nb_group_deinit(struct nb_group *group)
{
    free(group->items);
    free(group->models);
    free(group->labels);
    *group = (struct nb_group){0};
}

struct nb_group_model *nb_group_model(struct nb_group *group, struct nb_live *live)
{
    assert(live->counts != NULL && live->published != NULL);
    /* Neighbours in the queue mostly belong to the same model. */
    for (size_t i = group->model_count; i > 0; i--)
        if (group->models[i - 1].live == live)
            return &group->models[i - 1];
    if (nb_array_reserve(&group->models, &group->model_room, group->model_count + 1,
                         sizeof *group->models) != 0)
        return NULL;
    struct nb_group_model *model = &group->models[group->model_count++];
    *model = (struct nb_group_model){.live = live,
                                     .saved = live->checkpoint,
                                     .weights = nb_stack_weights_mark(live->published->weights),
                                     .rows_before = nb_model_rows(live->counts),
                                     .dropped_before = nb_model_dropped_rows(live->counts),
                                     .labels_before = nb_model_label_count(live->counts),
                                     .was_numbered = live->number != 0,
                                     .last = live->checkpoint.last};
    return model;
}

int nb_group_touch_label(struct nb_group *group, struct nb_live *live, uint32_t label)
{
    assert(label < nb_model_label_count(live->counts));
    for (size_t i = group->label_count; i > 0; i--) {
        const struct nb_group_label *l = &group->labels[i - 1];
        if (l->live == live && l->label == label)
            return 0;
    }
    if (nb_array_reserve(&group->labels, &group->label_room, group->label_count + 1,
                         sizeof *group->labels) != 0)
        return NB_NO_MEMORY;
    group->labels[group->label_count++] = (struct nb_group_label){.live = live, .label = label};
    return 0;
}
