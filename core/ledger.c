/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger.h"

#include <stdlib.h>
#include <string.h>

enum {
    FLAG_LEARNED = 1,
    FLAG_TRUNCATED = 2,
    FLAGS_ALL = 3,
    ID_BYTES = 8,
};

static int corrupt(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s does not read back", what);
}

/* ---- entries --------------------------------------------------------------------------------- */

int nb_entry_write(const struct nb_entry *entry, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    unsigned flags = (entry->kind == NB_ENTRY_LEARNED ? FLAG_LEARNED : 0) |
                     (entry->truncated ? FLAG_TRUNCATED : 0);
    nb_pack_u8(&w, (uint8_t)flags);
    nb_pack_string(&w, entry->id);
    nb_pack_varint(&w, entry->label);
    nb_pack_varint(&w, (uint64_t)entry->time);
    nb_pack_varint(&w, entry->replaced);
    nb_pack_varint(&w, entry->tokens);
    nb_pack_varint(&w, entry->first_row);
    nb_pack_varint(&w, entry->new_count);
    nb_pack_bytes(&w, entry->new_ids, entry->new_count * ID_BYTES);
    nb_pack_bytes(&w, entry->bag.bytes, entry->bag.length);
    return w.code;
}

int nb_entry_read(struct nb_entry *entry, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    unsigned flags = nb_unpack_u8(&r);
    *entry = (struct nb_entry){
        .kind = flags & FLAG_LEARNED ? NB_ENTRY_LEARNED : NB_ENTRY_FORGOTTEN,
        .truncated = (flags & FLAG_TRUNCATED) != 0,
    };
    entry->id = nb_unpack_string(&r);
    entry->label = (uint32_t)nb_unpack_bounded(&r, NB_LABELS_MOST);
    entry->time = (int64_t)nb_unpack_bounded(&r, INT64_MAX);
    entry->replaced = nb_unpack_varint(&r);
    entry->tokens = nb_unpack_varint(&r);
    entry->first_row = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    entry->new_count = (size_t)nb_unpack_bounded(&r, (uint64_t)(r.end - r.at) / ID_BYTES);
    entry->new_ids = (const unsigned char *)nb_unpack_bytes(&r, entry->new_count * ID_BYTES).bytes;
    entry->bag = nb_unpack_bytes(&r, (size_t)(r.end - r.at));
    if (!nb_unpacker_done(&r) || flags > FLAGS_ALL)
        return corrupt(error, "a ledger entry");
    return 0;
}

uint64_t nb_entry_new_id(const struct nb_entry *entry, size_t index)
{
    struct nb_unpacker r = nb_unpacker_of(entry->new_ids + index * ID_BYTES, ID_BYTES);
    return nb_unpack_u64(&r);
}

/* ---- bags ------------------------------------------------------------------------------------ */

void nb_rows_deinit(struct nb_rows *rows)
{
    free(rows->counts);
    *rows = (struct nb_rows){0};
}

int nb_rows_add(struct nb_rows *rows, uint32_t row, uint32_t count)
{
    if (rows->size == rows->room) {
        size_t room = rows->room == 0 ? 512 : rows->room * 2;
        struct nb_row_count *counts = realloc(rows->counts, room * sizeof *counts);
        if (counts == NULL)
            return NB_NO_MEMORY;
        rows->counts = counts;
        rows->room = room;
    }
    rows->counts[rows->size++] = (struct nb_row_count){.row = row, .count = count};
    return 0;
}

static int by_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_row_count *)a)->row;
    uint32_t y = ((const struct nb_row_count *)b)->row;
    return (x > y) - (x < y);
}

void nb_rows_sort(struct nb_rows *rows)
{
    if (rows->size > 1)
        qsort(rows->counts, rows->size, sizeof *rows->counts, by_row);
}

/* Scatters by one digit of the row, lowest first, each time keeping the order that the digits
 * before gave (Knuth, The Art of Computer Programming 3, 5.2.5). Digits that all rows share are
 * passed over: with a million rows, one of the four. */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch)
{
    enum { DIGITS = 4, DIGIT_BITS = 8, VALUES = 1 << DIGIT_BITS };
    size_t starts[DIGITS][VALUES] = {{0}};
    struct nb_row_count *from = counts;
    struct nb_row_count *to = scratch;
    for (size_t i = 0; i < size; i++)
        for (unsigned d = 0; d < DIGITS; d++)
            starts[d][counts[i].row >> (d * DIGIT_BITS) & (VALUES - 1)]++;
    for (unsigned d = 0; d < DIGITS && size > 1; d++) {
        size_t *start = starts[d];
        unsigned shift = d * DIGIT_BITS;
        if (start[from[0].row >> shift & (VALUES - 1)] == size)
            continue;
        for (size_t v = 0, sum = 0; v < VALUES; v++) {
            size_t before = sum;
            sum += start[v];
            start[v] = before;
        }
        for (size_t i = 0; i < size; i++)
            to[start[from[i].row >> shift & (VALUES - 1)]++] = from[i];
        struct nb_row_count *swap = from;
        from = to;
        to = swap;
    }
    if (from != counts)
        memcpy(counts, from, size * sizeof *counts);
}

