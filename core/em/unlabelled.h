/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents without a label as a source of counts. EM estimates the probabilities of their labels
 * (core/bayes/em.h). From these come expected counts, which the model's formulas add to
 * its own counts (core/stack/blend.h), each such document with the weight
 * `unlabelled_weight`. The formulas use the model's smoothing; EM has a smoothing of its own.
 *
 * A fit uses the documents as they are while it reads them, and serves until the next fit. A new
 * one is due when the number of documents with a label, or without one, has changed by a fifth, and
 * when one of the documents was forgotten, relabelled or replaced. It begins four durations of the
 * last one after that one's end, but at most 30 s after it, and at once if the documents without a
 * label have doubled. A fit of the thread ends early, and begins anew, if their number or that of
 * the documents with a label doubles meanwhile. A fit is not stored: neither the
 * ledger nor the model's own counts depend on it, and after a start, a rebuild or an import the
 * model answers without it until a new fit is made.
 *
 * Any thread may call these functions; nb_refining_start and nb_refining_stop are called once each.
 */
#ifndef NB_CORE_EM_UNLABELLED_H
#define NB_CORE_EM_UNLABELLED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_engine;
struct nb_live;

/* Where the fit of a model's documents without a label stands. */
enum nb_unlabelled_state {
    NB_UNLABELLED_OFF,     /* no fit: by the settings, or too few documents */
    NB_UNLABELLED_WAITING, /* a fit is due; the report shows the last one, if any */
    NB_UNLABELLED_RUNNING, /* a fit is under way; the report shows the last one, if any */
    NB_UNLABELLED_READY,
};
/* "off", "waiting", "running", "ready". */
const char *nb_unlabelled_state_name(enum nb_unlabelled_state state);

struct nb_unlabelled_loss {
    double log_loss, accuracy;
};
struct nb_unlabelled_report {
    enum nb_unlabelled_state state;
    unsigned fits, fits_all; /* while it runs: fits done, and fits in all */
    bool is_known;      /* there was a fit; if not, of the members below only `reason` is set */
    double weight;      /* of a document without a label; 0: predictions are better without them */
    bool is_pooled;     /* stacked model: verdicts pool scores without and with expected counts */
    double share;       /* share of the scores with expected counts in the pool */
    double smoothing;   /* inside EM */
    uint64_t documents; /* documents without a label that the fit has read */
    uint64_t changed; /* documents, with or without a label, that were changed or forgotten since */
    unsigned iterations; /* of EM over all documents; 0: EM did not run, as the weight is 0 */
    double log_likelihood, first; /* what EM maximizes, at its end and at its beginning */
    uint64_t measured; /* documents with a label that were left out and predicted; or 0 */
    uint32_t folds;    /* folds of the cross-validation; or 0 */
    struct nb_unlabelled_loss without, with; /* losses, if `measured` is not 0 */
    double seconds;
    char reason[96]; /* why there is no fit, or why the weight is 0 without a measurement; or "" */
};

/* Fills the report of a loaded model. */
void nb_unlabelled_tell(struct nb_live *live, struct nb_unlabelled_report *report);

/* Fills the report of a model. Returns 0, NB_UNUSABLE (name), NB_NOT_FOUND (model), NB_DAMAGED,
 * NB_IO or NB_NO_MEMORY. */
int nb_engine_unlabelled(struct nb_engine *engine, struct nb_string model,
                         struct nb_unlabelled_report *report, struct nb_error *error);
/* Fits the model anew on the caller's thread, unless a fit is under way or the state is off, and
 * fills the report: a fit that was under way is reported as running, even if it has just ended,
 * because it may have read fewer documents than there are. `stop` is called often; the fit ends
 * when it returns true. Errors as above, and NB_STOPPING or NB_CONFLICT (the settings were changed
 * meanwhile). */
int nb_engine_refine(struct nb_engine *engine, struct nb_string model, bool (*stop)(void *user),
                     void *user, struct nb_unlabelled_report *report, struct nb_error *error);

/* For a loaded model whose documents have several labels: makes a fit, on the caller's thread or by
 * waiting for the one under way, if more than a twentieth of the documents have changed since the
 * last one. Waits at most ten seconds for others; a verdict is then by the last fit. Returns 0, or
 * NB_NO_MEMORY and other codes of a fit. */
int nb_refining_catch_up(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);

/* Starts the thread that fits models, one after the other, when a fit is due. It sleeps while no
 * model asks for a fit. Returns 0, NB_NO_MEMORY, or the code of pthread_create's errno. */
int nb_refining_start(struct nb_engine *engine, struct nb_error *error);
/* Ends the fit that is under way, and waits for the end of the thread. Does nothing if the thread
 * was not started. */
void nb_refining_stop(struct nb_engine *engine);

#endif
