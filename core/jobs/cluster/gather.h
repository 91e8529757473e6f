/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a model as the mixture sees them: a sparse matrix of the presence of words and
 * of values of categories, and a full one of numbers. For core/jobs/cluster alone.
 */
#ifndef NB_CORE_JOBS_CLUSTER_GATHER_H
#define NB_CORE_JOBS_CLUSTER_GATHER_H

#include "core/base/attribute.h"
#include "core/model/live.h"
#include "core/model/state.h"

/* A number that a document has. */
struct nb_gathered_number {
    uint64_t number;    /* core/base/number.h */
    uint32_t document;  /* its place, before nb_gathered_choose */
    uint32_t attribute; /* number of the field */
};

/* A field of numbers that distinguishes clusters. */
struct nb_gathered_scale {
    uint32_t attribute;
    struct nb_moments moments; /* of all its numbers */
    double deviation;          /* above 0 */
};

/* All arrays but the attributes are owned. */
struct nb_gathered {
    struct nb_attributes attributes; /* borrowed; fields that came later are skipped */
    size_t count, room;              /* documents */
    uint64_t *numbers;               /* numbers of the documents' entries */
    size_t *begin;                   /* count + 1, into columns */
    uint32_t *columns;               /* rows, until nb_gathered_choose */
    float *presence;                 /* 1 for each of the columns */
    size_t size, size_room;          /* length of `columns` */
    uint32_t *used; /* of each row: how many documents have it; later its column, or UINT32_MAX */
    size_t rows;    /* length of `used` */
    uint32_t words, word_columns; /* columns for words; for words and values of categories */
    uint32_t *word_rows;          /* of each column, its row */
    uint64_t *word_ids;           /* of each column, the feature that its row had */
    uint32_t category[NB_ATTRIBUTES_MOST]; /* first column of each category that has columns */
    uint32_t categories;
    struct nb_gathered_number *found; /* numbers, in the order of their documents */
    size_t found_count, found_room;
    struct nb_gathered_scale *scales;
    uint64_t chosen_bytes; /* bytes of the arrays that nb_gathered_choose made */
    uint32_t scale_count;
    double *values; /* scale s of document d at d * scale_count + s, less the mean, divided by the
                       deviation; NAN: it has none */
};
void nb_gathered_deinit(struct nb_gathered *gathered);
/* Returns the bytes that `gathered` takes. */
uint64_t nb_gathered_memory(const struct nb_gathered *gathered);

/* Reads the current documents without a label, or with `all` all current documents. NB_TOO_LARGE:
 * there are more than `most`. `stop` (NULL: never) ends it with NB_STOPPING. `attributes` are those
 * of the model; the result borrows them. `hold` (NULL: none) receives the bytes in use, as in
 * struct nb_cluster_options. Returns 0 or a code; the caller deinits in both cases. */
int nb_gather(struct nb_engine *engine, struct nb_live *live, struct nb_attributes attributes,
              bool all, size_t most, bool (*stop)(void *user),
              int (*hold)(void *user, uint64_t bytes, struct nb_error *error), void *user,
              struct nb_gathered *gathered, struct nb_error *error);
/* Chooses what distinguishes clusters. Makes columns for words that at least `least` and at most
 * `most` documents have, and for values of categories that at least two documents have; makes
 * scales for numbers that differ. Drops documents that have none of these. Returns 0, NB_NO_MEMORY,
 * or NB_TOO_LARGE: more than `cells_most` documents times scales. */
int nb_gathered_choose(struct nb_gathered *gathered, const struct nb_live *live, uint32_t least,
                       uint32_t most, size_t cells_most, struct nb_error *error);

#endif
