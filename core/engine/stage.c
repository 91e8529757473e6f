/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/stage.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/pack.h"
#include "core/live/learner.h"
#include "core/live/refit.h"
#include "core/live/stored_score.h"
#include "core/model/model_pairs.h"
#include "core/remember/history.h"
#include "core/store/quarantine.h"
#include "core/store/twins.h"

/* One change on its way. */
struct stage {
    struct nb_staging *memory;
    struct nb_group *group;
    struct nb_view *view;
    struct nb_group_item *item;
    struct nb_submitted *change;
    struct nb_live *live;
    struct nb_group_model *model;
    uint32_t rows_before;
    bool new_label;
    bool refused;        /* the change cannot be made: the receipt says why */
    bool was_remembered; /* the history has a verdict about the document */
};

void nb_staging_deinit(struct nb_staging *s)
{
    nb_buffer_deinit(&s->features);
    nb_buffer_deinit(&s->bag);
    nb_buffer_deinit(&s->score);
    nb_buffer_deinit(&s->entry);
    nb_entry_deinit(&s->old);
    nb_entry_deinit(&s->restored);
    nb_family_deinit(&s->family);
    nb_buffer_deinit(&s->new_rows);
    free(s->known);
    free(s->rows);
    free(s->fresh);
    free(s->ids);
    free(s->texts);
}

static struct nb_string string_of(const struct nb_buffer *buffer)
{
    return (struct nb_string){buffer->bytes, buffer->length};
}

/* Returns 0: the group goes on without the change. */
static int refuse(struct stage *s, int code, const char *text)
{
    struct nb_receipt *receipt = &s->change->receipt;
    assert(code != 0);
    receipt->code = nb_error_set(&receipt->error, code, "%s", text);
    s->refused = true;
    return 0;
}

/* Damage was found in the store: the model takes no change any more. Other models do. */
static int refuse_damaged(struct stage *s, const struct nb_error *why)
{
    struct nb_receipt *receipt = &s->change->receipt;
    nb_live_set_damaged(s->live, why);
    receipt->code = nb_live_check(s->live, &receipt->error);
    s->refused = true;
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The rows of all features, in memory->rows, NB_NO_ROW for those that have none: the hint if it is
 * still right, else looked up. A hint is wrong after a commit failed and its rows were taken back.
 */
static int look_up(struct stage *s)
{
    struct nb_staging *m = s->memory;
    size_t size = s->change->feature_count;
    if (nb_array_reserve(&m->known, &m->known_room, size, sizeof *m->known) != 0 ||
        nb_array_reserve(&m->rows, &m->rows_room, size, sizeof *m->rows) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < size; i++) {
        const struct nb_pending *p = &s->change->features[i];
        m->known[i] = (struct nb_feature){.id = p->id, .count = p->count};
        m->rows[i] = p->row;
    }
    nb_model_find_again(s->live->counts, m->known, size, m->rows);
    return 0;
}

static int new_row(struct stage *s, const struct nb_pending *p, uint32_t *row)
{
    struct nb_staging *m = s->memory;
    int rc = nb_array_reserve(&m->fresh, &m->new_room, m->new_count + 1, sizeof *m->fresh);
    if (rc == 0)
        rc = nb_model_add_row(s->live->counts, p->id, row);
    if (rc != 0)
        return rc;
    m->fresh[m->new_count++] =
        (struct nb_fresh){.row = *row,
                          .id = p->id,
                          .text = {s->change->texts.bytes + p->text_offset, p->text_length}};
    return 0;
}

/* The row of the feature with the index `i`, made if it has none. */
static int row_of(struct stage *s, size_t i, uint32_t *row)
{
    const struct nb_pending *p = &s->change->features[i];
    *row = s->memory->rows[i];
    if (*row != NB_NO_ROW)
        return 0;
    if (p->row != NB_NO_ROW && p->text_length == 0)
        return refuse(s, NB_IO, "a commit failed meanwhile: send the document again");
    int rc = new_row(s, p, row);
    return rc == NB_TOO_LARGE
               ? refuse(s, rc, "the model has 4 billion features and takes no new ones")
               : rc;
}

/* Fills delta.add and encodes it. */
static int find_rows(struct stage *s)
{
    struct nb_submitted *change = s->change;
    struct nb_rows *rows = &change->delta.add;
    uint32_t row;
    int rc = look_up(s);
    if (rc == 0)
        rc = nb_array_reserve(&rows->counts, &rows->room, change->feature_count,
                              sizeof *rows->counts);
    for (size_t i = 0; rc == 0 && i < change->feature_count; i++) {
        rc = row_of(s, i, &row);
        if (rc != 0 || s->refused)
            return rc;
        rows->counts[rows->size++] =
            (struct nb_row_count){.row = row, .count = change->features[i].count};
    }
    if (rc != 0)
        return rc;
    nb_rows_sort(rows);
    return nb_bag_encode(rows, &s->memory->bag);
}

/* A dump has all ids under the key that made the documents' ids. Where that is not the key of the
 * features, their texts have to say them. */
static bool keeps_texts(const struct stage *s)
{
    return s->group->engine->settings.keep_words || s->live->key != s->live->id_key;
}

static int by_fresh_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_fresh *)a)->row;
    uint32_t y = ((const struct nb_fresh *)b)->row;
    return (x > y) - (x < y);
}

