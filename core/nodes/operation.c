/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/operation.h"

#include <assert.h>

#include "core/archive/dump/staged.h"
#include "core/base/feature.h"
#include "core/base/pack.h"
#include "core/bayes/settings/settings.h"
#include "core/ledger/entries/change.h"
#include "core/model/live/names.h"

enum { NOTE_MOST = 1024 /* bytes of what an undo was asked for */ };

/* ---- writing --------------------------------------------------------------------------------- */

int nb_operation_feature_write(const struct nb_operation_feature *feature, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u64(&w, feature->id);
    nb_pack_varint(&w, (uint64_t)feature->count * 2 + feature->has_text);
    if (feature->has_text)
        nb_pack_string(&w, feature->text);
    return w.code;
}

static void write_change(struct nb_packer *w, const struct nb_operation *o)
{
    nb_pack_varint(w, o->flags);
    nb_pack_varint(w, o->born);
    nb_pack_u8(w, o->creates);
    nb_pack_varint(w, o->last);
    nb_pack_varint(w, o->taken);
    nb_pack_varint(w, o->restored);
    nb_pack_varint(w, o->labelled);
    nb_pack_varint(w, o->note_documents);
    nb_pack_varint(w, o->part);
    nb_pack_string(w, o->id);
    nb_pack_string(w, o->label);
    nb_pack_string(w, o->released);
    nb_pack_varint(w, o->fields);
    nb_pack_varint(w, o->positions);
    nb_pack_varint(w, o->feature_count);
    nb_pack_bytes(w, o->features.bytes, o->features.length);
}

static void write_errand(struct nb_packer *w, const struct nb_errand *e)
{
    nb_pack_string(w, e->from);
    nb_pack_string(w, e->to);
    nb_pack_string(w, e->settings);
    nb_pack_u8(w, e->only_new);
    nb_pack_varint(w, e->last);
}

int nb_operation_write(const struct nb_operation *o, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_bytes(&w, NB_OPERATION_MAGIC, sizeof NB_OPERATION_MAGIC - 1);
    nb_pack_u8(&w, NB_OPERATION_FORMAT);
    nb_pack_u8(&w, NB_TOKENIZER_VERSION);
    nb_pack_u8(&w, NB_APPLY_VERSION);
    nb_pack_u8(&w, (uint8_t)o->kind);
    nb_pack_varint(&w, (uint64_t)o->time);
    nb_pack_string(&w, o->errand.model);
    nb_pack_string(&w, o->errand.source);
    if (o->kind == NB_OPERATION_CHANGE)
        write_change(&w, o);
    else
        write_errand(&w, &o->errand);
    return w.code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int corrupt(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "a change from the stream does not read back: %s", what);
}

static int check_version(struct nb_unpacker *u, const char *what, unsigned here,
                         struct nb_error *error)
{
    unsigned there = nb_unpack_u8(u);
    if (u->failed)
        return corrupt(error, "it is cut off");
    if (there == here)
        return 0;
    return nb_error_set(error, NB_VERSION,
                        "the stream has changes of version %u of %s, and this bayesd has version "
                        "%u: all nodes need the same",
                        there, what, here);
}

static struct nb_operation_feature next(struct nb_unpacker *u)
{
    struct nb_operation_feature f = {.id = nb_unpack_u64(u)};
    uint64_t count = nb_unpack_bounded(u, (uint64_t)UINT32_MAX * 2 + 1);
    f.count = (uint32_t)(count / 2);
    f.has_text = count % 2 != 0;
    if (f.has_text)
        f.text = nb_unpack_string(u);
    return f;
}

struct nb_operation_feature nb_operation_next(struct nb_unpacker *features)
{
    return next(features);
}

/* The features are the rest of the message. */
static int check_features(struct nb_unpacker *u, struct nb_operation *o, struct nb_error *error)
{
    const unsigned char *start = u->at;
    uint64_t before = 0;
    for (size_t i = 0; i < o->feature_count; i++) {
        struct nb_operation_feature f = next(u);
        if (u->failed)
            return corrupt(error, "its features are cut off");
        if ((i > 0 && f.id <= before) || f.count == 0 || !nb_feature_has_field(f.id))
            return corrupt(error, "a feature");
        before = f.id;
    }
    o->features = (struct nb_string){(const char *)start, (size_t)(u->at - start)};
    return nb_unpacker_done(u) ? 0 : corrupt(error, "more follows than there should");
}

static int check_change(const struct nb_operation *o, struct nb_error *error)
{
    bool is_note = (o->flags & NB_OPERATION_IS_NOTE) != 0;
    bool has_id = !is_note && (o->flags & NB_OPERATION_IS_REFIT) == 0;
    int rc = has_id ? nb_check_id(o->id, error) : 0;
    if (rc == 0 && is_note && o->label.length > NOTE_MOST)
        rc = corrupt(error, "a note");
    if (rc == 0 && !is_note && o->label.length > 0)
        rc = nb_check_label(o->label, error);
    if (rc == 0 && o->restored != 0 && o->restored >= o->taken)
        rc = corrupt(error, "what it takes back");
    return rc == 0 ? 0 : corrupt(error, "a name in it");
}

