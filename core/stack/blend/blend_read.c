/* SPDX-License-Identifier: Apache-2.0
 *
 * What the view has of one feature.
 */
#include <string.h>

#include "core/stack/blend/blend_private.h"

struct reading {
    struct nb_blend *blend;
    unsigned source;
};

static inline void add_cell(void *user, struct nb_cell cell)
{
    const struct reading *r = user;
    struct nb_blend *b = r->blend;
    uint32_t place = b->places[r->source][cell.label];
    if (place == NB_BLEND_NO_LABEL)
        return;
    double occurrences = b->scale[r->source] * (double)cell.occurrences;
    double documents = b->scale[r->source] * (double)cell.documents;
    b->occurrences[place] += occurrences;
    b->documents[place] += documents;
    b->all_occurrences += occurrences;
    b->all_documents += documents;
}

/* What counts beside those of the first source have of a feature in its row. Those that take away
 * come last, and leave no less than nothing. */
static void add_beside(struct nb_blend *b, uint32_t row)
{
    uint64_t id = nb_model_row_id(b->sources[0].counts, row);
    for (unsigned i = 0; i < b->besides.count; i++) {
        const struct nb_expected_cell *cells;
        double weight = b->besides.list[i].weight;
        size_t size = nb_expected_find(b->besides.list[i].counts, row, id, &cells);
        for (size_t k = 0; k < size; k++) {
            bool is_there = cells[k].label < nb_model_label_count(b->sources[0].counts);
            uint32_t place = is_there ? b->places[0][cells[k].label] : NB_BLEND_NO_LABEL;
            if (place == NB_BLEND_NO_LABEL)
                continue;
            double occurrences = fmax(weight * cells[k].occurrences, -b->occurrences[place]);
            double documents = fmax(weight * cells[k].documents, -b->documents[place]);
            b->occurrences[place] += occurrences;
            b->documents[place] += documents;
            b->all_occurrences += occurrences;
            b->all_documents += documents;
        }
    }
}

bool nb_blend_read(struct nb_blend *b, const uint32_t rows[NB_BLEND_MOST])
{
    memset(b->occurrences, 0, b->size * sizeof *b->occurrences);
    memset(b->documents, 0, b->size * sizeof *b->documents);
    b->all_occurrences = b->all_documents = 0;
    for (unsigned i = 0; i < b->count; i++) {
        struct reading reading = {.blend = b, .source = i};
        const struct nb_model *counts = b->sources[i].counts;
        if (rows[i] != NB_NO_ROW)
            nb_counts_each(counts, nb_model_row(counts, rows[i]), add_cell, &reading);
    }
    if (b->besides.count > 0 && rows[0] != NB_NO_ROW)
        add_beside(b, rows[0]);
    if (b->without.is_set) {
        double *own = &b->documents[b->places[0][b->without.label]];
        *own = fmax(*own - 1, 0);
        b->all_documents -= 1;
    }
    return b->all_documents > 0;
}

void nb_blend_find(const struct nb_blend *b, uint64_t id, uint32_t rows[NB_BLEND_MOST])
{
    for (unsigned i = 0; i < b->count; i++)
        rows[i] = nb_model_find(b->sources[i].counts, id);
}
