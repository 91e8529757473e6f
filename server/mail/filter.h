/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict on a mail, whose models give it, and how these models are loaded: the one place that
 * turns a model's calibrated probability of spam into score, action and symbols, by the thresholds
 * of [filter]. rspamd's HTTP protocol, RSPAMC and SPAMC only write the report differently. Any
 * thread works on one request and one report.
 */
#ifndef NB_SERVER_MAIL_FILTER_H
#define NB_SERVER_MAIL_FILTER_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/http/access/user_map.h"
#include "server/http/request/request.h"
#include "server/mail/filter_report.h"

struct nb_config;
struct nb_document;
struct nb_request;
struct nb_server;

/* Scores `document`, a mail, with the user's own model, or with the one of all when that is not
 * ready or the user cannot name one. Of several users the mildest verdict counts, and the report
 * names no model but the pattern of [filter] user_model. Too little training, or an empty mail,
 * gives a report that says so and is not an error. `models` are patterns (tokens.h) of
 * those that the client may use: NB_FORBIDDEN when a user's model is none of them, and the one of
 * all is not asked when that is none. With several_users = each, `each` (the caller's; NULL: not
 * wanted) receives two texts for each user who has a model, both NUL-terminated: its name, and the
 * verdict as nb_filter_status has it. With `request` (NULL: not wanted) a verdict that counts is
 * kept in the history of the model that gave it, if that keeps one. Returns 0, or what
 * nb_engine_classify does (NB_IO, NB_NO_MEMORY ...). */
int nb_filter_check(struct nb_server *server, const struct nb_config *config, const char *models,
                    const struct nb_document *document, const struct nb_string *users, size_t count,
                    const struct nb_request *request, struct nb_filter_report *report,
                    struct nb_buffer *each, struct nb_error *error);

/* Whose models a mail will be shown to, and loading them. For the thread that works on the request.
 */
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
