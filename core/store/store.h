/* SPDX-License-Identifier: Apache-2.0
 *
 * The embedded store: tables of sorted keys in one LMDB environment, durable at every commit.
 *
 * Threads. One thread at a time is the writer: it alone calls nb_store_begin, nb_store_put,
 * nb_store_append, nb_store_delete, nb_store_clear, nb_store_commit, nb_store_abort and
 * nb_store_reopen. Any thread may hold snapshots, read through them, and call nb_store_failed and
 * nb_store_sizes. nb_store_open and nb_store_close: while no other thread uses the store.
 *
 * Checksums. Every value carries one (XXH3, 64 bits) over its table, its key and itself. It is
 * verified whenever a value is handed out: damage is NB_CORRUPT, never other data. The pages in
 * which LMDB keeps keys and values are checked by nb_store_open (core/store/pages.h), which
 * also puts keys in order if one of them is damaged (core/store/page.h).
 *
 * The map. LMDB reads the file through a map of fixed size. nb_store_open reserves as much address
 * space as may ever be needed, so the map rarely has to grow. When it has to, nb_store_begin waits
 * until no snapshot is open; new snapshots wait meanwhile. A thread that holds a snapshot for
 * longer than some milliseconds polls nb_store_wanted, and ends the snapshot when that is true.
 *
 * The journal. LMDB writes whole pages: a small transaction writes ten times what it changes. So
 * the store appends a small transaction to the file `journal` instead, and keeps its changes in
 * memory (core/store), where every reader looks first. LMDB gets all these changes at once:
 * with the next large transaction, when the journal is full, or at nb_store_close. A store that was
 * not closed loses nothing: the next start reads its changes from the journal. Callers see none of
 * this except in the files: data.mdb alone is complete only after nb_store_close, which removes the
 * journal.
 *
 * The failed state. When a commit fails for another reason than a full disk, or the map is lost
 * while it grows, the store has failed: nb_store_begin returns NB_IO with the reason, and snapshots
 * are given as long as LMDB can still read. A refused transaction has no effect, now or later. The
 * writer leaves the state with nb_store_reopen, which it may call repeatedly (with growing pauses)
 * until it returns 0. After that the store is as the last successful commit left it. Before that
 * the writer must have no transaction open, and must undo in its memory what the failed commit
 * contained. One exception: if the process is killed in the failed state before it could write to
 * the disk again, the next start may find the refused transaction. The error of nb_store_commit
 * warns of this.
 */
#ifndef NB_CORE_STORE_STORE_H
#define NB_CORE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Raised whenever stored bytes change their meaning. */
enum { NB_STORE_FORMAT = 10 };
/* The oldest format that is read. The formats from it on differ in what the models' counts were
 * computed from the ledger's entries, which models tell by themselves (NB_DERIVED_VERSION of
 * core/ledger/record.h). */
enum { NB_STORE_OLDEST_FORMAT = 8 };

/* Keys begin with the model's number (4 bytes, big-endian), except in META, MODELS and LEDGER. */
enum nb_table {
    /* "format", "key", "fields", "greatest_model"; "named/..." (core/networks/network/named.h);
     * the keys of nodes are in core/model/stream_states.c */
    NB_TABLE_META,
    NB_TABLE_MODELS,     /* name -> number, settings, own key (core/ledger/record.h) */
    NB_TABLE_STATE,      /* model -> state after its last commit (core/ledger/record.h) */
    NB_TABLE_LABELS,     /* model, label number -> name, documents, tokens */
    NB_TABLE_LEDGER,     /* entry number, piece -> a piece of the entry (core/ledger/ledger.h)
                          */
    NB_TABLE_ENTRIES,    /* model, entry number -> whether its document is current */
    NB_TABLE_DOCUMENTS,  /* model, document id -> number of its current entry */
    NB_TABLE_ROWS,       /* model, range -> rows (core/ledger/record.h) */
    NB_TABLE_WORDS,      /* model, first row of a run -> number of the entry with the run's texts */
    NB_TABLE_WEIGHTS,    /* model, range -> weights of the stack */
    NB_TABLE_SCORES,     /* model, number of the first learning -> score before learning */
    NB_TABLE_GARBAGE,    /* model, number of the replacing entry -> the replaced entry */
    NB_TABLE_KEPT,       /* like GARBAGE, for entries kept for an undo; and the time of replacing */
    NB_TABLE_ORPHANS,    /* model -> (nothing): data of deleted models and unfinished imports */
    NB_TABLE_QUARANTINE, /* model, document id -> a change that waits
                            (core/ledger/quarantine_entries.h) */
    NB_TABLE_WAITING,    /* model -> number and bytes of the changes in QUARANTINE */
    /* model, range -> slots of the twin; model, 65,536 + number -> slots that a commit changed
     * (core/model/checkpoint.h). */
    NB_TABLE_TWIN,
    NB_TABLE_HISTORY,     /* model, number -> a remembered verdict
                             (core/writer/remember.h) */
    NB_TABLE_HISTORY_IDS, /* model, document id -> number of its verdict */
    NB_TABLES
};

