/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of an import under way, and the entries of the ledger that it collects. Its model has a
 * number of its own from the start.
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
    struct nb_live *live;  /* NULL until the header came */
    bool other_key;        /* the dump's ids were made under another key than the store's */
    bool rehash;           /* its features get ids under the store's key, by their texts */
    bool only_new;         /* no model is replaced */
    bool has_stack;        /* the dump brought what a stack has learned */
    struct nb_slots slots; /* of the twin, by ids under slots_key; none: they need no change */
    struct nb_key slots_key;
    struct nb_buffer entries; /* changes to be appended, each with its length */
    struct nb_buffer bytes, features, bag;
    uint64_t *ids; /* owned */
    size_t id_room;
    struct nb_features_coder *coder;
    struct nb_rows rows;
    struct nb_dump_totals totals;
    struct nb_ledger_totals begun; /* with the entry that began it */
    bool created;
    uint64_t dropped; /* changes in the quarantine that could not be kept */
};

/* Adds a change to those that are to be appended, for the import's model, with the import's source.
 * Returns 0 or NB_NO_MEMORY. */
int nb_import_collect(struct nb_import *import, struct nb_change *change);

enum { NB_IMPORT_FLUSH_BYTES = 4 << 20 }; /* collected before the writer is asked to store them */

/* Has the writer append what was collected, if it is more than `above` bytes. Waits for the disk.
 * NB_INVALID: two documents have the same id. Otherwise as nb_transaction. */
int nb_import_flush(struct nb_import *import, size_t above, struct nb_error *error);

/* Returns 0 if the dump's header came, else NB_INVALID with its error. */
int nb_import_needs_header(const struct nb_import *import, struct nb_error *error);

#endif
