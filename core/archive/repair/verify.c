/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification: tables and entries (verify_tables.c), then every model: the digest of its stored
 * state is compared with that of a full replay.
 */
#include "core/archive/repair/verify.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/archive/repair/comparing.h"
#include "core/base/pack.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/model/learn/replay.h"
#include "core/model/registry/registry.h"

/* ---- digests --------------------------------------------------------------------------------- */

/* The parts of a model, each with a hash. */
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

/* Hashes names, documents, and the sums of each field. */
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

static int compare_totals(struct nb_comparing *c, const struct nb_live *live,
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

/* Compares weights only if no document that taught them was dropped since. */
static int compare_loaded(struct nb_comparing *c, const struct nb_live *live,
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

static int compare_model(struct nb_comparing *c, struct nb_live *live, struct nb_error *error)
{
    struct nb_error why = {0};
    struct nb_replay replayed = {0};
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, live->number);
    if (model == NULL || !nb_surveyed_exists(model)) {
        nb_differ(c->d, "model '%s' is not in the ledger", live->name);
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

static int compare_models(struct nb_comparing *c, struct nb_error *error)
{
    struct nb_engine *engine = c->engine;
    int rc = 0;
    uint64_t there = 0;
    for (size_t i = 0; i < c->survey->model_count; i++)
        there += nb_surveyed_exists(&c->survey->models[i]);
    if (there != engine->model_count)
        nb_differ(c->d, "%zu models are stored, the ledger gives %" PRIu64, engine->model_count,
                  there);
    for (size_t i = 0; rc == 0 && i < engine->model_count; i++)
        rc = compare_model(c, engine->models[i], error);
    return rc;
}

/* ---- the whole store ------------------------------------------------------------------------- */

static void lost_entry(void *user, const char *line)
{
    struct nb_differences *d = user;
    nb_lose(d, "%s", line);
}

int nb_compare(struct nb_engine *engine, struct nb_survey *survey, struct nb_differences *d,
               struct nb_error *error)
{
    struct nb_view view;
    struct nb_comparing c = {.engine = engine, .view = &view, .survey = survey, .d = d};
    struct nb_error damage;
    if (nb_store_met_damage(engine->store, &damage))
        nb_differ(d, "%s", damage.text);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_survey_read(&view, survey, lost_entry, d, error);
    if (rc == 0)
        rc = nb_compare_tables(&c, error);
    if (rc == 0)
        rc = nb_compare_entries(&c, error);
    if (rc == 0)
        rc = compare_models(&c, error);
    nb_store_snapshot_end(&view);
    nb_entry_deinit(&c.entry);
    return rc;
}

/* A journal that lacks its end is no difference: the ledger lacks the same. */
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
