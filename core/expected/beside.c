/* SPDX-License-Identifier: Apache-2.0 */
#include "core/expected/beside.h"

#include <math.h>

static void add_cell(struct nb_expected_cell *sum, const struct nb_expected_cell *cell,
                     double weight)
{
    sum->occurrences += weight * cell->occurrences;
    sum->documents += weight * cell->documents;
}

struct nb_expected_cell nb_besides_cell(const struct nb_besides *b, uint32_t row, uint64_t id,
                                        uint32_t label)
{
    struct nb_expected_cell sum = {.label = label};
    for (unsigned i = 0; i < b->count; i++) {
        struct nb_expected_cell cell = nb_expected_of(b->list[i].counts, row, id, label);
        add_cell(&sum, &cell, b->list[i].weight);
    }
    return sum;
}

struct nb_expected_cell nb_besides_row(const struct nb_besides *b, uint32_t row, uint64_t id,
                                       const uint32_t *places, uint32_t labels)
{
    struct nb_expected_cell sum = {.label = UINT32_MAX};
    for (unsigned i = 0; i < b->count; i++) {
        const struct nb_expected_cell *cells;
        size_t size = nb_expected_find(b->list[i].counts, row, id, &cells);
        for (size_t k = 0; k < size; k++)
            if (cells[k].label < labels && places[cells[k].label] != UINT32_MAX)
                add_cell(&sum, &cells[k], b->list[i].weight);
    }
    return sum;
}

int64_t nb_besides_occurrences(const struct nb_besides *b, uint32_t row, uint64_t id)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < b->count; i++) {
        const struct nb_expected_cell *cells;
        double whole = 0; /* the shares of a document sum to 1 */
        size_t size = nb_expected_find(b->list[i].counts, row, id, &cells);
        for (size_t k = 0; k < size; k++)
            whole += cells[k].occurrences;
        sum += b->list[i].weight > 0 ? llround(whole) : -llround(whole);
    }
    return sum;
}

double nb_besides_documents(const struct nb_besides *b, uint32_t label)
{
    double sum = 0;
    for (unsigned i = 0; i < b->count; i++)
        sum += b->list[i].weight * nb_expected_documents(b->list[i].counts, label);
    return sum;
}

double nb_besides_sum(const struct nb_besides *b, uint32_t label, unsigned field, bool presences)
{
    double sum = 0;
    for (unsigned i = 0; i < b->count; i++)
        sum += b->list[i].weight * nb_expected_sum(b->list[i].counts, label, field, presences);
    return sum;
}

uint64_t nb_besides_vocabulary(const struct nb_besides *b, unsigned field, uint64_t own)
{
    uint64_t most = own;
    for (unsigned i = 0; i < b->count; i++)
        if (b->list[i].weight > 0 && b->list[i].counts->vocabulary[field] > most)
            most = b->list[i].counts->vocabulary[field];
    return most;
}
