/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/operation.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "core/base/label_set.h"
#include "core/base/names.h"
#include "core/base/system.h"
#include "core/bayes/settings.h"
#include "core/ledger/change.h"
#include "core/model/relayed.h"
#include "core/writer/submit.h"
#include "core/writer/submit_features.h"

enum {
    NOTE_MOST = 1024, /* bytes of the options of an undo */
    FEATURE_BYTES = 9 /* least bytes of a written feature */
};

/* ---- members --------------------------------------------------------------------------------- */

/* Writes members or reads them, so that one list gives their order for both. */
struct coder {
    struct nb_packer *w; /* NULL: members are read */
    struct nb_unpacker *u;
    int code; /* NB_NO_MEMORY while reading, else 0 */
};

static uint64_t number(struct coder *k, uint64_t value, uint64_t most)
{
    if (k->w == NULL)
        return nb_unpack_bounded(k->u, most);
    nb_pack_varint(k->w, value);
    return value;
}

static struct nb_string text(struct coder *k, struct nb_string value)
{
    if (k->w == NULL)
        return nb_unpack_string(k->u);
    nb_pack_string(k->w, value);
    return value;
}

static void owned(struct coder *k, struct nb_buffer *value)
{
    struct nb_string there = text(k, nb_buffer_string(value));
    if (k->w == NULL && nb_buffer_append(value, there.bytes, there.length) != 0)
        k->code = NB_NO_MEMORY;
}

static void code_beginning(struct coder *k, struct nb_operation *o)
{
    o->change.relayed.time =
        (int64_t)number(k, (uint64_t)o->change.relayed.time, (uint64_t)INT64_MAX);
    o->relayed_change.model = text(k, o->relayed_change.model);
    o->relayed_change.source = text(k, o->relayed_change.source);
}

static void code_change(struct coder *k, struct nb_submitted *c)
{
    c->kind = (enum nb_submitted_kind)number(k, c->kind, NB_SUBMITTED_KINDS - 1);
    c->quarantined = number(k, c->quarantined, 1) != 0;
    c->truncated = number(k, c->truncated, 1) != 0;
    c->relayed.first_entry = number(k, c->relayed.first_entry, UINT64_MAX);
    c->relayed.creates = (uint8_t)number(k, c->relayed.creates, NB_PRESET_BOOK + 1);
    c->relayed.last = number(k, c->relayed.last, UINT64_MAX);
    c->current = number(k, c->current, UINT64_MAX);
    if (c->kind == NB_SUBMITTED_TAKE_BACK)
        c->restored = number(k, c->restored, UINT64_MAX);
    else if (c->kind == NB_SUBMITTED_NOTE)
        c->documents = (uint32_t)number(k, c->documents, UINT32_MAX);
    else if (c->kind == NB_SUBMITTED_REFIT)
        c->part = (enum nb_refit_part)number(k, c->part, NB_REFIT_WHOLE);
    owned(k, &c->id);
    owned(k, &c->label);
    owned(k, &c->released);
    c->fields = (uint32_t)number(k, c->fields, UINT32_MAX);
    c->positions = number(k, c->positions, UINT64_MAX);
    c->judged = number(k, c->judged, UINT64_MAX);
}

static void code_relayed_change(struct coder *k, struct nb_relayed_change *e)
{
    e->from = text(k, e->from);
    e->to = text(k, e->to);
    e->settings = text(k, e->settings);
    e->only_new = number(k, e->only_new, 1) != 0;
    e->last = number(k, e->last, UINT64_MAX);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct feature {
    uint64_t id;
    uint32_t count;
    struct nb_string text;
};

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct feature *)a)->id;
    uint64_t y = ((const struct feature *)b)->id;
    return (x > y) - (x < y);
}

/* Writes the features. A feature that no document of this node has may be new to the other nodes,
 * too, so it carries its text. */
