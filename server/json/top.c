/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/top.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/engine/engine.h"

struct candidate {
    double probability;
    size_t label;
    bool wins; /* the label of the verdict, which is always listed */
};

static int by_probability(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->wins != y->wins)
        return x->wins ? -1 : 1;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

int nb_top_choose(struct nb_top *top, const struct nb_verdict *verdict, size_t most)
{
    size_t count = verdict->size + (verdict->unseen_label != NULL);
    *top = (struct nb_top){.is_told = NULL};
    if (most == 0 || most >= count)
        return 0;
    struct candidate *kept = malloc(most * sizeof *kept);
    top->is_told = calloc(count, sizeof *top->is_told);
    if (kept == NULL || top->is_told == NULL) {
        free(kept);
        nb_top_deinit(top);
        return NB_NO_MEMORY;
    }
    struct nb_heap heap = {
        .items = kept, .most = most, .item_size = sizeof *kept, .compare = by_probability};
    for (size_t i = 0; i < count; i++) {
        bool is_seen = i < verdict->size;
        struct candidate one = {.probability = is_seen ? verdict->probabilities[i]
                                                       : verdict->unseen_probability,
                                .label = i,
                                .wins = is_seen && i == verdict->best};
        nb_heap_add(&heap, &one);
    }
    assert(heap.count == most);
    for (size_t i = 0; i < heap.count; i++)
        top->is_told[kept[i].label] = true;
    free(kept);
    return 0;
}

void nb_top_deinit(struct nb_top *top)
{
    free(top->is_told);
    top->is_told = NULL;
}
