/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks bayesd about mails, over HTTP connections that are kept and shared: a mail server opens a
 * milter connection for each client, which seldom brings more than one mail. Any thread.
 */
#ifndef NB_MILTER_ASK_H
#define NB_MILTER_ASK_H

#include <pthread.h>

#include "server/client/call.h"
#include "server/milter/mail.h"
#include "server/milter/verdict.h"

enum { NB_ASK_IDLE = 16 }; /* connections that are kept while nothing is to be asked */

struct nb_ask {
    const struct nb_client *client; /* borrowed */
    pthread_mutex_t lock;           /* of the two below */
    struct nb_call *idle[NB_ASK_IDLE];
    size_t idle_count;
};

/* Tries whether a call can be opened, and keeps it. nb_call_setup comes before. NB_NO_MEMORY,
 * NB_CLIENT_USAGE (an impossible URL). */
int nb_ask_init(struct nb_ask *ask, const struct nb_client *client, struct nb_error *error);

/* Closes the idle connections. */
void nb_ask_deinit(struct nb_ask *ask);

/* Asks about a mail. Returns 0, or a code below 0 for whatever kept bayesd from giving a verdict;
 * nb_verdict_deinit in both cases. */
int nb_ask_about(struct nb_ask *ask, const struct nb_milter_mail *mail, struct nb_verdict *verdict,
                 struct nb_error *error);

#endif
