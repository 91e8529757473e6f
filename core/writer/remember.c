/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/remember.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/string.h"
#include "core/base/system.h"
#include "core/model/model_load.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"

enum {
    TEXT_MOST = 512, /* bytes of a Message-ID, Subject or From */
    ID_TEXT = 18,    /* '#', 16 digits, NUL */
};

/* ---- writing --------------------------------------------------------------------------------- */

static int write_features(const struct nb_bag *bag, bool with_texts,
                          struct nb_features_coder *coder, struct nb_buffer *out)
{
    if (bag->size == 0) /* a document without words: there are no features to encode */
        return 0;
    uint64_t *ids = malloc(bag->size * sizeof *ids);
    if (ids == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < bag->size; i++)
        ids[i] = bag->features[i].id;
    int rc = nb_features_encode(coder, ids, with_texts ? bag->texts : NULL, bag->size, out);
    free(ids);
    return rc;
}

/* Most features occur once. */
static int write_repeats(const struct nb_bag *bag, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    size_t place = 0;
    for (size_t i = 0; i < bag->size; i++) {
        if (bag->features[i].count == 1)
            continue;
        nb_pack_varint(&p, i + 1 - place);
        nb_pack_varint(&p, bag->features[i].count - 1);
        place = i + 1;
    }
    return p.code;
}

/* Writes nothing if no feature is in a part. */
static int write_parts(const struct nb_bag *bag, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    uint32_t part = 0;
    size_t place = 0;
    for (size_t i = 0; i < bag->size; i++) {
        if (bag->features[i].passage == part)
            continue;
        if (place == 0) {
            nb_pack_varint(&p, bag->passage_lead);
            nb_pack_varint(&p, bag->visible_length);
        }
        part = bag->features[i].passage;
        nb_pack_varint(&p, i + 1 - place);
        nb_pack_varint(&p, part);
        place = i + 1;
    }
    return p.code;
}

/* The stored forms of a bag; owned. */
struct stored_bag {
    struct nb_buffer features, parts, repeats;
};

static void stored_bag_deinit(struct stored_bag *stored)
{
    nb_buffer_deinit(&stored->features);
    nb_buffer_deinit(&stored->parts);
    nb_buffer_deinit(&stored->repeats);
}

static int write_record(const struct nb_remember_note *note, const struct nb_bag *bag,
                        const struct stored_bag *stored, struct nb_buffer *out)
{
    struct nb_history_record record = {.id = note->id,
                                       .message_id = nb_utf8_cut(note->message_id, TEXT_MOST),
                                       .subject = nb_utf8_cut(note->subject, TEXT_MOST),
                                       .sender = nb_utf8_cut(note->sender, TEXT_MOST),
                                       .source = note->source,
                                       .verdict = note->verdict,
                                       .probability = note->probability,
                                       .known = note->known,
                                       .time = nb_clock_now(),
                                       .truncated = bag->truncated,
                                       .fields = note->fields,
                                       .positions = bag->positions,
                                       .feature_count = bag->size,
                                       .features = nb_buffer_string(&stored->features),
                                       .parts = nb_buffer_string(&stored->parts),
                                       .repeats = nb_buffer_string(&stored->repeats)};
    return nb_history_write(&record, out);
}

