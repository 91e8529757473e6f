/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose models a mail will be shown to, and loading them. For the thread that works on the request.
 */
#ifndef NB_SERVER_FILTER_FILTER_LOAD_H
#define NB_SERVER_FILTER_FILTER_LOAD_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/access/user_map.h"
#include "server/request/request.h"

/* The users whose models judge a mail, each once: those whom [filter] user_map finds behind the
 * protocol's user field, which may come several times; where there is none, the recipients of its
 * recipient field. None where there are no models of users, or more users than classify_models:
 * then the model of all judges. *users is the caller's to free, with the strings in it, with a
 * failure too. Returns 0 or NB_NO_MEMORY. */
int nb_filter_users(const struct nb_request *request, struct nb_string **users, size_t *count,
                    struct nb_error *error);

/* The user who learns the mail of a request: whom the protocol's user field means; "" for nobody.
 */
void nb_filter_learner(const struct nb_request *request, char user[NB_USER_NAME]);

/* What the routes of mail software have as their `prepare`: returns 0 when the models of the users
 * and the one of all are in memory (or do not exist), otherwise NB_WAIT while they are loaded on a
 * pool. */
nb_handler nb_filter_prepare;

#endif
