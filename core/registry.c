/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/prequential.h"

/* ---- settings as published ------------------------------------------------------------------- */

struct nb_published *nb_published_new(const struct nb_settings *settings)
{
    struct nb_published *published = calloc(1, sizeof *published);
    if (published == NULL)
        return NULL;
    struct nb_stack_settings stack;
    nb_prequential_stack_settings(settings, &stack);
    atomic_init(&published->references, 1);
    published->weights = nb_stack_weights_new(&stack);
    if (published->weights == NULL || nb_settings_copy(&published->settings, settings) != 0 ||
        nb_scorer_new(&published->settings, &published->scorer) != 0 ||
        nb_stack_new(&stack, &published->stack) != 0)
        nb_published_release(&published);
    return published;
}

struct nb_published *nb_published_next(const struct nb_settings *settings,
                                       const struct nb_published *old)
{
    struct nb_published *published = nb_published_new(settings);
    struct nb_buffer learned = {0};
    struct nb_packer w = {.out = &learned};
    if (published == NULL)
        return NULL;
    nb_stack_weights_write(old->weights, &w);
    struct nb_unpacker r = nb_unpacker_of(learned.bytes, learned.length);
    if (w.code != 0 || nb_stack_weights_read(published->weights, &r) != 0)
        nb_published_release(&published);
    nb_buffer_deinit(&learned);
    return published;
}

void nb_published_release(struct nb_published **published)
{
    struct nb_published *p = *published;
    *published = NULL;
    if (p == NULL || atomic_fetch_sub(&p->references, 1) != 1)
        return;
    nb_scorer_free(&p->scorer);
    nb_stack_free(&p->stack);
    nb_stack_weights_free(&p->weights);
    nb_settings_deinit(&p->settings);
    free(p);
}

struct nb_published *nb_live_settings(struct nb_live *live)
{
    pthread_mutex_lock(&live->lock);
    struct nb_published *published = live->published;
    atomic_fetch_add(&published->references, 1);
    pthread_mutex_unlock(&live->lock);
    return published;
}

void nb_live_publish(struct nb_live *live, struct nb_published *published)
{
    pthread_mutex_lock(&live->lock);
    struct nb_published *old = live->published;
    live->published = published;
    pthread_mutex_unlock(&live->lock);
    nb_published_release(&old);
}

/* ---- models ---------------------------------------------------------------------------------- */

struct nb_live *nb_live_new(struct nb_string name, uint32_t number, const struct nb_key *key,
                            const struct nb_settings *settings)
{
    struct nb_live *live = calloc(1, sizeof *live);
    if (live == NULL)
        return NULL;
    atomic_init(&live->references, 1);
    pthread_mutex_init(&live->lock, NULL);
    live->number = number;
    live->key = *key;
    live->checkpoint.replay = 1;
    live->name = malloc(name.length + 1);
    live->published = nb_published_new(settings);
    if (live->name == NULL || live->published == NULL) {
        nb_live_free(live);
        return NULL;
    }
    memcpy(live->name, name.bytes, name.length);
    live->name[name.length] = '\0';
    return live;
}

void nb_live_free(struct nb_live *live)
{
    nb_published_release(&live->published);
    nb_model_free(&live->counts);
    free(live->checkpoint.dirty);
    pthread_mutex_destroy(&live->lock);
    free(live->name);
    free(live);
}

static void drop_reference(struct nb_live *live)
{
    if (atomic_fetch_sub(&live->references, 1) == 1)
        nb_live_free(live);
}

/* ---- the sorted list ------------------------------------------------------------------------- */

static int compare_name(const char *name, struct nb_string wanted)
{
    size_t length = strlen(name);
    int order = memcmp(name, wanted.bytes, length < wanted.length ? length : wanted.length);
    if (order != 0)
        return order;
    return (length > wanted.length) - (length < wanted.length);
}

