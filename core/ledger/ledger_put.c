/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/ledger_put.h"

#include <assert.h>

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