/* A code that functions of the store return besides those of enum nb_code: the map is full. The
 * writer aborts, calls nb_store_begin again (which grows the map) and repeats the whole
 * transaction. */
enum { NB_STORE_MAP_FULL = -100 };

/* A key and its value share a page with others if together they have at most this many bytes.
 * Otherwise the value takes whole pages of its own (4 KiB each). */
enum { NB_STORE_INLINE_MOST = 2020 };

/* The default limit of the journal in bytes; when it is reached, LMDB gets the changes. */
enum { NB_STORE_JOURNAL_BYTES = 1 << 20 };

struct nb_store;
struct nb_recent;

/* A consistent state of all tables: a snapshot, or the writer's open transaction. */
struct nb_view {
    void *transaction; /* NULL: ended */
    struct nb_store *store;
    struct nb_recent *recent; /* for a snapshot: changes in the journal, visible up to `last` */
    uint64_t last;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Opens or makes the store in `directory` (made if missing, mode 0700). `map_size`: bytes of
 * address space to begin with; 0 (usual) reserves up to 1 TiB, as much as the process may have.
 * `map_size` bytes, but at most 64 MiB, are kept free for the next transaction.
 * On success the caller owns *store, else *store is unchanged.
 * NB_LOCKED: another process has it. NB_VERSION: a newer or an older format. NB_CORRUPT: pages of
 * the file are damaged; the text says where and what to do. NB_IO and others: the system refused.
 */
int nb_store_open(const char *directory, uint64_t map_size, struct nb_store **store,
                  struct nb_error *error);

/* Opens a store with possibly damaged pages for reading only, so that its sound data can be saved.
 * On success the caller owns *store, and bit t of *damaged says that table t cannot be read:
 * functions on that table return NB_CORRUPT. Fails as nb_store_open does if the list of tables
 * cannot be read, or if the format is another one. If the format number cannot be read, assumes the
 * present format. Only snapshots are possible. */
int nb_store_open_reading(const char *directory, struct nb_store **store, uint32_t *damaged,
                          struct nb_error *error);

/* The format in which the store is, NB_STORE_OLDEST_FORMAT to NB_STORE_FORMAT. */
unsigned nb_store_format(const struct nb_store *store);

/* Writer. Notes in the open transaction that the store is of the present format, so that older
 * daemons refuse it from now on. Returns 0 or a code. */
int nb_store_raise_format(const struct nb_view *view, struct nb_error *error);

/* Whether the store found a journal when it was opened, because it had not been closed. The text of
 * `what` tells how much of the journal was read. *is_cut: changes at its end may be missing. */
bool nb_store_met_journal(const struct nb_store *store, struct nb_error *what, bool *is_cut);

/* Sets how many bytes the journal may have; 0: every transaction goes to LMDB at once. Called by
 * the writer, or before there is one. */
void nb_store_limit_journal(struct nb_store *store, uint64_t bytes);

/* Closes the store and sets *store to NULL. No transaction or snapshot may be open. Writes the
 * changes in the journal to data.mdb; if that fails, they stay in the journal. */
void nb_store_close(struct nb_store **store);

/* Whether the store is in the failed state; fills `error` (may be NULL) with the reason. */
bool nb_store_failed(struct nb_store *store, struct nb_error *error);

/* Writer. Leaves the failed state: makes sure that the disk has the last successful commit as the
 * newest state, waits for open snapshots (some seconds at most), closes LMDB and opens it again.
 * Returns 0 if the store works (also if it had not failed). Otherwise the store is still in the
 * failed state, and `error` says why: NB_IO, NB_DISK_FULL, NB_NO_MEMORY, or NB_CORRUPT if the disk
 * does not have what was committed. */
int nb_store_reopen(struct nb_store *store, struct nb_error *error);

/* Whether damaged entries were found when the store was opened. Fills `what` with a sentence: the
 * place of the first one, their number, and how many of their keys were replaced. Values in pages
 * of their own are not checked. Any thread. */
bool nb_store_met_damage(struct nb_store *store, struct nb_error *what);

/* Bytes of the data file in use, and of the map. Any thread, in any state. */
void nb_store_sizes(struct nb_store *store, uint64_t *used, uint64_t *map);

/* Unmaps the pages of the file that the process has read, if 32 MiB of files or more are mapped
 * into its memory; else does nothing. The pages stay in the kernel's cache, where the process finds
 * them again (a microsecond for 16 neighbours). While they are mapped they count as memory of the
 * process, and the kernel is slower to reuse them. Borrowed values stay valid. Has no effect
 * without /proc. Called by the writer, or before there is one. */
void nb_store_unmap_pages(struct nb_store *store);

/* The size of the file system of the data directory, and the bytes that may still be written there;
 * 0 and 0 if the system does not say. Any thread, in any state. */
void nb_store_room(const struct nb_store *store, uint64_t *size, uint64_t *left);

/* Sets *bytes to the free bytes of the data file, which later transactions will use again. Reads
 * the list of free pages, some microseconds for each transaction in it. Returns 0 or a code. */
int nb_store_free_bytes(const struct nb_view *view, uint64_t *bytes, struct nb_error *error);

/* ---- transactions ---------------------------------------------------------------------------- */

/* Writer. Begins the one write transaction. `expected` is about the number of bytes that it will
 * write: if they might not fit, the map is grown first. NB_IO: the store has failed, the map could
 * not grow, or data.mdb was deleted or replaced. */
int nb_store_begin(struct nb_store *store, uint64_t expected, struct nb_view *view,
                   struct nb_error *error);
/* Writer. Makes everything since nb_store_begin durable (fsync), in the journal or in LMDB, or
 * nothing of it. Ends the view. After an error, ask nb_store_failed. */
int nb_store_commit(struct nb_view *view, struct nb_error *error);
/* Writer. Returns how many transactions became durable since the store was opened. A commit without
 * changes succeeds and is not counted: it proves nothing about the disk. */
uint64_t nb_store_committed(const struct nb_store *store);
/* Writer. Drops everything since nb_store_begin and ends the view. Does nothing to an ended view.
 */
void nb_store_abort(struct nb_view *view);

/* Begins a snapshot of the last commit; the caller ends it. NB_IO: the store has failed and cannot
 * be read, or its map has been growing for more than some seconds. */
int nb_store_snapshot(struct nb_store *store, struct nb_view *view, struct nb_error *error);
/* Ends a snapshot. Does nothing to an ended view. */
void nb_store_snapshot_end(struct nb_view *view);

/* Whether the writer waits for snapshots to end. Cheap enough for loops over many values. */
bool nb_store_wanted(const struct nb_view *view);

/* ---- values ---------------------------------------------------------------------------------- */

/* Sets *value to the value of a key, borrowed until the view ends or writes. NB_NOT_FOUND does not
 * fill `error`. NB_CORRUPT: the checksum of the value is wrong. */
int nb_store_get(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string *value, struct nb_error *error);
int nb_store_put(const struct nb_view *view, enum nb_table table, struct nb_string key,
                 struct nb_string value, struct nb_error *error);
/* As nb_store_put, for a key that is greater than every key of the table: leaves pages full instead
 * of half full. NB_EXISTS: the key is not greater. */
int nb_store_append(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_string value, struct nb_error *error);
/* Deletes a key. A missing key is no error. */
int nb_store_delete(const struct nb_view *view, enum nb_table table, struct nb_string key,
                    struct nb_error *error);

/* Calls `visit` for each key >= `from` that begins with the first `prefix` bytes of `from`, in
 * order, until it returns non-zero; returns that, or 0 at the end, or a code. `visit` must not
 * write. */
typedef int nb_store_visit(void *user, struct nb_string key, struct nb_string value,
                           struct nb_error *error);
int nb_store_scan(const struct nb_view *view, enum nb_table table, struct nb_string from,
                  size_t prefix, nb_store_visit *visit, void *user, struct nb_error *error);
/* Finds the greatest key <= `from` that begins with the first `prefix` bytes of `from`.
 * NB_NOT_FOUND: there is none. */
int nb_store_floor(const struct nb_view *view, enum nb_table table, struct nb_string from,
                   size_t prefix, struct nb_string *key, struct nb_string *value,
                   struct nb_error *error);
/* Deletes up to `most` entries whose key begins with `prefix`; sets *deleted. */
int nb_store_clear(const struct nb_view *view, enum nb_table table, struct nb_string prefix,
                   size_t most, size_t *deleted, struct nb_error *error);

/* Calls `inspect` for every entry of the table, in order, including damaged ones: `sound` says
 * whether the checksum is right; if not, `key` and `value` cannot be trusted. Returns as
 * nb_store_scan. For checks of the whole store: at the start, and by --verify. */
typedef int nb_store_inspector(void *user, enum nb_table table, struct nb_string key,
                               struct nb_string value, bool sound, struct nb_error *error);
int nb_store_inspect(const struct nb_view *view, enum nb_table table, nb_store_inspector *inspect,
                     void *user, struct nb_error *error);

/* The table's name in messages. */
const char *nb_store_table_name(enum nb_table table);

/* ---- keys ------------------------------------------------------------------------------------ */

enum { NB_STORE_KEY_MOST = 300 };
struct nb_store_key {
    unsigned char bytes[NB_STORE_KEY_MOST];
    size_t length;
};
/* Make keys of the forms (model), (model, number), (model, sequence) and (model, id). Numbers are
 * big-endian, so that keys sort as numbers do. */
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
/* The number after the model's in a key of the second or third form; 0 if it has none. */
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
