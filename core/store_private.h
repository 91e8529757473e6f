/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct nb_store, for store.c and store_values.c alone.
 */
#ifndef NB_CORE_STORE_PRIVATE_H
#define NB_CORE_STORE_PRIVATE_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/store.h"
#include "core/store_file.h"

struct nb_store {
    struct nb_store_file file;
    uint64_t map_size;    /* as the caller wants it; 0: as much as there is */
    MDB_env *environment; /* NULL while LMDB is closed after a failure */
    MDB_dbi tables[NB_TABLES];
    uint64_t seeds[NB_TABLES]; /* of the tables' checksums */

    /* The writer's. */
    bool writing;            /* a write transaction is open */
    bool grow;               /* the last transaction met a full map */
    bool unsure;             /* a commit failed: the disk may have its meta page */
    uint32_t page_size;      /* bytes */
    uint64_t committed;      /* number of the last transaction known to be durable */
    struct nb_buffer sealed; /* a value with its checksum */

    /* The gate: readers pass it one by one, the writer closes it to move the map. */
    pthread_mutex_t gate;
    pthread_cond_t passed;
    unsigned snapshots;      /* open ones; under `gate` */
    struct nb_error failure; /* code 0: none; under `gate` */
    atomic_bool wanted;      /* the gate is closed; written under `gate` */

    atomic_uint_fast64_t used; /* bytes */
    atomic_uint_fast64_t map;
};

#endif
