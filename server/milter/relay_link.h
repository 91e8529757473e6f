/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection of a mail server and the one to libmilter that belongs to it. Of the relay's
 * thread alone.
 *
 * A link holds at most one incomplete packet and one piece more on the way to libmilter, and one
 * piece on the way back: a side that does not read stops the other one.
 */
#ifndef NB_MILTER_RELAY_LINK_H
#define NB_MILTER_RELAY_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_link_end {
    int file;
    uint32_t wanted; /* events that epoll is asked for; 0: it is not in the set */
};

struct nb_relay_link {
    struct nb_relay_link *next; /* the relay's */
    bool is_closed;             /* its descriptors are closed */
    /* Private to relay_link.c, but for `partial_since`. */
    int epoll;
    struct nb_link_end outer, inner; /* mail server, libmilter */
    struct nb_buffer up;             /* owned: on the way to libmilter */
    size_t checked;                  /* bytes at its beginning that are whole packets in order */
    struct nb_buffer down;           /* owned: on the way to the mail server */
    bool has_ended;                  /* the mail server sends no more */
    uint64_t partial_since; /* nb_clock_monotonic when the packet that is not complete began; 0 */
};

/* Connects to libmilter for `outer`, which the link owns; it is closed after a failure. Events
 * carry the link as data.ptr. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_link_open(int epoll, int outer, const char *inner, struct nb_relay_link **link,
                 struct nb_error *error);

/* Moves what there is, in both directions, without waiting. Returns false when the link is done:
 * close it. */
bool nb_link_move(struct nb_relay_link *link);

/* Closes both descriptors and frees the buffers; the link itself is the caller's to free. */
void nb_link_close(struct nb_relay_link *link);

#endif
