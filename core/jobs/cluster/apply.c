/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/cluster/apply.h"

#include <assert.h>

#include "core/ledger/entries/ledger.h"
#include "core/model/live/state.h"

enum { STEP_DOCUMENTS = 500 };

/* Some documents on their way into a batch. */
struct step {
    const struct nb_cluster_labels *what;
    size_t from, end;
    /* Owned; may have NUL bytes; empty: it was changed or forgotten meanwhile. */
    struct nb_buffer ids[STEP_DOCUMENTS];
};

static void step_deinit(struct step *s)
{
    for (size_t i = s->from; i < s->end; i++)
        nb_buffer_deinit(&s->ids[i - s->from]);
}

static int read_ids(struct nb_engine *engine, struct step *s, struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (size_t i = s->from; rc == 0 && i < s->end; i++) {
        rc = nb_ledger_read(&view, s->what->numbers[i], &entry, error);
        if (rc == 0 && entry.change.kind == NB_CHANGE_TRAIN)
            rc = nb_buffer_append(&s->ids[i - s->from], entry.change.id.bytes,
                                  entry.change.id.length) != 0
                     ? nb_error_no_memory(error)
                     : 0;
        rc = rc == NB_NOT_FOUND ? 0 : rc;
    }
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc;
}

/* Without a snapshot: the writer may wait for its end. */
static int fill_batch(const struct step *s, struct nb_batch *batch, struct nb_error *error)
{
    const struct nb_cluster_labels *what = s->what;
    int rc = 0;
    for (size_t i = s->from; rc == 0 && i < s->end; i++) {
        struct nb_string id = nb_buffer_string(&s->ids[i - s->from]);
        struct nb_string label = what->labels[what->clusters[i]];
        assert(label.length > 0);
        if (id.length > 0)
            rc = nb_batch_label_entry(batch, id, what->numbers[i], label, what->source, error);
    }
    return rc;
}

static int run_step(struct nb_engine *engine, struct step *s, uint64_t *labelled,
                    struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    int rc = nb_batch_new(engine, s->what->model, false, &batch, error);
    if (rc == 0)
        rc = read_ids(engine, s, error);
    if (rc == 0)
        rc = fill_batch(s, batch, error);
    if (rc == 0 && nb_batch_size(batch) > 0) {
        nb_engine_apply(engine, batch);
        rc = nb_batch_count_changed(batch, labelled, error);
    }
    nb_batch_free(&batch);
    return rc;
}

int nb_cluster_apply(struct nb_engine *engine, const struct nb_cluster_labels *what,
                     uint64_t *labelled, struct nb_error *error)
{
    int rc = 0;
    for (size_t from = 0; rc == 0 && from < what->count; from += STEP_DOCUMENTS) {
        size_t left = what->count - from;
        struct step s = {.what = what,
                         .from = from,
                         .end = from + (left < STEP_DOCUMENTS ? left : STEP_DOCUMENTS)};
        if (what->stop != NULL && what->stop(what->user))
            rc = nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        else
            rc = run_step(engine, &s, labelled, error);
        step_deinit(&s);
    }
    return rc;
}
