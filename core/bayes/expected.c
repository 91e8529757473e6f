/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/expected.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/* A document that has a feature, and how often. */
struct use {
    uint32_t document, count;
};

struct making {
    const struct nb_expected_columns *columns;
    const struct nb_em_documents *documents;
    const struct nb_em *shares;
    const uint32_t *numbers;
    uint32_t labels;
    uint32_t *order;  /* owned; labels that have a number, sorted by it ... */
    uint32_t ordered; /* ... and how many */
    size_t *begin;    /* owned; start of each column in `uses` */
    struct use *uses; /* owned; by column, then by document */
    double *sums;     /* owned; occurrences and documents of each label, for one column */
    struct nb_expected *expected;
};

static void making_deinit(struct making *m)
{
    free(m->begin);
    free(m->uses);
    free(m->sums);
    free(m->order);
}

static void expected_free(struct nb_expected *e)
{
    free(e->ids);
    free(e->begin);
    free(e->cells);
    free(e->documents);
    free(e->occurrences);
    free(e->presences);
    free(e->part_occurrences);
    free(e->part_vocabulary);
    free(e->numbers);
    free(e);
}

/* Transposes the matrix: lists the documents of each column. */
static int turn(struct making *m)
{
    const struct nb_em_documents *d = m->documents;
    size_t size = 0;
    for (size_t document = 0; document < d->count; document++)
        size += d->end[document] - d->begin[document];
    m->begin = calloc((size_t)m->columns->count + 2, sizeof *m->begin);
    m->uses = calloc(size + 1, sizeof *m->uses);
    m->sums = calloc((size_t)m->labels * 2, sizeof *m->sums);
    if (m->begin == NULL || m->uses == NULL || m->sums == NULL)
        return NB_NO_MEMORY;
    for (size_t document = 0; document < d->count; document++)
        for (size_t i = d->begin[document]; i < d->end[document]; i++)
            m->begin[d->columns[i] + 2]++;
    for (uint32_t c = 0; c < m->columns->count; c++)
        m->begin[c + 2] += m->begin[c + 1];
    for (size_t document = 0; document < d->count; document++)
        for (size_t i = d->begin[document]; i < d->end[document]; i++)
            m->uses[m->begin[d->columns[i] + 1]++] = (struct use){(uint32_t)document, d->counts[i]};
    return 0;
}

static void add_column(struct making *m, uint32_t column)
{
    const struct nb_em *s = m->shares;
    memset(m->sums, 0, (size_t)m->labels * 2 * sizeof *m->sums);
    for (size_t i = m->begin[column]; i < m->begin[column + 1]; i++)
        for (size_t j = s->begin[m->uses[i].document]; j < s->begin[m->uses[i].document + 1]; j++) {
            m->sums[(size_t)2 * s->labels[j]] += s->shares[j] * m->uses[i].count;
            m->sums[(size_t)2 * s->labels[j] + 1] += s->shares[j];
        }
}

static void note_sums(struct making *m, unsigned field, const struct nb_expected_cell *cell)
{
    size_t at = (size_t)cell->label * (NB_FIELDS + 1);
    m->expected->occurrences[at + field] += cell->occurrences;
    m->expected->presences[at + field] += cell->documents;
    if (!nb_field_is_token(field))
        return;
    m->expected->occurrences[at + NB_FIELDS] += cell->occurrences;
    m->expected->presences[at + NB_FIELDS] += cell->documents;
}

static void note_part_sums(struct making *m, unsigned part, const struct nb_expected_cell *cell)
{
    size_t at = (size_t)cell->label * 2 * m->columns->attributes + part;
    m->expected->part_occurrences[at] += cell->occurrences;
    m->expected->part_presences[at] += cell->documents;
}

static void note_word(struct making *m, uint64_t id)
{
    unsigned field = nb_feature_field(id);
    if (field == NB_FIELD_VALUE) {
        m->expected->part_vocabulary[nb_feature_part(id)]++;
        return;
    }
    m->expected->vocabulary[field]++;
    m->expected->vocabulary[NB_FIELDS] += nb_field_is_token(field);
}

/* Adds a document's number to the numbers of a label that it has with this share. */
static void add_number(struct making *m, uint64_t id, uint32_t label, double share)
{
    struct nb_expected_numbers *n =
        &m->expected->numbers[(size_t)label * m->columns->attributes + nb_feature_part(id) / 2];
    nb_int128 fixed = nb_decimal_fixed(id);
    const struct nb_normal one = {
        .count = share, .mean = nb_int128_double(fixed) * NB_FIXED_UNIT, .documents = 1};
    if (share >= 1)
        nb_moments_add(&n->whole, fixed, 1, 1);
    else
        n->shared = nb_normal_merge(n->shared, one);
}

