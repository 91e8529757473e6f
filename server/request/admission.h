/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a request may do what its route does. For the thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_ADMISSION_H
#define NB_SERVER_REQUEST_ADMISSION_H

#include "core/base/error.h"

struct nb_request;

/* Whether the client may use the request's route, which is there: by its token (Authorization; for
 * mail software Password too), or by where it comes from. Sets request->peer and request->grant.
 * Returns 0, NB_UNKNOWN or NB_FORBIDDEN. */
int nb_request_check_access(struct nb_request *request, struct nb_error *error);

#endif
