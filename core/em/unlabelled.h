/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents without a label as a source of counts. EM estimates the probabilities of their labels
 * (core/bayes/expected/em.h). From these come expected counts, which the model's formulas add to
 * its own counts (core/stack/blend.h), each such document with the weight
 * `unlabelled_weight`. The formulas use the model's smoothing; EM has a smoothing of its own.
 *
 * A fit uses the documents as they are while it reads them, and serves until the next fit. A new
 * one is due when the number of documents with a label, or without one, has changed by a fifth, and
 * when one of the documents was forgotten, relabelled or replaced. A fit is not stored: neither the
 * ledger nor the model's own counts depend on it, and after a start, a rebuild or an import the
 * model answers without it until a new fit is made.
 */
#ifndef NB_CORE_EM_UNLABELLED_H
#define NB_CORE_EM_UNLABELLED_H

#include "core/model/live/live.h"
#include "core/model/live/state.h"

enum nb_refining {
    NB_REFINING_OFF,  /* excluded by the settings, or too few documents */
    NB_REFINING_DUE,  /* a fit is due; until then the last one serves, if any */
    NB_REFINING_DONE, /* no fit is due */
};

/* Starts the thread that fits models, one after the other, when a fit is due. It sleeps while no
 * model asks for a fit. Returns 0, NB_NO_MEMORY, or the code of pthread_create's errno. */
int nb_refining_start(struct nb_engine *engine, struct nb_error *error);
/* Ends the fit that is under way, and waits for the end of the thread. Does nothing if the thread
 * was not started. */
void nb_refining_stop(struct nb_engine *engine);

#endif