/* Where the name is, or would be; *found says which. */
static size_t position(const struct nb_engine *engine, struct nb_string name, bool *found)
{
    size_t low = 0;
    size_t high = engine->model_count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_name(engine->models[middle]->name, name);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert_at(struct nb_engine *engine, size_t at, struct nb_live *live,
                     struct nb_error *error)
{
    if (engine->model_count >= engine->settings.models)
        return nb_error_set(error, NB_TOO_LARGE,
                            "there are %zu models already, the limit of the setting `models`",
                            engine->model_count);
    if (engine->model_count == engine->model_room) {
        size_t room = engine->model_room == 0 ? 16 : engine->model_room * 2;
        struct nb_live **models = realloc(engine->models, room * sizeof *models);
        if (models == NULL)
            return nb_error_no_memory(error);
        engine->models = models;
        engine->model_room = room;
    }
    memmove(engine->models + at + 1, engine->models + at,
            (engine->model_count - at) * sizeof *engine->models);
    engine->models[at] = live;
    engine->model_count++;
    return 0;
}

static void remove_at(struct nb_engine *engine, size_t at)
{
    engine->model_count--;
    memmove(engine->models + at, engine->models + at + 1,
            (engine->model_count - at) * sizeof *engine->models);
}

static struct nb_string name_of(const struct nb_live *live)
{
    return (struct nb_string){live->name, strlen(live->name)};
}

int nb_registry_insert(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    pthread_rwlock_wrlock(&engine->registry);
    bool found;
    size_t at = position(engine, name_of(live), &found);
    int rc = found ? nb_error_set(error, NB_EXISTS, "the model '%s' exists", live->name)
                   : insert_at(engine, at, live, error);
    pthread_rwlock_unlock(&engine->registry);
    return rc;
}

struct nb_live *nb_registry_replace(struct nb_engine *engine, struct nb_live *live)
{
    pthread_rwlock_wrlock(&engine->registry);
    bool found;
    size_t at = position(engine, name_of(live), &found);
    struct nb_live *old = found ? engine->models[at] : NULL;
    if (found) {
        engine->models[at] = live;
        atomic_store(&old->removed, true);
    }
    pthread_rwlock_unlock(&engine->registry);
    return old;
}

void nb_registry_remove(struct nb_engine *engine, struct nb_live *live)
{
    pthread_rwlock_wrlock(&engine->registry);
    bool found;
    size_t at = position(engine, name_of(live), &found);
    found = found && engine->models[at] == live;
    if (found)
        remove_at(engine, at);
    atomic_store(&live->removed, true);
    pthread_rwlock_unlock(&engine->registry);
    if (found)
        drop_reference(live);
}

/* ---- coming and going ------------------------------------------------------------------------ */

static int ensure_loaded(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    atomic_store_explicit(&live->used, nb_clock_monotonic(), memory_order_relaxed);
    if (atomic_load(&live->loaded))
        return 0;
    pthread_mutex_lock(&live->lock);
    int rc = 0;
    if (!atomic_load(&live->loaded))
        rc = nb_load_counts(engine, live, error);
    if (rc == 0)
        atomic_store(&live->loaded, true);
    pthread_mutex_unlock(&live->lock);
    return rc;
}

static int not_found(struct nb_string name, struct nb_error *error)
{
    return nb_error_set(error, NB_NOT_FOUND, "there is no model '%.*s'", (int)name.length,
                        name.bytes);
}

static struct nb_live *find(struct nb_engine *engine, struct nb_string name)
{
    bool found;
    pthread_rwlock_rdlock(&engine->registry);
    size_t at = position(engine, name, &found);
    struct nb_live *live = found ? engine->models[at] : NULL;
    if (live != NULL)
        atomic_fetch_add(&live->references, 1);
    pthread_rwlock_unlock(&engine->registry);
    return live;
}

int nb_registry_acquire(struct nb_engine *engine, struct nb_string name, bool unborn,
                        struct nb_live **out, struct nb_error *error)
{
    struct nb_live *live = find(engine, name);
    if (live == NULL) {
        int rc = nb_check_model_name(name, error);
        return rc != 0 ? rc : not_found(name, error);
    }
    int rc = !unborn && !atomic_load(&live->persisted) ? not_found(name, error) : 0;
    if (rc == 0)
        rc = ensure_loaded(engine, live, error);
    if (rc == 0)
        *out = live;
    else
        nb_registry_release(engine, &live);
    return rc;
}

bool nb_engine_is_loaded(struct nb_engine *engine, struct nb_string model)
{
    struct nb_live *live = find(engine, model);
    bool is_loaded = live == NULL || atomic_load(&live->loaded);
    if (live != NULL)
        nb_registry_release(engine, &live);
    return is_loaded;
}

int nb_engine_load(struct nb_engine *engine, struct nb_string model, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc == 0)
        nb_registry_release(engine, &live);
    return rc;
}

