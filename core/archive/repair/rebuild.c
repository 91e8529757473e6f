/* SPDX-License-Identifier: Apache-2.0
 *
 * Rebuilding: copies the entries of the ledger with their index rows into a new store, replays
 * every model from them and writes it there, too. Then the new file replaces the old one, which is
 * kept as data.mdb.old.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/repair/restore.h"
#include "core/archive/repair/verify.h"
#include "core/base/array.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/ledger/quarantine_entries.h"
#include "core/ledger/record.h"
#include "core/ledger/survey.h"
#include "core/model/apply.h"
#include "core/model/checkpoint.h"
#include "core/model/model_transaction.h"
#include "core/model/relayed.h"
#include "core/networks/network/named.h"
#include "core/writer/remember.h"

/* The state of a model while its entries are copied. */
struct rebuilt_model {
    struct nb_ledger_totals totals;
    uint32_t labels;
    unsigned char *known; /* owned; a bit for each row that an entry has brought */
    size_t known_room;
};

/* A missing row to which this transaction has given a substitute id. */
struct filled_row {
    struct rebuilt_model *model;
    uint32_t row;
};

struct rebuilding {
    struct nb_engine *from, *to;
    const struct nb_view *view; /* a view of the store of `from` */
    struct nb_survey survey;
    struct nb_differences *d;
    struct rebuilt_model *models; /* owned; in the order of survey.models */
    struct rebuilt_model nobody;  /* for entries that belong to no model */
    struct nb_rows rows, bag, missing;
    struct nb_entry entry;
    struct nb_buffer scratch, features, new_rows;
    struct filled_row *filled; /* owned */
    size_t filled_count, filled_room;
    size_t at, end;    /* the entries of the survey that the present transaction copies */
    uint64_t previous; /* number of the entry that was copied last */
    uint64_t gap;      /* a free number, that of a lost entry */
    /* The model that is being written. */
    struct nb_replay replayed;
    const struct nb_surveyed_model *model;
    uint32_t range;
};

/* ---- the quarantine and the history ---------------------------------------------------------- */

enum { VALUE_EXTRA = 1024 }; /* bytes that a value takes in other tables */

struct copying {
    struct nb_filling filling;
    const struct nb_survey *survey;
    struct nb_differences *d;
};

static bool exists(const struct copying *c, uint32_t number)
{
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, number);
    return model != NULL && nb_surveyed_exists(model);
}

static int copy_change(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    struct copying *c = user;
    struct nb_quarantined quarantined;
    (void)table;
    if (!sound || nb_quarantined_read(&quarantined, value, NULL) != 0) {
        nb_lose(c->d, "a change in the quarantine is lost");
        return 0;
    }
    uint32_t model = nb_store_key_head(key);
    if (!exists(c, model))
        return 0;
    int rc = nb_filling_room(&c->filling, value.length + VALUE_EXTRA, error);
    struct nb_string id = nb_string_from(key, sizeof model);
    return rc != 0 ? rc : nb_quarantine_put(&c->filling.view, model, id, value, error);
}

/* Copies a verdict under a new number. Verdicts come in the order of their old numbers. */
static int copy_verdict(void *user, enum nb_table table, struct nb_string key,
                        struct nb_string value, bool sound, struct nb_error *error)
{
    struct copying *c = user;
    struct nb_history_record record;
    uint32_t model = nb_store_key_head(key);
    (void)table;
    if (!sound || nb_history_read(&record, value, NULL) != 0) {
        nb_differ(c->d, "a verdict in the history is lost");
        return 0;
    }
    if (!exists(c, model))
        return 0;
    int rc = nb_filling_room(&c->filling, value.length + VALUE_EXTRA, error);
    return rc != 0 ? rc : nb_history_put(&c->filling.view, model, record.id, value, error);
}

