/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/choice.h"

#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/heap.h"
#include "core/counts/counts.h"

enum { SLICE_ROWS = 4096 };

void nb_choice_deinit(struct nb_choice *choice)
{
    free(choice->occurrences);
    *choice = (struct nb_choice){.filters = false};
}

static bool is_word(uint64_t id)
{
    return !nb_model_is_dropped(id) && nb_field_is_token(nb_feature_field(id));
}

/* Adds the occurrences in the model's own counts, and keeps the most frequent words in the heap. */
static void rank(struct nb_choice *c, const struct nb_model *model, struct nb_heap *heap)
{
    for (uint32_t from = 0; from < c->rows; from += SLICE_ROWS) {
        nb_model_read_lock(model);
        uint32_t until = c->rows - from < SLICE_ROWS ? c->rows : from + SLICE_ROWS;
        for (uint32_t row = from; row < until && row < nb_model_rows(model); row++) {
            uint64_t id = nb_model_row_id(model, row);
            if (!is_word(id))
                continue;
            c->occurrences[row] += nb_counts_occurrences(model, nb_model_row(model, row));
            const struct nb_word_rank word = {c->occurrences[row], id};
            if (word.occurrences > 0 && heap->most > 0)
                nb_heap_add(heap, &word);
        }
        nb_model_unlock(model);
    }
}

int nb_choice_make(struct nb_choice *choice, const struct nb_settings *settings,
                   const struct nb_model *model, uint32_t rows, const uint32_t *uses,
                   const uint32_t *counts, size_t size)
{
    *choice = (struct nb_choice){.filters = nb_settings_leave_words_out(settings),
                                 .rows = rows,
                                 .least = settings->min_count};
    if (!choice->filters)
        return 0;
    size_t most = settings->skip_top < rows ? (size_t)settings->skip_top : rows;
    struct nb_word_rank *items = calloc(most + 1, sizeof *items);
    choice->occurrences = calloc((size_t)rows + 1, sizeof *choice->occurrences);
    if (items == NULL || choice->occurrences == NULL) {
        free(items);
        nb_choice_deinit(choice);
        return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < size; i++)
        choice->occurrences[uses[i]] += counts[i];
    struct nb_heap heap = {
        .items = items, .most = most, .item_size = sizeof *items, .compare = nb_word_rank_compare};
    rank(choice, model, &heap);
    choice->skips = heap.count > 0;
    if (choice->skips)
        choice->skipped = *(const struct nb_word_rank *)nb_heap_last(&heap);
    free(items);
    return 0;
}

bool nb_choice_has(const struct nb_choice *c, uint32_t row, uint64_t id)
{
    if (!c->filters)
        return true;
    if (row >= c->rows || c->occurrences[row] < c->least)
        return false;
    return !c->skips || nb_word_rank_is_behind(c->occurrences[row], id, &c->skipped);
}
