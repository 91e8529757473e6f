/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/ledger.h"

#include <assert.h>
#include <inttypes.h>

#include "core/base/buffer.h"
#include "core/ledger/bag_coding.h"

/* Puts a key that may not be the greatest: if several streams share a store, the numbers of one
 * stream are below those of another. */
static int put_among(const struct nb_view *view, const struct nb_store_key *key,
                     struct nb_string piece, struct nb_error *error)
{
    struct nb_string there;
    int rc = nb_store_get(view, NB_TABLE_LEDGER, nb_store_key_string(key), &there, error);
    if (rc == 0 || rc == NB_CORRUPT)
        return nb_error_set(error, NB_EXISTS, "the ledger has an entry of this number already");
    return rc == NB_NOT_FOUND
               ? nb_store_put(view, NB_TABLE_LEDGER, nb_store_key_string(key), piece, error)
               : rc;
}

/* The last piece is shorter than NB_PIECE_BYTES, possibly empty, which marks the end of the entry.
 */
int nb_ledger_put_pieces(const struct nb_view *view, uint64_t number, const struct nb_buffer *bytes,
                         bool append, struct nb_error *error)
{
    size_t pieces = bytes->length / NB_PIECE_BYTES + 1;
    int rc = pieces > NB_PIECES_MOST
                 ? nb_error_set(error, NB_TOO_LARGE, "the document has too many features")
                 : 0;
    assert(number != 0);
    for (size_t i = 0; rc == 0 && i < pieces; i++) {
        size_t at = i * NB_PIECE_BYTES;
        size_t length = i + 1 < pieces ? NB_PIECE_BYTES : bytes->length - at;
        struct nb_store_key key = nb_store_key_entry(number, (uint16_t)i);
        struct nb_string piece = {bytes->bytes + at, length};
        rc = append
                 ? nb_store_append(view, NB_TABLE_LEDGER, nb_store_key_string(&key), piece, error)
                 : nb_store_put(view, NB_TABLE_LEDGER, nb_store_key_string(&key), piece, error);
        if (append && rc == NB_EXISTS)
            rc = put_among(view, &key, piece, error);
    }
    return rc;
}

int nb_ledger_delete_pieces(const struct nb_view *view, uint64_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_entry(number, 0);
    size_t deleted;
    return nb_store_clear(view, NB_TABLE_LEDGER, nb_store_key_number_part(&key), NB_PIECES_MOST,
                          &deleted, error);
}

