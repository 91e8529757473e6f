/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/ledger_features.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/ledger/ledger.h"

static int damaged(struct nb_error *error, uint64_t number, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: ledger entry %" PRIu64 " %s",
                        number, what);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_row_count *)a)->row;
    uint32_t y = ((const struct nb_row_count *)b)->row;
    return (x > y) - (x < y);
}

static int find_row(const struct nb_change *c, uint32_t row, size_t *index, struct nb_error *error)
{
    struct nb_rows rows = {0};
    struct nb_row_count wanted = {.row = row};
    int rc = c->new_count == 0 ? NB_NOT_FOUND : nb_change_new_rows(c, UINT32_MAX, &rows, error);
    if (rc == 0) {
        const struct nb_row_count *found =
            bsearch(&wanted, rows.counts, rows.size, sizeof wanted, by_row);
        *index = found == NULL ? 0 : (size_t)(found - rows.counts);
        rc = found == NULL ? NB_NOT_FOUND : 0;
    }
    nb_rows_deinit(&rows);
    return rc;
}

int nb_ledger_entry_of_row(const struct nb_view *view, uint32_t model, uint32_t row,
                           struct nb_entry *entry, size_t *index, struct nb_error *error)
{
    struct nb_store_key from = nb_store_key_number(model, row);
    struct nb_store_key prefix = nb_store_key_model(model);
    struct nb_string key;
    struct nb_string value;
    int rc = nb_store_floor(view, NB_TABLE_WORDS, nb_store_key_string(&from), prefix.length, &key,
                            &value, error);
    if (rc == 0)
        rc = nb_ledger_read_indexed(view, value, entry, error);
    return rc != 0 ? rc : find_row(&entry->change, row, index, error);
}

struct run_walk {
    const struct nb_view *view;
    nb_ledger_visit_run *visit;
    void *user;
    struct nb_entry entry; /* the entry that was read last */
    struct nb_rows rows;   /* the rows of its new features */
};

static int walk_run(void *user, struct nb_string key, struct nb_string value,
                    struct nb_error *error)
{
    struct run_walk *w = user;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    uint64_t number = nb_unpack_varint(&r);
    struct nb_row_count wanted = {.row = (uint32_t)nb_store_key_tail(key)};
    int rc = 0;
    if (number != w->entry.number || w->rows.size == 0) {
        rc = nb_ledger_read_indexed(w->view, value, &w->entry, error);
        if (rc == 0)
            rc = nb_change_new_rows(&w->entry.change, UINT32_MAX, &w->rows, error);
    }
    if (rc != 0)
        return rc;
    const struct nb_row_count *found =
        w->rows.size == 0 ? NULL
                          : bsearch(&wanted, w->rows.counts, w->rows.size, sizeof wanted, by_row);
    if (found == NULL)
        return damaged(error, number, "does not have the features that its index says");
    struct nb_ledger_run run = {.entry = &w->entry,
                                .first_row = wanted.row,
                                .index = (size_t)(found - w->rows.counts),
                                .count = 1};
    while (run.index + run.count < w->rows.size &&
           !nb_ledger_begins_run(&w->rows, run.index + run.count))
        run.count++;
    return w->visit(w->user, &run, error);
}

int nb_ledger_walk_runs(const struct nb_view *view, uint32_t model, uint32_t from,
                        nb_ledger_visit_run *visit, void *user, struct nb_error *error)
{
    struct run_walk w = {.view = view, .visit = visit, .user = user};
    struct nb_store_key key = nb_store_key_number(model, from);
    int rc = nb_store_scan(view, NB_TABLE_WORDS, nb_store_key_string(&key), sizeof model, walk_run,
                           &w, error);
    nb_entry_deinit(&w.entry);
    nb_rows_deinit(&w.rows);
    return rc;
}

/* ---- dropping -------------------------------------------------------------------------------- */

enum {
    SMALL = 128,         /* an entry with fewer features left is merged with others */
    TOGETHER_MOST = 256, /* features of a merged entry: reading one reads all */
};

/* A feature of an entry that is merged with others. */
struct gathered {
    uint64_t id;
    uint32_t row, text_length;
    size_t text; /* where its text begins in together.texts */
};

/* The features that are left in small entries, which are merged into one entry under the lowest of
 * their numbers. The number does not matter for features whose documents are gone: no entry in
 * between has their rows. */
