/* SPDX-License-Identifier: Apache-2.0
 *
 * Judges a mail: finds the users whose models judge it, loads these models, and gives the verdict.
 * The one place that turns a model's calibrated probability of spam into score, action and symbols,
 * by the thresholds of [filter]. rspamd's HTTP protocol, RSPAMC and SPAMC only write the report
 * differently. Any thread works on one request and one report.
 */
#ifndef NB_SERVER_MAIL_FILTER_H
#define NB_SERVER_MAIL_FILTER_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/http/request.h"
#include "server/http/user_map.h"
#include "server/mail/filter_report.h"

struct nb_config;
struct nb_document;
struct nb_request;
struct nb_server;

/* Judges `document`, a mail, with the user's own model, or with the common model [filter] model if
 * the user's model is not ready or the user cannot name one. For several users the mildest verdict
 * counts, and the report names the pattern [filter] user_model instead of a model. With too little
 * training, or for an empty mail, the report says so; that is no error. `models` are patterns
 * (tokens.h) of the models that the client may use: NB_FORBIDDEN if a user's model matches none of
 * them; a common model that matches none is not asked. With several_users = each, `each` (the
 * caller's; NULL: not wanted) receives two NUL-terminated texts for each user who has a model: the
 * name of the model, and the verdict as nb_filter_status writes it. With `request` (or NULL) a
 * verdict that counts goes into the history of the model that gave it, if the model keeps one.
 * Returns 0 or a code of nb_engine_classify (NB_IO, NB_NO_MEMORY ...). */
int nb_filter_check(struct nb_server *server, const struct nb_config *config, const char *models,
                    const struct nb_document *document, const struct nb_string *users, size_t count,
                    const struct nb_request *request, struct nb_filter_report *report,
                    struct nb_buffer *each, struct nb_error *error);

/* Finds the users whose models judge a mail, and loads these models. For the thread that works on
 * the request. */
/* Finds the users whose models judge a mail, each once: those that [filter] user_map gives for the
 * protocol's user field, which may occur several times; without that field those for its recipient
 * field. There are none when users have no models of their own, or when they are more than
 * classify_models: then the common model judges. The caller frees *users, also after a failure; the
 * strings in it are part of the same memory. Returns 0 or NB_NO_MEMORY. */
int nb_filter_users(const struct nb_request *request, struct nb_string **users, size_t *count,
                    struct nb_error *error);

/* Sets `user` to the user whose model learns the mail of a request, by the protocol's user field;
 * "" if there is none. */
void nb_filter_learner(const struct nb_request *request, char user[NB_USER_NAME]);

/* Checks that this node follows the models that judge the mail of a request. The `prepare` does it,
 * too; it is for routes whose users stand in the body. Returns 0 or as nb_request_check_follows. */
int nb_filter_check_follows(struct nb_request *request, struct nb_error *error);

/* The `prepare` of the routes of mail software. Returns 0 when the models of the users and the
 * common model are in memory (or do not exist), otherwise NB_WAIT while a pool loads them. */
nb_handler nb_filter_prepare;

#endif
