/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of export, import and backup.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_API_DUMP_ROUTE_H
#define NB_SERVER_API_DUMP_ROUTE_H

#include "server/http/request/request.h"

nb_handler nb_route_export;
nb_handler nb_route_import; /* the end of an import's lines */
nb_line_handler nb_route_import_line;

/* The route of the backup.
 * For the thread that works on the request. */
nb_handler nb_route_backup;

#endif