struct together {
    struct nb_change change; /* model, time and kind are those of the first entry */
    uint64_t number;         /* lowest number of the entries; 0: nothing is gathered */
    bool has_texts;
    struct gathered *features; /* owned */
    size_t count, room;
    struct nb_buffer texts;
};

/* The state of dropping features from one entry after the other. */
struct thinning {
    const struct nb_view *view;
    struct nb_ledger_totals *totals;
    struct nb_entry entry;
    struct nb_rows rows, left; /* rows of all features of the entry, and of those that stay */
    uint64_t *ids;             /* ids of the features that stay; owned */
    struct nb_string *texts;   /* texts of the features that stay; the array is owned */
    size_t ids_room, texts_room;
    struct together together;
    struct nb_buffer features, new_rows, bytes;
    struct nb_features_coder *encoder; /* not the decoder, whose memory has the texts */
};

/* Collects the features that stay. Marks those that are dropped: their rows are in `rows`, from the
 * index `from` on. */
static int choose(struct thinning *t, const uint32_t *rows, size_t from, size_t count, bool *taken,
                  const uint64_t *ids, const struct nb_string *texts)
{
    size_t at = from;
    int rc = nb_array_reserve(&t->ids, &t->ids_room, t->rows.size + 1, sizeof *t->ids);
    if (rc == 0)
        rc = nb_array_reserve(&t->texts, &t->texts_room, t->rows.size + 1, sizeof *t->texts);
    t->left.size = 0;
    for (size_t i = 0; rc == 0 && i < t->rows.size; i++) {
        uint32_t row = t->rows.counts[i].row;
        while (at < count && rows[at] < row)
            at++;
        if (at < count && rows[at] == row) {
            taken[at] = true;
            continue;
        }
        t->ids[t->left.size] = ids[i];
        if (texts != NULL)
            t->texts[t->left.size] = texts[i];
        rc = nb_rows_add(&t->left, row, 1);
    }
    return rc;
}

static bool is_one_run(const struct nb_rows *rows)
{
    return rows->counts[rows->size - 1].row - rows->counts[0].row + 1 == rows->size;
}

/* Writes an entry with the features of t->left, t->ids and t->texts. An entry that listed its rows
 * one by one still does: a replay appends the rows of others. */
static int put_left(struct thinning *t, uint64_t number, const struct nb_change *old, bool by_name,
                    bool has_texts, struct nb_error *error)
{
    struct nb_change change = *old;
    t->features.length = t->new_rows.length = t->bytes.length = 0;
    change.new_count = (uint32_t)t->left.size;
    change.first_row = t->left.size > 0 ? t->left.counts[0].row : 0;
    change.features = change.new_rows = (struct nb_string){"", 0};
    if (t->left.size > 0) {
        if (nb_features_encode(t->encoder, t->ids, has_texts ? t->texts : NULL, t->left.size,
                               &t->features) != 0 ||
            ((by_name || !is_one_run(&t->left)) && nb_bag_encode(&t->left, &t->new_rows) != 0))
            return nb_error_no_memory(error);
        change.features = (struct nb_string){t->features.bytes, t->features.length};
        change.new_rows = (struct nb_string){t->new_rows.bytes, t->new_rows.length};
    }
    if (nb_change_write(&change, &t->bytes) != 0)
        return nb_error_no_memory(error);
    int rc = nb_ledger_put_pieces(t->view, number, &t->bytes, false, error);
    return rc != 0 ? rc : nb_ledger_put_words(t->view, number, &change, error);
}

/* ---- small entries put together -------------------------------------------------------------- */

static int by_gathered_row(const void *a, const void *b)
{
    uint32_t x = ((const struct gathered *)a)->row;
    uint32_t y = ((const struct gathered *)b)->row;
    return (x > y) - (x < y);
}

