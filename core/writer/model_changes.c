/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and deletes models, and changes their settings, also for a document with new fields. These
 * are tasks of the writer's thread, so they are done in order with the changes of documents. Counts
 * are loaded only where pairs of values need them, so that a damaged model can be changed and
 * deleted.
 */
#include "core/writer/model_changes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/ledger/ledger.h"
#include "core/model/checkpoint.h"
#include "core/model/drift.h"
#include "core/model/model_load.h"
#include "core/model/model_transaction.h"
#include "core/model/parents.h"
#include "core/model/refit.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/recalibrate.h"
#include "core/writer/submit.h"
#include "core/writer/writer.h"

/* Updates the stored state of a model that is not loaded: only what the new entry changes. */
static int touch_cold_state(struct nb_engine *engine, const struct nb_view *view,
                            struct nb_model_entry *task, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(task->live->number);
    struct nb_string value;
    struct nb_state_record state;
    int rc = nb_store_get(view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    /* A damaged record stays as it is: its model is marked damaged. */
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT)
        return 0;
    if (rc != 0)
        return rc;
    state.last = task->number;
    state.tail++;
    state.totals.entries++;
    return nb_put_state(engine, view, task->live, &state, error);
}

int nb_model_entry_touch(struct nb_engine *engine, const struct nb_view *view,
                         struct nb_model_entry *task, struct nb_error *error)
{
    struct nb_live *live = task->live;
    assert(task->number != 0 && live->number != 0);
    if (!atomic_load(&live->loaded))
        return touch_cold_state(engine, view, task, error);
    struct nb_state_record state = nb_checkpoint_state(live, task->number);
    state.tail++;
    return nb_put_state(engine, view, live, &state, error);
}

int nb_model_entry_append(struct nb_engine *engine, struct nb_view *view,
                          struct nb_model_entry *task, struct nb_error *error)
{
    struct nb_live *live = task->live;
    struct nb_ledger_totals *totals = &live->checkpoint.totals;
    struct nb_buffer scratch = {0};
    int rc = 0;
    *totals = task->totals;
    if (live->number == 0)
        rc = nb_serials_model(&engine->serials, view, &live->number, error);
    task->change.model = live->number;
    task->change.time = nb_stream_states_time(engine);
    task->number = nb_serials_entry(&engine->serials);
    if (rc == 0)
        rc = nb_ledger_append(view, task->number, &task->change, totals, &scratch, error);
    nb_buffer_deinit(&scratch);
    return rc;
}

void nb_model_entry_note(struct nb_engine *engine, const struct nb_model_entry *task)
{
    struct nb_live *live = task->live;
    assert(task->number > live->checkpoint.last);
    live->checkpoint.last = task->number;
    live->history.at = 0; /* the settings may have changed */
    struct nb_drift *drift = atomic_load(&live->drift);
    if (drift != NULL)
        nb_drift_reset(drift); /* later verdicts may differ from earlier ones */
    if (atomic_load(&live->loaded))
        nb_checkpoint_note(engine, live, 1);
}

struct put {
    struct nb_string name, source;
    struct nb_settings settings;
    char *parent; /* owned: the name in the settings; NULL: none */
    bool only_new;
    bool created;
};

static int write_put(struct nb_engine *engine, struct nb_view *view, void *argument,
                     struct nb_error *error)
{
    struct nb_model_entry *task = argument;
    assert(task->settings != NULL);
    if (!atomic_load(&task->live->persisted))
        task->live->number = 0; /* this may be a second try */
    int rc = nb_model_entry_append(engine, view, task, error);
    if (rc == 0)
        rc = nb_put_model(engine, view, task->live, task->settings, error);
    return rc != 0 ? rc : nb_model_entry_touch(engine, view, task, error);
}

/* Returns the number of documents of a persisted model, including those without a label. The number
 * is unknown for a damaged model, which counts as having some. */
