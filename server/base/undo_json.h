/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of a quarantine and of an undo: the request and the report. Any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_BASE_UNDO_JSON_H
#define NB_SERVER_BASE_UNDO_JSON_H

#include "core/jobs/quarantine/quarantine.h"
#include "core/jobs/undo/undo.h"

enum { NB_JSON_IDS = 10000 }; /* the most ids of one request */

/* ---- quarantine ------------------------------------------------------------------------------ */

struct nb_json_quarantine {
    struct nb_quarantine_options options; /* borrows from the two below */
    void *object;                         /* owned */
    struct nb_string *ids;                /* owned */
};

/* Reads {"source", "until", "ids"}, at least one of them, or {"all": true}. The caller
 * deinits *quarantine after success. Returns 0, NB_INVALID, NB_UNUSABLE, NB_TOO_LARGE or
 * NB_NO_MEMORY. */
int nb_json_quarantine_read(struct nb_string text, struct nb_json_quarantine *quarantine,
                            struct nb_error *error);
void nb_json_quarantine_deinit(struct nb_json_quarantine *quarantine);

/* These append {"quarantine": [{"id", "source", "time", ...}, ...], "time", "next"} piece by piece.
 * `count` is the number of rows before this one; `next` is the beginning of the next page (length
 * 0: there is none). */
int nb_json_quarantine_begin(struct nb_buffer *out);
int nb_json_quarantine_row(struct nb_buffer *out, size_t count,
                           const struct nb_quarantine_row *row);
int nb_json_quarantine_end(struct nb_buffer *out, int64_t now, struct nb_string next);

/* Appends {"model", "documents", "bytes", "sources": {...}, "evaluation": {"now", "with"}}. */
int nb_json_quarantine_effect(struct nb_buffer *out, struct nb_string model,
                              const struct nb_quarantine_effect *effect);

/* Appends {"model", "applied": {"learned": n, ...} or "dropped": n, "changed_since", "refused",
 * "why"}. */
int nb_json_quarantine_report(struct nb_buffer *out, struct nb_string model, bool is_drop,
                              const struct nb_quarantine_report *report);

/* ---- undo ------------------------------------------------------------------------------------ */

struct nb_json_undo {
    struct nb_undo_options options; /* borrows from the two below */
    bool dry_run;
    uint64_t limit; /* documents; 0: all */
    uint64_t after; /* the place where an undo in parts continues; 0: the beginning */
    void *object;   /* owned */
    struct nb_string *ids;
};

/* Reads {"source", "from", "to", "ids", "dry_run", "limit", "next"}, with at least one of the first
 * four. The caller deinits *undo after success. Returns 0, NB_INVALID, NB_UNUSABLE,
 * NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_json_undo_read(struct nb_string text, struct nb_json_undo *undo, struct nb_error *error);
void nb_json_undo_deinit(struct nb_json_undo *undo);

/* Appends {"model", "documents", "restored", "forgotten", ...}. `now` and `without` are the two
 * evaluations of a dry run; both are NULL otherwise. */
int nb_json_undo_report(struct nb_buffer *out, struct nb_string model,
                        const struct nb_undo_report *report, const struct nb_evaluation_report *now,
                        const struct nb_evaluation_report *without);

/* These append {"undone": [{"time", "by", "source", ...}, ...], "next"} piece by piece. `count` is
 * the number of notes before this one. */
int nb_json_undone_begin(struct nb_buffer *out);
int nb_json_undone_note(struct nb_buffer *out, size_t count, const struct nb_undo_note *note);
int nb_json_undone_end(struct nb_buffer *out, uint64_t next);

/* Appends {"sources": [{"source", "documents", "unlabelled", "first", "last"}, ...], "documents",
 * "next"}. */
int nb_json_sources(struct nb_buffer *out, const struct nb_sources *sources);

#endif
