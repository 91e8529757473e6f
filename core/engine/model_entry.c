/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/model_entry.h"

#include <assert.h>

#include "core/model/evaluate/drift.h"
#include "core/model/live/checkpoint.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/records.h"
#include "core/model/live/stream_states.h"

/* Updates the stored state of a model that is not loaded: only what the new entry changes. */
static int touch_cold_state(struct nb_engine *engine, const struct nb_view *view,
                            struct nb_model_entry *task, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(task->live->number);
    struct nb_string value;
    struct nb_state_record state;
    int rc = nb_store_get(view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    /* A damaged record stays as it is: its model is marked damaged. */
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT)
        return 0;
    if (rc != 0)
        return rc;
    state.last = task->number;
    state.tail++;
    state.totals.entries++;
    return nb_put_state(engine, view, task->live, &state, error);
}

int nb_model_entry_touch(struct nb_engine *engine, const struct nb_view *view,
                         struct nb_model_entry *task, struct nb_error *error)
{
    struct nb_live *live = task->live;
    assert(task->number != 0 && live->number != 0);
    if (!atomic_load(&live->loaded))
        return touch_cold_state(engine, view, task, error);
    struct nb_state_record state = nb_checkpoint_state(live, task->number);
    state.tail++;
    return nb_put_state(engine, view, live, &state, error);
}

int nb_model_entry_append(struct nb_engine *engine, struct nb_view *view,
                          struct nb_model_entry *task, struct nb_error *error)
{
    struct nb_live *live = task->live;
    struct nb_ledger_totals *totals = &live->checkpoint.totals;
    struct nb_buffer scratch = {0};
    int rc = 0;
    *totals = task->totals;
    if (live->number == 0)
        rc = nb_serials_model(&engine->serials, view, &live->number, error);
    task->change.model = live->number;
    task->change.time = nb_stream_states_time(engine);
    task->number = nb_serials_entry(&engine->serials);
    if (rc == 0)
        rc = nb_ledger_append(view, task->number, &task->change, totals, &scratch, error);
    nb_buffer_deinit(&scratch);
    return rc;
}

void nb_model_entry_note(struct nb_engine *engine, const struct nb_model_entry *task)
{
    struct nb_live *live = task->live;
    assert(task->number > live->checkpoint.last);
    live->checkpoint.last = task->number;
    live->history_at = 0; /* the settings may have changed */
    struct nb_drift *drift = atomic_load(&live->drift);
    if (drift != NULL)
        nb_drift_reset(drift); /* later verdicts may differ from earlier ones */
    if (atomic_load(&live->loaded))
        nb_checkpoint_note(engine, live, 1);
}