/* Copies a table. If its pages are damaged, the whole table is lost. */
static int copy_table(struct copying *c, const struct nb_view *from, enum nb_table table,
                      nb_store_inspector *copy, struct nb_error *error)
{
    int rc = nb_store_inspect(from, table, copy, c, error);
    if (rc != NB_CORRUPT)
        return rc;
    nb_lose(c->d, "table %s cannot be read", nb_store_table_name(table));
    return 0;
}

/* Copies the waiting changes and the stored verdicts of existing models, which the ledger does not
 * have. Unreadable ones are lost, and reported. Returns 0 or a code. */
static int copy_held(const struct nb_view *from, struct nb_store *to,
                     const struct nb_survey *survey, struct nb_differences *d,
                     struct nb_error *error)
{
    struct copying c = {.filling = {.store = to}, .survey = survey, .d = d};
    struct nb_error why;
    int rc = copy_table(&c, from, NB_TABLE_QUARANTINE, copy_change, &why);
    if (rc == 0)
        rc = copy_table(&c, from, NB_TABLE_HISTORY, copy_verdict, &why);
    rc = nb_filling_end(&c.filling, rc, &why);
    return rc != 0 ? nb_error_set(error, rc, "%s", why.text) : 0;
}

/* ---- entries, and contents of lost ones ------------------------------------------------------ */

enum { BATCH_ENTRIES = 2000, ENTRY_BYTES = 8192 };

static bool is_about_label(const struct nb_change *c)
{
    return c->kind == NB_CHANGE_TRAIN || c->kind == NB_CHANGE_UNTRAIN ||
           c->kind == NB_CHANGE_RENAME_LABEL ||
           (c->kind == NB_CHANGE_FEATURES && c->label_name.length > 0);
}

static bool is_known(const struct rebuilt_model *m, uint32_t row)
{
    return row / 8 < m->known_room && (m->known[row / 8] >> row % 8 & 1) != 0;
}

static void set_known(struct rebuilt_model *m, uint32_t row, bool known)
{
    unsigned char bit = (unsigned char)(1u << row % 8);
    m->known[row / 8] = (unsigned char)(known ? m->known[row / 8] | bit : m->known[row / 8] & ~bit);
}

static int know(struct rebuilt_model *m, const struct nb_rows *rows)
{
    size_t before = m->known_room;
    size_t bytes = rows->size == 0 ? 0 : rows->counts[rows->size - 1].row / 8 + (size_t)1;
    if (nb_array_reserve(&m->known, &m->known_room, bytes, 1) != 0)
        return NB_NO_MEMORY;
    if (m->known_room > before)
        memset(m->known + before, 0, m->known_room - before);
    for (size_t i = 0; i < rows->size; i++)
        set_known(m, rows->counts[i].row, true);
    return 0;
}

/* Notes the rows that an entry brings, and collects the rows in its bag that no entry has brought.
 */
static int find_missing(struct rebuilding *r, struct rebuilt_model *m, const struct nb_change *c,
                        struct nb_error *error)
{
    r->missing.size = 0;
    int rc = c->new_count == 0 ? 0 : nb_change_new_rows(c, UINT32_MAX - 2, &r->rows, error);
    if (rc == 0 && c->new_count > 0 && know(m, &r->rows) != 0)
        return nb_error_no_memory(error);
    if (rc != 0 || c->kind != NB_CHANGE_TRAIN)
        return rc;
    rc = nb_bag_decode(c->bag, UINT32_MAX - 2, &r->bag, error);
    for (size_t i = 0; rc == 0 && i < r->bag.size; i++)
        if (!is_known(m, r->bag.counts[i].row) &&
            nb_rows_add(&r->missing, r->bag.counts[i].row, 1) != 0)
            return nb_error_no_memory(error);
    return rc;
}