int nb_remember_note(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_remember_note *note, const struct nb_bag *bag,
                     struct nb_features_coder *coder)
{
    struct stored_bag bytes = {.features = {0}};
    struct nb_buffer stored = {0};
    int rc = write_features(bag, nb_remember_keeps_texts(engine, live), coder, &bytes.features);
    if (rc == 0 && note->keeps_passages)
        rc = write_parts(bag, &bytes.parts);
    if (rc == 0)
        rc = write_repeats(bag, &bytes.repeats);
    if (rc == 0)
        rc = write_record(note, bag, &bytes, &stored);
    rc = rc == 0
             ? nb_remember(engine, live, note->id, (struct nb_string){stored.bytes, stored.length})
             : nb_remember_miss(engine);
    stored_bag_deinit(&bytes);
    nb_buffer_deinit(&stored);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A feature whose text was not kept is shown as its id. */
static int add_feature(struct nb_bag *bag, uint64_t id, struct nb_string text)
{
    char name[ID_TEXT];
    if (text.length > 0)
        return nb_bag_add_id(bag, id, text.bytes, text.length);
    int length = snprintf(name, sizeof name, "#%016" PRIx64, id);
    return nb_bag_add_id(bag, id, name, (size_t)length);
}

static bool read_repeats(struct nb_string stored, struct nb_bag *bag)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    size_t place = 0;
    while (u.at < u.end && !u.failed) {
        place += (size_t)nb_unpack_bounded(&u, bag->size - place);
        uint32_t more = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX - 1);
        if (place == 0)
            return false;
        bag->features[place - 1].count = more + 1;
    }
    return !u.failed;
}

static bool read_parts(struct nb_string stored, struct nb_bag *bag)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    size_t place = 0;
    uint32_t part = 0;
    if (stored.length == 0)
        return true;
    bag->passage_lead = (size_t)nb_unpack_bounded(&u, UINT32_MAX);
    bag->visible_length = (size_t)nb_unpack_bounded(&u, UINT32_MAX);
    while (u.at < u.end && !u.failed) {
        size_t distance = (size_t)nb_unpack_bounded(&u, bag->size - place);
        if (distance == 0)
            return false;
        for (size_t end = place + distance - 1; place < end; place++)
            bag->features[place].passage = part;
        part = (uint32_t)nb_unpack_bounded(&u, NB_PASSAGES - 1);
        bag->features[place++].passage = part;
    }
    for (; place < bag->size; place++)
        bag->features[place].passage = part;
    return !u.failed;
}

int nb_remember_bag(const struct nb_history_record *record, const struct nb_key *key,
                    struct nb_features_coder *coder, struct nb_bag *bag, struct nb_error *error)
{
    const uint64_t *ids = NULL;
    const struct nb_string *texts = NULL;
    int rc = 0;
    nb_bag_reset(bag);
    if (record->feature_count > 0 || record->features.length > 0)
        rc = nb_features_decode(coder, record->features, record->feature_count, key, &ids, &texts,
                                error);
    for (size_t i = 0; rc == 0 && i < record->feature_count; i++)
        rc = add_feature(bag, ids[i], texts != NULL ? texts[i] : (struct nb_string){"", 0});
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == 0 && (bag->size != record->feature_count || !read_parts(record->parts, bag) ||
                    !read_repeats(record->repeats, bag)))
        rc = nb_error_set(error, NB_CORRUPT, "a verdict in the history does not read back");
    bag->positions = record->positions;
    bag->truncated = record->truncated;
    return rc;
}

enum {
    WAITING_MOST = 16384,     /* most records that may wait at once, ... */
    WAITING_BYTES = 16 << 20, /* ... and most bytes that they may take */
    TRIMMED_EACH = 3,         /* old records that are removed with each new one */
    AGED_AT_ONCE = 1000,      /* records that one transaction of ageing removes */
    DAY = 24 * 3600 * 1000,   /* milliseconds */
};
static const uint64_t FLUSH_EVERY = 1000000000, LOOK_EVERY = UINT64_C(60000000000); /* ns */

/* A record that waits to be written. */
struct waiting {
    struct waiting *next;
    struct nb_live *live; /* referenced */
    struct nb_buffer id, stored;
};

struct nb_remembering {
    pthread_mutex_t lock; /* protects the list; no other lock is taken while it is held */
    struct waiting *first, *last;
    size_t count, bytes;
    uint64_t flushed; /* nb_clock_monotonic of the last flush; the writer's */
    atomic_uint_fast64_t remembered, dropped;
};

struct nb_remembering *nb_remembering_new(void)
{
    struct nb_remembering *r = calloc(1, sizeof *r);
    if (r != NULL)
        pthread_mutex_init(&r->lock, NULL);
    return r;
}