/* Copies the gathered features, in the order of their rows, to t->left, t->ids and t->texts. */
static int lay_out(struct thinning *t)
{
    struct together *g = &t->together;
    int rc = nb_array_reserve(&t->ids, &t->ids_room, g->count, sizeof *t->ids);
    if (rc == 0)
        rc = nb_array_reserve(&t->texts, &t->texts_room, g->count, sizeof *t->texts);
    qsort(g->features, g->count, sizeof *g->features, by_gathered_row);
    t->left.size = 0;
    for (size_t i = 0; rc == 0 && i < g->count; i++) {
        const struct gathered *f = &g->features[i];
        t->ids[i] = f->id;
        if (g->has_texts)
            t->texts[i] = (struct nb_string){g->texts.bytes + f->text, f->text_length};
        rc = nb_rows_add(&t->left, f->row, 1);
    }
    return rc;
}

static int put_together(struct thinning *t, struct nb_error *error)
{
    struct together *g = &t->together;
    if (g->number == 0)
        return 0;
    if (lay_out(t) != 0)
        return nb_error_no_memory(error);
    int rc = put_left(t, g->number, &g->change, true, g->has_texts, error);
    if (rc == 0)
        rc = nb_ledger_put_entry_row(t->view, g->change.model, g->number, 0, error);
    t->totals->entries++;
    g->number = 0;
    g->count = g->texts.length = 0;
    return rc;
}

