/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/ageing.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/system.h"
#include "core/model/model_load.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/commit.h"
#include "core/writer/remember.h"
#include "core/writer/submit.h"
#include "core/writer/unused.h"

enum {
    YOUNG_IN_A_ROW = 1000, /* young documents in a row that end a walk */
    MODELS_AT_ONCE = 50,   /* models that one nb_ageing_some looks at */
    AGE_SHARE = 1000,      /* 1/AGE_SHARE of max_age between two looks, ... */
    DISK_SHARE = 16,       /* ageing shrinks the store to 1/DISK_SHARE below `disk` */
    DISK_DOCUMENTS = 4000, /* documents between two looks at the disk */
    DISK_GROUP = 500,
    INDEX_BYTES = 300, /* about the bytes of a document's score and index rows */
    ENDED = 1,
};
/* ... but at least LOOK_LEAST and at most LOOK_MOST nanoseconds. */
static const uint64_t LOOK_LEAST = UINT64_C(1000000000), LOOK_MOST = UINT64_C(60000000000);

struct nb_ageing {
    struct nb_buffer name;     /* name of the model that was looked at last */
    struct nb_batch **batches; /* owned; of the group under way */
    size_t count, room;
    /* For each stream: no entry of it below this number is current. `stream` is the next in
     * turn. */
    uint64_t ledger_from[NB_STREAMS_MOST];
    unsigned stream;
    uint64_t disk_at; /* when to look at the disk again */
};

static struct nb_ageing *ageing_of(struct nb_engine *engine)
{
    if (engine->ageing == NULL)
        engine->ageing = calloc(1, sizeof *engine->ageing);
    return engine->ageing;
}

void nb_ageing_end(struct nb_engine *engine)
{
    struct nb_ageing *a = engine->ageing;
    for (size_t i = 0; a != NULL && i < a->count; i++)
        nb_batch_free(&a->batches[i]);
    if (a != NULL)
        a->count = 0;
}

void nb_ageing_free(struct nb_engine *engine)
{
    nb_ageing_end(engine);
    if (engine->ageing == NULL)
        return;
    nb_buffer_deinit(&engine->ageing->name);
    free(engine->ageing->batches);
    free(engine->ageing);
    engine->ageing = NULL;
}

/* Keeps the batch until nb_ageing_end, and adds it to the group as far as it has room. */
static void add_batch(struct nb_engine *engine, struct nb_group *group, struct nb_batch *batch)
{
    struct nb_ageing *a = engine->ageing;
    if (nb_batch_size(batch) == 0 ||
        nb_array_reserve(&a->batches, &a->room, a->count + 1, sizeof(struct nb_batch *)) != 0) {
        nb_batch_free(&batch);
        return;
    }
    if (engine->settings.shared) { /* the stream brings it back */
        nb_relay_propose(engine, nb_buffer_string(&batch->name), batch, NULL);
        nb_batch_free(&batch);
        return;
    }
    a->batches[a->count++] = batch;
    atomic_fetch_add(&engine->counters.queued, batch->size);
    batch->written = 0;
    (void)nb_group_add(group, batch); /* documents without room are found again */
    atomic_fetch_sub(&engine->counters.queued, batch->size - batch->written);
}

/* ---- one model ------------------------------------------------------------------------------- */

/* The documents that a model should lose, and those found so far. */
struct taking {
    struct nb_live *live;
    struct nb_batch *batch;
    uint64_t count;  /* how many of the oldest documents to take out ... */
    int64_t before;  /* ... besides those whose last change was before this time; 0: none */
    size_t most;     /* documents that are taken now */
    size_t young;    /* young documents found in a row */
    uint64_t last;   /* number of the entry that was read last */
    bool has_looked; /* the search has seen a current entry */
    bool has_more;
};

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct taking *t = user;
    const struct nb_change *c = &entry->change;
    size_t taken = nb_batch_size(t->batch);
    if (!t->has_looked)
        t->live->ageing.to = entry->number;
    t->has_looked = true;
    t->last = entry->number;
    if (taken < t->count || c->time < t->before) {
        t->young = 0;
        t->has_more = taken >= t->most;
        return t->has_more ? ENDED : nb_batch_age(t->batch, c->id, entry->number, error);
    }
    return ++t->young < YOUNG_IN_A_ROW && t->before > 0 ? 0 : ENDED;
}

