/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /v1/models/{model}/cluster.
 */
#ifndef NB_SERVER_CLUSTER_CLUSTER_ROUTE_H
#define NB_SERVER_CLUSTER_CLUSTER_ROUTE_H

#include "core/jobs/cluster/cluster.h"
#include "server/http/request/request.h"

/* Clusters in JSON: what is asked for, and what was found. Any thread. */

nb_handler nb_route_cluster;

#endif
