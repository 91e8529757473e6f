/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>

#include "core/archive/repair/rebuilding.h"
#include "core/ledger/entries/range.h"
#include "core/model/live/checkpoint.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/records.h"
#include "core/model/live/twin_log.h"

enum { BATCH_RANGES = 256, RANGE_BYTES = 32768 };

/* ---- weights of the old store ---------------------------------------------------------------- */

struct reading {
    struct nb_stack_weights *weights;
    uint32_t records;
};

static int read_record(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct reading *reading = user;
    reading->records++;
    (void)error;
    return nb_stack_weights_read_record(reading->weights, (uint32_t)nb_store_key_tail(key), value);
}

/* Reads the weights of the old store, which must be undamaged, into the new model's weights. */
static int read_weights(struct nb_rebuilding *r, const struct nb_state_record *old)
{
    struct nb_live *made = r->replayed.live;
    struct nb_store_key key = nb_store_key_model(made->number);
    struct nb_published *read = nb_published_new(&made->published->settings, made->key);
    struct nb_buffer bytes = {0};
    struct nb_packer p = {.out = &bytes};
    struct nb_error why;
    if (read == NULL)
        return NB_NO_MEMORY;
    struct reading reading = {.weights = read->weights};
    int rc = nb_store_scan(r->view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), key.length,
                           read_record, &reading, NULL);
    if (rc == 0 && reading.records != old->weights)
        rc = NB_CORRUPT;
    if (rc == 0)
        rc = nb_twin_log_load(r->view, made->number, &old->twin, read->weights, NULL, &why);
    if (rc == 0)
        nb_stack_weights_write(read->weights, &p);
    struct nb_unpacker u = nb_unpacker_of(bytes.bytes, bytes.length);
    if (rc == 0)
        rc = p.code != 0 ? p.code : nb_stack_weights_read(made->published->weights, &u);
    nb_buffer_deinit(&bytes);
    nb_published_release(&read);
    return rc;
}

static int read_state(const struct nb_rebuilding *r, struct nb_state_record *state)
{
    struct nb_store_key key = nb_store_key_model(r->replayed.live->number);
    struct nb_string value;
    int rc = nb_store_get(r->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, NULL);
    return rc != 0 ? rc : nb_state_read(state, value, NULL);
}

/* Keeps the old store's weights, if they are readable, where the ledger cannot teach them again
 * because it no longer has the documents that taught them. */
static int keep_weights(struct nb_rebuilding *r, struct nb_error *error)
{
    struct nb_live *made = r->replayed.live;
    struct nb_state_record old = {.weights = 0};
    int rc = read_state(r, &old);
    if (rc == 0 && (old.weights == 0 || (!r->replayed.is_partial && old.totals.dropped == 0)))
        return 0;
    if (rc == 0)
        rc = read_weights(r, &old);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == 0) {
        r->replayed.has_weights = true;
        made->checkpoint.totals.dropped = old.totals.dropped;
    } else if (r->replayed.has_weights || nb_published_is_stacked(made->published)) {
        nb_differ(r->d,
                  "model '%s': the weights of its stack do not read back, and are learned anew "
                  "from the documents that the ledger has",
                  made->name);
    }
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_records(struct nb_engine *to, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    struct nb_rebuilding *r = argument;
    struct nb_live *live = r->replayed.live;
    struct nb_checkpoint *c = &live->checkpoint;
    assert(live != NULL && live->number == r->model->number);
    c->last = r->replayed.last;
    c->replay = c->last + 1;
    c->tail = 0;
    uint64_t dropped = c->totals.dropped;
    c->totals = r->models[r->model - r->survey.models].totals;
    c->totals.dropped = dropped;
    c->weights = 0;
    c->twin = (struct nb_twin_log){.bytes = 0};
    int rc = nb_put_model(to, view, live, &live->published->settings, error);
    for (uint32_t i = 0; rc == 0 && i < nb_model_label_count(live->counts); i++)
        rc = nb_put_label(to, view, live, i, error);
    if (rc == 0 && r->replayed.has_weights)
        rc = nb_put_weights(to, view, live, error);
    if (rc == 0 && r->replayed.has_weights)
        rc = nb_twin_log_put(to, view, live, error);
    struct nb_state_record state = nb_checkpoint_state(live, c->last);
    return rc != 0 ? rc : nb_put_state(to, view, live, &state, error);
}

static int write_ranges(struct nb_engine *to, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct nb_rebuilding *r = argument;
    const struct nb_live *live = r->replayed.live;
    uint32_t ranges = nb_ranges_of(nb_model_rows(live->counts));
    int rc = 0;
    assert(r->range % BATCH_RANGES == 0);
    for (uint32_t i = r->range; rc == 0 && i < ranges && i < r->range + BATCH_RANGES; i++) {
        uint32_t first = i * NB_RANGE_ROWS;
        uint32_t left = nb_model_rows(live->counts) - first;
        struct nb_store_key key = nb_store_key_number(live->number, i);
        r->scratch.length = 0;
        if (nb_range_write(live->counts, first, left < NB_RANGE_ROWS ? left : NB_RANGE_ROWS,
                           r->replayed.last, &r->scratch) != 0)
            return nb_error_no_memory(error);
        rc = nb_store_put(view, NB_TABLE_ROWS, nb_store_key_string(&key),
                          (struct nb_string){r->scratch.bytes, r->scratch.length}, error);
    }
    (void)to;
    return rc;
}

static void skipped(void *user, uint64_t entry, const struct nb_error *why)
{
    struct nb_rebuilding *r = user;
    nb_differ(r->d, "model '%.*s', entry %" PRIu64 ": %s", (int)r->model->name.length,
              r->model->name.bytes, entry, why->text);
}

static int write_model(struct nb_rebuilding *r, struct nb_error *error)
{
    struct nb_view view;
    struct nb_string name = {r->model->name.bytes, r->model->name.length};
    int rc = nb_store_snapshot(r->to->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_replay_model(r->to, &view, r->model->number, name, &r->model->own, skipped, r,
                         &r->replayed, error);
    nb_store_snapshot_end(&view);
    if (rc == 0)
        rc = keep_weights(r, error);
    if (rc == 0)
        rc = nb_transaction(r->to, 0, write_records, r, error);
    uint32_t ranges = rc == 0 ? nb_ranges_of(nb_model_rows(r->replayed.live->counts)) : 0;
    for (r->range = 0; rc == 0 && r->range < ranges; r->range += BATCH_RANGES)
        rc = nb_transaction(r->to, (uint64_t)BATCH_RANGES * RANGE_BYTES, write_ranges, r, error);
    nb_replay_deinit(&r->replayed);
    if (r->replayed.live != NULL)
        nb_live_free(r->replayed.live);
    r->replayed.live = NULL;
    return rc;
}

int nb_rebuild_models(struct nb_rebuilding *rebuilding, struct nb_error *error)
{
    struct nb_rebuilding *r = rebuilding;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->survey.model_count; i++) {
        r->model = &r->survey.models[i];
        if (nb_surveyed_exists(r->model))
            rc = write_model(r, error);
    }
    return rc;
}
