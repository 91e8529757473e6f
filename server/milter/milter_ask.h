/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks bayesd about mails, over HTTP connections that are kept open and shared: a mail server opens
 * a milter connection for each of its clients, which rarely brings more than one mail. While bayesd
 * hangs, mails do not wait for it (call.h). Any thread.
 */
#ifndef NB_SERVER_MILTER_MILTER_ASK_H
#define NB_SERVER_MILTER_MILTER_ASK_H

#include <pthread.h>

#include "server/call/call.h"
#include "server/milter/milter_mail.h"
#include "server/milter/milter_reply.h"

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