int nb_ledger_put_number(const struct nb_view *view, enum nb_table table,
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

int nb_ledger_put_entry_row(const struct nb_view *view, uint32_t model, uint64_t number, char flags,
                            struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(model, number);
    return nb_store_put(view, NB_TABLE_ENTRIES, nb_store_key_string(&key),
                        (struct nb_string){&flags, 1}, error);
}

bool nb_ledger_begins_run(const struct nb_rows *rows, size_t i)
{
    return i == 0 || rows->counts[i].row != rows->counts[i - 1].row + 1;
}

int nb_ledger_put_words(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                        struct nb_error *error)
{
    struct nb_rows rows = {0};
    int rc = c->new_count == 0 ? 0 : nb_change_new_rows(c, UINT32_MAX, &rows, error);
    for (size_t i = 0; rc == 0 && i < rows.size; i++) {
        if (!nb_ledger_begins_run(&rows, i))
            continue;
        struct nb_store_key key = nb_store_key_number(c->model, rows.counts[i].row);
        rc = nb_ledger_put_number(view, NB_TABLE_WORDS, &key, number, error);
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
        *runs += nb_ledger_begins_run(&rows, i);
    nb_rows_deinit(&rows);
    return rc;
}

int nb_ledger_delete_words(const struct nb_view *view, uint32_t model, const struct nb_rows *rows,
                           struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < rows->size; i++) {
        if (!nb_ledger_begins_run(rows, i))
            continue;
        struct nb_store_key key = nb_store_key_number(model, rows->counts[i].row);
        rc = nb_store_delete(view, NB_TABLE_WORDS, nb_store_key_string(&key), error);
    }
    return rc;
}

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
    g->complete = value.length < NB_PIECE_BYTES;
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

/* Stores a document's score under the number of the entry that first learned it. Removes the score
 * if the document is forgotten or loses its label. */
static int put_score(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                     struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(c->model, c->first != 0 ? c->first : number);
    struct nb_string old;
    if (c->score.length == 0)
        return 0;
    int rc = c->first == 0
                 ? NB_NOT_FOUND
                 : nb_store_get(view, NB_TABLE_SCORES, nb_store_key_string(&key), &old, error);
    bool has = rc == 0;
    if (rc != 0 && rc != NB_NOT_FOUND)
        return rc;
    if (c->kind == NB_CHANGE_UNTRAIN || c->label == NB_NO_LABEL) {
        totals->scores -= has;
        return has ? nb_store_delete(view, NB_TABLE_SCORES, nb_store_key_string(&key), error) : 0;
    }
    totals->scores += !has;
    return nb_store_put(view, NB_TABLE_SCORES, nb_store_key_string(&key), c->score, error);
}

static int put_document(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                        struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(c->model, c->id);
    assert(c->kind == NB_CHANGE_TRAIN || c->kind == NB_CHANGE_UNTRAIN);
    if (c->kind == NB_CHANGE_TRAIN) {
        totals->current += c->replaced == 0;
        totals->unlabelled += c->label == NB_NO_LABEL;
        return nb_ledger_put_number(view, NB_TABLE_DOCUMENTS, &key, number, error);
    }
    totals->current--;
    return nb_store_delete(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), error);
}

static int put_replaced(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                        struct nb_ledger_totals *totals, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(c->model, number);
    struct nb_store_key replaced = nb_store_key_sequence(c->model, c->replaced);
    struct nb_string flags;
    int rc = nb_store_get(view, NB_TABLE_ENTRIES, nb_store_key_string(&replaced), &flags, error);
    if (rc == NB_NOT_FOUND)
        return damaged(error, c->replaced, "is missing in the index of entries");
    if (rc == 0 && flags.length == 1 && (flags.bytes[0] & NB_LEDGER_UNLABELLED) != 0) {
        assert(totals->unlabelled > 0);
        totals->unlabelled--;
    }
    if (rc == 0)
        rc = nb_ledger_put_entry_row(view, c->model, c->replaced, 0, error);
    return rc != 0 ? rc : nb_ledger_put_number(view, NB_TABLE_GARBAGE, &key, c->replaced, error);
}

static int put_index(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                     struct nb_ledger_totals *totals, struct nb_error *error)
{
    /* These entries belong to no current model. They have no index rows and are never dropped. */
    if (c->kind == NB_CHANGE_DELETE || c->kind == NB_CHANGE_STORE)
        return 0;
    totals->entries++;
    int rc = nb_ledger_put_entry_row(view, c->model, number, nb_ledger_flags(c), error);
    if (rc == 0)
        rc = nb_ledger_put_words(view, number, c, error);
    if (c->kind != NB_CHANGE_TRAIN && c->kind != NB_CHANGE_UNTRAIN)
        return rc;
    if (rc == 0)
        rc = put_document(view, number, c, totals, error);
    if (rc == 0 && c->replaced != 0)
        rc = put_replaced(view, number, c, totals, error);
    return rc != 0 ? rc : put_score(view, number, c, totals, error);
}

static int put_entry(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     bool append, struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error)
{
    assert(number != 0 && (change->model != 0 || change->kind == NB_CHANGE_STORE));
    assert(change->replaced < number && change->first < number);
    scratch->length = 0;
    if (nb_change_write(change, scratch) != 0)
        return nb_error_no_memory(error);
    int rc = nb_ledger_put_pieces(view, number, scratch, append, error);
    return rc != 0 ? rc : put_index(view, number, change, totals, error);
}

int nb_ledger_append(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error)
{
    return put_entry(view, number, change, true, totals, scratch, error);
}

