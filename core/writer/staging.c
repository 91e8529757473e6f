/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/staging.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/model/live.h"
#include "core/model/refit.h"
#include "core/model/relayed.h"

enum {
    GROUP_BYTES = 64 << 20, /* most bytes of one transaction, approximately */
    CHANGE_BYTES = 12288,   /* pages that a change touches besides its entry */
    FEATURE_BYTES = 16,
};

static uint64_t weight(const struct nb_submitted *change)
{
    return CHANGE_BYTES + nb_submitted_size(change) * FEATURE_BYTES + change->texts.length * 2;
}

bool nb_group_add(struct nb_group *group, struct nb_batch *batch)
{
    assert(batch->live != NULL || batch->size == 0);
    while (batch->written < batch->size) {
        struct nb_submitted *change = &batch->changes[batch->written];
        uint64_t bytes = weight(change);
        if (group->size > 0 && (group->size >= group->engine->settings.group_documents ||
                                group->bytes + bytes > GROUP_BYTES))
            return false;
        bool good = nb_array_reserve(&group->items, &group->room, group->size + 1,
                                     sizeof *group->items) == 0;
        if (!good && group->size > 0)
            return false;
        batch->written++;
        atomic_fetch_sub(&group->engine->counters.queued, 1);
        if (!good) {
            change->receipt.code = nb_error_no_memory(&change->receipt.error);
            continue;
        }
        group->items[group->size++] = (struct nb_group_item){.batch = batch, .change = change};
        group->bytes += bytes;
    }
    return true;
}

void nb_group_cut(struct nb_group *group, size_t size)
{
    assert(size <= group->size);
    while (group->size > size) {
        const struct nb_group_item *item = &group->items[--group->size];
        assert(item->batch->written > 0);
        item->batch->written--;
        group->bytes -= weight(item->change);
        if (item->change->kind != NB_SUBMITTED_AGE) /* aged documents are found again */
            atomic_fetch_add(&group->engine->counters.queued, 1);
    }
}

void nb_group_clear(struct nb_group *group)
{
    group->model_count = group->label_count = 0;
}

void nb_group_deinit(struct nb_group *group)
{
    free(group->items);
    free(group->models);
    free(group->labels);
    *group = (struct nb_group){0};
}

struct nb_group_model *nb_group_model(struct nb_group *group, struct nb_live *live)
{
    assert(live->counts != NULL && live->published != NULL);
    /* Neighbours in the queue mostly belong to the same model. */
    for (size_t i = group->model_count; i > 0; i--)
        if (group->models[i - 1].live == live)
            return &group->models[i - 1];
    if (nb_array_reserve(&group->models, &group->model_room, group->model_count + 1,
                         sizeof *group->models) != 0)
        return NULL;
    struct nb_group_model *model = &group->models[group->model_count++];
    *model = (struct nb_group_model){.live = live,
                                     .saved = live->checkpoint,
                                     .weights = nb_stack_weights_mark(live->published->weights),
                                     .rows_before = nb_model_rows(live->counts),
                                     .dropped_before = nb_model_dropped_rows(live->counts),
                                     .labels_before = nb_model_label_count(live->counts),
                                     .was_numbered = live->number != 0,
                                     .last = live->checkpoint.last};
    return model;
}

int nb_group_touch_label(struct nb_group *group, struct nb_live *live, uint32_t label)
{
    assert(label < nb_model_label_count(live->counts));
    for (size_t i = group->label_count; i > 0; i--) {
        const struct nb_group_label *l = &group->labels[i - 1];
        if (l->live == live && l->label == label)
            return 0;
    }
    if (nb_array_reserve(&group->labels, &group->label_room, group->label_count + 1,
                         sizeof *group->labels) != 0)
        return NB_NO_MEMORY;
    group->labels[group->label_count++] = (struct nb_group_label){.live = live, .label = label};
    return 0;
}

void nb_staging_deinit(struct nb_staging *s)
{
    nb_buffer_deinit(&s->features);
    nb_buffer_deinit(&s->bag);
    nb_buffer_deinit(&s->score);
    nb_buffer_deinit(&s->entry);
    nb_entry_deinit(&s->old);
    nb_entry_deinit(&s->restored);
    nb_parent_chain_deinit(&s->chain);
    nb_buffer_deinit(&s->new_rows);
    free(s->known);
    free(s->rows);
    free(s->found);
    free(s->fresh);
    free(s->ids);
    free(s->texts);
}

int nb_stage_refuse(struct nb_stage *s, int code, const char *text)
{
    struct nb_receipt *receipt = &s->change->receipt;
    assert(code != 0);
    receipt->code = nb_error_set(&receipt->error, code, "%s", text);
    s->refused = true;
    return 0;
}

