/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct nb_store, for the files that implement core/lmdb/store.h.
 */
#ifndef NB_CORE_LMDB_STORE_PRIVATE_H
#define NB_CORE_LMDB_STORE_PRIVATE_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/lmdb/file.h"
#include "core/lmdb/gate.h"
#include "core/lmdb/store.h"
#include "core/pages/pages.h"

/* A transaction copies the pages it touches: the map has room for several times what it writes. */
#define NB_STORE_RESERVE_MOST ((uint64_t)64 << 20)

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
    bool leases_closed;                  /* none is given */
    atomic_uint_fast64_t lease_deadline; /* the earliest, nb_clock_monotonic; UINT64_MAX: none */

    /* The writer's. */
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

/* open.c */

/* Brings `committed`, `page_size`, `used` and `map` up to date, so that nobody else needs to ask
 * LMDB, which reads the map to answer. */
void nb_store_note_state(struct nb_store *store);
/* Puts the last successful commit in force on the disk if a later one may have got there. */
int nb_store_settle(struct nb_store *store, struct nb_error *error);
/* Closes the gate and waits until no snapshot is open; NB_IO if that takes too long. */
int nb_store_enter_alone(struct nb_store *store, struct nb_error *error);

/* failure.c */

void nb_store_set_failure(struct nb_store *store, const struct nb_error *failure);

/* tables.c */

/* Opens all tables in the write transaction `view` and checks the format; with `create`, makes
 * them and writes the format. NB_VERSION, NB_CORRUPT and others. */
int nb_store_open_tables(const struct nb_view *view, bool create, struct nb_error *error);

/* values.c */

/* Whether the checksum in `sealed`, a value as it is stored, is that of the table and the key. */
bool nb_store_is_sound(const void *store, unsigned table, struct nb_string key,
                       struct nb_string sealed);

/* keys.c */

/* The names, NB_TABLES of them. */
extern const char *const nb_store_table_names[NB_TABLES];

#endif
