/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the models that a mail will be shown to. For the thread that works on the request.
 */
#ifndef NB_SERVER_MAIL_FILTER_LOAD_H
#define NB_SERVER_MAIL_FILTER_LOAD_H

#include "server/request/route.h"

/* What the routes of mail software have as their `prepare`: returns 0 when the user's model and the
 * one of all are in memory (or do not exist), otherwise NB_WAIT while they are loaded on a pool. */
nb_handler nb_filter_prepare;

#endif
