/* SPDX-License-Identifier: Apache-2.0
 *
 * A clustering under way, for core/jobs/cluster alone.
 */
#ifndef NB_CORE_JOBS_CLUSTER_CLUSTERING_H
#define NB_CORE_JOBS_CLUSTER_CLUSTERING_H

#include "core/jobs/cluster/clusters.h"
#include "core/jobs/cluster/gather.h"
#include "core/jobs/mixture/mixture.h"

enum { NB_CLUSTER_SLICE_DOCUMENTS = 500 }; /* in one snapshot */

struct nb_clustering_run {
    struct nb_engine *engine;
    struct nb_live *live;
    const struct nb_cluster_wish *wish;
    struct nb_published *published; /* the fields are its settings' */
    struct nb_gathered gathered;
    double *known; /* owned; by scale, variances that the wish knows, or 0 */
    struct nb_mixture best;
    double best_bic;
    double *shares;  /* owned; of each column in all documents, among the words or the category's
                        values */
    uint32_t *order; /* owned; clusters, the largest first */
    uint64_t *sizes; /* owned; documents of each */
    struct nb_clustering *result;
};

/* Makes clustering->result of the best mixture, the largest cluster first. Returns 0, NB_NO_MEMORY,
 * NB_DAMAGED or NB_IO; the result is the caller's to deinit in any case. */
int nb_clustering_tell(struct nb_clustering_run *clustering, struct nb_error *error);

#endif