static int walk(const struct nb_view *view, uint64_t from, struct taking *t, struct nb_error *why)
{
    return nb_ledger_walk_only(view, t->live->number, from, NB_LEDGER_LIVING, take, t, why);
}

/* Walks from the oldest entry on. Times mostly ascend with the entries, so this usually finds all;
 * but not after an import, when a clock was wrong, or where the entries of several nodes stand one
 * after the other. So a second walk goes on where that of the last look ended; after enough looks
 * it has passed all entries. */
static int find(struct nb_engine *engine, struct taking *t)
{
    struct nb_view view;
    struct nb_error why;
    uint64_t *resume = &t->live->ageing.resume;
    int rc = nb_store_snapshot(engine->store, &view, &why);
    if (rc != 0)
        return rc;
    rc = walk(&view, t->live->ageing.to, t, &why);
    if (rc == ENDED && t->young == YOUNG_IN_A_ROW) {
        t->young = 0;
        rc = walk(&view, *resume > t->last ? *resume : t->last + 1, t, &why);
        *resume = rc == ENDED ? t->last : 0;
    }
    nb_store_snapshot_end(&view);
    if (rc == NB_CORRUPT)
        nb_live_set_damaged(t->live, &why);
    return rc == ENDED ? 0 : rc;
}

static uint64_t pause_of(uint64_t max_age)
{
    uint64_t pause = max_age * (UINT64_C(1000000000) / AGE_SHARE);
    return pause < LOOK_LEAST ? LOOK_LEAST : pause > LOOK_MOST ? LOOK_MOST : pause;
}

/* The documents that the settings now remove from a model with so many documents. */
static struct taking wanted(struct nb_live *live, const struct nb_settings *settings,
                            uint64_t documents)
{
    struct taking t = {.live = live};
    uint64_t age = settings->max_age;
    if (settings->max_documents > 0 && documents > settings->max_documents)
        t.count = documents - settings->max_documents;
    if (age > 0 && nb_clock_monotonic() >= live->ageing.at)
        t.before = nb_clock_now() - (int64_t)age * 1000;
    return t;
}

/* Adds to the group up to `most` documents of a model that is loaded. Returns whether it should
 * lose some. */
static bool join_model(struct nb_engine *engine, struct nb_group *group, struct nb_live *live,
                       size_t most)
{
    if (live->number == 0 || !atomic_load(&live->persisted) || atomic_load(&live->removed) ||
        atomic_load(&live->unusable) || live->published == NULL)
        return false;
    const struct nb_settings *settings = &live->published->settings;
    struct taking t = wanted(live, settings, live->checkpoint.totals.current);
    if ((t.count == 0 && t.before <= 0) || most == 0)
        return false;
    t.most = most;
    if (ageing_of(engine) == NULL ||
        nb_batch_new(engine, nb_live_name(live), false, &t.batch, NULL) != 0)
        return false;
    bool found = find(engine, &t) == 0 && nb_batch_size(t.batch) > 0;
    if (t.before > 0 && !t.has_more)
        live->ageing.at = nb_clock_monotonic() + pause_of(settings->max_age);
    add_batch(engine, group, t.batch);
    return found && !engine->settings.shared; /* with shared changes, the documents go when the
                                                 stream brings the changes back */
}

void nb_ageing_join(struct nb_engine *engine, struct nb_group *group)
{
    const struct nb_live *last = NULL;
    size_t size = group->size;
    /* Neighbours mostly belong to one model. If a model comes twice, the same documents are found
     * twice, and the second removal is refused. */
    for (size_t i = 0; i < size; i++) {
        struct nb_live *live = group->items[i].batch->live;
        if (live != last)
            (void)join_model(engine, group, live, 2 * size + 8);
        last = live;
    }
}

/* ---- models that nobody trains --------------------------------------------------------------- */

/* Whether a model that is not in memory might have to lose documents, by its stored settings and
 * number of documents. */