/* Rows that were dropped are named one by one; rows that are appended follow from the first. */
static int encode_rows(struct nb_staging *m)
{
    struct nb_rows rows = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->new_count; i++)
        rc = nb_rows_add(&rows, m->fresh[i].row, 1);
    if (rc == 0)
        rc = nb_bag_encode(&rows, &m->new_rows);
    nb_rows_deinit(&rows);
    return rc;
}

static int encode_features(struct stage *s)
{
    struct nb_staging *m = s->memory;
    int rc = 0;
    if (m->new_count == 0)
        return 0;
    if (nb_array_reserve(&m->ids, &m->ids_room, m->new_count, sizeof *m->ids) != 0 ||
        nb_array_reserve(&m->texts, &m->texts_room, m->new_count, sizeof *m->texts) != 0)
        return NB_NO_MEMORY;
    if (m->fresh[0].row < s->rows_before) { /* dropped rows are taken first */
        qsort(m->fresh, m->new_count, sizeof *m->fresh, by_fresh_row);
        rc = encode_rows(m);
    }
    for (size_t i = 0; i < m->new_count; i++) {
        m->ids[i] = m->fresh[i].id;
        m->texts[i] = m->fresh[i].text;
    }
    return rc != 0
               ? rc
               : nb_features_encode(s->group->engine->coder, m->ids,
                                    keeps_texts(s) ? m->texts : NULL, m->new_count, &m->features);
}

/* No count may pass 32 bits; `margin` is more than one group can add. Only looked at when the label
 * is so large that it could be. */
static bool would_overflow(const struct stage *s)
{
    static const uint32_t margin = UINT32_MAX / 16;
    const struct nb_model *counts = s->live->counts;
    uint32_t label = s->change->label_number;
    const struct nb_rows *rows = &s->change->delta.add;
    uint64_t occurrences = 0;
    if (label == NB_NO_LABEL)
        return false;
    assert(label < nb_model_label_count(counts));
    for (unsigned field = 0; field < NB_FIELDS; field++)
        occurrences += nb_model_occurrences(counts, label, field);
    for (unsigned part = 0; part < nb_model_parts(counts); part++)
        occurrences += nb_model_occurrences(counts, label, NB_FIRST_PART + part);
    if (occurrences < UINT32_MAX / 2)
        return false;
    for (size_t i = 0; i < rows->size; i++)
        if (nb_model_count(counts, rows->counts[i].row, label) > UINT32_MAX - margin)
            return true;
    return false;
}

/* A model with a structure counts pairs of values, which have a limit. */
static bool pairs_fit(const struct stage *s)
{
    const struct nb_rows *rows = &s->change->delta.add;
    return nb_model_pairs_fit(s->live->counts, rows->counts, rows->size);
}

static int refuse_pairs(struct stage *s)
{
    return refuse(s, NB_TOO_LARGE,
                  "the model has as many pairs of values as \"structure\": \"tan\" has room for");
}

