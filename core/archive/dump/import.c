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

#include "core/archive/dump/entries.h"
#include "core/archive/dump/import_place.h"
#include "core/engine/writer.h"
#include "core/model/live/checkpoint.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/records.h"
#include "core/model/live/relay.h"
#include "core/model/live/relayed.h"
#include "core/model/registry/registry.h"
#include "core/writer/upkeep/upkeep.h"

static int write_begin(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_ledger_totals *totals = &import->begun;
    uint64_t number;
    *totals = (struct nb_ledger_totals){0}; /* this may be a second try */
    import->parts.used = 0;
    int rc = nb_serials_model(&engine->serials, view, &import->listed.number, error);
    struct nb_change change = {.kind = NB_CHANGE_IMPORT,
                               .model = import->listed.number,
                               .time = nb_import_time(import),
                               .source = nb_buffer_string(&import->source),
                               .name = nb_buffer_string(&import->name)};
    if (rc == 0)
        rc = nb_import_append(import, view, &change, totals, &number, error);
    return rc != 0 ? rc : nb_put_orphan(view, import->listed.number, error);
}

/* Deletes first what an earlier try has left, since it has the same numbers; damaged parts stay. */
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
    int rc = import->parts.count > 0 ? purge_all(engine, error) : 0;
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
    /* If the last transaction failed, a trainer may have found the model in the registry before,
     * and hold a reference. */
    nb_registry_release(import->engine, &import->live);
    nb_sending_deinit(&import->sending);
    nb_buffer_deinit(&import->name);
    nb_buffer_deinit(&import->source);
    nb_buffer_deinit(&import->entries);
    nb_buffer_deinit(&import->bytes);
    nb_buffer_deinit(&import->features);
    nb_buffer_deinit(&import->bag);
    nb_replay_deinit(&import->replay);
    nb_features_coder_free(&import->coder);
    nb_rows_deinit(&import->rows);
    nb_slots_deinit(&import->slots);
    free(import->parts.positions);
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
    int rc = 0;
    if (import == NULL)
        return nb_error_no_memory(error);
    if (asked != NULL) {
        import->time = nb_relay_applied()->time;
        rc = nb_import_parts_find(engine, asked->from, asked->last, &import->parts, error);
    }
    if (rc == 0)
        rc = nb_import_run(import, begin_task, error);
    if (rc == 0)
        *out = import;
    else
        import_free(import);
    return rc;
}

/* Begins an import that all nodes make when all of it was sent. */
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
        (void)nb_import_run(*import, abort_task, NULL);
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
    int rc = nb_import_take_place(engine, import, error);
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
        rc = nb_import_run(import, store_task, error);
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
