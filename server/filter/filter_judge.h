/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging the mail of a request, for all doors of mail software alike. For the thread that works on
 * the request.
 */
#ifndef NB_SERVER_FILTER_FILTER_JUDGE_H
#define NB_SERVER_FILTER_FILTER_JUDGE_H

#include "core/base/error.h"

struct nb_buffer;
struct nb_envelope;
struct nb_filter_report;
struct nb_request;

/* The envelope of the mail as the request tells it, in the header fields of rspamd's protocol: IP,
 * Helo, From and, where it is one, Rcpt. Without any in SPAMC. The strings are the request's. */
struct nb_envelope nb_filter_envelope(const struct nb_request *request);

/* nb_filter_check for the body of the request and the users that it names; the verdict is logged
 * where that is wanted. `required` and `threshold`: the score that a mail has at that probability,
 * for the log. Returns what nb_filter_check does. */
int nb_filter_judge(struct nb_request *request, double required, double threshold,
                    struct nb_filter_report *report, struct nb_buffer *each,
                    struct nb_error *error);

#endif
