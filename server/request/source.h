/* SPDX-License-Identifier: Apache-2.0
 *
 * The source of a change: who asked for it. It is kept with the change in the ledger. For the
 * thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_SOURCE_H
#define NB_SERVER_REQUEST_SOURCE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_request;

/* Sets *source to the query parameter `source`, else the name of the token that was shown, else the
 * door by which the request came ("http", "rspamd", "spamc"). It lives as long as the request.
 * NB_UNUSABLE: the parameter is no source (nb_check_source). */
int nb_request_source(const struct nb_request *request, struct nb_string *source,
                      struct nb_error *error);

/* Whether a change by `source` has to wait in the quarantine ([models] quarantine): the name of the
 * token that was shown, or the door, or else the source itself is in the list. If so, *source is
 * the one that is: what a client says of itself does not hide who it is. */
bool nb_request_is_quarantined(const struct nb_request *request, struct nb_string *source);

#endif
