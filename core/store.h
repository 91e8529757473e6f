/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store: tables of sorted keys in one LMDB environment, durable at every commit. The
 * only file that includes lmdb.h is store.c.
 *
 * Threads: one writer thread calls nb_store_begin .. nb_store_commit; any thread may hold
 * snapshots. The map grows by itself; growing waits until no snapshot is open, so snapshots are
 * kept short.
 *
 * Every value carries a checksum (XXH3, 64 bits) that is verified when it is read.
 */
#ifndef NB_CORE_STORE_H
#define NB_CORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Raised whenever stored bytes change their meaning. */
enum { NB_STORE_FORMAT = 1 };

/* Keys begin with the model's number (4 bytes, big-endian), except in META, MODELS and LEDGER. */
enum nb_table {
    NB_TABLE_META,      /* "format", "key", "fields", "greatest_model" */
    NB_TABLE_MODELS,    /* name -> number, settings, own key (core/store/record.h) */
    NB_TABLE_STATE,     /* model -> what the last commit left (core/store/record.h) */
    NB_TABLE_LABELS,    /* model, label number -> name, documents, tokens */
    NB_TABLE_LEDGER,    /* entry number, piece -> a piece of the entry (core/store/ledger.h) */
    NB_TABLE_ENTRIES,   /* model, entry number -> whether its document is living */
    NB_TABLE_DOCUMENTS, /* model, document id -> number of its living entry */
    NB_TABLE_ROWS,      /* model, range -> rows (core/store/range.h) */
    NB_TABLE_WORDS,     /* model, first row of a run -> number of the entry that has the texts */
    NB_TABLE_WEIGHTS,   /* model, range -> weights of the stack */
    NB_TABLE_SCORES,    /* model, number of the first learning -> score before learning */
    NB_TABLE_GARBAGE,   /* model, number of the replacing entry -> the replaced entry */
    NB_TABLE_ORPHANS,   /* model -> (nothing): data of deleted models and unfinished imports */
    NB_TABLES
};

/* A returned code besides those of enum nb_code: the map is full; abort, call nb_store_begin again
 * (it grows the map) and repeat the whole transaction. */
enum { NB_STORE_MAP_FULL = -100 };

struct nb_store;

/* A consistent state of all tables: a snapshot, or the writer's open transaction. */
struct nb_view {
    void *transaction;
    struct nb_store *store;
};

/* Opens or makes the store in `directory` (made if missing, mode 0700). `map_size` in bytes.
 * NB_LOCKED: another process has it; NB_VERSION: a newer format; NB_CORRUPT; NB_IO. */
int nb_store_open(const char *directory, uint64_t map_size, struct nb_store **store,
                  struct nb_error *error);
void nb_store_close(struct nb_store **store);

/* Begins the one write transaction; `expected` is about how many bytes it will write: the map is
 * grown first if they might not fit. */
int nb_store_begin(struct nb_store *store, uint64_t expected, struct nb_view *view,
                   struct nb_error *error);
/* Makes everything since nb_store_begin durable (fsync), or nothing of it. The view is ended. */
int nb_store_commit(struct nb_view *view, struct nb_error *error);
void nb_store_abort(struct nb_view *view);

int nb_store_snapshot(struct nb_store *store, struct nb_view *view, struct nb_error *error);
void nb_store_snapshot_end(struct nb_view *view);

/* The value is borrowed until the view ends or writes. NB_NOT_FOUND leaves `error` alone. */
int nb_store_get(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string *value, struct nb_error *error);
int nb_store_put(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string value, struct nb_error *error);
/* Deleting what is not there is no error. */
int nb_store_delete(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_error *error);

/* Calls `visit` for each key >= `from` that begins with the first `prefix` bytes of `from`, in
 * order, until it returns non-zero; returns that, or 0 at the end, or a code. `visit` must not
 * write. */
typedef int nb_store_visit(void *user, struct nb_string key, struct nb_string value,
                           struct nb_error *error);
int nb_store_scan(const struct nb_view *view, enum nb_table table, struct nb_string from,
                  size_t prefix, nb_store_visit *visit, void *user, struct nb_error *error);
/* The greatest key <= `from` that shares its first `prefix` bytes. NB_NOT_FOUND. */
int nb_store_floor(const struct nb_view *view, enum nb_table table, struct nb_string from,
                   size_t prefix, struct nb_string *key, struct nb_string *value,
                   struct nb_error *error);
/* Deletes up to `most` entries whose key begins with `prefix`; sets *deleted. */
int nb_store_clear(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                   size_t most, size_t *deleted, struct nb_error *error);

/* Bytes of the data file in use, and of the map. */
void nb_store_sizes(struct nb_store *store, uint64_t *used, uint64_t *map);

/* ---- keys ------------------------------------------------------------------------------------ */

enum { NB_STORE_KEY_MOST = 300 };
struct nb_store_key {
    unsigned char bytes[NB_STORE_KEY_MOST];
    size_t length;
};
/* Big-endian numbers, so that keys sort as numbers do. */
struct nb_store_key nb_store_key_model(uint32_t model);
struct nb_store_key nb_store_key_number(uint32_t model, uint32_t number);
struct nb_store_key nb_store_key_sequence(uint32_t model, uint64_t sequence);
struct nb_store_key nb_store_key_id(uint32_t model, struct nb_string id);
static inline struct nb_string nb_store_key_string(const struct nb_store_key *key)
{
    return (struct nb_string){(const char *)key->bytes, key->length};
}
/* The model's number at the beginning of a key; 0 if it is shorter. */
uint32_t nb_store_key_head(struct nb_string key);
/* The number after the model's in a key of the second or third kind; 0 if it has none. */
uint64_t nb_store_key_tail(struct nb_string key);

/* A key of LEDGER, and its parts. */
struct nb_store_key nb_store_key_entry(uint64_t number, uint16_t piece);
static inline struct nb_string nb_store_key_number_part(const struct nb_store_key *key)
{
    return (struct nb_string){(const char *)key->bytes, sizeof(uint64_t)};
}
uint64_t nb_store_key_entry_number(struct nb_string key);
uint16_t nb_store_key_entry_piece(struct nb_string key);

#endif
