/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the ceiling: what the HTTP library alone does on this machine. The library is started as
 * the daemon starts it (epoll, one thread per core, suspendable connections). It reads the body of
 * each request into memory and replies with REPLY_BYTES bytes; it does nothing else.
 *
 *     ceiling REPLY_BYTES [THREADS]
 *
 * Takes a free port of 127.0.0.1, prints the daemon's ready line, and ends when standard input ends
 * or on SIGTERM.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buffer.h"

enum { CONNECTIONS = 1100, THREADS_MOST = 64, REPLY_MOST = 1 << 24 };

/* MHD calls this once with the header, then with each piece of the body, then once without a piece.
 */
static enum MHD_Result on_call(void *user, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_length, void **request)
{
    const struct nb_buffer *reply = user;
    struct nb_buffer *body = *request;
    (void)url, (void)method, (void)version;
    if (body == NULL) {
        *request = body = calloc(1, sizeof *body);
        return body != NULL ? MHD_YES : MHD_NO;
    }
    if (*upload_length > 0) {
        int rc = nb_buffer_append(body, upload, *upload_length);
        *upload_length = 0;
        return rc == 0 ? MHD_YES : MHD_NO;
    }
    char *copy = malloc(reply->length + 1); /* each request has its own reply, as in the daemon */
    if (copy == NULL)
        return MHD_NO;
    memcpy(copy, reply->bytes, reply->length);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->length, copy, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result rc = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return rc;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)user, (void)connection, (void)code;
    if (*request != NULL) {
        nb_buffer_deinit(*request);
        free(*request);
    }
}

static struct MHD_Daemon *start(struct nb_buffer *reply, unsigned threads)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_call, reply,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, MHD_OPTION_END);
}

int main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t length = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 0;
    unsigned threads = (unsigned)(argc > 2 ? strtol(argv[2], NULL, 10) : cores);
    struct nb_buffer reply = {0};
    if (length == 0 || length > REPLY_MOST || threads == 0 || threads > THREADS_MOST) {
        fputs("usage: ceiling REPLY_BYTES [THREADS]\n", stderr);
        return 2;
    }
    if (nb_buffer_reserve(&reply, length) != 0)
        return 1;
    memset(reply.bytes, ' ', length);
    reply.length = length;
    struct MHD_Daemon *daemon = start(&reply, threads);
    if (daemon == NULL) {
        fputs("ceiling: the HTTP library does not start\n", stderr);
        return 1;
    }
    fprintf(stderr, "bayesd: ready on http://127.0.0.1:%u\n",
            MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    for (char c; read(STDIN_FILENO, &c, 1) > 0;)
        ;
    MHD_stop_daemon(daemon);
    nb_buffer_deinit(&reply);
    return 0;
}
