/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of an import under way, and the ledger entries that it collects. The imported model has
 * a new number from the start.
 */
#ifndef NB_CORE_DUMP_ENTRIES_H
#define NB_CORE_DUMP_ENTRIES_H

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/key.h"
#include "core/dump/dump.h"
#include "core/engine/importing.h"
#include "core/live/live.h"
#include "core/store/change.h"
#include "core/store/features.h"
#include "core/store/ledger.h"
#include "core/store/rows.h"
#include "core/weights/slots.h"

struct nb_import {
    struct nb_importing listed; /* in engine->importing */
    struct nb_engine *engine;
    struct nb_buffer name, source;
    struct nb_live *live;  /* NULL until the header was read */
    bool other_key;        /* the dump's ids were made under another key than the store's */
    bool rehash;           /* new ids are made from the texts of features, under the store's key */
    bool only_new;         /* an existing model is not replaced */
    bool has_stack;        /* the dump has weights of a stack */
    struct nb_slots slots; /* of the dump's twin, by ids under slots_key; none: used as they are */
    struct nb_key slots_key;
    struct nb_buffer entries; /* changes to append, each preceded by its length */
    struct nb_buffer bytes, features, bag;
    uint64_t *ids; /* owned */
    size_t id_room;
    struct nb_features_coder *coder;
    struct nb_rows rows;
    struct nb_dump_totals totals;
    struct nb_ledger_totals begun; /* totals after the entry that began the import */
    bool created;
    uint64_t dropped; /* changes in the old model's quarantine that could not be kept */
};

/* Collects a change for appending, with the model's number and the source of the import. Returns 0
 * or NB_NO_MEMORY. */
int nb_import_collect(struct nb_import *import, struct nb_change *change);

enum { NB_IMPORT_FLUSH_BYTES = 4 << 20 }; /* bytes to collect before they are stored */

/* Appends the collected changes on the writer's thread, if they are more than `above` bytes. Waits
 * for the disk. NB_INVALID: two documents have the same id. Otherwise as nb_transaction. */
int nb_import_flush(struct nb_import *import, size_t above, struct nb_error *error);

/* Returns 0 if the dump's header was read, else NB_INVALID. */
int nb_import_needs_header(const struct nb_import *import, struct nb_error *error);

#endif
