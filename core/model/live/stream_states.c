/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored form, in META, for each stream, whose number is a byte:
 *
 *     "nodes", stream             a byte for the format, 6; the number of streams, a varint; the
 *                                 time when this one was made, 8 bytes; the position, a varint; the
 *                                 checksum of the message there, 8 bytes; the bytes of the trace, a
 *                                 varint; and 1 if the node has caught up once
 *     "trace", stream, position   the checksum, 8 bytes; the id, a string; the message
 *     "outbox", identity, stream  the number of the entry that was made last and its position in
 *                                 the stream, varints
 *
 * Identities of outboxes are 8 bytes, big-endian.
 */
#include "core/model/live/stream_states.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/pack.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/messages.h"
#include "core/model/live/state.h"

enum {
    FORMAT = 6,
    KEY_MOST = 15,
    DROPPED_MOST = 64 /* per transaction */
};

static struct nb_string key_of(const char *name, unsigned which, char key[KEY_MOST])
{
    size_t length = strlen(name);
    memcpy(key, name, length);
    key[length] = (char)which;
    return (struct nb_string){key, length + 1};
}

static int put(const struct nb_view *view, struct nb_string key, struct nb_packer *w,
               struct nb_error *error)
{
    int rc = w->code != 0 ? nb_error_no_memory(error)
                          : nb_store_put(view, NB_TABLE_META, key, nb_buffer_string(w->out), error);
    nb_buffer_deinit(w->out);
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
    p->staged = p->written = nb_unpack_varint(&u);
    p->checksum = nb_unpack_u64(&u);
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
    char key[KEY_MOST];
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++) {
        int rc = nb_store_get(view, NB_TABLE_META, key_of("nodes", i, key), &value, error);
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
    char key[KEY_MOST];
    int rc = write_trace(p, which, view, error);
    if (rc != 0)
        return rc;
    nb_pack_u8(&w, FORMAT);
    nb_pack_varint(&w, s->streams);
    nb_pack_u64(&w, p->made);
    nb_pack_varint(&w, p->staged);
    nb_pack_u64(&w, p->checksum);
    nb_pack_varint(&w, p->tracing);
    nb_pack_u8(&w, atomic_load(&p->caught_up));
    return put(view, key_of("nodes", which, key), &w, error);
}

static bool is_due(const struct nb_stream_place *p)
{
    return p->staged != p->written || p->is_due;
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
    static const char *const prefixes[] = {"nodes", "outbox", "parts", "queue", "trace"};
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
        p->written = p->staged;
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
    struct nb_stream_states *s = &engine->stream_states;
    for (unsigned i = 0; i < s->streams; i++) {
        const struct nb_stream_place *p = &s->places[i];
        s->marked[i].staged = p->staged;
        s->marked[i].checksum = p->checksum;
        s->marked[i].fresh = p->fresh_count;
    }
}

void nb_stream_states_return(struct nb_engine *engine)
{
    struct nb_stream_states *s = &engine->stream_states;
    for (unsigned i = 0; i < s->streams; i++) {
        struct nb_stream_place *p = &s->places[i];
        p->staged = s->marked[i].staged;
        p->checksum = s->marked[i].checksum;
        p->fresh_count = s->marked[i].fresh < p->fresh_count ? s->marked[i].fresh : p->fresh_count;
    }
}

bool nb_stream_states_stage(struct nb_engine *engine, const struct nb_relayed *relayed)
{
    struct nb_stream_place *p = &engine->stream_states.places[relayed->stream];
    if (p->staged == relayed->position)
        return true;
    if (p->staged != relayed->after ||
        nb_array_reserve(&p->fresh, &p->fresh_room, p->fresh_count + 1, sizeof *p->fresh) != 0)
        return false;
    p->fresh[p->fresh_count++] = (struct nb_traced){relayed->position, relayed->checksum,
                                                    relayed->message_id, relayed->message};
    p->staged = relayed->position;
    p->checksum = relayed->checksum;
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

struct once {
    uint64_t entry, position;
};

static struct nb_string once_key(uint64_t outbox, unsigned stream, char key[KEY_MOST])
{
    uint64_t big = htobe64(outbox);
    memcpy(key, "outbox", 6);
    memcpy(key + 6, &big, sizeof big);
    key[KEY_MOST - 1] = (char)stream;
    return (struct nb_string){key, KEY_MOST};
}

static int read_once(const struct nb_view *view, struct nb_string key, struct once *last,
                     struct nb_error *error)
{
    struct nb_string value;
    *last = (struct once){.entry = 0};
    int rc = nb_store_get(view, NB_TABLE_META, key, &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    last->entry = nb_unpack_varint(&u);
    last->position = nb_unpack_varint(&u);
    return nb_unpacker_done(&u)
               ? 0
               : nb_error_set(
                     error, NB_CORRUPT,
                     "the store is damaged: what was made of an outbox does not read back");
}

int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error)
{
    char bytes[KEY_MOST];
    struct nb_string key = once_key(relayed->outbox, relayed->stream, bytes);
    struct once last;
    if (relayed->outbox == 0)
        return 0;
    int rc = read_once(view, key, &last, error);
    if (rc != 0 || (last.entry == relayed->entry && last.position == relayed->position))
        return rc; /* at the same position the change is tried again */
    if (last.entry >= relayed->entry)
        return nb_error_set(error, NB_EXISTS, "a change that was queued was made already");
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = &value};
    nb_pack_varint(&w, relayed->entry);
    nb_pack_varint(&w, relayed->position);
    return put(view, key, &w, error);
}
