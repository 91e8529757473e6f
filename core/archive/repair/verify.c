/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification: checks tables and entries, then compares the digest of every model's stored state
 * with that of a full replay.
 */
#include "core/archive/repair/verify.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/ledger/quarantine_entries.h"
#include "core/ledger/survey.h"
#include "core/model/apply.h"
#include "core/model/registry.h"
#include "core/writer/remember.h"

/* A comparison of a store with its ledger, under way. */
struct comparing {
    struct nb_engine *engine;
    const struct nb_view *view;
    struct nb_survey *survey;
    struct nb_differences *d;
    struct nb_entry entry;
    /* Of the table that is being read. */
    uint64_t *rows; /* owned; per surveyed model */
    uint64_t strangers;
};

enum { LINE_MOST = 512, REPORT_MOST = 100 };

void nb_differ(struct nb_differences *d, const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    d->count++;
    if (d->count <= REPORT_MOST)
        d->report(d->user, line);
    if (d->count == REPORT_MOST)
        d->report(d->user, "... further differences are only counted");
}

void nb_lose(struct nb_differences *d, const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    nb_differ(d, "%s", line);
    d->lost++;
}

void nb_lose_entry(void *user, const char *line)
{
    nb_lose(user, "%s", line);
}

/* ---- digests --------------------------------------------------------------------------------- */

/* The parts of a model; a digest has a hash for each. */
enum part { LABELS, COUNTS, SETTINGS, WEIGHTS, PARTS };
static const char *const part_names[PARTS] = {"labels", "counts of features", "settings",
                                              "weights of the stack"};
struct digest {
    uint64_t of[PARTS];
};

static void add(uint64_t *hash, const void *bytes, size_t length)
{
    *hash = XXH3_64bits_withSeed(bytes, length, *hash);
}

/* Hashes the labels' names, numbers of documents, and sums of each field. */
static uint64_t hash_labels(const struct nb_model *counts)
{
    uint64_t hash = 0;
    for (uint32_t label = 0; label < nb_model_label_count(counts); label++) {
        struct nb_string name = nb_model_label_name(counts, label);
        uint64_t documents = nb_model_documents(counts, label);
        add(&hash, name.bytes, name.length);
        add(&hash, &documents, sizeof documents);
        for (unsigned field = 0; field < NB_FIRST_PART + nb_model_parts(counts); field++) {
            uint64_t sums[3] = {field, nb_model_occurrences(counts, label, field),
                                nb_model_presences(counts, label, field)};
            if (sums[1] != 0 || sums[2] != 0)
                add(&hash, sums, sizeof sums);
        }
    }
    return hash;
}

/* Hashes ids and cells of rows. Skips dropped rows: the ledger may lack those at the end. */
static int hash_counts(const struct nb_model *counts, uint64_t *hash)
{
    uint32_t room = nb_model_label_count(counts) + 1;
    struct nb_cell *cells = calloc(room, sizeof *cells);
    if (cells == NULL)
        return NB_NO_MEMORY;
    for (uint32_t row = 0; row < nb_model_rows(counts); row++) {
        uint64_t ids[2] = {row, nb_model_row_id(counts, row)};
        if (nb_model_is_dropped(ids[1]))
            continue;
        add(hash, ids, sizeof ids);
        add(hash, cells, nb_model_cells(counts, row, cells, room) * sizeof *cells);
    }
    free(cells);
    return 0;
}

/* Computes the digest of a loaded model. Returns 0 or NB_NO_MEMORY. */
static int digest_of(const struct nb_live *live, struct digest *digest)
{
    struct nb_buffer bytes = {0};
    struct nb_packer p = {.out = &bytes};
    *digest = (struct digest){.of[LABELS] = hash_labels(live->counts)};
    int rc = hash_counts(live->counts, &digest->of[COUNTS]);
    if (rc == 0)
        rc = nb_settings_write(&live->published->settings, &bytes);
    add(&digest->of[SETTINGS], bytes.bytes, bytes.length);
    bytes.length = 0;
    nb_stack_weights_write(live->published->weights, &p);
    add(&digest->of[WEIGHTS], bytes.bytes, bytes.length);
    nb_buffer_deinit(&bytes);
    return rc != 0 ? rc : p.code;
}

/* ---- models ---------------------------------------------------------------------------------- */

static int compare_totals(struct comparing *c, const struct nb_live *live,
                          const struct nb_replay *replayed, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_string value;
    struct nb_state_record state = {0};
    int rc = nb_store_get(c->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, live->number);
    if (rc != 0)
        return rc;
    bool same = state.vocabulary == nb_model_vocabulary(replayed->live->counts, NB_ALL_TOKENS) &&
                state.last >= replayed->last && state.totals.entries == model->entries &&
                state.totals.current == model->current &&
                state.totals.unlabelled == model->unlabelled &&
                state.totals.scores == model->scores;
    if (!same)
        nb_differ(c->d, "model '%s': its totals are not those of the ledger", live->name);
    return 0;
}

