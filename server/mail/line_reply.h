/* SPDX-License-Identifier: Apache-2.0
 *
 * What the replies of both line protocols have in common. Pure functions; any thread.
 */
#ifndef NB_SERVER_MAIL_LINE_REPLY_H
#define NB_SERVER_MAIL_LINE_REPLY_H

struct nb_request;

/* How a failure is told, by number and name of sysexits.h. */
struct nb_line_failure {
    int code;
    const char *name;
    const char *title; /* as spamd words it */
};

/* The one that an HTTP status stands for. */
const struct nb_line_failure *nb_line_failure_of(unsigned status);

/* The reply is what was appended to reply.body. Returns 0. */
int nb_line_reply(struct nb_request *request);

#endif
