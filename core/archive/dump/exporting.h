/* SPDX-License-Identifier: Apache-2.0
 *
 * An export under way, and its phases in order. For core/archive/dump alone; one thread at a time.
 * The function of a phase runs one short step in a snapshot (`view`). It returns 0 when the phase
 * is complete, a number above 0 when only the step is complete, or a code.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_EXPORTING_H
#define NB_CORE_ARCHIVE_DUMP_EXPORTING_H

#include "core/archive/dump/dump.h"
#include "core/ledger/coding/features_coding.h"
#include "core/ledger/coding/rows_coding.h"
#include "core/ledger/entries/ledger.h"
#include "core/ledger/entries/record.h"
#include "core/model/live/state.h"
#include "core/store/lmdb/lease.h"

/* A current document: the number of its entry, and of the entry that learned it first. */
struct nb_arrival {
    uint64_t first, number;
};

enum nb_export_phase {
    NB_EXPORT_SURVEY,
    NB_EXPORT_SORT,
    NB_EXPORT_HEADER,
    NB_EXPORT_WORDS,
    NB_EXPORT_DOCUMENTS,
    NB_EXPORT_END,
    NB_EXPORT_DONE
};

struct nb_export {
    struct nb_engine *engine;
    struct nb_live *live; /* referenced */
    struct nb_lease *lease;
    uint64_t deadline; /* nb_clock_monotonic; of all snapshots together */
    bool is_lost;      /* the snapshot was lost, and a later one has another state */
    enum nb_export_phase phase;
    uint64_t next;  /* the ledger's entry, or the row, at which a walk continues */
    size_t arrival; /* index of the next document */
    /* Valid during a step. */
    const struct nb_view *view;
    const struct nb_dump_sink *sink;
    uint64_t over;  /* end of the step on nb_clock_monotonic ... */
    bool has_moved; /* ... if it has processed something */
    /* Valid during the whole export. */
    struct nb_state_record state;
    struct nb_features_coder *coder;
    struct nb_arrival *arrivals; /* owned */
    size_t arrival_count, arrival_room;
    bool has_texts;
    char **labels; /* owned, by number */
    size_t label_count, label_room;
    struct nb_rows bag;
    uint64_t decoded;    /* entry whose features are decoded in the coder */
    const uint64_t *ids; /* the coder's */
    const struct nb_string *texts;
    uint32_t *numbers;               /* owned: number of each row in the dump; NB_NO_ROW: none */
    uint32_t *row_list, *count_list; /* of a document; owned */
    size_t row_room, count_room;
    struct nb_dump_totals totals;
};

/* Reads the model's state and labels, and lists the current documents. */
int nb_export_survey(struct nb_export *export, struct nb_error *error);
/* Sorts the documents by arrival, without a snapshot: it takes long for millions of them. */
void nb_export_sort(struct nb_export *export);
/* Writes the header (settings, labels, weights) in one step. */
int nb_export_header(struct nb_export *export, struct nb_error *error);
int nb_export_words(struct nb_export *export, struct nb_error *error);
int nb_export_documents(struct nb_export *export, struct nb_error *error);

#endif
