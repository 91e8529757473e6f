/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a corpus (corpus.h), read from the ledger a few hundred in one snapshot, so that
 * the writer need not wait for pages. A thread that fits; changes made during the reading may be
 * included or not. For core/em/corpus_read alone.
 */
#ifndef NB_CORE_EM_CORPUS_DOCUMENTS_H
#define NB_CORE_EM_CORPUS_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct nb_corpus;
struct nb_engine;
struct nb_live;

/* Where documents come from; all is borrowed. */
struct nb_corpus_source {
    struct nb_engine *engine;
    struct nb_live *live;
    bool (*stop)(void *user); /* true: the reading is broken off; NULL: never */
    void *user;
};

/* Reads all documents without a label and up to `sample` of the others, both in the order of the
 * hashes of their ids. Their features are rows of the model. The corpus has its labels already.
 * Returns 0, NB_TOO_LARGE, NB_STOPPING, NB_NO_MEMORY or what reading the store can return. */
int nb_corpus_read_documents(const struct nb_corpus_source *source, size_t sample,
                             struct nb_corpus *corpus, struct nb_error *error);

#endif