/* Compares a stored model with its replay. Compares weights only if no document that taught them
 * was dropped since. */
static int compare_loaded(struct comparing *c, const struct nb_live *live,
                          const struct nb_replay *replayed, struct nb_error *error)
{
    struct digest stored, fresh;
    bool is_partial = replayed->is_partial || live->checkpoint.totals.dropped != 0;
    assert(live->counts != NULL && replayed->live != NULL);
    if (digest_of(live, &stored) != 0 || digest_of(replayed->live, &fresh) != 0)
        return nb_error_no_memory(error);
    for (int part = 0; part < PARTS; part++)
        if (stored.of[part] != fresh.of[part] && !(part == WEIGHTS && is_partial))
            nb_differ(c->d, "model '%s': the %s are not those that the ledger gives", live->name,
                      part_names[part]);
    return compare_totals(c, live, replayed, error);
}

/* Reports what is no difference. */
static void tell_older(const struct comparing *c, const struct nb_live *live)
{
    char line[LINE_MOST];
    (void)snprintf(
        line, sizeof line,
        "model '%s': its counts are of an older version and are not compared; the daemon "
        "computes them anew when it starts",
        live->name);
    c->d->report(c->d->user, line);
}

static int compare_model(struct comparing *c, struct nb_live *live, struct nb_error *error)
{
    struct nb_error why = {0};
    struct nb_replay replayed = {0};
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, live->number);
    if (model == NULL || !nb_surveyed_exists(model)) {
        nb_differ(c->d, "model '%s' is not in the ledger", live->name);
        return 0;
    }
    if (atomic_load(&live->unusable) == NB_LIVE_UPGRADING) {
        tell_older(c, live);
        return 0;
    }
    int rc = nb_registry_load(c->engine, live, &why);
    if (rc == 0)
        rc = nb_replay_model(c->engine, c->view, live->number, nb_live_name(live), live->own, NULL,
                             NULL, &replayed, &why);
    if (rc == 0)
        rc = compare_loaded(c, live, &replayed, &why);
    nb_replay_deinit(&replayed);
    if (replayed.live != NULL)
        nb_live_free(replayed.live);
    if (rc == NB_NO_MEMORY || rc == NB_IO)
        return nb_error_set(error, rc, "%s", why.text);
    if (rc != 0)
        nb_differ(c->d, "model '%s': %s", live->name, why.text);
    return 0;
}

static int compare_models(struct comparing *c, struct nb_error *error)
{
    struct nb_engine *engine = c->engine;
    int rc = 0;
    uint64_t there = 0;
    for (size_t i = 0; i < c->survey->model_count; i++)
        there += nb_surveyed_exists(&c->survey->models[i]);
    if (there != engine->registry.count)
        nb_differ(c->d, "%zu models are stored, the ledger gives %" PRIu64, engine->registry.count,
                  there);
    for (size_t i = 0; rc == 0 && i < engine->registry.count; i++)
        rc = compare_model(c, engine->registry.models[i], error);
    return rc;
}

/* ---- whole tables: checksums, rows without a model, numbers of rows -------------------------- */

/* Whether a model is deleted: its rows stay until the purge reaches them. */
static bool is_orphan(const struct comparing *c, uint32_t model)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string value;
    return nb_store_get(c->view, NB_TABLE_ORPHANS, nb_store_key_string(&key), &value, NULL) == 0;
}

static int inspect_row(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    struct comparing *c = user;
    struct nb_quarantined quarantined;
    struct nb_history_record record;
    (void)error;
    if (!sound) {
        nb_differ(c->d, "table %s: a checksum is wrong", nb_store_table_name(table));
        return 0;
    }
    if (table == NB_TABLE_META || table == NB_TABLE_MODELS || table == NB_TABLE_LEDGER)
        return 0;
    if (table == NB_TABLE_QUARANTINE && nb_quarantined_read(&quarantined, value, NULL) != 0)
        nb_differ(c->d, "table %s: a change does not read back", nb_store_table_name(table));
    if (table == NB_TABLE_HISTORY && nb_history_read(&record, value, NULL) != 0)
        nb_differ(c->d, "table %s: a verdict does not read back", nb_store_table_name(table));
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, nb_store_key_head(key));
    if (model != NULL)
        c->rows[model - c->survey->models]++;
    else if (table != NB_TABLE_ORPHANS && !is_orphan(c, nb_store_key_head(key)))
        c->strangers++;
    return 0;
}

