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

#include "core/engine/engine.h"
#include "core/jobs/cluster/clusters.h"

/* Clusters as labels: each document gets the label of its cluster, by its id, as if a user had
 * given it. On the caller's thread, while others train. For core/jobs/cluster alone.
 */

/* An assignment of labels to documents; all members are borrowed. */
struct nb_cluster_labels {
    struct nb_string model, source;
    const uint64_t *numbers;        /* entries of the documents, as they were found */
    const uint32_t *clusters;       /* of each document */
    size_t count;                   /* documents */
    const struct nb_string *labels; /* of each cluster */
    bool (*stop)(void *user);       /* asked before each commit; NULL: never */
    void *user;
};

void nb_clustering_deinit(struct nb_clustering *clustering);

/* Finds clusters of the current documents without a label. The same seed and the same documents
 * give the same. With `apply` the documents get their labels once the result is complete, some
 * hundred in each commit: after an interruption each document has its label or none. The caller
 * deinits *clustering in any case; after a failure only `labelled` is set in it. Returns 0,
 * NB_NOT_FOUND (model), NB_UNUSABLE (a deviation for a name that is no field of numbers),
 * NB_CONFLICT (fewer documents with words or values than clusters), NB_TOO_LARGE (documents, or
 * clusters times words, or documents times fields, or labels), NB_STOPPING, NB_DAMAGED,
 * NB_DISK_FULL, NB_IO or NB_NO_MEMORY. */
int nb_engine_cluster(struct nb_engine *engine, struct nb_string model,
                      const struct nb_cluster_options *options, struct nb_clustering *clustering,
                      struct nb_error *error);

#endif
