/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of the history, and of single documents by their ids: a label for one, and forgetting
 * it. For the thread that works on the request.
 */
#ifndef NB_SERVER_HISTORY_HISTORY_ROUTE_H
#define NB_SERVER_HISTORY_HISTORY_ROUTE_H

#include "core/jobs/history/history_listing.h"
#include "server/http/request/request.h"

nb_handler nb_route_history;         /* the verdicts that are kept, newest first, in pages */
nb_handler nb_route_history_verdict; /* one of them, and why */
nb_handler nb_route_next;            /* the documents that would teach most */
nb_handler nb_route_label_document;
nb_handler nb_route_forget_document;

#endif
