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

#include "core/model/live/state.h"
#include "core/model/refined/refined.h"

enum nb_refining {
    NB_REFINING_OFF,  /* excluded by the settings, or too few documents */
    NB_REFINING_DUE,  /* a fit is due; until then the last one serves, if any */
    NB_REFINING_DONE, /* no fit is due */
};

/* Whether a loaded model needs a fit. Sets *again (may be NULL) to whether that fit keeps the
 * weight of the last one: some documents were forgotten or changed, but few. Any thread. */
enum nb_refining nb_refining_of(struct nb_live *live, bool *again);

/* Writes why there is no fit, if there are documents without a label and their weight is not 0 by
 * the settings; else an empty string. `room`: bytes of `text`, above 0. Any thread. */
void nb_refining_tell_why_off(struct nb_live *live, char *text, size_t room);

/* Fits a model and publishes the result; if the state is off, drops the last fit. One model is
 * fitted at a time, and the others wait, because a fit holds all documents in memory
 * (core/em/em_corpus.h). `again`: keep the weight of the last fit. The fit ends early when
 * `stop` (NULL: never) returns true or the model is deleted. If the documents are too many
 * (NB_TOO_LARGE of the corpus), the published weight is 0, with the reason. Returns 0, NB_BUSY (a
 * fit of the model is under way), NB_CONFLICT (the settings were changed meanwhile), NB_STOPPING,
 * NB_NOT_FOUND (the model is gone), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
int nb_refine(struct nb_engine *engine, struct nb_live *live, bool again, bool (*stop)(void *user),
              void *user, struct nb_error *error);

#endif
