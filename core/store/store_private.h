/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct nb_store, for the files that implement core/store/store.h.
 */
#ifndef NB_CORE_STORE_STORE_PRIVATE_H
#define NB_CORE_STORE_STORE_PRIVATE_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/store/file.h"
#include "core/store/journal.h"
#include "core/store/pages.h"
#include "core/store/store.h"

/* A gate that many threads can pass at the same time, and that one thread can close to be alone.
 * Closing has priority: while the closing thread waits, no other thread passes, so that a stream of
 * threads cannot keep it waiting. Any thread. */
struct nb_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned inside;
    atomic_bool closed; /* written under `lock` */
};

void nb_gate_init(struct nb_gate *gate);
/* No thread may be inside. */
void nb_gate_deinit(struct nb_gate *gate);

/* Passes the gate; waits at most `seconds` for it to open. Returns false if it stays closed. */
bool nb_gate_pass(struct nb_gate *gate, unsigned seconds);
void nb_gate_leave(struct nb_gate *gate);

/* Closes the gate and waits at most `seconds` until no thread is inside. Returns false if one stays
 * inside: then the gate is open again. One thread at a time. */
bool nb_gate_close(struct nb_gate *gate, unsigned seconds);
void nb_gate_open(struct nb_gate *gate);

/* Whether the gate is closed, so that the threads inside should leave. */
static inline bool nb_gate_is_closed(const struct nb_gate *gate)
{
    return atomic_load_explicit(&gate->closed, memory_order_relaxed);
}

/* Most bytes of the map that are kept free for a transaction, which copies every page it changes.
 */
#define NB_STORE_RESERVE_MOST ((uint64_t)64 << 20)

enum { NB_STORE_CHECKSUM_BYTES = 8 }; /* at the end of each value */

struct nb_store {
    struct nb_store_file file;
    uint64_t map_size; /* bytes, as the caller requested; 0: as many as possible */
    uint64_t reserve;  /* bytes of the map that are free when a transaction begins */
    MDB_env
        *environment; /* NULL while LMDB is closed after a failure; changed with `gate` closed */
    MDB_dbi tables[NB_TABLES];
    uint64_t seeds[NB_TABLES]; /* seeds of the checksums, one for each table */
    bool reading;              /* opened for reading only */
    uint32_t damaged;          /* bit t: pages of table t are damaged; only when reading */
    unsigned format;           /* as the file has it; 0: not read yet */
    char unknown_table[NB_PAGES_NAME_MOST]; /* name of an unknown table in the file; "": none */
    struct nb_gate gate; /* snapshots pass it; the writer closes it to move the map */

    pthread_mutex_t lease_lock;          /* held while a lease is read */
    struct nb_lease *leases;             /* guarded by `lease_lock`, like the next member */
    bool leases_closed;                  /* new leases wait, ... */
    pthread_cond_t leases_opened;        /* ... until this is signalled */
    atomic_uint_fast64_t lease_deadline; /* the earliest, nb_clock_monotonic; UINT64_MAX: none */

    /* Changes that LMDB does not have yet. A reader begins, and takes its reference, with
     * `recent_lock` held. */
    pthread_mutex_t recent_lock;
    struct nb_recent *recent; /* set by the writer with `recent_lock` held; so are the next two */
    uint64_t recent_last;     /* number of the last durable change */
    uint64_t recent_base;     /* number of LMDB's transaction before the changes */

