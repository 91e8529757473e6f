/* SPDX-License-Identifier: Apache-2.0
 *
 * Drops superseded entries, and the entries of models that are gone.
 *
 * A row of GARBAGE says that an entry was replaced. When no start will replay the two entries any
 * more, the replaced one is dropped. If it is kept for an undo instead, its row moves to KEPT, with
 * the time of the change that replaced it. Only an entry with the same bag as the current entry is
 * kept: all its features are in use as long as the document is learned, and it reveals nothing
 * about the document that the current entry does not. When the document is forgotten or gets other
 * content, all its kept states are dropped.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/buffer.h"
#include "core/ledger/ledger.h"

enum {
    GARBAGE_BATCH = 10000,
    STATES_MOST = 8,   /* kept states of one document; above that the oldest is dropped */
    DAMAGED_MOST = 64, /* entries that are deleted at once after damage was found */
};

struct dropping {
    const struct nb_view *view;
    uint32_t model;
    int64_t keep_from;
    struct nb_ledger_totals *totals;
    struct nb_entry entry, old;
};

static int missing(struct nb_error *error, uint64_t number)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: ledger entry %" PRIu64 " is missing", number);
}

/* ---- lists of numbers ------------------------------------------------------------------------ */

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

/* Collects the numbers in the keys of a model's rows in a table. The caller frees the list. */
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

/* ---- one entry ------------------------------------------------------------------------------- */

/* Replaces an entry by its remnant, or deletes it whole. */
static int shrink(struct dropping *d, const struct nb_entry *entry, struct nb_error *error)
{
    struct nb_change remnant;
    struct nb_buffer bytes = {0};
    bool stays = nb_change_remnant(&entry->change, &remnant);
    d->totals->dropped += entry->change.kind == NB_CHANGE_TRAIN;
    struct nb_store_key key = nb_store_key_sequence(d->model, entry->number);
    int rc = stays && nb_change_write(&remnant, &bytes) != 0 ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = nb_ledger_delete_pieces(d->view, entry->number, error);
    if (rc == 0 && stays) {
        rc = nb_ledger_put_pieces(d->view, entry->number, &bytes, false, error);
    } else if (rc == 0) {
        d->totals->entries--;
        rc = nb_store_delete(d->view, NB_TABLE_ENTRIES, nb_store_key_string(&key), error);
    }
    nb_buffer_deinit(&bytes);
    return rc;
}

/* ---- states that are kept -------------------------------------------------------------------- */

struct kept {
    uint64_t replaced;
    int64_t time; /* when the state was replaced */
};

static int read_kept(struct kept *kept, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    kept->replaced = nb_unpack_varint(&u);
    kept->time = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    return nb_unpacker_done(&u)
               ? 0
               : nb_error_set(error, NB_CORRUPT,
                              "the store is damaged: a row of table kept does not read back");
}

/* Reads the row of the kept state before an entry. NB_NOT_FOUND: none is kept. */
static int find_kept(const struct dropping *d, uint64_t number, struct kept *kept,
                     struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(d->model, number);
    struct nb_string value;
    int rc = nb_store_get(d->view, NB_TABLE_KEPT, nb_store_key_string(&key), &value, error);
    return rc != 0 ? rc : read_kept(kept, value, error);
}

