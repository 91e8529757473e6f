/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored form, in META, for each stream, whose number is a byte:
 *
 *     "nodes", stream             a byte for the format, 7; the number of streams, a varint; the
 *                                 time when this one was made, 8 bytes; the position, a varint; the
 *                                 checksum of the message there, 8 bytes; the bytes of the trace, a
 *                                 varint; and 1 if the node has caught up once
 *     "onces", stream, identity   as a message without an id: in place of the checksum the number
 *                                 of the entry that was made last, its position as the message
 */
#include "core/model/live/stream_states.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/key.h"
#include "core/base/pack.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/state.h"

enum {
    FORMAT = 7,
    DROPPED_MOST = 64, /* messages dropped from a trace per transaction */
    NAME_BYTES = 5,
    PREFIX_BYTES = 6, /* including the byte of the stream */
    MESSAGE_KEY = 14
};

static int put(const struct nb_view *view, struct nb_string key, struct nb_packer *w,
               struct nb_error *error)
{
    int rc = w->code != 0 ? nb_error_no_memory(error)
                          : nb_store_put(view, NB_TABLE_META, key, nb_buffer_string(w->out), error);
    nb_buffer_deinit(w->out);
    return rc;
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct nb_string message_key(enum nb_kept where, unsigned stream, uint64_t number,
                                    char key[MESSAGE_KEY])
{
    static const char *const names[] = {[NB_KEPT_TRACE] = "trace",
                                        [NB_KEPT_QUEUE] = "queue",
                                        [NB_KEPT_PART] = "parts",
                                        [NB_KEPT_ONCE] = "onces"};
    uint64_t big = htobe64(number);
    memcpy(key, names[where], NAME_BYTES);
    key[NAME_BYTES] = (char)stream;
    memcpy(key + PREFIX_BYTES, &big, sizeof big);
    return (struct nb_string){key, MESSAGE_KEY};
}

uint64_t nb_message_checksum(struct nb_string id, struct nb_string message)
{
    const uint64_t parts[] = {htole64(XXH3_64bits(id.bytes, id.length)),
                              htole64(XXH3_64bits(message.bytes, message.length))};
    return XXH3_64bits(parts, sizeof parts);
}

int nb_message_put(const struct nb_view *view, enum nb_kept where, unsigned stream,
                   const struct nb_traced *one, struct nb_error *error)
{
    struct nb_buffer row = {0};
    struct nb_packer w = {.out = &row};
    char key[MESSAGE_KEY];
    nb_pack_u64(&w, one->checksum);
    nb_pack_string(&w, one->id);
    nb_pack_bytes(&w, one->message.bytes, one->message.length);
    return put(view, message_key(where, stream, one->position, key), &w, error);
}

int nb_message_delete(const struct nb_view *view, enum nb_kept where, unsigned stream,
                      uint64_t number, struct nb_error *error)
{
    char key[MESSAGE_KEY];
    return nb_store_delete(view, NB_TABLE_META, message_key(where, stream, number, key), error);
}

int nb_message_drop(const struct nb_view *view, enum nb_kept where, unsigned stream, size_t most,
                    struct nb_error *error)
{
    char key[MESSAGE_KEY];
    struct nb_string first = message_key(where, stream, 0, key);
    size_t deleted;
    return nb_store_clear(view, NB_TABLE_META, (struct nb_string){first.bytes, PREFIX_BYTES}, most,
                          &deleted, error);
}

struct walk {
    nb_message_visit *visit;
    void *user;
};

static int visit_row(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    const struct walk *walk = user;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    struct nb_traced one;
    uint64_t big = 0;
    one.checksum = nb_unpack_u64(&u);
    one.id = nb_unpack_string(&u);
    if (u.failed || key.length != MESSAGE_KEY)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a message of nodes does not read back");
    memcpy(&big, key.bytes + PREFIX_BYTES, sizeof big);
    one.position = be64toh(big);
    one.message = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    return walk->visit(walk->user, &one, error);
}

int nb_message_walk(const struct nb_view *view, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error)
{
    struct walk walk = {visit, user};
    char key[MESSAGE_KEY];
    return nb_store_scan(view, NB_TABLE_META, message_key(where, stream, from, key), PREFIX_BYTES,
                         visit_row, &walk, error);
}

int nb_message_scan(struct nb_engine *engine, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_message_walk(&view, where, stream, from, visit, user, error);
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- the trace ------------------------------------------------------------------------------- */

struct dropping {
    uint64_t excess; /* bytes */
    size_t count, bytes;
};

static int count_oldest(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct dropping *d = user;
    (void)error;
    if (d->bytes >= d->excess || d->count == DROPPED_MOST)
        return 1;
    d->bytes += one->message.length;
    d->count++;
    return 0;
}

/* Drops the messages that are too old. */
static int drop_traced(struct nb_stream_place *p, unsigned which, const struct nb_view *view,
                       struct nb_error *error)
{
    if (p->tracing <= NB_TRACE_BYTES)
        return 0;
    struct dropping d = {.excess = p->tracing - NB_TRACE_BYTES};
    int rc = nb_message_walk(view, NB_KEPT_TRACE, which, 0, count_oldest, &d, error);
    p->tracing -= d.bytes < p->tracing ? d.bytes : p->tracing;
    return rc < 0 ? rc : nb_message_drop(view, NB_KEPT_TRACE, which, d.count, error);
}

static int write_trace(struct nb_stream_place *p, unsigned which, const struct nb_view *view,
                       struct nb_error *error)
{
    int rc = 0;
    p->tracing = p->traced;
    for (size_t i = 0; rc == 0 && i < p->fresh_count; i++) {
        rc = nb_message_put(view, NB_KEPT_TRACE, which, &p->fresh[i], error);
        p->tracing += p->fresh[i].message.length;
    }
    return rc == 0 ? drop_traced(p, which, view, error) : rc;
}

/* ---- in the store ---------------------------------------------------------------------------- */

static struct nb_string place_key(unsigned which, char key[PREFIX_BYTES])
{
    memcpy(key, "nodes", NAME_BYTES);
    key[NAME_BYTES] = (char)which;
    return (struct nb_string){key, PREFIX_BYTES};
}

/* Reads the state of a stream. The number of streams is read with each of them. */
static int read_place(struct nb_stream_states *s, struct nb_stream_place *p, struct nb_string value,
                      struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    uint8_t format = nb_unpack_u8(&u);
    if (format > FORMAT)
        return nb_error_set(error, NB_VERSION,
                            "the store's place among several nodes is of a newer bayesd");
    s->streams = (unsigned)nb_unpack_bounded(&u, NB_STREAMS_MOST);
    p->made = nb_unpack_u64(&u);
    p->staged.position = p->written = nb_unpack_varint(&u);
    p->staged.sum = nb_unpack_u64(&u);
    p->traced = nb_unpack_varint(&u);
    atomic_store(&p->caught_up, nb_unpack_u8(&u) != 0);
    atomic_store(&p->applied, p->written);
    return nb_unpacker_done(&u) && format == FORMAT && s->streams > 0
               ? 0
               : nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: its place among several nodes does not read "
                              "back");
}

int nb_stream_states_read(struct nb_engine *engine, const struct nb_view *view,
                          struct nb_error *error)
{
    struct nb_stream_states *s = &engine->stream_states;
    struct nb_string value;
    char key[PREFIX_BYTES];
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++) {
        int rc = nb_store_get(view, NB_TABLE_META, place_key(i, key), &value, error);
        if (rc == 0)
            rc = read_place(s, &s->places[i], value, error);
        if (rc != 0 && rc != NB_NOT_FOUND)
            return rc;
        s->is_known |= rc == 0;
    }
    return 0;
}