int nb_stage_refuse_damaged(struct nb_stage *s, const struct nb_error *why)
{
    struct nb_receipt *receipt = &s->change->receipt;
    nb_live_set_damaged(s->live, why);
    receipt->code = nb_live_check(s->live, &receipt->error);
    s->refused = true;
    return 0;
}

int nb_stage_refuse_unknown(struct nb_stage *s)
{
    const struct nb_buffer *id = &s->change->id;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code =
        nb_error_set(&receipt->error, NB_NOT_FOUND, "model '%s' has no document with the id '%.*s'",
                     s->live->name, (int)id->length, id->bytes);
    (void)nb_error_about(&receipt->error, receipt->code, "document_not_found", "id");
    return 0;
}

/* Gives a model its number, and writes the entry that makes it, before its first change. Does
 * nothing if the model has a number. `source` is who asked for the first change. Returns 0 or a
 * code. */
static int make_model(struct nb_group *group, struct nb_view *view, struct nb_live *live,
                      struct nb_string source, struct nb_error *error)
{
    struct nb_engine *engine = group->engine;
    struct nb_group_model *model = nb_group_model(group, live);
    struct nb_buffer settings = {0};
    struct nb_buffer key = {0};
    struct nb_buffer entry = {0};
    if (live->number != 0)
        return 0;
    if (model == NULL)
        return nb_error_no_memory(error);
    int rc = nb_settings_write(&live->published->settings, &settings);
    if (rc == 0)
        rc = nb_live_write_key(live, &key);
    rc = rc != 0 ? nb_error_no_memory(error)
                 : nb_serials_model(&engine->serials, view, &live->number, error);
    struct nb_change change = {.kind = NB_CHANGE_CREATE,
                               .model = live->number,
                               .time = nb_stream_states_time(engine),
                               .source = source,
                               .name = nb_live_name(live),
                               .settings = nb_buffer_string(&settings),
                               .key = nb_buffer_string(&key)};
    model->last = nb_serials_entry(&engine->serials);
    model->features++;
    if (rc == 0)
        rc = nb_ledger_append(view, model->last, &change, &live->checkpoint.totals, &entry, error);
    nb_buffer_deinit(&settings);
    nb_buffer_deinit(&key);
    nb_buffer_deinit(&entry);
    return rc;
}

int nb_stage_append(struct nb_stage *s, struct nb_change *change, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_submitted *submitted = s->change;
    assert(!submitted->staged);
    submitted->receipt.created = s->live->number == 0;
    int rc = make_model(s->group, s->view, s->live, nb_buffer_string(&submitted->source), error);
    if (rc != 0)
        return rc;
    s->model = nb_group_model(s->group, s->live);
    change->model = s->live->number;
    if (change->source.bytes == NULL) {
        change->time = nb_stream_states_time(engine);
        change->source = nb_buffer_string(&submitted->source);
    }
    change->id = nb_buffer_string(&submitted->id);
    s->model->last = nb_serials_entry(&engine->serials);
    s->model->features += submitted->delta.add.size + submitted->delta.take.size + 1;
    rc = nb_ledger_append(s->view, s->model->last, change, &s->live->checkpoint.totals,
                          &s->memory->entry, error);
    submitted->staged = rc == 0;
    return rc;
}

int nb_stage_apply(struct nb_stage *s, const struct nb_change *change, struct nb_error *error)
{
    struct nb_applying how = {.learner = s->group->engine->learner,
                              .view = s->view,
                              .number = s->model->last,
                              .are_found =
                                  !s->change->keeps_content && nb_submitted_size(s->change) > 0};
    assert(s->change->staged && !s->change->applied);
    size_t fresh = 0;
    int rc = nb_apply(s->live, change, &s->change->delta, &how, &fresh, error);
    s->change->applied = rc == 0;
    s->model->replaced += rc == 0 && change->replaced != 0;
    s->change->receipt.new_tokens = fresh;
    return rc;
}

/* Writes a REFIT entry and runs its slice. This does not change the counts: if the commit fails,
 * undoing the weights is enough. */
