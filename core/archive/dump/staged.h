/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of an import that all nodes make. They come one by one through the stream
 * (core/model/live/relayed.h), between changes of others, and wait in the store for the last one.
 * So a node that restarts continues with the next piece, and a backup contains them. Each piece
 * also has a place in the stream, and the numbers of that place (core/ledger/entries/serials.h) go
 * to the import's entries. So the entries have the same numbers on all nodes, however often a node
 * had to begin again.
 *
 * All nodes give up an import that got no piece for an hour, at the same place in its stream: where
 * the next import begins. The times are those of the nodes that got the requests.
 *
 * Stored form, in META: under "staged/ID", ID of NB_STAGED_ID digits, the number of pieces (a
 * varint), the time of the last one (8 bytes) and the number of their stream (a byte); under
 * "staged/ID/" and a piece's number (4 bytes, big-endian, from 0 on) the number before that of its
 * first entry (8 bytes), then its bytes.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_STAGED_H
#define NB_CORE_ARCHIVE_DUMP_STAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "core/store/lmdb/store.h"

struct nb_engine;
struct nb_relayed_change;

enum {
    NB_STAGED_ID = 16,           /* hexadecimal digits */
    NB_STAGED_BYTES = 128 << 10, /* of a piece */
    NB_STAGED_ENTRIES = 65535,   /* numbers of a piece */
};

/* Makes a new id, with a NUL. */
void nb_staged_new_id(char id[NB_STAGED_ID + 1]);
bool nb_staged_is_id(struct nb_string id);

/* ---- on the thread that applies -------------------------------------------------------------- */

/* Stores a piece (NB_RELAYED_CHANGE_STAGE). NB_CONFLICT: the piece is not the next one of its
 * import, which was given up. Else returns as nb_transaction. */
int nb_staged_add(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                  struct nb_error *error);
/* Gives up the import, if there is one (NB_RELAYED_CHANGE_UNSTAGE). Returns as nb_transaction. */
int nb_staged_drop(struct nb_engine *engine, struct nb_string id, struct nb_error *error);

/* The numbers of the entries of an import, in order. */
struct nb_staged_numbers {
    uint64_t *places; /* owned: of each piece the number before its first entry's */
    size_t count;     /* of pieces */
    size_t piece;     /* of the next number ... */
    uint64_t used;    /* ... and how many of that piece are used */
};
/* Reads the numbers. NB_CONFLICT: there are not `count` pieces. On success the caller frees
 * `places`. */
int nb_staged_numbers(struct nb_engine *engine, struct nb_string id, uint64_t count,
                      struct nb_staged_numbers *numbers, struct nb_error *error);
/* Sets *number to the next number. NB_TOO_LARGE: none is left. */
int nb_staged_next(struct nb_staged_numbers *numbers, uint64_t *number, struct nb_error *error);

/* Sets `bytes` to a piece. Returns 0, NB_NOT_FOUND, NB_NO_MEMORY or a code of the store. */
int nb_staged_read(struct nb_engine *engine, struct nb_string id, size_t piece,
                   struct nb_buffer *bytes, struct nb_error *error);

/* Calls `visit` with all keys and values of imports in this stream. Returns as nb_store_scan. */
int nb_staged_scan(const struct nb_view *view, unsigned stream, nb_store_visit *visit, void *user,
                   struct nb_error *error);

/* Deletes the import's head and pieces, in the writer's transaction. Returns 0 or a code. */
int nb_staged_delete(const struct nb_view *view, struct nb_string id, struct nb_error *error);

#endif
