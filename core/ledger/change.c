/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/change.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/names.h"
#include "core/ledger/record.h"

enum {
    FLAG_TRUNCATED = 1,
    FLAG_LABEL_NAME = 2,
    FLAG_FEATURES = 4,
    FLAG_REPLACED = 8,
    FLAG_SCORE = 16,
    FLAG_NEW_ROWS = 32,
    FLAG_REVIEWED = 64,
    FLAG_JUDGED = 128,
    FLAGS_ALL = 255,
};

/* ---- writing --------------------------------------------------------------------------------- */

static unsigned flags_of(const struct nb_change *c)
{
    return (c->truncated ? FLAG_TRUNCATED : 0u) |
           (c->label_name.length > 0 ? FLAG_LABEL_NAME : 0u) |
           (c->new_count > 0 ? FLAG_FEATURES : 0u) | (c->replaced != 0 ? FLAG_REPLACED : 0u) |
           (c->score.length > 0 ? FLAG_SCORE : 0u) | (c->new_rows.length > 0 ? FLAG_NEW_ROWS : 0u) |
           (c->is_reviewed ? FLAG_REVIEWED : 0u) | (c->judged != 0 ? FLAG_JUDGED : 0u);
}

static uint8_t format_of(const struct nb_change *c)
{
    return c->judged != 0 ? 4 : c->is_reviewed ? 3 : c->new_rows.length > 0 ? 2 : 1;
}

static void write_features(const struct nb_change *c, struct nb_packer *w)
{
    nb_pack_varint(w, c->first_row);
    nb_pack_varint(w, c->new_count);
    nb_pack_string(w, c->features);
    if (c->new_rows.length > 0)
        nb_pack_string(w, c->new_rows);
}

/* Writes the members of TRAIN, UNTRAIN and FEATURES. The bag is last and takes the rest of the
 * bytes.
 */
static void write_document(const struct nb_change *c, struct nb_packer *w)
{
    assert(c->kind == NB_CHANGE_FEATURES || c->id.length > 0);
    nb_pack_u8(w, (uint8_t)flags_of(c));
    nb_pack_varint(w, c->label);
    if (c->label_name.length > 0)
        nb_pack_string(w, c->label_name);
    if (c->kind != NB_CHANGE_FEATURES) {
        nb_pack_string(w, c->id);
        nb_pack_varint(w, c->tokens);
    }
    if (c->replaced != 0) {
        nb_pack_varint(w, c->replaced);
        nb_pack_varint(w, c->first);
    }
    if (c->score.length > 0)
        nb_pack_string(w, c->score);
    if (c->judged != 0)
        nb_pack_u64(w, c->judged);
    if (c->new_count > 0)
        write_features(c, w);
    nb_pack_bytes(w, c->bag.bytes, c->bag.length);
}

static void write_model(const struct nb_change *c, struct nb_packer *w)
{
    nb_pack_string(w, c->name);
    nb_pack_string(w, c->settings);
    nb_pack_string(w, c->key);
    nb_pack_string(w, c->weights);
    nb_pack_varint(w, c->other);
}

static void write_rename(const struct nb_change *c, struct nb_packer *w)
{
    nb_pack_varint(w, c->label);
    nb_pack_string(w, c->label_name);
}

