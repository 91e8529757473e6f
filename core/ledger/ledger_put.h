/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes entries of the ledger and their index rows to the store. On the writer's thread, in its
 * transaction; only for core/ledger/entries/ledger*.c.
 */
#ifndef NB_CORE_LEDGER_LEDGER_PUT_H
#define NB_CORE_LEDGER_LEDGER_PUT_H

#include "core/ledger/change.h"
#include "core/store/store.h"

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

#endif
