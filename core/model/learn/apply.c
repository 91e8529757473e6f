/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/apply.h"

#include <assert.h>
#include <inttypes.h>

#include "core/ledger/entries/current_entries.h"
#include "core/ledger/entries/range.h"
#include "core/model/learn/learner.h"
#include "core/model/live/dirty.h"

void nb_delta_reset(struct nb_delta *delta)
{
    delta->add_label = delta->take_label = UINT32_MAX;
    delta->add.size = delta->take.size = 0;
}

void nb_delta_deinit(struct nb_delta *delta)
{
    nb_rows_deinit(&delta->add);
    nb_rows_deinit(&delta->take);
}

int nb_delta_read(struct nb_delta *delta, const struct nb_change *change,
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

int nb_apply_new(struct nb_live *live, const struct nb_change *change,
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
    if (live->unused == NULL)
        return;
    for (size_t i = 0; i < rows->size; i++)
        if (rows->counts[i].row < live->unused_rows)
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

/* Updates the list of current entries. Without memory the list is freed, and made again when it is
 * needed. */
static void note_current(struct nb_live *live, const struct nb_change *change, uint64_t number)
{
    if (live->current == NULL)
        return;
    nb_current_entries_remove(live->current, change->replaced);
    if (change->kind == NB_CHANGE_TRAIN && change->label != NB_NO_LABEL &&
        nb_current_entries_add(live->current, number) != 0)
        nb_current_entries_free(&live->current);
}

static int teach(struct nb_live *live, const struct nb_change *change, const struct nb_delta *delta,
                 const struct nb_applying *how)
{
    bool is_learned = delta->add_label != UINT32_MAX;
    if (!is_learned && delta->take_label == UINT32_MAX)
        return 0; /* the document had no label and has none */
    struct nb_lesson lesson = {.view = how->view,
                               .label = change->label,
                               .taken = delta->take_label,
                               .is_aged = change->kind == NB_CHANGE_UNTRAIN &&
                                          nb_string_equals(change->source, NB_SOURCE_AGEING),
                               .rows = is_learned ? &delta->add : NULL};
    return nb_learner_teach(how->learner, live, &lesson);
}

static int apply_document(struct nb_live *live, const struct nb_change *change,
                          struct nb_delta *delta, const struct nb_applying *how, size_t *fresh,
                          struct nb_error *error)
{
    assert(delta != NULL);
    size_t ignored;
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
    int rc = how->marks != NULL
                 ? replay_counts(live, delta)
                 : nb_model_change(live->counts, &counts, fresh == NULL ? &ignored : fresh);
    if (rc == 0 && how->marks == NULL)
        note_current(live, change, how->number);
    if (rc == 0 && how->learner != NULL) {
        rc = teach(live, change, delta, how);
        if (rc != 0 && nb_apply_undo(live, change, delta) == 0)
            nb_current_entries_free(&live->current);
    }
    return rc == 0 ? 0 : nb_error_set(error, rc, "applying a change of the ledger failed");
}

static int apply_refit(struct nb_live *live, const struct nb_change *change,
                       const struct nb_applying *how, struct nb_error *error)
{
    if (how->learner == NULL)
        return 0;
    int rc = nb_learner_refit(how->learner, live, how->view, change->other);
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

int nb_apply_undo(struct nb_live *live, const struct nb_change *change,
                  const struct nb_delta *delta)
{
    size_t fresh;
    assert(change->kind == NB_CHANGE_TRAIN || change->kind == NB_CHANGE_UNTRAIN);
    struct nb_model_change back = {.add_label = delta->take_label,
                                   .add = delta->take.counts,
                                   .add_size = delta->take.size,
                                   .take_label = delta->add_label,
                                   .take = delta->add.counts,
                                   .take_size = delta->add.size};
    return nb_model_change(live->counts, &back, &fresh);
}
