/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers questions about models and documents from snapshots of the store; and the engine's
 * statistics.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/label_set.h"
#include "core/base/names.h"
#include "core/bayes/estimate.h"
#include "core/engine/engine.h"
#include "core/ledger/ledger.h"
#include "core/model/model_load.h"
#include "core/model/model_transaction.h"
#include "core/model/parents.h"
#include "core/model/registry.h"
#include "core/writer/remember.h"
#include "core/writer/upkeep.h"

void nb_model_info_deinit(struct nb_model_info *info)
{
    for (size_t i = 0; i < info->label_count; i++)
        free(info->labels[i].label);
    free(info->labels);
    free(info->name);
    free(info->damage);
    nb_settings_deinit(&info->settings);
    *info = (struct nb_model_info){0};
}

struct filling {
    struct nb_model_info *info;
    size_t room;
};

static int fill_label(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct filling *f = user;
    struct nb_model_info *info = f->info;
    struct nb_label_record record;
    (void)key;
    int rc = nb_label_read(&record, value, error);
    if (rc == 0 && record.documents == 0)
        return 0; /* a label without documents is gone, until it gets one */
    if (rc == 0 &&
        nb_array_reserve(&info->labels, &f->room, info->label_count + 1, sizeof *info->labels) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    struct nb_label_info *label = &info->labels[info->label_count];
    *label = (struct nb_label_info){.label = nb_string_copy(record.name),
                                    .documents = record.documents,
                                    .tokens = record.tokens};
    info->label_count += label->label != NULL;
    return label->label == NULL ? nb_error_no_memory(error) : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct nb_label_info *)a)->label,
                  ((const struct nb_label_info *)b)->label);
}

/* Adds the documents and tokens of a set to each of its labels, which are listed in `labels`. */
static int add_set(const struct nb_label_info *set, struct nb_label_info **labels, size_t *count,
                   size_t *room)
{
    struct nb_string rest = nb_string_of(set->label), label;
    while (nb_label_set_next(&rest, &label)) {
        if (nb_array_reserve(labels, room, *count + 1, sizeof **labels) != 0)
            return NB_NO_MEMORY;
        struct nb_label_info *one = &(*labels)[*count];
        *one = (struct nb_label_info){
            .label = nb_string_copy(label), .documents = set->documents, .tokens = set->tokens};
        if (one->label == NULL)
            return NB_NO_MEMORY;
        ++*count;
    }
    return 0;
}

/* Replaces sets of labels by the labels in them. */
static int list_members(struct nb_model_info *info, struct nb_error *error)
{
    struct nb_label_info *labels = NULL;
    size_t count = 0, room = 0, kept = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < info->label_count; i++)
        rc = add_set(&info->labels[i], &labels, &count, &room);
    if (count > 0)
        qsort(labels, count, sizeof *labels, by_name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(labels[i].label, labels[kept - 1].label) != 0) {
            labels[kept++] = labels[i];
            continue;
        }
        labels[kept - 1].documents += labels[i].documents;
        labels[kept - 1].tokens += labels[i].tokens;
        free(labels[i].label);
    }
    for (size_t i = 0; i < info->label_count; i++)
        free(info->labels[i].label);
    free(info->labels);
    info->labels = labels;
    info->label_count = kept;
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static bool read_drift(struct nb_live *live, struct nb_drift_figures *figures)
{
    struct nb_drift *drift = atomic_load(&live->drift);
    return drift != NULL && nb_drift_compare(drift, figures);
}