static uint64_t documents_of(struct nb_engine *engine, struct nb_live *live)
{
    struct nb_view view;
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_string value;
    struct nb_state_record state = {.totals = {.current = 1}};
    if (atomic_load(&live->loaded))
        return nb_model_documents_all(live->counts) + atomic_load(&live->unlabelled);
    if (nb_store_snapshot(engine->store, &view, NULL) != 0)
        return 1;
    if (nb_store_get(&view, NB_TABLE_STATE, nb_store_key_string(&key), &value, NULL) == 0)
        (void)nb_state_read(&state, value, NULL);
    nb_store_snapshot_end(&view);
    return state.totals.current;
}

/* The tokenizer's settings are fixed with the first document; its version is that of the counts. */
static int check_existing(struct nb_engine *engine, struct put *put, struct nb_live *live,
                          struct nb_error *error)
{
    struct nb_settings old;
    struct nb_error why = {0};
    if (put->only_new)
        return nb_error_about(error,
                              nb_error_set(error, NB_CONFLICT, "the model '%s' exists", live->name),
                              "already_exists", NULL);
    int rc = nb_load_settings(engine, live, &old, &why);
    if (rc != 0) /* it is listed: a record that is not found is damaged */
        return nb_live_note(live, rc == NB_NOT_FOUND ? NB_CORRUPT : rc, &why, error);
    uint64_t documents = documents_of(engine, live);
    if (old.tokenizer_fields != put->settings.tokenizer_fields && documents > 0)
        rc = nb_error_set(error, NB_CONFLICT,
                          "the model '%s' has documents: `tokenizer` (also as part of a `preset`) "
                          "is fixed with the first one",
                          live->name);
    if (rc == 0 && old.label_set != put->settings.label_set && documents > 0)
        rc = nb_error_set(error, NB_CONFLICT,
                          "the model '%s' has documents: `label_set` is fixed with the first one",
                          live->name);
    if (rc == 0 && !nb_settings_keep_attributes(&put->settings, &old))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the model '%s' has other `fields`: fields can be added, and those that "
                          "there are stay, with their kinds, so name all of them together with "
                          "the new ones",
                          live->name);
    nb_settings_set_tokenizer(&put->settings, documents > 0 ? &old : NULL);
    nb_settings_deinit(&old);
    return rc;
}

/* Returns the model of this name. If the store has none, the model is unsaved. */
static int find_or_make(struct nb_engine *engine, struct put *put, struct nb_live **live,
                        struct nb_error *error)
{
    int rc;
    nb_settings_set_tokenizer(&put->settings, NULL);
    /* A trainer may make a model of this name between the two calls. */
    do {
        rc = nb_registry_find(engine, put->name, true, live, error);
        if (rc == NB_NOT_FOUND)
            rc = nb_registry_make_unsaved(engine, put->name, &put->settings, live, error);
        else if (rc == 0 && atomic_load(&(*live)->persisted))
            rc = check_existing(engine, put, *live, error);
    } while (rc == NB_EXISTS);
    return rc;
}

/* Returns whether the model is not loaded. If so, `loading` is held, so that threads that want to
 * load the model wait and read the result of the transaction. Only the writer unloads models, so a
 * loaded model stays loaded. */
static bool lock_cold(struct nb_live *live)
{
    if (atomic_load(&live->loaded))
        return false;
    pthread_mutex_lock(&live->loading);
    if (!atomic_load(&live->loaded))
        return true;
    pthread_mutex_unlock(&live->loading);
    return false;
}

/* Stores the settings, and publishes them if the model is loaded: then it takes ownership of
 * `published`. */
