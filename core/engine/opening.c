/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and closes an engine. Changes are made elsewhere: on the threads of trainers in
 * core/writer/submit.c, on the writer's thread in writer.c, core/writer/stage.c.
 */
#include "core/engine/opening.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/em/unlabelled.h"
#include "core/ledger/ledger.h"
#include "core/model/checkpoint.h"
#include "core/model/learner.h"
#include "core/model/model_transaction.h"
#include "core/model/refit.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/ageing.h"
#include "core/writer/remember.h"
#include "core/writer/submit_features.h"
#include "core/writer/upgrade.h"
#include "core/writer/upkeep.h"
#include "core/writer/writer.h"

enum {
    SAVE_NANOSECONDS =
        1500000000, /* most time for saving models at a stop; the next start replays the rest */
    LOAD_NANOSECONDS = 1000000000, /* most time for loading models at start ... */
    LOAD_MODELS = 16, /* ... if there are few; if there are many, each is loaded when it is used */
};

void nb_engine_settings_init(struct nb_engine_settings *settings)
{
    *settings = (struct nb_engine_settings){
        .directory = "var",
        .tokenizer = NB_TOKENIZER_LIMITS_DEFAULT,
        .auto_create = true,
        .keep_words = true,
        .map_size = 0,
        .journal = NB_STORE_JOURNAL_BYTES,
        .memory = 0,
        .replay_features = 20000000,
        .group_documents = 1024,
        .superseded_seconds = (uint64_t)7 * 24 * 3600,
        .refit_units = NB_REFIT_UNITS,
        .slice_long = 6000000, /* a slice takes 5 to 8 ms */
        .quiet_after = 1000000000,
        .unused_rows = 256,
        .labels = 10000,
        .streams = 1,
        .quarantine_documents = 10000,
        .quarantine_bytes = (uint64_t)64 << 20,
        .models = 100000,
    };
}

void nb_engine_keep_superseded(struct nb_engine *engine, uint64_t seconds)
{
    atomic_store(&engine->superseded_seconds, seconds);
}

static struct nb_engine *engine_new(const struct nb_engine_settings *settings)
{
    struct nb_engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return NULL;
    engine->settings = *settings;
    engine->directory = strdup(settings->directory);
    engine->settings.directory = engine->directory;
    engine->coder = nb_features_coder_new();
    engine->learner = nb_learner_new(engine->settings.refit_units);
    engine->remembering = nb_remembering_new();
    engine->purge = true;
    atomic_init(&engine->spares.foresees, true);
    nb_engine_keep_superseded(engine, settings->superseded_seconds);
    pthread_rwlock_init(&engine->registry.lock, NULL);
    pthread_mutex_init(&engine->queue.lock, NULL);
    pthread_mutex_init(&engine->health.lock, NULL);
    pthread_mutex_init(&engine->refining.lock, NULL);
    nb_condition_init(&engine->queue.filled);
    nb_condition_init(&engine->refining.filled);
    nb_condition_init(&engine->refining.turn);
    pthread_cond_init(&engine->queue.finished, NULL);
    return engine;
}

/* ---- what belongs to the store as a whole ---------------------------------------------------- */

static const struct nb_string KEY = {"key", 3};
static const struct nb_string FIELDS = {"fields", 6};

/* Ids of features contain the number of their field. So the names are stored in the order of the
 * numbers, and a program that numbers the fields differently must not read the store. */
static int write_fields(struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        const char *name = nb_field_name((enum nb_field)f);
        nb_pack_string(&p, (struct nb_string){name, strlen(name)});
    }
    return p.code;
}

static int check_fields(struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    for (unsigned f = 0; u.at < u.end && !u.failed; f++) {
        struct nb_string name = nb_unpack_string(&u);
        const char *known = f < NB_FIELDS ? nb_field_name((enum nb_field)f) : "";
        if (name.length != strlen(known) || memcmp(name.bytes, known, name.length) != 0)
            return nb_error_set(error, NB_VERSION,
                                "the store has features of the field '%.*s', which this bayesd "
                                "does not know: use a newer one",
                                (int)name.length, name.bytes);
    }
    return u.failed ? nb_error_set(error, NB_CORRUPT, "the store is damaged: its list of fields")
                    : 0;
}

int nb_put_identity(struct nb_engine *engine, const struct nb_view *view, struct nb_error *error)
{
    struct nb_buffer fields = {0};
    struct nb_ledger_totals totals = {0};
    struct nb_string key = {(const char *)engine->key.bytes, NB_KEY_BYTES};
    if (write_fields(&fields) != 0) {
        nb_buffer_deinit(&fields);
        return nb_error_no_memory(error);
    }
    struct nb_change change = {.kind = NB_CHANGE_STORE,
                               .time = nb_clock_now(),
                               .key = key,
                               .settings = {fields.bytes, fields.length}};
    int rc = nb_store_put(view, NB_TABLE_META, KEY, key, error);
    if (rc == 0)
        rc = nb_store_put(view, NB_TABLE_META, FIELDS, change.field_names, error);
    if (rc == 0)
        rc = nb_ledger_append(view, nb_serials_entry(&engine->serials), &change, &totals,
                              &engine->scratch, error);
    nb_buffer_deinit(&fields);
    return rc;
}

