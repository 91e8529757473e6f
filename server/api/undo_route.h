/* SPDX-License-Identifier: Apache-2.0
 *
 * Undo: changes of documents taken back by source, time and ids; the deletion of a label. On the
 * work pool.
 */
#ifndef NB_SERVER_API_UNDO_ROUTE_H
#define NB_SERVER_API_UNDO_ROUTE_H

#include "server/http/request/request.h"

/* POST /v1/models/{model}/undo */
nb_handler nb_route_undo;
/* DELETE /v1/models/{model}/labels/{label}: forgets its documents. */
nb_handler nb_route_delete_label;
/* GET /v1/models/{model}/undo: the notes that undos have left. */
nb_handler nb_route_undone;
/* GET /v1/models/{model}/sources: who taught it, and how many documents. */
nb_handler nb_route_sources;

#endif
