/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_STORE_LMDB_RECORDING_H
#define NB_CORE_STORE_LMDB_RECORDING_H

#include <lmdb.h>

#include "core/store/lmdb/store_private.h"

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