static int encode_missing(struct rebuilding *r, const struct nb_change *c)
{
    size_t count = r->missing.size;
    uint64_t *ids = malloc((count + 1) * sizeof *ids);
    r->features.length = r->new_rows.length = 0;
    if (ids == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint64_t what[2] = {c->model, r->missing.counts[i].row};
        ids[i] = nb_feature_id(NB_FIELD_BODY, nb_key_hash(&r->to->key, what, sizeof what));
    }
    int rc = count == 0 ? 0 : nb_features_encode(r->to->coder, ids, NULL, count, &r->features);
    if (rc == 0)
        rc = nb_bag_encode(&r->missing, &r->new_rows);
    free(ids);
    return rc;
}

/* Notes which rows got substitute ids. A transaction that is repeated then finds the same rows
 * missing again. */
static int note_filled(struct rebuilding *r, struct rebuilt_model *m)
{
    if (know(m, &r->missing) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < r->missing.size; i++) {
        if (nb_array_reserve(&r->filled, &r->filled_room, r->filled_count + 1, sizeof *r->filled) !=
            0)
            return NB_NO_MEMORY;
        r->filled[r->filled_count++] = (struct filled_row){m, r->missing.counts[i].row};
    }
    return 0;
}

/* Writes a substitute for a lost entry that brought rows or a label which this entry needs. The
 * substitute gives the rows ids that no text has, and the label a name that tells of the loss. */
static int fill_gap(struct rebuilding *r, struct nb_view *view, struct rebuilt_model *m,
                    const struct nb_change *c, struct nb_error *error)
{
    char name[32];
    /* Number of labels that must exist before this entry. */
    uint32_t needed = c->label == NB_NO_LABEL ? 0 : c->label + (c->label_name.length == 0);
    bool label = is_about_label(c) && m->labels < needed;
    int rc = find_missing(r, m, c, error);
    uint32_t missing = (uint32_t)r->missing.size;
    if (rc != 0 || (missing == 0 && !label) || r->gap == 0)
        return rc;
    if (encode_missing(r, c) != 0 || note_filled(r, m) != 0)
        return nb_error_no_memory(error);
    int length = snprintf(name, sizeof name, "lost label %" PRIu32, m->labels);
    struct nb_entry lost = {.number = r->gap,
                            .change = {.kind = NB_CHANGE_FEATURES,
                                       .model = c->model,
                                       .time = c->time,
                                       .label = m->labels,
                                       .label_name = {name, label ? (size_t)length : 0},
                                       .first_row = missing > 0 ? r->missing.counts[0].row : 0,
                                       .new_count = missing,
                                       .features = {r->features.bytes, r->features.length},
                                       .new_rows = {r->new_rows.bytes, r->new_rows.length}}};
    nb_differ(r->d, "model %" PRIu32 ": %" PRIu32 " features%s have lost their text", c->model,
              missing, label ? " and a label" : "");
    m->labels += label;
    r->gap = 0;
    return nb_ledger_copy(view, &lost, &m->totals, &r->scratch, error);
}

static int copy_entry(struct rebuilding *r, struct nb_view *view, uint64_t number,
                      struct nb_error *error)
{
    const struct nb_change *c = &r->entry.change;
    assert(number > r->previous);
    int rc = nb_ledger_read(r->view, number, &r->entry, error);
    if (rc == NB_NOT_FOUND || rc == NB_CORRUPT) {
        nb_lose(r->d, "ledger entry %" PRIu64 " is lost", number);
        return 0; /* the survey could read the entry, but a search cannot find it */
    }
    if (rc != 0)
        return rc;
    if (number > r->previous + 1)
        r->gap = r->previous + 1;
    const struct nb_surveyed_model *model = nb_survey_model(&r->survey, c->model);
    bool gone = model == NULL || !nb_surveyed_exists(model);
    if (gone && c->kind != NB_CHANGE_DELETE)
        return 0;
    struct rebuilt_model *m = gone ? &r->nobody : &r->models[model - r->survey.models];
    if (!gone)
        rc = fill_gap(r, view, m, c, error);
    if (rc == 0)
        rc = nb_ledger_copy(view, &r->entry, &m->totals, &r->scratch, error);
    if (c->label_name.length > 0 && c->kind != NB_CHANGE_RENAME_LABEL && c->label >= m->labels)
        m->labels = c->label + 1;
    r->previous = number;
    return rc;
}