static int find_label(struct stage *s, struct nb_error *error)
{
    struct nb_submitted *change = s->change;
    struct nb_string name = string_of(&change->label);
    uint32_t count = nb_model_label_count(s->live->counts);
    change->label_number = NB_NO_LABEL;
    if (name.length == 0)
        return 0;
    change->label_number = nb_model_find_label(s->live->counts, name);
    if (change->label_number != UINT32_MAX)
        return 0;
    int rc = NB_TOO_LARGE;
    if (count < s->group->engine->settings.labels)
        rc = nb_model_label(s->live->counts, name, &change->label_number);
    if (rc == NB_TOO_LARGE) {
        s->refused = true;
        change->receipt.code = nb_error_set(
            &change->receipt.error, rc,
            "the model has %u labels already, the limit of the setting `labels`", count);
        return 0;
    }
    s->new_label = rc == 0;
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* ---- the entry that is replaced -------------------------------------------------------------- */

/* *found says whether the document is learned; memory->old is its living entry then. */
static int find_old(struct stage *s, bool *found)
{
    struct nb_error why;
    *found = false;
    if (s->live->number == 0)
        return 0;
    int rc =
        nb_ledger_find(s->view, s->live->number, string_of(&s->change->id), &s->memory->old, &why);
    *found = rc == 0;
    if (rc == NB_CORRUPT)
        return refuse_damaged(s, &why);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* The entry that learned the document first: its place in the order of arrival. */
static uint64_t first_of(const struct nb_entry *old)
{
    return old->change.first != 0 ? old->change.first : old->number;
}

/* Whether the store can have a document of the label. */
static bool is_label(const struct stage *s, uint32_t label)
{
    return label == NB_NO_LABEL || label < nb_model_label_count(s->live->counts);
}

/* The label's record is written with the commit. */
static int touch_label(struct stage *s, uint32_t label)
{
    return label == NB_NO_LABEL ? 0 : nb_group_touch_label(s->group, s->live, label);
}

/* The score that the document has. That of an entry without a label is of the one before it. */
static struct nb_string score_of(const struct nb_change *change)
{
    return change->label == NB_NO_LABEL ? (struct nb_string){"", 0} : change->score;
}

/* What is taken out of the counts. */
static int take_out_old(struct stage *s, struct nb_error *error)
{
    const struct nb_change *old = &s->memory->old.change;
    struct nb_delta *delta = &s->change->delta;
    struct nb_error why;
    int rc = is_label(s, old->label)
                 ? nb_bag_decode(old->bag, nb_model_rows(s->live->counts), &delta->take, &why)
                 : nb_error_set(&why, NB_CORRUPT, "an entry's label is unknown");
    if (rc == NB_CORRUPT)
        return refuse_damaged(s, &why);
    delta->take_label = nb_delta_label(old->label);
    if (s->live->twins != NULL)
        nb_twins_remove(s->live->twins, s->memory->old.number);
    if (rc != 0 || touch_label(s, old->label) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* The score of the first learning stays with the document; its true label is the new one. */
static int keep_score(struct stage *s, struct nb_error *error)
{
    struct nb_stored_score scored;
    struct nb_stored_score_lists lists = {0};
    struct nb_string old = score_of(&s->memory->old.change);
    if (old.length == 0)
        return 0;
    if (s->change->label_number == NB_NO_LABEL) /* which score goes: the ledger's index asks */
        return nb_buffer_append(&s->memory->score, old.bytes, old.length) == 0
                   ? 0
                   : nb_error_no_memory(error);
    int rc = nb_stored_score_read(old, &lists, &scored, error);
    scored.label = s->change->label_number;
    if (rc == 0 && nb_stored_score_write(&scored, &s->memory->score) != 0)
        rc = nb_error_no_memory(error);
    nb_stored_score_lists_deinit(&lists);
    return rc;
}

/* ---- the entry ------------------------------------------------------------------------------- */

/* Gives a model its number, and writes the entry that makes it, before its first change. Does
 * nothing if the model has a number. `source` is who asked for the first change. Returns 0 or a
 * code. */
static int make_model(struct nb_group *group, struct nb_view *view, struct nb_live *live,
                      struct nb_string source, struct nb_error *error)
{
    struct nb_engine *engine = group->engine;
    struct nb_group_model *model = nb_group_model(group, live);
    struct nb_buffer settings = {0};
    struct nb_buffer entry = {0};
    if (live->number != 0)
        return 0;
    if (model == NULL || nb_settings_write(&live->published->settings, &settings) != 0)
        return nb_error_no_memory(error);
    int rc = nb_numbers_model(&engine->numbers, view, &live->number, error);
    struct nb_change change = {.kind = NB_CHANGE_CREATE,
                               .model = live->number,
                               .time = nb_clock_now(),
                               .source = source,
                               .name = nb_live_name(live),
                               .settings = string_of(&settings)};
    model->last = nb_numbers_entry(&engine->numbers);
    model->features++;
    if (rc == 0)
        rc = nb_ledger_append(view, model->last, &change, &live->checkpoint.totals, &entry, error);
    nb_buffer_deinit(&settings);
    nb_buffer_deinit(&entry);
    return rc;
}

static int append(struct stage *s, struct nb_change *change, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_submitted *submitted = s->change;
    assert(!submitted->staged);
    int rc = make_model(s->group, s->view, s->live, string_of(&submitted->source), error);
    if (rc != 0)
        return rc;
    s->model = nb_group_model(s->group, s->live);
    change->model = s->live->number;
    if (change->source.bytes == NULL) {
        change->time = nb_clock_now();
        change->source = string_of(&submitted->source);
    }
    change->id = string_of(&submitted->id);
    s->model->last = nb_numbers_entry(&engine->numbers);
    s->model->features += submitted->delta.add.size + submitted->delta.take.size + 1;
    rc = nb_ledger_append(s->view, s->model->last, change, &s->live->checkpoint.totals,
                          &s->memory->entry, error);
    submitted->staged = rc == 0;
    return rc;
}

/* Into the counts, by the one function that a replay uses, too. */
static int apply(struct stage *s, const struct nb_change *change, struct nb_error *error)
{
    struct nb_applying how = {
        .learner = s->group->engine->learner, .view = s->view, .number = s->model->last};
    assert(s->change->staged && !s->change->applied);
    size_t fresh = 0;
    int rc = nb_apply(s->live, change, &s->change->delta, &how, &fresh, error);
    s->change->applied = rc == 0;
    s->change->receipt.new_tokens = fresh;
    return rc;
}

static int refuse_unknown(struct stage *s)
{
    const struct nb_buffer *id = &s->change->id;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code =
        nb_error_set(&receipt->error, NB_NOT_FOUND, "model '%s' has no document with the id '%.*s'",
                     s->live->name, (int)id->length, id->bytes);
    return 0;
}

static int stage_untrain(struct stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    bool found;
    int rc = find_old(s, &found);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.status = NB_FORGOTTEN;
    if (!found)
        return s->was_remembered ? 0 : refuse_unknown(s);
    rc = take_out_old(s, error);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.tokens = submitted->positions = old->change.tokens;
    submitted->truncated = old->change.truncated;
    struct nb_change change = {.kind = NB_CHANGE_UNTRAIN,
                               .label = old->change.label,
                               .tokens = old->change.tokens,
                               .replaced = old->number,
                               .first = first_of(old),
                               .score = score_of(&old->change)};
    rc = append(s, &change, error);
    return rc != 0 ? rc : apply(s, &change, error);
}

static enum nb_status status_of(const struct stage *s, bool found)
{
    const struct nb_change *old = &s->memory->old.change;
    const struct nb_buffer *bag = &s->memory->bag;
    if (!found)
        return s->change->label_number == NB_NO_LABEL ? NB_STORED : NB_LEARNED;
    if (old->label == NB_NO_LABEL && s->change->label_number != NB_NO_LABEL)
        return NB_LEARNED;
    if (old->label != s->change->label_number)
        return NB_RELABELLED;
    bool same = old->bag.length == bag->length &&
                (bag->length == 0 || memcmp(old->bag.bytes, bag->bytes, bag->length) == 0);
    return same ? NB_UNCHANGED : NB_UPDATED;
}

/* The content of a change of the label alone is that of the entry that it replaces. */
static int take_content(struct stage *s, bool *found, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_change *old = &s->memory->old.change;
    struct nb_error why;
    int rc = find_old(s, found);
    if (rc != 0 || s->refused)
        return rc;
    if (!*found)
        return refuse_unknown(s);
    if (submitted->labelled != 0 && submitted->labelled != s->memory->old.number)
        return refuse(s, NB_CONFLICT, "the document was changed meanwhile");
    rc = nb_bag_decode(old->bag, nb_model_rows(s->live->counts), &submitted->delta.add, &why);
    if (rc == NB_CORRUPT)
        return refuse_damaged(s, &why);
    submitted->positions = old->tokens;
    submitted->truncated = old->truncated;
    nb_twins_free(&s->live->twins); /* it is made again when it is needed */
    if (rc != 0 || nb_buffer_append(&s->memory->bag, old->bag.bytes, old->bag.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* Label and rows of what is to be learned, and what it replaces. */
static int prepare_train(struct stage *s, bool *found, struct nb_error *error)
{
    int rc = find_label(s, error);
    if (rc == 0 && !s->refused && s->change->is_label)
        rc = take_content(s, found, error);
    else if (rc == 0 && !s->refused && find_rows(s) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0 && !s->refused && would_overflow(s))
        refuse(s, NB_TOO_LARGE, "a feature of the label was counted 4 billion times");
    if (rc == 0 && !s->refused && !pairs_fit(s))
        refuse_pairs(s);
    if (rc == 0 && !s->refused && !s->change->is_label)
        rc = find_old(s, found);
    return rc;
}

/* Whether the document gets its first label: only then it is learned, and arrives. */
static bool is_first_label(const struct stage *s)
{
    return s->memory->old.change.label == NB_NO_LABEL && s->change->label_number != NB_NO_LABEL;
}

static int score_train(struct stage *s, bool found, struct nb_error *error)
{
    bool is_new = !found || is_first_label(s);
    struct nb_submitted *submitted = s->change;
    if (!is_new)
        return keep_score(s, error);
    if (submitted->label_number == NB_NO_LABEL)
        return 0;
    int rc = nb_learner_score(s->group->engine->learner, s->live->published, s->live->counts,
                              &submitted->delta.add, submitted->label_number, &s->memory->score);
    if (rc == 0 && s->live->published->settings.parent != NULL)
        rc = nb_family_keep_score_of_rows(&s->memory->family, s->group->engine, s->live,
                                          &submitted->delta.add, submitted->label_number,
                                          &s->memory->score);
    return rc == 0 ? 0 : nb_error_set(error, rc, "scoring a document before it is learned failed");
}

/* ---- near-duplicates ------------------------------------------------------------------------- */

static void sign(const struct nb_submitted *submitted, struct nb_signature *signature)
{
    struct nb_signature_maker maker;
    nb_signature_begin(&maker);
    for (size_t i = 0; i < submitted->feature_count; i++)
        nb_signature_add(&maker, submitted->features[i].id);
    nb_signature_end(&maker, signature);
}

/* The model's list of what was learned last; none where near-duplicates are learned as ever. */
static int have_twins(struct stage *s, struct nb_error *error)
{
    const struct nb_settings *settings = &s->live->published->settings;
    struct nb_twins **twins = &s->live->twins;
    if (*twins != NULL && (settings->near_duplicates == 0 ||
                           nb_twins_window(*twins) != settings->near_duplicate_window))
        nb_twins_free(twins);
    if (settings->near_duplicates == 0 || *twins != NULL)
        return 0;
    return nb_twins_load(s->view, s->live->number, s->live->counts, settings->near_duplicate_window,
                         twins, error);
}

static int note_twin(struct stage *s, const struct nb_twin *twin, struct nb_error *error)
{
    struct nb_receipt *receipt = &s->change->receipt;
    struct nb_entry *entry = &s->memory->restored;
    receipt->status = NB_NEAR_DUPLICATE;
    receipt->similarity = twin->similarity;
    s->change->twin.length = 0;
    if (nb_ledger_read(s->view, twin->number, entry, NULL) == 0 &&
        nb_buffer_append(&s->change->twin, entry->change.id.bytes, entry->change.id.length) != 0)
        return nb_error_no_memory(error);
    receipt->twin = string_of(&s->change->twin);
    return 0;
}

/* Of a document that is not learned yet: whether enough of its like are. Then the receipt says so,
 * and nothing else comes of it. Of any document, its signature. */
static int check_twins(struct stage *s, bool found, struct nb_signature *signature,
                       struct nb_error *error)
{
    const struct nb_settings *settings = &s->live->published->settings;
    sign(s->change, signature);
    if (found || s->change->receipt.status != NB_LEARNED || s->new_label)
        return 0;
    struct nb_twin twin = nb_twins_find(s->live->twins, s->change->label_number, signature,
                                        settings->near_duplicate_similarity);
    return twin.count >= settings->near_duplicates ? note_twin(s, &twin, error) : 0;
}

static int stage_train(struct stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    struct nb_signature signature;
    bool found = false;
    int rc = prepare_train(s, &found, error);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.tokens = submitted->positions;
    submitted->receipt.status = status_of(s, found);
    if (!submitted->is_label)
        rc = have_twins(s, error);
    if (rc == 0 && s->live->twins != NULL)
        rc = check_twins(s, found, &signature, error);
    if (rc != 0 || submitted->receipt.status == NB_UNCHANGED ||
        submitted->receipt.status == NB_NEAR_DUPLICATE)
        return rc;
    submitted->delta.add_label = nb_delta_label(submitted->label_number);
    rc = found ? take_out_old(s, error) : 0;
    if (rc == 0 && !s->refused)
        rc = score_train(s, found, error);
    if (rc != 0 || s->refused)
        return rc;
    if (touch_label(s, submitted->label_number) != 0 || encode_features(s) != 0)
        return nb_error_no_memory(error);
    uint32_t new_count = (uint32_t)s->memory->new_count;
    struct nb_change change = {.kind = NB_CHANGE_TRAIN,
                               .label = submitted->label_number,
                               .label_name = s->new_label ? string_of(&submitted->label)
                                                          : (struct nb_string){"", 0},
                               .truncated = submitted->truncated,
                               .tokens = submitted->positions,
                               .replaced = found ? old->number : 0,
                               .first = found && !is_first_label(s) ? first_of(old) : 0,
                               .score = string_of(&s->memory->score),
                               .first_row = new_count > 0 ? s->memory->fresh[0].row : 0,
                               .new_count = new_count,
                               .features = string_of(&s->memory->features),
                               .new_rows = string_of(&s->memory->new_rows),
                               .bag = string_of(&s->memory->bag)};
    rc = append(s, &change, error);
    if (rc == 0 && s->live->twins != NULL &&
        nb_twins_add(s->live->twins, s->model->last, change.label, &signature) != 0)
        rc = nb_error_no_memory(error);
    return rc != 0 ? rc : apply(s, &change, error);
}

/* ---- taking back ----------------------------------------------------------------------------- */

/* memory->restored, decoded into delta.add. *found: the ledger has it. */
static int find_restored(struct stage *s, bool *found, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    struct nb_entry *restored = &s->memory->restored;
    struct nb_error why;
    int rc = nb_ledger_read(s->view, submitted->restored, restored, &why);
    const struct nb_change *c = &restored->change;
    *found = rc == 0 && c->kind == NB_CHANGE_TRAIN && c->model == s->live->number &&
             nb_string_same(c->id, string_of(&submitted->id)) && is_label(s, c->label);
    if (*found)
        rc = nb_bag_decode(c->bag, nb_model_rows(s->live->counts), &submitted->delta.add, &why);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == NB_CORRUPT)
        return refuse_damaged(s, &why);
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}

/* The document as the restored entry had it, in place of the living one. */
static int restore(struct stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    const struct nb_change *back = &s->memory->restored.change;
    submitted->label_number = back->label;
    submitted->delta.add_label = nb_delta_label(back->label);
    bool is_labelled_again = is_first_label(s);
    if (would_overflow(s))
        return refuse(s, NB_TOO_LARGE, "a feature of the label was counted 4 billion times");
    if (!pairs_fit(s))
        return refuse_pairs(s);
    submitted->receipt.status = old->change.label != back->label ? NB_RELABELLED : NB_UPDATED;
    submitted->receipt.tokens = submitted->positions = back->tokens;
    submitted->truncated = back->truncated;
    int rc = take_out_old(s, error);
    if (rc == 0 && !s->refused && !is_labelled_again)
        rc = keep_score(s, error);
    if (rc != 0 || s->refused)
        return rc;
    if (touch_label(s, back->label) != 0)
        return nb_error_no_memory(error);
    nb_twins_free(&s->live->twins); /* it is made again when it is needed */
    struct nb_change change = {
        .kind = NB_CHANGE_TRAIN,
        .time = back->time,
        .source = back->source,
        .label = back->label,
        .truncated = back->truncated,
        .tokens = back->tokens,
        .replaced = old->number,
        .first = is_labelled_again ? first_of(&s->memory->restored) : first_of(old),
        .score = is_labelled_again ? back->score : string_of(&s->memory->score),
        .bag = back->bag};
    rc = append(s, &change, error);
    return rc != 0 ? rc : apply(s, &change, error);
}

static int stage_take_back(struct stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    bool found;
    int rc = find_old(s, &found);
    if (rc != 0 || s->refused)
        return rc;
    if (!found || s->memory->old.number != submitted->taken)
        return refuse(s, NB_CONFLICT, "the document was changed meanwhile");
    submitted->untrain = submitted->restored == 0;
    if (!submitted->untrain) {
        rc = find_restored(s, &found, error);
        if (rc != 0 || s->refused)
            return rc;
        submitted->untrain = !found;
    }
    return submitted->untrain ? stage_untrain(s, error) : restore(s, error);
}

static int stage_note(struct stage *s, struct nb_error *error)
{
    struct nb_change change = {.kind = NB_CHANGE_UNDO,
                               .settings = string_of(&s->change->label),
                               .other = s->change->note_documents};
    return append(s, &change, error);
}

/* ---- refits ---------------------------------------------------------------------------------- */

/* Writes a REFIT and runs its slice. It takes nothing from the counts, so that a commit that fails
 * takes it back with the weights. */
static int put_refit(struct stage *s, enum nb_refit_part part, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_change change = {.kind = NB_CHANGE_REFIT,
                               .model = s->live->number,
                               .time = nb_clock_now(),
                               .source = string_of(&s->change->source),
                               .other = part};
    assert(s->live->number != 0);
    s->model = nb_group_model(s->group, s->live);
    s->model->last = nb_numbers_entry(&engine->numbers);
    s->model->features++;
    int rc = nb_ledger_append(s->view, s->model->last, &change, &s->live->checkpoint.totals,
                              &s->memory->entry, error);
    struct nb_applying how = {
        .learner = engine->learner, .view = s->view, .number = s->model->last};
    return rc != 0 ? rc : nb_apply(s->live, &change, &s->change->delta, &how, NULL, error);
}

/* A slice of nothing would only make an entry. */
static int stage_refit(struct stage *s, struct nb_error *error)
{
    bool begins = s->change->part != NB_REFIT_SLICE;
    if (begins && !nb_published_is_stacked(s->live->published))
        return refuse(s, NB_CONFLICT,
                      "the model has no weights: its `decision` is not \"stacked\"");
    if (s->live->number == 0 || (!begins && s->live->fit == NULL))
        return 0;
    int rc = put_refit(s, s->change->part, error);
    s->change->staged = rc == 0;
    return rc;
}

/* Before a change: weights that have missed documents, or a refit that was lost. */
static int begin_due_refit(struct stage *s, struct nb_error *error)
{
    if (s->live->number == 0 || !nb_refit_is_due(s->live))
        return 0;
    return put_refit(s, NB_REFIT_BEGIN, error);
}

/* ---- the quarantine -------------------------------------------------------------------------- */

/* The change as it is stored, in memory->entry. */
static int write_quarantined(struct stage *s)
{
    const struct nb_submitted *submitted = s->change;
    struct nb_buffer *features = &s->memory->features;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < submitted->feature_count; i++) {
        const struct nb_pending *p = &submitted->features[i];
        struct nb_quarantined_feature f = {
            p->id, p->count, {submitted->texts.bytes + p->text_offset, p->text_length}};
        rc = nb_quarantined_add(features, &f);
    }
    struct nb_quarantined q = {.untrain = submitted->untrain,
                               .truncated = submitted->truncated,
                               .time = nb_clock_now(),
                               .source = string_of(&submitted->source),
                               .label = string_of(&submitted->label),
                               .fields = submitted->fields,
                               .positions = submitted->positions,
                               .features = string_of(features)};
    return rc != 0 ? rc : nb_quarantined_write(&q, &s->memory->entry);
}

static int refuse_full(struct stage *s)
{
    const struct nb_engine_settings *settings = &s->group->engine->settings;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code = nb_error_set(&receipt->error, NB_TOO_LARGE,
                                 "the quarantine of the model is full (quarantine_documents %llu, "
                                 "quarantine_bytes %llu): an administrator has to apply or drop",
                                 (unsigned long long)settings->quarantine_documents,
                                 (unsigned long long)settings->quarantine_bytes);
    return 0;
}

static int stage_quarantined(struct stage *s, struct nb_error *error)
{
    const struct nb_engine_settings *settings = &s->group->engine->settings;
    struct nb_quarantine_sums sums;
    struct nb_string id = string_of(&s->change->id);
    if (s->live->number == 0)
        return refuse(s, NB_NOT_FOUND, "there is no such model yet");
    if (write_quarantined(s) != 0)
        return nb_error_no_memory(error);
    struct nb_string stored = string_of(&s->memory->entry);
    struct nb_error why;
    int rc = nb_quarantine_sums(s->view, s->live->number, &sums, &why);
    if (rc == NB_CORRUPT)
        return refuse(s, NB_DAMAGED, "the quarantine of the model is damaged: drop all of it");
    if (rc != 0)
        return nb_error_set(error, rc, "%s", why.text);
    if (sums.documents >= settings->quarantine_documents ||
        sums.bytes + stored.length > settings->quarantine_bytes)
        return refuse_full(s);
    s->change->receipt.status = NB_QUARANTINED;
    s->change->receipt.tokens = s->change->positions;
    return nb_quarantine_put(s->view, s->live->number, id, stored, error);
}

/* What was changed meanwhile, or applied or dropped by somebody else, is not made. */
static int check_released(struct stage *s, struct nb_error *error)
{
    bool has = false;
    int rc = nb_quarantine_has(s->view, s->live->number, string_of(&s->change->id),
                               string_of(&s->change->released), &has, error);
    if (rc == 0 && !has)
        s->change->receipt.status = NB_QUARANTINED;
    if (rc == 0 && !has)
        return refuse(s, NB_CONFLICT, "the change does not wait in the quarantine any more");
    return rc;
}

/* Whatever waited for the document is settled by the change that was made. */
static int leave_quarantine(struct stage *s, struct nb_error *error)
{
    if (s->live->number == 0)
        return 0;
    return nb_quarantine_remove(s->view, s->live->number, string_of(&s->change->id), error);
}

/* ---- the history ----------------------------------------------------------------------------- */

static bool is_remembered(const struct stage *s)
{
    struct nb_string stored;
    if (!s->change->forgets || s->live->number == 0)
        return false;
    int rc = nb_history_find(s->view, s->live->number, string_of(&s->change->id), &stored, NULL);
    return rc == 0 || rc == NB_CORRUPT;
}

/* What the history has of a document that is forgotten goes in the same transaction. */
static int leave_history(struct stage *s, struct nb_error *error)
{
    bool removed;
    if (!s->was_remembered)
        return 0;
    return nb_history_remove(s->view, s->live->number, string_of(&s->change->id), &removed, error);
}

/* ---- receipts -------------------------------------------------------------------------------- */

static int fill_labels(struct nb_receipt *receipt, const struct nb_model *counts,
                       const uint32_t *labels, size_t size)
{
    receipt->labels = malloc((size + 1) * sizeof *receipt->labels);
    if (receipt->labels == NULL)
        return NB_NO_MEMORY;
    receipt->label_count = size;
    for (size_t i = 0; i < size; i++)
        receipt->labels[i] =
            (struct nb_label_documents){.label = nb_model_label_name(counts, labels[i]).bytes,
                                        .documents = nb_model_documents(counts, labels[i])};
    return 0;
}

static bool is_counted(uint32_t label)
{
    return label != NB_NO_LABEL && label != UINT32_MAX;
}

static int fill_receipt(const struct nb_batch *batch, struct nb_submitted *change)
{
    const struct nb_model *counts = batch->live->counts;
    struct nb_receipt *receipt = &change->receipt;
    if (change->is_note || change->is_refit)
        return 0;
    if (change->quarantined) {
        receipt->id = string_of(&change->id);
        receipt->label = string_of(&change->label);
        receipt->truncated = change->truncated;
        return 0;
    }
    uint32_t old_label = change->delta.take_label;
    uint32_t label = change->untrain ? old_label : change->label_number;
    bool is_labelled = is_counted(label);
    bool two = receipt->status == NB_RELABELLED && is_counted(old_label);
    assert(!is_labelled || label < nb_model_label_count(counts));
    receipt->id = string_of(&change->id);
    if (is_labelled)
        receipt->label = nb_model_label_name(counts, label);
    receipt->truncated = change->truncated;
    if (two)
        receipt->previous_label = nb_model_label_name(counts, old_label);
    if (batch->single)
        return fill_labels(receipt, counts, nb_model_labels_sorted(counts),
                           nb_model_label_count(counts));
    uint32_t touched[2] = {is_labelled ? label : old_label, old_label};
    if (two && is_labelled && strcmp(receipt->previous_label.bytes, receipt->label.bytes) < 0) {
        touched[0] = old_label;
        touched[1] = label;
    }
    return fill_labels(receipt, counts, touched, (size_t)two + is_labelled);
}

/* ---- one change ------------------------------------------------------------------------------ */

/* Whether the model is as it was when the document was tokenized. */
static bool still_fits(struct stage *s)
{
    struct nb_receipt *receipt = &s->change->receipt;
    if (atomic_load(&s->live->removed)) {
        refuse(s, NB_NOT_FOUND, "the model was deleted or replaced while the document waited");
        return false;
    }
    receipt->code = nb_live_check(s->live, &receipt->error);
    if (receipt->code != 0)
        return false;
    bool is_tokenized = !s->change->untrain && s->change->taken == 0 && !s->change->is_note &&
                        !s->change->is_refit && !s->change->is_label;
    if (is_tokenized && s->live->published->settings.tokenizer_fields != s->change->fields) {
        refuse(s, NB_CONFLICT, "the tokenizer's settings changed while the document waited");
        return false;
    }
    return true;
}

static void begin(struct stage *s)
{
    struct nb_submitted *change = s->change;
    struct nb_staging *m = s->memory;
    change->staged = change->applied = false;
    nb_delta_reset(&change->delta);
    free(change->receipt.labels);
    change->receipt = (struct nb_receipt){.code = 0};
    m->features.length = m->bag.length = m->score.length = m->entry.length = m->new_rows.length =
        m->new_count = 0;
    nb_learner_reset(s->group->engine->learner);
}

static int stage_any(struct stage *s, struct nb_error *error)
{
    if (s->change->is_note)
        return stage_note(s, error);
    if (s->change->is_refit)
        return stage_refit(s, error);
    if (s->change->quarantined)
        return stage_quarantined(s, error);
    s->was_remembered = is_remembered(s);
    int rc = begin_due_refit(s, error);
    if (rc == 0 && s->change->taken != 0)
        return stage_take_back(s, error);
    if (rc == 0 && s->change->released.length > 0)
        rc = check_released(s, error);
    if (rc == 0 && !s->refused)
        rc = s->change->untrain ? stage_untrain(s, error) : stage_train(s, error);
    if (rc != 0 || s->refused)
        return rc;
    rc = leave_quarantine(s, error);
    return rc != 0 ? rc : leave_history(s, error);
}

int nb_stage(struct nb_staging *staging, struct nb_group *group, struct nb_view *view,
             struct nb_group_item *item, struct nb_error *error)
{
    struct stage s = {.memory = staging,
                      .group = group,
                      .view = view,
                      .item = item,
                      .change = item->change,
                      .live = item->batch->live};
    begin(&s);
    if (!still_fits(&s))
        return 0;
    s.model = nb_group_model(group, s.live);
    if (s.model == NULL)
        return nb_error_no_memory(error);
    uint32_t dropped = nb_model_dropped_rows(s.live->counts);
    uint32_t rows = s.rows_before = nb_model_rows(s.live->counts);
    uint32_t labels = nb_model_label_count(s.live->counts);
    int rc = stage_any(&s, error);
    if (rc == 0 && !s.change->staged) {
        /* Refused half-way, or unchanged: take its new features and its new label back. */
        nb_model_return_rows(s.live->counts, dropped);
        nb_model_truncate(s.live->counts, rows);
        nb_model_truncate_labels(s.live->counts, labels);
    }
    if (rc == 0 && s.change->receipt.code == 0)
        rc = fill_receipt(item->batch, s.change);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_stage_undo(struct nb_group_item *item)
{
    struct nb_submitted *change = item->change;
    struct nb_change kind = {.kind = change->untrain ? NB_CHANGE_UNTRAIN : NB_CHANGE_TRAIN};
    assert(change->staged || !change->applied);
    int rc = change->applied ? nb_apply_undo(item->batch->live, &kind, &change->delta) : 0;
    change->applied = change->staged = false;
    return rc;
}