/* Reads the state after the last commit from a snapshot, without loading the model. */
static int read_model(const struct nb_view *view, struct nb_live *live, struct nb_model_info *info,
                      struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_string value;
    struct nb_state_record state = {0};
    struct filling filling = {.info = info};
    info->has_drift = read_drift(live, &info->drift);
    int rc = nb_load_settings_in(view, live, &info->settings, error);
    if (rc == 0)
        rc = nb_store_get(view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return rc; /* deleted meanwhile */
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    if (rc == 0)
        rc = nb_store_scan(view, NB_TABLE_LABELS, nb_store_key_string(&key), key.length, fill_label,
                           &filling, error);
    info->documents = state.totals.current - state.totals.unlabelled;
    info->unlabelled = state.totals.unlabelled;
    info->vocabulary = state.vocabulary;
    if (info->label_count > 0)
        qsort(info->labels, info->label_count, sizeof *info->labels, by_name);
    if (rc == 0 && nb_settings_are_several(&info->settings))
        rc = list_members(info, error);
    return rc;
}

/* For a damaged model, fills in the name alone. Damage found here marks the model. */
static int fill_info(const struct nb_view *view, struct nb_live *live, struct nb_model_info *info,
                     struct nb_error *error)
{
    struct nb_error why = {0};
    *info = (struct nb_model_info){.name = strdup(live->name)};
    int rc = info->name == NULL ? nb_error_no_memory(&why) : nb_live_check(live, &why);
    if (rc == 0)
        rc = read_model(view, live, info, &why);
    rc = nb_live_note(live, rc, &why, error);
    if (rc == 0)
        return 0;
    nb_model_info_deinit(info);
    if (rc != NB_DAMAGED)
        return rc;
    bool is_upgrading = live->damage == NULL;
    const char *reason =
        is_upgrading ? "its counts are computed anew for this version" : live->damage;
    *info = (struct nb_model_info){.name = strdup(live->name),
                                   .is_damaged = true,
                                   .is_upgrading = is_upgrading,
                                   .damage = strdup(reason)};
    if (info->name != NULL && info->damage != NULL)
        return 0;
    nb_model_info_deinit(info);
    return nb_error_no_memory(error);
}

static int one_model(struct nb_engine *engine, const struct nb_view *view, struct nb_string name,
                     struct nb_model_info *info, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_find(engine, name, false, &live, error);
    if (rc != 0)
        return rc;
    rc = fill_info(view, live, info, error);
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_model(struct nb_engine *engine, struct nb_string model, struct nb_model_info *info,
                    struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = one_model(engine, &view, model, info, error);
    nb_store_snapshot_end(&view);
    return rc;
}

static int fill_infos(struct nb_engine *engine, char *const *names, size_t name_count,
                      struct nb_model_info *infos, size_t *filled, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < name_count; i++) {
        assert(*filled <= i);
        struct nb_string name = {names[i], strlen(names[i])};
        rc = one_model(engine, &view, name, &infos[*filled], error);
        *filled += rc == 0;
        if (rc == NB_NOT_FOUND)
            rc = 0; /* deleted meanwhile */
    }
    nb_store_snapshot_end(&view);
    return rc;
}

/* Fills in the data of the named models, and takes ownership of the names. Sets *last to the last
 * name, which the caller owns. */
static int take_names(struct nb_engine *engine, char **names, size_t name_count,
                      struct nb_model_info **out, size_t *count, char **last,
                      struct nb_error *error)
{
    size_t filled = 0;
    struct nb_model_info *infos = calloc(name_count + 1, sizeof *infos);
    int rc = infos == NULL ? nb_error_no_memory(error)
                           : fill_infos(engine, names, name_count, infos, &filled, error);
    free(*last);
    *last = name_count > 0 ? names[name_count - 1] : NULL;
    for (size_t i = 0; i + 1 < name_count; i++)
        free(names[i]);
    free(names);
    if (rc == 0) {
        *out = infos;
        *count = filled;
        return 0;
    }
    for (size_t i = 0; i < filled; i++)
        nb_model_info_deinit(&infos[i]);
    free(infos);
    return rc;
}

/* All models of a page may have been deleted meanwhile: then the next page follows. */
int nb_engine_models(struct nb_engine *engine, struct nb_string after, size_t limit,
                     struct nb_model_info **out, size_t *count, bool *more, struct nb_error *error)
{
    struct nb_model_info *infos = NULL;
    char **names, *last = NULL;
    size_t name_count;
    int rc;
    *count = 0;
    do {
        free(infos);
        infos = NULL;
        rc = nb_registry_names(engine, after, limit, &names, &name_count, more, error);
        if (rc == 0)
            rc = take_names(engine, names, name_count, &infos, count, &last, error);
        after = nb_string_of(last);
    } while (rc == 0 && *more && *count == 0);
    free(last);
    if (rc == 0)
        *out = infos;
    return rc;
}

bool nb_engine_is_several(struct nb_engine *engine, struct nb_string model)
{
    struct nb_model_info info;
    if (nb_engine_model(engine, model, &info, NULL) != 0)
        return false;
    bool is = nb_settings_are_several(&info.settings);
    nb_model_info_deinit(&info);
    return is;
}

void nb_document_info_deinit(struct nb_document_info *info)
{
    free(info->label);
    free(info->source);
    *info = (struct nb_document_info){0};
}

/* The names of labels come from the snapshot. */
static int read_label(const struct nb_view *view, uint32_t model, uint32_t label, char **name,
                      struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_number(model, label);
    struct nb_string value;
    struct nb_label_record record;
    int rc = nb_store_get(view, NB_TABLE_LABELS, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: an entry's label is unknown");
    if (rc == 0)
        rc = nb_label_read(&record, value, error);
    if (rc != 0)
        return rc;
    *name = nb_string_copy(record.name);
    return *name == NULL ? nb_error_no_memory(error) : 0;
}

static int read_document(const struct nb_view *view, const struct nb_live *live,
                         struct nb_string id, struct nb_document_info *info, struct nb_error *error)
{
    struct nb_entry entry = {0};
    int rc = nb_ledger_find(view, live->number, id, &entry, error);
    if (rc == NB_NOT_FOUND)
        rc = nb_error_about(error,
                            nb_error_set(error, rc, "model '%s' has no document with the id '%.*s'",
                                         live->name, (int)id.length, id.bytes),
                            "document_not_found", "id");
    if (rc == 0 && entry.change.label != NB_NO_LABEL)
        rc = read_label(view, live->number, entry.change.label, &info->label, error);
    if (rc == 0) {
        info->source = nb_string_copy(entry.change.source);
        info->learned = entry.change.time;
        info->tokens = entry.change.tokens;
        info->entry = entry.number;
        if (info->source == NULL)
            rc = nb_error_no_memory(error);
    }
    nb_entry_deinit(&entry);
    return rc;
}

int nb_engine_document(struct nb_engine *engine, struct nb_string model, struct nb_string id,
                       struct nb_document_info *info, struct nb_error *error)
{
    struct nb_live *live;
    struct nb_view view;
    *info = (struct nb_document_info){0};
    int rc = nb_check_id(id, error);
    if (rc == 0)
        rc = nb_registry_find(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_live_check(live, error);
    if (rc == 0)
        rc = nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        struct nb_error why = {0};
        rc = read_document(&view, live, id, info, &why);
        nb_store_snapshot_end(&view);
        rc = nb_live_note(live, rc, &why, error);
    }
    if (rc != 0)
        nb_document_info_deinit(info);
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_ready(struct nb_engine *engine, struct nb_error *error)
{
    return nb_transaction_health(engine, error);
}

bool nb_engine_met_damage(struct nb_engine *engine, struct nb_error *what)
{
    return nb_store_met_damage(engine->store, what);
}

bool nb_engine_met_journal(struct nb_engine *engine, struct nb_error *what, bool *is_cut)
{
    return nb_store_met_journal(engine->store, what, is_cut);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_loaded(struct nb_live *live)
{
    return atomic_load(&live->persisted) && atomic_load(&live->loaded);
}

static bool is_damaged(struct nb_live *live)
{
    return atomic_load(&live->unusable) == NB_LIVE_DAMAGED;
}

static int list_names(struct nb_engine *engine, bool (*wanted)(struct nb_live *live), size_t most,
                      char ***out, size_t *count)
{
    size_t filled = 0;
    pthread_rwlock_rdlock(&engine->registry.lock);
    size_t room = engine->registry.count < most ? engine->registry.count : most;
    char **names = calloc(room + 1, sizeof *names);
    for (size_t i = 0; names != NULL && i < engine->registry.count && filled < room; i++)
        if (wanted(engine->registry.models[i]) &&
            (names[filled] = strdup(engine->registry.models[i]->name)) != NULL)
            filled++;
    pthread_rwlock_unlock(&engine->registry.lock);
    *out = names;
    *count = filled;
    return names != NULL ? 0 : NB_NO_MEMORY;
}

bool nb_engine_suspected(struct nb_engine *engine, struct nb_string model, uint64_t *count)
{
    struct nb_live *live;
    if (nb_registry_find(engine, model, false, &live, NULL) != 0)
        return false;
    uint64_t suspected = atomic_load(&live->suspected);
    nb_registry_release(engine, &live);
    *count = suspected - (suspected > 0);
    return suspected > 0;
}

bool nb_engine_drift(struct nb_engine *engine, struct nb_string model,
                     struct nb_drift_figures *figures)
{
    struct nb_live *live;
    if (nb_registry_find(engine, model, false, &live, NULL) != 0)
        return false;
    bool has_drift = read_drift(live, figures);
    nb_registry_release(engine, &live);
    return has_drift;
}

bool nb_engine_is_challenger(struct nb_engine *engine, struct nb_string model)
{
    struct nb_model_info info;
    if (!nb_may_be_challenger(model) || nb_engine_model(engine, model, &info, NULL) != 0)
        return false;
    bool is_challenger = !info.is_damaged && info.settings.is_challenger;
    nb_model_info_deinit(&info);
    return is_challenger;
}

uint32_t nb_engine_model_identity(struct nb_engine *engine, struct nb_string model)
{
    struct nb_live *live;
    if (nb_registry_find(engine, model, false, &live, NULL) != 0)
        return 0;
    uint32_t number = live->number;
    nb_registry_release(engine, &live);
    return number;
}

int nb_engine_loaded_models(struct nb_engine *engine, size_t most, char ***names, size_t *count)
{
    return list_names(engine, is_loaded, most, names, count);
}

int nb_engine_damaged_models(struct nb_engine *engine, size_t most, char ***names, size_t *count)
{
    return list_names(engine, is_damaged, most, names, count);
}

/* 0 if the store cannot be read now. */
static uint64_t free_bytes(struct nb_engine *engine)
{
    struct nb_view view;
    uint64_t bytes = 0;
    if (nb_store_snapshot(engine->store, &view, NULL) != 0)
        return 0;
    if (nb_store_free_bytes(&view, &bytes, NULL) != 0)
        bytes = 0;
    nb_store_snapshot_end(&view);
    return bytes;
}

bool nb_engine_is_upgrading(struct nb_engine *engine)
{
    return atomic_load(&engine->upgrades.left) > 0;
}

void nb_engine_statistics(struct nb_engine *engine, struct nb_engine_statistics *s)
{
    struct nb_remember_figures figures;
    *s = (struct nb_engine_statistics){0};
    pthread_rwlock_rdlock(&engine->registry.lock);
    for (size_t i = 0; i < engine->registry.count; i++) {
        struct nb_live *live = engine->registry.models[i];
        s->models += atomic_load(&live->persisted);
        s->models_with_parent += live->parent != NULL;
        s->models_damaged += atomic_load(&live->unusable) == NB_LIVE_DAMAGED;
        if (!atomic_load(&live->loaded))
            continue;
        nb_model_read_lock(live->counts);
        s->models_loaded++;
        s->refits += atomic_load(&live->wants_refit);
        s->documents += nb_model_documents_all(live->counts);
        s->unlabelled += atomic_load(&live->unlabelled);
        s->vocabulary += nb_model_vocabulary(live->counts, NB_ALL_TOKENS);
        nb_model_unlock(live->counts);
        s->memory += nb_live_memory(live);
    }
    pthread_rwlock_unlock(&engine->registry.lock);
    s->memory += nb_log_tables_memory();
    s->upgraded_models = atomic_load(&engine->upgrades.models);
    s->upgrades_left = atomic_load(&engine->upgrades.left);
    s->upgrade_entries = atomic_load(&engine->upgrades.entries);
    s->upgrade_done = atomic_load(&engine->upgrades.done);
    s->replay_features = atomic_load(&engine->memory.tail);
    struct nb_counters *c = &engine->counters;
    s->learned = atomic_load(&c->learned);
    s->unchanged = atomic_load(&c->unchanged);
    s->relabelled = atomic_load(&c->relabelled);
    s->updated = atomic_load(&c->updated);
    s->forgotten = atomic_load(&c->forgotten);
    s->features_dropped = atomic_load(&c->features_dropped);
    s->aged = atomic_load(&c->aged);
    s->quarantined = atomic_load(&c->quarantined);
    s->near_duplicates = atomic_load(&c->near_duplicates);
    s->stored = atomic_load(&c->stored);
    nb_remember_count(engine, &figures);
    s->remembered = figures.remembered;
    s->remember_dropped = figures.dropped;
    s->remember_waiting = figures.waiting;
    s->failed = atomic_load(&c->failed);
    s->tokens_learned = atomic_load(&c->tokens_learned);
    s->commits = atomic_load(&c->commits);
    s->commit_nanoseconds = atomic_load(&c->commit_nanoseconds);
    s->commit_changes = atomic_load(&c->commit_changes);
    s->commit_failures = atomic_load(&c->commit_failures);
    s->queued = atomic_load(&c->queued);
    nb_store_sizes(engine->store, &s->store_bytes, &s->map_bytes);
    nb_store_room(engine->store, &s->disk_bytes, &s->disk_left);
    s->store_free = free_bytes(engine);
}

void nb_engine_traffic(struct nb_engine *engine, struct nb_engine_traffic *traffic)
{
    _Static_assert(sizeof traffic->slots / sizeof *traffic->slots == NB_TRAFFIC_SLOTS, "a day");
    traffic->seconds = NB_TRAFFIC_SECONDS;
    traffic->count = NB_TRAFFIC_SLOTS;
    traffic->from = nb_traffic_list(engine, traffic->slots);
}

bool nb_engine_has_model(struct nb_engine *engine, struct nb_string model)
{
    struct nb_live *live;
    bool has = nb_registry_find(engine, model, false, &live, NULL) == 0;
    if (has)
        nb_registry_release(engine, &live);
    return has;
}

int nb_engine_load(struct nb_engine *engine, struct nb_string model, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_parent_chain chain = {.count = 0};
    rc = nb_parent_chain_begin(&chain, engine, live, error);
    nb_parent_chain_deinit(&chain);
    nb_registry_release(engine, &live);
    return rc;
}