static int store_put(struct nb_engine *engine, struct put *put, struct nb_live *live,
                     struct nb_string stored, struct nb_published **published,
                     struct nb_error *error)
{
    bool is_new = !atomic_load(&live->persisted);
    struct nb_buffer key = {0};
    if (is_new && nb_live_write_key(live, &key) != 0)
        return nb_error_no_memory(error);
    struct nb_model_entry task = {.live = live,
                                  .totals = live->checkpoint.totals,
                                  .settings = &put->settings,
                                  .change = {.kind = is_new ? NB_CHANGE_CREATE : NB_CHANGE_SETTINGS,
                                             .source = put->source,
                                             .name = is_new ? put->name : (struct nb_string){"", 0},
                                             .settings = stored,
                                             .key = nb_buffer_string(&key)}};
    int rc = nb_transaction(engine, 0, write_put, &task, error);
    nb_buffer_deinit(&key);
    if (rc != 0) {
        live->checkpoint.totals = task.totals;
        if (is_new)
            live->number = 0; /* other threads may otherwise read the number of the failed try */
        return rc;
    }
    put->created = is_new;
    if (*published != NULL) {
        nb_live_publish_others(live, *published);
        nb_refining_ask(engine, live);
        nb_refit_note(live);
        if (atomic_load(&live->wants_refit) || put->settings.calibration != NB_CALIBRATION_NONE)
            atomic_store(&engine->queue.refits, true);
    } else {
        nb_live_drop_refined(live);
    }
    *published = NULL;
    atomic_store(&live->persisted, true);
    nb_model_entry_note(engine, &task);
    return 0;
}

/* Bound of documents times fields squared: the writer counts so many pairs, in about a second,
 * while others wait. */
enum { MOST_PAIRED = 1 << 25 };

static int check_work(const struct nb_live *live, const struct nb_settings *settings,
                      struct nb_error *error)
{
    double fields = (double)settings->attribute_count;
    if (settings->structure == NB_STRUCTURE_NAIVE ||
        (double)nb_model_documents_all(live->counts) * fields * fields <= MOST_PAIRED)
        return 0;
    return nb_error_set(error, NB_CONFLICT,
                        "structure: the model '%s' has learned too many documents to become "
                        "\"tan\"; a new model can have it from the start",
                        live->name);
}

/* Counts the pairs of values that the settings need. They later replace the pairs of the loaded
 * model. */
static int put_pairs(struct nb_engine *engine, struct put *put, struct nb_live *live,
                     struct nb_pairs **pairs, struct nb_error *error)
{
    struct nb_view view;
    int rc = check_work(live, &put->settings, error);
    if (rc == 0)
        rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_ledger_pairs(&view, live->number, live->counts, &put->settings, pairs, error);
    nb_store_snapshot_end(&view);
    return rc;
}

static int put_settings(struct nb_engine *engine, struct put *put, struct nb_live *live,
                        struct nb_error *error)
{
    struct nb_buffer stored = {0};
    struct nb_published *published = NULL;
    struct nb_pairs *pairs = NULL;
    bool is_cold = lock_cold(live);
    int rc = nb_settings_write(&put->settings, &stored) == 0 ? 0 : nb_error_no_memory(error);
    if (rc == 0 && !is_cold) {
        published = nb_published_next(&put->settings, live->key, live->published);
        rc = published == NULL ? nb_error_no_memory(error)
                               : put_pairs(engine, put, live, &pairs, error);
    }
    if (rc == 0)
        rc = store_put(engine, put, live, nb_buffer_string(&stored), &published, error);
    if (rc == 0 && !is_cold)
        nb_model_put_pairs(live->counts, &pairs);
    if (is_cold)
        pthread_mutex_unlock(&live->loading);
    if (rc == 0) /* takes the registry's lock, which comes before `loading` */
        nb_parents_note(engine, live, &put->parent);
    nb_published_release(&published);
    nb_pairs_free(&pairs);
    nb_buffer_deinit(&stored);
    return rc;
}

/* Only for a loaded model is it known whether pairs can be counted. */
static int load_for_pairs(struct nb_engine *engine, struct put *put, struct nb_live *live,
                          struct nb_error *error)
{
    bool counts = put->settings.structure != NB_STRUCTURE_NAIVE && atomic_load(&live->persisted);
    return counts ? nb_registry_load(engine, live, error) : 0;
}