/* A feature is its row's distance to the previous row, shifted by one bit that says whether a count
 * above one follows. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    uint32_t next = 0;
    for (size_t i = 0; i < rows->size; i++) {
        const struct nb_row_count *c = &rows->counts[i];
        nb_pack_varint(&w, (uint64_t)(c->row - next) << 1 | (c->count > 1));
        if (c->count > 1)
            nb_pack_varint(&w, c->count);
        next = c->row + 1;
    }
    return w.code;
}

int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(bag.bytes, bag.length);
    uint64_t next = 0;
    rows->size = 0;
    while (r.at < r.end) {
        uint64_t code = nb_unpack_varint(&r);
        uint64_t count = code & 1 ? nb_unpack_bounded(&r, UINT32_MAX) : 1;
        uint64_t row = next + (code >> 1);
        if (r.failed || row >= limit || count == 0)
            return corrupt(error, "a document's bag");
        if (nb_rows_add(rows, (uint32_t)row, (uint32_t)count) != 0)
            return nb_error_no_memory(error);
        next = row + 1;
    }
    return 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

struct cells {
    struct nb_cell *cells;
    size_t room;
};

static int make_cells_room(struct cells *c, size_t size)
{
    if (size <= c->room)
        return 0;
    struct nb_cell *cells = realloc(c->cells, size * sizeof *cells);
    if (cells == NULL)
        return NB_NO_MEMORY;
    *c = (struct cells){.cells = cells, .room = size};
    return 0;
}

static int read_cells(const struct nb_model *model, uint32_t row, struct cells *c, size_t *size)
{
    *size = nb_model_cells(model, row, c->cells, c->room);
    if (*size <= c->room)
        return 0;
    int rc = make_cells_room(c, *size);
    if (rc == 0)
        *size = nb_model_cells(model, row, c->cells, c->room);
    return rc;
}

int nb_range_write(const struct nb_model *model, uint32_t first, uint32_t count, uint64_t mark,
                   struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    struct cells c = {0};
    nb_pack_varint(&w, mark);
    nb_pack_varint(&w, count);
    for (uint32_t row = first; row < first + count; row++) {
        size_t size;
        if (w.code == 0)
            w.code = read_cells(model, row, &c, &size);
        if (w.code != 0)
            break;
        nb_pack_u64(&w, nb_model_row_id(model, row));
        nb_pack_varint(&w, size);
        for (size_t i = 0; i < size; i++) {
            nb_pack_varint(&w, c.cells[i].label);
            nb_pack_varint(&w, c.cells[i].occurrences);
            nb_pack_varint(&w, c.cells[i].documents);
        }
    }
    free(c.cells);
    return w.code;
}

/* A stored row in two steps, so that the memory that its id leads to is on its way meanwhile. */
struct stored_row {
    uint64_t id;
    struct nb_unpacker cells; /* stands at their number */
};

static void read_id(struct nb_unpacker *r, struct stored_row *row)
{
    row->id = nb_unpack_u64(r);
    row->cells = *r;
    for (size_t left = 3 * (size_t)nb_unpack_bounded(r, NB_LABELS_MOST); left > 0 && !r->failed;
         left--)
        (void)nb_unpack_varint(r); /* comes again in read_row */
}

static int read_row(struct nb_model *model, uint32_t row, struct stored_row *stored,
                    struct cells *c)
{
    struct nb_unpacker *r = &stored->cells;
    size_t size = (size_t)nb_unpack_bounded(r, NB_LABELS_MOST);
    if (make_cells_room(c, size) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < size; i++) {
        c->cells[i].label = (uint32_t)nb_unpack_bounded(r, NB_LABELS_MOST - 1);
        c->cells[i].occurrences = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
        c->cells[i].documents = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
    }
    uint32_t made;
    if (r->failed || nb_feature_field(stored->id) >= NB_FIELDS ||
        nb_model_find(model, stored->id) != NB_NO_ROW)
        return NB_CORRUPT;
    int rc = nb_model_append(model, stored->id, &made);
    if (rc == 0 && made != row)
        rc = NB_CORRUPT;
    return rc != 0 ? rc : nb_model_set_cells(model, row, c->cells, size);
}

enum { AHEAD = 16 }; /* rows */

int nb_range_read(struct nb_model *model, uint32_t first, struct nb_string stored, uint64_t *mark,
                  struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    struct stored_row rows[AHEAD];
    struct cells c = {0};
    *mark = nb_unpack_varint(&r);
    uint32_t count = (uint32_t)nb_unpack_bounded(&r, NB_RANGE_ROWS);
    int rc = nb_model_rows(model) == first ? 0 : NB_CORRUPT;
    for (uint32_t i = 0; rc == 0 && i < count + AHEAD; i++) {
        struct stored_row *row = &rows[i % AHEAD];
        if (i >= AHEAD)
            rc = read_row(model, first + i - AHEAD, row, &c);
        if (i >= count)
            continue;
        read_id(&r, row);
        nb_model_prefetch(model, row->id);
    }
    free(c.cells);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 && nb_unpacker_done(&r) ? 0 : corrupt(error, "a range of rows");
}

/* ---- small records --------------------------------------------------------------------------- */

int nb_state_write(const struct nb_state_record *state, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_varint(&w, state->last);
    nb_pack_varint(&w, state->replay);
    nb_pack_varint(&w, state->rows);
    return w.code;
}

int nb_state_read(struct nb_state_record *state, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    state->last = nb_unpack_varint(&r);
    state->replay = nb_unpack_varint(&r);
    state->rows = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    return nb_unpacker_done(&r) ? 0 : corrupt(error, "a model's state");
}

int nb_label_write(struct nb_string name, uint64_t documents, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_string(&w, name);
    nb_pack_varint(&w, documents);
    return w.code;
}

int nb_label_read(struct nb_string stored, struct nb_string *name, uint64_t *documents,
                  struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    *name = nb_unpack_string(&r);
    *documents = nb_unpack_varint(&r);
    return nb_unpacker_done(&r) ? 0 : corrupt(error, "a label");
}
