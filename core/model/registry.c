/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/registry.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/names.h"
#include "core/base/system.h"
#include "core/bayes/estimate.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/survey.h"
#include "core/model/model_load.h"
#include "core/model/model_transaction.h"
#include "core/model/relayed.h"
#include "core/model/verdict.h"

static void drop_reference(struct nb_live *live)
{
    assert(atomic_load(&live->references) > 0);
    if (atomic_fetch_sub(&live->references, 1) == 1)
        nb_live_free(live);
}

/* ---- the sorted list ------------------------------------------------------------------------- */

static bool is_before(const void *models, size_t at, const void *name)
{
    struct nb_live *const *list = models;
    return nb_string_compare(nb_live_name(list[at]), *(const struct nb_string *)name) < 0;
}

/* The index of the name, or where it would be inserted; sets *found. */
static size_t position(const struct nb_engine *engine, struct nb_string name, bool *found)
{
    size_t at = nb_search(engine->registry.models, engine->registry.count, &name, is_before);
    *found = at < engine->registry.count &&
             nb_string_same(nb_live_name(engine->registry.models[at]), name);
    return at;
}

/* Whether this thread applies a change from a stream. Nodes may differ in how far they are in other
 * streams, but must decide alike on this change, so the limit is checked only where a change is
 * requested. */
static bool is_told(const struct nb_engine *engine)
{
    return engine->settings.streams > 1 && nb_relay_applied() != NULL;
}

static int too_many(const struct nb_engine *engine, struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE,
                        "there are %zu models already, the limit of the setting `models`",
                        engine->registry.count);
}

static int insert_at(struct nb_engine *engine, size_t at, struct nb_live *live,
                     struct nb_error *error)
{
    assert(at <= engine->registry.count);
    if (engine->registry.count >= engine->settings.models && !is_told(engine))
        return too_many(engine, error);
    if (nb_array_reserve(&engine->registry.models, &engine->registry.room,
                         engine->registry.count + 1, sizeof(struct nb_live *)) != 0)
        return nb_error_no_memory(error);
    memmove(engine->registry.models + at + 1, engine->registry.models + at,
            (engine->registry.count - at) * sizeof *engine->registry.models);
    engine->registry.models[at] = live;
    engine->registry.count++;
    return 0;
}

static void remove_at(struct nb_engine *engine, size_t at)
{
    assert(at < engine->registry.count);
    engine->registry.count--;
    memmove(engine->registry.models + at, engine->registry.models + at + 1,
            (engine->registry.count - at) * sizeof *engine->registry.models);
}

int nb_registry_check_room(struct nb_engine *engine, struct nb_string name, struct nb_error *error)
{
    pthread_rwlock_rdlock(&engine->registry.lock);
    bool found;
    (void)position(engine, name, &found);
    int rc =
        !found && engine->registry.count >= engine->settings.models ? too_many(engine, error) : 0;
    pthread_rwlock_unlock(&engine->registry.lock);
    return rc;
}

int nb_registry_insert(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    pthread_rwlock_wrlock(&engine->registry.lock);
    bool found;
    size_t at = position(engine, nb_live_name(live), &found);
    int rc = found ? nb_error_set(error, NB_EXISTS, "the model '%s' exists", live->name)
                   : insert_at(engine, at, live, error);
    pthread_rwlock_unlock(&engine->registry.lock);
    return rc;
}

struct nb_live *nb_registry_replace(struct nb_engine *engine, struct nb_live *live)
{
    pthread_rwlock_wrlock(&engine->registry.lock);
    bool found;
    size_t at = position(engine, nb_live_name(live), &found);
    struct nb_live *old = found ? engine->registry.models[at] : NULL;
    assert(old != live);
    if (found) {
        engine->registry.models[at] = live;
        atomic_store(&old->removed, true);
        atomic_fetch_sub(&engine->memory.used, atomic_exchange(&old->bytes, 0));
    }
    pthread_rwlock_unlock(&engine->registry.lock);
    return old;
}

void nb_registry_remove(struct nb_engine *engine, struct nb_live *live)
{
    pthread_rwlock_wrlock(&engine->registry.lock);
    bool found;
    size_t at = position(engine, nb_live_name(live), &found);
    found = found && engine->registry.models[at] == live;
    if (found)
        remove_at(engine, at);
    atomic_store(&live->removed, true);
    atomic_fetch_sub(&engine->memory.used, atomic_exchange(&live->bytes, 0));
    pthread_rwlock_unlock(&engine->registry.lock);
    if (found)
        drop_reference(live);
}

