/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters in JSON: what is asked for, and what was found. Any thread.
 */
#ifndef NB_SERVER_CLUSTER_CODEC_H
#define NB_SERVER_CLUSTER_CODEC_H

#include "core/jobs/cluster/cluster.h"

/* Fills `wish` but for `stop` and `source`: {"clusters": 20 or "auto", "restarts": 8, "seed": 1,
 * "documents": "unlabelled" or "all", "members": true, "apply": "labels", "shares": "learned" or
 * "equal", "deviations": {"amount": 2.5}}. The caller deinits it, also on failure. Returns 0,
 * NB_INVALID, NB_UNUSABLE (a number out of its bounds, "apply" to all) or NB_NO_MEMORY. */
int nb_json_cluster_read(struct nb_string text, struct nb_cluster_wish *wish,
                         struct nb_error *error);
void nb_json_cluster_wish_deinit(struct nb_cluster_wish *wish);

/* Appends the reply. Returns 0 or NB_NO_MEMORY. */
int nb_json_cluster(struct nb_buffer *out, struct nb_string model,
                    const struct nb_cluster_wish *wish, const struct nb_clustering *clustering);

#endif