static void write_features(struct nb_packer *w, const struct nb_submitted *c)
{
    size_t size = 0;
    struct feature *all = malloc((nb_submitted_size(c) + 1) * sizeof *all);
    if (all == NULL) {
        w->code = NB_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < c->known_count; i++)
        all[size++] = (struct feature){c->known_ids[i], c->known[i].count, {NULL, 0}};
    for (size_t i = 0; i < c->other_count; i++)
        all[size++] =
            (struct feature){c->others[i].id, c->others[i].count, nb_submitted_text(c, i)};
    qsort(all, size, sizeof *all, by_id);
    nb_pack_varint(w, size);
    for (const struct feature *f = all; f < all + size; f++) {
        bool has_text = f->text.length > 0;
        nb_pack_u64(w, f->id);
        nb_pack_varint(w, (uint64_t)f->count * 2 + has_text);
        if (has_text)
            nb_pack_string(w, f->text);
    }
    free(all);
}

int nb_operation_write(const struct nb_operation *operation, struct nb_buffer *out,
                       struct nb_error *error)
{
    struct nb_operation copy = *operation, *o = &copy;
    struct nb_packer w = {.out = out};
    struct coder k = {.w = &w};
    nb_pack_bytes(&w, NB_OPERATION_MAGIC, sizeof NB_OPERATION_MAGIC - 1);
    nb_pack_u8(&w, NB_OPERATION_FORMAT);
    nb_pack_u8(&w, (uint8_t)o->relayed_change.kind);
    code_beginning(&k, o);
    if (o->relayed_change.kind == NB_RELAYED_CHANGE_NONE) {
        code_change(&k, &o->change);
        write_features(&w, &o->change);
    } else {
        code_relayed_change(&k, &o->relayed_change);
    }
    if (w.code != 0)
        return nb_error_no_memory(error);
    return out->length <= NB_OPERATION_MOST
               ? 0
               : nb_error_set(error, NB_TOO_LARGE,
                              "the change takes %zu bytes, and what several nodes share at most %d",
                              out->length, NB_OPERATION_MOST);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int corrupt(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "a change from the stream does not read back: %s", what);
}

/* Reads the features, which are the rest of the message. The writer looks up their rows, which
 * differ between nodes. */
static int read_features(struct nb_unpacker *u, struct nb_submitted *c, struct nb_error *error)
{
    uint64_t count = nb_unpack_bounded(u, (uint64_t)(u->end - u->at) / FEATURE_BYTES), before = 0;
    if (u->failed)
        return corrupt(error, "its features are cut off");
    c->others = malloc((size_t)(count + 1) * sizeof *c->others);
    if (c->others == NULL)
        return nb_error_no_memory(error);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = nb_unpack_u64(u);
        uint64_t twice = nb_unpack_bounded(u, (uint64_t)UINT32_MAX * 2 + 1);
        struct nb_string text = twice % 2 != 0 ? nb_unpack_string(u) : (struct nb_string){"", 0};
        if (u->failed)
            return corrupt(error, "its features are cut off");
        if ((i > 0 && id <= before) || twice < 2 || !nb_feature_has_field(id))
            return corrupt(error, "a feature");
        if (nb_submitted_add(c, id, (uint32_t)(twice / 2), text) != 0)
            return nb_error_no_memory(error);
        before = id;
    }
    return nb_unpacker_done(u) ? 0 : corrupt(error, "more follows than there should");
}

static int check_change(const struct nb_submitted *c, struct nb_error *error)
{
    struct nb_string label = nb_buffer_string(&c->label);
    bool is_note = c->kind == NB_SUBMITTED_NOTE;
    int rc = nb_submitted_has_document(c) ? nb_check_id(nb_buffer_string(&c->id), error) : 0;
    if (rc == 0 && is_note && label.length > NOTE_MOST)
        rc = corrupt(error, "a note");
    if (rc == 0 && !is_note && label.length > 0)
        rc = nb_check_label_or_set(label, error);
    if (rc == 0 && c->kind == NB_SUBMITTED_TAKE_BACK && c->restored >= c->current)
        rc = corrupt(error, "what it takes back");
    return rc == 0 ? 0 : corrupt(error, "a name in it");
}

