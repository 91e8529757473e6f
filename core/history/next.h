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
 * is the Jaccard similarity of the features, as core/store/twins.h estimates it.
 */
#ifndef NB_CORE_HISTORY_NEXT_H
#define NB_CORE_HISTORY_NEXT_H

#include "core/engine/engine.h"

struct nb_next_document {
    char *id, *verdict;         /* owned; the label that wins */
    char *message_id, *subject; /* owned; may be empty */
    char *words;                /* owned; some words of the text, with blanks between */
    double probability, margin; /* of the winner; over the runner-up */
    int64_t time;               /* milliseconds since 1970: of the verdict, or when it was stored */
    bool is_remembered;         /* the history has it; else it is stored */
};
struct nb_next {
    struct nb_next_document *documents; /* owned; the best first */
    size_t count;
    uint64_t looked_at; /* documents that were judged */
};

/* Finds up to `count` documents, of the 2,000 newest verdicts whose document has no label and the
 * 2,000 first stored documents without one. The caller deinits `next` in any case. `stop` (NULL:
 * never) is asked between some. Returns 0, NB_STOPPING, or as nb_engine_classify. */
int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error);
void nb_next_deinit(struct nb_next *next);

#endif
