/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/repair/comparing.h"
#include "core/base/pack.h"
#include "core/ledger/entries/quarantine_entries.h"
#include "core/writer/remember/remembered_history.h"

/* ---- whole tables: checksums, strangers, numbers of rows ------------------------------------- */

/* Rows of a deleted model stay until the purge reaches them. */
static bool is_orphan(const struct nb_comparing *c, uint32_t model)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string value;
    return nb_store_get(c->view, NB_TABLE_ORPHANS, nb_store_key_string(&key), &value, NULL) == 0;
}

static int inspect_row(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    struct nb_comparing *c = user;
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
    case NB_TABLE_KEPT: /* and GARBAGE: a superseded entry is in one of the two */
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

/* Compares the count of waiting changes, which is stored separately: the ledger does not have them.
 */
static void compare_waiting(const struct nb_comparing *c, const struct nb_surveyed_model *model,
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

static void compare_rows(struct nb_comparing *c, enum nb_table table)
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

int nb_compare_tables(struct nb_comparing *comparing, struct nb_error *error)
{
    struct nb_comparing *c = comparing;
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

static struct nb_string name_of(const struct nb_comparing *c, uint32_t model)
{
    const struct nb_surveyed_model *m = nb_survey_model(c->survey, model);
    return m == NULL ? (struct nb_string){"?", 1}
                     : (struct nb_string){m->name.bytes, m->name.length};
}

/* Whether the table has this value under the key. */
static bool has(const struct nb_comparing *c, enum nb_table table, const struct nb_store_key *key,
                struct nb_string wanted)
{
    struct nb_string value;
    return nb_store_get(c->view, table, nb_store_key_string(key), &value, NULL) == 0 &&
           nb_string_same(value, wanted);
}

static bool has_number(const struct nb_comparing *c, enum nb_table table,
                       const struct nb_store_key *key, uint64_t wanted)
{
    struct nb_string value;
    if (nb_store_get(c->view, table, nb_store_key_string(key), &value, NULL) != 0)
        return false;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    uint64_t number = nb_unpack_varint(&u);
    return nb_unpacker_done(&u) && number == wanted;
}

static void differ_entry(struct nb_comparing *c, const char *table)
{
    struct nb_string name = name_of(c, c->entry.change.model);
    nb_differ(c->d, "model '%.*s', entry %" PRIu64 ": table %s does not agree", (int)name.length,
              name.bytes, c->entry.number, table);
}

static void compare_current(struct nb_comparing *c)
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

static void compare_words(struct nb_comparing *c)
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

static void compare_entry(struct nb_comparing *c, const struct nb_surveyed_entry *surveyed)
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

int nb_compare_entries(struct nb_comparing *comparing, struct nb_error *error)
{
    struct nb_comparing *c = comparing;
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
