/* SPDX-License-Identifier: Apache-2.0
 *
 * Import: makes a model from a dump, under a new number. The number is listed as an orphan until
 * the model is complete, and the last transaction gives the model its name. After a crash the next
 * start finds the number among the orphans and deletes its data.
 */
#include "core/dump/import.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/dump/entries.h"
#include "core/dump/place.h"
#include "core/engine/writer.h"
#include "core/live/checkpoint.h"
#include "core/live/records.h"
#include "core/live/relay.h"
#include "core/live/transaction.h"
#include "core/registry/registry.h"

static int write_begin(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_ledger_totals *totals = &import->begun;
    *totals = (struct nb_ledger_totals){0}; /* this may be a second try */
    int rc = nb_serials_model(&engine->serials, view, &import->listed.number, error);
    struct nb_change change = {.kind = NB_CHANGE_IMPORT,
                               .model = import->listed.number,
                               .time = nb_clock_now(),
                               .source = nb_buffer_string(&import->source),
                               .name = nb_buffer_string(&import->name)};
    if (rc == 0)
        rc = nb_ledger_append(view, nb_serials_entry(&engine->serials), &change, totals,
                              &import->bytes, error);
    return rc != 0 ? rc : nb_put_orphan(view, import->listed.number, error);
}

static int begin_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    int rc = nb_transaction(engine, 0, write_begin, import, error);
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
    nb_buffer_deinit(&import->name);
    nb_buffer_deinit(&import->source);
    nb_buffer_deinit(&import->entries);
    nb_buffer_deinit(&import->bytes);
    nb_buffer_deinit(&import->features);
    nb_buffer_deinit(&import->bag);
    nb_features_coder_free(&import->coder);
    nb_rows_deinit(&import->rows);
    nb_slots_deinit(&import->slots);
    free(import->ids);
    free(import);
}

int nb_import_begin(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    struct nb_import **out, struct nb_error *error)
{
    int rc = nb_check_model_name(model, error);
    if (rc == 0)
        rc = nb_check_source(source, error);
    if (rc == 0)
        rc = nb_relay_refuse(engine, "an import, or a copy of a model,", error);
    if (rc != 0)
        return rc;
    struct nb_import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return nb_error_no_memory(error);
    import->engine = engine;
    import->coder = nb_features_coder_new();
    bool good = import->coder != NULL &&
                nb_buffer_append(&import->name, model.bytes, model.length) == 0 &&
                nb_buffer_append(&import->source, source.bytes, source.length) == 0;
    rc = good ? nb_writer_run(engine, begin_task, import, error) : nb_error_no_memory(error);
    if (rc == 0)
        *out = import;
    else
        import_free(import);
    return rc;
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
    (void)nb_writer_run((*import)->engine, abort_task, *import, NULL);
    import_free(*import);
    *import = NULL;
}

static int commit_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    assert(import->live != NULL && import->entries.length == 0);
    /* The rows are written as a checkpoint, including rows that no document has. */
    int rc = nb_checkpoint_all(engine, import->live, NULL, error);
    if (rc == 0)
        rc = nb_import_take_place(engine, import, error);
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

int nb_import_commit(struct nb_import **out, const struct nb_dump_totals *totals, bool *created,
                     uint64_t *dropped, struct nb_error *error)
{
    struct nb_import *import = *out;
    int rc = nb_import_needs_header(import, error);
    if (rc == 0)
        rc = check_totals(import, totals, error);
    if (rc == 0)
        rc = nb_import_flush(import, 0, error);
    if (rc != 0) {
        nb_import_abort(out);
        return rc;
    }
    assert(import->entries.length == 0);
    rc = nb_writer_run(import->engine, commit_task, import, error);
    if (rc == 0) {
        *created = import->created;
        *dropped = import->dropped;
    }
    import_free(import);
    *out = NULL;
    return rc;
}
