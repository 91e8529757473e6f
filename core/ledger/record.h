/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of the store beside ledger entries (change.h): of models, labels and ranges of rows.
 * Pure functions on bytes; any thread. Each _write appends the stored form and returns 0 or
 * NB_NO_MEMORY. Each _read returns 0 or NB_CORRUPT, and the strings that it sets are borrowed from
 * `stored`.
 *
 * Stored form: the members of a record in the order in which its struct has them, numbers as
 * varints, texts as strings (core/base/buffer.h). A model's own key is one byte, which says whether
 * features are hashed under it, and NB_KEY_BYTES bytes; without an own key, nothing.
 */
#ifndef NB_CORE_LEDGER_RECORD_H
#define NB_CORE_LEDGER_RECORD_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/key.h"
#include "core/counts/model.h"
#include "core/store/store.h"

/* Totals of a model in the ledger. */
struct nb_ledger_totals {
    uint64_t entries;    /* number of its entries */
    uint64_t current;    /* documents that are learned, or stored without a label */
    uint64_t unlabelled; /* current documents without a label */
    uint64_t scores;     /* current documents with a score from before they were learned */
    /* Documents that were learned and are no longer in the ledger. A rebuild cannot teach the
     * weights of a stack from them again. */
    uint64_t dropped;
};

/* The stored slots of a twin (core/model/checkpoint.h): the number of ranges; and three
 * numbers of records in its log: the oldest stored one, the first needed one, and the next one. */
struct nb_twin_stored {
    uint32_t ranges;
    uint64_t oldest, first, next;
};

/* The version of what is stored of a model beside its entries in the ledger: labels, rows, weights
 * and slots of the twin. Raised whenever these would be others for the same entries. A model with
 * an older version is computed anew from its entries (core/writer/upgrade.h). 0   as formats 8 and
 * 9 of the store have it, without a number 1   the version of format 10 */
enum { NB_DERIVED_VERSION = 1 };

/* A model as its last commit left it: enough for lists, without its counts. */
struct nb_state_record {
    uint64_t last;       /* number of its newest entry */
    uint64_t replay;     /* entries below this number are in every stored range */
    uint64_t tail;       /* changes of features, plus one per entry, from `replay` on */
    uint64_t vocabulary; /* tokens with a count above 0 */
    uint32_t rows;       /* rows that have an id */
    uint32_t labels;     /* number of records in LABELS */
    uint32_t weights;    /* number of records in WEIGHTS */
    struct nb_ledger_totals totals;
    struct nb_twin_stored twin;
    uint32_t version; /* NB_DERIVED_VERSION of the daemon that computed the counts */
};
int nb_state_write(const struct nb_state_record *state, struct nb_buffer *out);
int nb_state_read(struct nb_state_record *state, struct nb_string stored, struct nb_error *error);

struct nb_label_record {
    struct nb_string name; /* borrowed */
    uint64_t documents;
    uint64_t tokens; /* occurrences in fields that are tokens */
};
int nb_label_write(const struct nb_label_record *label, struct nb_buffer *out);
int nb_label_read(struct nb_label_record *label, struct nb_string stored, struct nb_error *error);

/* A model's own key. An import from another store brings the key that made the ids of its
 * documents, and that hashes its features if it has no texts. */
struct nb_own_key {
    bool present;
    bool hashes_features;
    unsigned char bytes[NB_KEY_BYTES];
};
int nb_own_key_write(const struct nb_own_key *key, struct nb_buffer *out);
int nb_own_key_read(struct nb_own_key *key, struct nb_string stored, struct nb_error *error);

struct nb_model_record {
    uint32_t number;
    struct nb_string settings; /* as nb_settings_write writes them; borrowed */
    struct nb_string key;      /* as nb_own_key_write writes it; borrowed */
};
int nb_model_record_write(const struct nb_model_record *record, struct nb_buffer *out);
/* Does not decode the key: nb_own_key_read does. */
int nb_model_record_read(struct nb_model_record *record, struct nb_string stored,
                         struct nb_error *error);

/* Assigns the numbers of models and of ledger entries, inside the transaction that uses them. No
 * number is assigned twice. On the writer's thread.
 *
 * The next number is above all numbers in any table, including those of unfinished imports and
 * deleted models. So nothing new can be mistaken for data that a crash left behind.
 *
 * If several nodes share their changes, an entry has the same number on all of them, because
 * changes refer to entries by number. So the number follows from the position of the change in its
 * stream, and not from how many entries the store has. It increases within a stream, and all
 * changes of a model are in one stream:
 *
 *     6 bits   number of the stream in the cluster, after a zero bit
 *     35 bits  position in the stream: 10 years of 100 changes a second
 *     22 bits  number of the entry within the change, from 1 on; an import makes many
 *
 * Each store numbers its models for itself. Other nodes identify a model by the number of its first
 * entry. */