/* Draws the store's key and stores it with the names of the fields: once, in a new store. */
static int write_identity(struct nb_engine *engine, struct nb_view *view, void *argument,
                          struct nb_error *error)
{
    (void)argument;
    if (engine->settings.key != NULL)
        nb_key_restore(&engine->key, engine->settings.key);
    else
        nb_key_generate(&engine->key);
    return nb_put_identity(engine, view, error);
}

/* Called if the key is missing. A store that lost its key must not get another one, because then
 * every word would be unknown. Only a store without entries is new: then returns NB_NOT_FOUND
 * without a text. */
static int miss_identity(const struct nb_view *view, struct nb_error *error)
{
    uint64_t newest;
    int rc = nb_ledger_newest(view, &newest, error);
    if (rc != 0 || newest == 0)
        return rc != 0 ? rc : NB_NOT_FOUND;
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: its key, or its list of fields, is missing; run "
                        "bayesd --rebuild");
}

static int damaged_identity(int rc, struct nb_error *error)
{
    if (rc != NB_CORRUPT)
        return rc;
    return nb_error_set(error, rc,
                        "the store is damaged: its key, or its list of fields, does not read back; "
                        "run bayesd --rebuild");
}

static int read_identity(struct nb_engine *engine, const struct nb_view *view,
                         struct nb_error *error)
{
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_META, KEY, &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? miss_identity(view, error) : damaged_identity(rc, error);
    if (value.length != NB_KEY_BYTES)
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: its key does not read back");
    if (engine->settings.key != NULL &&
        memcmp(engine->settings.key, value.bytes, NB_KEY_BYTES) != 0)
        return nb_error_set(error, NB_CONFLICT,
                            "the store was made with another key than that of [nodes] "
                            "key_file: a node joins with an empty store, or with the "
                            "backup of another node");
    nb_key_restore(&engine->key, (const unsigned char *)value.bytes);
    rc = nb_store_get(view, NB_TABLE_META, FIELDS, &value, error);
    if (rc == NB_NOT_FOUND)
        return miss_identity(view, error);
    return rc == 0 ? check_fields(value, error) : damaged_identity(rc, error);
}

static int read_store(struct nb_engine *engine, bool fresh, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_identity(engine, &view, error);
    nb_traffic_read(engine, &view);
    int numbers = rc == 0 ? nb_serials_load(&view, &engine->serials, error) : 0;
    if (rc == 0 && numbers == 0)
        numbers = nb_stream_states_read(engine, &view, error);
    nb_store_snapshot_end(&view);
    if (rc == NB_NOT_FOUND && fresh)
        return 0; /* the caller adds the key and the fields */
    if (rc == NB_NOT_FOUND)
        rc = nb_transaction(engine, 0, write_identity, NULL, error);
    return rc != 0 ? rc : numbers;
}

/* ---- open and close -------------------------------------------------------------------------- */

/* Loads models for up to a second, as far as the memory setting allows, so that the first requests
 * do not wait. */
static void load_some(struct nb_engine *engine)
{
    uint64_t memory = 0;
    uint64_t until = nb_clock_monotonic() + LOAD_NANOSECONDS;
    if (engine->registry.count > LOAD_MODELS)
        return;
    for (size_t i = 0; i < engine->registry.count && nb_clock_monotonic() < until; i++) {
        /* A damaged model is reported when it is used. */
        if (nb_registry_load(engine, engine->registry.models[i], NULL) == 0)
            memory += nb_live_memory(engine->registry.models[i]);
        if (engine->settings.memory != 0 && memory > engine->settings.memory)
            break;
    }
}

static int open_store(const struct nb_engine_settings *settings, bool fresh, struct nb_engine **out,
                      struct nb_error *error)
{
    struct nb_engine *engine = engine_new(settings);
    *out = NULL;
    if (engine == NULL || engine->directory == NULL || engine->learner == NULL ||
        engine->coder == NULL || engine->remembering == NULL) {
        nb_engine_close(&engine);
        return nb_error_no_memory(error);
    }
    int rc = nb_store_open(engine->directory, settings->map_size, &engine->store, error);
    if (rc == 0)
        nb_store_limit_journal(engine->store, settings->journal);
    if (rc == 0)
        rc = read_store(engine, fresh, error);
    if (rc == 0)
        rc = nb_roster_read(engine, error);
    if (rc == 0)
        *out = engine;
    else
        nb_engine_close(&engine);
    return rc;
}

/* Opens the store and reads the names of its models. Changes nothing, except that a new store gets
 * its key and fields. Returns 0, with *engine owned by the caller, or the codes of nb_engine_open;
 * the same holds for the functions below. */
static int engine_open_reading(const struct nb_engine_settings *settings, struct nb_engine **engine,
                               struct nb_error *error)
{
    return open_store(settings, false, engine, error);
}

