/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/history/reading.h"

#include <assert.h>

#include "core/jobs/history/write.h"
#include "core/model/registry/registry.h"

int nb_reading_begin(struct nb_reading *reading, struct nb_engine *engine, struct nb_string model,
                     struct nb_error *error)
{
    struct nb_reading *r = reading;
    *r = (struct nb_reading){.engine = engine, .coder = nb_features_coder_new()};
    int rc = r->coder == NULL ? nb_error_no_memory(error)
                              : nb_registry_acquire(engine, model, false, &r->live, error);
    if (rc != 0) {
        nb_features_coder_free(&r->coder);
        return rc;
    }
    (void)nb_engine_history_write(engine, NULL);
    r->limits = nb_remember_limits(r->live);
    return 0;
}

void nb_reading_end(struct nb_reading *reading)
{
    nb_entry_deinit(&reading->entry);
    nb_features_coder_free(&reading->coder);
    nb_registry_release(reading->engine, &reading->live);
}

int nb_reading_label(struct nb_reading *reading, struct nb_string id, bool *is_stored,
                     struct nb_string *label, struct nb_error *error)
{
    struct nb_live *live = reading->live;
    struct nb_error why = {0};
    assert(live != NULL && reading->view.transaction != NULL);
    int rc = nb_ledger_find(&reading->view, live->number, id, &reading->entry, &why);
    *is_stored = rc == 0;
    *label = (struct nb_string){"", 0};
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : nb_live_note(live, rc, &why, error);
    uint32_t number = reading->entry.change.label;
    nb_model_read_lock(live->counts);
    if (number != NB_NO_LABEL && number < nb_model_label_count(live->counts))
        *label = nb_model_label_name(live->counts, number);
    nb_model_unlock(live->counts);
    return 0;
}

int nb_reading_tell(struct nb_reading *reading, int rc, const struct nb_error *why,
                    struct nb_error *error)
{
    assert(rc >= 0 || why != NULL);
    if (rc != NB_CORRUPT)
        return rc >= 0 ? rc : nb_error_set(error, rc, "%s", why->text);
    atomic_store(&reading->live->is_history_damaged, true);
    return nb_error_set(error, NB_DAMAGED,
                        "the history of the model is damaged: it is removed when the next verdict "
                        "is kept");
}
