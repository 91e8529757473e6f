/* SPDX-License-Identifier: Apache-2.0
 *
 * The route of the backup.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_API_BACKUP_ROUTE_H
#define NB_SERVER_API_BACKUP_ROUTE_H

#include "server/request/request.h"

nb_handler nb_route_backup;

#endif
