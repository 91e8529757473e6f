/* SPDX-License-Identifier: Apache-2.0
 *
 * What mail software asks in a request, in whichever protocol: to judge a mail, or to learn it (one
 * mail, one change, through the writer; or the mails in a forward). For the thread that works on
 * the request.
 */
#ifndef NB_SERVER_MAIL_FILTER_REQUEST_H
#define NB_SERVER_MAIL_FILTER_REQUEST_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/http/request/request.h"

struct nb_buffer;
struct nb_envelope;
struct nb_filter_report;
struct nb_receipt;
struct nb_request;

/* Judging the mail of a request, for all doors of mail software alike. For the thread that works on
 * the request. */

/* nb_filter_check for the body of the request and the users that it names; the verdict is logged
 * where that is wanted. `required` and `threshold`: the score that a mail has at that probability,
 * for the log. Returns what nb_filter_check does. */
int nb_filter_judge(struct nb_request *request, double required, double threshold,
                    struct nb_filter_report *report, struct nb_buffer *each,
                    struct nb_error *error);

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
