/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of HTTP: one table, which the server, the metrics and the test of openapi.json share.
 * Read-only; any thread.
 */
#ifndef NB_SERVER_ROUTES_H
#define NB_SERVER_ROUTES_H

#include <stddef.h>

#include "server/http/request.h"

/* Returns the table and sets *count. */
const struct nb_route *nb_route_table(size_t *count);

#endif