void nb_registry_free(struct nb_engine *engine)
{
    for (size_t i = 0; i < engine->registry.count; i++)
        nb_live_free(engine->registry.models[i]);
    free(engine->registry.models);
    engine->registry.models = NULL;
    engine->registry.count = engine->registry.room = 0;
}

/* ---- adding and removing models -------------------------------------------------------------- */

/* Updates the engine's sum of memory: a model grows as it learns, and when its first score makes
 * views. If the sum exceeds the setting, wakes the writer to drop the least recently used models.
 * Does nothing without the setting. */
static void note_memory(struct nb_engine *engine, struct nb_live *live)
{
    if (engine->settings.memory == 0 || !atomic_load(&live->loaded) || atomic_load(&live->removed))
        return;
    uint64_t bytes = nb_live_memory(live);
    uint64_t change = bytes - atomic_exchange(&live->bytes, bytes);
    uint64_t all = atomic_fetch_add(&engine->memory.used, change) + change;
    if (change == 0 || all <= engine->settings.memory)
        return;
    pthread_mutex_lock(&engine->queue.lock);
    engine->queue.trim = true;
    pthread_cond_signal(&engine->queue.filled);
    pthread_mutex_unlock(&engine->queue.lock);
}

/* Wakes the writer if it is idle, so that it runs refits. */
static void ask_for_refits(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->queue.lock);
    atomic_store(&engine->queue.refits, true);
    pthread_cond_signal(&engine->queue.filled);
    pthread_mutex_unlock(&engine->queue.lock);
}

void nb_refining_ask(struct nb_engine *engine, struct nb_live *live)
{
    if (atomic_load(&live->unlabelled) == 0 && !atomic_load(&live->em.is_refined))
        return;
    atomic_store(&live->em.is_wanted, true);
    pthread_mutex_lock(&engine->refining.lock);
    engine->refining.is_asked = true;
    pthread_cond_signal(&engine->refining.filled);
    pthread_mutex_unlock(&engine->refining.lock);
}

/* Notes the memory that a model needs to stay, if it alone exceeds the setting `memory`. */
static void note_need(struct nb_engine *engine, struct nb_live *live)
{
    if (engine->settings.memory == 0)
        return;
    uint64_t needed = nb_live_memory(live) + nb_log_tables_memory();
    uint64_t known = atomic_load(&engine->memory.needed);
    if (needed <= engine->settings.memory)
        return;
    while (needed > known && !atomic_compare_exchange_weak(&engine->memory.needed, &known, needed))
        ;
}

bool nb_engine_lacks_memory(struct nb_engine *engine, struct nb_error *what)
{
    enum { KIB_BITS = 10 };
    uint64_t needed = atomic_load_explicit(&engine->memory.needed, memory_order_relaxed);
    if (needed == 0)
        return false;
    (void)nb_error_set(what, NB_CONFLICT,
                       "[store] memory is %lluK, and a model needs %lluK: it is loaded anew for "
                       "every verdict, which takes up to a second; set memory to more than that, "
                       "or to 0",
                       (unsigned long long)(engine->settings.memory >> KIB_BITS),
                       (unsigned long long)(needed >> KIB_BITS) + 1);
    return true;
}

int nb_registry_load(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    struct nb_error why = {0};
    assert(atomic_load(&live->references) > 0); /* the caller has a reference */
    atomic_store_explicit(&live->used, nb_clock_monotonic(), memory_order_relaxed);
    int rc = nb_live_check(live, error);
    if (rc != 0 || atomic_load(&live->loaded))
        return rc;
    pthread_mutex_lock(&live->loading);
    if (!atomic_load(&live->loaded))
        rc = nb_load_model(engine, live, &why);
    if (rc == 0)
        atomic_store(&live->loaded, true);
    pthread_mutex_unlock(&live->loading);
    if (rc == 0)
        note_need(engine, live);
    if (rc == 0 && atomic_load(&live->wants_refit))
        ask_for_refits(engine);
    if (rc == 0)
        nb_refining_ask(engine, live);
    return nb_live_note(live, rc, &why, error);
}

static int not_found(struct nb_string name, struct nb_error *error)
{
    return nb_error_about(
        error,
        nb_error_set(error, NB_NOT_FOUND, "there is no model '%.*s'", (int)name.length, name.bytes),
        "model_not_found", NULL);
}

