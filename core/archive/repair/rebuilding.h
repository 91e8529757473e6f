/* SPDX-License-Identifier: Apache-2.0
 *
 * A rebuild under way, and its two long steps. For core/archive/repair alone; one thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_REBUILDING_H
#define NB_CORE_ARCHIVE_REPAIR_REBUILDING_H

#include "core/archive/repair/differences.h"
#include "core/ledger/entries/survey.h"
#include "core/model/learn/replay.h"

/* The state of a model while its entries are copied. */
struct nb_rebuilt_model {
    struct nb_ledger_totals totals;
    uint32_t labels;
    unsigned char *known; /* owned; a bit for each row that an entry has brought */
    size_t known_room;
};

/* A row to which this transaction has given an id. */
struct nb_filled_row {
    struct nb_rebuilt_model *model;
    uint32_t row;
};

struct nb_rebuilding {
    struct nb_engine *from, *to;
    const struct nb_view *view; /* of `from` */
    struct nb_survey survey;
    struct nb_differences *d;
    struct nb_rebuilt_model *models; /* owned; as survey.models */
    struct nb_rebuilt_model nobody;  /* of entries that belong to no model */
    struct nb_rows rows, bag, missing;
    struct nb_entry entry;
    struct nb_buffer scratch, features, new_rows;
    struct nb_filled_row *filled; /* owned */
    size_t filled_count, filled_room;
    size_t at, end;    /* entries of the survey that a transaction copies */
    uint64_t previous; /* number of the entry that was copied last */
    uint64_t gap;      /* a free number: that of a lost entry */
    /* The model that is being written. */
    struct nb_replay replayed;
    const struct nb_surveyed_model *model;
    uint32_t range;
};

/* Copies the entries of the survey into the new store, with their index rows. Reports losses.
 * Returns 0 or a code. */
int nb_rebuild_entries(struct nb_rebuilding *rebuilding, struct nb_error *error);

/* Replays every model from the entries of the new store, and writes its counts, labels and weights
 * there. Keeps the old store's weights where the ledger cannot teach them again. Returns 0 or a
 * code. */
int nb_rebuild_models(struct nb_rebuilding *rebuilding, struct nb_error *error);

#endif
