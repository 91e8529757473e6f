/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the mail servers and libmilter: accepts connections, checks what mail servers send
 * (packet.h), hands it on to libmilter's own socket, which nobody else can reach, and brings its
 * answers back. Who sends what is no packet loses its connection, and no one else's mail is
 * touched.
 *
 * One thread with epoll(7) does all of it. The functions below are for the main thread.
 */
#ifndef NB_MILTER_RELAY_H
#define NB_MILTER_RELAY_H

#include <stddef.h>

#include "core/base/error.h"

struct nb_relay_settings {
    int listener;       /* socket for mail servers; the relay closes it */
    const char *inner;  /* path of libmilter's socket; borrowed until nb_relay_stop */
    size_t connections; /* at the same time; more are closed as they come */
    unsigned seconds;   /* in which a packet that has begun must be complete */
};

struct nb_milter_relay;

/* Starts the thread. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_relay_start(const struct nb_relay_settings *settings, struct nb_milter_relay **relay,
                   struct nb_error *error);

/* Takes no more connections; those that are open go on. */
void nb_relay_close_listener(struct nb_milter_relay *relay);

/* Ends the thread and all connections, frees the relay and sets *relay to NULL. */
void nb_relay_stop(struct nb_milter_relay **relay);

#endif
