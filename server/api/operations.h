/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes for those who run the daemon: health, readiness, metrics, the API's description.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_API_OPERATIONS_H
#define NB_SERVER_API_OPERATIONS_H

#include "core/base/buffer.h"
#include "server/http/request/request.h"

/* The description of the HTTP API that GET /openapi.json answers (OpenAPI 3.1). Read-only; any
 * thread. */
/* The JSON text of server/api/openapi.json, compiled in. */
struct nb_string nb_openapi(void);

nb_handler nb_route_healthz;
nb_handler nb_route_readyz;
nb_handler nb_route_metrics;
nb_handler nb_route_openapi;

#endif
