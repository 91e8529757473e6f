/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters of a model's documents: the topics of texts that nobody has labelled yet. Fits a mixture
 * (core/jobs/mixture/mixture.h) over the presence of words, the values of categories, and numbers.
 *
 * On the caller's thread. The bags come from the ledger, some hundred documents in one snapshot, so
 * that nobody waits for it. Until it returns it takes 8 bytes for each word of a document, 24 for
 * each number, and for each cluster and word 24, or 32 if it also chooses the number of clusters.
 * There are at most NB_CLUSTER_CELLS_MOST numbers, and as many pairs of cluster and word. The
 * options' `hold` receives the bytes.
 */
#ifndef NB_CORE_JOBS_CLUSTER_CLUSTER_H
#define NB_CORE_JOBS_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/attribute.h"
#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "core/engine/engine.h"

enum {
    NB_CLUSTERS_MOST = 200,
    NB_CLUSTER_RESTARTS_MOST = 100,
    NB_CLUSTER_WORDS = 10,
    NB_CLUSTER_NEAREST = 5,
    NB_CLUSTER_DOCUMENTS_MOST = 200000,
    NB_CLUSTER_CELLS_MOST = 16 * 1024 * 1024, /* clusters times words; documents times numbers */
};

/* A known deviation of a field of numbers, the same in all clusters. */
struct nb_cluster_deviation {
    char field[NB_ATTRIBUTE_NAME_MOST + 1];
    double deviation; /* above 0 */
};

struct nb_cluster_options {
    uint32_t clusters; /* 0: as many as give the least Bayesian information criterion */
    uint32_t restarts; /* random starts, at least 1; the likeliest result counts */
    uint64_t seed;
    bool all;              /* also uses documents with a label */
    bool members;          /* the result lists all documents of each cluster */
    bool apply;            /* each cluster's documents get a label of its own; not with `all` */
    bool has_equal_shares; /* all clusters are as probable before a document is seen */
    const struct nb_cluster_deviation *deviations; /* borrowed */
    size_t deviation_count;
    struct nb_string source;  /* with `apply`: the source that is kept with the changes */
    bool (*stop)(void *user); /* asked frequently; NULL: never */
    /* Receives the bytes in use while documents are read, and before a fit takes more. Returns 0,
     * or a code that ends the clustering with `error`. NULL: no limit. */
    int (*hold)(void *user, uint64_t bytes, struct nb_error *error);
    void *user;
};

struct nb_cluster_word {
    char *text;   /* owned */
    double share; /* share among the cluster's words; a value's share among those of its field */
    double lift;  /* ln of that share divided by the word's share in all documents */
};

/* The distribution of a field's numbers in a cluster. */
struct nb_cluster_number {
    double mean, deviation;
};

struct nb_cluster {
    uint64_t documents;
    double share; /* of all documents, each counted with its probability */
    char *label;  /* owned; given to its documents; NULL: none (no `apply`, or no documents) */
    struct nb_cluster_word words[NB_CLUSTER_WORDS]; /* the most telling: greatest share * lift */
    size_t word_count;
    struct nb_cluster_word values[NB_CLUSTER_WORDS]; /* the most telling values of categories */
    size_t value_count;
    struct nb_cluster_number *numbers;            /* distributions of each field's numbers; owned */
    struct nb_buffer nearest[NB_CLUSTER_NEAREST]; /* ids of the surest documents; owned */
    size_t nearest_count;
    struct nb_buffer *members; /* ids of all its documents, in the order of their entries; owned */
    size_t member_count, member_room;
};

struct nb_clustering {
    struct nb_cluster *clusters; /* owned; the largest first */
    size_t count;
    uint64_t documents, words; /* documents and words that the clustering used */
    bool has_values;           /* there are values of categories */
    char **fields;             /* names of the fields of numbers; owned */
    size_t field_count;
    uint64_t labelled; /* with `apply`: documents that got a label; the others changed meanwhile */
    double log_likelihood, bic;
    unsigned iterations; /* iterations of the chosen fit */
};

void nb_clustering_deinit(struct nb_clustering *clustering);

/* Finds clusters of the current documents without a label. The same seed and the same documents
 * give the same result. With `apply` the documents get their labels once the result is complete,
 * some hundred in each commit: after an interruption each document has its label or none. The
 * caller deinits *clustering in any case; after a failure only `labelled` is set in it. Returns 0,
 * NB_NOT_FOUND (model), NB_UNUSABLE (a deviation for a name that is no field of numbers),
 * NB_CONFLICT (fewer documents with words or values than clusters), NB_TOO_LARGE (documents, or
 * clusters times words, or documents times fields, or labels), NB_STOPPING, NB_DAMAGED,
 * NB_DISK_FULL, NB_IO or NB_NO_MEMORY. */
int nb_engine_cluster(struct nb_engine *engine, struct nb_string model,
                      const struct nb_cluster_options *options, struct nb_clustering *clustering,
                      struct nb_error *error);

#endif
