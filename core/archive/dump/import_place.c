/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/import_place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/pack.h"
#include "core/engine/writer.h"
#include "core/ledger/entries/quarantine_entries.h"
#include "core/model/learn/model_load.h"
#include "core/model/learn/refit_wanted.h"
#include "core/model/live/checkpoint.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/records.h"
#include "core/model/live/twin_log.h"
#include "core/model/parents/parents.h"
#include "core/model/registry/registry.h"

struct naming {
    struct nb_import *import;
    struct nb_live *old;
    struct nb_buffer settings, weights, key;
    bool keeps_fields;              /* the fields of `old` have the same numbers in `import` */
    struct nb_ledger_totals totals; /* as before the transaction */
    uint64_t number;                /* number of the entry */
};

static int write_records(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                         bool weights, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    int rc = nb_put_model(engine, view, live, &live->published->settings, error);
    for (uint32_t i = 0; rc == 0 && i < nb_model_label_count(live->counts); i++)
        rc = nb_put_label(engine, view, live, i, error);
    if (rc == 0 && weights)
        rc = nb_put_weights(engine, view, live, error);
    if (rc == 0 && weights)
        rc = nb_twin_log_put(engine, view, live, error);
    return rc != 0 ? rc : nb_store_delete(view, NB_TABLE_ORPHANS, nb_store_key_string(&key), error);
}

/* Whether all fields of `old` have the same numbers in `live`, by which the values of documents in
 * the quarantine refer to them. False if `old` is damaged. */
static bool has_its_fields(struct nb_engine *engine, struct nb_live *old,
                           const struct nb_live *live)
{
    struct nb_settings settings;
    if (nb_load_settings(engine, old, &settings, NULL) != 0)
        return false;
    bool has = nb_settings_keep_attributes(&live->published->settings, &settings);
    nb_settings_deinit(&settings);
    return has;
}

/* Moves the quarantine of the old model to the new one, if its features have the same ids there. */
static int keep_waiting(const struct nb_view *view, struct naming *naming, struct nb_error *error)
{
    const struct nb_live *old = naming->old;
    const struct nb_live *live = naming->import->live;
    struct nb_quarantine_sums sums = {.documents = 0};
    uint64_t *dropped = &naming->import->dropped;
    *dropped = 0;
    if (old == NULL || old->number == 0)
        return 0;
    if (memcmp(old->key->bytes, live->key->bytes, NB_KEY_BYTES) == 0 && naming->keeps_fields)
        return nb_quarantine_move(view, old->number, live->number, dropped, error);
    int rc = nb_quarantine_sums(view, old->number, &sums, error);
    *dropped = sums.documents;
    return rc == NB_CORRUPT ? 0 : rc;
}

static int write_name(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct naming *naming = argument;
    struct nb_import *import = naming->import;
    struct nb_live *live = import->live;
    uint32_t old = naming->old != NULL ? naming->old->number : 0;
    struct nb_change change = {.kind = NB_CHANGE_COMPLETE,
                               .model = live->number,
                               .time = nb_import_time(import),
                               .source = nb_buffer_string(&import->source),
                               .name = nb_buffer_string(&import->name),
                               .settings = nb_buffer_string(&naming->settings),
                               .key = nb_buffer_string(&naming->key),
                               .weights = nb_buffer_string(&naming->weights),
                               .other = old};
    assert(live->number == import->listed.number && live->number != old);
    live->checkpoint.totals = naming->totals; /* this may be a second try */
    live->checkpoint.weights = 0;
    live->checkpoint.twin = (struct nb_twin_log){.bytes = 0};
    int rc = write_records(engine, view, live, naming->weights.length > 0, error);
    naming->number = nb_serials_entry(&engine->serials);
    if (rc == 0)
        rc = nb_ledger_append(view, naming->number, &change, &live->checkpoint.totals,
                              &import->bytes, error);
    struct nb_state_record state = nb_checkpoint_state(live, naming->number);
    if (rc == 0)
        rc = nb_put_state(engine, view, live, &state, error);
    if (rc == 0)
        rc = keep_waiting(view, naming, error);
    if (rc == 0)
        rc = nb_import_parts_delete(view, &import->parts, error);
    return rc == 0 && old != 0 ? nb_put_orphan(view, old, error) : rc;
}