static int put_refit(struct nb_stage *s, enum nb_refit_part part, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_change change = {.kind = NB_CHANGE_REFIT,
                               .model = s->live->number,
                               .time = nb_stream_states_time(engine),
                               .source = nb_buffer_string(&s->change->source),
                               .part = part};
    assert(s->live->number != 0);
    s->model = nb_group_model(s->group, s->live);
    s->model->last = nb_serials_entry(&engine->serials);
    s->model->features++;
    int rc = nb_ledger_append(s->view, s->model->last, &change, &s->live->checkpoint.totals,
                              &s->memory->entry, error);
    struct nb_applying how = {
        .learner = engine->learner, .view = s->view, .number = s->model->last};
    return rc != 0 ? rc : nb_apply(s->live, &change, &s->change->delta, &how, NULL, error);
}

int nb_stage_refit(struct nb_stage *s, struct nb_error *error)
{
    bool begins = s->change->part != NB_REFIT_SLICE;
    if (begins && !nb_published_is_stacked(s->live->published))
        return nb_stage_refuse(s, NB_CONFLICT,
                               nb_published_is_several(s->live->published)
                                   ? "a model whose documents have several labels fits itself to "
                                     "its documents"
                                   : "the model has no weights: its `decision` is not "
                                     "\"stacked\"");
    if (s->live->number == 0 || (!begins && s->live->fit == NULL))
        return 0;
    int rc = put_refit(s, s->change->part, error);
    s->change->staged = rc == 0;
    return rc;
}

int nb_stage_begin_due_refit(struct nb_stage *s, struct nb_error *error)
{
    if (s->live->number == 0 || !nb_refit_is_due(s->live))
        return 0;
    return put_refit(s, NB_REFIT_BEGIN, error);
}

/* Copies the known rows of delta.add, because they are about to move: a second try must find them
 * as they were. */
static int put_aside(const struct nb_stage *s)
{
    struct nb_submitted *change = s->change;
    size_t size = change->known_count;
    if (change->known != NULL || size == 0)
        return 0;
    change->known = malloc(size * sizeof *change->known);
    if (change->known == NULL)
        return NB_NO_MEMORY;
    memcpy(change->known, change->delta.add.counts, size * sizeof *change->known);
    return 0;
}

/* Whether the rows of delta.add begin with the rows found when the document was looked up. */
static bool are_in_place(const struct nb_stage *s)
{
    return s->change->known == NULL;
}

/* Whether the rows found when the document was looked up still belong to its features. */
static bool are_known(const struct nb_stage *s)
{
    const struct nb_model *counts = s->live->counts;
    const struct nb_row_count *known = s->change->delta.add.counts;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->change->known_count; i++) {
        if (known[i].row >= nb_model_rows(counts))
            return false;
        sum += nb_known_share(nb_model_row_id(counts, known[i].row), known[i].count);
    }
    return sum == s->change->known_sum;
}

/* Rows may be lost after the document was looked up. Dropping features does no harm, because no
 * document has them. After a failed commit the same changes are made again, and mostly get the same
 * rows. */
static int check_known(struct nb_stage *s)
{
    return are_known(s)
               ? 0
               : nb_stage_refuse(s, NB_IO, "a commit failed meanwhile: send the document again");
}

/* Takes the features that had rows when the document was looked up. Those of a document from the
 * history are copied, because a second try may stage it in another way. */
static int take_known(struct nb_stage *s)
{
    struct nb_submitted *change = s->change;
    struct nb_rows *rows = &change->delta.add;
    if (rows->counts == NULL && change->known != NULL && change->kind != NB_SUBMITTED_RECALL) {
        *rows = (struct nb_rows){.counts = change->known, .room = nb_submitted_size(change)};
        change->known = NULL;
    }
    if (nb_array_reserve(&rows->counts, &rows->room, nb_submitted_size(change),
                         sizeof *rows->counts) != 0)
        return NB_NO_MEMORY;
    assert(change->known_count == 0 || rows->counts != NULL);
    if (change->known != NULL && change->known_count > 0)
        memcpy(rows->counts, change->known, change->known_count * sizeof *rows->counts);
    rows->size = change->known_count;
    return change->lost_rows == nb_model_lost_rows(s->live->counts) ? 0 : check_known(s);
}

static int new_row(struct nb_stage *s, uint32_t place, uint32_t *row)
{
    struct nb_staging *m = s->memory;
    const struct nb_pending *p = &s->change->others[place];
    int rc = nb_model_add_row(s->live->counts, p->id, row);
    if (rc == NB_TOO_LARGE)
        return nb_stage_refuse(s, rc, "the model has 4 billion features and takes no new ones");
    if (rc != 0)
        return rc;
    assert(m->new_count < m->new_room);
    m->foreseen_count += p->is_foreseen;
    m->fresh[m->new_count++] = (struct nb_fresh){.row = *row, .place = place};
    return 0;
}

/* Whether only earlier changes of this batch have brought features since the look-up: then the
 * foreseen features are new. */
