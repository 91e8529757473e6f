/* SPDX-License-Identifier: Apache-2.0
 *
 * The quarantine of a model: changes of documents by sources without trust, which are on disk and
 * not in the model. An administrator looks at them, sees how they agree with the model, and applies
 * or drops them. Any thread; a call may take long, and belongs to one thread.
 *
 * One change waits for each id: a later one takes the place of an earlier one, and so does a change
 * that is trusted. Applying is training: what comes out is what had come out if the source had been
 * trusted and the document had come now. A kill in the middle leaves every change either waiting or
 * made.
 */
#ifndef NB_CORE_JOBS_QUARANTINE_QUARANTINE_H
#define NB_CORE_JOBS_QUARANTINE_QUARANTINE_H

#include "core/engine/engine.h"
#include "core/jobs/quarantine/wish.h"

/* ---- looking at it --------------------------------------------------------------------------- */

/* A change that waits; everything is borrowed for the call. */
struct nb_quarantine_row {
    struct nb_string id, source, label;
    bool untrain; /* it wants the document forgotten; it has no label and no verdict */
    int64_t time; /* milliseconds since 1970 */
    uint64_t tokens;
    struct nb_string verdict; /* the label that the model gives the document now; length 0: none */
    double probability;       /* that it gives to `label` */
};
/* Calls `visit` for at most `limit` changes whose ids come after `after` (length 0: from the
 * first), by id, until it returns non-zero, and returns that. Sets *more if there are more. Else
 * returns 0, NB_NOT_FOUND (model), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_engine_quarantine(struct nb_engine *engine, struct nb_string model, struct nb_string after,
                         size_t limit,
                         int (*visit)(void *user, const struct nb_quarantine_row *row), void *user,
                         bool *more, struct nb_error *error);

/* What a source has in the quarantine, against the verdicts that the model gives now. */
struct nb_quarantine_source {
    char *source; /* owned */
    uint64_t documents;
    uint64_t judged;   /* of these, those that have a verdict ... */
    uint64_t agreeing; /* ... and of these, those whose label it is */
    double log_loss; /* mean of -ln P(label), probabilities clipped to 1e-6; NAN: none is judged */
};
struct nb_quarantine_effect {
    uint64_t documents, bytes;
    struct nb_quarantine_source *sources; /* owned; by name */
    size_t source_count;
    /* The evaluation in force, and what it would be if the documents had been judged as they are
     * now, and had the labels that are waiting; empty (window_count 0) where nothing has a score.
     */
    struct nb_evaluation_report now, with;
};
/* Fills `effect`, which the caller deinits in any case. Returns as nb_engine_quarantine. */
int nb_engine_quarantine_effect(struct nb_engine *engine, struct nb_string model,
                                struct nb_quarantine_effect *effect, struct nb_error *error);
void nb_quarantine_effect_deinit(struct nb_quarantine_effect *effect);

/* ---- applying and dropping ------------------------------------------------------------------- */

struct nb_quarantine_report {
    uint64_t statuses[NB_STATUSES]; /* how many were applied, by what that did */
    uint64_t dropped;
    uint64_t changed_since; /* were applied, dropped or replaced by others meanwhile */
    uint64_t refused;       /* could not be made, and still wait ... */
    struct nb_error why;    /* ... the first of them because of this */
};
/* Applies what matches, in steps. `stop` (may be NULL) is asked between them: true ends with
 * NB_STOPPING. Returns as nb_engine_quarantine, or NB_DISK_FULL, with what was done until then in
 * `report`. */
int nb_engine_quarantine_apply(struct nb_engine *engine, struct nb_string model,
                               const struct nb_quarantine_wish *wish, bool (*stop)(void *user),
                               void *user, struct nb_quarantine_report *report,
                               struct nb_error *error);
/* Drops what matches. If all of it is to go, damaged changes go, too. */
int nb_engine_quarantine_drop(struct nb_engine *engine, struct nb_string model,
                              const struct nb_quarantine_wish *wish, bool (*stop)(void *user),
                              void *user, struct nb_quarantine_report *report,
                              struct nb_error *error);

#endif
