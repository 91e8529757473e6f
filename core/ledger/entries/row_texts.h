/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of features, by their rows, for listings. It keeps a snapshot open, and takes a newer
 * one when the writer waits for it to end, or when it is older than a row. One thread.
 */
#ifndef NB_CORE_LEDGER_ENTRIES_ROW_TEXTS_H
#define NB_CORE_LEDGER_ENTRIES_ROW_TEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger/coding/features.h"
#include "core/ledger/entries/ledger.h"

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