/* Returns the number of rows that the index should have for the model; UINT64_MAX: unknown. */
static uint64_t expected_rows(enum nb_table table, const struct nb_surveyed_model *model)
{
    switch (table) {
    case NB_TABLE_ENTRIES:
        return model->entries;
    case NB_TABLE_DOCUMENTS:
        return model->current;
    case NB_TABLE_SCORES:
        return model->scores;
    case NB_TABLE_WORDS:
        return model->words;
    case NB_TABLE_KEPT: /* together with GARBAGE: a superseded entry is in one of the two */
        return model->garbage;
    case NB_TABLE_STATE:
        return 1;
    case NB_TABLE_ORPHANS:
        return 0;
    case NB_TABLE_META:
    case NB_TABLE_MODELS:
    case NB_TABLE_LABELS:
    case NB_TABLE_LEDGER:
    case NB_TABLE_GARBAGE:
    case NB_TABLE_ROWS:
    case NB_TABLE_WEIGHTS:
    case NB_TABLE_TWIN:
    case NB_TABLE_QUARANTINE:
    case NB_TABLE_WAITING:
    case NB_TABLE_HISTORY:
    case NB_TABLE_HISTORY_IDS:
    case NB_TABLES:
        break;
    }
    return UINT64_MAX;
}

/* Compares the number of waiting changes with the stored one: the ledger does not have them. */
static void compare_waiting(const struct comparing *c, const struct nb_surveyed_model *model,
                            uint64_t rows)
{
    struct nb_quarantine_sums sums;
    int rc = nb_quarantine_sums(c->view, model->number, &sums, NULL);
    if (rc == 0 && sums.documents != rows)
        nb_differ(c->d,
                  "model '%.*s': %" PRIu64 " changes are in the quarantine, %" PRIu64
                  " should wait there",
                  (int)model->name.length, model->name.bytes, rows, sums.documents);
}

static void compare_rows(struct comparing *c, enum nb_table table)
{
    for (size_t i = 0; i < c->survey->model_count; i++) {
        const struct nb_surveyed_model *model = &c->survey->models[i];
        uint64_t expected = expected_rows(table, model);
        if (nb_surveyed_exists(model) && expected != UINT64_MAX && c->rows[i] != expected)
            nb_differ(c->d,
                      "model '%.*s': table %s%s has %" PRIu64 " rows, the ledger gives %" PRIu64,
                      (int)model->name.length, model->name.bytes, nb_store_table_name(table),
                      table == NB_TABLE_KEPT ? " with table garbage" : "", c->rows[i], expected);
        if (nb_surveyed_exists(model) && table == NB_TABLE_QUARANTINE)
            compare_waiting(c, model, c->rows[i]);
    }
    if (c->strangers > 0)
        nb_differ(c->d, "table %s: %" PRIu64 " rows of models that are not in the ledger",
                  nb_store_table_name(table), c->strangers);
}

/* Reads every table but the ledger: checksums, rows of models that do not exist, numbers of rows.
 * Reports differences. Returns 0, NB_NO_MEMORY or NB_IO. */
static int compare_tables(struct comparing *c, struct nb_error *error)
{
    int rc = 0;
    c->rows = malloc((c->survey->model_count + 1) * sizeof *c->rows);
    if (c->rows == NULL)
        return nb_error_no_memory(error);
    for (int table = 0; rc == 0 && table < NB_TABLES; table++) {
        if (table == NB_TABLE_LEDGER)
            continue;               /* the survey has read it */
        if (table != NB_TABLE_KEPT) /* its rows are counted together with those of GARBAGE */
            memset(c->rows, 0, c->survey->model_count * sizeof *c->rows);
        c->strangers = 0;
        rc = nb_store_inspect(c->view, (enum nb_table)table, inspect_row, c, error);
        if (rc == 0)
            compare_rows(c, (enum nb_table)table);
    }
    free(c->rows);
    return rc;
}

/* ---- the index rows of each entry ------------------------------------------------------------ */

static struct nb_string name_of(const struct comparing *c, uint32_t model)
{
    const struct nb_surveyed_model *m = nb_survey_model(c->survey, model);
    return m == NULL ? (struct nb_string){"?", 1}
                     : (struct nb_string){m->name.bytes, m->name.length};
}

/* Whether the table has this value under the key. */
static bool has(const struct comparing *c, enum nb_table table, const struct nb_store_key *key,
                struct nb_string wanted)
{
    struct nb_string value;
    return nb_store_get(c->view, table, nb_store_key_string(key), &value, NULL) == 0 &&
           nb_string_same(value, wanted);
}

static bool has_number(const struct comparing *c, enum nb_table table,
                       const struct nb_store_key *key, uint64_t wanted)
{
    struct nb_string value;
    if (nb_store_get(c->view, table, nb_store_key_string(key), &value, NULL) != 0)
        return false;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    uint64_t number = nb_unpack_varint(&u);
    return nb_unpacker_done(&u) && number == wanted;
}