    /* For the writer only: */
    struct nb_journal journal;
    uint64_t journal_most;                 /* limit in bytes; 0: the journal is not used */
    bool journal_avoid;                    /* it failed, so the next transaction goes to LMDB */
    bool is_full;                          /* the disk was full at LMDB's last commit */
    bool journal_foreign;                  /* the file belongs to another store */
    struct nb_journal_found journal_found; /* what was found when the store was opened */
    bool journal_loaded;                   /* the file was read, or there was none */
    MDB_txn *transaction;    /* the open one: read-only if `recording`, else a write transaction */
    bool recording;          /* the open transaction goes to the journal */
    uint64_t recorded;       /* bytes that the open transaction has changed */
    struct nb_recent *spare; /* replaces `recent` when LMDB has all of its changes */
    uint64_t commits;        /* number of durable commits since the store was opened */
    bool writing;            /* a write transaction is open */
    bool grow;               /* the map was too small for the last transaction */
    bool unsure;             /* a commit failed, but the disk may have its meta page */
    uint32_t page_size;      /* bytes */
    uint64_t committed;      /* number of LMDB's last transaction that is known to be durable */
    struct nb_buffer sealed; /* a value with its checksum */

    pthread_mutex_t failure_lock;
    struct nb_error failure; /* why the store failed; code 0: it has not; under `failure_lock` */
    struct nb_error damage;  /* damage found at the opening; code 0: none; under `failure_lock` */

    atomic_uint_fast64_t used; /* bytes of the data file in use */
    atomic_uint_fast64_t map;  /* bytes of the map */
};

/* The data that a view sees. */
struct nb_seen {
    MDB_txn *transaction;
    struct nb_recent *recent; /* NULL: no changes besides LMDB's data */
    uint64_t last;            /* number of the newest change that the view may see */
};

static inline struct nb_seen nb_store_seen(const struct nb_view *view)
{
    const struct nb_store *store = view->store;
    if (view->transaction != store)
        return (struct nb_seen){view->transaction, view->recent, view->last};
    /* The view of the writer's open transaction. */
    return (struct nb_seen){store->transaction, store->recording ? store->recent : NULL,
                            UINT64_MAX};
}

/* open.c */

/* Gives the store an identity if it has none, in the transaction that opens the tables. */
int nb_recording_identify(const struct nb_view *view, struct nb_error *error);
/* Reads the journal after LMDB was opened, so that readers see its changes. */
int nb_recording_load(struct nb_store *store, struct nb_error *error);
/* Ends the use of the journal. Removes the file if `whole`: LMDB then has all changes. */
void nb_recording_unload(struct nb_store *store, bool whole);

/* recording.c */

/* Updates `committed`, `page_size`, `used` and `map`, so that no other thread needs to ask LMDB,
 * which would read the map. */
void nb_store_note_state(struct nb_store *store);
/* If a refused commit may have reached the disk, in LMDB or in the journal, makes the last
 * successful one the newest there. */
int nb_store_settle(struct nb_store *store, struct nb_error *error);
void nb_store_set_failure(struct nb_store *store, const struct nb_error *failure);

/* Begins a transaction that goes to the journal. */
int nb_recording_begin(struct nb_store *store, struct nb_error *error);
/* Whether a transaction that changes about `expected` bytes goes to the journal. */
bool nb_recording_is_for(struct nb_store *store, uint64_t expected);
/* Adds a change to the open transaction and sets *recorded. If the transaction has become too large
 * for the journal, turns it into one of LMDB's instead, and the caller writes the change there. */
int nb_recording_change(struct nb_store *store, const struct nb_recent_change *change,
                        bool *recorded, struct nb_error *error);
/* Turns the open transaction into one of LMDB's, which also has all changes in the journal.
 * NB_STORE_MAP_FULL. */
int nb_recording_spill(struct nb_store *store, struct nb_error *error);
/* Makes the changes of the transaction durable in the journal, and sets *durable. Returns 0 with
 * *durable false if that failed but the changes may go to LMDB instead. NB_IO: the transaction is
 * refused, but the disk may have it. */
int nb_recording_commit(struct nb_store *store, bool *durable, struct nb_error *error);
/* Drops the changes of the transaction. */
void nb_recording_take_back(struct nb_store *store);
/* Notes that LMDB's last transaction has all changes. */
void nb_recording_done(struct nb_store *store);

