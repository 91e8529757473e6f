/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether a request may use its route. For the thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_ADMISSION_H
#define NB_SERVER_HTTP_ADMISSION_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_request;
struct nb_sender;

/* Checks whether the client may use the request's route, which must be set: by its token
 * (Authorization; for mail software Password too), or by its address; a page of another site may
 * not. Sets request->peer and request->grant. Returns 0, NB_UNKNOWN, NB_FORBIDDEN, or NB_BUSY when
 * the client has guessed too often or exceeds its rate. */
int nb_request_check_access(struct nb_request *request, const struct nb_sender *sender,
                            struct nb_error *error);

/* Whether the request's token covers a model; without a token all models are covered. */
bool nb_request_is_for(const struct nb_request *request, struct nb_string model);

/* Like nb_request_is_for, as an error code, 0 or NB_FORBIDDEN; the name may be that of something
 * other than a model. */
int nb_request_check_name(const struct nb_request *request, struct nb_string name,
                          struct nb_error *error);
/* Checks whether this node follows the model ([nodes] follow). Returns 0, also if the text is no
 * name of a model, or NB_ELSEWHERE; then request->urls has the URLs of nodes that follow it. */
int nb_request_check_follows(struct nb_request *request, struct nb_string model,
                             struct nb_error *error);
/* Makes both checks for a model, nb_request_check_name and nb_request_check_follows. Every route
 * that names a model outside {model} in its path must call it. */
int nb_request_check_model(struct nb_request *request, struct nb_string model,
                           struct nb_error *error);

/* Counts one more document of a request, after the first one. NB_BUSY: there are too many. */
int nb_request_count_document(struct nb_request *request, struct nb_error *error);

/* ---- pages in a browser ---------------------------------------------------------------------- */

/* A browser on this machine may make requests for a page of another site. A daemon without tokens
 * would accept them, so that any page could train its models. Pure functions. */

/* Whether the request comes from a page of another site: its Origin (Fetch standard, section 3.1;
 * NULL: none was sent) differs from the Host with this scheme, "http" or "https". With `scheme`
 * NULL both schemes match, for a proxy that may speak another one with the browser. */
bool nb_origin_is_foreign(const char *origin, const char *scheme, const char *host);

/* Whether a browser reports in Sec-Fetch-Site (Fetch Metadata, 2.4; NULL: none was sent) that a
 * page of another site or another port made the request. Browsers send no Origin with resources
 * that a page merely embeds. */
bool nb_site_is_foreign(const char *fetch_site);

/* Whether a Host (RFC 9110, 7.2; NULL: none was sent) names this machine: an address in digits,
 * localhost or a name below it, or one of `names` (separated by commas; "*": any). A page whose
 * name was redirected to this machine after it was loaded (DNS rebinding) counts as the daemon's
 * own site; but its Host is still the page's name. */
bool nb_origin_is_named(const char *host, const char *names);

#endif
