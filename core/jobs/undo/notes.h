/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of undoings, which stand in the ledger before the changes of each step. Any thread; a list
 * belongs to one.
 */
#ifndef NB_CORE_JOBS_UNDO_NOTES_H
#define NB_CORE_JOBS_UNDO_NOTES_H

#include "core/base/buffer.h"
#include "core/jobs/undo/wish.h"
#include "core/ledger/entries/ledger.h"

/* A note of a step of an undo; everything is borrowed. */
struct nb_undo_note {
    uint64_t entry;
    int64_t time;
    struct nb_string by;      /* the source of the undo itself */
    struct nb_undo_wish wish; /* without the ids: */
    uint64_t ids;             /* how many were given */
    uint64_t documents;       /* that the step took back */
};

/* Appends what was asked for as a note has it. Returns 0 or NB_NO_MEMORY. */
int nb_undo_wish_write(const struct nb_undo_wish *wish, struct nb_buffer *out);
/* Reads the entry of a note, from which the note borrows. Returns 0 or NB_CORRUPT. */
int nb_undo_note_read(const struct nb_entry *entry, struct nb_undo_note *note,
                      struct nb_error *error);

/* Whether a change is one that a wish asks for, but for its id and its label. */
bool nb_undo_wish_matches(const struct nb_undo_wish *wish, const struct nb_change *change);

/* All notes of a model, oldest first. {0}: none. */
struct nb_undo_notes {
    struct nb_undo_noted *list; /* owned */
    size_t count, room;
};
void nb_undo_notes_deinit(struct nb_undo_notes *notes);
/* Reads them into an empty list. Returns 0 or a code. */
int nb_undo_notes_load(struct nb_undo_notes *notes, const struct nb_view *view, uint32_t model,
                       struct nb_error *error);
/* Whether a note stands between two entries. */
bool nb_undo_notes_between(const struct nb_undo_notes *notes, uint64_t entry, uint64_t later);
/* Whether an undo that came after an entry asked for its change to be taken back. */
bool nb_undo_notes_tell(const struct nb_undo_notes *notes, uint64_t entry,
                        const struct nb_change *change);

#endif