/* Adds the features left in t->entry, which is no longer in the store. Call make_room before. */
static int gather_left(struct thinning *t, struct nb_error *error)
{
    struct together *g = &t->together;
    const struct nb_change *c = &t->entry.change;
    if (g->number == 0)
        g->change = (struct nb_change){
            .kind = NB_CHANGE_FEATURES, .model = c->model, .time = c->time, .label = c->label};
    if (g->number == 0 || t->entry.number < g->number)
        g->number = t->entry.number;
    int rc = nb_array_reserve(&g->features, &g->room, g->count + t->left.size, sizeof *g->features);
    for (size_t i = 0; rc == 0 && i < t->left.size; i++) {
        struct nb_string text = g->has_texts ? t->texts[i] : (struct nb_string){"", 0};
        g->features[g->count++] = (struct gathered){.id = t->ids[i],
                                                    .row = t->left.counts[i].row,
                                                    .text = g->texts.length,
                                                    .text_length = (uint32_t)text.length};
        rc = nb_buffer_append(&g->texts, text.bytes, text.length);
    }
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Writes the merged entry if the next entry might not fit into it. */
static int make_room(struct thinning *t, struct nb_error *error)
{
    struct together *g = &t->together;
    bool has_texts = nb_features_have_texts(t->entry.change.features);
    int rc = 0;
    if (g->number != 0 && (g->has_texts != has_texts || g->count + SMALL > TOGETHER_MOST))
        rc = put_together(t, error);
    if (g->number == 0)
        g->has_texts = has_texts;
    return rc;
}

/* ---- one entry ------------------------------------------------------------------------------- */

static int put_rest(struct thinning *t, struct nb_error *error)
{
    const struct nb_change *c = &t->entry.change;
    bool has_label = c->label_name.length > 0;
    if (has_label || t->left.size >= SMALL)
        return put_left(t, t->entry.number, c, c->new_rows.length > 0,
                        nb_features_have_texts(c->features), error);
    struct nb_store_key key = nb_store_key_sequence(c->model, t->entry.number);
    t->totals->entries--;
    int rc = nb_store_delete(t->view, NB_TABLE_ENTRIES, nb_store_key_string(&key), error);
    return rc != 0 || t->left.size == 0 ? rc : gather_left(t, error);
}

/* Drops the features of t->entry whose rows are in the list, from its index `from` on. */
static int thin(struct thinning *t, const uint32_t *rows, size_t from, size_t count,
                struct nb_features_coder *coder, const struct nb_key *key, bool *taken,
                struct nb_error *error)
{
    const struct nb_change *c = &t->entry.change;
    const uint64_t *ids;
    const struct nb_string *texts;
    int rc = make_room(t, error);
    if (rc == 0)
        rc = nb_change_new_rows(c, UINT32_MAX, &t->rows, error);
    if (rc == 0)
        rc = nb_features_decode(coder, c->features, c->new_count, key, &ids, &texts, error);
    if (rc == 0 && choose(t, rows, from, count, taken, ids, texts) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_ledger_delete_words(t->view, c->model, &t->rows, error);
    if (rc == 0)
        rc = nb_ledger_delete_pieces(t->view, t->entry.number, error);
    return rc != 0 ? rc : put_rest(t, error);
}

static void thinning_deinit(struct thinning *t)
{
    nb_entry_deinit(&t->entry);
    nb_rows_deinit(&t->rows);
    nb_rows_deinit(&t->left);
    nb_buffer_deinit(&t->features);
    nb_buffer_deinit(&t->new_rows);
    nb_buffer_deinit(&t->bytes);
    nb_buffer_deinit(&t->together.texts);
    free(t->together.features);
    free(t->ids);
    free(t->texts);
    nb_features_coder_free(&t->encoder);
}

int nb_ledger_drop_features(const struct nb_view *view, uint32_t model, const uint32_t *rows,
                            size_t count, struct nb_features_coder *coder, const struct nb_key *key,
                            bool *taken, struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct thinning t = {.view = view, .totals = totals, .encoder = nb_features_coder_new()};
    uint64_t newest = 0;
    size_t index;
    assert(model != 0);
    memset(taken, 0, count * sizeof *taken);
    int rc = t.encoder == NULL ? nb_error_no_memory(error) : nb_ledger_newest(view, &newest, error);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (taken[i])
            continue;
        rc = nb_ledger_entry_of_row(view, model, rows[i], &t.entry, &index, error);
        if (rc == NB_NOT_FOUND)
            rc = damaged(error, t.entry.number, "does not have a feature that is in use");
        if (rc == 0 && t.entry.change.kind == NB_CHANGE_FEATURES && t.entry.number != newest)
            rc = thin(&t, rows, i, count, coder, key, taken, error);
    }
    if (rc == 0)
        rc = put_together(&t, error);
    thinning_deinit(&t);
    return rc;
}

int nb_row_texts_begin(struct nb_row_texts *texts, struct nb_store *store, uint32_t model,
                       const struct nb_key *key, struct nb_error *error)
{
    *texts = (struct nb_row_texts){.store = store, .model = model, .key = key};
    texts->coder = nb_features_coder_new();
    if (texts->coder == NULL)
        return nb_error_no_memory(error);
    return nb_store_snapshot(store, &texts->view, error);
}

void nb_row_texts_end(struct nb_row_texts *texts)
{
    nb_store_snapshot_end(&texts->view);
    nb_features_coder_free(&texts->coder);
    nb_entry_deinit(&texts->entry);
}

void nb_row_texts_rest(struct nb_row_texts *texts)
{
    nb_store_snapshot_end(&texts->view);
    texts->is_resting = true;
}

static int renew(struct nb_row_texts *t, struct nb_error *error)
{
    nb_store_snapshot_end(&t->view);
    t->is_resting = false;
    return nb_store_snapshot(t->store, &t->view, error);
}

static int look(struct nb_row_texts *t, uint32_t row, uint64_t feature, struct nb_string *text,
                bool *is_kept, struct nb_error *error)
{
    const uint64_t *ids;
    const struct nb_string *texts;
    const struct nb_change *c = &t->entry.change;
    size_t index = 0;
    int rc = nb_ledger_entry_of_row(&t->view, t->model, row, &t->entry, &index, error);
    if (rc == 0)
        rc = nb_features_decode(t->coder, c->features, c->new_count, t->key, &ids, &texts, error);
    if (rc != 0)
        return rc;
    assert(index < c->new_count);
    if (ids[index] != feature)
        return NB_NOT_FOUND;
    int digits = snprintf(t->id, sizeof t->id, "#%016" PRIx64, feature);
    *text = texts != NULL ? texts[index] : (struct nb_string){t->id, (size_t)digits};
    if (is_kept != NULL)
        *is_kept = texts != NULL;
    return 0;
}

/* An open snapshot keeps the store from growing, so reading goes on in a new one if the writer
 * waits. */
int nb_row_texts_get(struct nb_row_texts *texts, uint32_t row, uint64_t feature,
                     struct nb_string *text, bool *is_kept, struct nb_error *error)
{
    bool is_due = texts->is_resting || nb_store_wanted(&texts->view);
    int rc = is_due ? renew(texts, error) : 0;
    if (rc == 0)
        rc = look(texts, row, feature, text, is_kept, error);
    if (rc != NB_NOT_FOUND)
        return rc;
    rc = renew(texts, error); /* the snapshot may be older than the row */
    return rc != 0 ? rc : look(texts, row, feature, text, is_kept, error);
}
