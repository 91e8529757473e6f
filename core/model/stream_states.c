/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored form, in META, for each stream, with the keys of messages (relayed.h):
 *
 *     "nodes", stream, 0          a byte for the format, 9; the number of streams, a varint; the
 *                                 time when this one was made, 8 bytes; the position, a varint; the
 *                                 checksum of the message there, 8 bytes; and 1 if the node has
 *                                 caught up once
 *     "onces", stream, identity   the number of the entry that was made last, 8 bytes
 */
#include "core/model/relayed.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/key.h"
#include "core/base/system.h"
#include "core/ledger/ledger.h"
#include "core/model/state.h"

enum {
    FORMAT = 9,
    NAME_BYTES = 5,
    PREFIX_BYTES = 6, /* including the byte of the stream */
    MESSAGE_KEY = 14
};
static const char *const kept_names[] = {[NB_KEPT_TRACE] = "trace",
                                         [NB_KEPT_QUEUE] = "queue",
                                         [NB_KEPT_PART] = "parts",
                                         [NB_KEPT_ONCE] = "onces",
                                         [NB_KEPT_PLACE] = "nodes"};

static int put(const struct nb_view *view, struct nb_string key, struct nb_packer *w,
               struct nb_error *error)
{
    int rc = w->code != 0 ? nb_error_no_memory(error)
                          : nb_store_put(view, NB_TABLE_META, key, nb_buffer_string(w->out), error);
    nb_buffer_deinit(w->out);
    return rc;
}

/* ---- relays ---------------------------------------------------------------------------------- */

static _Thread_local const struct nb_relayed *applied;
static _Thread_local uint64_t *collected;

/* Scales the upper half of the hash, so that names spread evenly over any number of streams. */
unsigned nb_relay_stream(struct nb_string name, unsigned streams)
{
    return (unsigned)((XXH3_64bits(name.bytes, name.length) >> 32) * streams >> 32);
}

uint64_t nb_relay_number(const struct nb_engine *engine, unsigned stream, uint64_t position)
{
    return position * engine->settings.streams + stream;
}

bool nb_relay_is_wanted(const struct nb_engine *engine)
{
    return engine->settings.shared && applied == NULL;
}

/* Returns the relay of the model's stream; NULL, with the error set: there is none. */
static const struct nb_relay *relay_of(const struct nb_engine *engine, struct nb_string model,
                                       struct nb_error *error)
{
    const struct nb_relay *relay = engine->relays[nb_relay_stream(model, engine->settings.streams)];
    if (relay == NULL)
        (void)nb_error_set(
            error, NB_STOPPING,
            "this node does not follow the others now (GET /readyz says why); send the change "
            "again later, or to another node");
    return relay;
}

int nb_relay_submit(const struct nb_engine *engine, struct nb_string model, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *user, struct nb_error *error)
{
    const struct nb_relay *relay = relay_of(engine, model, error);
    return relay == NULL ? NB_STOPPING : relay->submit(relay->user, batch, done, user, error);
}

int nb_relay_ask(const struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                 struct nb_relayed_change_done *done, struct nb_error *error)
{
    unsigned stream = nb_relay_stream(relayed_change->model, engine->settings.streams);
    const struct nb_relay *relay = relay_of(engine, relayed_change->model, error);
    struct nb_relayed_change_done result;
    int rc = relay == NULL ? NB_STOPPING : relay->ask(relay->user, relayed_change, &result, error);
    if (rc != 0)
        return rc;
    nb_relay_collected(nb_relay_number(engine, stream, result.position));
    if (done != NULL)
        *done = result;
    return 0;
}

void nb_relay_propose(const struct nb_engine *engine, struct nb_string model,
                      const struct nb_batch *batch, const struct nb_relayed_change *relayed_change)
{
    const struct nb_relay *relay = relay_of(engine, model, NULL);
    if (relay != NULL)
        relay->propose(relay->user, batch, relayed_change);
}

int nb_relay_catch_up(const struct nb_engine *engine, struct nb_string model, bool waits,
                      struct nb_error *error)
{
    if (!nb_relay_is_wanted(engine))
        return 0;
    const struct nb_relay *relay = relay_of(engine, model, error);
    return relay == NULL ? NB_STOPPING : relay->catch_up(relay->user, waits, error);
}

void nb_relay_apply(const struct nb_relayed *relayed)
{
    applied = relayed;
}

const struct nb_relayed *nb_relay_applied(void)
{
    return applied;
}

void nb_relay_collect(uint64_t *number)
{
    collected = number;
}

