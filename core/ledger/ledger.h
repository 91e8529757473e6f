/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: all changes, numbered in the order in which they were made. The ledger is the state;
 * rows, labels, weights and indexes are a checkpoint of it and can be rebuilt from it. Only this
 * module knows how entries are laid out in the store.
 *
 * Threads: the writer appends and drops entries, in its transaction; any thread may read, in a
 * snapshot.
 *
 * An entry is stored in pieces of about a kilobyte under its number, so that entries share pages.
 * The same transaction writes the indexes, which a rebuild makes anew: ENTRIES (the numbers of a
 * model's entries, each with a byte: 1 a current document with a label, 4 one without, 2 an UNDO
 * note, 0 any other), DOCUMENTS (the current entry of an id), SCORES (by the number of the entry
 * that first learned the document: the order of arrival), WORDS (the entry that brought a row's
 * feature, by the first row of each run of neighbouring rows), GARBAGE (the entry that an entry
 * made superfluous), and KEPT (superfluous entries that stay for an undo).
 */
#ifndef NB_CORE_LEDGER_LEDGER_H
#define NB_CORE_LEDGER_LEDGER_H

#include "core/bayes/settings.h"
#include "core/counts/model.h"
#include "core/counts/pairs.h"
#include "core/ledger/change.h"
#include "core/ledger/record.h"
#include "core/store/store.h"

/* ---- pieces and index rows ------------------------------------------------------------------- */

/* Writes entries of the ledger and their index rows to the store. On the writer's thread, in its
 * transaction; only for core/ledger/entries/ledger*.c. */

enum {
    /* Four pieces fill a page of 4,096 bytes. A value of more than half a page would take whole
     * pages for itself. */
    NB_PIECE_BYTES = 984,
    NB_PIECES_MOST = UINT16_MAX,
};

/* Writes an entry in pieces under its number. `append`: the number is above most others, so the
 * pieces are appended if possible. Returns 0 or a code. */
int nb_ledger_put_pieces(const struct nb_view *view, uint64_t number, const struct nb_buffer *bytes,
                         bool append, struct nb_error *error);
int nb_ledger_delete_pieces(const struct nb_view *view, uint64_t number, struct nb_error *error);
/* Puts a number as a varint. */
int nb_ledger_put_number(const struct nb_view *view, enum nb_table table,
                         const struct nb_store_key *key, uint64_t number, struct nb_error *error);
int nb_ledger_put_entry_row(const struct nb_view *view, uint32_t model, uint64_t number, char flags,
                            struct nb_error *error);
/* Whether the row at index `i` of an ascending list begins a run: it is not the neighbour of the
 * row before. */
bool nb_ledger_begins_run(const struct nb_rows *rows, size_t i);
/* Write and delete the rows of WORDS for the new features of an entry: one for each run. */
int nb_ledger_put_words(const struct nb_view *view, uint64_t number, const struct nb_change *c,
                        struct nb_error *error);
int nb_ledger_delete_words(const struct nb_view *view, uint32_t model, const struct nb_rows *rows,
                           struct nb_error *error);
/* Sets *runs to the number of rows of WORDS for a change. */
int nb_ledger_runs(const struct nb_change *change, size_t *runs, struct nb_error *error);

/* An entry that was read: `change` borrows from `bytes`. Can be reused for the next entry; begins
 * as
 * `{0}`. */
struct nb_entry {
    uint64_t number;
    struct nb_change change;
    struct nb_buffer bytes;
};
void nb_entry_deinit(struct nb_entry *entry);

/* Appends the change under `number`, with all its index rows. The number must be unused and above
 * all others of the model. Updates `totals` of the model. Overwrites `scratch`. Returns 0 or a
 * code. */
int nb_ledger_append(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error);

/* As nb_ledger_append, for a number that need not be the ledger's highest. It must be unused and
 * above all others of the model. */
