/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/model_load.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/ledger/ledger.h"
#include "core/ledger/record.h"
#include "core/model/apply.h"
#include "core/model/checkpoint.h"
#include "core/model/refit.h"

struct loading {
    const struct nb_view *view;
    struct nb_live *live;
    struct nb_state_record state;
    uint64_t *marks; /* owned; of each stored range: the last entry that it contains */
    size_t range_count, range_room;
    uint64_t twin_bytes;
};

static int damaged(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s", what);
}

/* ---- records --------------------------------------------------------------------------------- */

int nb_load_settings_in(const struct nb_view *view, const struct nb_live *live,
                        struct nb_settings *settings, struct nb_error *error)
{
    struct nb_string value;
    struct nb_model_record record;
    int rc = nb_store_get(view, NB_TABLE_MODELS, nb_live_name(live), &value, error);
    if (rc == NB_NOT_FOUND)
        return nb_error_set(error, rc, "there is no model '%s'", live->name);
    if (rc == 0)
        rc = nb_model_record_read(&record, value, error);
    return rc != 0 ? rc : nb_settings_read(settings, record.settings, error);
}

int nb_load_settings(struct nb_engine *engine, const struct nb_live *live,
                     struct nb_settings *settings, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_load_settings_in(&view, live, settings, error);
    nb_store_snapshot_end(&view);
    return rc;
}

static int load_state(struct loading *l, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(l->live->number);
    struct nb_string stored;
    int rc = nb_store_get(l->view, NB_TABLE_STATE, nb_store_key_string(&key), &stored, error);
    if (rc == NB_NOT_FOUND)
        return damaged(error, "a model's state is missing");
    return rc != 0 ? rc : nb_state_read(&l->state, stored, error);
}

static int load_label(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct loading *l = user;
    struct nb_label_record record;
    struct nb_model *counts = l->live->counts;
    uint32_t expected = nb_model_label_count(counts);
    uint32_t label;
    int rc = nb_label_read(&record, value, error);
    if (rc != 0)
        return rc;
    rc = nb_model_label(counts, record.name, &label);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc != 0 || label != expected || nb_store_key_tail(key) != label)
        return damaged(error, "labels out of order");
    nb_model_add_documents(counts, label, (int64_t)record.documents);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int load_range(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct loading *l = user;
    if (nb_array_reserve(&l->marks, &l->range_room, l->range_count + 1, sizeof *l->marks) != 0)
        return nb_error_no_memory(error);
    if (nb_store_key_tail(key) != l->range_count)
        return damaged(error, "a range of rows is missing");
    int rc = nb_range_read(l->live->counts, (uint32_t)l->range_count * NB_RANGE_ROWS, value,
                           &l->marks[l->range_count], error);
    l->range_count++;
    return rc;
}

static int load_ranges(struct loading *l, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(l->live->number);
    struct nb_string prefix = nb_store_key_string(&key);
    if (nb_model_begin_loading(l->live->counts, l->state.rows) != 0)
        return nb_error_no_memory(error);
    int rc = nb_store_scan(l->view, NB_TABLE_ROWS, prefix, prefix.length, load_range, l, error);
    int ended = nb_model_end_loading(l->live->counts);
    return rc == 0 && ended != 0 ? damaged(error, "a feature has two rows") : rc;
}

/* Reports where missing rows were lost: in the ranges, or in the entries after them. */
static int check_rows(const struct loading *l, struct nb_error *error)
{
    uint32_t rows = nb_model_rows(l->live->counts);
    if (rows == l->state.rows)
        return 0;
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: %" PRIu32 " features read back, %" PRIu32
                        " were written (%zu ranges, the last as of entry %" PRIu64
                        "; entries from %" PRIu64 " to %" PRIu64 ")",
                        rows, l->state.rows, l->range_count,
                        l->range_count == 0 ? 0 : l->marks[l->range_count - 1], l->state.replay,
                        l->state.last);
}

/* Applies the entries that came after the checkpoint. */
static int replay_tail(struct loading *l, struct nb_error *error)
{
    struct nb_replay replay = {.live = l->live,
                               .view = l->view,
                               .coder = nb_features_coder_new(),
                               .is_behind = true,
                               .marks = l->marks,
                               .mark_count = l->range_count};
    if (replay.coder == NULL)
        return nb_error_no_memory(error);
    int rc = nb_replay_from(&replay, l->state.replay, error);
    nb_replay_deinit(&replay);
    nb_features_coder_free(&replay.coder);
    return rc;
}

static int load_rows(struct loading *l, struct nb_error *error)
{
    int rc = load_ranges(l, error);
    if (rc == 0)
        rc = replay_tail(l, error);
    if (rc == 0 && nb_model_collect_dropped(l->live->counts) != 0)
        rc = nb_error_no_memory(error);
    return rc == 0 ? check_rows(l, error) : rc;
}

/* ---- indexes --------------------------------------------------------------------------------- */

