/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/pack.h"

enum {
    /* Four pieces fill a page of 4,096 bytes. A value of more than half a page would take whole
     * pages for itself. */
    PIECE_BYTES = 984,
    PIECES_MOST = UINT16_MAX,
    GARBAGE_BATCH = 10000,
};

void nb_entry_deinit(struct nb_entry *entry)
{
    nb_buffer_deinit(&entry->bytes);
    *entry = (struct nb_entry){0};
}

static int damaged(struct nb_error *error, uint64_t number, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: ledger entry %" PRIu64 " %s",
                        number, what);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The last piece is shorter than PIECE_BYTES, if need be empty: it ends the entry. */
static int put_pieces(const struct nb_view *view, uint64_t number, const struct nb_buffer *bytes,
                      bool append, struct nb_error *error)
{
    size_t pieces = bytes->length / PIECE_BYTES + 1;
    int rc = pieces > PIECES_MOST
                 ? nb_error_set(error, NB_TOO_LARGE, "the document has too many features")
                 : 0;
    assert(number != 0);
    for (size_t i = 0; rc == 0 && i < pieces; i++) {
        size_t at = i * PIECE_BYTES;
        size_t length = i + 1 < pieces ? PIECE_BYTES : bytes->length - at;
        struct nb_store_key key = nb_store_key_entry(number, (uint16_t)i);
        struct nb_string piece = {bytes->bytes + at, length};
        rc = append
                 ? nb_store_append(view, NB_TABLE_LEDGER, nb_store_key_string(&key), piece, error)
                 : nb_store_put(view, NB_TABLE_LEDGER, nb_store_key_string(&key), piece, error);
    }
    return rc;
}

static int delete_pieces(const struct nb_view *view, uint64_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_entry(number, 0);
    size_t deleted;
    return nb_store_clear(view, NB_TABLE_LEDGER, nb_store_key_number_part(&key), PIECES_MOST,
                          &deleted, error);
}

struct gathering {
    struct nb_entry *entry;
    uint32_t pieces;
    bool complete;
};

static int gather(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct gathering *g = user;
    if (g->complete || nb_store_key_entry_piece(key) != g->pieces)
        return damaged(error, g->entry->number, "has pieces missing");
    g->pieces++;
    g->complete = value.length < PIECE_BYTES;
    return nb_buffer_append(&g->entry->bytes, value.bytes, value.length) == 0
               ? 0
               : nb_error_no_memory(error);
}

int nb_ledger_read(const struct nb_view *view, uint64_t number, struct nb_entry *entry,
                   struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_entry(number, 0);
    struct gathering g = {.entry = entry};
    entry->number = number;
    entry->bytes.length = 0;
    int rc = nb_store_scan(view, NB_TABLE_LEDGER, nb_store_key_string(&key),
                           nb_store_key_number_part(&key).length, gather, &g, error);
    if (rc != 0)
        return rc;
    if (g.pieces == 0)
        return NB_NOT_FOUND;
    if (!g.complete)
        return damaged(error, number, "has no end");
    return nb_change_read(&entry->change,
                          (struct nb_string){entry->bytes.bytes, entry->bytes.length}, error);
}

/* ---- index rows ------------------------------------------------------------------------------ */

static int put_number(const struct nb_view *view, enum nb_table table,
                      const struct nb_store_key *key, uint64_t number, struct nb_error *error)
{
    unsigned char bytes[10];
    size_t length = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[length++] = (unsigned char)(number | 0x80);
    bytes[length++] = (unsigned char)number;
    return nb_store_put(view, table, nb_store_key_string(key),
                        (struct nb_string){(const char *)bytes, length}, error);
}

static int put_entry_row(const struct nb_view *view, uint32_t model, uint64_t number, char flags,
                         struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(model, number);
    return nb_store_put(view, NB_TABLE_ENTRIES, nb_store_key_string(&key),
                        (struct nb_string){&flags, 1}, error);
}

/* The score stays at the place of the first learning; a forgotten document's goes. */
static int put_score(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                     struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(c->model, c->first != 0 ? c->first : number);
    if (c->score.length == 0)
        return 0;
    if (c->kind == NB_CHANGE_UNTRAIN) {
        totals->scores--;
        return nb_store_delete(view, NB_TABLE_SCORES, nb_store_key_string(&key), error);
    }
    totals->scores += c->replaced == 0;
    return nb_store_put(view, NB_TABLE_SCORES, nb_store_key_string(&key), c->score, error);
}

