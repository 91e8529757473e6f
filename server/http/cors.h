/* SPDX-License-Identifier: Apache-2.0
 *
 * The header fields for a browser that shows a page of another site, if [http] origins names the
 * site (Fetch standard, 3.2, CORS). Such a page sends a token in Authorization; cookies and
 * certificates are never requested (there is no Access-Control-Allow-Credentials). For the thread
 * that works on the request.
 */
#ifndef NB_SERVER_HTTP_CORS_H
#define NB_SERVER_HTTP_CORS_H

#include <stdbool.h>

#include "server/http/http_call.h"

/* Notes whether replies depend on the Origin, and whether the page with this `origin` (NULL: none)
 * may read this reply. */
void nb_cors_begin(struct nb_http_call *call, const char *origin);

/* Answers a preflight, by which a browser asks without a token whether the page may send its
 * request (OPTIONS with Access-Control-Request-Method). Returns whether the request was a
 * preflight; then the reply is ready: 204, 403 for an origin that is not listed, 404 for an unknown
 * path. Without [http] origins no request is a preflight. `url` is the raw path. */
bool nb_cors_answer(struct nb_http_call *call, const char *url);

enum { NB_CORS_FIELDS = 6 };
struct nb_cors_field {
    const char *name, *value; /* `value` lives as long as the request */
};

/* Fills the header fields of the reply. Returns how many there are. */
size_t nb_cors_fields(const struct nb_http_call *call, struct nb_cors_field fields[NB_CORS_FIELDS]);

#endif
