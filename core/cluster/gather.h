/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a model as a sparse matrix of the presence of words, for core/cluster alone.
 */
#ifndef NB_CORE_CLUSTER_GATHER_H
#define NB_CORE_CLUSTER_GATHER_H

#include "core/live/live.h"
#include "core/live/state.h"

/* All arrays are owned. */
struct nb_gathered {
    size_t count, room;     /* documents */
    uint64_t *numbers;      /* of their entries */
    size_t *begin;          /* count + 1, into columns */
    uint32_t *columns;      /* rows, until nb_gathered_choose */
    float *presence;        /* 1 for each of them */
    size_t size, size_room; /* of columns */
    uint32_t *used;      /* of each row, documents that have it; then its column, or UINT32_MAX */
    size_t rows;         /* of `used` */
    uint32_t words;      /* columns */
    uint32_t *word_rows; /* of each column, its row */
    uint64_t *word_ids;  /* and the feature that it had */
};
void nb_gathered_deinit(struct nb_gathered *gathered);

/* Reads the living documents without a label, or `all`; more than `most` are NB_TOO_LARGE. `stop`
 * (NULL: never) ends it with NB_STOPPING. Returns 0 or a code; the caller deinits in both cases. */
int nb_gather(struct nb_engine *engine, struct nb_live *live, bool all, size_t most,
              bool (*stop)(void *user), void *user, struct nb_gathered *gathered,
              struct nb_error *error);
/* Makes columns of the words that tell kinds apart: in at least `least` documents and at most
 * `most`. Documents that have none of them go. Returns 0 or NB_NO_MEMORY. */
int nb_gathered_choose(struct nb_gathered *gathered, const struct nb_live *live, uint32_t least,
                       uint32_t most);

#endif