/* Adds the unsaved model to the registry. The import keeps its own reference, because an unsaved
 * model leaves the registry when its last user releases it. */
static int list(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    assert(!atomic_load(&live->persisted));
    atomic_fetch_add(&live->references, 1);
    int rc = nb_registry_insert(engine, live, error);
    if (rc != 0)
        atomic_fetch_sub(&live->references, 1);
    return rc;
}

/* Finds the model of the name. If there is none, adds the imported model to the registry before its
 * last transaction, still unsaved, so that a registry that is full is an error before the model is
 * stored. */
static int find_place(struct nb_engine *engine, struct naming *naming, struct nb_error *error)
{
    struct nb_string name = nb_buffer_string(&naming->import->name);
    int rc;
    /* A trainer may create a model of the name between the two calls. */
    do {
        rc = nb_registry_find(engine, name, true, &naming->old, error);
        if (rc == NB_NOT_FOUND)
            rc = list(engine, naming->import->live, error);
    } while (rc == NB_EXISTS);
    return rc;
}

static int describe(struct naming *naming)
{
    const struct nb_live *live = naming->import->live;
    struct nb_packer p = {.out = &naming->weights};
    if (naming->import->has_stack)
        nb_stack_weights_write(live->published->weights, &p);
    int rc =
        p.code != 0 ? p.code : nb_settings_write(&live->published->settings, &naming->settings);
    return rc == 0 ? nb_live_write_key(live, &naming->key) : rc;
}

int nb_import_take_place(struct nb_engine *engine, struct nb_import *import, struct nb_error *error)
{
    struct nb_live *live = import->live;
    struct naming naming = {.import = import, .totals = live->checkpoint.totals};
    const char *name = live->published->settings.parent;
    char *parent = name != NULL ? strdup(name) : NULL;
    int rc = describe(&naming) != 0 || (name != NULL && parent == NULL)
                 ? nb_error_no_memory(error)
                 : nb_parents_check(engine, live, &live->published->settings, error);
    if (rc == 0)
        rc = find_place(engine, &naming, error);
    bool listed = rc == 0 && naming.old == NULL;
    if (rc == 0 && import->only_new && !listed && atomic_load(&naming.old->persisted))
        rc = nb_error_set(error, NB_CONFLICT, "the model '%s' exists", naming.old->name);
    if (rc == 0 && !listed)
        naming.keeps_fields = has_its_fields(engine, naming.old, live);
    if (rc == 0)
        rc = nb_transaction(engine, 0, write_name, &naming, error);
    if (rc == 0) {
        import->created = naming.old == NULL || !atomic_load(&naming.old->persisted);
        live->checkpoint.last = naming.number;
        live->labels_stored = nb_model_label_count(live->counts);
        atomic_store(&live->unlabelled, live->checkpoint.totals.unlabelled);
        if (naming.weights.length > 0)
            nb_stack_weights_commit(live->published->weights);
        atomic_store(&live->persisted, true);
        nb_refit_note(live);
        if (atomic_load(&live->wants_refit))
            atomic_store(&engine->refits, true);
        nb_checkpoint_note(engine, live, 0);
        nb_parents_note(engine, live, &parent);
    }
    if (rc == 0 && naming.old != NULL) {
        struct nb_live *replaced = nb_registry_replace(engine, live);
        nb_checkpoint_forget(engine, replaced);
        import->live = NULL;                    /* the registry has taken this reference */
        nb_registry_release(engine, &replaced); /* the registry's reference */
    } else if (rc != 0 && listed) {
        nb_registry_remove(engine, live);
    }
    if (rc == 0)
        nb_refining_ask(engine, live);
    nb_registry_release(engine, &naming.old);
    free(parent);
    nb_buffer_deinit(&naming.settings);
    nb_buffer_deinit(&naming.weights);
    nb_buffer_deinit(&naming.key);
    return rc;
}
