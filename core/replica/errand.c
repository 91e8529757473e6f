/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replica/errand.h"

#include "core/engine/engine.h"
#include "core/engine/errands.h"
#include "core/merge/rename.h"

static int put(struct nb_engine *engine, const struct nb_errand *e, bool *created,
               struct nb_error *error)
{
    struct nb_settings settings;
    int rc = nb_settings_read(&settings, e->settings, error);
    if (rc != 0)
        return rc == NB_CORRUPT ? NB_UNUSABLE : rc;
    if (e->kind == NB_ERRAND_PUT)
        rc = nb_engine_put_model(engine, e->model, &settings, e->only_new, e->source, created,
                                 error);
    else if (e->kind == NB_ERRAND_FIELDS)
        rc = nb_engine_put_fields(engine, e->model, &settings, e->source, error);
    else
        rc = nb_engine_put_fitted(engine, e->model, e->last, &settings, error);
    nb_settings_deinit(&settings);
    return rc;
}

int nb_errand_run(struct nb_engine *engine, const struct nb_errand *e, bool *created,
                  struct nb_error *error)
{
    *created = false;
    if (e->kind == NB_ERRAND_BARRIER)
        return 0;
    if (e->kind == NB_ERRAND_DELETE)
        return nb_engine_delete_model(engine, e->model, e->source, error);
    if (e->kind == NB_ERRAND_RENAME_LABEL)
        return nb_engine_rename_label(engine, e->model, e->from, e->to, e->source, error);
    return put(engine, e, created, error);
}