static int read_change(struct nb_unpacker *u, struct nb_operation *o, struct nb_error *error)
{
    o->flags = (uint32_t)nb_unpack_bounded(u, NB_OPERATION_FLAGS - 1);
    o->born = nb_unpack_varint(u);
    o->creates = nb_unpack_u8(u);
    o->last = nb_unpack_varint(u);
    o->taken = nb_unpack_varint(u);
    o->restored = nb_unpack_varint(u);
    o->labelled = nb_unpack_varint(u);
    o->note_documents = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    o->part = (uint32_t)nb_unpack_bounded(u, NB_REFIT_WHOLE);
    o->id = nb_unpack_string(u);
    o->label = nb_unpack_string(u);
    o->released = nb_unpack_string(u);
    o->fields = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    o->positions = nb_unpack_varint(u);
    o->feature_count = nb_unpack_varint(u);
    if (u->failed || o->creates > NB_PRESET_BOOK + 1)
        return corrupt(error, "its head");
    int rc = check_change(o, error);
    return rc != 0 ? rc : check_features(u, o, error);
}

static int read_errand(struct nb_unpacker *u, struct nb_errand *e, struct nb_error *error)
{
    e->from = nb_unpack_string(u);
    e->to = nb_unpack_string(u);
    e->settings = nb_unpack_string(u);
    e->only_new = nb_unpack_u8(u) != 0;
    e->last = nb_unpack_varint(u);
    if (!nb_unpacker_done(u))
        return corrupt(error, "an errand");
    bool is_rename = e->kind == NB_ERRAND_RENAME_LABEL;
    if (is_rename && (nb_check_label(e->from, NULL) != 0 || nb_check_label(e->to, NULL) != 0))
        return corrupt(error, "a label");
    bool is_import =
        e->kind == NB_ERRAND_STAGE || e->kind == NB_ERRAND_UNSTAGE || e->kind == NB_ERRAND_IMPORT;
    if (is_import && (!nb_staged_is_id(e->from) || e->last >= UINT32_MAX))
        return corrupt(error, "an import");
    return 0;
}

int nb_operation_check(struct nb_string written, size_t most, struct nb_error *error)
{
    if (written.length <= most)
        return 0;
    return nb_error_set(error, NB_TOO_LARGE,
                        "the change takes %zu bytes, and what several nodes share at most %zu",
                        written.length, most);
}

enum nb_operation_kind nb_operation_kind_of(struct nb_string written)
{
    enum { AT = sizeof NB_OPERATION_MAGIC - 1 + 3 }; /* behind three versions */
    assert(written.length > AT);
    return (enum nb_operation_kind)(unsigned char)written.bytes[AT];
}

struct nb_string nb_operation_model(struct nb_string written)
{
    struct nb_unpacker u = nb_unpacker_of(written.bytes, written.length);
    (void)nb_unpack_bytes(&u, sizeof NB_OPERATION_MAGIC - 1 + 4); /* versions and kind */
    (void)nb_unpack_varint(&u);                                   /* time */
    struct nb_string model = nb_unpack_string(&u);
    assert(!u.failed);
    return model;
}

int nb_operation_read(struct nb_operation *o, struct nb_string written, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(written.bytes, written.length);
    *o = (struct nb_operation){.kind = NB_OPERATION_CHANGE};
    if (!nb_string_equals(nb_unpack_bytes(&u, sizeof NB_OPERATION_MAGIC - 1), NB_OPERATION_MAGIC))
        return corrupt(error, "it does not begin as one");
    int rc = check_version(&u, "messages", NB_OPERATION_FORMAT, error);
    if (rc == 0)
        rc = check_version(&u, "the tokenizer", NB_TOKENIZER_VERSION, error);
    if (rc == 0)
        rc = check_version(&u, "applying", NB_APPLY_VERSION, error);
    if (rc != 0)
        return rc;
    unsigned kind = nb_unpack_u8(&u);
    if (!u.failed && kind >= NB_OPERATION_KINDS)
        return nb_error_set(error, NB_VERSION,
                            "the stream has a kind of change (%u) that this bayesd does not know: "
                            "use a newer one",
                            kind);
    o->kind = (enum nb_operation_kind)kind;
    o->time = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    o->errand.model = nb_unpack_string(&u);
    o->errand.source = nb_unpack_string(&u);
    if (u.failed || nb_check_model_name(o->errand.model, NULL) != 0 ||
        nb_check_source(o->errand.source, NULL) != 0 || o->time == 0)
        return corrupt(error, "its beginning");
    if (kind == NB_OPERATION_CHANGE)
        return read_change(&u, o, error);
    o->errand.kind = (enum nb_errand_kind)(kind - NB_OPERATION_ERRAND);
    return read_errand(&u, &o->errand, error);
}
