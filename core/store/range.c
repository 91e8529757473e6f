/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/range.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/pack.h"

/* The lowest bit of a row's first number, and of a cell's second (core/store/range.h). */
enum { SEEN_ONCE = 1 };

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

static void write_cells(const struct cells *c, size_t size, struct nb_packer *w)
{
    if (size == 1 && c->cells[0].occurrences == 1 && c->cells[0].documents == 1) {
        nb_pack_varint(w, (uint64_t)c->cells[0].label << 1 | SEEN_ONCE);
        return;
    }
    nb_pack_varint(w, (uint64_t)size << 1);
    for (size_t i = 0; i < size; i++) {
        const struct nb_cell *cell = &c->cells[i];
        bool differ = cell->occurrences != cell->documents;
        nb_pack_varint(w, cell->label);
        nb_pack_varint(w, (uint64_t)cell->documents << 1 | differ);
        if (differ)
            nb_pack_varint(w, cell->occurrences - cell->documents);
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

static void skip_cells(struct nb_unpacker *r, uint64_t count)
{
    for (uint64_t left = count; left > 0 && !r->failed; left--) {
        (void)nb_unpack_varint(r);           /* read_cell reads it */
        if (nb_unpack_varint(r) & SEEN_ONCE) /* the occurrences differ */
            (void)nb_unpack_varint(r);
    }
}

/* The ids are read first, all of them, so that they are appended together; then the cells. */
static void read_ids(struct nb_unpacker r, uint64_t *ids, uint32_t count, bool *whole)
{
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = nb_unpack_u64(&r);
        uint64_t head = nb_unpack_bounded(&r, (uint64_t)NB_LABELS_MOST << 1 | 1);
        if (!(head & SEEN_ONCE))
            skip_cells(&r, head >> 1);
    }
    *whole = nb_unpacker_done(&r);
}

static void read_cell(struct nb_unpacker *r, struct nb_cell *cell)
{
    cell->label = (uint32_t)nb_unpack_bounded(r, NB_LABELS_MOST - 1);
    uint64_t documents = nb_unpack_bounded(r, (uint64_t)UINT32_MAX << 1 | 1);
    cell->documents = (uint32_t)(documents >> 1);
    uint64_t more = documents & 1 ? nb_unpack_bounded(r, UINT32_MAX) : 0;
    if (more > UINT32_MAX - cell->documents)
        r->failed = true;
    cell->occurrences = (uint32_t)(cell->documents + more);
}

/* Reads a row behind its id. Returns NB_CORRUPT or NB_NO_MEMORY, or 0 with *size set. */
static int read_stored_cells(struct nb_unpacker *r, struct cells *c, size_t *size)
{
    uint64_t head = nb_unpack_varint(r);
    bool once = (head & SEEN_ONCE) != 0;
    uint64_t half = head >> 1;
    *size = once ? 1 : (size_t)half;
    if (make_room(c, *size + 1) != 0)
        return NB_NO_MEMORY;
    assert(c->cells != NULL);
    if (once)
        c->cells[0] = (struct nb_cell){.label = (uint32_t)half, .occurrences = 1, .documents = 1};
    for (size_t i = 0; i < *size && !once; i++)
        read_cell(r, &c->cells[i]);
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
