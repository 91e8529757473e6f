/* SPDX-License-Identifier: Apache-2.0
 *
 * Rebuilding: the entries of the ledger go into a new store, with their index rows; every model is
 * replayed from them and written there, too; then the new file replaces the old one, which is kept
 * as data.mdb.old.
 */
#include <stdlib.h>

#include "core/archive/repair/folder.h"
#include "core/archive/repair/rebuilding.h"
#include "core/archive/repair/repair_waiting.h"
#include "core/archive/repair/verify.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/records.h"
#include "core/model/live/stream_states.h"
#include "core/networks/named/named.h"

/* ---- properties of the whole store ----------------------------------------------------------- */

/* New numbers follow those of the old store, so that no number is used twice. */
static int write_identity(struct nb_engine *to, struct nb_view *view, void *argument,
                          struct nb_error *error)
{
    struct nb_rebuilding *r = argument;
    uint32_t model = r->from->serials.model;
    const struct nb_survey *survey = &r->survey;
    if (survey->model_count > 0 && survey->models[survey->model_count - 1].number > model)
        model = survey->models[survey->model_count - 1].number;
    to->serials.entry = survey->newest;
    to->serials.model = model == 0 ? 0 : model - 1;
    int rc = nb_put_identity(to, view, error);
    return rc == 0 && model != 0 ? nb_serials_model(&to->serials, view, &model, error) : rc;
}

/* A node continues at its place in the stream if its store has lost nothing before it. Losses of a
 * store without a place were reported already. */
static int write_place(struct nb_engine *to, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_rebuilding *r = argument;
    struct nb_error why;
    int rc = r->d->lost == 0 ? nb_stream_states_copy(r->view, view, &why) : NB_CORRUPT;
    (void)to;
    if (rc == NB_CORRUPT && r->from->stream_states.is_known)
        nb_differ(r->d, "the place among the other nodes is given up with what is lost: this "
                        "node joins again with an empty store, or the backup of another node");
    return rc == 0 || rc == NB_CORRUPT ? 0 : nb_error_set(error, rc, "%s", why.text);
}

/* ---- the whole job --------------------------------------------------------------------------- */

static void lost_entry(void *user, const char *line)
{
    struct nb_differences *d = user;
    nb_lose(d, "%s", line);
}

/* Compares the store with its ledger as far as possible, and surveys the ledger. */
static int open_old(const struct nb_engine_settings *settings, struct nb_rebuilding *r,
                    struct nb_view *view, struct nb_error *error)
{
    struct nb_error why;
    uint32_t damaged = 0;
    int rc = nb_engine_open_existing(settings, &r->from, &why);
    if (rc == 0)
        rc = nb_compare(r->from, &r->survey, r->d, error);
    else if (rc == NB_CORRUPT)
        rc = nb_engine_open_damaged(settings, &r->from, &damaged, error);
    else
        return nb_error_set(error, rc, "%s", why.text);
    if (rc == 0)
        rc = nb_store_snapshot(r->from->store, view, error);
    if (rc != 0 || r->survey.newest != 0)
        return rc;
    nb_differ(r->d, "%s", why.text);
    if (damaged & 1u << NB_TABLE_LEDGER)
        return nb_error_set(error, NB_CORRUPT,
                            "%s: the ledger's own pages are damaged: restore a backup", why.text);
    return nb_survey_read(view, &r->survey, lost_entry, r->d, error);
}

static void lost_named(void *user, struct nb_string name)
{
    if (name.length > 0)
        nb_lose(user, "%.*s is lost: its stored bytes are damaged", (int)name.length, name.bytes);
    else
        nb_lose(user, "an entry of table meta cannot be read: if it was a network, that is lost");
}

static int build(struct nb_rebuilding *r, struct nb_error *error)
{
    r->models = calloc(r->survey.model_count + 1, sizeof *r->models);
    if (r->models == NULL)
        return nb_error_no_memory(error);
    int rc = nb_rebuild_entries(r, error);
    if (rc == 0)
        rc = nb_transaction(r->to, 0, write_identity, r, error);
    if (rc == 0)
        rc = nb_rebuild_models(r, error);
    if (rc == 0)
        rc = nb_waiting_copy(r->view, r->to->store, &r->survey, r->d, error);
    if (rc == 0)
        rc = nb_named_copy(r->view, r->to->store, lost_named, r->d, error);
    return rc != 0 ? rc : nb_transaction(r->to, 0, write_place, r, error);
}

static int open_new(const struct nb_engine_settings *settings, const char *folder,
                    struct nb_rebuilding *r, struct nb_error *error)
{
    struct nb_engine_settings fresh = *settings;
    fresh.directory = folder;
    fresh.journal = 0; /* only data.mdb is moved from the folder */
    if (!r->survey.has_key)
        return nb_error_set(error, NB_CORRUPT,
                            "the ledger has lost the store's key: restore a backup");
    int rc = nb_folder_clear(folder, error);
    if (rc == 0)
        rc = nb_engine_open_fresh(&fresh, &r->to, error);
    if (rc == 0)
        nb_key_restore(&r->to->key, r->survey.key);
    return rc;
}

int nb_engine_rebuild(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                      struct nb_error *error)
{
    struct nb_differences d = {.report = report, .user = user};
    struct nb_view view = {0};
    struct nb_rebuilding r = {.d = &d, .view = &view};
    char folder[NB_FOLDER_PATH];
    int rc = nb_folder_check_path(settings->directory, error);
    if (rc != 0)
        return rc;
    nb_folder_join(folder, settings->directory, "rebuild");
    rc = open_old(settings, &r, &view, error);
    if (rc == 0)
        rc = open_new(settings, folder, &r, error);
    if (rc == 0)
        rc = build(&r, error);
    nb_engine_close(&r.to);
    if (rc == 0)
        rc = nb_folder_swap(settings->directory, folder, error);
    if (view.transaction != NULL)
        nb_store_snapshot_end(&view);
    nb_engine_close(&r.from);
    struct nb_error ignored;
    (void)nb_folder_clear(folder, &ignored); /* the next rebuild tries again */
    nb_entry_deinit(&r.entry);
    nb_buffer_deinit(&r.scratch);
    nb_buffer_deinit(&r.features);
    nb_buffer_deinit(&r.new_rows);
    nb_rows_deinit(&r.rows);
    nb_rows_deinit(&r.bag);
    nb_rows_deinit(&r.missing);
    free(r.filled);
    free(r.nobody.known);
    for (size_t i = 0; r.models != NULL && i < r.survey.model_count; i++)
        free(r.models[i].known);
    free(r.models);
    nb_survey_deinit(&r.survey); /* last: it has the number of models */
    return rc == 0 && d.count > 0 ? 1 : rc;
}
