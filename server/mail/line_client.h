/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection that speaks a line protocol: reading its one request and sending its one reply,
 * without waiting. Belongs to one thread at a time. For line.c alone.
 */
#ifndef NB_SERVER_MAIL_LINE_CLIENT_H
#define NB_SERVER_MAIL_LINE_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/mail/line_head.h"
#include "server/request/budget.h"
#include "server/request/request.h"
#include "server/request/wait.h"

struct nb_lines;

struct nb_line_client {
    struct nb_request request; /* the first member: its `connection` is the client */
    struct nb_work_job job;    /* in the pool's queue, or in that of the finished */
    struct nb_lines *lines;
    void *owner;
    int file;
    const struct sockaddr *address; /* borrowed */
    struct nb_line_head head;
    struct nb_buffer input; /* head and body as they came */
    struct nb_hold hold;    /* of the memory of `input` */
    size_t received, sent;  /* bytes of the body, when it was released, and of the reply */
    bool is_replying;       /* the reply is made; before, the request is being read */
    bool is_begun;          /* the request is counted, and must be ended */
    bool is_ended;          /* the client sends nothing more */
    bool is_cut;            /* given up: a stop, or no reply may be sent */
    atomic_uint parts;      /* of a wait: its handler has returned, its end has come */
};

/* Reads what there is, within a bound. Returns 0 when the request is complete, NB_LINE_MORE, NB_IO
 * when the connection is broken, or another code: the request is to be refused. */
int nb_line_client_receive(struct nb_line_client *client, struct nb_error *error);

/* The reply is the failure. */
void nb_line_client_refuse(struct nb_line_client *client, const struct nb_error *error);

/* Sends what the socket takes of the reply. Returns 0 when all is out (the request has ended then),
 * NB_LINE_MORE, or NB_IO. */
int nb_line_client_send(struct nb_line_client *client);

/* Frees what was read; the body must not be needed any more. */
void nb_line_client_release(struct nb_line_client *client);

/* Frees all that the client holds, and ends its request as one whose client has gone if it is not
 * answered. */
void nb_line_client_deinit(struct nb_line_client *client);

/* The body, as far as it has come, without what follows it. */
struct nb_string nb_line_client_body(const struct nb_line_client *client);

#endif
