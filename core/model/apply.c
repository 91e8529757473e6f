/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/apply.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/buffer.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/record.h"
#include "core/model/checkpoint.h"
#include "core/model/known.h"
#include "core/model/learner.h"
#include "core/model/order.h"

void nb_delta_reset(struct nb_delta *delta)
{
    delta->add_label = delta->take_label = UINT32_MAX;
    delta->add.size = delta->take.size = 0;
    delta->taken_judged = 0;
}

void nb_delta_deinit(struct nb_delta *delta)
{
    nb_rows_deinit(&delta->add);
    nb_rows_deinit(&delta->take);
}

/* Decodes the bag that the change adds and, from the entry that it replaces (NULL: none), the bag
 * that it removes. `rows`: rows of the model. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
static int delta_read(struct nb_delta *delta, const struct nb_change *change,
                      const struct nb_change *replaced, uint32_t rows, struct nb_error *error)
{
    int rc = 0;
    assert(replaced == NULL || replaced->kind == NB_CHANGE_TRAIN);
    nb_delta_reset(delta);
    if (change->kind == NB_CHANGE_TRAIN) {
        delta->add_label = nb_delta_label(change->label);
        rc = nb_bag_decode(change->bag, rows, &delta->add, error);
    }
    if (rc != 0 || replaced == NULL)
        return rc;
    delta->take_label = nb_delta_label(replaced->label);
    delta->taken_judged = replaced->judged;
    return nb_bag_decode(replaced->bag, rows, &delta->take, error);
}

/* ---- new labels and rows --------------------------------------------------------------------- */

static int damaged(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s", what);
}

static int apply_label(struct nb_live *live, const struct nb_change *change, struct nb_error *error)
{
    uint32_t label;
    if (change->label_name.length == 0 || change->kind == NB_CHANGE_RENAME_LABEL ||
        change->label < nb_model_label_count(live->counts))
        return 0;
    int rc = nb_model_label(live->counts, change->label_name, &label);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 && label == change->label ? 0 : damaged(error, "labels out of order");
}

/* Whether the stored range of a row contains the entry already. */
static bool is_marked(const struct nb_applying *how, uint32_t row)
{
    size_t range = row / NB_RANGE_ROWS;
    return how->marks != NULL && range < how->mark_count && how->marks[range] >= how->number;
}