enum {
    NB_SERIALS_ENTRY_BITS = 22,
    NB_SERIALS_POSITION_BITS = 35,
    NB_SERIALS_STREAM_BITS = 6,
};

struct nb_serials {
    uint64_t entry; /* the greatest number of an entry */
    uint32_t model; /* the greatest number of a model */
};

/* Reads the greatest numbers in use from every table. Returns 0 or a code. */
int nb_serials_load(const struct nb_view *view, struct nb_serials *serials, struct nb_error *error);

/* Return a lower bound of the numbers of a stream's entries, and the stream of an entry. */
static inline uint64_t nb_serials_first(unsigned stream)
{
    return (uint64_t)stream << (NB_SERIALS_POSITION_BITS + NB_SERIALS_ENTRY_BITS);
}
static inline unsigned nb_serials_stream(uint64_t number)
{
    uint64_t stream = number >> (NB_SERIALS_POSITION_BITS + NB_SERIALS_ENTRY_BITS);
    return (unsigned)(stream & ((1u << NB_SERIALS_STREAM_BITS) - 1));
}

/* Makes the next numbers belong to the change at this position of a stream. */
static inline void nb_serials_follow(struct nb_serials *serials, unsigned stream, uint64_t position)
{
    assert(stream >> NB_SERIALS_STREAM_BITS == 0 && position >> NB_SERIALS_POSITION_BITS == 0);
    uint64_t change = (uint64_t)stream << NB_SERIALS_POSITION_BITS | position;
    if (serials->entry >> NB_SERIALS_ENTRY_BITS != change) /* else some were assigned already */
        serials->entry = change << NB_SERIALS_ENTRY_BITS;
}

/* Returns the next number for an entry. Only the entry itself stores it. */
static inline uint64_t nb_serials_entry(struct nb_serials *serials)
{
    return ++serials->entry;
}

/* Sets *number to the next number for a model, which the transaction of `view` stores. Returns 0,
 * NB_TOO_LARGE, or what the store returns. If the transaction fails, the caller puts the old
 * numbers back. */
int nb_serials_model(struct nb_serials *serials, const struct nb_view *view, uint32_t *number,
                     struct nb_error *error);

/* ---- ranges of rows -------------------------------------------------------------------------- */

/* The stored form of a range of rows: their ids and counts, and the mark, which is the number of
 * the last ledger entry that the counts include. Pure functions on bytes and a model; any thread,
 * under the rules of core/counts/model.h.
 *
 * Stored form: a varint with the mark, a varint with the number of rows, and for each row
 *
 *     8 bytes  its id, little-endian; NB_DROPPED_ID for a dropped row, which has no cells
 *     varint   four times a value, plus
 *              0: the value is the number of cells, which follow
 *              1: the feature was seen once, in one document of the label `value` (half of all)
 *              2: one cell of the label `value / 16`. `value % 16` gives its counts: 0 to 7 are two
 *                 to nine documents with one occurrence each; 8 to 11 one to four documents, with
 *                 one more occurrence than documents; 12 to 14 one to three documents, with two
 *                 more; 15: the counts follow, as those of a cell below
 *              3: two cells, of the labels 0 and 1, follow without their labels. The value is the
 *                 first number of the first cell
 *
 * and for each cell
 *
 *     varint   label
 *     varint   twice the documents, plus one if there are more occurrences than documents
 *     varint   how many more occurrences; only if there are more */

/* Rows per stored range. If most features were seen once or twice, a range takes 12,000 bytes,
 * nearly all of three pages of 4,096 bytes (with 1,024 rows a fifth of these was empty). */
enum { NB_RANGE_ROWS = 1280 };

/* The number of ranges for this many rows. */
static inline uint32_t nb_ranges_of(uint32_t rows)
{
    return rows / NB_RANGE_ROWS + (rows % NB_RANGE_ROWS != 0);
}

/* Appends the stored form of rows first .. first + count - 1 with `mark`. Returns 0 or
 * NB_NO_MEMORY.
 */
int nb_range_write(const struct nb_model *model, uint32_t first, uint32_t count, uint64_t mark,
                   struct nb_buffer *out);
/* Appends the rows of a stored range to the model (which must have `first` rows so far). Sets
 * *mark. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
int nb_range_read(struct nb_model *model, uint32_t first, struct nb_string stored, uint64_t *mark,
                  struct nb_error *error);

#endif
