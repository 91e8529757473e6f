/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that a browser is shown at "/". For the thread that works on the request.
 */
#ifndef NB_SERVER_CONSOLE_PAGE_H
#define NB_SERVER_CONSOLE_PAGE_H

#include "server/request/route.h"

nb_handler nb_route_page;

#endif
