/* SPDX-License-Identifier: Apache-2.0
 *
 * Label next: the documents without a label that would teach most, from the history and of those
 * that are stored without one. Any thread; a call takes long and belongs to one thread.
 *
 * A document teaches the more the less sure the model is of it: uncertainty sampling (Lewis and
 * Gale 1994, for two labels: the probability nearest to 1/2). With more labels that is the margin
 * of the winner over the runner-up (Scheffer, Decomain and Wrobel 2001), which for two labels gives
 * the same order. The least sure ones are often near-duplicates of each other, and one of them
 * teaches what all do. So they are chosen one after the other, each time the one with the greatest
 *
 *     (1 - margin) * (1 - greatest similarity to one that is chosen)
 *
 * as maximal marginal relevance does for search results (Carbonell and Goldstein 1998); similarity
 * is the Jaccard similarity of the features, as core/ledger/entries/twins.h estimates it.
 */
#ifndef NB_CORE_JOBS_HISTORY_NEXT_H
#define NB_CORE_JOBS_HISTORY_NEXT_H

#include "core/engine/engine.h"
#include "core/jobs/history/next_document.h"

struct nb_next {
    struct nb_next_document *documents; /* owned; the best first */
    size_t count;
    uint64_t looked_at; /* documents that were judged */
};

/* Finds up to `count` documents among those that are judged anew: up to `most` (at least 1) of the
 * verdicts whose document has no label, those that were least sure when they were given, of the
 * 20,000 newest; and the `most` first stored documents without a label. The caller deinits `next`
 * in any case. `stop` (NULL: never) is asked between some. Returns 0, NB_STOPPING, or as
 * nb_engine_classify. */
int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count, size_t most,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error);
void nb_next_deinit(struct nb_next *next);

#endif
