/* SPDX-License-Identifier: Apache-2.0
 *
 * Features in the ledger: finds the entry that brought the feature of a row, lists all features in
 * the order of their rows, and drops features that no document has. Any thread may read, in a
 * snapshot; the writer drops features, in its transaction.
 */
#ifndef NB_CORE_LEDGER_LEDGER_FEATURES_H
#define NB_CORE_LEDGER_LEDGER_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger/features_coding.h"
#include "core/ledger/ledger.h"

/* Reads the entry that brought the feature of a row, and sets *index to the feature's place among
 * the entry's new features. NB_NOT_FOUND without a text: no entry has the feature. */
int nb_ledger_entry_of_row(const struct nb_view *view, uint32_t model, uint32_t row,
                           struct nb_entry *entry, size_t *index, struct nb_error *error);

/* A run of neighbouring rows that one entry brought: `count` of its new features, from `index` on.
 */
struct nb_ledger_run {
    struct nb_entry *entry; /* borrowed for the call */
    uint32_t first_row;
    size_t index, count;
};
/* Calls `visit` for the runs of a model from the row `from` on, in the order of their rows. Stops
 * when `visit` returns non-zero, and returns that; else 0 or a code. An entry with several runs is
 * visited several times. */
typedef int nb_ledger_visit_run(void *user, const struct nb_ledger_run *run,
                                struct nb_error *error);
int nb_ledger_walk_runs(const struct nb_view *view, uint32_t model, uint32_t from,
                        nb_ledger_visit_run *visit, void *user, struct nb_error *error);

/* Removes the features of these rows (ascending) from the ledger; no document may have them. The
 * FEATURES entries that brought them are rewritten without the features, or dropped if nothing is
 * left. Features are hashed under `key`. Sets taken[i] to whether the feature of rows[i]
 * was removed: it stays if its entry still has a document or is the newest of the ledger. Updates
 * `totals`. Returns 0 or a code. */
int nb_ledger_drop_features(const struct nb_view *view, uint32_t model, const uint32_t *rows,
                            size_t count, struct nb_features_coder *coder, const struct nb_key *key,
                            bool *taken, struct nb_ledger_totals *totals, struct nb_error *error);

/* A reader of the texts of features, by row, for listings. The reader keeps a snapshot open, and
 * takes a newer one when the writer waits for its end, or when a row is newer than the snapshot.
 * One thread. */
enum { NB_ROW_TEXTS_ID_DIGITS = 17 };

/* Private to the functions below. */
struct nb_row_texts {
    struct nb_store *store;
    uint32_t model;
    const struct nb_key *key;
    struct nb_view view;
    bool is_resting;                 /* no snapshot is open */
    struct nb_features_coder *coder; /* owned */
    struct nb_entry entry;
    char id[NB_ROW_TEXTS_ID_DIGITS + 1];
};

/* `model` and `key` are those of the model, which must outlive the reader. Returns 0 or a code; the
 * caller calls nb_row_texts_end in both cases. */
int nb_row_texts_begin(struct nb_row_texts *texts, struct nb_store *store, uint32_t model,
                       const struct nb_key *key, struct nb_error *error);
void nb_row_texts_end(struct nb_row_texts *texts);

/* Closes the snapshot until the next text is read. The writer may have to wait for the end of a
 * snapshot, so a thread that waits for the writer must not keep one. */
void nb_row_texts_rest(struct nb_row_texts *texts);

/* Sets *text to the text of the feature in a row, or to '#' and its id in hexadecimal if texts were
 * not kept. Sets *is_kept (may be NULL) to whether they were. *text is valid until the next call.
 * Returns 0, NB_NOT_FOUND without a text (the row has another feature, or none), or a code. */
int nb_row_texts_get(struct nb_row_texts *texts, uint32_t row, uint64_t feature,
                     struct nb_string *text, bool *is_kept, struct nb_error *error);

#endif