static int put_document(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                        struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(c->model, c->id);
    assert(c->kind == NB_CHANGE_TRAIN || c->kind == NB_CHANGE_UNTRAIN);
    if (c->kind == NB_CHANGE_TRAIN) {
        totals->living += c->replaced == 0;
        return put_number(view, NB_TABLE_DOCUMENTS, &key, number, error);
    }
    totals->living--;
    return nb_store_delete(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), error);
}

static int put_replaced(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                        struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(c->model, number);
    int rc = put_entry_row(view, c->model, c->replaced, 0, error);
    return rc != 0 ? rc : put_number(view, NB_TABLE_GARBAGE, &key, c->replaced, error);
}

static bool begins_run(const struct nb_rows *rows, size_t i)
{
    return i == 0 || rows->counts[i].row != rows->counts[i - 1].row + 1;
}

static int put_words(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                     struct nb_error *error)
{
    struct nb_rows rows = {0};
    int rc = c->new_count == 0 ? 0 : nb_change_new_rows(c, UINT32_MAX, &rows, error);
    for (size_t i = 0; rc == 0 && i < rows.size; i++) {
        struct nb_store_key key = nb_store_key_number(c->model, rows.counts[i].row);
        if (begins_run(&rows, i))
            rc = put_number(view, NB_TABLE_WORDS, &key, number, error);
    }
    nb_rows_deinit(&rows);
    return rc;
}

int nb_ledger_runs(const struct nb_change *change, size_t *runs, struct nb_error *error)
{
    struct nb_rows rows = {0};
    *runs = 0;
    int rc = change->new_count == 0 ? 0 : nb_change_new_rows(change, UINT32_MAX, &rows, error);
    for (size_t i = 0; rc == 0 && i < rows.size; i++)
        *runs += begins_run(&rows, i);
    nb_rows_deinit(&rows);
    return rc;
}

static int put_index(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                     struct nb_ledger_totals *totals, struct nb_error *error)
{
    /* These belong to no living model. They have no index rows and stay for good. */
    if (c->kind == NB_CHANGE_DELETE || c->kind == NB_CHANGE_STORE)
        return 0;
    totals->entries++;
    int rc = put_entry_row(view, c->model, number, nb_ledger_flags(c->kind), error);
    if (rc == 0)
        rc = put_words(view, number, c, error);
    if (c->kind != NB_CHANGE_TRAIN && c->kind != NB_CHANGE_UNTRAIN)
        return rc;
    if (rc == 0)
        rc = put_document(view, number, c, totals, error);
    if (rc == 0 && c->replaced != 0)
        rc = put_replaced(view, number, c, error);
    return rc != 0 ? rc : put_score(view, number, c, totals, error);
}

int nb_ledger_append(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error)
{
    assert(number != 0 && (change->model != 0 || change->kind == NB_CHANGE_STORE));
    assert(change->replaced < number && change->first < number);
    scratch->length = 0;
    if (nb_change_write(change, scratch) != 0)
        return nb_error_no_memory(error);
    int rc = put_pieces(view, number, scratch, true, error);
    return rc != 0 ? rc : put_index(view, number, change, totals, error);
}

int nb_ledger_copy(const struct nb_view *view, const struct nb_entry *entry,
                   struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                   struct nb_error *error)
{
    struct nb_change change = entry->change;
    struct nb_entry old = {0};
    scratch->length = 0;
    if (nb_change_write(&change, scratch) != 0)
        return nb_error_no_memory(error);
    int rc = put_pieces(view, entry->number, scratch, false, error);
    if (rc == 0 && change.replaced != 0)
        rc = nb_ledger_read(view, change.replaced, &old, error);
    /* Of an entry that was superseded the document may be dropped, or lost. */
    if (rc == NB_NOT_FOUND || (rc == 0 && old.change.kind == NB_CHANGE_FEATURES)) {
        change.replaced = 0;
        rc = 0;
    }
    nb_entry_deinit(&old);
    if (rc == 0 && change.kind == NB_CHANGE_UNTRAIN && change.replaced == 0) {
        totals->entries++; /* what it forgot is lost: nothing counts it any more */
        return put_entry_row(view, change.model, entry->number, 0, error);
    }
    return rc != 0 ? rc : put_index(view, entry->number, &change, totals, error);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int read_indexed(const struct nb_view *view, struct nb_string value, struct nb_entry *entry,
                        struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    uint64_t number = nb_unpack_varint(&r);
    int rc = nb_ledger_read(view, number, entry, error);
    return rc == NB_NOT_FOUND ? damaged(error, number, "is missing") : rc;
}

int nb_ledger_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_entry *entry, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = read_indexed(view, value, entry, error);
    const struct nb_change *c = &entry->change;
    if (rc == 0 && (c->kind != NB_CHANGE_TRAIN || c->model != model || !nb_string_same(c->id, id)))
        return damaged(error, entry->number, "is not the document that its index says");
    return rc;
}

