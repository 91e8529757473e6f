/* SPDX-License-Identifier: Apache-2.0
 *
 * The quarantine of a model: changes of documents by sources without trust, which are stored but
 * not applied to the model. An administrator lists them, sees how they agree with the model, and
 * applies or drops them. Any thread; a call may take long, and belongs to one thread.
 *
 * At most one change waits for each id: a later change, trusted or not, replaces it. Applying is
 * training: the result is as if the source had been trusted and the document had come now. A kill
 * in the middle leaves every change either waiting or applied.
 */
#ifndef NB_CORE_JOBS_QUARANTINE_QUARANTINE_H
#define NB_CORE_JOBS_QUARANTINE_QUARANTINE_H

#include "core/engine/engine.h"
#include "core/ledger/quarantine_entries.h"

/* Conditions for changes; everything is borrowed. A change matches if it meets all of them. */
struct nb_quarantine_options {
    bool has_source;
    struct nb_string source;
    int64_t until; /* skips changes that came later, which nobody has seen; INT64_MAX: skips none */
    const struct nb_string *ids;
    size_t id_count; /* 0: of any id */
};

/* Finds changes in the quarantine, a bounded number at a time, in snapshots. Any thread; for
 * core/jobs/quarantine alone. */
struct nb_quarantine_found {
    struct nb_buffer id, stored; /* owned */
};

struct nb_quarantine_search {
    const struct nb_quarantine_options *options; /* borrowed */
    struct nb_buffer after;                      /* owned: the id that was examined last */
    size_t next_id;                              /* with ids: index of the next id */
    bool is_done;                                /* everything was examined */
    struct nb_quarantine_found *found;           /* owned; what the last search step found */
    size_t count, room, bytes;
    size_t most;
    const struct nb_view *view;
};

/* Begins a search after the id `after`. Returns 0 or NB_NO_MEMORY; the caller deinits `search` in
 * any case. */
int nb_quarantine_search_begin(struct nb_quarantine_search *search,
                               const struct nb_quarantine_options *options, struct nb_string after);
void nb_quarantine_search_deinit(struct nb_quarantine_search *search);
/* Finds up to `most` further changes that match, fewer if they are large. Returns 0 or a code;
 * NB_CORRUPT: a change is damaged. */
int nb_quarantine_search_some(struct nb_quarantine_search *search, struct nb_engine *engine,
                              const struct nb_live *live, size_t most, struct nb_error *error);

/* Translates `rc` for the caller: a damaged quarantine does not make its model damaged. Returns the
 * code and fills `error`. */
int nb_quarantine_tell(int rc, const struct nb_error *why, struct nb_error *error);

/* Drops a bounded number of waiting changes in one transaction, so that nodes which share their
 * changes do the same: each checks by itself which of them still wait. Any thread but the writer's;
 * waits for the disk. */

/* Appends a change to a list: its id and a hash of its bytes. Returns 0 or NB_NO_MEMORY. */
int nb_quarantine_drop_list(struct nb_buffer *list, struct nb_string id, struct nb_string stored);

enum { NB_QUARANTINE_CLEARED = 500 /* changes at once */ };

/* Drops the changes of the list that wait unchanged; sets *dropped to their number. With an empty
 * list it drops the first changes, also damaged ones: if their number is less than
 * NB_QUARANTINE_CLEARED, none is left. Returns 0, NB_NOT_FOUND (model), NB_UNUSABLE (the list), or
 * a code of the store. */
int nb_quarantine_drop_listed(struct nb_engine *engine, struct nb_string model,
                              struct nb_string list, uint64_t *dropped, struct nb_error *error);

/* ---- listing --------------------------------------------------------------------------------- */

/* A change that waits; everything is borrowed for the call. */
struct nb_quarantine_row {
    struct nb_string id, source, label;
    bool untrain; /* the change forgets the document, and has no label and no verdict */
    int64_t time; /* milliseconds since 1970 */
    uint64_t tokens;
    struct nb_string verdict; /* the label that the model gives the document now; length 0: none */
    double probability;       /* probability that the model gives to `label` */
};
/* Calls `visit` for at most `limit` changes whose ids come after `after` (length 0: from the
 * first), by id, until it returns non-zero, and returns that. Sets *more if there are more. Else
 * returns 0, NB_NOT_FOUND (model), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_engine_quarantine(struct nb_engine *engine, struct nb_string model, struct nb_string after,
                         size_t limit,
                         int (*visit)(void *user, const struct nb_quarantine_row *row), void *user,
                         bool *more, struct nb_error *error);

/* Calls `visit` for each model with changes in its quarantine, by name, with their number. Loads no
 * model; leaves out one whose quarantine is damaged. Returns 0, NB_IO or NB_NO_MEMORY. */
int nb_engine_quarantines(struct nb_engine *engine,
                          void (*visit)(void *user, const char *model, uint64_t documents),
                          void *user, struct nb_error *error);

/* A source's changes in the quarantine, compared with the model's present verdicts. */
struct nb_quarantine_source {
    char *source; /* owned */
    uint64_t documents;
    uint64_t judged;   /* of these, those that have a verdict ... */
    uint64_t agreeing; /* ... and of these, those whose label equals the verdict */
    double log_loss; /* mean of -ln P(label), probabilities clipped to 1e-6; NAN: none is judged */
};
struct nb_quarantine_effect {
    uint64_t documents, bytes;
    struct nb_quarantine_source *sources; /* owned; by name */
    size_t source_count;
    /* The present evaluation, and the one that would result if the waiting documents had been
     * scored now and had their labels; empty (window_count 0) where no document has a score.
     */
    struct nb_evaluation_report now, with;
};
/* Fills `effect`, which the caller deinits in any case. Returns as nb_engine_quarantine. */
int nb_engine_quarantine_effect(struct nb_engine *engine, struct nb_string model,
                                struct nb_quarantine_effect *effect, struct nb_error *error);
void nb_quarantine_effect_deinit(struct nb_quarantine_effect *effect);

/* ---- applying and dropping ------------------------------------------------------------------- */

struct nb_quarantine_report {
    uint64_t statuses[NB_STATUSES]; /* number of applied changes by their outcome */
    uint64_t dropped;
    uint64_t changed_since; /* were applied, dropped or replaced by others meanwhile */
    uint64_t refused;       /* could not be made, and still wait ... */
    struct nb_error why;    /* ... the first of them because of this */
};
/* Applies the matching changes, in steps. `stop` (may be NULL) is asked between them: true ends
 * with NB_STOPPING. Returns as nb_engine_quarantine, or NB_DISK_FULL; `report` tells what was done
 * until then. */
int nb_engine_quarantine_apply(struct nb_engine *engine, struct nb_string model,
                               const struct nb_quarantine_options *options,
                               bool (*stop)(void *user), void *user,
                               struct nb_quarantine_report *report, struct nb_error *error);
/* Drops the matching changes. Without any condition it drops damaged ones, too. */
int nb_engine_quarantine_drop(struct nb_engine *engine, struct nb_string model,
                              const struct nb_quarantine_options *options, bool (*stop)(void *user),
                              void *user, struct nb_quarantine_report *report,
                              struct nb_error *error);

#endif
