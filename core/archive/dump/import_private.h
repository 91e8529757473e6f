/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of an import under way, for core/archive alone. One thread at a time.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_IMPORT_PRIVATE_H
#define NB_CORE_ARCHIVE_DUMP_IMPORT_PRIVATE_H

#include "core/archive/dump/dump.h"
#include "core/archive/dump/parts.h"
#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/key.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/change.h"
#include "core/ledger/features_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/apply.h"
#include "core/model/live.h"
#include "core/stack/weights.h"
#include "core/writer/upkeep.h"

/* An import under way. The imported model has a new number from the start. */
struct nb_import {
    struct nb_importing listed; /* its item in engine->importing */
    struct nb_engine *engine;
    struct nb_buffer name, source;
    struct nb_live *live; /* NULL until the header was read */
    bool other_key;       /* the dump's ids were made under another key than the store's */
    bool rehash;          /* new ids are made from the texts of features, under the store's key */
    bool only_new;        /* an existing model is not replaced */
    bool has_stack;       /* the dump has weights of a stack */
    struct nb_buffer entries; /* changes to append, each preceded by its length */
    struct nb_buffer bytes, features, bag;
    uint64_t *ids; /* owned */
    size_t id_room;
    struct nb_features_coder *coder;
    struct nb_replay replay; /* applies the collected changes to `live` */
    struct nb_rows rows;
    struct nb_dump_totals totals;
    struct nb_ledger_totals begun; /* totals after the entry that began the import */
    bool created;
    bool is_sent; /* all nodes make the import: this node only sends records, with `sending` */
    struct nb_sending sending;
    /* The request for an import that all nodes make, borrowed; else NULL, and the next are not
     * used:
     */
    const struct nb_relayed_change *asked;
    int64_t time;         /* of the request */
    uint64_t first, used; /* a lower bound of its numbers of entries; how many it has used */
    uint64_t dropped;     /* changes in the old model's quarantine that could not be kept */
};

/* Begins an import that this node makes, either alone (`asked` is NULL) or, like all nodes, for a
 * request in the stream (`asked`, NB_RELAYED_CHANGE_IMPORT). Returns as nb_import_begin, or
 * NB_CONFLICT: the import was given up. */
struct nb_relayed_change;
int nb_import_start(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    const struct nb_relayed_change *asked, struct nb_import **import,
                    struct nb_error *error);

enum { NB_IMPORT_FLUSH_BYTES = 4 << 20 }; /* bytes to collect before they are stored */

/* Appends the collected changes on the writer's thread, if they are more than `above` bytes. Waits
 * for the disk. NB_INVALID: two documents have the same id. Otherwise as nb_transaction. */
int nb_import_flush(struct nb_import *import, size_t above, struct nb_error *error);

/* Returns 0 if the dump's header was read, else NB_INVALID. */
int nb_import_needs_header(const struct nb_import *import, struct nb_error *error);

#endif