int nb_ledger_is_living(const struct nb_view *view, const struct nb_entry *entry, bool *living,
                        struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(entry->change.model, entry->number);
    struct nb_string value;
    *living = false;
    if (entry->change.kind != NB_CHANGE_TRAIN)
        return 0;
    int rc = nb_store_get(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return damaged(error, entry->number, "is missing in the index of entries");
    *living = rc == 0 && value.length == 1 && (value.bytes[0] & NB_LEDGER_LIVING) != 0;
    return rc;
}

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
        rc = read_indexed(view, value, entry, error);
    return rc != 0 ? rc : find_row(&entry->change, row, index, error);
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk {
    const struct nb_view *view;
    nb_ledger_visit *visit;
    void *user;
    struct nb_entry entry;
    bool all; /* of all models: keys are those of LEDGER */
    int only; /* enum nb_ledger_only; 0: all entries */
};

static int walk_one(void *user, struct nb_string key, struct nb_string value,
                    struct nb_error *error)
{
    struct walk *w = user;
    if (w->all && nb_store_key_entry_piece(key) != 0)
        return 0;
    if (w->only != 0 && (value.length != 1 || (value.bytes[0] & w->only) == 0))
        return 0;
    uint64_t number = w->all ? nb_store_key_entry_number(key) : nb_store_key_tail(key);
    int rc = nb_ledger_read(w->view, number, &w->entry, error);
    if (rc == NB_NOT_FOUND)
        return damaged(error, number, "is missing");
    return rc != 0 ? rc : w->visit(w->user, &w->entry, error);
}

int nb_ledger_walk(const struct nb_view *view, uint32_t model, uint64_t from,
                   nb_ledger_visit *visit, void *user, struct nb_error *error)
{
    struct walk w = {.view = view, .visit = visit, .user = user, .all = model == 0};
    struct nb_store_key key =
        w.all ? nb_store_key_entry(from, 0) : nb_store_key_sequence(model, from);
    int rc =
        nb_store_scan(view, w.all ? NB_TABLE_LEDGER : NB_TABLE_ENTRIES, nb_store_key_string(&key),
                      w.all ? 0 : sizeof model, walk_one, &w, error);
    nb_entry_deinit(&w.entry);
    return rc;
}

int nb_ledger_walk_only(const struct nb_view *view, uint32_t model, uint64_t from,
                        enum nb_ledger_only only, nb_ledger_visit *visit, void *user,
                        struct nb_error *error)
{
    struct walk w = {.view = view, .visit = visit, .user = user, .only = (int)only};
    struct nb_store_key key = nb_store_key_sequence(model, from);
    assert(model != 0);
    int rc = nb_store_scan(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), sizeof model,
                           walk_one, &w, error);
    nb_entry_deinit(&w.entry);
    return rc;
}

struct run_walk {
    const struct nb_view *view;
    nb_ledger_visit_run *visit;
    void *user;
    struct nb_entry entry; /* the one that was read last */
    struct nb_rows rows;   /* its rows */
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
        rc = read_indexed(w->view, value, &w->entry, error);
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
    while (run.index + run.count < w->rows.size && !begins_run(&w->rows, run.index + run.count))
        run.count++;
    return w->visit(w->user, &run, error);
}

int nb_ledger_walk_runs(const struct nb_view *view, uint32_t model, nb_ledger_visit_run *visit,
                        void *user, struct nb_error *error)
{
    struct run_walk w = {.view = view, .visit = visit, .user = user};
    struct nb_store_key key = nb_store_key_model(model);
    int rc = nb_store_scan(view, NB_TABLE_WORDS, nb_store_key_string(&key), key.length, walk_run,
                           &w, error);
    nb_entry_deinit(&w.entry);
    nb_rows_deinit(&w.rows);
    return rc;
}