void nb_relay_collected(uint64_t position)
{
    if (collected != NULL && position > *collected)
        *collected = position;
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct nb_string message_key(enum nb_kept where, unsigned stream, uint64_t number,
                                    char key[MESSAGE_KEY])
{
    uint64_t big = htobe64(number);
    memcpy(key, kept_names[where], NAME_BYTES);
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

/* Adds a message, and drops one that is too old. */
static int trace(const struct nb_view *view, const struct nb_relayed *here, struct nb_error *error)
{
    uint64_t position = here->one.position;
    int rc = nb_message_put(view, NB_KEPT_TRACE, here->stream, &here->one, error);
    if (rc == 0 && position > NB_TRACE_MOST)
        rc = nb_message_delete(view, NB_KEPT_TRACE, here->stream, position - NB_TRACE_MOST, error);
    return rc;
}

/* ---- in the store ---------------------------------------------------------------------------- */

/* Reads the state of a stream. The number of streams is read with each of them. */
static int read_place(struct nb_stream_states *s, struct nb_stream_place *p, struct nb_string value,
                      struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    uint8_t format = nb_unpack_u8(&u);
    s->streams = (unsigned)nb_unpack_bounded(&u, NB_STREAMS_MOST);
    p->made = nb_unpack_u64(&u);
    p->staged.position = nb_unpack_varint(&u);
    p->staged.sum = nb_unpack_u64(&u);
    atomic_store(&p->caught_up, nb_unpack_u8(&u) != 0);
    p->stored = p->staged;
    atomic_store(&p->applied, p->stored.position);
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
    char key[MESSAGE_KEY];
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++) {
        struct nb_string name = message_key(NB_KEPT_PLACE, i, 0, key);
        int rc = nb_store_get(view, NB_TABLE_META, name, &value, error);
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
    char key[MESSAGE_KEY];
    if (applied != NULL && applied->stream == which &&
        applied->one.position > p->stored.position) { /* a task's first transaction */
        int rc = trace(view, applied, error);
        if (rc != 0)
            return rc;
    }
    nb_pack_u8(&w, FORMAT);
    nb_pack_varint(&w, s->streams);
    nb_pack_u64(&w, p->made);
    nb_pack_varint(&w, p->staged.position);
    nb_pack_u64(&w, p->staged.sum);
    nb_pack_u8(&w, atomic_load(&p->caught_up));
    return put(view, message_key(NB_KEPT_PLACE, which, 0, key), &w, error);
}

static bool is_due(const struct nb_stream_place *p)
{
    return p->staged.position != p->stored.position || p->is_due;
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
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof kept_names / sizeof *kept_names; i++)
        rc = nb_store_scan(from, NB_TABLE_META, nb_string_of(kept_names[i]), NAME_BYTES, copy_row,
                           to, error);
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
        p->stored = p->staged;
        atomic_store(&p->applied, p->stored.position);
    }
}

bool nb_stream_states_has_caught_up(const struct nb_engine *engine, uint64_t streams)
{
    for (unsigned i = 0; i < engine->settings.streams; i++)
        if ((streams >> i & 1) != 0 && !atomic_load(&engine->stream_states.places[i].caught_up))
            return false;
    return true;
}

/* ---- changes --------------------------------------------------------------------------------- */

void nb_stream_states_return(struct nb_engine *engine)
{
    for (unsigned i = 0; i < engine->stream_states.streams; i++)
        engine->stream_states.places[i].staged = engine->stream_states.places[i].stored;
}

int nb_stream_states_stage(struct nb_engine *engine, const struct nb_view *view,
                           const struct nb_relayed *here, struct nb_error *error)
{
    struct nb_stream_place *p = &engine->stream_states.places[here->stream];
    if (p->staged.position == here->one.position)
        return 0;
    if (p->staged.position + 1 != here->one.position)
        return nb_error_set(error, NB_BUSY, "a change before this one has failed");
    p->staged = (struct nb_point){here->one.position, here->one.checksum};
    nb_serials_follow(&engine->serials, here->stream, here->one.position);
    return view == NULL ? 0 : trace(view, here, error);
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

int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error)
{
    struct nb_buffer row = {0};
    struct nb_packer w = {.out = &row};
    struct nb_string stored = {"", 0};
    char key[MESSAGE_KEY];
    struct nb_string name = message_key(NB_KEPT_ONCE, relayed->stream, relayed->outbox, key);
    if (relayed->outbox == 0)
        return 0;
    int rc = nb_store_get(view, NB_TABLE_META, name, &stored, error);
    if (rc != 0 && rc != NB_NOT_FOUND)
        return rc;
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    if (nb_unpack_u64(&u) >= relayed->entry)
        return nb_error_set(error, NB_EXISTS, "a change that was queued was made already");
    nb_pack_u64(&w, relayed->entry);
    return put(view, name, &w, error);
}
