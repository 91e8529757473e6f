/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of what a model remembers: ledger entries, ranges of rows, and the small records
 * beside them. Pure functions on bytes; any thread.
 *
 * An entry tells one change: the document's id, its label (or that it was forgotten), the time, the
 * number of the entry that it replaces, and the bag exactly as it was counted. The bag is the
 * ascending list of row numbers, delta coded, with counts above one: about two bytes a feature.
 */
#ifndef NB_CORE_LEDGER_H
#define NB_CORE_LEDGER_H

#include "core/base/pack.h"
#include "core/model.h"

enum { NB_ENTRY_FORGOTTEN = 0, NB_ENTRY_LEARNED = 1 };

struct nb_entry {
    unsigned kind;  /* NB_ENTRY_... */
    bool truncated; /* the tokenizer's limit cut the document */
    struct nb_string id;
    uint32_t label;               /* of the document; of a forgotten one, the label it had */
    int64_t time;                 /* milliseconds since 1970 */
    uint64_t replaced;            /* ledger number of the entry that this one replaces; 0: none */
    uint64_t tokens;              /* token positions */
    uint32_t first_row;           /* row number of the first new feature */
    size_t new_count;             /* features that no entry had before */
    const unsigned char *new_ids; /* 8 bytes each, little-endian; borrowed */
    struct nb_string bag;         /* coded by nb_bag_encode; empty when forgotten; borrowed */
};

/* Appends the stored form. Returns 0 or NB_NO_MEMORY. */
int nb_entry_write(const struct nb_entry *entry, struct nb_buffer *out);
/* Reads it back; everything is borrowed from `stored`. Returns 0 or NB_CORRUPT. */
int nb_entry_read(struct nb_entry *entry, struct nb_string stored, struct nb_error *error);
uint64_t nb_entry_new_id(const struct nb_entry *entry, size_t index);

/* A growable list of row counts. */
struct nb_rows {
    struct nb_row_count *counts; /* owned */
    size_t size, room;
};
void nb_rows_deinit(struct nb_rows *rows);
int nb_rows_add(struct nb_rows *rows, uint32_t row, uint32_t count);
/* Sorts by row number. */
void nb_rows_sort(struct nb_rows *rows);
/* The same in a third of the time, for who has memory for as many again: `scratch`. */
void nb_row_counts_sort(struct nb_row_count *counts, size_t size, struct nb_row_count *scratch);

/* Appends the coded bag of rows that are sorted and distinct. Returns 0 or NB_NO_MEMORY. */
int nb_bag_encode(const struct nb_rows *rows, struct nb_buffer *out);
/* Fills `rows` (emptied first). Every row must be below `limit`. Returns 0, NB_CORRUPT or
 * NB_NO_MEMORY. */
int nb_bag_decode(struct nb_string bag, uint32_t limit, struct nb_rows *rows,
                  struct nb_error *error);

/* ---- ranges of rows -------------------------------------------------------------------------- */

enum { NB_RANGE_ROWS = 1024 }; /* rows per stored range */

/* Appends the stored form of rows first .. first + count - 1 and of `mark`, the ledger number up to
 * which they are true. */
int nb_range_write(const struct nb_model *model, uint32_t first, uint32_t count, uint64_t mark,
                   struct nb_buffer *out);
/* Appends the rows of a stored range to the model (which must have `first` rows so far). Sets
 * *mark. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_range_read(struct nb_model *model, uint32_t first, struct nb_string stored, uint64_t *mark,
                  struct nb_error *error);

/* ---- small records --------------------------------------------------------------------------- */

struct nb_state_record {
    uint64_t last;   /* greatest ledger number given out */
    uint64_t replay; /* entries below it are in every stored range */
    uint32_t rows;   /* rows that have an id in the store */
};
int nb_state_write(const struct nb_state_record *state, struct nb_buffer *out);
int nb_state_read(struct nb_state_record *state, struct nb_string stored, struct nb_error *error);

int nb_label_write(struct nb_string name, uint64_t documents, struct nb_buffer *out);
int nb_label_read(struct nb_string stored, struct nb_string *name, uint64_t *documents,
                  struct nb_error *error);

#endif
