/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a corpus (em_corpus.h). On a thread that fits a model.
 *
 * Bags are read from the ledger, a few hundred in one snapshot, and counts a few thousand rows at a
 * time under the model's read lock, so that neither the writer nor other readers wait long. Changes
 * made during the reading may be included or not.
 */
#ifndef NB_CORE_EM_CORPUS_READ_H
#define NB_CORE_EM_CORPUS_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct nb_corpus;
struct nb_engine;
struct nb_parent_chain;
struct nb_live;

/* The documents of a corpus (em_corpus.h), read from the ledger a few hundred in one snapshot, so
 * that the writer need not wait for pages. On a thread that fits a model. Changes made during the
 * reading may be included or not. For core/em/corpus_read alone. */

/* Where documents come from; all is borrowed. */
struct nb_corpus_source {
    struct nb_engine *engine;
    struct nb_live *live;
    bool (*stop)(void *user); /* true: the reading ends early; NULL: never */
    void *user;
};

/* Reads all documents without a label of the chain's model, and up to `sample` of the
 * others. Words are those that remain after min_count and skip_top (em_corpus.h). `is_binary`:
 * count documents instead of occurrences. The reading ends with NB_STOPPING when `stop` (NULL:
 * never) returns true. The caller deinits *corpus in any case. Returns 0, NB_TOO_LARGE (a limit
 * above is exceeded), NB_STOPPING, or what reading the store can return. */
int nb_corpus_read(struct nb_engine *engine, struct nb_parent_chain *chain, bool is_binary,
                   size_t sample, bool (*stop)(void *user), void *user, struct nb_corpus *corpus,
                   struct nb_error *error);

#endif
