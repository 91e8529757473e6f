/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents without a label as a source of counts: EM finds which labels they may have
 * (core/expected/em.h), and the model's formulas read what it expects beside the model's own counts
 * (core/blend/blend.h), where each such document weighs `unlabelled_weight`. The final estimate has
 * the model's smoothing; EM has one of its own.
 *
 * A fit is of the documents as they are while it reads them, and stays until the next: it is wanted
 * when a fifth of the documents with a label, or without one, has come or gone since, and when one
 * of the documents was forgotten, or has another label or text now. Nothing of it is stored. So the
 * ledger and the model's own counts know nothing of it, and after a start, a rebuild or an import
 * the model answers without it until it is found anew.
 */
#ifndef NB_CORE_UNLABELLED_UNLABELLED_H
#define NB_CORE_UNLABELLED_UNLABELLED_H

#include "core/live/state.h"
#include "core/refined/refined.h"

enum nb_refining {
    NB_REFINING_OFF,  /* not with these settings, or there is nothing to learn from */
    NB_REFINING_DUE,  /* it is wanted, and what there is (or nothing) serves until then */
    NB_REFINING_DONE, /* it is as it should be */
};

/* What a loaded model needs. Sets *again (NULL: not wanted) to whether what documents weigh stays
 * as it is: some were forgotten or changed, and not many. Any thread. */
enum nb_refining nb_refining_of(struct nb_live *live, bool *again);

/* Writes why it is off although there are documents without a label and the settings do not say
 * that they weigh nothing; else nothing. `room`: bytes of `text`, above 0. Any thread. */
void nb_refining_tell_why_off(struct nb_live *live, char *text, size_t room);

/* Fits and publishes, and drops what there was if it is off. One model at a time, of all: the
 * others wait, because a fit takes memory for all documents (core/unlabelled/corpus.h). `again`:
 * with the weight that there is. `stop` (NULL: never) breaks it off, as does the model's end.
 * NB_BUSY: somebody does already. NB_CONFLICT: the settings were changed meanwhile. NB_STOPPING,
 * NB_NOT_FOUND (the model is gone), NB_DAMAGED, NB_IO, NB_NO_MEMORY. What is too large weighs
 * nothing, and says so. */
int nb_refine(struct nb_engine *engine, struct nb_live *live, bool again, bool (*stop)(void *user),
              void *user, struct nb_error *error);

#endif