static int write_place(struct nb_stream_states *s, unsigned which, const struct nb_view *view,
                       struct nb_error *error)
{
    struct nb_stream_place *p = &s->places[which];
    struct nb_buffer stored = {0};
    struct nb_packer w = {.out = &stored};
    char key[PREFIX_BYTES];
    int rc = write_trace(p, which, view, error);
    if (rc != 0)
        return rc;
    nb_pack_u8(&w, FORMAT);
    nb_pack_varint(&w, s->streams);
    nb_pack_u64(&w, p->made);
    nb_pack_varint(&w, p->staged.position);
    nb_pack_u64(&w, p->staged.sum);
    nb_pack_varint(&w, p->tracing);
    nb_pack_u8(&w, atomic_load(&p->caught_up));
    return put(view, place_key(which, key), &w, error);
}

static bool is_due(const struct nb_stream_place *p)
{
    return p->staged.position != p->written || p->is_due;
}

int nb_stream_states_write(struct nb_engine *engine, const struct nb_view *view,
                           struct nb_error *error)
{
    struct nb_stream_states *s = &engine->stream_states;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < s->streams; i++)
        if (is_due(&s->places[i]))
            rc = write_place(s, i, view, error);
    return rc;
}

static int copy_row(void *user, struct nb_string key, struct nb_string value,
                    struct nb_error *error)
{
    struct nb_view *to = user;
    return nb_store_put(to, NB_TABLE_META, key, value, error);
}