/* The counts before a batch, from which a repeated transaction starts again. */
struct entries_copying {
    struct rebuilding *rebuild;
    struct rebuilt_model *saved;
    uint64_t previous, gap;
};

static int copy_batch(struct nb_engine *to, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct entries_copying *c = argument;
    struct rebuilding *r = c->rebuild;
    int rc = 0;
    (void)to;
    for (size_t i = 0; i < r->survey.model_count; i++) {
        r->models[i].totals = c->saved[i].totals;
        r->models[i].labels = c->saved[i].labels;
    }
    for (size_t i = 0; i < r->filled_count; i++)
        set_known(r->filled[i].model, r->filled[i].row, false);
    r->filled_count = 0;
    r->previous = c->previous;
    r->gap = c->gap;
    for (size_t i = r->at; rc == 0 && i < r->end; i++)
        rc = copy_entry(r, view, r->survey.entries[i].number, error);
    return rc;
}

/* Copies the entries of the survey into the new store, with their index rows. Reports losses.
 * Returns 0 or a code. */
static int rebuild_entries(struct rebuilding *r, struct nb_error *error)
{
    size_t size = (r->survey.model_count + 1) * sizeof *r->models;
    struct entries_copying c = {.rebuild = r, .saved = malloc(size)};
    if (c.saved == NULL)
        return nb_error_no_memory(error);
    int rc = 0;
    for (r->at = 0; rc == 0 && r->at < r->survey.entry_count; r->at = r->end) {
        size_t left = r->survey.entry_count - r->at;
        r->end = r->at + (left < BATCH_ENTRIES ? left : BATCH_ENTRIES);
        memcpy(c.saved, r->models, size);
        c.previous = r->previous;
        c.gap = r->gap;
        r->filled_count = 0;
        rc = nb_transaction(r->to, (uint64_t)BATCH_ENTRIES * ENTRY_BYTES, copy_batch, &c, error);
    }
    free(c.saved);
    return rc;
}

/* ---- models ---------------------------------------------------------------------------------- */

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
static int read_weights(struct rebuilding *r, const struct nb_state_record *old)
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

static int read_state(const struct rebuilding *r, struct nb_state_record *state)
{
    struct nb_store_key key = nb_store_key_model(r->replayed.live->number);
    struct nb_string value;
    int rc = nb_store_get(r->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, NULL);
    return rc != 0 ? rc : nb_state_read(state, value, NULL);
}

/* Keeps the old store's weights, if they are readable and of this version, for a model whose ledger
 * no longer has all the documents that taught them. */
static int keep_weights(struct rebuilding *r, struct nb_error *error)
{
    struct nb_live *made = r->replayed.live;
    struct nb_state_record old = {.weights = 0};
    int rc = read_state(r, &old);
    if (rc == 0 && (old.weights == 0 || old.version != NB_DERIVED_VERSION ||
                    (!r->replayed.is_partial && old.totals.dropped == 0)))
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
                  "model '%s': its weights do not read back, and are learned anew from the "
                  "documents that the ledger has",
                  made->name);
    }
    return 0;
}

static int write_records(struct nb_engine *to, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    struct rebuilding *r = argument;
    struct nb_live *live = r->replayed.live;
    struct nb_checkpoint *c = &live->checkpoint;
    assert(live != NULL && live->number == r->model->number);
    uint64_t dropped = c->totals.dropped;
    c->totals = r->models[r->model - r->survey.models].totals;
    c->totals.dropped = dropped;
    return nb_replayed_put_records(to, view, live, r->replayed.has_weights, error);
}