/* ---- dropping -------------------------------------------------------------------------------- */

struct numbers {
    uint64_t *numbers;
    size_t count, most;
    uint64_t before;
};

static int collect(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct numbers *n = user;
    uint64_t number = nb_store_key_tail(key);
    (void)value;
    (void)error;
    if (number >= n->before || n->count == n->most)
        return 1;
    n->numbers[n->count++] = number;
    return 0;
}

/* Collects the numbers in the keys of a table's rows of a model. The caller frees the list. */
static int list(const struct nb_view *view, enum nb_table table, uint32_t model, struct numbers *n,
                struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    n->numbers = malloc((n->most + 1) * sizeof *n->numbers);
    if (n->numbers == NULL)
        return nb_error_no_memory(error);
    int rc = nb_store_scan(view, table, nb_store_key_string(&key), key.length, collect, n, error);
    return rc > 0 ? 0 : rc;
}

/* Replaces an entry by what must stay of it, or deletes it whole. */
static int shrink(const struct nb_view *view, struct nb_entry *entry,
                  struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_change remnant;
    struct nb_buffer bytes = {0};
    bool stays = nb_change_remnant(&entry->change, &remnant);
    totals->dropped += entry->change.kind == NB_CHANGE_TRAIN;
    struct nb_store_key key = nb_store_key_sequence(entry->change.model, entry->number);
    int rc = stays && nb_change_write(&remnant, &bytes) != 0 ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = delete_pieces(view, entry->number, error);
    if (rc == 0 && stays) {
        rc = put_pieces(view, entry->number, &bytes, false, error);
    } else if (rc == 0) {
        totals->entries--;
        rc = nb_store_delete(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), error);
    }
    nb_buffer_deinit(&bytes);
    return rc;
}

/* Drops what a row of GARBAGE names: the replaced entry, and the replacing one if it only forgot
 * the document. */
