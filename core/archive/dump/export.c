/* SPDX-License-Identifier: Apache-2.0
 *
 * Export: one consistent state of a model, record by record, from a snapshot of the store. All data
 * are read from the store, so the model need not be loaded.
 *
 * It runs in short steps. Between two steps the writer may end the snapshot (lease.h), so that a
 * slow reader does not block it. The export then continues with a later snapshot if no document of
 * the model has changed in between. The ledger is read twice, because the header must say whether
 * all words have texts. Documents come in the order in which they were first learned.
 */
#include "core/archive/dump/export.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/archive/dump/exporting.h"
#include "core/base/clock.h"
#include "core/model/registry/registry.h"

/* Short, because the writer may have to wait for a step. */
enum { STEP_NANOSECONDS = 2000000 };

/* How many snapshots in a row may be lost before the export fails. */
enum { LATER_MOST = 8 };

enum { SECOND = 1000000000 };

/* ---- phases ---------------------------------------------------------------------------------- */

/* An incomplete dump must not look complete, because people restore from it. */
static int dump_end(struct nb_export *e, struct nb_error *error)
{
    if (e->totals.documents != e->state.totals.current)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: %" PRIu64 " of %" PRIu64 " documents were found",
                            e->totals.documents, e->state.totals.current);
    return e->sink->end(e->sink->user, &e->totals);
}

/* Runs a step of the present phase. Returns what its function returns. */
static int go_on(struct nb_export *e, struct nb_error *error)
{
    switch (e->phase) {
    case NB_EXPORT_SURVEY:
        return nb_export_survey(e, error);
    case NB_EXPORT_HEADER:
        return nb_export_header(e, error);
    case NB_EXPORT_WORDS:
        return nb_export_words(e, error);
    case NB_EXPORT_DOCUMENTS:
        return nb_export_documents(e, error);
    case NB_EXPORT_END:
        return dump_end(e, error);
    case NB_EXPORT_SORT:
    case NB_EXPORT_DONE:
    default:
        return 0;
    }
}

/* ---- a snapshot that was taken back ---------------------------------------------------------- */

static int is_no_document(void *user, struct nb_entry *entry, struct nb_error *error)
{
    (void)user;
    return entry->change.kind == NB_CHANGE_REFIT
               ? 0
               : nb_error_set(error, NB_IO, "the model has changed since the store had to grow");
}

/* NB_IO unless `view` has the documents that the export began with: only refits may have come
 * since. */
static int check_same(struct nb_export *e, const struct nb_view *view, struct nb_error *error)
{
    struct nb_string value;
    struct nb_model_record record;
    int rc = nb_store_get(view, NB_TABLE_MODELS, nb_live_name(e->live), &value, error);
    if (rc == 0)
        rc = nb_model_record_read(&record, value, error);
    if (rc == NB_NOT_FOUND || (rc == 0 && record.number != e->live->number))
        return nb_error_set(error, NB_IO, "the model was replaced or deleted meanwhile");
    return rc != 0 ? rc
                   : nb_ledger_walk(view, e->live->number, e->state.last + 1, is_no_document, NULL,
                                    error);
}

/* Takes and enters a later snapshot. */
static int enter_later(struct nb_export *e, struct nb_error *error)
{
    uint64_t now = nb_clock_monotonic(), left = e->deadline > now ? e->deadline - now : 0;
    struct nb_lease *later;
    int rc = nb_lease_take(e->engine->store, left / SECOND, &later, error);
    if (rc != 0)
        return rc;
    nb_lease_end(&e->lease);
    e->lease = later;
    rc = nb_lease_enter(e->lease, &e->view, error);
    bool has_begun = e->state.last > 0; /* before the survey nothing was read */
    if (rc == 0 && has_begun && (rc = check_same(e, e->view, error)) != 0)
        nb_lease_leave(e->lease);
    return rc;
}

static int enter(struct nb_export *e, struct nb_error *error)
{
    int rc = nb_lease_enter(e->lease, &e->view, error);
    for (int times = 0; rc != 0 && times < LATER_MOST && nb_clock_monotonic() < e->deadline;
         times++)
        rc = enter_later(e, error);
    e->is_lost = rc != 0;
    return rc;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int step(struct nb_export *e, struct nb_error *error)
{
    int rc = enter(e, error);
    if (rc != 0)
        return rc;
    assert(e->sink != NULL && e->phase < NB_EXPORT_DONE);
    e->over = nb_clock_monotonic() + STEP_NANOSECONDS;
    e->has_moved = false;
    e->decoded = 0; /* the coder may refer to an entry of the last step's snapshot */
    rc = go_on(e, error);
    nb_lease_leave(e->lease);
    return rc;
}

int nb_export_next(struct nb_export *export, const struct nb_dump_sink *sink, bool *end,
                   struct nb_error *error)
{
    struct nb_export *e = export;
    struct nb_error why = {0};
    assert(e != NULL && e->phase < NB_EXPORT_DONE && e->live->number != 0);
    e->sink = sink;
    int rc = 0;
    if (e->phase == NB_EXPORT_SORT)
        nb_export_sort(e);
    else
        rc = step(e, &why);
    if (rc == 0) {
        e->phase++;
        e->next = 0;
    }
    *end = e->phase == NB_EXPORT_DONE;
    if (rc >= 0)
        return 0;
    return e->is_lost ? nb_error_set(error, rc, "%s", why.text)
                      : nb_live_note(e->live, rc, &why, error);
}

bool nb_export_is_lost(const struct nb_export *export)
{
    return export->is_lost;
}

int nb_export_begin(struct nb_engine *engine, struct nb_string model, uint64_t seconds,
                    struct nb_export **export, struct nb_error *error)
{
    struct nb_error why = {0};
    struct nb_export *e = calloc(1, sizeof *e);
    *export = NULL;
    if (e == NULL)
        return nb_error_no_memory(error);
    e->engine = engine;
    e->deadline = nb_clock_monotonic() + seconds * SECOND;
    e->has_texts = true;
    e->coder = nb_features_coder_new();
    int rc = e->coder != NULL ? nb_registry_find(engine, model, false, &e->live, error)
                              : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_live_note(e->live, nb_live_check(e->live, &why), &why, error);
    if (rc == 0)
        rc = nb_lease_take(engine->store, seconds, &e->lease, error);
    if (rc != 0)
        nb_export_end(&e);
    *export = e;
    return rc;
}

void nb_export_end(struct nb_export **export)
{
    struct nb_export *e = *export;
    *export = NULL;
    if (e == NULL)
        return;
    for (size_t i = 0; i < e->label_count; i++)
        free(e->labels[i]);
    free(e->labels);
    free(e->arrivals);
    free(e->numbers);
    free(e->row_list);
    free(e->count_list);
    nb_rows_deinit(&e->bag);
    nb_features_coder_free(&e->coder);
    nb_lease_end(&e->lease);
    if (e->live != NULL)
        nb_registry_release(e->engine, &e->live);
    free(e);
}

int nb_engine_export(struct nb_engine *engine, struct nb_string model,
                     const struct nb_dump_sink *sink, struct nb_error *error)
{
    enum { SECONDS_MOST = 3600 };
    struct nb_export *export;
    bool end = false;
    int rc = nb_export_begin(engine, model, SECONDS_MOST, &export, error);
    while (rc == 0 && !end)
        rc = nb_export_next(export, sink, &end, error);
    nb_export_end(&export);
    return rc;
}