static int count_row(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    uint64_t *rows = user;
    (void)key;
    (void)value;
    (void)error;
    ++*rows;
    return 0;
}

/* A record with a damaged key would not be found, and nothing else would show it: a document could
 * be learned twice, a weight would be at its start value. So the records are counted and their
 * checksums verified, 0.1 us each. */
static int check_indexes(const struct loading *l, struct nb_error *error)
{
    const struct nb_ledger_totals *totals = &l->state.totals;
    const struct {
        enum nb_table table;
        uint64_t rows;
    } expected[] = {{NB_TABLE_ENTRIES, totals->entries},
                    {NB_TABLE_DOCUMENTS, totals->current},
                    {NB_TABLE_SCORES, totals->scores},
                    {NB_TABLE_WEIGHTS, l->state.weights}};
    struct nb_store_key key = nb_store_key_model(l->live->number);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof expected / sizeof *expected; i++) {
        uint64_t rows = 0;
        rc = nb_store_scan(l->view, expected[i].table, nb_store_key_string(&key), key.length,
                           count_row, &rows, error);
        if (rc == 0 && rows != expected[i].rows)
            rc = nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: table %s has %" PRIu64 " rows, not %" PRIu64,
                              nb_store_table_name(expected[i].table), rows, expected[i].rows);
    }
    return rc;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Reads a record of weights. A model that was never stacked has none, and keeps the start values.
 */
static int load_weights(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct loading *l = user;
    int rc = nb_stack_weights_read_record(l->live->published->weights,
                                          (uint32_t)nb_store_key_tail(key), value);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0 : damaged(error, "the weights of a stack do not read back");
}

/* ---- pairs of values ------------------------------------------------------------------------- */

static int load_pairs(struct loading *l, struct nb_error *error)
{
    struct nb_pairs *pairs;
    int rc = nb_ledger_pairs(l->view, l->live->number, l->live->counts,
                             &l->live->published->settings, &pairs, error);
    if (rc == 0 && pairs != NULL)
        nb_model_put_pairs(l->live->counts, &pairs);
    return rc;
}

/* ---- the whole model ------------------------------------------------------------------------- */

static int load_all(struct loading *l, struct nb_error *error)
{
    struct nb_settings settings;
    struct nb_store_key key = nb_store_key_model(l->live->number);
    struct nb_string prefix = nb_store_key_string(&key);
    int rc = nb_load_settings_in(l->view, l->live, &settings, error);
    if (rc != 0)
        return rc;
    rc = nb_settings_check_tokenizer(&settings, error);
    if (rc != 0) {
        nb_settings_deinit(&settings);
        return rc;
    }
    l->live->published = nb_published_new(&settings, l->live->key);
    l->live->counts = nb_model_new();
    nb_settings_deinit(&settings);
    if (l->live->published == NULL || l->live->counts == NULL)
        return nb_error_no_memory(error);
    rc = load_state(l, error);
    if (rc == 0)
        rc = nb_store_scan(l->view, NB_TABLE_LABELS, prefix, prefix.length, load_label, l, error);
    if (rc == 0 && nb_model_label_count(l->live->counts) != l->state.labels)
        rc = damaged(error, "a label is missing");
    if (rc == 0)
        rc =
            nb_store_scan(l->view, NB_TABLE_WEIGHTS, prefix, prefix.length, load_weights, l, error);
    if (rc == 0)
        rc = nb_twin_log_load(l->view, l->live->number, &l->state.twin, l->live->published->weights,
                              &l->twin_bytes, error);
    if (rc == 0)
        rc = check_indexes(l, error);
    if (rc == 0)
        rc = load_rows(l, error);
    if (rc == 0 && nb_model_documents_all(l->live->counts) !=
                       l->state.totals.current - l->state.totals.unlabelled)
        rc = damaged(error, "the labels' documents do not sum to those of the model");
    return rc != 0 ? rc : load_pairs(l, error);
}

static void take_state(const struct loading *l)
{
    struct nb_checkpoint *c = &l->live->checkpoint;
    c->last = l->state.last;
    c->replay = l->state.replay;
    c->tail = l->state.tail;
    c->weights = l->state.weights;
    c->totals = l->state.totals;
    atomic_store(&l->live->unlabelled, c->totals.unlabelled);
    c->twin = (struct nb_twin_log){.stored = l->state.twin, .bytes = l->twin_bytes};
    c->garbage = true;
    l->live->labels_stored = l->state.labels;
}

int nb_load_model(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    struct nb_view view;
    struct loading l = {.view = &view, .live = live};
    assert(live->counts == NULL && live->published == NULL);
    free(live->checkpoint.dirty);
    live->checkpoint = (struct nb_checkpoint){.replay = 1};
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        rc = load_all(&l, error);
        nb_store_snapshot_end(&view);
    }
    if (rc == 0) {
        take_state(&l);
        nb_refit_note(live);
    } else {
        nb_model_free(&live->counts);
        nb_published_release(&live->published);
    }
    free(l.marks);
    return rc;
}