static size_t bytes_of(const struct waiting *w)
{
    return sizeof *w + w->id.capacity + w->stored.capacity;
}

static void waiting_free(struct nb_engine *engine, struct waiting *w)
{
    nb_buffer_deinit(&w->id);
    nb_buffer_deinit(&w->stored);
    nb_registry_release(engine, &w->live);
    free(w);
}

void nb_remembering_free(struct nb_engine *engine, struct nb_remembering **remembering)
{
    struct nb_remembering *r = *remembering;
    *remembering = NULL;
    if (r == NULL)
        return;
    while (r->first != NULL) {
        struct waiting *next = r->first->next;
        waiting_free(engine, r->first);
        r->first = next;
    }
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct nb_history_limits limits_of(const struct nb_settings *settings)
{
    int64_t age = (int64_t)settings->history_days * DAY;
    return (struct nb_history_limits){.records = settings->history, .since = nb_clock_now() - age};
}

struct nb_history_limits nb_remember_limits(struct nb_live *live)
{
    struct nb_published *published = nb_live_settings(live);
    struct nb_history_limits limits = limits_of(&published->settings);
    nb_published_release(&published);
    return limits;
}

/* ---- waiting records ------------------------------------------------------------------------- */

static bool has_room(const struct nb_remembering *r, size_t bytes)
{
    return r->count < WAITING_MOST && r->bytes + bytes <= WAITING_BYTES;
}

static struct waiting *waiting_new(struct nb_live *live, struct nb_string id,
                                   struct nb_string stored)
{
    struct waiting *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    assert(atomic_load(&live->references) > 0); /* the caller has a reference */
    atomic_fetch_add(&live->references, 1);
    w->live = live;
    if (nb_buffer_append(&w->id, id.bytes, id.length) != 0 ||
        nb_buffer_append(&w->stored, stored.bytes, stored.length) != 0) {
        nb_buffer_deinit(&w->id);
        nb_buffer_deinit(&w->stored);
        atomic_fetch_sub(&live->references, 1); /* the caller has a reference */
        free(w);
        return NULL;
    }
    return w;
}

static bool enqueue(struct nb_remembering *r, struct waiting *w)
{
    size_t bytes = bytes_of(w);
    pthread_mutex_lock(&r->lock);
    assert((r->first == NULL) == (r->count == 0) && (r->last == NULL) == (r->count == 0));
    bool fits = has_room(r, bytes);
    if (fits) {
        *(r->last == NULL ? &r->first : &r->last->next) = w;
        r->last = w;
        r->count++;
        r->bytes += bytes;
    }
    pthread_mutex_unlock(&r->lock);
    return fits;
}

int nb_remember(struct nb_engine *engine, struct nb_live *live, struct nb_string id,
                struct nb_string stored)
{
    struct nb_remembering *r = engine->remembering;
    assert(live->number != 0 && id.length > 0);
    struct waiting *w = waiting_new(live, id, stored);
    if (w != NULL && enqueue(r, w)) {
        atomic_fetch_add(&r->remembered, 1);
        return 0;
    }
    if (w != NULL)
        waiting_free(engine, w);
    return nb_remember_miss(engine);
}

int nb_remember_miss(struct nb_engine *engine)
{
    atomic_fetch_add(&engine->remembering->dropped, 1);
    return NB_BUSY;
}

bool nb_remember_waits(struct nb_engine *engine)
{
    struct nb_remembering *r = engine->remembering;
    pthread_mutex_lock(&r->lock);
    bool waits = r->count > 0;
    pthread_mutex_unlock(&r->lock);
    return waits;
}

bool nb_remember_is_urgent(struct nb_engine *engine)
{
    struct nb_remembering *r = engine->remembering;
    pthread_mutex_lock(&r->lock);
    bool is_urgent = !has_room(r, WAITING_BYTES / 2) || r->count > WAITING_MOST / 2;
    pthread_mutex_unlock(&r->lock);
    return is_urgent;
}

void nb_remember_count(struct nb_engine *engine, struct nb_remember_figures *figures)
{
    struct nb_remembering *r = engine->remembering;
    figures->remembered = atomic_load(&r->remembered);
    figures->dropped = atomic_load(&r->dropped);
    pthread_mutex_lock(&r->lock);
    figures->waiting = r->count;
    pthread_mutex_unlock(&r->lock);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Finds the newest waiting record of the id. */
static int find_waiting(struct nb_remembering *r, const struct nb_live *live, struct nb_string id,
                        struct nb_buffer *stored)
{
    const struct waiting *found = NULL;
    pthread_mutex_lock(&r->lock);
    for (const struct waiting *w = r->first; w != NULL; w = w->next)
        if (w->live == live && nb_string_same(nb_buffer_string(&w->id), id))
            found = w;
    int rc = found == NULL ? NB_NOT_FOUND
                           : nb_buffer_append(stored, found->stored.bytes, found->stored.length);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static int find_written(struct nb_engine *engine, const struct nb_live *live, struct nb_string id,
                        uint64_t records, struct nb_buffer *stored, struct nb_error *error)
{
    struct nb_view view;
    struct nb_string value;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_history_find(&view, live->number, id, records, &value, error);
    if (rc == 0 && nb_buffer_append(stored, value.bytes, value.length) != 0)
        rc = nb_error_no_memory(error);
    nb_store_snapshot_end(&view);
    return rc;
}

int nb_remember_find(struct nb_engine *engine, struct nb_live *live, struct nb_string id,
                     struct nb_buffer *stored, struct nb_error *error)
{
    struct nb_history_limits limits = nb_remember_limits(live);
    struct nb_history_record record;
    size_t before = stored->length;
    if (limits.records == 0 || live->number == 0)
        return NB_NOT_FOUND;
    int rc = find_waiting(engine->remembering, live, id, stored);
    if (rc == NB_NOT_FOUND) /* a record that waited a moment ago may be written by now */
        rc = find_written(engine, live, id, limits.records, stored, error);
    if (rc == 0)
        rc = nb_history_read(
            &record, (struct nb_string){stored->bytes + before, stored->length - before}, error);
    if (rc == 0 && record.time < limits.since)
        rc = NB_NOT_FOUND;
    if (rc != 0)
        stored->length = before;
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The records that a flush writes: those that waited when it began. */
struct flush {
    struct waiting *first;
    size_t count;
};

static int write_one(const struct nb_view *view, const struct waiting *w, struct nb_error *error)
{
    struct nb_history_limits limits = nb_remember_limits(w->live);
    uint32_t model = w->live->number;
    size_t removed;
    if (limits.records == 0 || atomic_load(&w->live->removed))
        return 0;
    /* If the transaction fails, the next reader meets the damage again. */
    int rc = atomic_exchange(&w->live->history.is_damaged, false)
                 ? nb_history_clear(view, model, error)
                 : 0;
    if (rc == 0)
        rc = nb_history_put(view, model, nb_buffer_string(&w->id), nb_buffer_string(&w->stored),
                            error);
    return rc != 0 ? rc : nb_history_trim(view, model, &limits, TRIMMED_EACH, &removed, error);
}

static int write_all(struct nb_engine *engine, struct nb_view *view, void *argument,
                     struct nb_error *error)
{
    const struct flush *flush = argument;
    const struct waiting *w = flush->first;
    int rc = 0;
    (void)engine;
    for (size_t i = 0; rc == 0 && i < flush->count; i++) {
        rc = write_one(view, w, error);
        if (i + 1 < flush->count) /* another thread may be setting `next` of the last one */
            w = w->next;
    }
    return rc;
}

/* Takes the first `count` records off the list and frees them. Only the writer does so: thus it
 * could write them without the lock. */
static void take_off(struct nb_engine *engine, size_t count)
{
    struct nb_remembering *r = engine->remembering;
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&r->lock);
        struct waiting *w = r->first;
        r->first = w->next;
        if (r->first == NULL)
            r->last = NULL;
        r->count--;
        r->bytes -= bytes_of(w);
        pthread_mutex_unlock(&r->lock);
        waiting_free(engine, w);
    }
}

int nb_remember_flush(struct nb_engine *engine, bool now, struct nb_error *error)
{
    struct nb_remembering *r = engine->remembering;
    pthread_mutex_lock(&r->lock);
    struct flush flush = {.first = r->first, .count = r->count};
    size_t bytes = r->bytes;
    pthread_mutex_unlock(&r->lock);
    if (flush.count == 0 ||
        (!now && nb_clock_monotonic() < r->flushed + FLUSH_EVERY && !nb_remember_is_urgent(engine)))
        return 0;
    int rc = nb_transaction(engine, bytes, write_all, &flush, error);
    r->flushed = nb_clock_monotonic();
    if (rc == 0)
        take_off(engine, flush.count);
    return rc;
}

/* ---- ageing ---------------------------------------------------------------------------------- */

struct ageing {
    uint32_t model;
    struct nb_history_limits limits;
    size_t removed;
};

static int write_aged(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct ageing *a = argument;
    (void)engine;
    return nb_history_trim(view, a->model, &a->limits, AGED_AT_ONCE, &a->removed, error);
}

static int has_one(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    (void)user;
    (void)key;
    (void)value;
    (void)error;
    return 1;
}

static bool has_history(struct nb_engine *engine, uint32_t model)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string prefix = nb_store_key_string(&key);
    struct nb_view view;
    if (nb_store_snapshot(engine->store, &view, NULL) != 0)
        return false;
    int rc = nb_store_scan(&view, NB_TABLE_HISTORY, prefix, prefix.length, has_one, NULL, NULL);
    nb_store_snapshot_end(&view);
    return rc == 1 || rc == NB_CORRUPT;
}

static bool find_limits(struct nb_engine *engine, struct nb_live *live,
                        struct nb_history_limits *limits)
{
    struct nb_settings settings;
    if (atomic_load(&live->loaded)) {
        *limits = nb_remember_limits(live);
        return true;
    }
    if (nb_load_settings(engine, live, &settings, NULL) != 0)
        return false;
    *limits = limits_of(&settings);
    nb_settings_deinit(&settings);
    return true;
}

bool nb_remember_age(struct nb_engine *engine, struct nb_live *live)
{
    struct ageing a = {.model = live->number};
    if (live->number == 0 || !atomic_load(&live->persisted) || atomic_load(&live->removed) ||
        nb_clock_monotonic() < live->history.at)
        return false;
    live->history.at = nb_clock_monotonic() + LOOK_EVERY;
    if (!has_history(engine, live->number) || !find_limits(engine, live, &a.limits) ||
        nb_transaction(engine, 0, write_aged, &a, NULL) != 0 || a.removed < AGED_AT_ONCE)
        return false;
    live->history.at = 0;
    return true;
}

enum { MODEL_BYTES = 4, CLEARED = 1000 };

/* ---- the record ------------------------------------------------------------------------------ */

enum { TRUNCATED = 1, HAS_SENDER = 2, HAS_PARTS = 4, HAS_KNOWN = 8 }; /* flags */

int nb_history_write(const struct nb_history_record *record, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    uint8_t flags = record->truncated ? TRUNCATED : 0;
    if (record->sender.length > 0)
        flags |= HAS_SENDER;
    if (record->parts.length > 0)
        flags |= HAS_PARTS;
    if (!isnan(record->known))
        flags |= HAS_KNOWN;
    nb_pack_u8(&p, flags);
    nb_pack_u64(&p, (uint64_t)record->time);
    nb_pack_string(&p, record->id);
    nb_pack_string(&p, record->message_id);
    nb_pack_string(&p, record->subject);
    if (record->sender.length > 0)
        nb_pack_string(&p, record->sender);
    nb_pack_string(&p, record->source);
    nb_pack_string(&p, record->verdict);
    nb_pack_double(&p, record->probability);
    if (!isnan(record->known))
        nb_pack_double(&p, record->known);
    nb_pack_varint(&p, record->fields);
    nb_pack_varint(&p, record->positions);
    nb_pack_varint(&p, record->feature_count);
    nb_pack_string(&p, record->features);
    if (record->parts.length > 0)
        nb_pack_string(&p, record->parts);
    nb_pack_bytes(&p, record->repeats.bytes, record->repeats.length);
    return p.code;
}

int nb_history_read(struct nb_history_record *record, struct nb_string stored,
                    struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t flags = nb_unpack_u8(&u);
    *record = (struct nb_history_record){.truncated = (flags & TRUNCATED) != 0};
    record->time = (int64_t)nb_unpack_u64(&u);
    record->id = nb_unpack_string(&u);
    record->message_id = nb_unpack_string(&u);
    record->subject = nb_unpack_string(&u);
    if ((flags & HAS_SENDER) != 0)
        record->sender = nb_unpack_string(&u);
    record->source = nb_unpack_string(&u);
    record->verdict = nb_unpack_string(&u);
    record->probability = nb_unpack_double(&u);
    record->known = NAN;
    if ((flags & HAS_KNOWN) != 0)
        record->known = nb_unpack_double(&u);
    record->fields = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    record->positions = nb_unpack_varint(&u);
    record->feature_count = (size_t)nb_unpack_bounded(&u, UINT32_MAX);
    record->features = nb_unpack_string(&u);
    if ((flags & HAS_PARTS) != 0)
        record->parts = nb_unpack_string(&u);
    record->repeats = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    if (!u.failed && flags <= TRUNCATED + HAS_SENDER + HAS_PARTS + HAS_KNOWN &&
        record->id.length > 0 && record->verdict.length > 0)
        return 0;
    return nb_error_set(error, NB_CORRUPT, "a verdict in the history does not read back");
}

/* ---- the tables ------------------------------------------------------------------------------ */

static int number_of(const struct nb_view *view, uint32_t model, struct nb_string id,
                     uint64_t *number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    *number = nb_unpack_varint(&u);
    return nb_unpacker_done(&u) && *number > 0
               ? 0
               : nb_error_set(error, NB_CORRUPT, "the history does not read back");
}

/* Sets *next to the number after the newest record's. A damaged record still has its number. */
static int next_number(const struct nb_view *view, uint32_t model, uint64_t *next,
                       struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_sequence(model, UINT64_MAX);
    struct nb_string key, value;
    int rc = nb_store_floor(view, NB_TABLE_HISTORY, nb_store_key_string(&most), MODEL_BYTES, &key,
                            &value, error);
    *next = 1;
    if (rc == 0 || rc == NB_CORRUPT)
        *next = nb_store_key_tail(key) + 1;
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

static int put_number(const struct nb_view *view, uint32_t model, struct nb_string id,
                      uint64_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_buffer value = {0};
    struct nb_packer p = {.out = &value};
    nb_pack_varint(&p, number);
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&key),
                                        (struct nb_string){value.bytes, value.length}, error);
    nb_buffer_deinit(&value);
    return rc;
}