static int drop_one(const struct nb_view *view, uint32_t model, uint64_t number,
                    struct nb_entry *entry, struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(model, number);
    int rc = nb_ledger_read(view, number, entry, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? damaged(error, number, "is missing") : rc;
    uint64_t replaced = entry->change.replaced;
    if (entry->change.kind == NB_CHANGE_UNTRAIN)
        rc = shrink(view, entry, totals, error);
    if (rc == 0)
        rc = nb_ledger_read(view, replaced, entry, error);
    if (rc == 0 && entry->change.kind == NB_CHANGE_TRAIN)
        rc = shrink(view, entry, totals, error);
    if (rc == NB_NOT_FOUND)
        return damaged(error, replaced, "is missing");
    return rc != 0 ? rc : nb_store_delete(view, NB_TABLE_GARBAGE, nb_store_key_string(&key), error);
}

int nb_ledger_newest(const struct nb_view *view, uint64_t *number, struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_entry(UINT64_MAX, UINT16_MAX);
    struct nb_string key;
    struct nb_string value;
    *number = 0;
    int rc =
        nb_store_floor(view, NB_TABLE_LEDGER, nb_store_key_string(&most), 0, &key, &value, error);
    if (rc == 0)
        *number = nb_store_key_entry_number(key);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

int nb_ledger_drop(const struct nb_view *view, uint32_t model, uint64_t before, size_t most,
                   struct nb_ledger_totals *totals, bool *more, struct nb_error *error)
{
    uint64_t last;
    struct nb_entry entry = {0};
    struct numbers n = {.most = most < GARBAGE_BATCH ? most : GARBAGE_BATCH};
    assert(model != 0);
    int rc = nb_ledger_newest(view, &last, error);
    n.before = before < last ? before : last;
    if (rc == 0)
        rc = list(view, NB_TABLE_GARBAGE, model, &n, error);
    for (size_t i = 0; rc == 0 && i < n.count; i++)
        rc = drop_one(view, model, n.numbers[i], &entry, totals, error);
    *more = n.count == n.most;
    free(n.numbers);
    nb_entry_deinit(&entry);
    return rc;
}

/* ---- features that no document has ----------------------------------------------------------- */

int nb_ledger_has_garbage(const struct nb_view *view, uint32_t model, uint64_t until, bool *has,
                          struct nb_error *error)
{
    struct numbers n = {.most = 1, .before = until == UINT64_MAX ? until : until + 1};
    int rc = list(view, NB_TABLE_GARBAGE, model, &n, error);
    *has = n.count > 0;
    free(n.numbers);
    return rc;
}

/* An entry of which features are dropped, and what is left of it. */
struct thinning {
    const struct nb_view *view;
    struct nb_entry entry;
    struct nb_rows rows, left; /* of all its features, and of those that stay */
    uint64_t *ids;
    struct nb_string *texts;
    size_t ids_room, texts_room;
    struct nb_buffer features, new_rows, bytes;
    struct nb_features_coder *encoder; /* the texts lie in the decoder's memory */
};

static int delete_words(const struct thinning *t, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->rows.size; i++) {
        struct nb_store_key key = nb_store_key_number(t->entry.change.model, t->rows.counts[i].row);
        if (begins_run(&t->rows, i))
            rc = nb_store_delete(t->view, NB_TABLE_WORDS, nb_store_key_string(&key), error);
    }
    return rc;
}

/* Collects the features that stay. Those whose rows are in the list of rows (from its index `from`
 * on) go, and are marked. */
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

/* Rows that are named one by one stay so: the others are appended by a replay. */
static int put_left(struct thinning *t, bool has_texts, struct nb_error *error)
{
    struct nb_change change = t->entry.change;
    bool by_name = change.new_rows.length > 0;
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
    int rc = put_pieces(t->view, t->entry.number, &t->bytes, false, error);
    return rc != 0 ? rc : put_words(t->view, t->entry.number, &change, error);
}

static int thin(struct thinning *t, const uint32_t *rows, size_t from, size_t count,
                struct nb_features_coder *coder, const struct nb_key *key, bool *taken,
                struct nb_ledger_totals *totals, struct nb_error *error)
{
    const struct nb_change *c = &t->entry.change;
    const uint64_t *ids;
    const struct nb_string *texts;
    int rc = nb_change_new_rows(c, UINT32_MAX, &t->rows, error);
    if (rc == 0)
        rc = nb_features_decode(coder, c->features, c->new_count, key, &ids, &texts, error);
    if (rc == 0 && choose(t, rows, from, count, taken, ids, texts) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = delete_words(t, error);
    if (rc == 0)
        rc = delete_pieces(t->view, t->entry.number, error);
    if (rc != 0 || t->left.size > 0 || c->label_name.length > 0)
        return rc != 0 ? rc : put_left(t, texts != NULL, error);
    struct nb_store_key entry_row = nb_store_key_sequence(c->model, t->entry.number);
    totals->entries--;
    return nb_store_delete(t->view, NB_TABLE_ENTRIES, nb_store_key_string(&entry_row), error);
}

int nb_ledger_drop_features(const struct nb_view *view, uint32_t model, const uint32_t *rows,
                            size_t count, struct nb_features_coder *coder, const struct nb_key *key,
                            bool *taken, struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct thinning t = {.view = view, .encoder = nb_features_coder_new()};
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
            rc = thin(&t, rows, i, count, coder, key, taken, totals, error);
    }
    nb_entry_deinit(&t.entry);
    nb_rows_deinit(&t.rows);
    nb_rows_deinit(&t.left);
    nb_buffer_deinit(&t.features);
    nb_buffer_deinit(&t.new_rows);
    nb_buffer_deinit(&t.bytes);
    free(t.ids);
    free(t.texts);
    nb_features_coder_free(&t.encoder);
    return rc;
}

int nb_ledger_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                    struct nb_error *error)
{
    static const enum nb_table tables[] = {NB_TABLE_DOCUMENTS, NB_TABLE_SCORES, NB_TABLE_WORDS,
                                           NB_TABLE_GARBAGE};
    struct nb_store_key prefix = nb_store_key_model(model);
    struct numbers n = {.most = most, .before = UINT64_MAX};
    assert(model != 0);
    int rc = list(view, NB_TABLE_ENTRIES, model, &n, error);
    for (size_t i = 0; rc == 0 && i < n.count; i++) {
        struct nb_store_key key = nb_store_key_sequence(model, n.numbers[i]);
        rc = delete_pieces(view, n.numbers[i], error);
        if (rc == 0)
            rc = nb_store_delete(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), error);
    }
    *deleted = n.count;
    free(n.numbers);
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables && *deleted < most; i++) {
        size_t some;
        rc = nb_store_clear(view, tables[i], nb_store_key_string(&prefix), most - *deleted, &some,
                            error);
        *deleted += some;
    }
    return rc;
}
