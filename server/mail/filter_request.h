/* SPDX-License-Identifier: Apache-2.0
 *
 * The two requests of mail software, in any protocol: to judge a mail, and to learn it (one mail is
 * one change, through the writer; a forward has several mails). For the thread that works on the
 * request.
 */
#ifndef NB_SERVER_MAIL_FILTER_REQUEST_H
#define NB_SERVER_MAIL_FILTER_REQUEST_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/http/request.h"

struct nb_buffer;
struct nb_envelope;
struct nb_filter_report;
struct nb_receipt;
struct nb_request;

/* Judges the mail of a request, in any protocol of mail software. */

/* Calls nb_filter_check for the body of the request and the users that it names, and logs the
 * verdict if verdicts are logged. For the log, a mail has the score `required` at the probability
 * `threshold`. Returns as nb_filter_check. */
int nb_filter_judge(struct nb_request *request, double required, double threshold,
                    struct nb_filter_report *report, struct nb_buffer *each,
                    struct nb_error *error);

/* With the header field "Attached: yes" the mail is a forward: the mails that are attached to it
 * (tokenizer/mail_attached.h) are learned, each as a document of its own; NB_INVALID if there
 * are none. The functions below then concern all these mails together.
 *
 * Hands a mail to the user's model, which learns it under `label`, or forgets it when `label` is
 * NULL. Returns NB_WAIT and suspends the request; it continues in `after`, which calls
 * nb_filter_receipt. Other codes fail the request: NB_UNUSABLE, NB_NOT_FOUND (nothing to forget, no
 * auto_create), NB_STOPPING ... */
int nb_filter_learn(struct nb_request *request, struct nb_string mail, const char *label,
                    nb_handler *after, struct nb_error *error);

/* Returns the result of learning. For several mails: a failure if there is one, else a change if
 * there is one. It belongs to the request and is valid until the request ends. */
const struct nb_receipt *nb_filter_receipt(const struct nb_request *request);

/* Returns the Message-ID of the mail (the first one of several) without angle brackets; "" if it
 * has none. Valid until the request ends. */
const char *nb_filter_learned_message(const struct nb_request *request);

/* Returns whether the common model, [filter] model, learned the mail instead of a user's own. */
bool nb_filter_learned_for_all(const struct nb_request *request);

#endif