int nb_registry_find(struct nb_engine *engine, struct nb_string name, bool unsaved,
                     struct nb_live **out, struct nb_error *error)
{
    bool found;
    pthread_rwlock_rdlock(&engine->registry.lock);
    size_t at = position(engine, name, &found);
    struct nb_live *live = found ? engine->registry.models[at] : NULL;
    if (live != NULL)
        atomic_fetch_add(&live->references, 1);
    pthread_rwlock_unlock(&engine->registry.lock);
    if (live == NULL) {
        int rc = nb_check_model_name(name, error);
        return rc != 0 ? rc : not_found(name, error);
    }
    if (!unsaved && !atomic_load(&live->persisted)) {
        nb_registry_release(engine, &live);
        return not_found(name, error);
    }
    *out = live;
    return 0;
}

int nb_registry_acquire(struct nb_engine *engine, struct nb_string name, bool unsaved,
                        struct nb_live **out, struct nb_error *error)
{
    struct nb_live *live = NULL;
    int rc = nb_registry_find(engine, name, unsaved, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_registry_load(engine, live, error);
    if (rc == 0)
        *out = live;
    else
        nb_registry_release(engine, &live);
    return rc;
}

void nb_registry_key_of(struct nb_engine *engine, const char *parent, struct nb_own_key *own)
{
    struct nb_live *live = NULL;
    *own = (struct nb_own_key){0};
    if (parent == NULL || nb_registry_find(engine, nb_string_of(parent), false, &live, NULL) != 0)
        return;
    if (live->own != NULL && live->own->hashes_features)
        *own = *live->own;
    nb_registry_release(engine, &live);
}

/* The caller's reference is taken before other threads can find the model. Otherwise one could find
 * and release it, which would remove it from the registry. */
int nb_registry_make_unsaved(struct nb_engine *engine, struct nb_string name,
                             const struct nb_settings *settings, struct nb_live **out,
                             struct nb_error *error)
{
    struct nb_own_key own;
    char champion[NB_MODEL_NAME_MOST + 1];
    (void)snprintf(champion, sizeof champion, "%.*s",
                   (int)(name.length - settings->is_challenger * (sizeof NB_CHALLENGER_SUFFIX - 1)),
                   name.bytes); /* it fits */
    nb_registry_key_of(engine, settings->is_challenger ? champion : settings->parent, &own);
    struct nb_live *live = nb_live_new(name, 0, &own, &engine->key);
    if (live == NULL)
        return nb_error_no_memory(error);
    atomic_store(&live->used, nb_clock_monotonic());
    atomic_store(&live->references, 2);
    int rc = nb_live_begin(live, settings) != 0 ? nb_error_no_memory(error)
                                                : nb_registry_insert(engine, live, error);
    if (rc == 0)
        *out = live;
    else
        nb_live_free(live);
    return rc;
}

static int make_of(struct nb_engine *engine, struct nb_string name, enum nb_preset preset,
                   struct nb_live **out, struct nb_error *error)
{
    struct nb_settings settings;
    nb_settings_init(&settings, preset);
    int rc = nb_registry_make_unsaved(engine, name, &settings, out, error);
    nb_settings_deinit(&settings);
    return rc;
}

int nb_registry_make(struct nb_engine *engine, struct nb_string name, enum nb_preset preset,
                     struct nb_live **out, struct nb_error *error)
{
    int rc;
    /* Another thread may make the model between the two calls; then that one is used. */
    do {
        rc = nb_registry_acquire(engine, name, true, out, error);
        if (rc == NB_NOT_FOUND && engine->settings.auto_create)
            rc = make_of(engine, name, preset, out, error);
    } while (rc == NB_EXISTS);
    return rc;
}

void nb_registry_release(struct nb_engine *engine, struct nb_live **live)
{
    struct nb_live *l = *live;
    *live = NULL;
    if (l == NULL)
        return;
    note_memory(engine, l);
    if (!atomic_load(&l->persisted) && !atomic_load(&l->removed)) {
        /* An unsaved model without other users was never stored: remove it. */
        bool last;
        bool found;
        pthread_rwlock_wrlock(&engine->registry.lock);
        size_t at = position(engine, nb_live_name(l), &found);
        last = atomic_load(&l->references) == 2 && found && engine->registry.models[at] == l &&
               !atomic_load(&l->persisted);
        if (last)
            remove_at(engine, at);
        pthread_rwlock_unlock(&engine->registry.lock);
        if (last)
            drop_reference(l);
    }
    drop_reference(l);
}

int nb_registry_names(struct nb_engine *engine, struct nb_string after, size_t most, char ***out,
                      size_t *count, bool *more, struct nb_error *error)
{
    bool found;
    *count = 0;
    pthread_rwlock_rdlock(&engine->registry.lock);
    size_t at = after.length == 0 ? 0 : position(engine, after, &found);
    if (after.length > 0 && found)
        at++;
    size_t left = engine->registry.count - at;
    size_t room = left < most ? left : most;
    char **names = calloc(room + 1, sizeof *names);
    for (; names != NULL && at < engine->registry.count && *count < room; at++)
        if (atomic_load(&engine->registry.models[at]->persisted) &&
            (names[*count] = strdup(engine->registry.models[at]->name)) != NULL)
            ++*count;
    *more = at < engine->registry.count;
    pthread_rwlock_unlock(&engine->registry.lock);
    *out = names;
    return names == NULL ? nb_error_no_memory(error) : 0;
}

static bool is_in_use(const struct nb_live *live)
{
    return atomic_load(&live->loaded) && atomic_load(&live->persisted) &&
           !atomic_load(&live->unusable);
}

static struct nb_live *first(struct nb_engine *engine,
                             bool (*is_wanted)(const struct nb_live *live),
                             bool (*matches)(const struct nb_live *live))
{
    struct nb_live *found = NULL;
    pthread_rwlock_rdlock(&engine->registry.lock);
    for (size_t i = 0; found == NULL && i < engine->registry.count; i++) {
        struct nb_live *live = engine->registry.models[i];
        if (is_wanted(live) && !atomic_load(&live->removed) && matches(live))
            found = live;
    }
    if (found != NULL)
        atomic_fetch_add(&found->references, 1);
    pthread_rwlock_unlock(&engine->registry.lock);
    return found;
}

struct nb_live *nb_registry_first(struct nb_engine *engine,
                                  bool (*matches)(const struct nb_live *live))
{
    return first(engine, is_in_use, matches);
}

bool nb_registry_is_older(const struct nb_live *live)
{
    return atomic_load(&live->unusable) == NB_LIVE_UPGRADING && !atomic_load(&live->removed);
}

struct nb_live *nb_registry_first_older(struct nb_engine *engine)
{
    return first(engine, nb_registry_is_older, nb_registry_is_older);
}

struct reading {
    struct nb_engine *engine;
    const struct nb_view *view;
    size_t damaged; /* records */
};

/* ---- records --------------------------------------------------------------------------------- */

static void note_older(struct nb_engine *engine, const struct nb_state_record *state)
{
    atomic_fetch_add(&engine->upgrades.models, 1);
    atomic_fetch_add(&engine->upgrades.left, 1);
    atomic_fetch_add(&engine->upgrades.entries, state->totals.entries);
}

static int read_tail(const struct reading *r, struct nb_live *live, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_string value;
    struct nb_state_record state;
    int rc = nb_store_get(r->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    if (rc == 0 && state.version != NB_DERIVED_VERSION) {
        atomic_store(&live->unusable, NB_LIVE_UPGRADING);
        note_older(r->engine, &state);
    } else if (rc == 0) {
        atomic_store(&live->tail, state.tail);
        atomic_fetch_add(&r->engine->memory.tail, state.tail);
    }
    return rc == NB_NOT_FOUND ? nb_error_set(error, NB_CORRUPT, "its state is missing") : rc;
}

static int list(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    assert(live->number != 0);
    atomic_store(&live->persisted, true);
    int rc = nb_registry_insert(engine, live, error);
    if (rc != 0)
        nb_live_free(live);
    return rc;
}

/* Notes the parent of a model, the only setting that is read before the model is loaded. */
static int note_parent(struct nb_engine *engine, struct nb_live *live, struct nb_string settings)
{
    struct nb_string parent = nb_settings_stored_parent(settings);
    if (parent.length == 0)
        return 0;
    live->parent = nb_string_copy(parent);
    atomic_store(&engine->registry.has_parents, true);
    return live->parent != NULL ? 0 : NB_NO_MEMORY;
}

static int read_record(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_model_record record;
    struct nb_own_key own = {0};
    struct nb_error why;
    (void)table;
    if (!sound || nb_model_record_read(&record, value, NULL) != 0 ||
        nb_own_key_read(&own, record.key, NULL) != 0) {
        r->damaged++;
        return 0;
    }
    struct nb_live *live = nb_live_new(key, record.number, &own, &r->engine->key);
    if (live == NULL)
        return nb_error_no_memory(error);
    if (note_parent(r->engine, live, record.settings) != 0) {
        nb_live_free(live);
        return nb_error_no_memory(error);
    }
    if (read_tail(r, live, &why) != 0)
        nb_live_set_damaged(live, &why);
    return list(r->engine, live, error);
}

/* ---- models whose record is damaged ---------------------------------------------------------- */

static void pass_over(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The sorted numbers of the models in the registry. The caller frees them; NULL: out of memory.
 */
static uint32_t *listed_numbers(const struct nb_engine *engine)
{
    uint32_t *numbers = malloc((engine->registry.count + 1) * sizeof *numbers);
    if (numbers == NULL)
        return NULL;
    for (size_t i = 0; i < engine->registry.count; i++)
        numbers[i] = engine->registry.models[i]->number;
    qsort(numbers, engine->registry.count, sizeof *numbers, by_number);
    return numbers;
}

static int list_damaged(struct nb_engine *engine, const struct nb_surveyed_model *model,
                        struct nb_error *error)
{
    struct nb_error why;
    struct nb_string name = {model->name.bytes, model->name.length};
    struct nb_live *live = nb_live_new(name, model->number, &model->own, &engine->key);
    if (live == NULL)
        return nb_error_no_memory(error);
    (void)nb_error_set(&why, NB_CORRUPT, "the checksum of its record is wrong");
    nb_live_set_damaged(live, &why);
    return list(engine, live, error);
}

/* Adds the models that the survey has found and the registry does not have. Sets *found to their
 * number. */
static int list_missing(struct nb_engine *engine, const struct nb_survey *survey, size_t *found,
                        struct nb_error *error)
{
    size_t count = engine->registry.count;
    uint32_t *numbers = listed_numbers(engine);
    int rc = numbers == NULL ? nb_error_no_memory(error) : 0;
    for (size_t i = 0; rc == 0 && i < survey->model_count; i++) {
        const struct nb_surveyed_model *model = &survey->models[i];
        if (!nb_surveyed_exists(model) ||
            bsearch(&model->number, numbers, count, sizeof *numbers, by_number) != NULL)
            continue;
        rc = list_damaged(engine, model, error);
        ++*found;
    }
    free(numbers);
    return rc;
}

/* A damaged record need not mean that a model is missing: it may be left over from a deleted model.
 */
static int find_missing(const struct reading *r, struct nb_error *error)
{
    struct nb_survey survey;
    size_t found = 0;
    int rc = nb_survey_read(r->view, &survey, pass_over, NULL, error);
    if (rc == 0)
        rc = list_missing(r->engine, &survey, &found, error);
    if (rc == 0 && found < r->damaged && survey.lost > 0)
        rc =
            nb_error_set(error, NB_CORRUPT,
                         "the store is damaged: %zu records of models, and the ledger, which could "
                         "say whose they are; try bayesd --rebuild, or restore a backup",
                         r->damaged);
    nb_survey_deinit(&survey);
    return rc;
}

int nb_roster_read(struct nb_engine *engine, struct nb_error *error)
{
    struct nb_view view;
    struct reading r = {.engine = engine, .view = &view};
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_inspect(&view, NB_TABLE_MODELS, read_record, &r, error);
    if (rc == 0 && r.damaged > 0)
        rc = find_missing(&r, error);
    nb_store_snapshot_end(&view);
    return rc;
}

/* Whatever the setting `memory` is: a model that is unused for longer than IDLE_NANOSECONDS stays
 * in memory only if it is one of the KEPT_MODELS models used last. */
enum { KEPT_MODELS = 64 };
static const uint64_t IDLE_NANOSECONDS = UINT64_C(60000000000);

struct coldness {
    struct nb_live *live; /* referenced */
    uint64_t used;
    size_t memory;
};

static int by_use(const void *a, const void *b)
{
    uint64_t x = ((const struct coldness *)a)->used;
    uint64_t y = ((const struct coldness *)b)->used;
    return (x > y) - (x < y);
}

/* Lists the loaded models, least recently used first, with a reference to each, and sums their
 * memory. The caller frees the list. NULL, with *count 0: out of memory. */
static struct coldness *list_loaded(struct nb_engine *engine, size_t *count, uint64_t *memory)
{
    *count = 0;
    *memory = 0;
    pthread_rwlock_rdlock(&engine->registry.lock);
    size_t loaded = 0;
    for (size_t i = 0; i < engine->registry.count; i++)
        loaded += atomic_load(&engine->registry.models[i]->loaded);
    struct coldness *list = malloc((loaded + 1) * sizeof *list);
    for (size_t i = 0; list != NULL && i < engine->registry.count && *count < loaded; i++) {
        struct nb_live *live = engine->registry.models[i];
        if (!atomic_load(&live->loaded))
            continue;
        atomic_fetch_add(&live->references, 1);
        list[(*count)++] = (struct coldness){.live = live, .used = atomic_load(&live->used)};
    }
    pthread_rwlock_unlock(&engine->registry.lock);
    for (size_t i = 0; i < *count; i++) {
        list[i].memory = nb_live_memory(list[i].live);
        *memory += list[i].memory;
    }
    if (list != NULL)
        qsort(list, *count, sizeof *list, by_use);
    return list;
}

/* Whether a refit of the model is under way or due: the model would have to be loaded again for it.
 */
static bool will_be_fitted(struct nb_engine *engine, const struct nb_live *live)
{
    return atomic_load(&live->wants_refit) && !atomic_load(&live->unusable) &&
           nb_transaction_health(engine, NULL) == 0;
}

/* Nobody else uses the model if there are two references, the registry's and the caller's. */
bool nb_trim_model(struct nb_engine *engine, struct nb_live *live)
{
    assert(atomic_load(&live->references) > 0); /* the caller has a reference */
    struct nb_model *counts = NULL;
    struct nb_published *published = NULL;
    struct nb_near_duplicate_list *near_duplicate_list = NULL;
    struct nb_current_entries *current = NULL;
    struct nb_stack_fit *fit = NULL;
    struct nb_pass *pass = NULL;
    pthread_rwlock_wrlock(&engine->registry.lock);
    bool idle = atomic_load(&live->references) == 2 && atomic_load(&live->persisted) &&
                !will_be_fitted(engine, live);
    if (idle) {
        atomic_store(&live->loaded, false);
        counts = live->counts;
        published = live->published;
        live->counts = NULL;
        live->published = NULL;
        free(live->checkpoint.dirty);
        live->checkpoint.dirty = NULL;
        live->checkpoint.room = 0;
        /* Remove these before another thread may load the model again: loading checks them. */
        near_duplicate_list = live->near_duplicate_list;
        current = live->current;
        fit = live->fit;
        pass = live->pass;
        live->near_duplicate_list = NULL;
        live->current = NULL;
        live->fit = NULL;
        live->pass = NULL;
        nb_live_note_memory(live);
    }
    pthread_rwlock_unlock(&engine->registry.lock);
    if (idle)
        atomic_fetch_sub(&engine->memory.used, atomic_exchange(&live->bytes, 0));
    nb_near_duplicate_list_free(&near_duplicate_list);
    nb_current_entries_free(&current);
    nb_stack_fit_free(&fit);
    free(pass);
    nb_model_free(&counts);
    nb_published_release(&published);
    return idle;
}

void nb_trim_memory(struct nb_engine *engine,
                    int (*save)(struct nb_engine *engine, struct nb_live *live))
{
    size_t count;
    uint64_t memory;
    uint64_t now = nb_clock_monotonic();
    struct coldness *list = list_loaded(engine, &count, &memory);
    memory += nb_log_tables_memory();
    /* An eighth below the setting, so that the next loads do not each cause a trim. */
    uint64_t most = engine->settings.memory - engine->settings.memory / 8;
    bool over_all = engine->settings.memory != 0 && memory > engine->settings.memory;
    for (size_t i = 0; i < count; i++) {
        struct nb_live *live = list[i].live;
        bool over = over_all && memory > most;
        bool idle = count - i > KEPT_MODELS && now - list[i].used > IDLE_NANOSECONDS;
        if ((over || idle) && atomic_load(&live->references) == 2 && save(engine, live) == 0 &&
            nb_trim_model(engine, live))
            memory -= list[i].memory;
        nb_registry_release(engine, &list[i].live);
    }
    free(list);
    nb_store_unmap_pages(engine->store);
}