int nb_ledger_insert(const struct nb_view *view, uint64_t number, const struct nb_change *change,
                     struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                     struct nb_error *error);

/* Reads an entry by number, in microseconds. Returns 0, NB_NOT_FOUND (without a text), NB_CORRUPT,
 * NB_VERSION, NB_NO_MEMORY or what the store returns. */
int nb_ledger_read(const struct nb_view *view, uint64_t number, struct nb_entry *entry,
                   struct nb_error *error);

/* Reads the current entry of a document by its id. NB_NOT_FOUND without a text: the document is not
 * learned. NB_CORRUPT: its index row or its entry is damaged. */
int nb_ledger_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_entry *entry, struct nb_error *error);

/* Sets *current to whether the entry is the current one of its document, with a label or without.
 * Returns 0 or a code. */
int nb_ledger_is_current(const struct nb_view *view, const struct nb_entry *entry, bool *current,
                         struct nb_error *error);

/* Reads the entry whose number is in `value`, the value of an index row (a varint). NB_CORRUPT:
 * there is no such entry. */
int nb_ledger_read_indexed(const struct nb_view *view, struct nb_string value,
                           struct nb_entry *entry, struct nb_error *error);

/* Calls `visit` for the entries of a model (0: of all models) from the number `from` on, in order.
 * Stops when `visit` returns non-zero, and returns that; else 0 or a code. */
typedef int nb_ledger_visit(void *user, struct nb_entry *entry, struct nb_error *error);
int nb_ledger_walk(const struct nb_view *view, uint32_t model, uint64_t from,
                   nb_ledger_visit *visit, void *user, struct nb_error *error);

/* As nb_ledger_walk, but only for a model's current entries (with a label, without one, or both),
 * or only for its UNDO notes. Other entries are skipped without being read, 0.1 us each. */
enum nb_ledger_only {
    NB_LEDGER_LABELLED = 1,
    NB_LEDGER_NOTES = 2,
    NB_LEDGER_UNLABELLED = 4,
    NB_LEDGER_LIVING = NB_LEDGER_LABELLED | NB_LEDGER_UNLABELLED,
};
/* Returns the byte that a new entry gets in ENTRIES. */
static inline char nb_ledger_flags(const struct nb_change *change)
{
    if (change->kind == NB_CHANGE_TRAIN)
        return change->label == NB_NO_LABEL ? NB_LEDGER_UNLABELLED : NB_LEDGER_LABELLED;
    return change->kind == NB_CHANGE_UNDO ? NB_LEDGER_NOTES : 0;
}
int nb_ledger_walk_only(const struct nb_view *view, uint32_t model, uint64_t from,
                        enum nb_ledger_only only, nb_ledger_visit *visit, void *user,
                        struct nb_error *error);

/* Calls `visit` with the number of each current labelled entry of a model, in order, without
 * reading the entry. Stops when `visit` returns non-zero, and returns that; else 0 or a code. */
int nb_ledger_list_labelled(const struct nb_view *view, uint32_t model,
                            int (*visit)(void *user, uint64_t number), void *user,
                            struct nb_error *error);

/* Sets *has to whether the ledger still has an entry that a change up to the number `until`
 * replaced. */
int nb_ledger_has_garbage(const struct nb_view *view, uint32_t model, uint64_t until, bool *has,
                          struct nb_error *error);
/* Drops up to `most` entries that entries below `before` made superfluous. An entry that brought
 * new features or a new label is replaced by its remnant, under the same number. The newest entry
 * of the ledger stays, because the next number follows from it. Superseded states of a document
 * also stay for an undo if its label was changed at `keep_from` (milliseconds since 1970;
 * INT64_MAX: none) or later: up to eight states, as long as the document is learned with the same
 * content. Older kept states are dropped. Updates `totals`; sets *more if there may be more to
 * drop. Returns 0 or a code. */
int nb_ledger_drop(const struct nb_view *view, uint32_t model, uint64_t before, int64_t keep_from,
                   size_t most, struct nb_ledger_totals *totals, bool *more,
                   struct nb_error *error);

