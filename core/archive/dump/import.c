/* SPDX-License-Identifier: Apache-2.0
 *
 * Import: makes a model from a dump, under a new number. The number is listed as an orphan until
 * the model is complete, and the last transaction gives the model its name. After a crash the next
 * start finds the number among the orphans and deletes its data.
 */
#include "core/archive/dump/import.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/dump/import_private.h"
#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/ledger/quarantine_entries.h"
#include "core/model/checkpoint.h"
#include "core/model/model_load.h"
#include "core/model/model_transaction.h"
#include "core/model/parents.h"
#include "core/model/refit.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/upkeep.h"
#include "core/writer/writer.h"

/* ---- entries --------------------------------------------------------------------------------- */

/* Runs a task of the import on the writer's thread. The import's place in the stream is stored
 * later. */
static int import_run(struct nb_import *import,
                      int (*task)(struct nb_engine *engine, void *argument, struct nb_error *error),
                      struct nb_error *error)
{
    return import->asked == NULL ? nb_writer_run(import->engine, task, import, error)
                                 : nb_writer_run_ahead(import->engine, task, import, error);
}

/* Returns the import's time, which its entries get. */
static int64_t import_time(const struct nb_import *import)
{
    return import->asked != NULL ? import->time : nb_clock_now();
}

/* Appends an entry in the writer's transaction. Sets *number to its number. Returns 0 or a code. */
static int import_append(struct nb_import *import, const struct nb_view *view,
                         const struct nb_change *change, struct nb_ledger_totals *totals,
                         uint64_t *number, struct nb_error *error)
{
    if (import->asked == NULL) {
        *number = nb_serials_entry(&import->engine->serials);
        return nb_ledger_append(view, *number, change, totals, &import->bytes, error);
    }
    if (import->used + 1 >= UINT64_C(1) << NB_SERIALS_ENTRY_BITS)
        return nb_error_set(error, NB_TOO_LARGE,
                            "an import that nodes share has %u entries at most",
                            (1u << NB_SERIALS_ENTRY_BITS) - 1);
    *number = import->first + ++import->used;
    return nb_ledger_insert(view, *number, change, totals, &import->bytes, error);
}