static int write_ranges(struct nb_engine *to, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    const struct rebuilding *r = argument;
    return nb_replayed_put_ranges(to, view, r->replayed.live, r->range, error);
}

static void skipped(void *user, uint64_t entry, const struct nb_error *why)
{
    struct rebuilding *r = user;
    nb_differ(r->d, "model '%.*s', entry %" PRIu64 ": %s", (int)r->model->name.length,
              r->model->name.bytes, entry, why->text);
}

static int write_model(struct rebuilding *r, struct nb_error *error)
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
        r->replayed.live->checkpoint.last = r->replayed.last;
    if (rc == 0)
        rc = nb_transaction(r->to, 0, write_records, r, error);
    uint32_t ranges = rc == 0 ? nb_ranges_of(nb_model_rows(r->replayed.live->counts)) : 0;
    for (r->range = 0; rc == 0 && r->range < ranges; r->range += NB_REPLAYED_RANGES)
        rc = nb_transaction(r->to, (uint64_t)NB_REPLAYED_RANGES * NB_REPLAYED_RANGE_BYTES,
                            write_ranges, r, error);
    nb_replay_deinit(&r->replayed);
    if (r->replayed.live != NULL)
        nb_live_free(r->replayed.live);
    r->replayed.live = NULL;
    return rc;
}

/* Replays every model from the entries of the new store, and writes its counts, labels and weights
 * there. Keeps the old store's weights if the ledger can no longer teach them. Returns 0 or a code.
 */
static int rebuild_models(struct rebuilding *r, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->survey.model_count; i++) {
        r->model = &r->survey.models[i];
        if (nb_surveyed_exists(r->model))
            rc = write_model(r, error);
    }
    return rc;
}

/* ---- properties of the whole store ----------------------------------------------------------- */

/* Writes the data of the whole store. New numbers will follow those of the old store, so that no
 * number is used twice. */
static int write_identity(struct nb_engine *to, struct nb_view *view, void *argument,
                          struct nb_error *error)
{
    struct rebuilding *r = argument;
    uint32_t model = r->from->serials.model;
    const struct nb_survey *survey = &r->survey;
    if (survey->model_count > 0 && survey->models[survey->model_count - 1].number > model)
        model = survey->models[survey->model_count - 1].number;
    to->serials.entry = survey->newest;
    to->serials.model = model == 0 ? 0 : model - 1;
    int rc = nb_put_identity(to, view, error);
    return rc == 0 && model != 0 ? nb_serials_model(&to->serials, view, &model, error) : rc;
}

/* Copies a node's place in the stream if its store has lost nothing, so that the node continues
 * there. Losses of a store without a place were reported already. */
static int write_place(struct nb_engine *to, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct rebuilding *r = argument;
    struct nb_error why;
    int rc = r->d->lost == 0 ? nb_stream_states_copy(r->view, view, &why) : NB_CORRUPT;
    (void)to;
    if (rc == NB_CORRUPT && r->from->stream_states.is_known)
        nb_differ(r->d, "the place among the other nodes is given up with what is lost: this "
                        "node joins again with an empty store, or the backup of another node");
    return rc == 0 || rc == NB_CORRUPT ? 0 : nb_error_set(error, rc, "%s", why.text);
}

/* ---- the whole job --------------------------------------------------------------------------- */

/* Compares the store with its ledger as far as possible, and surveys the ledger. */
static int open_old(const struct nb_engine_settings *settings, struct rebuilding *r,
                    struct nb_view *view, struct nb_error *error)
{
    struct nb_error why;
    uint32_t damaged = 0;
    int rc = nb_engine_open_existing(settings, &r->from, &why);
    if (rc == 0)
        rc = nb_compare(r->from, &r->survey, r->d, error);
    else if (rc == NB_CORRUPT)
        rc = nb_engine_open_damaged(settings, &r->from, &damaged, error);
    else
        return nb_error_set(error, rc, "%s", why.text);
    if (rc == 0)
        rc = nb_store_snapshot(r->from->store, view, error);
    if (rc != 0 || r->survey.newest != 0)
        return rc;
    nb_differ(r->d, "%s", why.text);
    if (damaged & 1u << NB_TABLE_LEDGER)
        return nb_error_set(error, NB_CORRUPT,
                            "%s: the ledger's own pages are damaged: restore a backup", why.text);
    return nb_survey_read(view, &r->survey, nb_lose_entry, r->d, error);
}

