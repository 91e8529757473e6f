/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/repair/verify.h"

#include "core/archive/repair/comparing.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"

static void lost_entry(void *user, const char *line)
{
    struct nb_differences *d = user;
    nb_lose(d, "%s", line);
}

int nb_compare(struct nb_engine *engine, struct nb_survey *survey, struct nb_differences *d,
               struct nb_error *error)
{
    struct nb_view view;
    struct nb_comparing c = {.engine = engine, .view = &view, .survey = survey, .d = d};
    struct nb_error damage;
    if (nb_store_met_damage(engine->store, &damage))
        nb_differ(d, "%s", damage.text);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_survey_read(&view, survey, lost_entry, d, error);
    if (rc == 0)
        rc = nb_compare_tables(&c, error);
    if (rc == 0)
        rc = nb_compare_entries(&c, error);
    if (rc == 0)
        rc = nb_compare_models(&c, error);
    nb_store_snapshot_end(&view);
    nb_entry_deinit(&c.entry);
    return rc;
}

/* What a journal lacks at its end makes no difference: the ledger lacks it, too. */
static void tell_journal(struct nb_engine *engine, nb_report_line *report, void *user)
{
    struct nb_error found;
    bool is_cut;
    if (nb_engine_met_journal(engine, &found, &is_cut))
        report(user, found.text);
}

int nb_engine_verify(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                     struct nb_error *error)
{
    struct nb_engine *engine;
    struct nb_survey survey = {0};
    struct nb_differences d = {.report = report, .user = user};
    int rc = nb_engine_open_existing(settings, &engine, error);
    if (rc != 0)
        return rc;
    tell_journal(engine, report, user);
    rc = nb_compare(engine, &survey, &d, error);
    nb_survey_deinit(&survey);
    nb_engine_close(&engine);
    return rc == 0 && d.count > 0 ? 1 : rc;
}
