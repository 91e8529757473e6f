/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a request may do what its route does. For the thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_ADMISSION_H
#define NB_SERVER_REQUEST_ADMISSION_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_request;
struct nb_sender;

/* Whether the client may use the request's route, which is there: by its token (Authorization; for
 * mail software Password too), or by where it comes from; a page of another site may not. Sets
 * request->peer and request->grant. Returns 0, NB_UNKNOWN, NB_FORBIDDEN, or NB_BUSY: the client has
 * guessed too often, or sends more than its rate. */
int nb_request_check_access(struct nb_request *request, const struct nb_sender *sender,
                            struct nb_error *error);

/* Whether the request's token is for a model; without a token it is for all. */
bool nb_request_is_for(const struct nb_request *request, struct nb_string model);

/* The same as an error code, 0 or NB_FORBIDDEN, of a name that may be another thing's. */
int nb_request_check_name(const struct nb_request *request, struct nb_string name,
                          struct nb_error *error);
/* Whether this node of several has the model ([nodes] follow): 0, also for what is no name of a
 * model, or NB_ELSEWHERE: then the request has the URLs of nodes that have it. */
int nb_request_check_follows(struct nb_request *request, struct nb_string model,
                             struct nb_error *error);
/* The same of a model; NB_ELSEWHERE: this node does not follow it. Every route that names a model
 * otherwise than by {model} in its path must ask. */
int nb_request_check_model(struct nb_request *request, struct nb_string model,
                           struct nb_error *error);

/* Counts one more document of a request, behind the first one; NB_BUSY: it is too many. */
int nb_request_count_document(struct nb_request *request, struct nb_error *error);

/* ---- pages in a browser -------------------------------------------------------------------------
 */

/* A browser on this machine may make requests for a page of another site. A daemon without tokens
 * would accept them, so that any page could train its models. Pure functions. */

/* Whether the request comes from a page of another site: its Origin (Fetch standard, section
 * 3.1; NULL: none was sent) is not the Host with this scheme, "http" or "https"; NULL: one of both,
 * where a proxy may speak another one with the browser. */
bool nb_origin_is_foreign(const char *origin, const char *scheme, const char *host);

/* Whether a browser says of a request, by Sec-Fetch-Site (Fetch Metadata, 2.4; NULL: none was
 * sent), that a page of another site or of another port made it. It sends no Origin with what a
 * page merely embeds. */
bool nb_site_is_foreign(const char *fetch_site);

/* Whether a Host (RFC 9110, 7.2; NULL: none was sent) names this machine: an address in digits,
 * localhost or a name below it, or one of `names` (separated by commas; "*": any). A page whose
 * name was made to point here after it was loaded (DNS rebinding) has the daemon for its own site;
 * but its Host is still the page's name. */
bool nb_origin_is_named(const char *host, const char *names);

#endif
