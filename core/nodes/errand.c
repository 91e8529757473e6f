/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/errand.h"

#include "core/archive/copy/copy.h"
#include "core/archive/dump/shared.h"
#include "core/archive/dump/staged.h"
#include "core/engine/engine.h"
#include "core/engine/errands.h"
#include "core/jobs/merge/merge.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/networks/named/named.h"

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

static int change_named(struct nb_engine *engine, const struct nb_errand *e, bool *created,
                        struct nb_error *error)
{
    const struct nb_named_key key = {nb_named_kind(e->from), e->model};
    if (key.kind == NULL)
        return nb_error_set(error, NB_UNUSABLE, "nothing of the kind '%.*s' is kept under a name",
                            (int)e->from.length, e->from.bytes);
    return e->kind == NB_ERRAND_PUT_NAMED
               ? nb_named_put(engine, &key, e->settings, e->only_new, e->source, created, error)
               : nb_named_delete(engine, &key, error);
}

int nb_errand_run(struct nb_engine *engine, const struct nb_errand *e, struct nb_errand_done *done,
                  struct nb_error *error)
{
    done->created = false;
    done->dropped = 0;
    switch (e->kind) {
    case NB_ERRAND_PUT:
    case NB_ERRAND_FIELDS:
    case NB_ERRAND_FITTED:
        return put(engine, e, &done->created, error);
    case NB_ERRAND_DELETE:
        return nb_engine_delete_model(engine, e->model, e->source, error);
    case NB_ERRAND_RENAME_LABEL:
        return nb_engine_rename_label(engine, e->model, e->from, e->to, e->source, error);
    case NB_ERRAND_PUT_NAMED:
    case NB_ERRAND_DELETE_NAMED:
        return change_named(engine, e, &done->created, error);
    case NB_ERRAND_DROP:
        return nb_quarantine_drop_listed(engine, e->model, e->settings, &done->dropped, error);
    case NB_ERRAND_CLEAR:
        return nb_quarantine_clear_some(engine, e->model, &done->dropped, error);
    case NB_ERRAND_STAGE:
        return nb_staged_add(engine, e, error);
    case NB_ERRAND_UNSTAGE:
        return nb_staged_drop(engine, e->from, error);
    case NB_ERRAND_IMPORT:
        return e->to.length > 0 ? nb_copy_shared(engine, e, error)
                                : nb_import_shared(engine, e, done, error);
    case NB_ERRAND_COMPARE:
    case NB_ERRANDS:
        break;
    }
    return 0;
}
