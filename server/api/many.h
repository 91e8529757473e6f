/* SPDX-License-Identifier: Apache-2.0
 *
 * One document, judged by several models: a mail to several users, each with a model of his own.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_API_MANY_H
#define NB_SERVER_API_MANY_H

#include "server/http/request/request.h"

nb_handler nb_route_classify_many;

#endif
