/* SPDX-License-Identifier: Apache-2.0 */
#include "core/group.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/prequential.h"

enum {
    GROUP_BYTES = 64 << 20, /* of one transaction, about */
    CHANGE_BYTES = 12288,   /* pages that a change touches beside its entry */
    FEATURE_BYTES = 16,
    /* Superfluous entries that a group drops for each of its changes, which make one at most. */
    DROPPED_PER_CHANGE = 4,
};

/* Grows a list by one; evaluates to false when there is no memory. */
static bool grow(void **list, size_t count, size_t *room, size_t element)
{
    if (count < *room)
        return true;
    size_t more = *room == 0 ? 64 : *room * 2;
    void *bigger = realloc(*list, more * element);
    if (bigger == NULL)
        return false;
    *list = bigger;
    *room = more;
    return true;
}

static uint64_t weight(const struct nb_change *change)
{
    return CHANGE_BYTES + change->feature_count * FEATURE_BYTES + change->texts.length * 2;
}

bool nb_group_add(struct nb_group *group, struct nb_batch *batch)
{
    while (batch->written < batch->size) {
        struct nb_change *change = &batch->changes[batch->written];
        uint64_t bytes = weight(change);
        if (group->size > 0 && (group->size >= group->engine->settings.group_documents ||
                                group->bytes + bytes > GROUP_BYTES))
            return false;
        void *items = group->items;
        bool good = grow(&items, group->size, &group->room, sizeof *group->items);
        group->items = items;
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

/* Forgets what staging has noted. */
static void clear_notes(struct nb_group *group)
{
    for (size_t i = 0; i < group->model_count; i++)
        nb_buffer_deinit(&group->models[i].weights);
    group->model_count = group->label_count = 0;
}

void nb_group_deinit(struct nb_group *group)
{
    clear_notes(group);
    free(group->items);
    free(group->models);
    free(group->labels);
    *group = (struct nb_group){0};
}

/* ---- what the group touches ------------------------------------------------------------------ */

static bool is_stacked(const struct nb_live *live)
{
    return live->published->settings.decision == NB_DECISION_STACKED;
}

static struct nb_group_model *model_of(struct nb_group *group, struct nb_live *live)
{
    /* Neighbours in the queue are mostly of the same model. */
    for (size_t i = group->model_count; i > 0; i--)
        if (group->models[i - 1].live == live)
            return &group->models[i - 1];
    void *models = group->models;
    bool good = grow(&models, group->model_count, &group->model_room, sizeof *group->models);
    group->models = models;
    if (!good)
        return NULL;
    struct nb_group_model *model = &group->models[group->model_count++];
    *model = (struct nb_group_model){.live = live,
                                     .saved = live->checkpoint,
                                     .rows_before = nb_model_rows(live->counts),
                                     .last = live->checkpoint.last};
    struct nb_packer w = {.out = &model->weights};
    if (is_stacked(live))
        nb_stack_weights_write(live->published->weights, &w);
    if (w.code == 0)
        return model;
    nb_buffer_deinit(&model->weights);
    group->model_count--;
    return NULL;
}

static int touch_label(struct nb_group *group, struct nb_live *live, uint32_t label)
{
    for (size_t i = group->label_count; i > 0; i--) {
        const struct nb_group_label *l = &group->labels[i - 1];
        if (l->live == live && l->label == label)
            return 0;
    }
    void *labels = group->labels;
    bool good = grow(&labels, group->label_count, &group->label_room, sizeof *group->labels);
    group->labels = labels;
    if (!good)
        return NB_NO_MEMORY;
    group->labels[group->label_count++] = (struct nb_group_label){.live = live, .label = label};
    return 0;
}

/* ---- staging one change ---------------------------------------------------------------------- */

struct staging {
    struct nb_group *group;
    struct nb_view *view;
    struct nb_batch *batch;
    struct nb_change *change;
    struct nb_live *live;
    struct nb_group_model *model;
    struct nb_buffer ids;   /* of new features */
    struct nb_buffer words; /* their texts */
    struct nb_buffer bag;   /* coded */
    struct nb_buffer entry;
    struct nb_buffer score;
};

static int refuse(struct staging *s, int code, const char *text)
{
    struct nb_receipt *receipt = &s->change->receipt;
    receipt->code = nb_error_set(&receipt->error, code, "%s", text);
    return 0;
}

/* The row of a feature: the hint if it still holds (rows can be taken back after a failed commit),
 * else looked up. */
static uint32_t row_of(const struct nb_model *counts, const struct nb_pending *p)
{
    if (p->row < nb_model_rows(counts) && nb_model_row_id(counts, p->row) == p->id)
        return p->row;
    return nb_model_find(counts, p->id);
}

static int new_row(struct staging *s, const struct nb_pending *p, uint32_t *row)
{
    struct nb_packer ids = {.out = &s->ids};
    struct nb_packer words = {.out = &s->words};
    int rc = nb_model_append(s->live->counts, p->id, row);
    if (rc != 0)
        return rc;
    nb_pack_u64(&ids, p->id);
    nb_pack_string(&words,
                   (struct nb_string){s->change->texts.bytes + p->text_offset, p->text_length});
    return ids.code != 0 ? ids.code : words.code;
}

/* Fills change->rows; *refused says that the change cannot be made, which is no error of the group.
 */
static int find_rows(struct staging *s, bool *refused)
{
    struct nb_change *change = s->change;
    uint32_t previous = 0;
    bool sorted = true;
    for (size_t i = 0; i < change->feature_count; i++) {
        const struct nb_pending *p = &change->features[i];
        uint32_t row = row_of(s->live->counts, p);
        int rc = 0;
        if (row == NB_NO_ROW && p->row != NB_NO_ROW) {
            *refused = true;
            return refuse(s, NB_IO, "a commit failed meanwhile: send the document again");
        }
        if (row == NB_NO_ROW)
            rc = new_row(s, p, &row);
        if (rc == NB_TOO_LARGE) {
            *refused = true;
            return refuse(s, rc, "the model has 4 billion features and takes no new ones");
        }
        if (rc == 0)
            rc = nb_rows_add(&change->rows, row, p->count);
        if (rc != 0)
            return rc;
        sorted = sorted && (i == 0 || row > previous);
        previous = row;
    }
    if (!sorted)
        nb_rows_sort(&change->rows);
    return nb_bag_encode(&change->rows, &s->bag);
}

/* The living entry of the document: its number, or 0. */
static int find_entry(struct staging *s, uint64_t *sequence, struct nb_entry *entry,
                      struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(
        s->live->number, (struct nb_string){s->change->id.bytes, s->change->id.length});
    struct nb_string value;
    *sequence = 0;
    int rc = nb_store_get(s->view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    *sequence = nb_unpack_varint(&r);
    key = nb_store_key_sequence(s->live->number, *sequence);
    rc = nb_store_get(s->view, NB_TABLE_LEDGER, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND || !nb_unpacker_done(&r))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a document's ledger entry is missing");
    return rc != 0 ? rc : nb_entry_read(entry, value, error);
}

/* Writes the entry, its index row, the new words, and what becomes superfluous. */
static int put_entry(struct staging *s, const struct nb_entry *entry, struct nb_error *error)
{
    struct nb_live *live = s->live;
    uint64_t sequence = s->change->sequence = ++s->model->last;
    struct nb_store_key key = nb_store_key_sequence(live->number, sequence);
    struct nb_store_key id_key = nb_store_key_id(live->number, entry->id);
    struct nb_packer small = {.out = &s->bag};
    if (nb_entry_write(entry, &s->entry) != 0)
        return nb_error_no_memory(error);
    int rc = nb_store_put(s->view, NB_TABLE_LEDGER, nb_store_key_string(&key),
                          (struct nb_string){s->entry.bytes, s->entry.length}, error);
    s->bag.length = 0;
    nb_pack_varint(&small, sequence);
    if (rc == 0 && small.code != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0 && entry->kind == NB_ENTRY_LEARNED)
        rc = nb_store_put(s->view, NB_TABLE_DOCUMENTS, nb_store_key_string(&id_key),
                          (struct nb_string){s->bag.bytes, s->bag.length}, error);
    else if (rc == 0)
        rc = nb_store_delete(s->view, NB_TABLE_DOCUMENTS, nb_store_key_string(&id_key), error);
    if (rc == 0 && entry->new_count > 0 && s->group->engine->settings.keep_words) {
        struct nb_store_key row = nb_store_key_number(live->number, entry->first_row);
        rc = nb_store_put(s->view, NB_TABLE_WORDS, nb_store_key_string(&row),
                          (struct nb_string){s->words.bytes, s->words.length}, error);
    }
    if (rc == 0 && entry->replaced != 0) {
        s->bag.length = 0;
        nb_pack_varint(&small, entry->replaced);
        nb_pack_u8(&small, entry->kind == NB_ENTRY_FORGOTTEN);
        rc = small.code != 0 ? nb_error_no_memory(error)
                             : nb_store_put(s->view, NB_TABLE_GARBAGE, nb_store_key_string(&key),
                                            (struct nb_string){s->bag.bytes, s->bag.length}, error);
    }
    return rc;
}

/* The score from before a document was learned moves to its new entry; a forgotten one's goes. */
static int move_score(struct staging *s, uint64_t from, bool keep, struct nb_error *error)
{
    struct nb_store_key old_key = nb_store_key_sequence(s->live->number, from);
    struct nb_string stored;
    struct nb_scored scored;
    struct nb_scored_lists lists = {0};
    int rc = nb_store_get(s->view, NB_TABLE_SCORES, nb_store_key_string(&old_key), &stored, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    if (keep)
        rc = nb_scored_read(stored, &lists, &scored, error);
    if (rc == 0 && keep) {
        scored.label = s->change->label_number;
        s->score.length = 0;
        if (nb_scored_write(&scored, &s->score) != 0)
            rc = nb_error_no_memory(error);
    }
    nb_scored_lists_deinit(&lists);
    return rc != 0
               ? rc
               : nb_store_delete(s->view, NB_TABLE_SCORES, nb_store_key_string(&old_key), error);
}

static int put_score(struct staging *s, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(s->live->number, s->change->sequence);
    if (s->score.length == 0)
        return 0;
    return nb_store_put(s->view, NB_TABLE_SCORES, nb_store_key_string(&key),
                        (struct nb_string){s->score.bytes, s->score.length}, error);
}

static int take_out_old(struct staging *s, const struct nb_entry *old, struct nb_error *error)
{
    s->change->old_label = old->label;
    if (old->label >= nb_model_label_count(s->live->counts))
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: an entry's label is unknown");
    int rc = nb_bag_decode(old->bag, nb_model_rows(s->live->counts), &s->change->old_rows, error);
    if (rc == 0 && touch_label(s->group, s->live, old->label) != 0)
        rc = nb_error_no_memory(error);
    s->model->features += s->change->old_rows.size;
    return rc;
}

static int stage_untrain(struct staging *s, struct nb_error *error)
{
    struct nb_change *change = s->change;
    uint64_t sequence;
    struct nb_entry old;
    int rc = find_entry(s, &sequence, &old, error);
    if (rc != 0)
        return rc;
    if (sequence == 0) {
        change->receipt.code = nb_error_set(
            &change->receipt.error, NB_NOT_FOUND, "model '%s' has no document with the id '%.*s'",
            s->live->name, (int)change->id.length, change->id.bytes);
        return 0;
    }
    change->receipt.status = NB_FORGOTTEN;
    change->receipt.tokens = change->positions = old.tokens;
    change->truncated = old.truncated;
    rc = take_out_old(s, &old, error);
    if (rc == 0)
        rc = move_score(s, sequence, false, error);
    if (rc != 0)
        return rc;
    struct nb_entry entry = {.kind = NB_ENTRY_FORGOTTEN,
                             .id = {change->id.bytes, change->id.length},
                             .label = old.label,
                             .time = nb_clock_now(),
                             .replaced = sequence};
    change->staged = true;
    return put_entry(s, &entry, error);
}

static int label_of(struct staging *s, bool *refused, struct nb_error *error)
{
    struct nb_change *change = s->change;
    struct nb_string name = {change->label.bytes, change->label.length};
    change->label_number = nb_model_find_label(s->live->counts, name);
    if (change->label_number != UINT32_MAX)
        return 0;
    int rc = NB_TOO_LARGE;
    if (nb_model_label_count(s->live->counts) < s->group->engine->settings.labels)
        rc = nb_model_label(s->live->counts, name, &change->label_number);
    if (rc != NB_TOO_LARGE)
        return rc == 0 ? 0 : nb_error_no_memory(error);
    *refused = true;
    s->change->receipt.code =
        nb_error_set(&s->change->receipt.error, rc,
                     "the model has %u labels already, the limit of the setting `labels`",
                     nb_model_label_count(s->live->counts));
    return 0;
}

/* No count may pass 32 bits; `margin` is more than one group can add. Only looked at when the label
 * is so large that it could be. */
static bool would_overflow(const struct staging *s)
{
    static const uint32_t margin = UINT32_MAX / 16;
    const struct nb_model *counts = s->live->counts;
    uint64_t occurrences = 0;
    for (unsigned field = 0; field < NB_FIELDS; field++)
        occurrences += nb_model_occurrences(counts, s->change->label_number, field);
    if (occurrences < UINT32_MAX / 2)
        return false;
    for (size_t i = 0; i < s->change->rows.size; i++)
        if (nb_model_count(counts, s->change->rows.counts[i].row, s->change->label_number) >
            UINT32_MAX - margin)
            return true;
    return false;
}

static int stage_train(struct staging *s, struct nb_error *error)
{
    struct nb_change *change = s->change;
    bool refused = false;
    uint64_t sequence;
    struct nb_entry old;
    struct nb_entry entry = {.kind = NB_ENTRY_LEARNED,
                             .truncated = change->truncated,
                             .id = {change->id.bytes, change->id.length},
                             .time = nb_clock_now(),
                             .tokens = change->positions,
                             .first_row = nb_model_rows(s->live->counts)};
    int rc = label_of(s, &refused, error);
    if (rc == 0 && !refused && find_rows(s, &refused) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0 && !refused && would_overflow(s)) {
        refused = true;
        refuse(s, NB_TOO_LARGE, "a feature of the label was counted 4 billion times");
    }
    if (rc != 0 || refused)
        return rc;
    rc = find_entry(s, &sequence, &old, error);
    if (rc != 0)
        return rc;
    entry.label = change->label_number;
    entry.replaced = sequence;
    entry.new_count = s->ids.length / sizeof(uint64_t);
    entry.new_ids = (const unsigned char *)s->ids.bytes;
    entry.bag = (struct nb_string){s->bag.bytes, s->bag.length};
    bool same_bag =
        sequence != 0 && old.bag.length == entry.bag.length &&
        (entry.bag.length == 0 || memcmp(old.bag.bytes, entry.bag.bytes, entry.bag.length) == 0);
    change->receipt.tokens = change->positions;
    if (sequence == 0)
        change->receipt.status = NB_LEARNED;
    else if (old.label != entry.label)
        change->receipt.status = NB_RELABELLED;
    else
        change->receipt.status = same_bag ? NB_UNCHANGED : NB_UPDATED;
    if (change->receipt.status == NB_UNCHANGED)
        return 0;
    if (sequence != 0)
        rc = take_out_old(s, &old, error);
    if (rc == 0 && sequence != 0)
        rc = move_score(s, sequence, true, error);
    else if (rc == 0)
        rc = nb_prequential_learn(s->group->engine->prequential, s->live->published,
                                  s->live->counts, change, &s->score);
    if (rc == 0 && touch_label(s->group, s->live, entry.label) != 0)
        rc = nb_error_no_memory(error);
    s->model->features += change->rows.size;
    change->staged = true;
    if (rc == 0)
        rc = put_entry(s, &entry, error);
    return rc != 0 ? rc : put_score(s, error);
}

/* ---- the counts ------------------------------------------------------------------------------ */

/* Brings a staged change into the counts (or, with `back`, out of them again). */
static int apply(struct nb_live *live, struct nb_change *change, bool back, size_t *fresh)
{
    uint32_t rows = nb_model_rows(live->counts);
    struct nb_model_change todo = {
        .add_label = change->untrain ? UINT32_MAX : change->label_number,
        .add = change->rows.counts,
        .add_size = change->rows.size,
        .take_label = change->old_label,
        .take = change->old_rows.counts,
        .take_size = change->old_rows.size,
    };
    if (back)
        todo = (struct nb_model_change){.add_label = todo.take_label,
                                        .add = todo.take,
                                        .add_size = todo.take_size,
                                        .take_label = todo.add_label,
                                        .take = todo.add,
                                        .take_size = todo.add_size};
    int rc = nb_checkpoint_touch(&live->checkpoint, &change->rows, rows);
    if (rc == 0)
        rc = nb_checkpoint_touch(&live->checkpoint, &change->old_rows, rows);
    return rc != 0 ? rc : nb_model_change(live->counts, &todo, fresh);
}

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

static int fill_receipt(const struct nb_batch *batch, struct nb_change *change)
{
    const struct nb_model *counts = batch->live->counts;
    struct nb_receipt *receipt = &change->receipt;
    uint32_t label = change->untrain ? change->old_label : change->label_number;
    receipt->id = (struct nb_string){change->id.bytes, change->id.length};
    receipt->label = nb_model_label_name(counts, label);
    receipt->truncated = change->truncated;
    if (receipt->status == NB_RELABELLED)
        receipt->previous_label = nb_model_label_name(counts, change->old_label);
    if (batch->single)
        return fill_labels(receipt, counts, nb_model_labels_sorted(counts),
                           nb_model_label_count(counts));
    uint32_t touched[2] = {label, change->old_label};
    bool two = receipt->status == NB_RELABELLED;
    if (two && strcmp(receipt->previous_label.bytes, receipt->label.bytes) < 0) {
        touched[0] = change->old_label;
        touched[1] = label;
    }
    return fill_labels(receipt, counts, touched, two ? 2 : 1);
}

/* The model as it was when the document was tokenized? */
static bool still_fits(struct staging *s)
{
    if (atomic_load(&s->live->removed)) {
        refuse(s, NB_NOT_FOUND, "the model was deleted or replaced while the document waited");
        return false;
    }
    struct nb_published *published = nb_live_settings(s->live);
    bool same = s->change->untrain || published->settings.tokenizer_fields == s->change->fields;
    nb_published_release(&published);
    if (!same)
        refuse(s, NB_CONFLICT, "the tokenizer's settings changed while the document waited");
    return same;
}

static void begin_change(struct staging *s)
{
    struct nb_change *change = s->change;
    change->staged = change->applied = false;
    change->old_label = UINT32_MAX;
    change->rows.size = change->old_rows.size = 0;
    free(change->receipt.labels);
    change->receipt = (struct nb_receipt){.code = 0};
    s->ids.length = s->words.length = s->bag.length = s->entry.length = s->score.length = 0;
}

static int stage(struct staging *s, struct nb_error *error)
{
    struct nb_change *change = s->change;
    size_t fresh = 0;
    begin_change(s);
    if (!still_fits(s))
        return 0;
    s->model = model_of(s->group, s->live);
    if (s->model == NULL)
        return nb_error_no_memory(error);
    uint32_t rows = nb_model_rows(s->live->counts);
    int rc = change->untrain ? stage_untrain(s, error) : stage_train(s, error);
    if (rc == 0 && !change->staged)
        nb_model_truncate(s->live->counts, rows); /* refused half-way: its features go again */
    if (rc == 0 && change->staged) {
        rc = apply(s->live, change, false, &fresh);
        change->applied = rc == 0;
        change->receipt.new_tokens = fresh;
    }
    if (rc == 0 && change->receipt.code == 0)
        rc = fill_receipt(s->batch, change);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

/* ---- the whole group ------------------------------------------------------------------------- */

static int put_label(struct nb_group *group, struct nb_view *view, const struct nb_live *live,
                     uint32_t label, struct nb_error *error)
{
    struct nb_buffer *out = &group->engine->scratch;
    struct nb_store_key key = nb_store_key_number(live->number, label);
    out->length = 0;
    if (nb_label_write(nb_model_label_name(live->counts, label),
                       nb_model_documents(live->counts, label), out) != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_LABELS, nb_store_key_string(&key),
                        (struct nb_string){out->bytes, out->length}, error);
}

/* Records of labels are numbered without gaps: those that came into memory with changes that failed
 * are written too. */
static int put_labels(struct nb_group *group, struct nb_view *view, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < group->model_count; i++) {
        struct nb_live *live = group->models[i].live;
        uint32_t count = nb_model_label_count(live->counts);
        for (uint32_t l = live->labels_stored; rc == 0 && l < count; l++)
            rc = touch_label(group, live, l) != 0 ? nb_error_no_memory(error) : 0;
    }
    for (size_t i = 0; rc == 0 && i < group->label_count; i++)
        rc = put_label(group, view, group->labels[i].live, group->labels[i].label, error);
    return rc;
}

static int put_model(struct nb_group *group, struct nb_view *view, struct nb_group_model *model,
                     struct nb_error *error)
{
    struct nb_engine *engine = group->engine;
    struct nb_live *live = model->live;
    int rc = 0;
    bool staged = model->last != live->checkpoint.last;
    if (!staged && live->checkpoint.replay == model->saved.replay)
        return 0; /* nothing to tell */
    if (staged && !atomic_load(&live->persisted)) {
        struct nb_published *published = nb_live_settings(live);
        rc = nb_writer_put_model(engine, view, live, &published->settings, error);
        nb_published_release(&published);
    }
    struct nb_state_record state = {.last = model->last,
                                    .replay = live->checkpoint.replay,
                                    .rows = nb_model_rows(live->counts)};
    if (rc == 0 && staged && is_stacked(live))
        rc = nb_writer_put_stack(engine, view, live, error);
    return rc != 0 ? rc : nb_writer_put_state(engine, view, live, &state, error);
}

/* Ranges that this commit takes along hold the counts as they are before it: they are written
 * first. */
static int put_checkpoints(struct nb_group *group, struct nb_view *view, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < group->size; i++) {
        struct nb_group_model *m = model_of(group, group->items[i].batch->live);
        if (m == NULL)
            return nb_error_no_memory(error);
        m->expected += group->items[i].change->feature_count + 1;
    }
    for (size_t i = 0; rc == 0 && i < group->model_count; i++) {
        struct nb_group_model *m = &group->models[i];
        uint32_t due = nb_checkpoint_due(group->engine, m->live, m->expected);
        if (due > 0)
            rc = nb_checkpoint_slice(group->engine, view, m->live, due, error);
        if (rc == 0)
            rc = nb_checkpoint_drop(view, m->live, group->size * DROPPED_PER_CHANGE, error);
    }
    return rc;
}

static void restore_weights(const struct nb_group_model *model)
{
    struct nb_unpacker r = nb_unpacker_of(model->weights.bytes, model->weights.length);
    if (model->weights.length > 0 &&
        nb_stack_weights_read(model->live->published->weights, &r) != 0)
        abort();
}

/* Everything is as it was before the group; what the counts gave up they have room to take back,
 * unless memory is so short that only a new start, which replays the ledger, can help. */
static void undo(struct nb_group *group)
{
    size_t fresh;
    for (size_t i = group->size; i > 0; i--) {
        struct nb_change *change = group->items[i - 1].change;
        if (change->applied && apply(group->items[i - 1].batch->live, change, true, &fresh) != 0)
            abort();
        change->applied = change->staged = false;
    }
    for (size_t i = 0; i < group->model_count; i++) {
        nb_model_truncate(group->models[i].live->counts, group->models[i].rows_before);
        nb_checkpoint_restore(group->models[i].live, &group->models[i].saved);
        restore_weights(&group->models[i]);
    }
    clear_notes(group);
}

static int stage_all(struct nb_engine *engine, struct nb_view *view, void *argument,
                     struct nb_error *error)
{
    struct nb_group *group = argument;
    struct staging s = {.group = group, .view = view};
    (void)engine;
    undo(group); /* this may be a second try */
    int rc = put_checkpoints(group, view, error);
    for (size_t i = 0; rc == 0 && i < group->size; i++) {
        s.batch = group->items[i].batch;
        s.change = group->items[i].change;
        s.live = s.batch->live;
        rc = stage(&s, error);
    }
    if (rc == 0)
        rc = put_labels(group, view, error);
    for (size_t i = 0; rc == 0 && i < group->model_count; i++)
        rc = put_model(group, view, &group->models[i], error);
    nb_buffer_deinit(&s.ids);
    nb_buffer_deinit(&s.words);
    nb_buffer_deinit(&s.bag);
    nb_buffer_deinit(&s.entry);
    nb_buffer_deinit(&s.score);
    return rc;
}

/* ---- after the commit ------------------------------------------------------------------------ */

static void count(struct nb_counters *counters, const struct nb_change *change)
{
    atomic_uint_fast64_t *const by_status[] = {
        [NB_LEARNED] = &counters->learned,       [NB_UNCHANGED] = &counters->unchanged,
        [NB_RELABELLED] = &counters->relabelled, [NB_UPDATED] = &counters->updated,
        [NB_FORGOTTEN] = &counters->forgotten,
    };
    atomic_fetch_add(by_status[change->receipt.status], 1);
    if (!change->untrain && change->staged)
        atomic_fetch_add(&counters->tokens_learned, change->positions);
}

static void finish(struct nb_group *group)
{
    for (size_t i = 0; i < group->model_count; i++) {
        struct nb_live *live = group->models[i].live;
        struct nb_checkpoint *checkpoint = &live->checkpoint;
        if (group->models[i].last == checkpoint->last)
            continue;
        uint64_t entries = group->models[i].last - checkpoint->last;
        checkpoint->last = group->models[i].last;
        checkpoint->tail_features += group->models[i].features + entries;
        checkpoint->sweep_features += group->models[i].features + entries;
        atomic_store(&live->tail, checkpoint->tail_features);
        atomic_store(&live->persisted, true);
        live->labels_stored = nb_model_label_count(live->counts);
        nb_writer_number_stored(group->engine, live);
    }
    for (size_t i = 0; i < group->size; i++) {
        struct nb_change *change = group->items[i].change;
        if (change->receipt.code == 0)
            count(&group->engine->counters, change);
        else
            atomic_fetch_add(&group->engine->counters.failed, 1);
        nb_rows_deinit(&change->rows);
        nb_rows_deinit(&change->old_rows);
    }
}

void nb_group_commit(struct nb_group *group)
{
    struct nb_error error = {0};
    if (group->size == 0)
        return;
    int rc = nb_writer_transaction(group->engine, group->bytes, stage_all, group, &error);
    atomic_fetch_add(&group->engine->counters.commit_changes, group->size);
    if (rc != 0) {
        undo(group);
        for (size_t i = 0; i < group->size; i++) {
            struct nb_change *change = group->items[i].change;
            change->receipt.code = rc;
            change->receipt.error = error;
        }
    }
    finish(group);
}
