/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of models: list, show, make, change and delete them, rename labels, their vocabularies
 * and documents. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_MODELS_ROUTE_H
#define NB_SERVER_API_MODELS_ROUTE_H

#include <stdint.h>

#include "server/http/request/request.h"

nb_handler nb_route_models;
nb_handler nb_route_model;
nb_handler nb_route_put_model;
nb_handler nb_route_copy_model;
nb_handler nb_route_delete_model;
nb_handler nb_route_rename_label;
nb_handler nb_route_refit;
nb_handler nb_route_vocabulary;
nb_handler nb_route_document;

/* Replies with the model of the request, which was made or changed. `dropped`: changes in its
 * quarantine that were not kept. Returns 0 or a code, as a handler does. */
int nb_reply_model(struct nb_request *request, uint64_t dropped, struct nb_error *error);

#endif