static int put_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct put *put = argument;
    struct nb_live *live = NULL;
    int rc = find_or_make(engine, put, &live, error);
    if (rc == 0)
        rc = nb_parents_check(engine, live, &put->settings, error);
    if (rc == 0 && put->parent != NULL)
        rc = nb_parents_check_labels(engine, live, put->parent, error);
    if (rc == 0)
        rc = load_for_pairs(engine, put, live, error);
    if (rc == 0)
        rc = put_settings(engine, put, live, error);
    nb_registry_release(engine, &live);
    return rc;
}

/* Publishes the change of a model, with the settings. `created` may be NULL. */
static int ask_with(struct nb_engine *engine, struct nb_relayed_change *relayed_change,
                    const struct nb_settings *settings, bool *created, struct nb_error *error)
{
    struct nb_buffer stored = {0};
    struct nb_relayed_change_done done;
    int rc = nb_settings_write(settings, &stored) == 0 ? 0 : nb_error_no_memory(error);
    relayed_change->settings = nb_buffer_string(&stored);
    if (rc == 0)
        rc = nb_relay_ask(engine, relayed_change, &done, error);
    nb_buffer_deinit(&stored);
    if (rc == 0 && created != NULL)
        *created = done.created;
    return rc;
}

int nb_engine_put_model(struct nb_engine *engine, struct nb_string model,
                        const struct nb_settings *settings, bool only_new, struct nb_string source,
                        bool *created, struct nb_error *error)
{
    struct put put = {.name = model, .source = source, .only_new = only_new};
    int rc = nb_check_model_name(model, error);
    if (rc == 0)
        rc = nb_check_source(source, error);
    if (rc == 0)
        rc = nb_settings_check(settings, error);
    if (rc == 0 && nb_settings_copy(&put.settings, settings) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0 && nb_relay_is_wanted(engine)) {
        struct nb_relayed_change relayed_change = {
            .kind = NB_RELAYED_CHANGE_PUT, .model = model, .source = source, .only_new = only_new};
        rc = nb_registry_check_room(engine, model, error);
        if (rc == 0)
            rc = ask_with(engine, &relayed_change, settings, created, error);
        nb_settings_deinit(&put.settings);
        return rc;
    }
    if (rc != 0)
        return rc;
    put.parent = settings->parent != NULL ? strdup(settings->parent) : NULL;
    rc = settings->parent != NULL && put.parent == NULL
             ? nb_error_no_memory(error)
             : nb_writer_run(engine, put_task, &put, error);
    free(put.parent);
    nb_settings_deinit(&put.settings);
    if (rc == 0)
        *created = put.created;
    return rc;
}

/* ---- fields of documents --------------------------------------------------------------------- */

struct adding {
    struct nb_live *live;
    struct nb_values values;
    struct nb_string source;
    const struct nb_settings *settings; /* name the fields instead of `values`; or NULL */
};

/* Compares with the attributes that exist when the writer runs the task. */
static int add_new(struct nb_values values, struct nb_settings *settings, struct nb_error *error)
{
    for (size_t i = 0; i < values.count; i++) {
        const struct nb_value *value = &values.values[i];
        const struct nb_attributes all = nb_settings_attributes(settings);
        if (nb_attribute_find(all, value->name) == all.count &&
            nb_settings_add_attribute(settings, value->name, (int)nb_attribute_kind_of(value)) != 0)
            return nb_error_no_memory(error);
    }
    struct nb_attributes all = nb_settings_attributes(settings);
    all.is_open = false;
    int rc = nb_settings_check(settings, error);
    return rc != 0 ? rc : nb_values_check(values, all, error);
}

/* Adds to the settings the fields of the values in `adding`, or of its settings. */
static int add_to(const struct adding *adding, struct nb_settings *settings, struct nb_error *error)
{
    const struct nb_settings *from = adding->settings;
    if (from == NULL)
        return add_new(adding->values, settings, error);
    for (size_t i = 0; i < from->attribute_count; i++) {
        const struct nb_attribute *a = &from->attributes[i];
        const struct nb_attributes all = nb_settings_attributes(settings);
        if (nb_attribute_find(all, nb_string_of(a->name)) == all.count &&
            nb_settings_add_attribute(settings, nb_string_of(a->name), a->kind) != 0)
            return nb_error_no_memory(error);
    }
    return nb_settings_check(settings, error);
}