static bool is_alone(const struct nb_stage *s)
{
    const struct nb_submitted *change = s->change;
    struct nb_naming *naming = &s->item->batch->naming;
    if (!naming->has_begun)
        *naming = (struct nb_naming){true, false, change->names, change->names};
    naming->is_mixed = naming->is_mixed || change->names != naming->before ||
                       nb_model_named_rows(s->live->counts) != naming->names ||
                       nb_model_lost_rows(s->live->counts) != change->lost_rows;
    return !naming->is_mixed;
}

/* Looks up the features that had no rows, in memory->rows: other changes may have brought them. */
static int look_up_others(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    const struct nb_pending *others = s->change->others;
    size_t size = s->change->other_count;
    size_t count = 0;
    bool alone = is_alone(s);
    /* One more, so that there is an array in any case: others point into it. */
    if (nb_array_reserve(&m->known, &m->known_room, size, sizeof *m->known) != 0 ||
        nb_array_reserve(&m->rows, &m->rows_room, size * 3 + 1, sizeof *m->rows) != 0)
        return NB_NO_MEMORY;
    uint32_t *found = m->rows + size;
    uint32_t *places = m->rows + size * 2;
    for (size_t i = 0; i < size; i++) {
        m->rows[i] = NB_NO_ROW;
        m->known[count] = (struct nb_feature){.id = others[i].id};
        places[count] = (uint32_t)i;
        count += !(alone && others[i].is_foreseen);
    }
    nb_model_find_all(s->live->counts, m->known, count, found);
    for (size_t k = 0; k < count; k++)
        m->rows[places[k]] = found[k];
    return 0;
}

static void add(struct nb_stage *s, uint32_t row, uint32_t count)
{
    struct nb_rows *rows = &s->change->delta.add;
    assert(rows->size < rows->room);
    rows->counts[rows->size++] = (struct nb_row_count){.row = row, .count = count};
}

/* Merges `found`, which is sorted and has no row in common with `rows`, into `rows`. */
static void merge(struct nb_rows *rows, const struct nb_row_count *found, size_t count)
{
    size_t known = rows->size;
    rows->size += count;
    assert(rows->size <= rows->room);
    for (struct nb_row_count *to = rows->counts + rows->size; count > 0;) {
        bool is_known = known > 0 && rows->counts[known - 1].row > found[count - 1].row;
        *--to = is_known ? rows->counts[known - 1] : found[count - 1];
        known -= is_known;
        count -= !is_known;
    }
}

/* Whether the row follows all rows that existed at the look-up. Rows assigned since then do, unless
 * they were dropped before and are reused. */
static bool is_behind_known(const struct nb_stage *s, uint32_t row)
{
    size_t known = s->change->known_count;
    return known == 0 || s->change->delta.add.counts[known - 1].row < row;
}

/* Returns the list of the features that get new rows: their indexes in change->others. */
static uint32_t *new_places(const struct nb_stage *s)
{
    return s->memory->rows + s->change->other_count * 2;
}

/* Takes the features that have rows by now, and lists the places of the *fresh others, without a
 * branch, because the processor cannot predict which is which. The rows are sorted in separate
 * memory, so that the bag, which the group keeps until its commit, needs no room for that. */
static int take_found(struct nb_stage *s, size_t *fresh)
{
    const struct nb_submitted *change = s->change;
    struct nb_staging *m = s->memory;
    size_t count = 0;
    *fresh = 0;
    if (change->other_count == 0)
        return 0;
    if (nb_array_reserve(&m->found, &m->found_room, change->other_count * 2, sizeof *m->found) != 0)
        return NB_NO_MEMORY;
    uint32_t *places = new_places(s);
    for (size_t i = 0; i < change->other_count; i++) {
        bool is_found = m->rows[i] != NB_NO_ROW;
        m->found[count] =
            (struct nb_row_count){.row = m->rows[i], .count = change->others[i].count};
        places[*fresh] = (uint32_t)i;
        count += is_found;
        *fresh += !is_found;
    }
    nb_row_counts_sort(m->found, count, m->found + change->other_count);
    if (count > 0 && !is_behind_known(s, m->found[0].row) && put_aside(s) != 0)
        return NB_NO_MEMORY;
    merge(&s->change->delta.add, m->found, count);
    return 0;
}

/* Prefetches places in the index for rows that are assigned soon: for the `nth` of `count`, and a
 * second time for one that was prefetched some rows ago. */
