/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of the HTTP API that GET /openapi.json answers (OpenAPI 3.1). Read-only; any
 * thread.
 */
#ifndef NB_SERVER_API_OPENAPI_H
#define NB_SERVER_API_OPENAPI_H

#include "core/base/buffer.h"

/* The JSON text of server/api/openapi.json, compiled in. */
struct nb_string nb_openapi(void);

#endif