int nb_ledger_insert(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error)
{
    return put_entry(view, number, change, false, totals, scratch, error);
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
    int rc = nb_ledger_put_pieces(view, entry->number, scratch, false, error);
    if (rc == 0 && change.replaced != 0)
        rc = nb_ledger_read(view, change.replaced, &old, error);
    /* The document of a superseded entry may have been dropped, or lost. */
    if (rc == NB_NOT_FOUND || (rc == 0 && old.change.kind == NB_CHANGE_FEATURES)) {
        change.replaced = 0;
        rc = 0;
    }
    nb_entry_deinit(&old);
    if (rc == 0 && change.kind == NB_CHANGE_UNTRAIN && change.replaced == 0) {
        totals->entries++; /* the forgotten document is lost, so nothing counts it any more */
        return nb_ledger_put_entry_row(view, change.model, entry->number, 0, error);
    }
    return rc != 0 ? rc : put_index(view, entry->number, &change, totals, error);
}

/* ---- finding --------------------------------------------------------------------------------- */

int nb_ledger_read_indexed(const struct nb_view *view, struct nb_string value,
                           struct nb_entry *entry, struct nb_error *error)
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
        rc = nb_ledger_read_indexed(view, value, entry, error);
    const struct nb_change *c = &entry->change;
    if (rc == 0 && (c->kind != NB_CHANGE_TRAIN || c->model != model || !nb_string_same(c->id, id)))
        return damaged(error, entry->number, "is not the document that its index says");
    return rc;
}

int nb_ledger_is_current(const struct nb_view *view, const struct nb_entry *entry, bool *current,
                         struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(entry->change.model, entry->number);
    struct nb_string value;
    *current = false;
    if (entry->change.kind != NB_CHANGE_TRAIN)
        return 0;
    int rc = nb_store_get(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), &value, error);
    if (rc == NB_NOT_FOUND)
        return damaged(error, entry->number, "is missing in the index of entries");
    *current = rc == 0 && value.length == 1 && (value.bytes[0] & NB_LEDGER_LIVING) != 0;
    return rc;
}

/* ---- walking --------------------------------------------------------------------------------- */

struct walk {
    const struct nb_view *view;
    nb_ledger_visit *visit;
    void *user;
    struct nb_entry entry;
    bool all; /* walk all models, by the keys of LEDGER */
    int only; /* entries to visit: enum nb_ledger_only; 0: all */
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

struct listing {
    int (*visit)(void *user, uint64_t number);
    void *user;
};

static int list_labelled(void *user, struct nb_string key, struct nb_string value,
                         struct nb_error *error)
{
    const struct listing *listing = user;
    (void)error;
    if (value.length != 1 || (value.bytes[0] & NB_LEDGER_LABELLED) == 0)
        return 0;
    return listing->visit(listing->user, nb_store_key_tail(key));
}

int nb_ledger_list_labelled(const struct nb_view *view, uint32_t model,
                            int (*visit)(void *user, uint64_t number), void *user,
                            struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct listing listing = {visit, user};
    assert(model != 0);
    return nb_store_scan(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), key.length,
                         list_labelled, &listing, error);
}

static int take_first(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    (void)value;
    (void)error;
    *(uint64_t *)user = nb_store_key_tail(key);
    return 1;
}

int nb_ledger_first(const struct nb_view *view, uint32_t model, uint64_t *number,
                    struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    int rc = nb_store_scan(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), key.length,
                           take_first, number, error);
    return rc > 0 ? 0 : rc == 0 ? NB_NOT_FOUND : rc;
}

/* Sets *number to that of the last entry up to `most`; 0: there is none. A damaged entry still has
 * a key. */
