/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: every change that was made, by number, in the order in which they were made. It is
 * the state; what is in rows, labels, weights and indexes is a checkpoint of it and can be made
 * again from it. This module alone knows how entries lie in the store.
 *
 * Threads: appending and dropping are the writer's, in its transaction; reading is for any thread,
 * in a snapshot.
 *
 * An entry lies in pieces of about a kilobyte under its number, so that entries share pages. Beside
 * it, in the same transaction, stand indexes that a rebuild makes anew: ENTRIES (the numbers of a
 * model's entries, each with a byte: 1 a current document with a label, 4 one without, 2 a note of
 * undoing, 0 any other), DOCUMENTS (the
 * current entry of an id), SCORES (by the number that learned the document first: the order of
 * arrival), WORDS (which entry brought a row's feature: by the first row of each run of
 * neighbours), GARBAGE (what an entry made superfluous), and KEPT (what of that stays for an undo).
 */
#ifndef NB_CORE_LEDGER_ENTRIES_LEDGER_H
#define NB_CORE_LEDGER_ENTRIES_LEDGER_H

#include "core/ledger/entries/change.h"
#include "core/ledger/entries/record.h"
#include "core/store/lmdb/store.h"

/* An entry as read: `change` borrows from `bytes`. Reused from entry to entry; `{0}` is empty. */
struct nb_entry {
    uint64_t number;
    struct nb_change change;
    struct nb_buffer bytes;
};
void nb_entry_deinit(struct nb_entry *entry);

/* Appends the change under `number`, which must be above all others of its model and is in no use,
 * with all its index rows, and brings `totals` of its model up to date. `scratch` is emptied and
 * used. Returns 0 or a code. */
int nb_ledger_append(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error);

/* The same with a number that the ledger has not, above all others of the model. */
int nb_ledger_insert(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error);

/* Reads an entry by number, in microseconds. Returns 0, NB_NOT_FOUND (without a text), NB_CORRUPT,
 * NB_VERSION, NB_NO_MEMORY or what the store returns. */
int nb_ledger_read(const struct nb_view *view, uint64_t number, struct nb_entry *entry,
                   struct nb_error *error);

/* Reads the current entry of a document by its id. NB_NOT_FOUND without a text: no such document is
 * learned. NB_CORRUPT: its index or its entry is damaged. */
int nb_ledger_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_entry *entry, struct nb_error *error);

/* Sets *current: whether the entry is the current one of its document, with a label or without.
 * Returns 0 or a code. */
int nb_ledger_is_current(const struct nb_view *view, const struct nb_entry *entry, bool *current,
                         struct nb_error *error);

/* Reads the entry whose number, as a varint, is the value of an index row. NB_CORRUPT: it is not
 * there. */
int nb_ledger_read_indexed(const struct nb_view *view, struct nb_string value,
                           struct nb_entry *entry, struct nb_error *error);

/* Calls `visit` for the entries of a model (or with model 0 of all models) from the number `from`
 * on, in order, until it returns non-zero, and returns that; else 0 or a code. */
typedef int nb_ledger_visit(void *user, struct nb_entry *entry, struct nb_error *error);
int nb_ledger_walk(const struct nb_view *view, uint32_t model, uint64_t from,
                   nb_ledger_visit *visit, void *user, struct nb_error *error);

/* As nb_ledger_walk for a model's current entries alone, with a label, without one, or both, or for
 * its notes of undoing alone (NB_CHANGE_UNDO): the others are passed over without being read, 0.1
 * us each. */
enum nb_ledger_only {
    NB_LEDGER_LABELLED = 1,
    NB_LEDGER_NOTES = 2,
    NB_LEDGER_UNLABELLED = 4,
    NB_LEDGER_LIVING = NB_LEDGER_LABELLED | NB_LEDGER_UNLABELLED,
};
/* The byte of a new entry in ENTRIES. */
static inline char nb_ledger_flags(const struct nb_change *change)
{
    if (change->kind == NB_CHANGE_TRAIN)
        return change->label == NB_NO_LABEL ? NB_LEDGER_UNLABELLED : NB_LEDGER_LABELLED;
    return change->kind == NB_CHANGE_UNDO ? NB_LEDGER_NOTES : 0;
}
int nb_ledger_walk_only(const struct nb_view *view, uint32_t model, uint64_t from,
                        enum nb_ledger_only only, nb_ledger_visit *visit, void *user,
                        struct nb_error *error);

/* Calls `visit` with the numbers of a model's current entries with a label, in order, without
 * reading these, until it returns non-zero, and returns that; else 0 or a code. */
int nb_ledger_list_labelled(const struct nb_view *view, uint32_t model,
                            int (*visit)(void *user, uint64_t number), void *user,
                            struct nb_error *error);

/* Whether an entry that a change up to the number `until` has replaced is still in the ledger. */
int nb_ledger_has_garbage(const struct nb_view *view, uint32_t model, uint64_t until, bool *has,
                          struct nb_error *error);
/* Drops what entries below `before` made superfluous, up to `most` of them. An entry that brought
 * new features or a new label is replaced by what must stay of it, under the same number. The
 * newest entry of the ledger stays, because the next number follows from it. What a document was
 * before changes of its label from `keep_from` on (milliseconds since 1970; INT64_MAX: none) stays,
 * too, for an undo: up to eight states of a document, as long as it is learned with the same
 * content. What was kept and is older goes. Updates `totals`; sets *more if there may be more to
 * drop. Returns 0 or a code. */
int nb_ledger_drop(const struct nb_view *view, uint32_t model, uint64_t before, int64_t keep_from,
                   size_t most, struct nb_ledger_totals *totals, bool *more,
                   struct nb_error *error);

/* The number of a model's first entry, which is never dropped: in a cluster all nodes know the
 * model by it. Returns 0, NB_NOT_FOUND (without a text: the model has none) or a code. */
int nb_ledger_first(const struct nb_view *view, uint32_t model, uint64_t *number,
                    struct nb_error *error);

/* The number of the newest entry of all; 0: there is none. */
int nb_ledger_newest(const struct nb_view *view, uint64_t *number, struct nb_error *error);

/* The number of the first entry from `from` on, also if it does not read back. Returns 0,
 * NB_NOT_FOUND (without a text: there is none) or a code. */
int nb_ledger_next(const struct nb_view *view, uint64_t from, uint64_t *number,
                   struct nb_error *error);

/* Deletes up to `most` entries of a model that is gone, with their index rows, also damaged ones.
 * Sets *deleted, which is less than `most` only if no more are left.
 * The newest entry of all must not be of the model. */
int nb_ledger_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                    struct nb_error *error);

/* Puts an entry of another store under its own number, with its index rows, and brings `totals` up
 * to date. For a rebuild, which copies entries in the order of their numbers. `scratch` is emptied
 * and used. Returns 0 or a code. */
int nb_ledger_copy(const struct nb_view *view, const struct nb_entry *entry,
                   struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                   struct nb_error *error);

#endif
