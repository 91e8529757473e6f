/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a model whose documents have several labels, for a fit
 * (core/stack/multilabel_fit.h): all of them, in the order of the hashes of their ids, so that a
 * fit depends on the documents alone. For core/em alone; on the thread that fits.
 */
#ifndef NB_CORE_EM_SEVERAL_DOCUMENTS_H
#define NB_CORE_EM_SEVERAL_DOCUMENTS_H

#include "core/base/error.h"
#include "core/model/live.h"
#include "core/model/state.h"

/* Starts as `{0}`; all owned. */
struct nb_several_documents {
    size_t count;
    uint64_t *numbers; /* of the entry of each */
    uint32_t *sets;    /* label number of each */
    size_t *begin;     /* count + 1, into `rows` */
    struct nb_row_count *rows;
    /* private */
    size_t size, number_room, set_room, begin_room, row_room, hash_room;
    uint64_t *hashes;
};
void nb_several_documents_deinit(struct nb_several_documents *documents);

/* Reads them, a few hundred in one snapshot. `stop` (NULL: never): the reading ends with
 * NB_STOPPING when it returns true. Returns 0, NB_TOO_LARGE (NB_CORPUS_DOCUMENTS_MOST,
 * NB_CORPUS_USES_MOST), NB_STOPPING, or what reading the store can return. */
int nb_several_documents_read(struct nb_engine *engine, struct nb_live *live,
                              bool (*stop)(void *user), void *user,
                              struct nb_several_documents *documents, struct nb_error *error);

#endif
