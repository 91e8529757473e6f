/* SPDX-License-Identifier: Apache-2.0
 *
 * Mail software's learning: one mail, one change, through the writer; or the mails in a forward.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_FILTER_FILTER_LEARN_H
#define NB_SERVER_FILTER_FILTER_LEARN_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/request/request.h"

struct nb_receipt;

/* With a header field "Attached: yes" the mail is a forward: the mails that are attached to it are
 * learned (tokenizer/mail/mail_attached.h), each as a document of its own, and NB_INVALID says that
 * there are none. What follows is then true of them together.
 *
 * Hands a mail to the user's model, to be learned under `label`, or forgotten when `label` is NULL,
 * and suspends the request: NB_WAIT; `after` goes on with nb_filter_receipt. Other codes fail the
 * request: NB_UNUSABLE, NB_NOT_FOUND (nothing to forget, no auto_create), NB_STOPPING ... */
int nb_filter_learn(struct nb_request *request, struct nb_string mail, const char *label,
                    nb_handler *after, struct nb_error *error);

/* What became of it, of several mails of the one that says most; the request's, until it ends. */
const struct nb_receipt *nb_filter_receipt(const struct nb_request *request);

/* Its Message-ID (of several the first one's) without angle brackets, "" when it has none; the
 * request's, until it ends. */
const char *nb_filter_learned_message(const struct nb_request *request);

/* Whether it was for the model of all, [filter] model, and not for a user's own. */
bool nb_filter_learned_for_all(const struct nb_request *request);

#endif
