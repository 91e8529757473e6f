/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds in the ledger the documents that an undo concerns, a bounded number at a time. Any thread,
 * in snapshots; for core/jobs/undo alone.
 */
#ifndef NB_CORE_JOBS_UNDO_FIND_H
#define NB_CORE_JOBS_UNDO_FIND_H

#include "core/jobs/undo/notes.h"
#include "core/ledger/entries/ledger.h"
#include "core/model/live/live.h"

struct nb_engine;

/* A document that is to be taken back. */
struct nb_undo_found {
    char *id; /* owned */
    size_t id_length;
    uint64_t number;         /* of its living entry */
    uint64_t first;          /* of the entry that learned it first */
    uint64_t restored;       /* the entry that is to be in force again; 0: none */
    uint32_t label;          /* that it has */
    uint32_t restored_label; /* that it gets; with 0: NB_EVALUATION_LEFT_OUT */
    bool unknown_before;     /* what was before is not in the ledger any more */
};

struct nb_undo_search {
    const struct nb_undo_wish *wish; /* borrowed */
    uint32_t label;                  /* the number of its label; NB_NO_LABEL: any */
    uint64_t from;                   /* entry, or with ids the index of the id, to go on with */
    uint64_t end;                    /* entries from here on came after the search began */
    bool is_done;                    /* everything was looked at */
    struct nb_undo_found *found;     /* owned: of the last look */
    size_t count, room;
    /* Memory that is used again and again. */
    const struct nb_view *view;
    uint32_t model;
    size_t most, seen;
    struct nb_entry entry, earlier, twin;
    struct nb_undo_notes notes; /* read when they are first asked for */
    bool has_notes;
};

/* Begins a search from the entry `from` on (with ids: from this index). Returns 0 or a code:
 * NB_NOT_FOUND when the model, which is loaded, does not have the label that is asked for. */
int nb_undo_search_begin(struct nb_undo_search *search, struct nb_engine *engine,
                         const struct nb_live *live, const struct nb_undo_wish *wish, uint64_t from,
                         struct nb_error *error);
/* Looks on in a new snapshot until `most` documents are found, or all was looked at, or the store
 * needs the snapshot to end. Sets `found` and `count`. Returns 0 or a code. */
int nb_undo_search_some(struct nb_undo_search *search, struct nb_engine *engine,
                        const struct nb_live *live, size_t most, struct nb_error *error);
void nb_undo_search_deinit(struct nb_undo_search *search);

#endif