static void expect_rows(const struct nb_stage *s, size_t count, size_t nth)
{
    const struct nb_pending *others = s->change->others;
    const uint32_t *places = new_places(s);
    size_t again =
        nth - (NB_MODEL_EXPECTED -
               NB_MODEL_EXPECTED_AGAIN); /* wraps around to a very large number at first */
    if (nth < count)
        nb_model_expect(s->live->counts, others[places[nth]].id);
    if (again < count)
        nb_model_expect_again(s->live->counts, others[places[again]].id);
}

/* Assigns rows to the `count` other features. The rows mostly follow all existing rows, and so are
 * in order. */
static int take_new(struct nb_stage *s, size_t count)
{
    const struct nb_pending *others = s->change->others;
    const uint32_t *places = new_places(s);
    struct nb_staging *m = s->memory;
    uint32_t row = 0;
    if (nb_array_reserve(&m->fresh, &m->new_room, m->new_count + count, sizeof *m->fresh) != 0)
        return NB_NO_MEMORY;
    for (size_t nth = 0; nth < NB_MODEL_EXPECTED; nth++)
        expect_rows(s, count, nth);
    for (size_t k = 0; k < count; k++) {
        expect_rows(s, count, k + NB_MODEL_EXPECTED);
        int rc = new_row(s, places[k], &row);
        if (rc != 0 || s->refused)
            return rc;
        add(s, row, others[places[k]].count);
    }
    if (m->new_count == 0 || m->fresh[0].row >= s->rows_before)
        return 0;
    if (put_aside(s) != 0)
        return NB_NO_MEMORY;
    nb_rows_sort(&s->change->delta.add);
    return 0;
}

/* Most of a bag was encoded by the trainer's thread. */
static int encode_bag(struct nb_stage *s)
{
    const struct nb_rows *rows = &s->change->delta.add;
    struct nb_buffer *bag = &s->memory->bag;
    return are_in_place(s) ? nb_bag_end_encoding(&s->change->known_bag, rows, bag)
                           : nb_bag_encode(rows, bag);
}

int nb_stage_find_rows(struct nb_stage *s)
{
    size_t fresh;
    int rc = take_known(s);
    if (rc == 0 && !s->refused)
        rc = look_up_others(s);
    if (rc != 0 || s->refused)
        return rc;
    rc = take_found(s, &fresh);
    if (rc == 0)
        rc = take_new(s, fresh);
    s->item->batch->naming.names = nb_model_named_rows(s->live->counts);
    return rc != 0 || s->refused ? rc : encode_bag(s);
}

/* Whether the texts of features are stored. A dump has the ids of features under the key that
 * makes ids of documents. If features have another key here, their ids for a dump are made from
 * their texts. */
static bool keeps_texts(const struct nb_stage *s)
{
    return s->group->engine->settings.keep_words || s->live->key != s->live->id_key;
}

static int by_fresh_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_fresh *)a)->row;
    uint32_t y = ((const struct nb_fresh *)b)->row;
    return (x > y) - (x < y);
}

/* Reused rows are listed one by one; appended rows follow from the first one. */
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

/* Whether the new features are those that were foreseen, in their order. */
static bool are_foreseen(const struct nb_stage *s)
{
    const struct nb_staging *m = s->memory;
    return m->new_count == s->change->foreseen_count && m->new_count == m->foreseen_count &&
           m->new_rows.length == 0;
}

static int encode(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    if (nb_array_reserve(&m->ids, &m->ids_room, m->new_count, sizeof *m->ids) != 0 ||
        nb_array_reserve(&m->texts, &m->texts_room, m->new_count, sizeof *m->texts) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < m->new_count; i++) {
        uint32_t place = m->fresh[i].place;
        m->ids[i] = s->change->others[place].id;
        m->texts[i] = nb_submitted_text(s->change, place);
    }
    int rc = nb_features_encode(s->group->engine->coder, m->ids, keeps_texts(s) ? m->texts : NULL,
                                m->new_count, &m->features);
    m->coded = nb_buffer_string(&m->features);
    return rc;
}

int nb_stage_encode_features(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    int rc = 0;
    if (m->new_count == 0)
        return 0;
    if (m->fresh[0].row < s->rows_before) { /* dropped rows are taken first */
        qsort(m->fresh, m->new_count, sizeof *m->fresh, by_fresh_row);
        rc = encode_rows(m);
    }
    bool foreseen = are_foreseen(s);
    atomic_store(&s->group->engine->spares.foresees, foreseen);
    if (rc != 0 || !foreseen || s->change->foreseen_texts.length == 0)
        return rc != 0 ? rc : encode(s);
    m->coded = nb_buffer_string(&s->change->foreseen_texts);
    return 0;
}
