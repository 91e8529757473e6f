/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/merge/merge.h"

#include "core/ledger/entries/ledger.h"
#include "core/model/live/label_there.h"
#include "core/model/live/relay.h"
#include "core/model/registry/registry.h"

enum { STEP_DOCUMENTS = 500, ENDED = 1 };

struct merging {
    struct nb_engine *engine;
    const struct nb_merge_wish *wish;
    struct nb_live *live;
    uint32_t from;  /* number of the label */
    uint64_t next;  /* entry that is looked at next */
    bool has_ended; /* all were */
    struct nb_view view;
    /* Of the step: */
    size_t count;
    uint64_t numbers[STEP_DOCUMENTS];
    struct nb_buffer ids[STEP_DOCUMENTS]; /* an id may have NUL bytes; reused */
};

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct merging *m = user;
    if (m->count == STEP_DOCUMENTS || nb_store_wanted(&m->view))
        return ENDED;
    m->next = entry->number + 1;
    if (entry->change.label != m->from)
        return 0;
    struct nb_buffer *id = &m->ids[m->count];
    id->length = 0;
    if (nb_buffer_append(id, entry->change.id.bytes, entry->change.id.length) != 0)
        return nb_error_no_memory(error);
    m->numbers[m->count++] = entry->number;
    return 0;
}

static int find_some(struct merging *m, struct nb_error *error)
{
    struct nb_error why;
    int rc = nb_store_snapshot(m->engine->store, &m->view, error);
    if (rc != 0)
        return rc;
    rc = nb_ledger_walk_only(&m->view, m->live->number, m->next, NB_LEDGER_LABELLED, take, m, &why);
    nb_store_snapshot_end(&m->view);
    m->has_ended = rc == 0;
    return rc >= 0 ? 0 : nb_live_note(m->live, rc, &why, error);
}

static int fill_batch(const struct merging *m, struct nb_batch *batch, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->count; i++)
        rc = nb_batch_label_entry(batch, nb_buffer_string(&m->ids[i]), m->numbers[i], m->wish->into,
                                  m->wish->source, error);
    return rc;
}

static int run_step(struct merging *m, uint64_t *merged, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    int rc = nb_batch_new(m->engine, m->wish->model, false, &batch, error);
    if (rc == 0)
        rc = find_some(m, error);
    if (rc == 0)
        rc = fill_batch(m, batch, error);
    if (rc == 0 && m->count > 0) {
        nb_engine_apply(m->engine, batch);
        rc = nb_batch_count_changed(batch, merged, error);
    }
    nb_batch_free(&batch);
    m->count = 0;
    return rc;
}

static int find_label(const struct merging *m, struct nb_string name, uint32_t *label,
                      struct nb_error *error)
{
    nb_model_read_lock(m->live->counts);
    int rc = nb_live_label(m->live, name, label, error);
    nb_model_unlock(m->live->counts);
    return rc;
}

static int begin(struct merging *m, struct nb_error *error)
{
    const struct nb_merge_wish *w = m->wish;
    uint32_t into;
    if (nb_string_same(w->from, w->into))
        return nb_error_set(error, NB_UNUSABLE, "a label is not merged with itself");
    int rc = nb_check_source(w->source, error);
    if (rc == 0)
        rc = nb_registry_acquire(m->engine, w->model, false, &m->live, error);
    if (rc == 0)
        rc = find_label(m, w->from, &m->from, error);
    return rc != 0 ? rc : find_label(m, w->into, &into, error);
}

int nb_label_merge(struct nb_engine *engine, const struct nb_merge_wish *wish, uint64_t *merged,
                   struct nb_error *error)
{
    struct merging m = {.engine = engine, .wish = wish};
    *merged = 0;
    int rc = nb_relay_catch_up(engine, wish->model, error);
    if (rc == 0)
        rc = begin(&m, error);
    while (rc == 0 && !m.has_ended) {
        if (wish->stop != NULL && wish->stop(wish->user))
            rc = nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        else
            rc = run_step(&m, merged, error);
    }
    for (size_t i = 0; i < STEP_DOCUMENTS; i++)
        nb_buffer_deinit(&m.ids[i]);
    nb_registry_release(engine, &m.live);
    return rc;
}
