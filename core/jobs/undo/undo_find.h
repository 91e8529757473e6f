/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds in the ledger the documents that an undo concerns, a bounded number at a time. Any thread,
 * in snapshots; for core/jobs/undo alone.
 */
#ifndef NB_CORE_JOBS_UNDO_UNDO_FIND_H
#define NB_CORE_JOBS_UNDO_UNDO_FIND_H

#include "core/base/buffer.h"
#include "core/ledger/ledger.h"
#include "core/model/live.h"

struct nb_engine;

/* Conditions for documents; everything is borrowed. A document matches if it meets all of them. */
struct nb_undo_options {
    bool has_source;
    struct nb_string source; /* source of the change; empty: the change has no source */
    int64_t from, to;        /* milliseconds since 1970: from <= time < to */
    const struct nb_string *ids;
    size_t id_count; /* 0: of any id */
    /* Not empty: documents that have this label now. They are forgotten, and no earlier entry is
     * restored. */
    struct nb_string label;
};

/* A note of a step of an undo; everything is borrowed. */
struct nb_undo_note {
    uint64_t entry;
    int64_t time;
    struct nb_string by;            /* the source of the undo itself */
    struct nb_undo_options options; /* the undo's options, except the ids */
    uint64_t ids;                   /* number of ids in the options */
    uint64_t documents;             /* number of documents that the step took back */
};

/* Appends the options in the form of a note. Returns 0 or NB_NO_MEMORY. */
int nb_undo_options_write(const struct nb_undo_options *options, struct nb_buffer *out);
/* Reads the entry of a note, from which the note borrows. Returns 0 or NB_CORRUPT. */
int nb_undo_note_read(const struct nb_entry *entry, struct nb_undo_note *note,
                      struct nb_error *error);

/* All notes of a model, oldest first. {0}: none. */
struct nb_undo_notes {
    struct nb_undo_noted *list; /* owned */
    size_t count, room;
};
/* A document that is to be taken back. */
struct nb_undo_found {
    char *id; /* owned */
    size_t id_length;
    uint64_t number;         /* number of its current entry */
    uint64_t first;          /* number of the entry that learned it first */
    uint64_t restored;       /* the entry to restore; 0: none */
    uint32_t label;          /* the document's present label */
    uint32_t restored_label; /* the label that it gets; NB_EVALUATION_LEFT_OUT if `restored` is 0 */
    bool unknown_before;     /* the ledger no longer has the earlier entry */
};

struct nb_undo_search {
    const struct nb_undo_options *options; /* borrowed */
    uint32_t label;                        /* the number of its label; NB_NO_LABEL: any */
    uint64_t from; /* where to go on: an entry or, with ids, the index of an id */
    uint64_t end;  /* entries from here on came after the search began */
    bool is_done;  /* everything was examined */
    /* Of documents of any id and label: a state that matches lies behind changes of others. */
    bool lies_behind;
    struct nb_undo_found *found; /* owned; what the last search step found */
    size_t count, room;
    size_t most;
    struct nb_ledger_steps steps; /* with ids, only its view is used */
    /* Memory that is used again and again. */
    struct nb_entry entry, earlier, replaced;
    struct nb_undo_notes notes; /* read at their first use */
    bool has_notes;
};

/* Begins a search from the entry `from` on (with ids: from this index). Returns 0 or a code:
 * NB_NOT_FOUND when the model, which is loaded, does not have the label that is asked for. */
int nb_undo_search_begin(struct nb_undo_search *search, struct nb_engine *engine,
                         const struct nb_live *live, const struct nb_undo_options *options,
                         uint64_t from, struct nb_error *error);
/* Continues in a new snapshot until `most` documents are found, or all are examined, or the store
 * needs the snapshot to end. Sets `found` and `count`. Returns 0 or a code. */
int nb_undo_search_some(struct nb_undo_search *search, size_t most, struct nb_error *error);
void nb_undo_search_deinit(struct nb_undo_search *search);

#endif