static int add_fields_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct adding *adding = argument;
    struct nb_live *live = adding->live;
    const struct nb_settings *old = &live->published->settings; /* the writer publishes */
    struct put put = {.name = nb_live_name(live), .source = adding->source};
    if (atomic_load(&live->removed)) /* another model may have its name by now */
        return nb_error_set(error, NB_NOT_FOUND,
                            "the model was deleted or replaced while the document waited");
    assert(atomic_load(&live->loaded));
    int rc = nb_settings_copy(&put.settings, old) == 0 ? 0 : nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    put.parent = old->parent != NULL ? strdup(old->parent) : NULL;
    rc = add_to(adding, &put.settings, error);
    if (rc == 0 && old->parent != NULL && put.parent == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_parents_check(engine, live, &put.settings, error);
    if (rc == 0 && put.settings.attribute_count > old->attribute_count)
        rc = put_settings(engine, &put, live, error);
    free(put.parent);
    nb_settings_deinit(&put.settings);
    return rc;
}

/* Asks for the new fields on all nodes: the change carries the present settings together with the
 * new fields. */
static int ask_for_fields(struct nb_engine *engine, const struct adding *adding,
                          struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(adding->live);
    struct nb_relayed_change relayed_change = {.kind = NB_RELAYED_CHANGE_FIELDS,
                                               .model = nb_live_name(adding->live),
                                               .source = adding->source};
    struct nb_settings settings;
    int rc = nb_settings_copy(&settings, &published->settings) == 0 ? 0 : nb_error_no_memory(error);
    nb_published_release(&published);
    if (rc != 0)
        return rc;
    rc = add_new(adding->values, &settings, error);
    if (rc == 0)
        rc = ask_with(engine, &relayed_change, &settings, NULL, error);
    nb_settings_deinit(&settings);
    return rc;
}

/* Fields are never removed, so the second nb_batch_add finds them. */
int nb_batch_train(struct nb_batch *batch, const struct nb_document *document,
                   struct nb_string label, struct nb_string id, struct nb_string source,
                   struct nb_error *error)
{
    bool needs_fields;
    int rc = nb_batch_add(batch, document, label, id, source, &needs_fields, error);
    if (rc != 0 || !needs_fields)
        return rc;
    struct adding adding = {batch->live, document->values, source, NULL};
    rc = nb_relay_is_wanted(batch->engine)
             ? ask_for_fields(batch->engine, &adding, error)
             : nb_writer_run(batch->engine, add_fields_task, &adding, error);
    if (rc != 0)
        return rc;
    rc = nb_batch_add(batch, document, label, id, source, &needs_fields, error);
    assert(!needs_fields);
    return rc;
}

int nb_engine_put_fields(struct nb_engine *engine, struct nb_string model,
                         const struct nb_settings *settings, struct nb_string source,
                         struct nb_error *error)
{
    struct adding adding = {.source = source, .settings = settings};
    int rc = nb_registry_acquire(engine, model, true, &adding.live, error);
    if (rc == 0)
        rc = nb_writer_run(engine, add_fields_task, &adding, error);
    nb_registry_release(engine, &adding.live);
    return rc;
}

/* ---- delete ---------------------------------------------------------------------------------- */

struct named {
    struct nb_string name, source;
};

static int write_delete(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct nb_model_entry *task = argument;
    int rc = nb_store_delete(view, NB_TABLE_MODELS, nb_live_name(task->live), error);
    assert(task->live->number != 0);
    if (rc == 0)
        rc = nb_model_entry_append(engine, view, task, error);
    return rc != 0 ? rc : nb_put_orphan(view, task->live->number, error);
}

/* No thread loads the model meanwhile: the checkpoint is the writer's. A thread that uses the model
 * afterwards finds it deleted. */