int nb_engine_open_fresh(const struct nb_engine_settings *settings, struct nb_engine **engine,
                         struct nb_error *error)
{
    return open_store(settings, true, engine, error);
}

int nb_engine_open_damaged(const struct nb_engine_settings *settings, struct nb_engine **out,
                           uint32_t *damaged, struct nb_error *error)
{
    struct nb_engine *engine = engine_new(settings);
    *out = NULL;
    if (engine == NULL || engine->directory == NULL || engine->learner == NULL ||
        engine->coder == NULL) {
        nb_engine_close(&engine);
        return nb_error_no_memory(error);
    }
    int rc = nb_store_open_reading(engine->directory, &engine->store, damaged, error);
    if (rc == 0)
        *out = engine;
    else
        nb_engine_close(&engine);
    return rc;
}

int nb_engine_open_existing(const struct nb_engine_settings *settings, struct nb_engine **engine,
                            struct nb_error *error)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/data.mdb", settings->directory);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0)
        return nb_error_set(error, NB_NOT_FOUND, "there is no store in %s", settings->directory);
    return engine_open_reading(settings, engine, error);
}

/* Models with a tail are saved in quiet moments, whether they are loaded or not. */
static void list_unsaved(struct nb_engine *engine)
{
    for (size_t i = 0; i < engine->registry.count; i++)
        nb_checkpoint_enlist(engine, engine->registry.models[i]);
}

static int put_format(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    (void)engine;
    (void)argument;
    return nb_store_raise_format(view, error);
}

/* From here on the store is changed, so daemons of its older format must not open it any more. */
static int raise_format(struct nb_engine *engine, struct nb_error *error)
{
    return nb_store_format(engine->store) == NB_STORE_FORMAT
               ? 0
               : nb_transaction(engine, 0, put_format, NULL, error);
}

/* Models of an older version are computed anew on the writer's thread, beside its other work. Only
 * a node does it before it opens: its streams bring changes for any model in a fixed order. */
int nb_engine_open(const struct nb_engine_settings *settings, struct nb_engine **engine,
                   struct nb_error *error)
{
    int rc = engine_open_reading(settings, engine, error);
    if (rc != 0)
        return rc;
    rc = raise_format(*engine, error);
    if (rc == 0 && settings->shared)
        rc = nb_upgrade_all(*engine, error);
    if (rc != 0) {
        nb_engine_close(engine);
        return rc;
    }
    list_unsaved(*engine);
    load_some(*engine);
    nb_store_unmap_pages((*engine)->store);
    rc = nb_writer_start(*engine, error);
    if (rc == 0)
        rc = nb_refining_start(*engine, error);
    if (rc != 0)
        nb_engine_close(engine);
    return rc;
}

/* The writer's thread has ended, so this thread may write. The next start replays what is not
 * written, within the bound for all models. */
static void save_some(struct nb_engine *engine)
{
    uint64_t until = nb_clock_monotonic() + SAVE_NANOSECONDS;
    assert(!engine->writer_started);
    struct nb_live *live = engine->unsaved.first;
    while (live != NULL && nb_clock_monotonic() < until) {
        struct nb_live *next = live->unsaved.after;
        if (atomic_load(&live->loaded) && !atomic_load(&live->unusable) &&
            nb_checkpoint_all(engine, live, NULL, NULL) != 0)
            return;
        live = next;
    }
}

void nb_engine_close(struct nb_engine **out)
{
    struct nb_engine *engine = *out;
    *out = NULL;
    if (engine == NULL)
        return;
    nb_refining_stop(engine);
    if (engine->writer_started) {
        nb_writer_stop(engine);
        save_some(engine);
    }
    nb_upgrade_end(engine);
    while (engine->unsaved.first != NULL)
        nb_checkpoint_forget(engine, engine->unsaved.first);
    assert(engine->unsaved.last == NULL);
    nb_remembering_free(engine, &engine->remembering);
    nb_registry_free(engine);
    nb_store_close(&engine->store);
    nb_buffer_deinit(&engine->scratch);
    nb_ageing_free(engine);
    nb_learner_free(&engine->learner);
    nb_features_coder_free(&engine->coder);
    struct nb_features_coder *spare = atomic_exchange(&engine->spares.coder, NULL);
    nb_features_coder_free(&spare);
    struct nb_foreseen *foreseen = atomic_exchange(&engine->spares.foreseen, NULL);
    nb_foreseen_free(&foreseen);
    pthread_cond_destroy(&engine->queue.finished);
    pthread_cond_destroy(&engine->queue.filled);
    pthread_cond_destroy(&engine->refining.filled);
    pthread_cond_destroy(&engine->refining.turn);
    pthread_mutex_destroy(&engine->refining.lock);
    pthread_mutex_destroy(&engine->health.lock);
    pthread_mutex_destroy(&engine->queue.lock);
    pthread_rwlock_destroy(&engine->registry.lock);
    free(engine->directory);
    free(engine);
}