static void add_numbers(struct making *m, uint32_t column)
{
    const struct nb_em *s = m->shares;
    for (size_t i = m->begin[column]; i < m->begin[column + 1]; i++)
        for (size_t j = s->begin[m->uses[i].document]; j < s->begin[m->uses[i].document + 1]; j++)
            if (m->numbers[s->labels[j]] != UINT32_MAX)
                add_number(m, m->columns->ids[column], m->numbers[s->labels[j]], s->shares[j]);
}

/* Whether the feature of a row is counted. It is not if the row has lost it meanwhile, or if its
 * field was added to the settings since. */
static bool is_counted(const struct making *m, uint64_t id)
{
    return nb_feature_field(id) < NB_FIELDS || (nb_feature_field(id) == NB_FIELD_VALUE &&
                                                nb_feature_part(id) < 2 * m->columns->attributes);
}

/* Writes the cells of a column from index `at` on. Returns their number. */
static size_t put_cells(struct making *m, uint32_t column, size_t at)
{
    uint64_t id = m->columns->ids[column];
    size_t before = at;
    if (!is_counted(m, id))
        return 0;
    add_column(m, column);
    for (uint32_t i = 0; i < m->ordered; i++) {
        uint32_t v = m->order[i];
        if (!(m->sums[(size_t)2 * v + 1] > 0))
            continue;
        m->expected->cells[at] = (struct nb_expected_cell){m->numbers[v], m->sums[(size_t)2 * v],
                                                           m->sums[(size_t)2 * v + 1]};
        if (nb_feature_field(id) == NB_FIELD_VALUE)
            note_part_sums(m, nb_feature_part(id), &m->expected->cells[at++]);
        else
            note_sums(m, nb_feature_field(id), &m->expected->cells[at++]);
    }
    if (nb_feature_is_number(id))
        add_numbers(m, column);
    if (at > before && !m->columns->learned[column])
        note_word(m, id);
    return at - before;
}

/* Upper bound of the number of cells. A column has at most one for each share of its documents, and
 * at most one for each label. */
static size_t cells_most(const struct making *m)
{
    size_t most = 0;
    for (uint32_t c = 0; c < m->columns->count; c++) {
        size_t shares = 0;
        for (size_t i = m->begin[c]; i < m->begin[c + 1]; i++)
            shares +=
                m->shares->begin[m->uses[i].document + 1] - m->shares->begin[m->uses[i].document];
        most += shares < m->labels ? shares : m->labels;
    }
    return most;
}

/* Allocates the sums over parts, and the numbers, of fields. */
static int make_part_room(struct making *m)
{
    struct nb_expected *e = m->expected;
    size_t parts = (size_t)2 * m->columns->attributes;
    e->attributes = m->columns->attributes;
    if (parts == 0)
        return 0;
    e->part_occurrences = calloc(2 * parts * e->labels + 1, sizeof *e->part_occurrences);
    e->part_vocabulary = malloc(parts * sizeof *e->part_vocabulary);
    e->numbers = calloc((size_t)e->labels * e->attributes + 1, sizeof *e->numbers);
    if (e->part_occurrences == NULL || e->part_vocabulary == NULL || e->numbers == NULL)
        return NB_NO_MEMORY;
    e->part_presences = e->part_occurrences + parts * e->labels;
    memcpy(e->part_vocabulary, m->columns->part_vocabulary, parts * sizeof *e->part_vocabulary);
    return 0;
}

static int make_room(struct making *m)
{
    struct nb_expected *e = m->expected;
    for (uint32_t c = 0; c < m->columns->count; c++)
        e->rows = m->columns->rows[c] >= e->rows ? m->columns->rows[c] + 1 : e->rows;
    for (uint32_t i = 0; i < m->ordered; i++)
        e->labels = m->numbers[m->order[i]] + 1; /* the last number is the largest */
    size_t sums = ((size_t)e->labels + 1) * (NB_FIELDS + 1);
    e->ids = malloc(((size_t)e->rows + 1) * sizeof *e->ids);
    e->begin = calloc((size_t)e->rows + 1, sizeof *e->begin);
    e->cells = malloc((cells_most(m) + 1) * sizeof *e->cells);
    e->documents = calloc((size_t)e->labels + 1, sizeof *e->documents);
    e->occurrences = calloc(sums, sizeof *e->occurrences);
    e->presences = calloc(sums, sizeof *e->presences);
    bool good = e->ids != NULL && e->begin != NULL && e->cells != NULL && e->documents != NULL &&
                e->occurrences != NULL && e->presences != NULL;
    for (uint32_t row = 0; good && row < e->rows; row++)
        e->ids[row] = NB_DROPPED_ID;
    return good ? 0 : NB_NO_MEMORY;
}

