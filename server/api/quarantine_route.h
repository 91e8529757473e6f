/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes of a model's quarantine.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_API_QUARANTINE_ROUTE_H
#define NB_SERVER_API_QUARANTINE_ROUTE_H

#include "server/http/request/request.h"

nb_handler nb_route_quarantine;        /* what waits, in pages */
nb_handler nb_route_quarantine_effect; /* how it agrees with the model */

/* What is done with it: the verbs of the next route. */
enum { NB_QUARANTINE_APPLY, NB_QUARANTINE_DROP };
nb_handler nb_route_quarantine_settle;

#endif