int nb_history_clear(const struct nb_view *view, uint32_t model, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string prefix = nb_store_key_string(&key);
    static const enum nb_table tables[] = {NB_TABLE_HISTORY, NB_TABLE_HISTORY_IDS};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++) {
        size_t deleted = CLEARED;
        while (rc == 0 && deleted == CLEARED)
            rc = nb_store_clear(view, tables[i], prefix, CLEARED, &deleted, error);
    }
    return rc;
}

int nb_history_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                      bool *removed, struct nb_error *error)
{
    uint64_t number;
    *removed = false;
    int rc = number_of(view, model, id, &number, error);
    if (rc == NB_CORRUPT) { /* the record to remove is unknown */
        *removed = true;
        return nb_history_clear(view, model, error);
    }
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_store_key key = nb_store_key_sequence(model, number);
    struct nb_store_key by_id = nb_store_key_id(model, id);
    rc = nb_store_delete(view, NB_TABLE_HISTORY, nb_store_key_string(&key), error);
    if (rc == 0)
        rc = nb_store_delete(view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&by_id), error);
    *removed = rc == 0;
    return rc;
}

int nb_history_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_string stored, struct nb_error *error)
{
    bool removed;
    uint64_t number;
    int rc = next_number(view, model, &number, error);
    if (rc == 0)
        rc = nb_history_remove(view, model, id, &removed, error);
    if (rc == 0)
        rc = put_number(view, model, id, number, error);
    if (rc != 0)
        return rc;
    struct nb_store_key key = nb_store_key_sequence(model, number);
    return nb_store_put(view, NB_TABLE_HISTORY, nb_store_key_string(&key), stored, error);
}