static bool is_due_cold(struct nb_engine *engine, struct nb_live *live)
{
    struct nb_settings settings;
    struct nb_view view;
    struct nb_string value;
    struct nb_state_record state = {.totals = {.current = 0}};
    struct nb_store_key key = nb_store_key_model(live->number);
    if (nb_load_settings(engine, live, &settings, NULL) != 0)
        return false;
    if (nb_store_snapshot(engine->store, &view, NULL) == 0) {
        if (nb_store_get(&view, NB_TABLE_STATE, nb_store_key_string(&key), &value, NULL) == 0)
            (void)nb_state_read(&state, value, NULL); /* damage is found when it is loaded */
        nb_store_snapshot_end(&view);
    }
    struct taking t = wanted(live, &settings, state.totals.current);
    bool is_due = t.count > 0;
    if (!is_due && t.before > 0 &&
        nb_batch_new(engine, nb_live_name(live), false, &t.batch, NULL) == 0) {
        /* With t.most 0, the search ends at the first old document. */
        is_due = find(engine, &t) == 0 && t.has_more;
        nb_batch_free(&t.batch);
        if (!is_due)
            live->ageing.at = nb_clock_monotonic() + pause_of(settings.max_age);
    }
    nb_settings_deinit(&settings);
    return is_due;
}

static bool age_model(struct nb_engine *engine, const char *name, size_t most)
{
    struct nb_live *live;
    struct nb_group group = {.engine = engine};
    bool found = false;
    if (nb_registry_find(engine, nb_string_of(name), false, &live, NULL) != 0)
        return false;
    found = nb_remember_age(engine, live);
    bool is_wanted = !atomic_load(&live->unusable) &&
                     (atomic_load(&live->loaded) ||
                      (is_due_cold(engine, live) && nb_registry_load(engine, live, NULL) == 0));
    if (is_wanted)
        found = join_model(engine, &group, live, most) || found;
    nb_group_commit(&group);
    nb_ageing_end(engine);
    nb_group_deinit(&group);
    if (!found && atomic_load(&live->loaded) && live->counts != NULL)
        nb_unused_begin(engine, live, 1);
    nb_registry_release(engine, &live);
    return found;
}

static void remember(struct nb_ageing *a, const char *name)
{
    a->name.length = 0;
    if (name != NULL)
        (void)nb_buffer_append(
            &a->name, name,
            strlen(name)); /* if this fails, the next look starts from the beginning */
}

bool nb_ageing_some(struct nb_engine *engine, size_t most)
{
    struct nb_ageing *a = ageing_of(engine);
    char **names;
    size_t count;
    bool more;
    bool found = false;
    if (a == NULL || nb_transaction_health(engine, NULL) != 0)
        return false;
    struct nb_string after = {a->name.bytes, a->name.length};
    if (nb_registry_names(engine, after, MODELS_AT_ONCE, &names, &count, &more, NULL) != 0)
        return false;
    remember(a, more ? names[count - 1] : NULL);
    for (size_t i = 0; i < count; i++) {
        found = age_model(engine, names[i], most) || found;
        free(names[i]);
    }
    free(names);
    return found;
}

/* ---- the disk -------------------------------------------------------------------------------- */

struct disk {
    struct nb_engine *engine;
    const struct nb_view *view;
    struct nb_live *live; /* model of the previous entry; referenced, or NULL */
    struct nb_batch *batch;
    struct nb_group *group;
    uint64_t bytes, over; /* bytes taken so far, and bytes to take */
    size_t documents;
    uint64_t next; /* behind the last entry that was read */
    bool has_looked;
};

/* Returns the model with this number, with a reference. NULL: it is gone. */
static struct nb_live *live_of(struct nb_engine *engine, uint32_t number)
{
    struct nb_live *found = NULL;
    pthread_rwlock_rdlock(&engine->registry.lock);
    for (size_t i = 0; found == NULL && i < engine->registry.count; i++)
        if (engine->registry.models[i]->number == number)
            found = engine->registry.models[i];
    if (found != NULL)
        atomic_fetch_add(&found->references, 1);
    pthread_rwlock_unlock(&engine->registry.lock);
    return found;
}

static void end_model(struct disk *d)
{
    if (d->batch != NULL)
        add_batch(d->engine, d->group, d->batch);
    d->batch = NULL;
    nb_registry_release(d->engine, &d->live);
}