static int last_up_to(const struct nb_view *view, uint64_t most, uint64_t *number,
                      struct nb_error *error)
{
    struct nb_store_key from = nb_store_key_entry(most, UINT16_MAX);
    struct nb_string key = {"", 0};
    struct nb_string value;
    *number = 0;
    int rc =
        nb_store_floor(view, NB_TABLE_LEDGER, nb_store_key_string(&from), 0, &key, &value, error);
    if (rc == 0 || rc == NB_CORRUPT)
        *number = nb_store_key_entry_number(key);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

/* Only nb_store_floor also finds damaged entries, and it searches downwards. So this is a binary
 * search. */
int nb_ledger_next(const struct nb_view *view, uint64_t from, uint64_t *number,
                   struct nb_error *error)
{
    uint64_t high;
    int rc = last_up_to(view, UINT64_MAX, &high, error);
    if (rc == 0 && high < from)
        return NB_NOT_FOUND;
    for (uint64_t low = from; rc == 0 && low < high;) {
        uint64_t middle = low + (high - low) / 2, last;
        rc = last_up_to(view, middle, &last, error);
        if (last >= from)
            high = last;
        else
            low = middle + 1;
    }
    *number = high;
    return rc;
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

static int visit(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_ledger_steps *s = user;
    s->from = entry->number;
    if (s->seen++ >= s->most || nb_store_wanted(&s->view))
        return NB_STEP_ENDS;
    int rc = s->visit(s->user, entry, error);
    s->from += rc == 0;
    return rc;
}

int nb_ledger_step(struct nb_ledger_steps *steps, struct nb_error *error)
{
    int rc = nb_store_snapshot(steps->store, &steps->view, error);
    if (rc != 0)
        return rc;
    steps->seen = 0;
    rc = nb_ledger_walk_only(&steps->view, steps->model, steps->from, steps->only, visit, steps,
                             error);
    nb_store_snapshot_end(&steps->view);
    steps->is_done = rc == 0;
    return rc == NB_STEP_ENDS ? 0 : rc;
}

int nb_step_check(bool (*stop)(void *user), void *user, struct nb_error *error)
{
    if (stop == NULL || !stop(user))
        return 0;
    return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
}

int nb_ledger_steps_all(struct nb_ledger_steps *steps, bool (*stop)(void *user), void *user,
                        struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && !steps->is_done) {
        rc = nb_step_check(stop, user, error);
        if (rc == 0)
            rc = nb_ledger_step(steps, error);
    }
    return rc;
}

struct counting {
    const struct nb_model *model;
    struct nb_pairs *pairs;
    struct nb_rows rows;
};

static int count_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct counting *c = user;
    const struct nb_change *change = &entry->change;
    struct nb_pair_values values;
    int rc = nb_bag_decode(change->bag, nb_model_rows(c->model), &c->rows, error);
    if (rc != 0)
        return rc;
    if (change->label >= nb_model_label_count(c->model) ||
        !nb_model_have_features(c->model, c->rows.counts, c->rows.size))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: a document has a label or a feature that is "
                            "not there");
    nb_model_pair_values(c->model, c->pairs, c->rows.counts, c->rows.size, &values);
    rc = nb_pairs_reserve(c->pairs, &values);
    if (rc != 0)
        return nb_error_set(error, rc, "the pairs of the values of a model find no room");
    nb_pairs_add(c->pairs, change->label, &values, 1);
    return 0;
}

int nb_ledger_pairs(const struct nb_view *view, uint32_t number, const struct nb_model *model,
                    const struct nb_settings *settings, struct nb_pairs **pairs,
                    struct nb_error *error)
{
    *pairs = NULL;
    if (settings->structure == NB_STRUCTURE_NAIVE)
        return 0;
    struct counting c = {.model = model,
                         .pairs = nb_pairs_new(nb_settings_attributes(settings),
                                               settings->number != NB_NUMBER_GAUSSIAN)};
    if (c.pairs == NULL)
        return nb_error_no_memory(error);
    int rc = 0;
    if (number != 0)
        rc = nb_ledger_walk_only(view, number, 0, NB_LEDGER_LABELLED, count_entry, &c, error);
    nb_rows_deinit(&c.rows);
    if (rc != 0)
        nb_pairs_free(&c.pairs);
    *pairs = c.pairs;
    return rc;
}