/* Drops all kept states before an entry. Their numbers descend, so the loop ends. */
static int drop_kept(struct dropping *d, uint64_t number, struct nb_error *error)
{
    struct kept kept;
    int rc;
    while ((rc = find_kept(d, number, &kept, error)) == 0) {
        struct nb_store_key key = nb_store_key_sequence(d->model, number);
        rc = nb_store_delete(d->view, NB_TABLE_KEPT, nb_store_key_string(&key), error);
        if (rc == 0)
            rc = nb_ledger_read(d->view, kept.replaced, &d->old, error);
        if (rc == NB_NOT_FOUND || kept.replaced >= number)
            return missing(error, kept.replaced);
        if (rc == 0 && d->old.change.kind == NB_CHANGE_TRAIN)
            rc = shrink(d, &d->old, error);
        if (rc != 0)
            return rc;
        number = kept.replaced;
    }
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* Drops the kept states of a document above STATES_MOST, counting the state `number`, which is the
 * newest. */
static int drop_oldest(struct dropping *d, uint64_t number, struct nb_error *error)
{
    struct kept kept;
    int rc = 0;
    for (int i = 1; rc == 0 && i < STATES_MOST; i++) {
        rc = find_kept(d, number, &kept, error);
        number = rc == 0 ? kept.replaced : number;
    }
    return rc == 0 ? drop_kept(d, number, error) : rc == NB_NOT_FOUND ? 0 : rc;
}

static int keep(struct dropping *d, struct nb_error *error)
{
    const struct nb_change *c = &d->entry.change;
    struct nb_store_key key = nb_store_key_sequence(d->model, d->entry.number);
    struct nb_buffer stored = {0};
    struct nb_packer p = {.out = &stored};
    nb_pack_varint(&p, c->replaced);
    nb_pack_varint(&p, (uint64_t)c->time);
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(d->view, NB_TABLE_KEPT, nb_store_key_string(&key),
                                        (struct nb_string){stored.bytes, stored.length}, error);
    nb_buffer_deinit(&stored);
    return rc != 0 ? rc : drop_oldest(d, c->replaced, error);
}

struct oldest {
    uint64_t number;
    struct kept kept;
};

static int take_oldest(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct oldest *oldest = user;
    int rc = read_kept(&oldest->kept, value, error);
    oldest->number = nb_store_key_tail(key);
    return rc == 0 ? 1 : rc;
}

/* Drops up to `most` kept states that are too old, and all states before each of them. */
static int expire(struct dropping *d, size_t most, bool *more, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(d->model);
    struct oldest oldest;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < most; i++) {
        rc = nb_store_scan(d->view, NB_TABLE_KEPT, nb_store_key_string(&key), key.length,
                           take_oldest, &oldest, error);
        if (rc <= 0 || oldest.kept.time >= d->keep_from)
            return rc > 0 ? 0 : rc;
        rc = drop_kept(d, oldest.number, error);
    }
    *more = true;
    return rc;
}

/* ---- a row of GARBAGE ------------------------------------------------------------------------ */

static bool is_worth_keeping(const struct dropping *d)
{
    const struct nb_change *c = &d->entry.change;
    return c->kind == NB_CHANGE_TRAIN && c->time >= d->keep_from &&
           nb_string_same(c->bag, d->old.change.bag);
}

/* Drops the replaced entry and the kept states before it; also the replacing entry, if that is a
 * change that only forgot the document. */
static int drop_replaced(struct dropping *d, struct nb_error *error)
{
    uint64_t replaced = d->old.number;
    int rc = d->entry.change.kind == NB_CHANGE_UNTRAIN ? shrink(d, &d->entry, error) : 0;
    if (rc == 0)
        rc = shrink(d, &d->old, error);
    return rc != 0 ? rc : drop_kept(d, replaced, error);
}

static int settle(struct dropping *d, uint64_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(d->model, number);
    int rc = nb_ledger_read(d->view, number, &d->entry, error);
    if (rc == NB_NOT_FOUND)
        return missing(error, number);
    if (rc == 0)
        rc = nb_ledger_read(d->view, d->entry.change.replaced, &d->old, error);
    if (rc == NB_NOT_FOUND)
        return missing(error, d->entry.change.replaced);
    if (rc == 0 && d->old.change.kind == NB_CHANGE_TRAIN)
        rc = is_worth_keeping(d) ? keep(d, error) : drop_replaced(d, error);
    return rc != 0 ? rc
                   : nb_store_delete(d->view, NB_TABLE_GARBAGE, nb_store_key_string(&key), error);
}

