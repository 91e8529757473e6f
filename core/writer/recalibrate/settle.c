/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/recalibrate/settle.h"

#include <assert.h>

#include "core/ledger/entries/ledger.h"
#include "core/model/live/checkpoint.h"
#include "core/model/live/records.h"
#include "core/model/live/standing.h"
#include "core/model/live/transaction.h"

/* What the transaction writes. */
struct settling {
    struct nb_live *live;
    const struct nb_settings *settings;
    struct nb_change change;
    struct nb_ledger_totals before; /* it may be tried twice */
    uint64_t number;                /* of the entry */
};

static int write_entry(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct settling *s = argument;
    struct nb_live *live = s->live;
    struct nb_buffer scratch = {0};
    live->checkpoint.totals = s->before;
    s->change.model = live->number;
    s->change.time = nb_standing_time(engine);
    s->number = nb_serials_entry(&engine->serials);
    int rc =
        nb_ledger_append(view, s->number, &s->change, &live->checkpoint.totals, &scratch, error);
    nb_buffer_deinit(&scratch);
    if (rc == 0)
        rc = nb_put_model(engine, view, live, s->settings, error);
    struct nb_state_record state = nb_checkpoint_state(live, s->number);
    state.tail++;
    return rc != 0 ? rc : nb_put_state(engine, view, live, &state, error);
}

static int commit(struct nb_engine *engine, struct settling *s)
{
    int rc = nb_transaction(engine, 0, write_entry, s, NULL);
    if (rc != 0) {
        s->live->checkpoint.totals = s->before;
        return rc;
    }
    s->live->checkpoint.last = s->number;
    nb_checkpoint_note(engine, s->live, 1);
    return 0;
}

int nb_put_fitted(struct nb_engine *engine, struct nb_live *live,
                  const struct nb_settings *settings)
{
    struct nb_buffer stored = {0};
    struct nb_published *published = nb_published_next(settings, live->key, live->published);
    assert(atomic_load(&live->persisted) && atomic_load(&live->loaded));
    assert(settings->fitted != NULL && settings->parent == NULL);
    int rc = published == NULL ? NB_NO_MEMORY : nb_settings_write(settings, &stored);
    struct settling s = {.live = live,
                         .settings = settings,
                         .change = {.kind = NB_CHANGE_SETTINGS,
                                    .source = nb_string_of("calibration"),
                                    .name = {"", 0},
                                    .settings = {stored.bytes, stored.length}},
                         .before = live->checkpoint.totals};
    if (rc == 0)
        rc = commit(engine, &s);
    if (rc == 0) {
        nb_live_publish(live, published);
        published = NULL;
    }
    nb_published_release(&published);
    nb_buffer_deinit(&stored);
    return rc;
}
