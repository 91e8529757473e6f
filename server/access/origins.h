/* SPDX-License-Identifier: Apache-2.0
 *
 * The origins of other sites whose pages may use the daemon ([http] origins). Pure functions; any
 * thread.
 */
#ifndef NB_SERVER_ACCESS_ORIGINS_H
#define NB_SERVER_ACCESS_ORIGINS_H

#include <stdbool.h>

#include "core/base/error.h"

/* Checks that each item of a list is *, or an origin as browsers send it (RFC 6454, 6.2): http or
 * https, "://", a host in ASCII, and a port unless it is the scheme's default; no path, no slash at
 * the end. Returns 0, or NB_INVALID with the item, its fault and a correct form. */
int nb_origins_check(const char *list, struct nb_error *error);

/* Whether a checked list has an Origin (Fetch standard, 3.1). "null", which pages without an
 * address send, is in no list, and * does not match it. */
bool nb_origins_have(const char *list, const char *origin);

#endif
