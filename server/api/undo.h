/* SPDX-License-Identifier: Apache-2.0
 *
 * Undo: changes of documents taken back by source, time and ids. On the work pool.
 */
#ifndef NB_SERVER_API_UNDO_H
#define NB_SERVER_API_UNDO_H

#include "server/request/route.h"

/* POST /v1/models/{model}/undo */
nb_handler nb_route_undo;
/* GET /v1/models/{model}/undo: the notes that undos have left. */
nb_handler nb_route_undone;

#endif
