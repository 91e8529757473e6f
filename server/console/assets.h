/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the console, compiled in: server/console/web. Read-only; any thread.
 */
#ifndef NB_SERVER_CONSOLE_ASSETS_H
#define NB_SERVER_CONSOLE_ASSETS_H

#include "core/base/string.h"

struct nb_asset {
    const char *name; /* of the file, without a folder */
    const char *type; /* its media type */
    const char *begin, *end;
};

/* The file of that name, or NULL. */
const struct nb_asset *nb_asset_find(struct nb_string name);

#endif