/* Waits until no snapshot is just beginning. The writer calls it before each commit of LMDB, which
 * has two meta pages, for even and for odd transactions. A reader takes the number of the last
 * transaction first, and then reads its meta page (mdb_txn_renew0 in LMDB 0.9.24). If the reader is
 * delayed between these two steps, the second commit from then on rewrites the page: the reader
 * sees a later state than its number says, and older changes in the journal would hide it. */
void nb_snapshots_pass(struct nb_store *store);

/* transaction.c */

/* Writes all changes of the journal to LMDB. */
int nb_store_flush(struct nb_store *store, struct nb_error *error);

/* lmdb_values.c */

/* Writer. Sets *sealed to the stored form of a value, which has a checksum at its end; borrowed
 * until the next call. */
int nb_store_seal(struct nb_store *store, enum nb_table table, struct nb_string key,
                  struct nb_string value, struct nb_string *sealed, struct nb_error *error);

/* Whether the checksum in `sealed`, the stored form of a value, is right for the table, the key and
 * the value. */
bool nb_store_is_sound(const void *store, unsigned table, struct nb_string key,
                       struct nb_string sealed);

/* transaction.c: snapshots */

/* Closes the gate and waits until no snapshot is open; NB_IO if that takes too long. */
int nb_store_enter_alone(struct nb_store *store, struct nb_error *error);

/* The names of the tables, by number. */
extern const char *const nb_store_table_names[NB_TABLES];

/* The LMDB environment and the size of its map. One thread at a time.
 *
 * The map is the address space through which LMDB reads the file. It costs nothing until it is
 * read, but it can be enlarged only while no thread reads. So all the space that may ever be needed
 * is reserved at once, and the map rarely has to grow. */

/* Sizes of the map are multiples of this. */
#define NB_MAP_UNIT ((uint64_t)1 << 20)

/* Fills `error` for a code of LMDB (0: no error; LMDB's own negative codes and errno values).
 * MDB_MAP_FULL becomes NB_STORE_MAP_FULL. Returns the code that `error` got, or 0. */
int nb_environment_error(struct nb_error *error, int rc, const char *what);

/* Opens the environment of the open `file`. `map_size` in bytes; 0: up to 1 TiB, as much as the
 * process may have. `needed`: the least size. `flags`: 0 or MDB_RDONLY. NB_IO, NB_CORRUPT and
 * others; on failure *environment is NULL. */
int nb_environment_open(const struct nb_store_file *file, uint64_t map_size, uint64_t needed,
                        unsigned flags, MDB_env **environment, struct nb_error *error);
void nb_environment_close(MDB_env **environment);

/* A walk through a table in the order of its keys. It merges LMDB's entries with the changes in the
 * journal, which replace them. One thread at a time. */
struct nb_merged {
    struct nb_seen seen;
    enum nb_table table;
    MDB_cursor *cursor;
    int status; /* LMDB's last code: 0; MDB_NOTFOUND: no entry is left; or an error */
    MDB_val lmdb_key, lmdb_value;
    const struct nb_recent_change *change; /* NULL: no change is left */
    /* The present entry of the walk: */
    struct nb_string key;
    struct nb_string sealed; /* the value in its stored form */
};

/* Begins a walk; nb_merged_close ends it, also after a failure. Returns 0 or a code. */
int nb_merged_open(struct nb_merged *walk, const struct nb_view *view, enum nb_table table,
                   struct nb_error *error);
void nb_merged_close(struct nb_merged *walk);

/* Each function moves the walk to an entry. Returns 0, MDB_NOTFOUND (there is none) or another code
 * of LMDB. */

/* Moves to the first entry whose key is >= `from`; to the first of all if `from` is empty. */
int nb_merged_from(struct nb_merged *walk, struct nb_string from);
int nb_merged_next(struct nb_merged *walk);
/* Moves to the last entry whose key is <= `most`; to the last of all if `most` is empty. */
int nb_merged_floor(struct nb_merged *walk, struct nb_string most);

#endif