static int add_new(struct nb_live *live, uint32_t row, uint64_t id, struct nb_error *error)
{
    uint32_t made;
    int rc = 0;
    if (row < nb_model_rows(live->counts) && nb_model_row_id(live->counts, row) == id)
        return 0;
    if (!nb_feature_has_field(id) || nb_model_find(live->counts, id) != NB_NO_ROW)
        return damaged(error, "a ledger entry's new features do not fit");
    while (rc == 0 && nb_model_rows(live->counts) < row)
        rc = nb_model_append_dropped(live->counts);
    if (rc == 0 && nb_model_rows(live->counts) == row)
        rc = nb_model_append(live->counts, id, &made);
    else if (rc == 0 && nb_model_is_dropped(nb_model_row_id(live->counts, row)))
        rc = nb_model_name_row(live->counts, row, id);
    else if (rc == 0)
        return damaged(error, "a ledger entry's new features do not fit");
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Adds the change's new label and the rows of its new features to the model. Does not change rows
 * that the model has already, nor, with marks, rows of ranges that contain the entry. Rows whose
 * features were dropped later, and which no change adds any more, stay without an id
 * (nb_model_collect_dropped). Returns 0, NB_CORRUPT (they do not fit the model) or NB_NO_MEMORY. */
static int apply_new(struct nb_live *live, const struct nb_change *change,
                     const struct nb_applying *how, struct nb_features_coder *coder,
                     struct nb_error *error)
{
    const uint64_t *ids;
    const struct nb_string *texts;
    struct nb_rows rows = {0};
    int rc = apply_label(live, change, error);
    uint64_t end = (uint64_t)change->first_row + change->new_count;
    bool is_appended = change->new_rows.length == 0;
    if (rc != 0 || change->new_count == 0 ||
        (is_appended && end <= nb_model_rows(live->counts) && how->marks != NULL))
        return rc;
    rc = nb_change_new_rows(change, UINT32_MAX - 2, &rows, error);
    if (rc == 0)
        rc = nb_features_decode(coder, change->features, change->new_count, live->key, &ids, &texts,
                                error);
    for (size_t i = 0; rc == 0 && i < rows.size; i++)
        if (!is_marked(how, rows.counts[i].row))
            rc = add_new(live, rows.counts[i].row, ids[i], error);
    nb_rows_deinit(&rows);
    return rc;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Removes the rows whose stored range contains this entry already. */
static void leave_out(struct nb_rows *rows, const struct nb_applying *how)
{
    size_t kept = 0;
    if (how->marks == NULL || how->mark_count == 0)
        return;
    assert(how->number != 0);
    for (size_t i = 0; i < rows->size; i++)
        if (!is_marked(how, rows->counts[i].row))
            rows->counts[kept++] = rows->counts[i];
    rows->size = kept;
}

static bool label_is_known(const struct nb_live *live, uint32_t label)
{
    return label == UINT32_MAX || label < nb_model_label_count(live->counts);
}

/* Unmarks the rows that this change adds or removes as unused, so that they are not dropped. */
static void note_use(struct nb_live *live, const struct nb_rows *rows)
{
    if (live->unused.rows == NULL)
        return;
    for (size_t i = 0; i < rows->size; i++)
        if (rows->counts[i].row < live->unused.count)
            nb_unused_clear(live, rows->counts[i].row);
}

static int touch(struct nb_live *live, const struct nb_delta *delta)
{
    note_use(live, &delta->add);
    note_use(live, &delta->take);
    uint32_t rows = nb_model_rows(live->counts);
    int rc = nb_dirty_mark(&live->checkpoint, &delta->add, rows);
    return rc != 0 ? rc : nb_dirty_mark(&live->checkpoint, &delta->take, rows);
}

static struct nb_model_change counts_of(const struct nb_delta *delta)
{
    return (struct nb_model_change){.add_label = delta->add_label,
                                    .add = delta->add.counts,
                                    .add_size = delta->add.size,
                                    .take_label = delta->take_label,
                                    .take = delta->take.counts,
                                    .take_size = delta->take.size};
}

/* For a replay: changes the rows only. The numbers of documents of labels are stored as they are
 * after all entries. */
static int replay_counts(struct nb_live *live, const struct nb_delta *delta)
{
    int rc = 0;
    if (delta->take.size > 0 && delta->take_label != UINT32_MAX)
        rc = nb_model_add(live->counts, delta->take_label, delta->take.counts, delta->take.size, -1,
                          NULL);
    if (rc == 0 && delta->add.size > 0 && delta->add_label != UINT32_MAX)
        rc = nb_model_add(live->counts, delta->add_label, delta->add.counts, delta->add.size, 1,
                          NULL);
    return rc;
}

static bool have_features(const struct nb_live *live, const struct nb_rows *rows)
{
    return nb_model_have_features(live->counts, rows->counts, rows->size);
}

/* Updates the list of current entries. If the change itself made the list, its entry is there
 * already. Without memory the list is freed, and made again when it is needed. */
static void note_current(struct nb_live *live, const struct nb_change *change, uint64_t number)
{
    if (live->current == NULL)
        return;
    nb_current_entries_remove(live->current, change->replaced);
    if (change->kind == NB_CHANGE_TRAIN && change->label != NB_NO_LABEL &&
        !nb_current_entries_has(live->current, number) &&
        nb_current_entries_add(live->current, number) != 0)
        nb_current_entries_free(&live->current);
}

/* Whether the label was confirmed, or the confirmation is taken back. */
static bool is_same(const struct nb_delta *delta)
{
    const struct nb_rows *add = &delta->add, *take = &delta->take;
    return delta->add_label == delta->take_label && add->size == take->size &&
           (add->size == 0 ||
            memcmp(add->counts, take->counts, add->size * sizeof *add->counts) == 0);
}

/* Describes the change for the learner. Returns whether the weights learn from it. They do not if
 * the document has no label and had none, or if it stays as it was. */
static bool lesson_of(const struct nb_change *change, const struct nb_delta *delta,
                      const struct nb_applying *how, struct nb_lesson *lesson)
{
    bool is_learned = delta->add_label != UINT32_MAX;
    uint64_t document = how->learner == NULL ? 0 : XXH3_64bits(change->id.bytes, change->id.length);
    *lesson = (struct nb_lesson){.view = how->view,
                                 .label = change->label,
                                 .taken = delta->take_label,
                                 .is_aged = change->kind == NB_CHANGE_UNTRAIN &&
                                            nb_string_equals(change->source, NB_SOURCE_AGEING),
                                 .judged = change->judged,
                                 .taken_judged = delta->taken_judged,
                                 .rows = is_learned ? &delta->add : NULL,
                                 .old = &delta->take,
                                 .weight = nb_stored_score_weight(change->score, is_learned),
                                 .document = document == 0 ? 1 : document,
                                 .replaced = change->replaced,
                                 .number = how->number,
                                 .is_replay = how->is_replay};
    return how->learner != NULL && (is_learned || delta->take_label != UINT32_MAX) &&
           !is_same(delta);
}

static int apply_document(struct nb_live *live, const struct nb_change *change,
                          struct nb_delta *delta, const struct nb_applying *how, size_t *fresh,
                          struct nb_error *error)
{
    assert(delta != NULL);
    size_t ignored;
    struct nb_lesson lesson;
    if (!label_is_known(live, delta->add_label) || !label_is_known(live, delta->take_label))
        return damaged(error, "an entry's label is unknown");
    leave_out(&delta->add, how);
    leave_out(&delta->take, how);
    if ((!how->are_found && !have_features(live, &delta->add)) ||
        !have_features(live, &delta->take))
        return damaged(error, "a document has a feature that is not there");
    if (touch(live, delta) != 0)
        return nb_error_no_memory(error);
    struct nb_model_change counts = counts_of(delta);
    bool teaches = lesson_of(change, delta, how, &lesson);
    int rc = teaches ? nb_learner_take_back(how->learner, live, &lesson) : 0;
    if (rc == 0)
        rc = how->marks != NULL
                 ? replay_counts(live, delta)
                 : nb_model_change(live->counts, &counts, fresh == NULL ? &ignored : fresh);
    if (rc != 0 && teaches)
        nb_learner_cancel(how->learner, live);
    if (rc == 0 && how->marks == NULL)
        note_current(live, change, how->number);
    if (rc == 0 && teaches) {
        rc = nb_learner_teach(how->learner, live, &lesson);
        if (rc != 0 && nb_apply_undo(live, delta) == 0)
            nb_current_entries_free(&live->current);
    }
    return rc == 0 ? 0 : nb_error_set(error, rc, "applying a change of the ledger failed");
}

static int apply_refit(struct nb_live *live, const struct nb_change *change,
                       const struct nb_applying *how, struct nb_error *error)
{
    if (how->learner == NULL)
        return 0;
    int rc = nb_learner_refit(how->learner, live, how->view, change->part);
    return rc == 0 ? 0 : nb_error_set(error, rc, "fitting the weights of a model anew failed");
}

int nb_apply(struct nb_live *live, const struct nb_change *change, struct nb_delta *delta,
             const struct nb_applying *how, size_t *fresh, struct nb_error *error)
{
    assert(live->counts != NULL);
    switch (change->kind) {
    case NB_CHANGE_TRAIN:
    case NB_CHANGE_UNTRAIN:
        return apply_document(live, change, delta, how, fresh, error);
    case NB_CHANGE_RENAME_LABEL:
        if (how->marks != NULL)
            return 0; /* the stored records of labels have the new name */
        if (change->label >= nb_model_label_count(live->counts))
            return damaged(error, "an entry's label is unknown");
        return nb_model_rename_label(live->counts, change->label, change->label_name) == 0
                   ? 0
                   : nb_error_no_memory(error);
    case NB_CHANGE_FEATURES:
    case NB_CHANGE_CREATE:
    case NB_CHANGE_SETTINGS:
    case NB_CHANGE_DELETE:
    case NB_CHANGE_IMPORT:
    case NB_CHANGE_COMPLETE:
    case NB_CHANGE_STORE:
    case NB_CHANGE_UNDO:
    case NB_CHANGE_KINDS:
        break;
    case NB_CHANGE_REFIT:
        return apply_refit(live, change, how, error);
    }
    return 0;
}

int nb_apply_undo(struct nb_live *live, const struct nb_delta *delta)
{
    size_t fresh;
    struct nb_model_change back = {.add_label = delta->take_label,
                                   .add = delta->take.counts,
                                   .add_size = delta->take.size,
                                   .take_label = delta->add_label,
                                   .take = delta->add.counts,
                                   .take_size = delta->add.size};
    return nb_model_change(live->counts, &back, &fresh);
}

void nb_replay_deinit(struct nb_replay *replay)
{
    nb_delta_deinit(&replay->delta);
    nb_entry_deinit(&replay->replaced);
    nb_buffer_deinit(&replay->score);
}

/* ---- settings and weights -------------------------------------------------------------------- */

static int take_settings(struct nb_replay *r, struct nb_string stored, struct nb_error *error)
{
    struct nb_settings settings;
    int rc = nb_settings_read(&settings, stored, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_published_next(&settings, r->live->key, r->live->published);
    nb_settings_deinit(&settings);
    if (published == NULL)
        return nb_error_no_memory(error);
    nb_live_publish_others(r->live, published);
    return 0;
}

static int complete_import(struct nb_replay *r, const struct nb_change *change,
                           struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(change->weights.bytes, change->weights.length);
    r->is_import = false;
    r->has_weights = change->weights.length > 0;
    int rc = take_settings(r, change->settings, error);
    if (rc == 0 && change->weights.length > 0 &&
        nb_stack_weights_read(r->live->published->weights, &u) < 0)
        rc = nb_error_set(error, NB_CORRUPT, "the weights of an import do not read back");
    return rc;
}

/* Applies an entry to the settings and to the weights as a whole. */
static int take_state(struct nb_replay *r, const struct nb_change *change, struct nb_error *error)
{
    switch (change->kind) {
    case NB_CHANGE_CREATE:
    case NB_CHANGE_SETTINGS:
        return take_settings(r, change->settings, error);
    case NB_CHANGE_IMPORT:
        r->is_import = true;
        return 0;
    case NB_CHANGE_COMPLETE:
        return complete_import(r, change, error);
    case NB_CHANGE_TRAIN:
    case NB_CHANGE_UNTRAIN:
    case NB_CHANGE_REFIT:
        if (!r->is_import && nb_published_is_stacked(r->live->published))
            r->has_weights = true;
        return 0;
    case NB_CHANGE_FEATURES:
        /* A remnant: its document was learned and dropped, so what the weights learned from it is
         * lost. */
        if (!r->is_import)
            r->is_partial = true;
        return 0;
    case NB_CHANGE_RENAME_LABEL:
    case NB_CHANGE_DELETE:
    case NB_CHANGE_STORE:
    case NB_CHANGE_UNDO:
    case NB_CHANGE_KINDS:
        break;
    }
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Finds the entry that is replaced, if it still has its document. After a checkpoint it must have
 * it: entries that a start needs are not dropped. */
static int find_replaced(struct nb_replay *r, const struct nb_entry *entry,
                         const struct nb_change **found, struct nb_error *error)
{
    *found = NULL;
    if (entry->change.replaced == 0)
        return 0;
    assert(r->view != NULL);
    int rc = nb_ledger_read(r->view, entry->change.replaced, &r->replaced, error);
    if (rc == 0 && r->replaced.change.kind == NB_CHANGE_TRAIN) {
        *found = &r->replaced.change;
        return 0;
    }
    r->is_partial = true;
    if (r->is_behind && (rc == 0 || rc == NB_NOT_FOUND))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: entry %" PRIu64 " replaces one that is missing",
                            entry->number);
    bool is_passed_over = rc == NB_NOT_FOUND || (rc == NB_CORRUPT && r->skipped != NULL);
    return is_passed_over ? 0 : rc;
}

/* Scores a new document before the model learns it, for the weights. */
static int score(struct nb_replay *r, const struct nb_change *change, struct nb_error *error)
{
    if (change->kind != NB_CHANGE_TRAIN || change->label == NB_NO_LABEL || change->first != 0)
        return 0;
    r->score.length = 0;
    return nb_learner_score(r->learner, r->live->published, r->live->counts, &r->delta.add,
                            change->label, change->judged, &r->score) != 0
               ? nb_error_no_memory(error)
               : 0;
}

/* Reads the bags that a change of a document adds to the counts and removes from them. */
static int prepare(struct nb_replay *r, const struct nb_entry *entry, bool learns,
                   struct nb_error *error)
{
    const struct nb_change *change = &entry->change;
    const struct nb_change *replaced;
    if (change->kind != NB_CHANGE_TRAIN && change->kind != NB_CHANGE_UNTRAIN)
        return 0;
    int rc = find_replaced(r, entry, &replaced, error);
    if (rc == 0)
        rc = delta_read(&r->delta, change, replaced, nb_model_rows(r->live->counts), error);
    if (rc != 0 || !learns)
        return rc;
    nb_learner_reset(r->learner);
    return score(r, change, error);
}

/* ---- entries --------------------------------------------------------------------------------- */

int nb_replay_entry(struct nb_replay *replay, const struct nb_entry *entry, struct nb_error *error)
{
    static const uint64_t no_marks[1];
    struct nb_replay *r = replay;
    struct nb_applying how = {.view = r->view,
                              .marks = r->marks,
                              .mark_count = r->mark_count,
                              .number = entry->number,
                              .is_replay = true};
    if (r->is_behind && how.marks == NULL)
        how.marks = no_marks;
    assert(!r->is_behind || r->learner == NULL);
    r->last = entry->number;
    int rc = apply_new(r->live, &entry->change, &how, r->coder, error);
    if (rc == 0 && r->learner != NULL)
        rc = take_state(r, &entry->change, error);
    how.learner = r->is_import ? NULL : r->learner;
    if (rc == 0)
        rc = prepare(r, entry, how.learner != NULL, error);
    if (rc == 0)
        rc = nb_apply(r->live, &entry->change, &r->delta, &how, NULL, error);
    /* A model by the book has weights once its documents have taught what is known. */
    if (rc == 0 && how.learner != NULL)
        r->has_weights |=
            nb_weights_places(nb_stack_weights_known(r->live->published->weights)) > 0;
    return rc;
}

static int visit(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_replay *r = user;
    struct nb_error why = {0};
    int rc = nb_replay_entry(r, entry, &why);
    if (rc == NB_CORRUPT && r->skipped != NULL) {
        r->skipped(r->user, entry->number, &why);
        r->is_partial = true;
        rc = 0;
    }
    if (rc != 0)
        return nb_error_set(error, rc, "%s", why.text);
    return ++r->applied == r->most;
}

int nb_replay_from(struct nb_replay *replay, uint64_t from, struct nb_error *error)
{
    assert(replay->live->number != 0);
    replay->applied = 0;
    return nb_ledger_walk(replay->view, replay->live->number, from, visit, replay, error);
}

/* ---- a whole model --------------------------------------------------------------------------- */

static struct nb_live *new_model(struct nb_engine *engine, uint32_t number, struct nb_string name,
                                 const struct nb_own_key *own)
{
    struct nb_settings settings;
    struct nb_live *live = nb_live_new(name, number, own, &engine->key);
    nb_settings_init(&settings, NB_PRESET_TEXT);
    bool good = live != NULL && nb_live_begin(live, &settings) == 0;
    nb_settings_deinit(&settings);
    /* The list has the entries that were current at the replayed entry. */
    if (good)
        good = (live->current = nb_current_entries_new()) != NULL;
    if (!good && live != NULL)
        nb_live_free(live);
    return good ? live : NULL;
}

int nb_replay_begin(struct nb_engine *engine, uint32_t number, struct nb_string name,
                    const struct nb_own_key *own, struct nb_replay *replay, struct nb_error *error)
{
    *replay = (struct nb_replay){.live = new_model(engine, number, name, own),
                                 .coder = engine->coder,
                                 .learner = engine->learner};
    return replay->live != NULL ? 0 : nb_error_no_memory(error);
}

int nb_replay_model(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
                    struct nb_string name, const struct nb_own_key *own,
                    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why),
                    void *user, struct nb_replay *replay, struct nb_error *error)
{
    int rc = nb_replay_begin(engine, number, name, own, replay, error);
    if (rc != 0)
        return rc;
    replay->view = view;
    replay->skipped = skipped;
    replay->user = user;
    rc = nb_replay_from(replay, 0, error);
    if (rc != 0) {
        nb_live_free(replay->live);
        replay->live = NULL;
    }
    return rc;
}
