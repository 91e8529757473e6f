/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of other sites that may use the daemon ([http] origins): which they are. Pure functions;
 * any thread.
 */
#ifndef NB_SERVER_ACCESS_ORIGINS_H
#define NB_SERVER_ACCESS_ORIGINS_H

#include <stdbool.h>

#include "core/base/error.h"

/* Whether each item of a list is *, or an origin as browsers send it (RFC 6454, 6.2): http or
 * https,
 * "://", a host in ASCII, and a port unless it is the scheme's own; no path, no slash at the end.
 * Returns 0, or NB_INVALID naming the item, what is wrong with it and what would be right. */
int nb_origins_check(const char *list, struct nb_error *error);

/* Whether a checked list has an Origin (Fetch standard, 3.1). "null", which pages without an
 * address of their own send, is in none, not even by *. */
bool nb_origins_have(const char *list, const char *origin);

#endif
