/* SPDX-License-Identifier: Apache-2.0
 *
 * The handlers of the API's paths, which the table in server/routes.c names. The file of each noun
 * has its handlers and describes them. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_HANDLERS_H
#define NB_SERVER_API_HANDLERS_H

#include "server/http/request.h"

/* documents_route.c, many.c: train, untrain, classify and tokenize (enum nb_verb). */
nb_handler nb_documents_prepare;
nb_handler nb_route_documents;           /* a whole body, or the end of a stream of lines */
nb_line_handler nb_route_documents_line; /* a line of NDJSON */
nb_handler nb_route_classify_many;       /* one document, judged by several models */

/* decision.c: evaluates the past verdicts of a model. */
nb_handler nb_route_evaluation;

/* models_route.c: models, their labels, vocabularies and learned documents. */
nb_handler nb_route_models, nb_route_model, nb_route_put_model, nb_route_copy_model,
    nb_route_delete_model, nb_route_rename_label, nb_route_refit, nb_route_vocabulary,
    nb_route_document;

/* dump_route.c: export, import and backup. */
nb_handler nb_route_export, nb_route_backup;
nb_handler nb_route_import; /* the end of an import's lines */
nb_line_handler nb_route_import_line;

/* challenger_route.c: another model with other settings that learns the same. */
nb_handler nb_route_make_challenger, nb_route_challenger, nb_route_drop_challenger,
    nb_route_promote_challenger;
/* Adds the comparison with the challenger to the written evaluation of a model, if it has one.
 * Returns as nb_challenger_compare. */
nb_handler nb_evaluation_add_challenger;

/* generate_route.c: draws a document from a model, and shows the estimates that it is drawn
 * from. */
nb_handler nb_route_sample, nb_route_distribution;

/* quarantine_route.c: lists the waiting changes in pages, shows their effect on the evaluation, and
 * applies or drops them. */
nb_handler nb_route_quarantine, nb_route_quarantine_effect, nb_route_quarantine_settle;
enum { NB_QUARANTINE_APPLY, NB_QUARANTINE_DROP }; /* verbs of nb_route_quarantine_settle */

/* undo_route.c: undoes changes of documents by source, time and ids; deletes a label with its
 * documents. */
nb_handler nb_route_undo, nb_route_delete_label;
nb_handler nb_route_undone;  /* the notes that undos have left */
nb_handler nb_route_sources; /* the sources of a model's documents, with counts */

/* history_route.c: kept verdicts, and single documents by their ids. */
nb_handler nb_route_history;         /* kept verdicts, newest first, in pages */
nb_handler nb_route_history_verdict; /* one kept verdict with its explanation */
nb_handler nb_route_next;            /* the documents whose labels would teach most */
nb_handler nb_route_label_document, nb_route_forget_document;

/* suspects_route.c: documents whose labels are probably wrong. */
nb_handler nb_route_suspects;

/* unlabelled_route.c: documents without a label. */
nb_handler nb_route_em;       /* what EM found */
nb_handler nb_route_start_em; /* runs EM first */
nb_handler nb_route_cluster;

/* networks.c, network_learn_route.c, network_ask.c: Bayes nets. */
nb_handler nb_route_networks, nb_route_network, nb_route_put_network, nb_route_delete_network;
nb_handler nb_route_learn_network; /* learns a network from the rows of the body */
nb_handler nb_route_post_network;  /* stores the given network, or learns one from a model */
nb_handler nb_route_query_network;

/* operations.c: health, readiness, metrics, the description of the API, and what the client may do.
 */
nb_handler nb_route_healthz, nb_route_readyz, nb_route_metrics, nb_route_openapi, nb_route_access;
nb_handler nb_route_traffic;

/* ---- shared by handlers ---------------------------------------------------------------------- */

/* Replies with the request's model after the request has created or changed it. `dropped` is the
 * number of changes in its quarantine that could not be kept. Returns 0 or a code, as a handler
 * does. */
int nb_reply_model(struct nb_request *request, uint64_t dropped, struct nb_error *error);

/* The description of the HTTP API (OpenAPI 3.1): the JSON text of server/api/openapi.json, compiled
 * in. Read-only; any thread. */
struct nb_string nb_openapi(void);

#endif
