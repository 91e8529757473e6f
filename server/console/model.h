/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of a model: its labels, and of one label what its documents are like, in numbers and as
 * a document that was drawn. Without scripts. For the thread that works on the request.
 */
#ifndef NB_SERVER_CONSOLE_MODEL_H
#define NB_SERVER_CONSOLE_MODEL_H

#include "server/request/route.h"

nb_handler nb_route_model_page;

#endif
