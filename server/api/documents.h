/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes that take documents: train, untrain, classify and tokenize (enum nb_verb), in one loop
 * for all verbs and all kinds of body. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_DOCUMENTS_H
#define NB_SERVER_API_DOCUMENTS_H

#include "server/request/route.h"

nb_handler nb_documents_prepare;
nb_handler nb_route_documents;           /* a whole body, or the end of a stream of lines */
nb_line_handler nb_route_documents_line; /* a line of NDJSON */

#endif
