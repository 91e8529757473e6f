/* SPDX-License-Identifier: Apache-2.0
 *
 * The features in the ledger: which entry brought the feature of a row, all of them in the order of
 * their rows, and dropping those that no document has. Reading is for any thread, in a snapshot;
 * dropping is the writer's, in its transaction.
 */
#ifndef NB_CORE_LEDGER_ENTRIES_LEDGER_FEATURES_H
#define NB_CORE_LEDGER_ENTRIES_LEDGER_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger/coding/features_coding.h"
#include "core/ledger/entries/ledger.h"

/* Reads the entry that brought the feature of a row, and sets *index to the feature's place among
 * its new features. NB_NOT_FOUND without a text: no entry has it. */
int nb_ledger_entry_of_row(const struct nb_view *view, uint32_t model, uint32_t row,
                           struct nb_entry *entry, size_t *index, struct nb_error *error);

/* A run of neighbouring rows that one entry has brought: its new features from `index` on. */
struct nb_ledger_run {
    struct nb_entry *entry; /* borrowed for the call */
    uint32_t first_row;
    size_t index, count;
};
/* Calls `visit` for the runs of a model from the row `from` on, in the order of their rows, until
 * it returns non-zero, and returns that; else 0 or a code. An entry with several runs comes several
 * times. */
typedef int nb_ledger_visit_run(void *user, const struct nb_ledger_run *run,
                                struct nb_error *error);
int nb_ledger_walk_runs(const struct nb_view *view, uint32_t model, uint32_t from,
                        nb_ledger_visit_run *visit, void *user, struct nb_error *error);

/* Takes the features of these rows (ascending), which no entry but the one that brought them needs,
 * out of the ledger: their entries, which are FEATURES, are written anew without them, or dropped
 * if nothing is left. Features are hashed under `key`. Sets taken[i] to whether rows[i] was; a
 * feature stays whose entry is still that of a document, or the newest of all. Updates `totals`.
 * Returns 0 or a code. */
int nb_ledger_drop_features(const struct nb_view *view, uint32_t model, const uint32_t *rows,
                            size_t count, struct nb_features_coder *coder, const struct nb_key *key,
                            bool *taken, struct nb_ledger_totals *totals, struct nb_error *error);

/* The texts of features, by their rows, for listings. It keeps a snapshot open, and takes a newer
 * one when the writer waits for it to end, or when it is older than a row. One thread. */
enum { NB_ROW_TEXTS_ID_DIGITS = 17 };

/* Private to the functions below. */
struct nb_row_texts {
    struct nb_store *store;
    uint32_t model;
    const struct nb_key *key;
    struct nb_view view;
    bool is_resting;                 /* there is no snapshot */
    struct nb_features_coder *coder; /* owned */
    struct nb_entry entry;
    char id[NB_ROW_TEXTS_ID_DIGITS + 1];
};

/* `model` and `key` are those of the model, which must live as long. Returns 0 or a code; the
 * caller ends it in both cases. */
int nb_row_texts_begin(struct nb_row_texts *texts, struct nb_store *store, uint32_t model,
                       const struct nb_key *key, struct nb_error *error);
void nb_row_texts_end(struct nb_row_texts *texts);

/* Ends the snapshot until the next text is asked for: the writer may have to wait for it, so nobody
 * keeps it who waits for the writer. */
void nb_row_texts_rest(struct nb_row_texts *texts);

/* Sets *text to the text of the feature in a row; if texts were not kept, to '#' and its id in
 * hexadecimal, and *is_kept (may be NULL) to whether they were. It is readable until the next call.
 * Returns 0, NB_NOT_FOUND without a text (the row has another feature, or none), or a code. */
int nb_row_texts_get(struct nb_row_texts *texts, uint32_t row, uint64_t feature,
                     struct nb_string *text, bool *is_kept, struct nb_error *error);

#endif
