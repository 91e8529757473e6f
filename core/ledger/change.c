/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/change.h"

#include <assert.h>

#include "core/base/array.h"
#include "core/base/buffer.h"

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
