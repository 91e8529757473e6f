/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of an import that all nodes make. The node that got the request sends the dump part by
 * part through the stream, between changes of others. All nodes keep the parts in their stores, as
 * messages (core/model/relayed.h) with the id of the import, and the time of the request
 * instead of the checksum. They make the import when the final request comes. Its position gives
 * the numbers of the import's entries (core/ledger/record.h), so these are the same on all
 * nodes, however often a node had to begin again. A sender that fails gives its import up. If it
 * cannot, all nodes drop the parts when another import begins in the stream a day later.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_PARTS_H
#define NB_CORE_ARCHIVE_DUMP_PARTS_H

#include "core/archive/dump/dump.h"
#include "core/base/buffer.h"
#include "core/model/relayed.h"
#include "core/store/store.h"

enum {
    NB_IMPORT_ID = 16,         /* hexadecimal digits of an import's id */
    NB_PART_BYTES = 128 << 10, /* bytes of a part */
};

/* Stores a part (NB_RELAYED_CHANGE_PART), or drops all parts of an import that was refused
 * (NB_RELAYED_CHANGE_IMPORT). Returns as nb_transaction. This and the next functions are for the
 * thread that applies the stream's changes. */
int nb_import_parts_write(struct nb_engine *engine, struct nb_relayed_change change,
                          struct nb_error *error);

/* Sets `bytes` to the first part of the import with this id at a position from *at on, and *at to
 * the next position. Returns 0, NB_CONFLICT (there is none), NB_NO_MEMORY or a code of the store.
 */
int nb_import_parts_read(struct nb_engine *engine, struct nb_string id, uint64_t *at,
                         struct nb_buffer *bytes, struct nb_error *error);
/* Deletes the parts of the import with this id, and all that are older than `before`, in the
 * writer's transaction. Returns 0 or a code of the store. */
int nb_import_parts_delete(const struct nb_view *view, struct nb_string id, int64_t before,
                           struct nb_error *error);

/* An import that this node sends. One thread at a time; each call may wait for the stream. Errors
 * in the records are found at the end. */
struct nb_sending {
    struct nb_engine *engine;
    struct nb_string model, source; /* borrowed */
    char id[NB_IMPORT_ID + 1];
    uint64_t parts;        /* sent so far */
    struct nb_buffer rest; /* owned: bytes that are not sent yet */
};

void nb_sending_init(struct nb_sending *sending, struct nb_engine *engine, struct nb_string model,
                     struct nb_string source);
/* Sends whole parts after a record was written to `rest` (core/archive/dump/dump.h), which
 * returned `rc`. Returns 0, NB_NO_MEMORY, or a code of nb_relay_ask. */
int nb_sending_written(struct nb_sending *sending, int rc, struct nb_error *error);

/* Sends the rest, and requests that all nodes make the import: from the records, which must have
 * these totals (NULL: unknown), or, if `from` is not empty, from the model of that name as it is at
 * that place in the stream. Returns as nb_import_commit. After a failure the caller calls
 * nb_sending_give_up. */
int nb_sending_end(struct nb_sending *sending, const struct nb_dump_totals *totals,
                   struct nb_string from, bool only_new, struct nb_relayed_change_done *done,
                   struct nb_error *error);
/* Requests that all nodes drop the parts. */
void nb_sending_give_up(struct nb_sending *sending);

#endif