int nb_history_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                    uint64_t records, struct nb_string *stored, struct nb_error *error)
{
    uint64_t number, next;
    int rc = number_of(view, model, id, &number, error);
    if (rc == 0)
        rc = next_number(view, model, &next, error);
    if (rc != 0)
        return rc;
    if (next > number && next - 1 - number >= records)
        return NB_NOT_FOUND;
    struct nb_store_key key = nb_store_key_sequence(model, number);
    rc = nb_store_get(view, NB_TABLE_HISTORY, nb_store_key_string(&key), stored, error);
    return rc != NB_NOT_FOUND ? rc
                              : nb_error_set(error, NB_CORRUPT, "a verdict of the history is lost");
}

int nb_history_before(const struct nb_view *view, uint32_t model, uint64_t before, uint64_t *number,
                      struct nb_string *stored, struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_sequence(model, before - 1);
    struct nb_string key;
    assert(before > 0);
    int rc = nb_store_floor(view, NB_TABLE_HISTORY, nb_store_key_string(&most), MODEL_BYTES, &key,
                            stored, error);
    if (rc == 0)
        *number = nb_store_key_tail(key);
    return rc;
}

/* ---- trimming -------------------------------------------------------------------------------- */

struct oldest {
    const struct nb_history_limits *limits;
    uint64_t newest; /* number */
    struct nb_buffer id;
    bool is_due;
};

