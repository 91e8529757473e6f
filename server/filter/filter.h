/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict on a mail: the one place that turns the model's calibrated
 * probability of spam into score, action and symbols, by the thresholds of [filter]. The doors
 * (rspamd's HTTP protocol, RSPAMC, SPAMC) only differ in how they write it. Any thread; a report
 * belongs to one.
 */
#ifndef NB_SERVER_FILTER_FILTER_H
#define NB_SERVER_FILTER_FILTER_H

#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/filter/filter_report.h"

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

#endif
