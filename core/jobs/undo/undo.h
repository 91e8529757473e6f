/* SPDX-License-Identifier: Apache-2.0
 *
 * Undo: takes back the changes of documents that match what is asked for: those of a source, of a
 * span of time, of some ids. Any thread; a call may take long, and belongs to one thread.
 *
 * A document is concerned when its current entry matches. It is taken back to what it was before
 * the first of its matching changes: to the newest earlier entry that does not match, or, if it was
 * learned by a matching one, to never having been learned. What an earlier undo asked for is not
 * restored, also if another change was in force then: its note tells, unless it was of ids, or
 * found nothing and left none. An earlier entry that the ledger does not hold any more cannot be
 * restored: superseded entries are dropped when no start needs them. Then the document is
 * forgotten, and counted as `unknown_before`. What was forgotten by a matching change stays
 * forgotten. A document that a later change, which does not match, has relabelled or replaced stays
 * as that change left it.
 *
 * With a label in the options it is the deletion of that label: its documents are forgotten,
 * whatever they were before. The label itself stays, without documents, and its name can be used
 * again.
 *
 * An undo goes in steps, each in one batch of the writer's: a note of what was asked for, by whom,
 * then the changes. Each change checks that the document is still as it was found. So whatever
 * stops an undo, what is done is done whole, and another call does the rest.
 */
#ifndef NB_CORE_JOBS_UNDO_UNDO_H
#define NB_CORE_JOBS_UNDO_UNDO_H

#include "core/engine/engine.h"
#include "core/jobs/undo/undo_find.h"

struct nb_undo_label {
    char *label; /* owned */
    uint64_t documents;
};

/* What an undo did, or, if it was tried out, would do. */
struct nb_undo_report {
    uint64_t documents;           /* all of them: restored + forgotten */
    uint64_t restored;            /* are as an earlier change had left them */
    uint64_t forgotten;           /* are not learned any more ... */
    uint64_t unknown_before;      /* ... of these, what was before is not in the ledger any more */
    uint64_t changed_since;       /* were changed while the undo ran, and stay */
    struct nb_undo_label *labels; /* owned: how many had which label */
    size_t label_count;
    uint64_t next; /* entry to go on with, when there is more to do than was allowed; else 0 */
};
void nb_undo_report_deinit(struct nb_undo_report *report);

/* Takes back the matching changes whose entries have numbers from `from` on, until about `most`
 * documents are done (0: all of them), and fills `report`, which the caller deinits in any case.
 * `source` is who asks. `stop` (may be NULL) is asked between steps: true ends the undo with
 * NB_STOPPING. Returns 0 or a code, with what was done until then in the report: NB_NOT_FOUND
 * (model, label), NB_DAMAGED, NB_DISK_FULL, NB_IO, NB_NO_MEMORY. */
int nb_engine_undo(struct nb_engine *engine, struct nb_string model,
                   const struct nb_undo_options *options, uint64_t from, uint64_t most,
                   struct nb_string source, bool (*stop)(void *user), void *user,
                   struct nb_undo_report *report, struct nb_error *error);

/* Says what nb_engine_undo would do now, and changes nothing. Of the two evaluations `now` is the
 * one in force, and `without` that of the documents and labels that would be left; each is empty
 * (window_count 0) if no document of it has a score. The caller deinits all three in any case. */
int nb_engine_undo_try(struct nb_engine *engine, struct nb_string model,
                       const struct nb_undo_options *options, struct nb_undo_report *report,
                       struct nb_evaluation_report *now, struct nb_evaluation_report *without,
                       struct nb_error *error);

/* Calls `visit` for the notes of a model from the entry `from` on, oldest first, until it returns
 * non-zero, and returns that; else 0, NB_NOT_FOUND (model), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_engine_undone(struct nb_engine *engine, struct nb_string model, uint64_t from,
                     int (*visit)(void *user, const struct nb_undo_note *note), void *user,
                     struct nb_error *error);

#endif
