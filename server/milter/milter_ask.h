/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks bayesd about mails and reads its replies, over HTTP connections that are kept open and
 * shared: a mail server opens a milter connection for each of its clients, which rarely brings more
 * than one mail. While bayesd hangs, mails do not wait for it (call.h). Any thread.
 */
#ifndef NB_SERVER_MILTER_MILTER_ASK_H
#define NB_SERVER_MILTER_MILTER_ASK_H

#include <jansson.h>
#include <pthread.h>

#include "core/base/error.h"
#include "server/http/call/call.h"
#include "server/milter/milter_mail.h"

/* The reply of bayesd about a mail (/checkv2 of rspamd's protocol), checked strictly: a reply of
 * another form is not a verdict. Any thread; a reply belongs to one thread. */
enum {
    NB_MILTER_REPLY_HEADERS = 1024,    /* header fields that a reply may add, and remove */
    NB_MILTER_REPLY_NAME_BYTES = 160,  /* most bytes of the name of a header field */
    NB_MILTER_REPLY_VALUE_BYTES = 8192 /* most bytes of a folded field, or an SMTP reply */
};

enum nb_milter_action {
    NB_MILTER_DO_PASS, /* pass the mail, with the header fields of the reply */
    NB_MILTER_DO_REWRITE_SUBJECT,
    NB_MILTER_DO_SOFT_REJECT,
    NB_MILTER_DO_REJECT
};

/* All pointers but `json` point into `json`, or are static. */
struct nb_milter_reply {
    enum nb_milter_action action;
    const char *name; /* bayesd's name of the action */
    double score;
    const char *subject; /* the new one, or NULL */
    const char *text;    /* for the SMTP reply, or NULL */
    json_t *add;         /* header fields to add: {name: text}, or NULL */
    json_t *remove;      /* fields to remove: {name: index among the fields of that name, from 1; 0:
                            all}, or NULL */
    json_t *json;        /* owned */
};

/* Reads a reply. `json` belongs to `reply` afterwards, also after a failure. Returns 0 or
 * NB_CALL_PROTOCOL. */
int nb_milter_reply_read(json_t *json, struct nb_milter_reply *reply, struct nb_error *error);

void nb_milter_reply_deinit(struct nb_milter_reply *reply);

enum { NB_ASK_IDLE = 16 /* idle connections that are kept open */ };

struct nb_ask {
    const struct nb_call_target *target; /* borrowed */
    pthread_mutex_t lock;                /* guards the members below */
    struct nb_breaker breaker;
    struct nb_call *idle[NB_ASK_IDLE];
    size_t idle_count;
};

/* Opens a first call, which checks the URL, and keeps it. Call nb_call_setup before. `target` is
 * borrowed until nb_ask_deinit. After bayesd has hung it gets no request for `pause` seconds; 0: no
 * pause. Returns 0, NB_NO_MEMORY or NB_CALL_BAD_URL. */
int nb_ask_init(struct nb_ask *ask, const struct nb_call_target *target, uint64_t pause,
                struct nb_error *error);

/* Closes the idle connections; no thread may be asking. */
void nb_ask_deinit(struct nb_ask *ask);

/* Asks about a mail. Returns 0 with the reply, or a code below 0 when there is no verdict;
 * nb_milter_reply_deinit is needed in both cases. */
int nb_ask_about(struct nb_ask *ask, const struct nb_milter_mail *mail,
                 struct nb_milter_reply *reply, struct nb_error *error);

#endif