/* An unborn model, with a reference for the caller from the beginning: whoever else looks at it and
 * is the last to hold it takes it out of the registry again. NB_EXISTS. */
static int make_unborn(struct nb_engine *engine, struct nb_string name, enum nb_preset preset,
                       struct nb_live **out, struct nb_error *error)
{
    struct nb_key key;
    struct nb_settings settings;
    nb_key_generate(&key);
    nb_settings_init(&settings, preset);
    settings.tokenizer_version = NB_TOKENIZER_VERSION;
    uint32_t number = (uint32_t)atomic_fetch_add(&engine->next_number, 1);
    struct nb_live *live = nb_live_new(name, number, &key, &settings);
    nb_settings_deinit(&settings);
    if (live == NULL)
        return nb_error_no_memory(error);
    live->counts = nb_model_new();
    atomic_store(&live->loaded, live->counts != NULL);
    atomic_store(&live->used, nb_clock_monotonic());
    atomic_store(&live->references, 2);
    int rc =
        live->counts == NULL ? nb_error_no_memory(error) : nb_registry_insert(engine, live, error);
    if (rc == 0)
        *out = live;
    else
        nb_live_free(live);
    return rc;
}

int nb_registry_make(struct nb_engine *engine, struct nb_string name, enum nb_preset preset,
                     struct nb_live **out, struct nb_error *error)
{
    int rc;
    /* Somebody else may make it between the two: then that one is taken. */
    do {
        rc = nb_registry_acquire(engine, name, true, out, error);
        if (rc == NB_NOT_FOUND && engine->settings.auto_create)
            rc = make_unborn(engine, name, preset, out, error);
    } while (rc == NB_EXISTS);
    return rc;
}

void nb_registry_release(struct nb_engine *engine, struct nb_live **live)
{
    struct nb_live *l = *live;
    *live = NULL;
    if (l == NULL)
        return;
    if (!atomic_load(&l->persisted) && !atomic_load(&l->removed)) {
        /* An unborn model that nobody else holds never came into being: forget it. */
        bool last;
        bool found;
        pthread_rwlock_wrlock(&engine->registry);
        size_t at = position(engine, name_of(l), &found);
        last = atomic_load(&l->references) == 2 && found && engine->models[at] == l &&
               !atomic_load(&l->persisted);
        if (last)
            remove_at(engine, at);
        pthread_rwlock_unlock(&engine->registry);
        if (last)
            drop_reference(l);
    }
    drop_reference(l);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t memory_of(const struct nb_live *live)
{
    return atomic_load(&live->loaded) ? nb_model_memory(live->counts) : 0;
}

/* The least recently used model that only the registry holds; referenced for the caller. */
static struct nb_live *coldest(struct nb_engine *engine, uint64_t *memory)
{
    struct nb_live *cold = NULL;
    uint64_t oldest = UINT64_MAX;
    *memory = 0;
    pthread_rwlock_rdlock(&engine->registry);
    for (size_t i = 0; i < engine->model_count; i++) {
        struct nb_live *live = engine->models[i];
        uint64_t used = atomic_load(&live->used);
        *memory += memory_of(live);
        if (atomic_load(&live->loaded) && atomic_load(&live->references) == 1 && used < oldest) {
            oldest = used;
            cold = live;
        }
    }
    if (cold != NULL)
        atomic_fetch_add(&cold->references, 1);
    pthread_rwlock_unlock(&engine->registry);
    return cold;
}

/* Drops the counts if nobody came meanwhile (the registry's reference and ours). */
static bool unload(struct nb_engine *engine, struct nb_live *live)
{
    struct nb_model *counts = NULL;
    pthread_rwlock_wrlock(&engine->registry);
    bool idle = atomic_load(&live->references) == 2;
    if (idle) {
        atomic_store(&live->loaded, false);
        counts = live->counts;
        live->counts = NULL;
    }
    pthread_rwlock_unlock(&engine->registry);
    nb_model_free(&counts);
    return idle;
}

void nb_registry_trim(struct nb_engine *engine,
                      int (*save)(struct nb_engine *engine, struct nb_live *live))
{
    if (engine->settings.memory == 0)
        return;
    for (bool going = true; going;) {
        uint64_t memory;
        struct nb_live *cold = coldest(engine, &memory);
        going = cold != NULL && memory > engine->settings.memory && save(engine, cold) == 0 &&
                unload(engine, cold);
        if (cold != NULL)
            nb_registry_release(engine, &cold);
    }
}