static bool begin_model(struct disk *d, uint32_t number)
{
    if (d->live != NULL && d->live->number == number)
        return d->batch != NULL;
    end_model(d);
    d->live = live_of(d->engine, number);
    return d->live != NULL && atomic_load(&d->live->persisted) &&
           !atomic_load(&d->live->unusable) &&
           nb_batch_new(d->engine, nb_live_name(d->live), false, &d->batch, NULL) == 0;
}

static int take_oldest(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct disk *d = user;
    bool current;
    d->next = entry->number + 1;
    if (d->documents >= DISK_GROUP || d->bytes >= d->over ||
        (d->engine->settings.streams > 1 &&
         nb_serials_stream(entry->number) != d->engine->ageing->stream))
        return ENDED;
    int rc = nb_ledger_is_current(d->view, entry, &current, error);
    if (rc != 0 || !current)
        return 0; /* the index of a model that is being deleted may be gone already */
    if (!d->has_looked)
        d->engine->ageing->ledger_from[d->engine->ageing->stream] = entry->number;
    d->has_looked = true;
    if (!begin_model(d, entry->change.model))
        return 0;
    rc = nb_batch_age(d->batch, entry->change.id, entry->number, error);
    d->bytes += rc == 0 ? entry->bytes.length + INDEX_BYTES : 0;
    d->documents += rc == 0;
    return rc == NB_NO_MEMORY ? rc : 0;
}

/* Adds documents to batches. An entry that does not read back is skipped. */
static void take_all(struct disk *d)
{
    uint64_t damaged;
    while (nb_ledger_walk(d->view, 0, d->next, take_oldest, d, NULL) == NB_CORRUPT &&
           nb_ledger_next(d->view, d->next, &damaged, NULL) == 0)
        d->next = damaged + 1;
}

/* Takes out one group of documents from the stream whose turn it is. Returns their number. */
static size_t disk_group(struct nb_engine *engine, uint64_t over, uint64_t *bytes)
{
    struct nb_view view;
    struct nb_group group = {.engine = engine};
    struct disk d = {.engine = engine, .view = &view, .group = &group, .over = over};
    if (nb_store_snapshot(engine->store, &view, NULL) != 0)
        return 0;
    uint64_t from = engine->ageing->ledger_from[engine->ageing->stream];
    uint64_t least = nb_serials_first(engine->ageing->stream);
    d.next = from > least ? from : least;
    take_all(&d);
    nb_store_snapshot_end(&view);
    end_model(&d);
    nb_group_commit(&group);
    nb_ageing_end(engine);
    nb_group_deinit(&group);
    *bytes += d.bytes;
    return d.documents;
}

/* Returns by how many bytes the store exceeds its limit; 0: it does not. */
static uint64_t bytes_over(struct nb_engine *engine)
{
    uint64_t used, map, free;
    uint64_t most = engine->settings.disk;
    struct nb_view view;
    nb_store_sizes(engine->store, &used, &map);
    if (most == 0 || used <= most || nb_store_snapshot(engine->store, &view, NULL) != 0)
        return 0;
    if (nb_store_free_bytes(&view, &free, NULL) != 0)
        free = used;
    nb_store_snapshot_end(&view);
    return used - free <= most ? 0 : used - free - (most - most / DISK_SHARE);
}

bool nb_ageing_disk(struct nb_engine *engine)
{
    struct nb_ageing *a = ageing_of(engine);
    uint64_t bytes = 0;
    size_t all = 0;
    if (a == NULL || nb_transaction_health(engine, NULL) != 0 || nb_clock_monotonic() < a->disk_at)
        return false;
    a->disk_at = nb_clock_monotonic() + LOOK_LEAST;
    uint64_t over = bytes_over(engine);
    while (bytes < over && all < DISK_DOCUMENTS) {
        size_t some = 0;
        for (unsigned i = 0; some == 0 && i < engine->settings.streams; i++) {
            a->stream = (a->stream + 1) % engine->settings.streams;
            some = disk_group(engine, over - bytes, &bytes);
        }
        all += some;
        if (some == 0 || engine->settings.shared)
            break;
    }
    if (over > 0 && all == 0)
        a->disk_at = nb_clock_monotonic() + LOOK_MOST; /* no document can be taken out */
    return all > 0;
}