/* Whether the limits leave out the oldest record. */
static int look(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct oldest *o = user;
    struct nb_history_record record;
    int rc = nb_history_read(&record, value, error);
    if (rc != 0)
        return rc;
    o->is_due =
        nb_store_key_tail(key) + o->limits->records <= o->newest || record.time < o->limits->since;
    o->id.length = 0;
    if (o->is_due && nb_buffer_append(&o->id, record.id.bytes, record.id.length) != 0)
        return nb_error_no_memory(error);
    return 1;
}

int nb_history_trim(const struct nb_view *view, uint32_t model,
                    const struct nb_history_limits *limits, size_t most, size_t *removed,
                    struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string prefix = nb_store_key_string(&key);
    struct oldest o = {.limits = limits};
    struct nb_error why = {0};
    int rc = next_number(view, model, &o.newest, &why);
    o.newest--;
    *removed = 0;
    while (rc == 0 && o.newest > 0 && *removed < most) {
        bool gone = false;
        o.is_due = false;
        rc = nb_store_scan(view, NB_TABLE_HISTORY, prefix, prefix.length, look, &o, &why);
        if (rc < 0 || !o.is_due)
            break;
        rc = nb_history_remove(view, model, (struct nb_string){o.id.bytes, o.id.length}, &gone,
                               &why);
        if (rc == 0 && !gone)
            rc = NB_CORRUPT; /* no id refers to it */
        (*removed)++;
    }
    nb_buffer_deinit(&o.id);
    if (rc == NB_CORRUPT)
        return nb_history_clear(view, model, error);
    return rc >= 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}