static int check_fresh_id(const struct nb_view *view, const struct nb_change *change,
                          struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(change->model, change->id);
    struct nb_string value;
    if (change->kind != NB_CHANGE_TRAIN)
        return 0;
    int rc = nb_store_get(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        return nb_error_set(error, NB_INVALID, "the dump has two documents with the id '%.*s'",
                            (int)change->id.length, change->id.bytes);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

struct flushing {
    struct nb_import *import;
    struct nb_ledger_totals totals; /* before this flush */
    uint64_t used;                  /* import->used before this flush */
    uint64_t last;                  /* number of the newest entry */
};

static int write_entries(struct nb_engine *engine, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    struct flushing *f = argument;
    (void)engine;
    struct nb_import *import = f->import;
    struct nb_ledger_totals *totals = &import->live->checkpoint.totals;
    struct nb_unpacker r = nb_unpacker_of(import->entries.bytes, import->entries.length);
    struct nb_change change;
    int rc = 0;
    *totals = f->totals; /* this may be a second try */
    import->used = f->used;
    while (rc == 0 && r.at < r.end) {
        rc = nb_change_read(&change, nb_unpack_string(&r), error);
        if (rc == 0)
            rc = check_fresh_id(view, &change, error);
        if (rc == 0)
            rc = import_append(import, view, &change, totals, &f->last, error);
    }
    return rc;
}

static int flush_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_checkpoint *c = &import->live->checkpoint;
    struct flushing f = {
        .import = import, .totals = c->totals, .used = import->used, .last = c->last};
    int rc = nb_transaction(engine, import->entries.length, write_entries, &f, error);
    if (rc == 0)
        c->last = f.last;
    else
        c->totals = f.totals;
    import->entries.length = 0;
    return rc;
}

int nb_import_flush(struct nb_import *import, size_t above, struct nb_error *error)
{
    if (import->entries.length <= above)
        return 0;
    return import_run(import, flush_task, error);
}

int nb_import_needs_header(const struct nb_import *import, struct nb_error *error)
{
    if (import->live != NULL)
        return 0;
    return nb_error_set(error, NB_INVALID, "the dump does not begin with its header");
}

/* ---- the complete model gets its name -------------------------------------------------------- */

struct naming {
    struct nb_import *import;
    struct nb_live *old;
    struct nb_buffer settings, weights, key;
    bool keeps_fields;              /* the fields of `old` have the same numbers in `import` */
    struct nb_ledger_totals totals; /* before the transaction, as ... */
    uint64_t used;                  /* ... import->used */
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

/* Whether all fields of `old` have the same numbers in `live`: values of documents in the
 * quarantine refer to fields by number. False if `old` is damaged. */
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
                               .time = import_time(import),
                               .source = nb_buffer_string(&import->source),
                               .name = nb_buffer_string(&import->name),
                               .settings = nb_buffer_string(&naming->settings),
                               .key = nb_buffer_string(&naming->key),
                               .weights = nb_buffer_string(&naming->weights),
                               .replaced_model = old};
    assert(live->number == import->listed.number && live->number != old);
    live->checkpoint.totals = naming->totals; /* this may be a second try */
    live->checkpoint.weights = 0;
    live->checkpoint.twin = (struct nb_twin_log){.bytes = 0};
    int rc = write_records(engine, view, live, naming->weights.length > 0, error);
    import->used = naming->used;
    if (rc == 0)
        rc = import_append(import, view, &change, &live->checkpoint.totals, &naming->number, error);
    struct nb_state_record state = nb_checkpoint_state(live, naming->number);
    if (rc == 0)
        rc = nb_put_state(engine, view, live, &state, error);
    if (rc == 0)
        rc = keep_waiting(view, naming, error);
    if (rc == 0 && import->asked != NULL)
        rc = nb_import_parts_delete(view, import->asked->from, 0, error);
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

/* Finds the existing model with this name. If there is none, adds the imported model to the
 * registry before its last transaction, while it is still unsaved, so that a full registry is an
 * error before the model is stored. */
static int find_place(struct nb_engine *engine, struct naming *naming, struct nb_error *error)
{
    struct nb_string name = nb_buffer_string(&naming->import->name);
    int rc;
    /* Another thread may create a model with this name between the two calls. */
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

static int take_place(struct nb_engine *engine, struct nb_import *import, struct nb_error *error)
{
    struct nb_live *live = import->live;
    struct naming naming = {
        .import = import, .totals = live->checkpoint.totals, .used = import->used};
    const char *name = live->published->settings.parent;
    char *parent = name != NULL ? strdup(name) : NULL;
    int rc = describe(&naming) != 0 || (name != NULL && parent == NULL)
                 ? nb_error_no_memory(error)
                 : nb_parents_check(engine, live, &live->published->settings, error);
    if (rc == 0)
        rc = find_place(engine, &naming, error);
    bool listed = rc == 0 && naming.old == NULL;
    if (rc == 0 && import->only_new && !listed && atomic_load(&naming.old->persisted))
        rc = nb_error_about(
            error, nb_error_set(error, NB_CONFLICT, "the model '%s' exists", naming.old->name),
            "already_exists", NULL);
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
            atomic_store(&engine->queue.refits, true);
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

/* ---- the import ------------------------------------------------------------------------------ */

static int write_begin(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_ledger_totals *totals = &import->begun;
    uint64_t number;
    *totals = (struct nb_ledger_totals){0}; /* this may be a second try */
    import->used = 0;
    int rc = nb_serials_model(&engine->serials, view, &import->listed.number, error);
    struct nb_change change = {.kind = NB_CHANGE_IMPORT,
                               .model = import->listed.number,
                               .time = import_time(import),
                               .source = nb_buffer_string(&import->source),
                               .name = nb_buffer_string(&import->name)};
    if (rc == 0)
        rc = import_append(import, view, &change, totals, &number, error);
    return rc != 0 ? rc : nb_put_orphan(view, import->listed.number, error);
}

/* Deletes what an earlier try has left before a new try uses the same numbers. Damaged parts stay.
 */
static int purge_all(struct nb_engine *engine, struct nb_error *error)
{
    int rc = 0;
    engine->purge = true;
    while (rc == 0 && engine->purge)
        rc = nb_purge_slice(engine);
    return rc == 0 || rc == NB_CORRUPT
               ? 0
               : nb_error_set(error, rc, "what is left of deleted models cannot be removed");
}

static int begin_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    int rc = import->asked != NULL ? purge_all(engine, error) : 0;
    if (rc == 0)
        rc = nb_transaction(engine, 0, write_begin, import, error);
    if (rc == 0) {
        import->listed.next = engine->importing;
        engine->importing = &import->listed;
    }
    return rc;
}

static void import_free(struct nb_import *import)
{
    /* If the last transaction failed, another thread may have found the model in the registry
     * before that, and hold a reference. */
    nb_registry_release(import->engine, &import->live);
    nb_buffer_deinit(&import->sending.rest);
    nb_buffer_deinit(&import->name);
    nb_buffer_deinit(&import->source);
    nb_buffer_deinit(&import->entries);
    nb_buffer_deinit(&import->bytes);
    nb_buffer_deinit(&import->features);
    nb_buffer_deinit(&import->bag);
    nb_replay_deinit(&import->replay);
    nb_features_coder_free(&import->coder);
    nb_rows_deinit(&import->rows);
    free(import->ids);
    free(import);
}

static struct nb_import *import_new(struct nb_engine *engine, struct nb_string model,
                                    struct nb_string source)
{
    struct nb_import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return NULL;
    import->engine = engine;
    import->coder = nb_features_coder_new();
    if (import->coder != NULL && nb_buffer_append(&import->name, model.bytes, model.length) == 0 &&
        nb_buffer_append(&import->source, source.bytes, source.length) == 0)
        return import;
    import_free(import);
    return NULL;
}

int nb_import_start(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    const struct nb_relayed_change *asked, struct nb_import **out,
                    struct nb_error *error)
{
    struct nb_import *import = import_new(engine, model, source);
    if (import == NULL)
        return nb_error_no_memory(error);
    if (asked != NULL) {
        const struct nb_relayed *here = nb_relay_applied();
        import->asked = asked;
        import->time = here->time;
        import->first =
            nb_serials_first(here->stream) + (here->one.position << NB_SERIALS_ENTRY_BITS);
    }
    int rc = import_run(import, begin_task, error);
    if (rc == 0)
        *out = import;
    else
        import_free(import);
    return rc;
}

/* Begins an import that all nodes will make when this node has sent all of it. */
static int begin_sending(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                         struct nb_import **out, struct nb_error *error)
{
    struct nb_import *import = import_new(engine, model, source);
    if (import == NULL)
        return nb_error_no_memory(error);
    import->is_sent = true;
    nb_sending_init(&import->sending, engine, nb_buffer_string(&import->name),
                    nb_buffer_string(&import->source));
    *out = import;
    return 0;
}

int nb_import_begin(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    struct nb_import **out, struct nb_error *error)
{
    int rc = nb_check_model_name(model, error);
    if (rc == 0)
        rc = nb_check_source(source, error);
    if (rc != 0)
        return rc;
    return nb_relay_is_wanted(engine) ? begin_sending(engine, model, source, out, error)
                                      : nb_import_start(engine, model, source, NULL, out, error);
}

static void forget_import(struct nb_engine *engine, const struct nb_import *import)
{
    struct nb_importing **at = &engine->importing;
    while (*at != NULL && *at != &import->listed)
        at = &(*at)->next;
    if (*at != NULL)
        *at = import->listed.next;
    engine->purge = true;
}

static int abort_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    (void)error;
    forget_import(engine, argument);
    return 0;
}

void nb_import_abort(struct nb_import **import)
{
    if (*import == NULL)
        return;
    /* If the engine is closing, the next start deletes the orphans. */
    if ((*import)->is_sent)
        nb_sending_give_up(&(*import)->sending);
    else
        (void)import_run(*import, abort_task, NULL);
    import_free(*import);
    *import = NULL;
}

/* The rows are written as a checkpoint, including rows that no document has. */
static int store_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    assert(import->live != NULL && import->entries.length == 0);
    return nb_checkpoint_all(engine, import->live, NULL, error);
}

