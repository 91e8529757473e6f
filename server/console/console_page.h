/* SPDX-License-Identifier: Apache-2.0
 *
 * The console: the page at "/", and the files that it loads. Everybody gets them, even without a
 * token: the page requests all that it shows from the API. For the thread that works on the
 * request.
 */
#ifndef NB_SERVER_CONSOLE_CONSOLE_PAGE_H
#define NB_SERVER_CONSOLE_CONSOLE_PAGE_H

#include "core/base/string.h"
#include "server/http/request.h"

/* The files of the console, compiled in: server/console/web. Read-only; any thread. */
struct nb_asset {
    const char *name; /* name of the file, without a folder */
    const char *type; /* its media type */
    const char *begin, *end;
};

/* GET / and GET /console/{file}. */
nb_handler nb_route_page, nb_route_asset;

#endif