int nb_stream_states_copy(const struct nb_view *from, struct nb_view *to, struct nb_error *error)
{
    static const char *const prefixes[] = {"nodes", "onces", "parts", "queue", "trace"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof prefixes / sizeof *prefixes; i++) {
        struct nb_string prefix = nb_string_of(prefixes[i]);
        rc = nb_store_scan(from, NB_TABLE_META, prefix, prefix.length, copy_row, to, error);
    }
    return rc;
}

void nb_stream_states_note(struct nb_engine *engine)
{
    struct nb_stream_states *s = &engine->stream_states;
    for (unsigned i = 0; i < s->streams; i++) {
        struct nb_stream_place *p = &s->places[i];
        if (!is_due(p))
            continue;
        p->is_due = false;
        p->fresh_count = 0;
        p->traced = p->tracing;
        p->written = p->staged.position;
        atomic_store(&p->applied, p->written);
    }
}

void nb_stream_states_join(struct nb_engine *engine, unsigned which, uint64_t made)
{
    struct nb_stream_states *s = &engine->stream_states;
    assert(which < engine->settings.streams && s->places[which].written == 0);
    s->is_known = true;
    s->streams = engine->settings.streams;
    s->places[which].made = made;
    s->places[which].is_due = true;
}

void nb_stream_states_catch_up(struct nb_engine *engine, unsigned which)
{
    struct nb_stream_place *p = &engine->stream_states.places[which];
    p->is_due |= !atomic_exchange(&p->caught_up, true);
}

bool nb_stream_states_has_caught_up(const struct nb_engine *engine, uint64_t streams)
{
    for (unsigned i = 0; i < engine->settings.streams; i++)
        if ((streams >> i & 1) != 0 && !atomic_load(&engine->stream_states.places[i].caught_up))
            return false;
    return true;
}

void nb_stream_states_deinit(struct nb_engine *engine)
{
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++)
        free(engine->stream_states.places[i].fresh);
}

uint64_t nb_stream_states_total(const struct nb_engine *engine)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++)
        total += atomic_load(&engine->stream_states.places[i].applied);
    return total;
}

/* ---- changes --------------------------------------------------------------------------------- */

void nb_stream_states_mark(struct nb_engine *engine)
{
    for (unsigned i = 0; i < engine->stream_states.streams; i++) {
        struct nb_stream_place *p = &engine->stream_states.places[i];
        p->marked = p->staged;
        p->fresh_marked = p->fresh_count;
    }
}

void nb_stream_states_return(struct nb_engine *engine)
{
    for (unsigned i = 0; i < engine->stream_states.streams; i++) {
        struct nb_stream_place *p = &engine->stream_states.places[i];
        p->staged = p->marked;
        p->fresh_count = p->fresh_marked < p->fresh_count ? p->fresh_marked : p->fresh_count;
    }
}