static int place_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    int rc = take_place(engine, import, error);
    forget_import(engine, import);
    return rc;
}

static int check_totals(const struct nb_import *import, const struct nb_dump_totals *said,
                        struct nb_error *error)
{
    const struct nb_dump_totals *got = &import->totals;
    if (said == NULL || (said->documents == got->documents && said->features == got->features &&
                         said->occurrences == got->occurrences))
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "the dump's end says %llu documents, %llu features and %llu occurrences; "
                        "%llu, %llu and %llu came: it is damaged, or parts are missing",
                        (unsigned long long)said->documents, (unsigned long long)said->features,
                        (unsigned long long)said->occurrences, (unsigned long long)got->documents,
                        (unsigned long long)got->features, (unsigned long long)got->occurrences);
}

void nb_import_only_new(struct nb_import *import)
{
    import->only_new = true;
}

/* Commits an import that all nodes make. */
static int commit_sent(struct nb_import **out, const struct nb_dump_totals *totals, bool *created,
                       uint64_t *dropped, struct nb_error *error)
{
    struct nb_import *import = *out;
    struct nb_relayed_change_done done;
    int rc = nb_sending_end(&import->sending, totals, (struct nb_string){"", 0}, import->only_new,
                            &done, error);
    if (rc != 0) {
        nb_import_abort(out);
        return rc;
    }
    *created = done.created;
    *dropped = done.dropped;
    import_free(import);
    *out = NULL;
    return 0;
}

int nb_import_commit(struct nb_import **out, const struct nb_dump_totals *totals, bool *created,
                     uint64_t *dropped, struct nb_error *error)
{
    struct nb_import *import = *out;
    if (import->is_sent)
        return commit_sent(out, totals, created, dropped, error);
    int rc = nb_import_needs_header(import, error);
    if (rc == 0)
        rc = check_totals(import, totals, error);
    if (rc == 0)
        rc = nb_import_flush(import, 0, error);
    if (rc == 0)
        rc = import_run(import, store_task, error);
    if (rc != 0) {
        nb_import_abort(out);
        return rc;
    }
    assert(import->entries.length == 0);
    rc = nb_writer_run(import->engine, place_task, import, error);
    if (rc == 0) {
        *created = import->created;
        *dropped = import->dropped;
    }
    import_free(import);
    *out = NULL;
    return rc;
}
