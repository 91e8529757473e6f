/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that a browser on this machine makes for a page of another site. A daemon without tokens
 * would accept them, so that any page could train its models. Pure functions; any thread.
 */
#ifndef NB_SERVER_HTTP_ORIGIN_H
#define NB_SERVER_HTTP_ORIGIN_H

#include <stdbool.h>

/* Whether the request comes from a page of another site: its Origin (Fetch standard, section
 * 3.1; NULL: none was sent) is not the Host. */
bool nb_origin_is_foreign(const char *origin, const char *host);

/* Whether a Host (RFC 9110, 7.2; NULL: none was sent) names this machine: an address in digits,
 * localhost or a name below it, or one of `names` (separated by commas; "*": any). A page whose
 * name was made to point here after it was loaded (DNS rebinding) has the daemon for its own site;
 * but its Host is still the page's name. */
bool nb_origin_is_named(const char *host, const char *names);

#endif