int nb_operation_read(struct nb_operation *o, struct nb_string written, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(written.bytes, written.length);
    struct coder k = {.u = &u};
    *o = (struct nb_operation){.relayed_change.kind = NB_RELAYED_CHANGE_NONE};
    if (!nb_string_equals(nb_unpack_bytes(&u, sizeof NB_OPERATION_MAGIC - 1), NB_OPERATION_MAGIC))
        return corrupt(error, "it does not begin as one");
    unsigned format = nb_unpack_u8(&u), kind = nb_unpack_u8(&u);
    if (!u.failed && (format != NB_OPERATION_FORMAT || kind >= NB_RELAYED_CHANGES))
        return nb_error_set(error, NB_VERSION,
                            "the stream has a change of format %u and kind %u, which this bayesd "
                            "does not know: all nodes need the same version",
                            format, kind);
    o->relayed_change.kind = (enum nb_relayed_change_kind)kind;
    code_beginning(&k, o);
    if (u.failed || nb_check_model_name(o->relayed_change.model, NULL) != 0 ||
        nb_check_source(o->relayed_change.source, NULL) != 0 || o->change.relayed.time == 0)
        return corrupt(error, "its beginning");
    if (kind != NB_RELAYED_CHANGE_NONE) {
        code_relayed_change(&k, &o->relayed_change);
        return nb_unpacker_done(&u) ? 0 : corrupt(error, "a change of a model");
    }
    code_change(&k, &o->change);
    if (k.code != 0)
        return nb_error_no_memory(error);
    int rc = u.failed ? corrupt(error, "its head") : check_change(&o->change, error);
    return rc != 0 ? rc : read_features(&u, &o->change, error);
}

void nb_operation_deinit(struct nb_operation *o)
{
    nb_submitted_deinit(&o->change);
}

/* ---- changes of batches ---------------------------------------------------------------------- */

/* Returns the member `creates` of struct nb_relayed. Only a change that learns a document creates a
 * model. */
static uint8_t creates(const struct nb_batch *batch, const struct nb_submitted *c)
{
    bool may = (c->kind == NB_SUBMITTED_TRAIN || c->kind == NB_SUBMITTED_RECALL) && !c->quarantined;
    if (atomic_load(&batch->live->persisted) || !may)
        return 0;
    struct nb_published *published = nb_live_settings(batch->live);
    uint8_t preset = (uint8_t)(published->settings.preset + 1);
    nb_published_release(&published);
    return preset;
}

int nb_operation_of_change(const struct nb_batch *batch, size_t index, uint64_t last,
                           struct nb_operation *operation, struct nb_error *error)
{
    const struct nb_submitted *c = &batch->changes[index];
    assert(index < batch->size && batch->live != NULL);
    struct nb_live *live = batch->live;
    uint64_t first_entry = atomic_load(&live->first_entry);
    struct nb_view view;
    int rc = 0;
    if (first_entry == 0 && atomic_load(&live->persisted)) {
        rc = nb_store_snapshot(batch->engine->store, &view, error);
        if (rc != 0)
            return rc;
        rc = nb_stream_states_first_entry(live, &view, &first_entry, error);
        nb_store_snapshot_end(&view);
    }
    if (rc != 0)
        return rc;
    *operation = (struct nb_operation){.relayed_change = {.kind = NB_RELAYED_CHANGE_NONE,
                                                          .model = nb_buffer_string(&batch->name),
                                                          .source = nb_buffer_string(&c->source)},
                                       .change = *c};
    operation->change.relayed = (struct nb_relayed){.time = nb_clock_now(),
                                                    .first_entry = first_entry,
                                                    .creates = creates(batch, c),
                                                    .last = last};
    return 0;
}

/* ---- ids of messages ------------------------------------------------------------------------- */

void nb_message_id(char letter, uint64_t of, uint64_t number, char id[NB_MESSAGE_ID_MOST])
{
    (void)snprintf(id, NB_MESSAGE_ID_MOST, "%c%016" PRIx64 "-%" PRIx64, letter, of, number);
}

bool nb_message_id_read(struct nb_string id, char letter, uint64_t *of, uint64_t *number)
{
    char text[NB_MESSAGE_ID_MOST] = "";
    int length = 0;
    if (id.length < sizeof text)
        memcpy(text, id.bytes, id.length);
    return text[0] == letter &&
           sscanf(text + 1, "%16" SCNx64 "-%16" SCNx64 "%n", of, number, &length) == 2 &&
           text[1 + length] == '\0';
}