int nb_change_write(const struct nb_change *change, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    assert(change->kind > 0 && change->kind < NB_CHANGE_KINDS);
    assert(change->source.length <= NB_SOURCE_MOST);
    assert(change->label <= NB_NO_LABEL);
    assert(change->replaced != 0 || change->first == 0);
    assert(change->new_rows.length == 0 || change->new_count > 0);
    nb_pack_u8(&w, format_of(change));
    nb_pack_u8(&w, (uint8_t)change->kind);
    nb_pack_varint(&w, change->model);
    nb_pack_varint(&w, (uint64_t)change->time);
    nb_pack_string(&w, change->source);
    switch (change->kind) {
    case NB_CHANGE_TRAIN:
    case NB_CHANGE_UNTRAIN:
    case NB_CHANGE_FEATURES:
        write_document(change, &w);
        break;
    case NB_CHANGE_RENAME_LABEL:
        write_rename(change, &w);
        break;
    case NB_CHANGE_CREATE:
    case NB_CHANGE_SETTINGS:
    case NB_CHANGE_DELETE:
    case NB_CHANGE_IMPORT:
    case NB_CHANGE_COMPLETE:
    case NB_CHANGE_REFIT:
    case NB_CHANGE_STORE:
    case NB_CHANGE_UNDO:
    case NB_CHANGE_KINDS:
        write_model(change, &w);
        break;
    }
    return w.code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_features(struct nb_change *c, unsigned flags, struct nb_unpacker *r)
{
    c->first_row = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
    c->new_count = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
    c->features = nb_unpack_string(r);
    if (flags & FLAG_NEW_ROWS)
        c->new_rows = nb_unpack_string(r);
    if (c->new_count == 0)
        r->failed = true;
}

static void read_document(struct nb_change *c, unsigned format, struct nb_unpacker *r)
{
    unsigned flags = nb_unpack_u8(r);
    bool has_new_rows = (flags & FLAG_NEW_ROWS) != 0;
    c->truncated = (flags & FLAG_TRUNCATED) != 0;
    c->is_reviewed = (flags & FLAG_REVIEWED) != 0;
    c->label = (uint32_t)nb_unpack_bounded(r, NB_NO_LABEL);
    if (flags & FLAG_LABEL_NAME)
        c->label_name = nb_unpack_string(r);
    if (c->kind != NB_CHANGE_FEATURES) {
        c->id = nb_unpack_string(r);
        c->tokens = nb_unpack_varint(r);
    }
    if (flags & FLAG_REPLACED) {
        c->replaced = nb_unpack_varint(r);
        c->first = nb_unpack_varint(r);
        if (c->replaced == 0)
            r->failed = true;
    }
    if (flags & FLAG_SCORE)
        c->score = nb_unpack_string(r);
    if (flags & FLAG_JUDGED)
        c->judged = nb_unpack_u64(r);
    if (flags & FLAG_FEATURES)
        read_features(c, flags, r);
    c->bag = nb_unpack_bytes(r, (size_t)(r->end - r->at));
    if (flags > FLAGS_ALL || (c->judged != 0) != (format == 4) ||
        (format < 4 && c->is_reviewed != (format == 3)) ||
        (format < 3 && has_new_rows != (format == 2)) ||
        (c->is_reviewed && c->kind != NB_CHANGE_TRAIN) ||
        (has_new_rows && c->new_rows.length == 0) ||
        (c->kind != NB_CHANGE_FEATURES && c->id.length == 0))
        r->failed = true;
}

static void read_model(struct nb_change *c, struct nb_unpacker *r)
{
    c->name = nb_unpack_string(r);
    c->settings = nb_unpack_string(r);
    c->key = nb_unpack_string(r);
    c->weights = nb_unpack_string(r);
    c->other = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
}

int nb_change_read(struct nb_change *change, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    unsigned format = nb_unpack_u8(&r);
    unsigned kind = nb_unpack_u8(&r);
    *change = (struct nb_change){.kind = (enum nb_change_kind)kind};
    if (!r.failed && (format > NB_CHANGE_FORMAT || kind >= NB_CHANGE_KINDS))
        return nb_error_set(error, NB_VERSION,
                            "the ledger has an entry of format %u and kind %u, written by a newer "
                            "bayesd: use that one",
                            format, kind);
    change->model = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    change->time = (int64_t)nb_unpack_bounded(&r, INT64_MAX);
    change->source = nb_unpack_string(&r);
    if (kind >= NB_CHANGE_TRAIN && kind <= NB_CHANGE_FEATURES) {
        read_document(change, format, &r);
    } else if (kind == NB_CHANGE_RENAME_LABEL) {
        change->label = (uint32_t)nb_unpack_bounded(&r, NB_NO_LABEL);
        change->label_name = nb_unpack_string(&r);
    } else {
        read_model(change, &r);
    }
    bool has_rows = kind >= NB_CHANGE_TRAIN && kind <= NB_CHANGE_FEATURES;
    if (nb_unpacker_done(&r) && kind != 0 && format != 0 && (format == 1 || has_rows) &&
        change->source.length <= NB_SOURCE_MOST)
        return 0;
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: a ledger entry does not read back");
}

int nb_change_new_rows(const struct nb_change *change, uint64_t limit, struct nb_rows *rows,
                       struct nb_error *error)
{
    uint32_t most = limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit;
    int rc = 0;
    rows->size = 0;
    if (change->new_rows.length > 0) {
        rc = nb_bag_decode(change->new_rows, most, rows, error);
        if (rc == 0 &&
            (rows->size != change->new_count || rows->counts[0].row != change->first_row))
            rc = nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: the rows of new features do not read back");
        return rc;
    }
    if ((uint64_t)change->first_row + change->new_count > most)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a new feature has an impossible row");
    rc = nb_array_reserve(&rows->counts, &rows->room, change->new_count, sizeof *rows->counts);
    if (rc != 0)
        return nb_error_no_memory(error);
    for (uint32_t i = 0; i < change->new_count; i++)
        rows->counts[rows->size++] =
            (struct nb_row_count){.row = change->first_row + i, .count = 1};
    return 0;
}

bool nb_change_remnant(const struct nb_change *change, struct nb_change *remnant)
{
    assert(change->kind == NB_CHANGE_TRAIN || change->kind == NB_CHANGE_UNTRAIN);
    if (change->new_count == 0 && change->label_name.length == 0)
        return false;
    *remnant = (struct nb_change){.kind = NB_CHANGE_FEATURES,
                                  .model = change->model,
                                  .time = change->time,
                                  .label = change->label,
                                  .label_name = change->label_name,
                                  .first_row = change->first_row,
                                  .new_count = change->new_count,
                                  .features = change->features,
                                  .new_rows = change->new_rows};
    return true;
}

static int corrupt(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s does not read back", what);
}

int nb_state_write(const struct nb_state_record *state, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_varint(&w, state->last);
    nb_pack_varint(&w, state->replay);
    nb_pack_varint(&w, state->tail);
    nb_pack_varint(&w, state->vocabulary);
    nb_pack_varint(&w, state->rows);
    nb_pack_varint(&w, state->labels);
    nb_pack_varint(&w, state->weights);
    nb_pack_varint(&w, state->totals.entries);
    nb_pack_varint(&w, state->totals.current);
    nb_pack_varint(&w, state->totals.unlabelled);
    nb_pack_varint(&w, state->totals.scores);
    nb_pack_varint(&w, state->totals.dropped);
    nb_pack_varint(&w, state->twin.ranges);
    nb_pack_varint(&w, state->twin.oldest);
    nb_pack_varint(&w, state->twin.first);
    nb_pack_varint(&w, state->twin.next);
    nb_pack_varint(&w, state->version);
    return w.code;
}

int nb_state_read(struct nb_state_record *state, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    state->last = nb_unpack_varint(&r);
    state->replay = nb_unpack_varint(&r);
    state->tail = nb_unpack_varint(&r);
    state->vocabulary = nb_unpack_varint(&r);
    state->rows = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->labels = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->weights = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->totals.entries = nb_unpack_varint(&r);
    state->totals.current = nb_unpack_varint(&r);
    state->totals.unlabelled = nb_unpack_bounded(&r, state->totals.current);
    state->totals.scores = nb_unpack_varint(&r);
    state->totals.dropped = nb_unpack_varint(&r);
    state->twin.ranges = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->twin.oldest = nb_unpack_varint(&r);
    state->twin.first = nb_unpack_varint(&r);
    state->twin.next = nb_unpack_varint(&r);
    state->version = 0; /* of an older version, which does not say it */
    if (r.at < r.end) {
        state->version = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
        r.failed |= state->version == 0;
    }
    return nb_unpacker_done(&r) ? 0 : corrupt(error, "a model's state");
}

int nb_label_write(const struct nb_label_record *label, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_string(&w, label->name);
    nb_pack_varint(&w, label->documents);
    nb_pack_varint(&w, label->tokens);
    return w.code;
}

int nb_label_read(struct nb_label_record *label, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    label->name = nb_unpack_string(&r);
    label->documents = nb_unpack_varint(&r);
    label->tokens = nb_unpack_varint(&r);
    return nb_unpacker_done(&r) ? 0 : corrupt(error, "a label");
}

int nb_own_key_write(const struct nb_own_key *key, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    if (!key->present)
        return 0;
    nb_pack_u8(&w, key->hashes_features);
    nb_pack_bytes(&w, key->bytes, NB_KEY_BYTES);
    return w.code;
}

int nb_own_key_read(struct nb_own_key *key, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    *key = (struct nb_own_key){.present = stored.length > 0};
    if (!key->present)
        return 0;
    key->hashes_features = nb_unpack_u8(&r) != 0;
    struct nb_string bytes = nb_unpack_bytes(&r, NB_KEY_BYTES);
    if (!nb_unpacker_done(&r))
        return corrupt(error, "a model's key");
    memcpy(key->bytes, bytes.bytes, NB_KEY_BYTES);
    return 0;
}

int nb_model_record_write(const struct nb_model_record *record, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    assert(record->number != 0);
    nb_pack_varint(&w, record->number);
    nb_pack_string(&w, record->settings);
    nb_pack_string(&w, record->key);
    return w.code;
}

int nb_model_record_read(struct nb_model_record *record, struct nb_string stored,
                         struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    record->number = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    record->settings = nb_unpack_string(&r);
    record->key = nb_unpack_string(&r);
    return nb_unpacker_done(&r) && record->number != 0 ? 0 : corrupt(error, "a model's record");
}

static const struct nb_string MODEL_KEY = {"greatest_model", 14};

/* Finds the greatest model number at the beginning of a key in the table. */
static int greatest_in_table(const struct nb_view *view, enum nb_table table,
                             struct nb_serials *serials, struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_sequence(UINT32_MAX, UINT64_MAX);
    struct nb_string key;
    struct nb_string value;
    int rc = nb_store_floor(view, table, nb_store_key_string(&most), 0, &key, &value, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    /* A damaged row still has a key, so its number is not used again. */
    if (rc != 0 && rc != NB_CORRUPT)
        return rc;
    uint32_t number = nb_store_key_head(key);
    if (key.length >= sizeof number && number > serials->model && number != UINT32_MAX)
        serials->model = number;
    return 0;
}

/* Looks at the record of a model. A damaged record is skipped: its number is also in the model's
 * rows in other tables, and in its entries. */
static int model_record(void *user, enum nb_table table, struct nb_string key,
                        struct nb_string value, bool sound, struct nb_error *error)
{
    struct nb_serials *serials = user;
    struct nb_model_record record;
    (void)table;
    (void)key;
    if (sound && nb_model_record_read(&record, value, error) == 0 && record.number > serials->model)
        serials->model = record.number;
    return 0;
}

static int greatest_entry(const struct nb_view *view, struct nb_serials *serials,
                          struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_entry(UINT64_MAX, UINT16_MAX);
    struct nb_string key;
    struct nb_string value;
    int rc =
        nb_store_floor(view, NB_TABLE_LEDGER, nb_store_key_string(&most), 0, &key, &value, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 || rc == NB_CORRUPT)
        serials->entry = nb_store_key_entry_number(key);
    return rc == NB_CORRUPT ? 0 : rc;
}

int nb_serials_load(const struct nb_view *view, struct nb_serials *serials, struct nb_error *error)
{
    static const enum nb_table tables[] = {
        NB_TABLE_STATE,   NB_TABLE_LABELS,  NB_TABLE_ENTRIES,    NB_TABLE_DOCUMENTS,
        NB_TABLE_ROWS,    NB_TABLE_WORDS,   NB_TABLE_WEIGHTS,    NB_TABLE_SCORES,
        NB_TABLE_GARBAGE, NB_TABLE_ORPHANS, NB_TABLE_QUARANTINE, NB_TABLE_WAITING,
        NB_TABLE_KEPT,    NB_TABLE_TWIN,    NB_TABLE_HISTORY,    NB_TABLE_HISTORY_IDS};
    struct nb_string value;
    *serials = (struct nb_serials){0};
    int rc = nb_store_get(view, NB_TABLE_META, MODEL_KEY, &value, error);
    if (rc == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        serials->model = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    }
    if (rc == NB_CORRUPT)
        rc = nb_error_set(error, rc,
                          "the store is damaged: the greatest number of a model does not read "
                          "back; run bayesd --rebuild");
    rc = rc == NB_NOT_FOUND ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++)
        rc = greatest_in_table(view, tables[i], serials, error);
    if (rc == 0)
        rc = nb_store_inspect(view, NB_TABLE_MODELS, model_record, serials, error);
    return rc != 0 ? rc : greatest_entry(view, serials, error);
}

int nb_serials_model(struct nb_serials *serials, const struct nb_view *view, uint32_t *number,
                     struct nb_error *error)
{
    struct nb_buffer stored = {0};
    struct nb_packer w = {.out = &stored};
    if (serials->model >= UINT32_MAX - 1)
        return nb_error_set(error, NB_TOO_LARGE, "4 billion models were made in this store");
    nb_pack_varint(&w, (uint64_t)serials->model + 1);
    int rc = w.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, MODEL_KEY,
                                        (struct nb_string){stored.bytes, stored.length}, error);
    nb_buffer_deinit(&stored);
    if (rc == 0)
        *number = ++serials->model;
    return rc;
}

/* ---- ranges of rows -------------------------------------------------------------------------- */

/* The lowest two bits of a row's head: the form of its cells (nb_range_write). */
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
