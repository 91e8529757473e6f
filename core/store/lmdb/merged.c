/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/lmdb/merged.h"

#include "core/store/lmdb/environment.h"

static MDB_val value_of(struct nb_string s)
{
    /* LMDB does not write through the keys that it is given. */
    return (MDB_val){.mv_size = s.length, .mv_data = (void *)(uintptr_t)s.bytes};
}

static struct nb_string string_of(const MDB_val *v)
{
    return (struct nb_string){v->mv_data, v->mv_size};
}

int nb_merged_open(struct nb_merged *walk, const struct nb_view *view, enum nb_table table,
                   struct nb_error *error)
{
    *walk = (struct nb_merged){.seen = nb_store_seen(view), .table = table};
    int rc = mdb_cursor_open(walk->seen.transaction, view->store->tables[table], &walk->cursor);
    return nb_environment_error(error, rc, "reading the store");
}

void nb_merged_close(struct nb_merged *walk)
{
    if (walk->cursor != NULL)
        mdb_cursor_close(walk->cursor);
    walk->cursor = NULL;
}

static int move(struct nb_merged *walk, MDB_cursor_op op)
{
    walk->status = mdb_cursor_get(walk->cursor, &walk->lmdb_key, &walk->lmdb_value, op);
    return walk->status;
}

/* ---- forwards -------------------------------------------------------------------------------- */

/* < 0: LMDB's entry comes first, 0: the change is of the same key. */
static int order(const struct nb_merged *walk)
{
    if (walk->change == NULL)
        return -1;
    if (walk->status == MDB_NOTFOUND)
        return 1;
    return nb_string_compare(string_of(&walk->lmdb_key), walk->change->key);
}

static void next_change(struct nb_merged *walk)
{
    walk->change = nb_recent_after(walk->seen.last, walk->change);
}

/* Settles on the smaller of the two. Both stay where they are. */
static int settle(struct nb_merged *walk)
{
    for (;;) {
        if (walk->status != 0 && walk->status != MDB_NOTFOUND)
            return walk->status;
        if (walk->status == MDB_NOTFOUND && walk->change == NULL)
            return MDB_NOTFOUND;
        int first = order(walk);
        if (first < 0) {
            walk->key = string_of(&walk->lmdb_key);
            walk->sealed = string_of(&walk->lmdb_value);
            return 0;
        }
        if (first == 0) /* the change stands for LMDB's entry */
            (void)move(walk, MDB_NEXT);
        if (!walk->change->deleted) {
            walk->key = walk->change->key;
            walk->sealed = walk->change->value;
            return 0;
        }
        next_change(walk);
    }
}

int nb_merged_from(struct nb_merged *walk, struct nb_string from)
{
    const struct nb_seen *seen = &walk->seen;
    walk->lmdb_key = value_of(from);
    (void)move(walk, from.length == 0 ? MDB_FIRST : MDB_SET_RANGE);
    walk->change =
        seen->recent == NULL ? NULL : nb_recent_from(seen->recent, seen->last, walk->table, from);
    return settle(walk);
}

int nb_merged_next(struct nb_merged *walk)
{
    if (walk->change != NULL && walk->key.bytes == walk->change->key.bytes)
        next_change(walk);
    else
        (void)move(walk, MDB_NEXT);
    return settle(walk);
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* LMDB's last key <= `most`, of all if it is empty. */
static int lmdb_floor(struct nb_merged *walk, struct nb_string most)
{
    walk->lmdb_key = value_of(most);
    if (most.length == 0)
        return move(walk, MDB_LAST);
    if (move(walk, MDB_SET_RANGE) == MDB_NOTFOUND)
        return move(walk, MDB_LAST);
    if (walk->status == 0 && !nb_string_same(string_of(&walk->lmdb_key), most))
        return move(walk, MDB_PREV);
    return walk->status;
}

static const struct nb_recent_change *change_floor(const struct nb_merged *walk,
                                                   struct nb_string most)
{
    const struct nb_seen *seen = &walk->seen;
    const struct nb_recent_change *same = NULL;
    if (seen->recent == NULL)
        return NULL;
    if (most.length > 0)
        same = nb_recent_find(seen->recent, seen->last, walk->table, most);
    return same != NULL ? same : nb_recent_before(seen->recent, seen->last, walk->table, most);
}

int nb_merged_floor(struct nb_merged *walk, struct nb_string most)
{
    walk->change = change_floor(walk, most);
    (void)lmdb_floor(walk, most);
    while (walk->status == 0 || (walk->status == MDB_NOTFOUND && walk->change != NULL)) {
        int last = walk->change == NULL ? 1
                   : walk->status != 0
                       ? -1
                       : nb_string_compare(string_of(&walk->lmdb_key), walk->change->key);
        if (last > 0) {
            walk->key = string_of(&walk->lmdb_key);
            walk->sealed = string_of(&walk->lmdb_value);
            return 0;
        }
        if (!walk->change->deleted) {
            walk->key = walk->change->key;
            walk->sealed = walk->change->value;
            return 0;
        }
        if (last == 0)
            (void)move(walk, MDB_PREV);
        walk->change =
            nb_recent_before(walk->seen.recent, walk->seen.last, walk->table, walk->change->key);
    }
    return walk->status;
}