static void differ_entry(struct comparing *c, const char *table)
{
    struct nb_string name = name_of(c, c->entry.change.model);
    nb_differ(c->d, "model '%.*s', entry %" PRIu64 ": table %s does not agree", (int)name.length,
              name.bytes, c->entry.number, table);
}

static void compare_current(struct comparing *c)
{
    const struct nb_change *change = &c->entry.change;
    uint64_t number = c->entry.number;
    struct nb_store_key id = nb_store_key_id(change->model, change->id);
    struct nb_store_key first =
        nb_store_key_sequence(change->model, change->first != 0 ? change->first : number);
    if (!has_number(c, NB_TABLE_DOCUMENTS, &id, number))
        differ_entry(c, "documents");
    if (change->score.length > 0 && change->label != NB_NO_LABEL &&
        !has(c, NB_TABLE_SCORES, &first, change->score))
        differ_entry(c, "scores");
}

static void compare_words(struct comparing *c)
{
    const struct nb_change *change = &c->entry.change;
    struct nb_rows rows = {0};
    bool same = change->new_count == 0 || nb_change_new_rows(change, UINT32_MAX, &rows, NULL) == 0;
    for (size_t i = 0; same && i < rows.size; i++) {
        struct nb_store_key key = nb_store_key_number(change->model, rows.counts[i].row);
        bool begins_run = i == 0 || rows.counts[i].row != rows.counts[i - 1].row + 1;
        same = !begins_run || has_number(c, NB_TABLE_WORDS, &key, c->entry.number);
    }
    if (!same)
        differ_entry(c, "words");
    nb_rows_deinit(&rows);
}

static void compare_entry(struct comparing *c, const struct nb_surveyed_entry *surveyed)
{
    const struct nb_change *change = &c->entry.change;
    struct nb_store_key key = nb_store_key_sequence(change->model, c->entry.number);
    bool was_replaced = change->kind == NB_CHANGE_TRAIN && !surveyed->current;
    const char flags = was_replaced ? 0 : nb_ledger_flags(change);
    if (!has(c, NB_TABLE_ENTRIES, &key, (struct nb_string){&flags, 1}))
        differ_entry(c, "entries");
    if (surveyed->current)
        compare_current(c);
    compare_words(c);
}

/* Looks for the index rows of every entry. Returns as compare_tables. */
static int compare_entries(struct comparing *c, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->survey->entry_count; i++) {
        const struct nb_surveyed_entry *surveyed = &c->survey->entries[i];
        const struct nb_surveyed_model *model = nb_survey_model(c->survey, surveyed->model);
        if (!nb_surveyed_exists(model) || surveyed->kind == NB_CHANGE_DELETE)
            continue;
        rc = nb_ledger_read(c->view, surveyed->number, &c->entry, error);
        if (rc == 0)
            compare_entry(c, surveyed);
    }
    return rc;
}

/* ---- the whole store ------------------------------------------------------------------------- */

int nb_compare(struct nb_engine *engine, struct nb_survey *survey, struct nb_differences *d,
               struct nb_error *error)
{
    struct nb_view view;
    struct comparing c = {.engine = engine, .view = &view, .survey = survey, .d = d};
    struct nb_error damage;
    if (nb_store_met_damage(engine->store, &damage))
        nb_differ(d, "%s", damage.text);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_survey_read(&view, survey, nb_lose_entry, d, error);
    if (rc == 0)
        rc = compare_tables(&c, error);
    if (rc == 0)
        rc = compare_entries(&c, error);
    if (rc == 0)
        rc = compare_models(&c, error);
    nb_store_snapshot_end(&view);
    nb_entry_deinit(&c.entry);
    return rc;
}

/* Reports what was read from the journal. A journal that lacks its end is no difference, because
 * the ledger lacks the same changes. */
static void tell_journal(struct nb_engine *engine, nb_report_line *report, void *user)
{
    struct nb_error found;
    bool is_cut;
    if (nb_engine_met_journal(engine, &found, &is_cut))
        report(user, found.text);
}

int nb_engine_verify(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                     struct nb_error *error)
{
    struct nb_engine *engine;
    struct nb_survey survey = {0};
    struct nb_differences d = {.report = report, .user = user};
    int rc = nb_engine_open_existing(settings, &engine, error);
    if (rc != 0)
        return rc;
    tell_journal(engine, report, user);
    rc = nb_compare(engine, &survey, &d, error);
    nb_survey_deinit(&survey);
    nb_engine_close(&engine);
    return rc == 0 && d.count > 0 ? 1 : rc;
}