bool nb_stream_states_stage(struct nb_engine *engine, const struct nb_relayed *relayed)
{
    struct nb_stream_place *p = &engine->stream_states.places[relayed->stream];
    if (p->staged.position == relayed->position)
        return true;
    if (p->staged.position + 1 != relayed->position ||
        nb_array_reserve(&p->fresh, &p->fresh_room, p->fresh_count + 1, sizeof *p->fresh) != 0)
        return false;
    p->fresh[p->fresh_count++] = (struct nb_traced){relayed->position, relayed->checksum,
                                                    relayed->message_id, relayed->message};
    p->staged = (struct nb_point){relayed->position, relayed->checksum};
    nb_serials_follow(&engine->serials, relayed->stream, relayed->position);
    return true;
}

int nb_stream_states_first_entry(struct nb_live *live, const struct nb_view *view,
                                 uint64_t *first_entry, struct nb_error *error)
{
    struct nb_error why = {0};
    uint64_t found = atomic_load(&live->first_entry);
    int rc = found != 0 ? 0 : nb_ledger_first(view, live->number, &found, &why);
    if (rc == NB_NOT_FOUND)
        rc = nb_error_set(&why, NB_CORRUPT, "the store is damaged: the model has no entries");
    if (rc != 0)
        return nb_live_note(live, rc, &why, error);
    if (atomic_load(&live->persisted)) /* otherwise the transaction that makes the entry may fail */
        atomic_store(&live->first_entry, found);
    *first_entry = found;
    return 0;
}

static int settle_preset(struct nb_live *live, enum nb_preset preset, struct nb_error *error)
{
    struct nb_settings settings;
    struct nb_published *published = NULL;
    if (live->published->settings.preset == (int)preset)
        return 0;
    nb_settings_init(&settings, preset);
    nb_settings_set_tokenizer(&settings, NULL);
    published = nb_published_next(&settings, live->key, live->published);
    nb_settings_deinit(&settings);
    if (published == NULL)
        return nb_error_no_memory(error);
    nb_live_publish_others(live, published);
    return 0;
}

int nb_stream_states_check(const struct nb_relayed *relayed, struct nb_live *live,
                           const struct nb_view *view, struct nb_error *error)
{
    uint64_t first_entry = 0;
    int rc = relayed->first_entry == 0 || live->number == 0
                 ? 0
                 : nb_stream_states_first_entry(live, view, &first_entry, error);
    if (rc != 0)
        return rc;
    if (relayed->first_entry != first_entry)
        return nb_error_set(error, NB_NOT_FOUND,
                            "the model was deleted or replaced while the document waited");
    if (relayed->creates == 0 && live->number == 0)
        return nb_error_set(error, NB_NOT_FOUND, "there is no model '%s'", live->name);
    if (live->number == 0)
        return settle_preset(live, (enum nb_preset)(relayed->creates - 1), error);
    return 0;
}

int64_t nb_stream_states_time(const struct nb_engine *engine)
{
    return engine->stream_states.time != 0 ? engine->stream_states.time : nb_clock_now();
}

/* ---- queued changes -------------------------------------------------------------------------- */

static int take_first(void *user, const struct nb_traced *one, struct nb_error *error)
{
    (void)error;
    *(struct nb_traced *)user = *one;
    return 1;
}

int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error)
{
    uint64_t position = htole64(relayed->position);
    const struct nb_traced note = {
        relayed->outbox, relayed->entry, {"", 0}, {(const char *)&position, sizeof position}};
    struct nb_traced last = {.position = 0};
    if (relayed->outbox == 0)
        return 0;
    int rc = nb_message_walk(view, NB_KEPT_ONCE, relayed->stream, relayed->outbox, take_first,
                             &last, error);
    if (rc < 0)
        return rc;
    if (last.position == relayed->outbox && last.checksum == relayed->entry &&
        nb_string_same(last.message, note.message))
        return 0; /* at the same position the change is tried again */
    if (last.position == relayed->outbox && last.checksum >= relayed->entry)
        return nb_error_set(error, NB_EXISTS, "a change that was queued was made already");
    return nb_message_put(view, NB_KEPT_ONCE, relayed->stream, &note, error);
}
