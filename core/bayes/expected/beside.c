/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/expected/beside.h"

#include <assert.h>
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

/* Of documents that were forgotten meanwhile the model has no numbers any more. */
static void take_out(struct nb_moments *own, const struct nb_moments *out)
{
    if (own->count > out->count)
        nb_moments_merge(own, out, -1);
    else
        *own = (struct nb_moments){0};
}

struct nb_normal nb_besides_numbers(const struct nb_besides *b, uint32_t label, unsigned attribute,
                                    struct nb_moments own)
{
    struct nb_normal more = {.count = 0};
    for (unsigned i = 0; i < b->count; i++) {
        double weight = b->list[i].weight;
        const struct nb_expected_numbers *n =
            nb_expected_numbers_of(b->list[i].counts, label, attribute);
        if (n == NULL)
            continue;
        if (weight < 0) {
            assert(n->shared.documents == 0);
            take_out(&own, &n->whole);
            continue;
        }
        struct nb_normal shared = n->shared;
        shared.count *= weight;
        more = nb_normal_merge(more, nb_normal_merge(nb_normal_of(&n->whole, weight), shared));
    }
    return nb_normal_merge(nb_normal_of(&own, 1), more);
}

static uint64_t vocabulary_of(const struct nb_expected *e, unsigned field)
{
    assert(field != NB_ALL_TOKENS); /* no formula asks for it */
    if (field <= NB_TOKEN_FIELDS)
        return e->vocabulary[field];
    return field - NB_FIRST_PART < 2 * e->attributes ? e->part_vocabulary[field - NB_FIRST_PART]
                                                     : 0;
}

uint64_t nb_besides_vocabulary(const struct nb_besides *b, unsigned field, uint64_t own)
{
    uint64_t most = own;
    for (unsigned i = 0; i < b->count; i++)
        if (b->list[i].weight > 0 && vocabulary_of(b->list[i].counts, field) > most)
            most = vocabulary_of(b->list[i].counts, field);
    return most;
}