static int store_delete(struct nb_engine *engine, const struct named *named, struct nb_live *live,
                        struct nb_error *error)
{
    bool is_cold = lock_cold(live);
    struct nb_model_entry task = {
        .live = live,
        .totals = live->checkpoint.totals,
        .change = {.kind = NB_CHANGE_DELETE, .source = named->source, .name = named->name}};
    int rc = nb_transaction(engine, 0, write_delete, &task, error);
    if (rc == 0)
        atomic_store(&live->removed, true);
    if (is_cold)
        pthread_mutex_unlock(&live->loading);
    return rc;
}

static int delete_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct named *named = argument;
    struct nb_live *live;
    int rc = nb_registry_find(engine, named->name, false, &live, error);
    if (rc != 0)
        return rc;
    rc = nb_parents_check_childless(engine, live, "it cannot be deleted", error);
    if (rc == 0)
        rc = store_delete(engine, named, live, error);
    if (rc == 0) {
        nb_registry_remove(engine, live);
        nb_checkpoint_forget(engine, live);
        engine->purge = true;
    }
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_delete_model(struct nb_engine *engine, struct nb_string model,
                           struct nb_string source, struct nb_error *error)
{
    struct named named = {.name = model, .source = source};
    int rc = nb_check_source(source, error);
    if (rc == 0 && nb_relay_is_wanted(engine)) {
        struct nb_relayed_change relayed_change = {
            .kind = NB_RELAYED_CHANGE_DELETE, .model = model, .source = source};
        return nb_relay_ask(engine, &relayed_change, NULL, error);
    }
    return rc != 0 ? rc : nb_writer_run(engine, delete_task, &named, error);
}

/* Waits until the model needs no more refit. */
static int wait_for(struct nb_engine *engine, struct nb_live *live, bool (*stop)(void *user),
                    void *user, struct nb_error *error)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    int rc = 0;
    while (rc == 0 && atomic_load(&live->wants_refit)) {
        if (stop(user))
            return nb_error_set(error, NB_STOPPING,
                                "the daemon is stopping; the next start begins "
                                "to fit the weights again");
        if (atomic_load(&live->removed))
            return nb_error_set(error, NB_NOT_FOUND, "the model was deleted or replaced meanwhile");
        rc = nb_live_check(live, error);
        if (rc == 0)
            rc = nb_transaction_health(engine, error);
        if (rc == 0)
            (void)nanosleep(&pause, NULL);
    }
    return rc;
}

int nb_engine_refit(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    bool (*stop)(void *user), void *user, struct nb_error *error)
{
    struct nb_batch *batch;
    int rc = nb_batch_new(engine, model, false, &batch, error);
    if (rc != 0)
        return rc;
    rc = nb_batch_refit(batch, NB_REFIT_WHOLE, source, error);
    if (rc == 0) {
        nb_engine_apply(engine, batch);
        const struct nb_receipt *receipt = nb_batch_receipt(batch, 0);
        rc = receipt->code == 0 ? 0 : nb_error_set(error, receipt->code, "%s", receipt->error.text);
    }
    if (rc == 0)
        rc = wait_for(engine, batch->live, stop, user, error);
    nb_batch_free(&batch);
    return rc;
}

/* ---- a map that some node has fitted --------------------------------------------------------- */

struct fitted {
    struct nb_string model;
    uint64_t last;
    const struct nb_settings *settings;
};

static int fitted_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct fitted *f = argument;
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, f->model, false, &live, error);
    if (rc != 0)
        return rc;
    if (live->checkpoint.last != f->last || live->published->settings.parent != NULL ||
        f->settings->fitted == NULL)
        rc = nb_error_set(error, NB_CONFLICT, "the model has changed since");
    else if ((rc = nb_put_fitted(engine, live, f->settings)) != 0)
        (void)nb_error_set(error, rc, "the map of probabilities was not stored");
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_put_fitted(struct nb_engine *engine, struct nb_string model, uint64_t last,
                         const struct nb_settings *settings, struct nb_error *error)
{
    struct fitted f = {model, last, settings};
    return nb_writer_run(engine, fitted_task, &f, error);
}
