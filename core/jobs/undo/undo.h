/* SPDX-License-Identifier: Apache-2.0
 *
 * Undo: takes back the changes of documents that match the options: a source, a span of time, some
 * ids. Any thread; a call may take long, and belongs to one thread.
 *
 * An undo affects a document whose current entry matches. It restores the document's state before
 * its first matching change: the newest earlier entry that does not match, or, if a matching change
 * learned the document, forgets it. It does not restore entries that match an earlier undo, even if
 * another change was current then: the note of that undo identifies them, unless that undo was by
 * ids, or found nothing and left no note. Superseded entries are dropped when no start needs them.
 * If the ledger no longer has the earlier entry, the document is forgotten, and counted as
 * `unknown_before`. A document that a matching change has forgotten stays forgotten. A document
 * that a later change, which does not match, has relabelled or replaced stays as that change left
 * it.
 *
 * With a label in the options the undo deletes that label: it forgets the label's documents,
 * whatever they were before. The label itself stays, without documents, and its name can be used
 * again.
 *
 * An undo proceeds in steps, each one batch of the writer: a note with the options and the source
 * of the undo, then the changes. Each change checks that the document is still as it was found. So
 * an interrupted undo leaves no step half done, and another call does the rest.
 */
#ifndef NB_CORE_JOBS_UNDO_UNDO_H
#define NB_CORE_JOBS_UNDO_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/jobs/undo/undo_find.h"

/* ---- the sources that a model has learned from ----------------------------------------------- */

/* A source, and the documents whose current entries it has made: an undo of the source takes these
 * back. */
struct nb_source {
    char *name;          /* owned; may be empty */
    uint64_t documents;  /* with a label or without one */
    uint64_t unlabelled; /* of these, without one */
    int64_t first, last; /* times of their first and last change, in milliseconds since 1970 */
};

struct nb_sources {
    struct nb_source *rows; /* owned; most documents first, of equals by name */
    size_t count, room;
    uint64_t documents; /* sum of the rows' documents */
    uint64_t next;      /* entry to go on with, when there are more; else 0 */
};
void nb_sources_deinit(struct nb_sources *sources);

enum { NB_SOURCES_MOST = 1000 /* rows of one call */ };

/* Counts, from the ledger, the documents whose entries have numbers from `from` on, until `most`
 * are counted or a further source would exceed NB_SOURCES_MOST rows; then sets `next`. A source may
 * be in the rows of several calls. The caller deinits `sources` in any case. `stop` (NULL: never)
 * is asked now and then. Takes long: 0.6 us a short text, 2 us a mail. Returns 0, NB_NOT_FOUND,
 * NB_DAMAGED, NB_STOPPING, NB_IO or NB_NO_MEMORY. */
int nb_engine_sources(struct nb_engine *engine, struct nb_string model, uint64_t from,
                      uint64_t most, bool (*stop)(void *user), void *user,
                      struct nb_sources *sources, struct nb_error *error);

/* ---- undo ------------------------------------------------------------------------------------ */

struct nb_undo_label {
    char *label; /* owned */
    uint64_t documents;
};

/* The effect that an undo had, or would have. */
struct nb_undo_report {
    uint64_t documents;           /* all of them: restored + forgotten */
    uint64_t restored;            /* now as an earlier change had left them */
    uint64_t forgotten;           /* forgotten ... */
    uint64_t unknown_before;      /* ... of these, the ledger no longer has the earlier entry */
    uint64_t changed_since;       /* were changed while the undo ran, and stay */
    struct nb_undo_label *labels; /* owned; numbers of documents by label */
    size_t label_count;
    uint64_t next; /* entry to go on with, when there is more to do than was allowed; else 0 */
};
void nb_undo_report_deinit(struct nb_undo_report *report);

/* Takes back the matching changes whose entries have numbers from `from` on, until about `most`
 * documents are done (0: all of them), and fills `report`, which the caller deinits in any case.
 * `source` is the source of the undo. `stop` (may be NULL) is asked between steps: true ends the
 * undo with NB_STOPPING. Returns 0 or a code, with what was done until then in the report:
 * NB_NOT_FOUND (model, label), NB_DAMAGED, NB_DISK_FULL, NB_IO, NB_NO_MEMORY. */
int nb_engine_undo(struct nb_engine *engine, struct nb_string model,
                   const struct nb_undo_options *options, uint64_t from, uint64_t most,
                   struct nb_string source, bool (*stop)(void *user), void *user,
                   struct nb_undo_report *report, struct nb_error *error);

/* Reports what nb_engine_undo would do now, and changes nothing. `now` is the present evaluation,
 * `without` the evaluation of the documents and labels that would remain; each is empty
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
