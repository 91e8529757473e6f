/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions behind the routes: what each path does. Called by HTTP threads only, one at a time
 * for one request; see nb_handler and nb_line_handler in router.h.
 */
#ifndef NB_SERVER_ROUTES_H
#define NB_SERVER_ROUTES_H

#include "server/router.h"

nb_handler nb_route_train; /* train and untrain: the route's pattern tells which */
nb_handler nb_route_classify;
nb_handler nb_route_tokenize;
nb_line_handler nb_route_train_line;
nb_line_handler nb_route_classify_line;
nb_line_handler nb_route_tokenize_line;

nb_handler nb_route_models;
nb_handler nb_route_model;
nb_handler nb_route_put_model;
nb_handler nb_route_delete_model;
nb_handler nb_route_vocabulary;
nb_handler nb_route_document;
nb_handler nb_route_evaluation;

nb_handler nb_route_export;
nb_handler nb_route_import; /* the end of an import's lines */
nb_line_handler nb_route_import_line;

nb_handler nb_route_rspamd_check; /* the path tells the shape of the reply */
nb_handler nb_route_rspamd_learn; /* learnspam and learnham: the path tells which */
nb_handler nb_route_rspamd_ping;
nb_handler nb_route_rspamd_stat;
nb_handler nb_route_rspamd_auth;

nb_handler nb_route_healthz;
nb_handler nb_route_readyz;
nb_handler nb_route_metrics;
nb_handler nb_route_openapi;
nb_handler nb_route_page;

#endif
