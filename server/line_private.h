/* SPDX-License-Identifier: Apache-2.0
 *
 * What line.c (reading and writing) and line_work.c (the threads) share.
 */
#ifndef NB_SERVER_LINE_PRIVATE_H
#define NB_SERVER_LINE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/line.h"
#include "server/line_head.h"
#include "server/line_routes.h"

enum nb_line_state { NB_LINE_READING, NB_LINE_WORKING, NB_LINE_REPLYING };

struct nb_line_client {
    struct nb_request request; /* the first member: its `connection` is the line */
    struct nb_lines *lines;
    void *owner;
    int file;
    const struct sockaddr *address; /* borrowed */
    enum nb_line_state state;
    struct nb_line_head head;
    struct nb_buffer input;      /* head and body as they came */
    size_t held;                 /* bytes of `input` in server->held_bytes */
    size_t received, sent;       /* bytes of the body, when it was released, and of the reply */
    bool is_begun;               /* the request is counted, and must be ended */
    bool is_ended;               /* the client sends nothing more */
    bool is_cut;                 /* given up during a stop */
    atomic_uint parts;           /* of a wait: its handler has returned, its end has come */
    struct nb_line_client *next; /* in a queue */
};

struct nb_line_queue {
    struct nb_line_client *first, **last;
};

struct nb_lines {
    struct nb_server *server;
    int wake;
    pthread_t *threads;
    unsigned thread_count;
    pthread_mutex_t lock; /* of what stands below; nothing else is taken while it is held */
    pthread_cond_t news;  /* something was added to `waiting`, or is_ending */
    struct nb_line_queue waiting, finished;
    bool is_ending;
};

extern const struct nb_carrier nb_line_carrier; /* line_work.c */

/* Frees what was read, which nobody needs any more. */
void nb_line_client_release(struct nb_line_client *line);

/* The body, as far as it has come, without what follows it. */
struct nb_string nb_line_client_body(const struct nb_line_client *line);

/* Hands a complete request to the threads. */
void nb_line_client_submit(struct nb_line_client *line);

#endif
