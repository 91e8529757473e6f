/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether a request may use its route. For the thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_ADMISSION_H
#define NB_SERVER_HTTP_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

struct nb_request;
struct nb_sender;

/* Checks whether the client may use the request's route, which must be set, as request->peer must:
 * by its token (Authorization; for mail software Password too), or by its address; a page of
 * another site may not. Sets request->grant. Returns 0, NB_UNKNOWN, NB_FORBIDDEN, or NB_BUSY when
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

/* A request's query parameters, and its header fields where a parameter may replace them. For the
 * thread that works on the request.
 */

struct nb_request;

/* The source of a change: the client that requested it. It is kept with the change in the ledger.
 * For the thread that works on the request. */

/* Sets *source to the query parameter `source`, else to the name of the token in the request, else
 * to the protocol by which the request came ("http", "rspamd", "spamc"). It lives as long as the
 * request. NB_UNUSABLE: the parameter is no valid source (nb_check_source). */
int nb_request_source(const struct nb_request *request, struct nb_string *source,
                      struct nb_error *error);

/* Whether a change by `source` must wait in the quarantine ([models] quarantine), because the list
 * has the name of the request's token, the protocol, or the source itself. If so, sets *source to
 * that entry: a client cannot hide its identity by naming another source. */
bool nb_request_is_quarantined(const struct nb_request *request, struct nb_string *source);

/* Returns the value of a query parameter; bytes == NULL when it was not given. */
struct nb_string nb_request_query(const struct nb_request *request, const char *name);

/* Sets *value to the parameter, a whole number from 0 to `most`, or to `otherwise` if it was not
 * given. NB_INVALID names the parameter and the range. */
int nb_request_query_count(const struct nb_request *request, const char *name, uint64_t otherwise,
                           uint64_t most, uint64_t *value, struct nb_error *error);

/* Sets *rows to the parameter `limit` of a listing: at least 1, and at most listing_rows of the
 * configuration; `usual`, or fewer, if it was not given. Returns 0 or NB_INVALID. */
int nb_request_query_rows(const struct nb_request *request, uint64_t usual, size_t *rows,
                          struct nb_error *error);

/* Sets *value to the parameter, a number from 0 to `most`, in digits with an optional fraction and
 * exponent; leaves it alone if it was not given. NB_INVALID names the parameter and the range. */
int nb_request_query_number(const struct nb_request *request, const char *name, double most,
                            double *value, struct nb_error *error);

/* Adds a parameter; both strings are decoded in place and borrowed. NB_INVALID: the route does not
 * know the parameter (the message names the known ones), it was given twice, or its encoding is
 * broken. */
int nb_request_add_query(struct nb_request *request, char *name, size_t name_length, char *value,
                         size_t value_length, struct nb_error *error);

/* Returns the value of a header field (its name in any case); on routes for mail software a query
 * parameter of that name counts too. bytes == NULL when there is none. */
struct nb_string nb_request_field(const struct nb_request *request, const char *name);

/* Percent-decodes a text in place; a '+' stays a '+'. Returns the new length, or SIZE_MAX when an
 * escape is broken or gives a NUL. */
size_t nb_percent_decode(char *text, size_t length);

#endif