int nb_ledger_drop(const struct nb_view *view, uint32_t model, uint64_t before, int64_t keep_from,
                   size_t most, struct nb_ledger_totals *totals, bool *more, struct nb_error *error)
{
    uint64_t last;
    struct dropping d = {.view = view, .model = model, .keep_from = keep_from, .totals = totals};
    struct numbers n = {.most = most < GARBAGE_BATCH ? most : GARBAGE_BATCH};
    assert(model != 0);
    int rc = nb_ledger_newest(view, &last, error);
    n.before = before < last ? before : last;
    if (rc == 0)
        rc = list(view, NB_TABLE_GARBAGE, model, &n, error);
    for (size_t i = 0; rc == 0 && i < n.count; i++)
        rc = settle(&d, n.numbers[i], error);
    *more = n.count == n.most;
    free(n.numbers);
    if (rc == 0)
        rc = expire(&d, most, more, error);
    nb_entry_deinit(&d.entry);
    nb_entry_deinit(&d.old);
    return rc;
}

int nb_ledger_has_garbage(const struct nb_view *view, uint32_t model, uint64_t until, bool *has,
                          struct nb_error *error)
{
    struct numbers n = {.most = 1, .before = until == UINT64_MAX ? until : until + 1};
    int rc = list(view, NB_TABLE_GARBAGE, model, &n, error);
    *has = n.count > 0;
    free(n.numbers);
    return rc;
}

/* ---- models that are gone -------------------------------------------------------------------- */

static int clear_entry(const struct nb_view *view, uint32_t model, uint64_t number,
                       struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_sequence(model, number);
    int rc = nb_ledger_delete_pieces(view, number, error);
    return rc != 0 ? rc : nb_store_delete(view, NB_TABLE_ENTRIES, nb_store_key_string(&key), error);
}

/* Deletes the last entries of a model, even those whose index row is damaged: its key is readable.
 * Deletes only a few, because each search passes over the entries deleted before. NB_NOT_FOUND:
 * there are no more. */
static int clear_damaged(const struct nb_view *view, uint32_t model, struct nb_error *error)
{
    struct nb_store_key last = nb_store_key_sequence(model, UINT64_MAX);
    int rc = 0;
    for (int i = 0; rc == 0 && i < DAMAGED_MOST; i++) {
        struct nb_string key = {"", 0};
        struct nb_string value;
        rc = nb_store_floor(view, NB_TABLE_ENTRIES, nb_store_key_string(&last), sizeof model, &key,
                            &value, error);
        if (rc == 0 || (rc == NB_CORRUPT && key.length > 0))
            rc = clear_entry(view, model, nb_store_key_tail(key), error);
    }
    return rc;
}

int nb_ledger_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                    struct nb_error *error)
{
    static const enum nb_table tables[] = {NB_TABLE_DOCUMENTS, NB_TABLE_SCORES, NB_TABLE_WORDS,
                                           NB_TABLE_GARBAGE, NB_TABLE_KEPT};
    struct nb_store_key prefix = nb_store_key_model(model);
    struct numbers n = {.most = most, .before = UINT64_MAX};
    assert(model != 0);
    int rc = list(view, NB_TABLE_ENTRIES, model, &n, error);
    bool is_damaged = rc == NB_CORRUPT;
    /* Delete the entries listed before the damaged row first. Setting *deleted to `most` tells the
     * caller that there are more. */
    if (is_damaged)
        rc = n.count > 0 ? 0 : clear_damaged(view, model, error);
    bool ends = !is_damaged || rc == NB_NOT_FOUND;
    rc = rc == NB_NOT_FOUND ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < n.count; i++)
        rc = clear_entry(view, model, n.numbers[i], error);
    *deleted = ends ? n.count : most;
    free(n.numbers);
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables && *deleted < most; i++) {
        size_t some;
        rc = nb_store_clear(view, tables[i], nb_store_key_string(&prefix), most - *deleted, &some,
                            error);
        *deleted += some;
    }
    return rc;
}
