/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct nb_store, for the files that implement core/store/lmdb/store.h.
 */
#ifndef NB_CORE_STORE_LMDB_STORE_PRIVATE_H
#define NB_CORE_STORE_LMDB_STORE_PRIVATE_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/store/journal/journal.h"
#include "core/store/lmdb/file.h"
#include "core/store/lmdb/store.h"
#include "core/store/pages/pages.h"

/* A gate that many threads pass at a time, and that one thread can close to be alone behind it.
 * Closing has priority: while the closing thread waits, no other thread passes, so that a stream of
 * threads cannot keep it waiting. Any thread. */
struct nb_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned inside;
    atomic_bool closed; /* written under `lock` */
};

void nb_gate_init(struct nb_gate *gate);
/* Nobody is inside. */
void nb_gate_deinit(struct nb_gate *gate);

/* Passes the gate; waits at most `seconds` for it to open. Returns false if it stays closed. */
bool nb_gate_pass(struct nb_gate *gate, unsigned seconds);
void nb_gate_leave(struct nb_gate *gate);

/* Closes the gate and waits at most `seconds` until nobody is inside. Returns false if somebody
 * stays inside: then the gate is open again. One thread at a time. */
bool nb_gate_close(struct nb_gate *gate, unsigned seconds);
void nb_gate_open(struct nb_gate *gate);

/* Whether someone waits for those inside to leave. */
static inline bool nb_gate_is_closed(const struct nb_gate *gate)
{
    return atomic_load_explicit(&gate->closed, memory_order_relaxed);
}

/* A transaction copies the pages it touches: the map has room for several times what it writes. */
#define NB_STORE_RESERVE_MOST ((uint64_t)64 << 20)

enum { NB_STORE_CHECKSUM_BYTES = 8 }; /* at the end of each value */

struct nb_store {
    struct nb_store_file file;
    uint64_t map_size;    /* as the caller wants it; 0: as much as there is */
    uint64_t reserve;     /* bytes of the map that are free when a transaction begins */
    MDB_env *environment; /* NULL while LMDB is closed after a failure; changes behind the gate */
    MDB_dbi tables[NB_TABLES];
    uint64_t seeds[NB_TABLES]; /* of the tables' checksums */
    bool reading;              /* opened for reading only */
    uint32_t damaged;          /* bit t: pages of table t are damaged; only when reading */
    char unknown_table[NB_PAGES_NAME_MOST]; /* that the file has; "": none */
    struct nb_gate gate; /* snapshots pass it; the writer closes it to move the map */

    pthread_mutex_t lease_lock;          /* held while a lease is read */
    struct nb_lease *leases;             /* under `lease_lock`; so is the next */
    bool leases_closed;                  /* none is given, ... */
    pthread_cond_t leases_opened;        /* ... until this */
    atomic_uint_fast64_t lease_deadline; /* the earliest, nb_clock_monotonic; UINT64_MAX: none */

    /* Changes that LMDB does not have yet. Readers begin, and take a reference, under
     * `recent_lock`. */
    pthread_mutex_t recent_lock;
    struct nb_recent *recent; /* changed by the writer, under `recent_lock`; so are the next two */
    uint64_t recent_last;     /* number of the last change that is durable */
    uint64_t recent_base;     /* LMDB's transaction that they come after */

    /* The writer's. */
    struct nb_journal journal;
    uint64_t journal_most;                 /* bytes; 0: it is not used */
    bool journal_avoid;                    /* it failed: the next transaction is one of LMDB's */
    bool is_full;                          /* the last commit of LMDB found the disk full */
    bool journal_foreign;                  /* the file is another store's */
    struct nb_journal_found journal_found; /* when the store was opened */
    bool journal_loaded;                   /* what the file has is known */
    MDB_txn *transaction;    /* the open one: of LMDB's snapshot if `recording`, else to write */
    bool recording;          /* the open transaction is to go into the journal */
    uint64_t recorded;       /* bytes that it has changed */
    struct nb_recent *spare; /* takes the place of `recent` when LMDB has all of that */
    uint64_t commits;        /* that were made durable */
    bool writing;            /* a write transaction is open */
    bool grow;               /* the last transaction met a full map */
    bool unsure;             /* a commit failed: the disk may have its meta page */
    uint32_t page_size;      /* bytes */
    uint64_t committed;      /* number of the last transaction known to be durable */
    struct nb_buffer sealed; /* a value with its checksum */

    pthread_mutex_t failure_lock;
    struct nb_error failure; /* code 0: none; under `failure_lock` */
    struct nb_error damage;  /* what was found damaged at the opening; code 0: nothing; likewise */

    atomic_uint_fast64_t used; /* bytes */
    atomic_uint_fast64_t map;
};

/* What a view sees. */
struct nb_seen {
    MDB_txn *transaction;
    struct nb_recent *recent; /* NULL: nothing beside LMDB */
    uint64_t last;            /* the newest change that it may see */
};

static inline struct nb_seen nb_store_seen(const struct nb_view *view)
{
    const struct nb_store *store = view->store;
    if (view->transaction != store)
        return (struct nb_seen){view->transaction, view->recent, view->last};
    /* The writer's own. */
    return (struct nb_seen){store->transaction, store->recording ? store->recent : NULL,
                            UINT64_MAX};
}

/* loading.c */

/* Gives the store an identity if it has none, in the transaction that opens the tables. */
int nb_recording_identify(const struct nb_view *view, struct nb_error *error);
/* Reads the journal after LMDB was opened: its changes are in force. */
int nb_recording_load(struct nb_store *store, struct nb_error *error);
/* Ends the use of the journal. Removes the file if `whole` is true: LMDB has everything. */
void nb_recording_unload(struct nb_store *store, bool whole);
/* recording.c */

