/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose models a mail will be shown to, and loading them. For the thread that works on the request.
 */
#ifndef NB_SERVER_MAIL_FILTER_LOAD_H
#define NB_SERVER_MAIL_FILTER_LOAD_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/request/route.h"

/* The users whose models judge a mail, each once: those of the protocol's user field, which may
 * come several times; where there is none, the recipients of its recipient field. None where there
 * are no models of users, or more users than classify_models: then the model of all judges. *users
 * is the caller's to free, with a failure too; the strings are the request's. Returns 0 or
 * NB_NO_MEMORY. */
int nb_filter_users(const struct nb_request *request, struct nb_string **users, size_t *count,
                    struct nb_error *error);

/* What the routes of mail software have as their `prepare`: returns 0 when the models of the users
 * and the one of all are in memory (or do not exist), otherwise NB_WAIT while they are loaded on a
 * pool. */
nb_handler nb_filter_prepare;

#endif
