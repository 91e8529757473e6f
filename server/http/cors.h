/* SPDX-License-Identifier: Apache-2.0
 *
 * What a browser is told for a page of another site that [http] origins names (Fetch standard, 3.2,
 * CORS). Such a page shows a token in Authorization; cookies and certificates are never asked for
 * (there is no Access-Control-Allow-Credentials). For the thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_CORS_H
#define NB_SERVER_HTTP_CORS_H

#include <stdbool.h>

#include "server/http/http_call.h"

/* Notes whether replies depend on the Origin, and whether the page that `origin` (NULL: there is
 * none) names may read this one. */
void nb_cors_begin(struct nb_http_call *call, const char *origin);

/* Answers the question of a browser whether the page may send its request (a preflight: OPTIONS
 * with Access-Control-Request-Method), which it asks without a token. Returns whether it was one;
 * then the reply is made: 204, 403 for a page that is not named, 404 for no path. Without [http]
 * origins none is. `url` is the path as it came. */
bool nb_cors_answer(struct nb_http_call *call, const char *url);

enum { NB_CORS_FIELDS = 6 };
struct nb_cors_field {
    const char *name, *value; /* `value` lives as long as the request */
};

/* Fills the header fields of the reply. Returns how many there are. */
size_t nb_cors_fields(const struct nb_http_call *call, struct nb_cors_field fields[NB_CORS_FIELDS]);

#endif