/* Begins a transaction that goes to the journal. */
int nb_recording_begin(struct nb_store *store, struct nb_error *error);
/* Whether a transaction that changes about `expected` bytes goes to the journal. */
bool nb_recording_is_for(struct nb_store *store, uint64_t expected);
/* Adds a change to the transaction, or makes it one of LMDB's: *recorded tells which. */
int nb_recording_change(struct nb_store *store, const struct nb_recent_change *change,
                        bool *recorded, struct nb_error *error);
/* Makes the open transaction one of LMDB's, with all that the journal has. NB_STORE_MAP_FULL. */
int nb_recording_spill(struct nb_store *store, struct nb_error *error);
/* Makes what the transaction has changed durable in the journal; *durable. If it is not, but may go
 * into LMDB instead, returns 0. NB_IO: it is refused, and the disk may have it. */
int nb_recording_commit(struct nb_store *store, bool *durable, struct nb_error *error);
/* Drops the changes of the transaction. */
void nb_recording_take_back(struct nb_store *store);
/* Notes that LMDB has everything in its last transaction. */
void nb_recording_done(struct nb_store *store);

/* Waits until no snapshot is just beginning. The writer calls it before each commit of LMDB, which
 * has two meta pages, for even and for odd transactions. A reader takes the number of the last
 * transaction first, and then reads its page (mdb_txn_renew0 in LMDB 0.9.24). If it is delayed
 * between the two, the second commit after that rewrites the page: the reader sees a later state
 * than its number tells, and older changes of the journal would cover it. */
void nb_snapshots_pass(struct nb_store *store);

/* transaction.c */

/* Writes all changes of the journal to LMDB. */
int nb_store_flush(struct nb_store *store, struct nb_error *error);

/* lmdb_values.c */

/* A value as it is stored, with its checksum; borrowed until the next call. The writer. */
int nb_store_seal(struct nb_store *store, enum nb_table table, struct nb_string key,
                  struct nb_string value, struct nb_string *sealed, struct nb_error *error);

/* Whether the checksum in `sealed`, a value as it is stored, is that of the table and the key. */
bool nb_store_is_sound(const void *store, unsigned table, struct nb_string key,
                       struct nb_string sealed);

/* failure.c */

/* Brings `committed`, `page_size`, `used` and `map` up to date, so that nobody else needs to ask
 * LMDB, which reads the map to answer. */
void nb_store_note_state(struct nb_store *store);
/* Puts the last successful commit in force on the disk if a later one may have got there; in the
 * journal too. */
int nb_store_settle(struct nb_store *store, struct nb_error *error);
void nb_store_set_failure(struct nb_store *store, const struct nb_error *failure);

/* lease.c */

/* Closes the gate and waits until no snapshot is open; NB_IO if that takes too long. */
int nb_store_enter_alone(struct nb_store *store, struct nb_error *error);

/* The names, NB_TABLES of them. */
extern const char *const nb_store_table_names[NB_TABLES];

/* The LMDB environment and the size of its map. One thread at a time.
 *
 * The map is the address space that LMDB reads the file through. It costs nothing until it is read,
 * but it can only be made larger while nobody reads. So all the space that may ever be needed is
 * reserved at once, and growing is the exception. */

/* Sizes of the map are multiples of this. */
#define NB_MAP_UNIT ((uint64_t)1 << 20)

/* Fills `error` for a code of LMDB's (0 is none): its own negative ones, and errno values.
 * MDB_MAP_FULL becomes NB_STORE_MAP_FULL. Returns the code. */
int nb_environment_error(struct nb_error *error, int rc, const char *what);

/* Opens the environment of the open `file`. `map_size` in bytes; 0: up to 1 TiB, as much as the
 * process may have. `needed`: its minimum. `flags`: 0 or MDB_RDONLY. NB_IO, NB_CORRUPT and others;
 * on failure *environment is NULL. */
int nb_environment_open(const struct nb_store_file *file, uint64_t map_size, uint64_t needed,
                        unsigned flags, MDB_env **environment, struct nb_error *error);
void nb_environment_close(MDB_env **environment);

/* Whether the process may have `more` bytes of address space. */
int nb_environment_may_grow(uint64_t more, struct nb_error *error);

/* A walk through a table in the order of its keys: through LMDB's entries, and the changes that the
 * journal has in place of them. One thread at a time. */
struct nb_merged {
    struct nb_seen seen;
    enum nb_table table;
    MDB_cursor *cursor;
    int status; /* what LMDB said last: 0, MDB_NOTFOUND: at its end, or an error */
    MDB_val lmdb_key, lmdb_value;
    const struct nb_recent_change *change; /* NULL: at the end of the changes */
    /* Where the walk is. */
    struct nb_string key;
    struct nb_string sealed; /* the value as it is stored */
};

/* Begins; nb_merged_close ends it, also after a failure. Returns 0 or a code. */
int nb_merged_open(struct nb_merged *walk, const struct nb_view *view, enum nb_table table,
                   struct nb_error *error);
void nb_merged_close(struct nb_merged *walk);

/* Each goes to an entry and returns 0; MDB_NOTFOUND: there is none; or another code of LMDB's. */

/* The first one whose key is >= `from`, all if it is empty. */
int nb_merged_from(struct nb_merged *walk, struct nb_string from);
int nb_merged_next(struct nb_merged *walk);
/* The last one whose key is <= `most`; of all if it is empty. */
int nb_merged_floor(struct nb_merged *walk, struct nb_string most);

#endif