/* Writes all cells, sorted by row: `order` has the column of each row, or UINT32_MAX. */
static void fill(struct making *m, const uint32_t *order)
{
    struct nb_expected *e = m->expected;
    for (uint32_t row = 0; row < e->rows; row++) {
        size_t size = 0;
        if (order[row] != UINT32_MAX) {
            e->ids[row] = m->columns->ids[order[row]];
            size = put_cells(m, order[row], e->begin[row]);
        }
        e->begin[row + 1] = e->begin[row] + size;
    }
    for (size_t i = 0; i < m->shares->begin[m->shares->count]; i++)
        if (m->numbers[m->shares->labels[i]] != UINT32_MAX)
            e->documents[m->numbers[m->shares->labels[i]]] += m->shares->shares[i];
}

/* Sorts the labels by number. They arrive sorted by number or by name. */
static int order_labels(struct making *m)
{
    m->order = calloc((size_t)m->labels + 1, sizeof *m->order);
    if (m->order == NULL)
        return NB_NO_MEMORY;
    for (uint32_t v = 0; v < m->labels; v++) {
        uint32_t at = m->ordered;
        if (m->numbers[v] == UINT32_MAX)
            continue;
        for (; at > 0 && m->numbers[m->order[at - 1]] > m->numbers[v]; at--)
            m->order[at] = m->order[at - 1];
        m->order[at] = v;
        m->ordered++;
    }
    return 0;
}

static int make(struct making *m)
{
    int rc = turn(m);
    if (rc == 0)
        rc = order_labels(m);
    if (rc == 0)
        rc = make_room(m);
    if (rc == 0)
        rc = make_part_room(m);
    if (rc != 0)
        return rc;
    uint32_t *order = malloc(((size_t)m->expected->rows + 1) * sizeof *order);
    if (order == NULL)
        return NB_NO_MEMORY;
    memset(order, 0xff, ((size_t)m->expected->rows + 1) * sizeof *order);
    for (uint32_t c = 0; c < m->columns->count; c++)
        order[m->columns->rows[c]] = c;
    fill(m, order);
    free(order);
    return 0;
}

int nb_expected_new(const struct nb_expected_columns *columns,
                    const struct nb_em_documents *documents, const struct nb_em *shares,
                    const uint32_t *numbers, uint32_t labels,
                    const uint64_t vocabulary[NB_FIELDS + 1], struct nb_expected **expected)
{
    struct making m = {.columns = columns,
                       .documents = documents,
                       .shares = shares,
                       .numbers = numbers,
                       .labels = labels,
                       .expected = calloc(1, sizeof *m.expected)};
    assert(labels > 0 && shares->count == documents->count);
    if (m.expected == NULL)
        return NB_NO_MEMORY;
    atomic_init(&m.expected->references, 1);
    memcpy(m.expected->vocabulary, vocabulary, sizeof m.expected->vocabulary);
    int rc = make(&m);
    making_deinit(&m);
    if (rc == 0)
        *expected = m.expected;
    else
        expected_free(m.expected);
    return rc;
}

struct nb_expected *nb_expected_use(struct nb_expected *expected)
{
    atomic_fetch_add(&expected->references, 1);
    return expected;
}

void nb_expected_release(struct nb_expected **expected)
{
    struct nb_expected *e = *expected;
    *expected = NULL;
    if (e != NULL && atomic_fetch_sub(&e->references, 1) == 1)
        expected_free(e);
}

size_t nb_expected_memory(const struct nb_expected *e)
{
    if (e == NULL)
        return 0;
    return sizeof *e + (size_t)e->rows * (sizeof *e->ids + sizeof *e->begin) +
           e->begin[e->rows] * sizeof *e->cells +
           (size_t)e->labels * (2 * ((size_t)NB_FIELDS + 1) + 1) * sizeof(double) +
           (size_t)e->attributes * (2 * sizeof *e->part_vocabulary +
                                    e->labels * (4 * sizeof(double) + sizeof *e->numbers));
}

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

/* Removes `out` from `own`. The model no longer has numbers of documents forgotten meanwhile. */
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
