/* SPDX-License-Identifier: Apache-2.0
 *
 * A request's query parameters, and its header fields where a parameter may replace them. For the
 * thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_QUERY_H
#define NB_SERVER_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

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