static void lost_named(void *user, struct nb_string name)
{
    if (name.length > 0)
        nb_lose(user, "%.*s is lost: its stored bytes are damaged", (int)name.length, name.bytes);
    else
        nb_lose(user, "an entry of table meta cannot be read: if it was a network, that is lost");
}

static int build(struct rebuilding *r, struct nb_error *error)
{
    r->models = calloc(r->survey.model_count + 1, sizeof *r->models);
    if (r->models == NULL)
        return nb_error_no_memory(error);
    int rc = rebuild_entries(r, error);
    if (rc == 0)
        rc = nb_transaction(r->to, 0, write_identity, r, error);
    if (rc == 0)
        rc = rebuild_models(r, error);
    if (rc == 0)
        rc = copy_held(r->view, r->to->store, &r->survey, r->d, error);
    if (rc == 0)
        rc = nb_named_copy(r->view, r->to->store, lost_named, r->d, error);
    return rc != 0 ? rc : nb_transaction(r->to, 0, write_place, r, error);
}

static int open_new(const struct nb_engine_settings *settings, const char *folder,
                    struct rebuilding *r, struct nb_error *error)
{
    struct nb_engine_settings fresh = *settings;
    fresh.directory = folder;
    fresh.journal = 0; /* only data.mdb is moved from the folder */
    if (!r->survey.has_key)
        return nb_error_set(error, NB_CORRUPT,
                            "the ledger has lost the store's key: restore a backup");
    int rc = nb_folder_clear(folder, error);
    if (rc == 0)
        rc = nb_engine_open_fresh(&fresh, &r->to, error);
    if (rc == 0)
        nb_key_restore(&r->to->key, r->survey.key);
    return rc;
}

int nb_engine_rebuild(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                      struct nb_error *error)
{
    struct nb_differences d = {.report = report, .user = user};
    struct nb_view view = {0};
    struct rebuilding r = {.d = &d, .view = &view};
    char folder[NB_FOLDER_PATH];
    int rc = nb_folder_check_path(settings->directory, error);
    if (rc != 0)
        return rc;
    nb_folder_join(folder, settings->directory, "rebuild");
    rc = open_old(settings, &r, &view, error);
    if (rc == 0)
        rc = open_new(settings, folder, &r, error);
    if (rc == 0)
        rc = build(&r, error);
    nb_engine_close(&r.to);
    if (rc == 0)
        rc = nb_folder_swap(settings->directory, folder, error);
    if (view.transaction != NULL)
        nb_store_snapshot_end(&view);
    nb_engine_close(&r.from);
    struct nb_error ignored;
    (void)nb_folder_clear(folder, &ignored); /* the next rebuild tries again */
    nb_entry_deinit(&r.entry);
    nb_buffer_deinit(&r.scratch);
    nb_buffer_deinit(&r.features);
    nb_buffer_deinit(&r.new_rows);
    nb_rows_deinit(&r.rows);
    nb_rows_deinit(&r.bag);
    nb_rows_deinit(&r.missing);
    free(r.filled);
    free(r.nobody.known);
    for (size_t i = 0; r.models != NULL && i < r.survey.model_count; i++)
        free(r.models[i].known);
    free(r.models);
    nb_survey_deinit(&r.survey); /* last, because it has the number of models */
    return rc == 0 && d.count > 0 ? 1 : rc;
}
