/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/range.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/pack.h"

/* The lowest two bits of a row's head: the form of its cells (core/ledger/range.h). */
enum { LISTED = 0, SEEN_ONCE = 1, ONE = 2, BOTH = 3, KIND_BITS = 2, KIND = (1 << KIND_BITS) - 1 };

/* The lowest bit of a stored number of documents: the number of occurrences differs. */
enum { DIFFER = 1 };

/* Frequent counts of rows with a single cell: the index in this list is stored instead. */
struct usual {
    uint8_t documents, more; /* `more`: occurrences minus documents */
};
static const struct usual USUAL[] = {{2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0}, {9, 0},
                                     {1, 1}, {2, 1}, {3, 1}, {4, 1}, {1, 2}, {2, 2}, {3, 2}};
enum {
    USUAL_COUNT = sizeof USUAL / sizeof *USUAL,
    PLACES = 16,              /* one for each item of the list, and one for all other counts */
    OTHER_COUNTS = PLACES - 1 /* the place for other counts, which then follow */
};
_Static_assert((int)USUAL_COUNT == (int)OTHER_COUNTS, "each place but the last has its counts");

struct cells {
    struct nb_cell *cells; /* owned */
    size_t room;
};

static int make_room(struct cells *c, size_t size)
{
    return nb_array_reserve(&c->cells, &c->room, size, sizeof *c->cells);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int read_cells(const struct nb_model *model, uint32_t row, struct cells *c, size_t *size)
{
    *size = nb_model_cells(model, row, c->cells, c->room);
    if (*size <= c->room)
        return 0;
    int rc = make_room(c, *size);
    if (rc == 0)
        *size = nb_model_cells(model, row, c->cells, c->room);
    return rc;
}

static unsigned place_of(const struct nb_cell *cell)
{
    uint32_t more = cell->occurrences - cell->documents;
    unsigned place = 0;
    while (place < USUAL_COUNT &&
           (USUAL[place].documents != cell->documents || USUAL[place].more != more))
        place++;
    return place;
}

/* Encodes the number of documents of a cell, and whether the number of occurrences differs; if it
 * does, write_more writes the difference. */
static uint64_t documents_of(const struct nb_cell *cell)
{
    return (uint64_t)cell->documents << 1 | (cell->occurrences != cell->documents ? DIFFER : 0);
}

static void write_more(const struct nb_cell *cell, struct nb_packer *w)
{
    if (cell->occurrences != cell->documents)
        nb_pack_varint(w, cell->occurrences - cell->documents);
}

static void write_head(uint64_t value, unsigned kind, struct nb_packer *w)
{
    nb_pack_varint(w, value << KIND_BITS | kind);
}

static void write_one(const struct nb_cell *cell, struct nb_packer *w)
{
    if (cell->occurrences == 1 && cell->documents == 1) {
        write_head(cell->label, SEEN_ONCE, w);
        return;
    }
    unsigned place = place_of(cell);
    write_head((uint64_t)cell->label * PLACES + place, ONE, w);
    if (place < OTHER_COUNTS)
        return;
    nb_pack_varint(w, documents_of(cell));
    write_more(cell, w);
}

static void write_cells(const struct cells *c, size_t size, struct nb_packer *w)
{
    if (size == 1) {
        write_one(c->cells, w);
        return;
    }
    bool are_both = size == 2 && c->cells[0].label == 0 && c->cells[1].label == 1;
    if (are_both)
        write_head(documents_of(c->cells), BOTH, w);
    else
        write_head(size, LISTED, w);
    for (size_t i = 0; i < size; i++) {
        const struct nb_cell *cell = &c->cells[i];
        if (!are_both)
            nb_pack_varint(w, cell->label);
        if (!are_both || i > 0)
            nb_pack_varint(w, documents_of(cell));
        write_more(cell, w);
    }
}

int nb_range_write(const struct nb_model *model, uint32_t first, uint32_t count, uint64_t mark,
                   struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    struct cells c = {0};
    assert(first % NB_RANGE_ROWS == 0 && count <= NB_RANGE_ROWS);
    assert((uint64_t)first + count <= nb_model_rows(model));
    nb_pack_varint(&w, mark);
    nb_pack_varint(&w, count);
    for (uint32_t row = first; row < first + count; row++) {
        size_t size = 0;
        if (w.code == 0)
            w.code = read_cells(model, row, &c, &size);
        if (w.code != 0)
            break;
        nb_pack_u64(&w, nb_model_row_id(model, row));
        write_cells(&c, size, &w);
    }
    free(c.cells);
    return w.code;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Skips the number that read_more reads after a number of documents. */
static void skip_more(struct nb_unpacker *r, uint64_t documents)
{
    if ((documents & DIFFER) != 0)
        (void)nb_unpack_varint(r);
}

static void skip_cells(struct nb_unpacker *r, uint64_t count)
{
    for (uint64_t left = count; left > 0 && !r->failed; left--) {
        (void)nb_unpack_varint(r); /* skips the label, which read_listed reads */
        skip_more(r, nb_unpack_varint(r));
    }
}

/* Skips the data after the head of a row. */
static void skip_row(struct nb_unpacker *r, uint64_t head)
{
    uint64_t value = head >> KIND_BITS;
    unsigned kind = head & KIND;
    if (kind == BOTH)
        skip_more(r, value);
    if (kind == BOTH || (kind == ONE && value % PLACES == OTHER_COUNTS))
        skip_more(r, nb_unpack_varint(r));
    else if (kind == LISTED)
        skip_cells(r, value);
}

/* Reads all ids first, so that they are appended together; the cells are read afterwards. */
static void read_ids(struct nb_unpacker r, uint64_t *ids, uint32_t count, bool *whole)
{
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = nb_unpack_u64(&r);
        skip_row(&r, nb_unpack_varint(&r));
    }
    *whole = nb_unpacker_done(&r);
}

/* Reads the counts of a cell after its number of documents. */
static void read_more(struct nb_unpacker *r, uint64_t documents, struct nb_cell *cell)
{
    uint64_t more = (documents & DIFFER) != 0 ? nb_unpack_bounded(r, UINT32_MAX) : 0;
    cell->documents = (uint32_t)(documents >> 1);
    if (documents >> 1 > UINT32_MAX || more > UINT32_MAX - cell->documents)
        r->failed = true;
    cell->occurrences = (uint32_t)(cell->documents + more);
}

static void read_one(struct nb_unpacker *r, uint64_t value, struct nb_cell *cell)
{
    unsigned place = value % PLACES;
    if (value / PLACES >= NB_LABELS_MOST)
        r->failed = true;
    *cell = (struct nb_cell){.label = (uint32_t)(value / PLACES)};
    if (place == OTHER_COUNTS) {
        read_more(r, nb_unpack_varint(r), cell);
        return;
    }
    cell->documents = USUAL[place].documents;
    cell->occurrences = (uint32_t)USUAL[place].documents + USUAL[place].more;
}

static void read_listed(struct nb_unpacker *r, struct nb_cell *cell)
{
    cell->label = (uint32_t)nb_unpack_bounded(r, NB_LABELS_MOST - 1);
    read_more(r, nb_unpack_varint(r), cell);
}

/* The number of cells of a row with this head. */
static uint64_t cells_of(uint64_t head)
{
    unsigned kind = head & KIND;
    return kind == LISTED ? head >> KIND_BITS : kind == BOTH ? 2 : 1;
}

/* Reads a row after its id. Returns NB_CORRUPT or NB_NO_MEMORY, or 0 with *size set. */
static int read_stored_cells(struct nb_unpacker *r, struct cells *c, size_t *size)
{
    uint64_t head = nb_unpack_varint(r);
    uint64_t value = head >> KIND_BITS;
    unsigned kind = head & KIND;
    *size = (size_t)cells_of(head);
    if (*size > NB_LABELS_MOST)
        return NB_CORRUPT;
    if (make_room(c, *size + 1) != 0)
        return NB_NO_MEMORY;
    assert(c->cells != NULL);
    if (kind == SEEN_ONCE && value >= NB_LABELS_MOST)
        r->failed = true;
    else if (kind == SEEN_ONCE)
        c->cells[0] = (struct nb_cell){.label = (uint32_t)value, .occurrences = 1, .documents = 1};
    else if (kind == ONE)
        read_one(r, value, c->cells);
    for (size_t i = 0; i < *size && kind == LISTED; i++)
        read_listed(r, &c->cells[i]);
    for (uint32_t i = 0; i < *size && kind == BOTH; i++) {
        c->cells[i].label = i;
        read_more(r, i == 0 ? value : nb_unpack_varint(r), &c->cells[i]);
    }
    return r->failed ? NB_CORRUPT : 0;
}

static int read_row(struct nb_model *model, uint32_t row, struct nb_unpacker *r, struct cells *c)
{
    uint64_t id = nb_unpack_u64(r);
    size_t size;
    int rc = read_stored_cells(r, c, &size);
    if (rc != 0)
        return rc;
    if (nb_model_is_dropped(id))
        return size == 0 ? 0 : NB_CORRUPT;
    return nb_model_set_cells(model, row, c->cells, size);
}

static int read_rows(struct nb_model *model, uint32_t first, uint32_t count, struct nb_unpacker *r)
{
    struct cells c = {0};
    uint64_t ids[NB_RANGE_ROWS];
    bool whole;
    read_ids(*r, ids, count, &whole);
    int rc = whole ? nb_model_append_all(model, ids, count) : NB_CORRUPT;
    for (uint32_t row = first; rc == 0 && row < first + count; row++)
        rc = read_row(model, row, r, &c);
    free(c.cells);
    return rc;
}

int nb_range_read(struct nb_model *model, uint32_t first, struct nb_string stored, uint64_t *mark,
                  struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    assert(first % NB_RANGE_ROWS == 0);
    *mark = nb_unpack_varint(&r);
    uint32_t count = (uint32_t)nb_unpack_bounded(&r, NB_RANGE_ROWS);
    int rc = nb_model_rows(model) == first ? 0 : NB_CORRUPT;
    if (rc == 0)
        rc = read_rows(model, first, count, &r);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0
                   : nb_error_set(error, NB_CORRUPT,
                                  "the store is damaged: a range of rows does not read back");
}