/* Sets *number to that of a model's first entry. That entry is never dropped: all nodes of a
 * cluster identify the model by its number. Returns 0, NB_NOT_FOUND (without a text: the model has
 * none) or a code. */
int nb_ledger_first(const struct nb_view *view, uint32_t model, uint64_t *number,
                    struct nb_error *error);

/* Sets *number to that of the newest entry of all models; 0: the ledger is empty. */
int nb_ledger_newest(const struct nb_view *view, uint64_t *number, struct nb_error *error);

/* Sets *number to that of the first entry from `from` on, even if the entry is damaged. Returns 0,
 * NB_NOT_FOUND (without a text: there is none) or a code. */
int nb_ledger_next(const struct nb_view *view, uint64_t from, uint64_t *number,
                   struct nb_error *error);

/* Deletes up to `most` entries of a model that is gone, even damaged ones, with their index rows.
 * Sets *deleted to their number, which is less than `most` only if none are left. The newest entry
 * of the ledger must not belong to the model. */
int nb_ledger_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                    struct nb_error *error);

/* Copies an entry of another store, under the same number, with its index rows, and updates
 * `totals`. For a rebuild, which copies entries in the order of their numbers. Overwrites
 * `scratch`. Returns 0 or a code. */
int nb_ledger_copy(const struct nb_view *view, const struct nb_entry *entry,
                   struct nb_ledger_totals *totals, struct nb_buffer *scratch,
                   struct nb_error *error);

/* ---- walks in steps -------------------------------------------------------------------------- */

/* Walks over the current entries of a model in steps, each in a snapshot of its own, so that the
 * store keeps no old page for longer than a step takes. A step also ends when the store needs its
 * snapshot back (nb_store_wanted). Entries that are appended while a walk runs are visited, too.
 * Any thread; a walk belongs to one. */

struct nb_ledger_steps {
    struct nb_store *store; /* borrowed */
    uint32_t model;
    enum nb_ledger_only only;
    size_t most; /* most entries of one step */
    /* Returns 0 to go on, or NB_STEP_ENDS: the next step begins with this entry. Any other value
     * ends the walk, which returns it. */
    nb_ledger_visit *visit;
    void *user;
    uint64_t from; /* number of the entry that comes next */
    bool is_done;  /* no entry is left */
    /* In the present step: */
    struct nb_view view;
    size_t seen; /* number of entries visited */
};
enum { NB_STEP_ENDS = 1 };

/* Takes a step. Returns 0, a code, or what `visit` returns. */
int nb_ledger_step(struct nb_ledger_steps *steps, struct nb_error *error);

/* Returns 0, or NB_STOPPING with its text if `stop` (NULL: never) returns true. For each step of a
 * long task. */
int nb_step_check(bool (*stop)(void *user), void *user, struct nb_error *error);

/* Takes all steps that are left, with nb_step_check before each. Returns as both do. */
int nb_ledger_steps_all(struct nb_ledger_steps *steps, bool (*stop)(void *user), void *user,
                        struct nb_error *error);

/* ---- pairs of values ------------------------------------------------------------------------- */

/* The pairs of values (core/counts/pairs.h) of a model's labelled documents, counted from the
 * ledger. On the thread that changes the counts. */

/* Makes a table of the labelled documents of model `number`, whose counts are `model`, in some
 * microseconds for each document. A model without a number (0) has no documents yet. *pairs is NULL
 * if the settings have "structure": "naive". Returns 0, NB_TOO_LARGE (over NB_PAIRS_MOST),
 * NB_NO_MEMORY, NB_CORRUPT or what the store returns. */
int nb_ledger_pairs(const struct nb_view *view, uint32_t number, const struct nb_model *model,
                    const struct nb_settings *settings, struct nb_pairs **pairs,
                    struct nb_error *error);

#endif
