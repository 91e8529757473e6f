/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters as labels: each document gets the label of its cluster, by its id, as if somebody had
 * labelled it so. On the caller's thread, while others go on to train. For core/jobs/cluster alone.
 */
#ifndef NB_CORE_JOBS_CLUSTER_APPLY_H
#define NB_CORE_JOBS_CLUSTER_APPLY_H

#include "core/engine/engine.h"

/* Which document gets which label; all of it is borrowed. */
struct nb_cluster_labels {
    struct nb_string model, source;
    const uint64_t *numbers;        /* entries of the documents, as they were found */
    const uint32_t *clusters;       /* of each document */
    size_t count;                   /* documents */
    const struct nb_string *labels; /* of each cluster */
    bool (*stop)(void *user);       /* asked before each commit; NULL: never */
    void *user;
};

/* Labels the documents that are still as they were found, some hundred in one commit, and adds to
 * *labelled how many it has labelled, also when it fails. Returns 0, NB_NOT_FOUND (model),
 * NB_UNUSABLE (source), NB_STOPPING, or why a change was not made (NB_TOO_LARGE, NB_DISK_FULL ...).
 */
int nb_cluster_apply(struct nb_engine *engine, const struct nb_cluster_labels *what,
                     uint64_t *labelled, struct nb_error *error);

#endif
