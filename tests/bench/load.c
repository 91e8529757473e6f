/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends POST requests to a daemon on 127.0.0.1 over kept-alive connections and counts the replies.
 * One thread with epoll; no pipelining: each connection waits for the whole reply.
 *
 *     load --port PORT --path PATH [--path PATH ...] [--type MEDIA/TYPE] [--connections N]
 *          [--seconds S] [--once] [--first N] BODIES
 *
 * BODIES holds the request bodies; a line with its length in decimal precedes each body. Body i
 * goes to path i modulo the number of paths; a '#' in a path stands for i + N. The bodies are sent
 * in turn, again and again until the time is up; with --once each body is sent once. The last line
 * on standard output is JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/system.h"

enum {
    CONNECTIONS_MOST = 1024,
    SECONDS_MOST = 3600,
    PATHS_MOST = 64,
    HEADER_MOST = 8192, /* bytes of the header of a reply */
    BUCKETS = 1000000,  /* of the latency histogram, a microsecond each; the last one also counts
                           longer times */
    STALL_SECONDS = 60  /* gives up after this time without any reply */
};

struct options {
    uint16_t port;
    const char *paths[PATHS_MOST];
    size_t path_count;
    const char *type;
    size_t connections;
    double seconds;
    bool once;
    size_t first; /* number that replaces '#' in the path of the first body */
};

struct requests {
    struct nb_buffer bytes; /* all requests with their headers, one after the other */
    size_t *starts;         /* `count` + 1 offsets in `bytes` */
    size_t count;
};

struct connection {
    int fd;
    bool idle;      /* no request is under way */
    size_t at, end; /* the part of requests->bytes that is still to send */
    uint64_t sent;  /* when the request began, ns of the monotonic clock */
    char header[HEADER_MOST];
    size_t header_length; /* bytes of the header so far */
    size_t body_left;     /* SIZE_MAX until the header is complete */
    int status;
};

struct load {
    const struct options *options;
    struct requests requests;
    struct connection *connections;
    size_t next; /* number of the next request */
    size_t busy;
    int epoll;
    bool over; /* no request begins any more */
    uint64_t begin, finished;
    uint64_t done, refused, bytes_in, bytes_out;
    int bad_status; /* the last status that was not 2xx */
    uint32_t *latencies;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "load: %s%s%s\n", what, errno != 0 ? ": " : "",
            errno != 0 ? strerror(errno) : "");
    exit(1);
}

/* ---- the requests ---------------------------------------------------------------------------- */

static struct nb_buffer read_file(const char *path)
{
    struct nb_buffer bytes = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(path);
    for (size_t n = 1; n > 0; bytes.length += n) {
        if (nb_buffer_reserve(&bytes, 1 << 16) != 0)
            fail("out of memory");
        n = fread(bytes.bytes + bytes.length, 1, 1 << 16, file);
    }
    if (ferror(file) != 0)
        fail(path);
    fclose(file);
    return bytes;
}

/* Appends the request line; `number` replaces '#' in the path. */
static int append_line(struct nb_buffer *out, const char *path, size_t number)
{
    const char *mark = strchr(path, '#');
    if (mark == NULL)
        return nb_buffer_printf(out, "POST %s HTTP/1.1\r\n", path);
    return nb_buffer_printf(out, "POST %.*s%zu%s HTTP/1.1\r\n", (int)(mark - path), path, number,
                            mark + 1);
}

static void add_request(struct requests *r, const struct options *o, const char *body,
                        size_t length)
{
    if ((r->count & (r->count - 1)) == 0) { /* full: doubles the room at each power of two */
        size_t room = 2 * r->count + 2;
        r->starts = realloc(r->starts, room * sizeof *r->starts);
        if (r->starts == NULL)
            fail("out of memory");
    }
    r->starts[r->count] = r->bytes.length;
    if (append_line(&r->bytes, o->paths[r->count % o->path_count], o->first + r->count) != 0 ||
        nb_buffer_printf(&r->bytes,
                         "Host: 127.0.0.1:%u\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
                         o->port, o->type, length) != 0 ||
        nb_buffer_append(&r->bytes, body, length) != 0)
        fail("out of memory");
    r->starts[++r->count] = r->bytes.length;
}

static void read_requests(struct requests *r, const struct options *o, const char *path)
{
    struct nb_buffer file = read_file(path);
    for (size_t at = 0; at < file.length;) {
        const char *line_end = memchr(file.bytes + at, '\n', file.length - at);
        size_t length = (size_t)strtoull(file.bytes + at, NULL, 10);
        errno = 0;
        if (line_end == NULL || length > file.length - (size_t)(line_end + 1 - file.bytes))
            fail("the bodies are cut short");
        add_request(r, o, line_end + 1, length);
        at = (size_t)(line_end + 1 - file.bytes) + length;
    }
    nb_buffer_deinit(&file);
    if (r->count == 0)
        fail("no bodies");
}

/* ---- a connection ---------------------------------------------------------------------------- */

static void watch(struct load *l, struct connection *c, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(l->epoll, operation, c->fd, &event) != 0)
        fail("epoll_ctl");
}

static void send_more(struct load *l, struct connection *c)
{
    while (c->at < c->end) {
        ssize_t n = send(c->fd, l->requests.bytes.bytes + c->at, c->end - c->at, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(l, c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0)
            fail("send");
        c->at += (size_t)n;
        l->bytes_out += (size_t)n;
    }
}

/* Begins the next request, if there is one. */
static void begin_request(struct load *l, struct connection *c)
{
    c->idle = true;
    if (l->over || (l->options->once && l->next == l->requests.count)) {
        l->over = true;
        return;
    }
    size_t number = l->next++ % l->requests.count;
    c->idle = false;
    c->at = l->requests.starts[number];
    c->end = l->requests.starts[number + 1];
    c->header_length = 0;
    c->body_left = SIZE_MAX;
    c->sent = nb_clock_monotonic();
    l->busy++;
    send_more(l, c);
}

static void end_request(struct load *l, struct connection *c)
{
    uint64_t now = nb_clock_monotonic();
    uint64_t us = (now - c->sent) / 1000;
    if (c->at != c->end)
        fail("answered before the request was sent");
    l->latencies[us < BUCKETS ? us : BUCKETS - 1]++;
    l->finished = now;
    l->done++;
    l->busy--;
    if (c->status < 200 || c->status > 299) {
        l->refused++;
        l->bad_status = c->status;
    }
    begin_request(l, c);
}

/* Takes bytes of the header; returns how many of the bytes belong to it. */
static size_t take_header(struct connection *c, const char *bytes, size_t length)
{
    size_t room = sizeof c->header - 1 - c->header_length;
    size_t n = length < room ? length : room;
    size_t before = c->header_length;
    memcpy(c->header + before, bytes, n);
    c->header[before + n] = '\0';
    const char *end = strstr(c->header, "\r\n\r\n");
    c->header_length += n;
    if (end == NULL) {
        if (n == room)
            fail("a reply's header is too long");
        return n;
    }
    const char *field = strcasestr(c->header, "\r\nContent-Length:");
    if (strncmp(c->header, "HTTP/1.1 ", 9) != 0 || field == NULL || field > end)
        fail("a reply without Content-Length");
    c->status = (int)strtol(c->header + 9, NULL, 10);
    c->body_left = (size_t)strtoull(field + 17, NULL, 10);
    return (size_t)(end + 4 - c->header) - before;
}

static void receive(struct load *l, struct connection *c)
{
    static char block[1 << 16];
    for (;;) {
        ssize_t n = recv(c->fd, block, sizeof block, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0)
            fail(n < 0 ? "recv" : "the daemon closed a connection");
        if (c->idle)
            fail("a reply without a request");
        size_t used = c->body_left == SIZE_MAX ? take_header(c, block, (size_t)n) : 0;
        l->bytes_in += (size_t)n;
        if (c->body_left == SIZE_MAX)
            continue;
        if ((size_t)n - used > c->body_left)
            fail("a reply longer than it said");
        c->body_left -= (size_t)n - used;
        if (c->body_left == 0) {
            end_request(l, c);
            return;
        }
    }
}

static void open_connection(struct load *l, struct connection *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(l->options->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
        fail("connect");
    watch(l, c, EPOLL_CTL_ADD, EPOLLIN);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void serve_event(struct load *l, const struct epoll_event *event)
{
    struct connection *c = event->data.ptr;
    if ((event->events & EPOLLOUT) != 0) {
        watch(l, c, EPOLL_CTL_MOD, EPOLLIN);
        send_more(l, c);
    }
    if ((event->events & ~(uint32_t)EPOLLOUT) != 0)
        receive(l, c);
}

static void run(struct load *l)
{
    struct epoll_event events[64];
    uint64_t limit = (uint64_t)(l->options->seconds * 1e9);
    l->begin = l->finished = nb_clock_monotonic();
    for (size_t i = 0; i < l->options->connections; i++)
        begin_request(l, &l->connections[i]);
    while (l->busy > 0) {
        int n = epoll_wait(l->epoll, events, 64, STALL_SECONDS * 1000);
        if (n == 0)
            fail("the daemon does not answer");
        for (int i = 0; i < n; i++)
            serve_event(l, &events[i]);
        if (nb_clock_monotonic() - l->begin > limit)
            l->over = true;
    }
}

/* Returns the microseconds within which a share of the requests was answered. */
static size_t percentile(const struct load *l, double share)
{
    uint64_t seen = 0;
    for (size_t us = 0; us < BUCKETS; us++) {
        seen += l->latencies[us];
        if ((double)seen >= share * (double)l->done)
            return us;
    }
    return BUCKETS;
}

static void report(const struct load *l)
{
    double seconds = (double)(l->finished - l->begin) / 1e9;
    printf("{\"requests\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"bad_status\": %d, "
           "\"seconds\": %.6f, \"per_second\": %.1f, \"bytes_out\": %" PRIu64
           ", \"bytes_in\": %" PRIu64 ", \"p50_us\": %zu, \"p99_us\": %zu}\n",
           l->done, l->refused, l->bad_status, seconds, (double)l->done / seconds, l->bytes_out,
           l->bytes_in, percentile(l, 0.5), percentile(l, 0.99));
}

static double number(const char *text, const char *name, double least, double most)
{
    char *end;
    double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(value >= least && value <= most)) {
        fprintf(stderr, "load: --%s must be %g to %g\n", name, least, most);
        exit(2);
    }
    return value;
}

static const char *read_options(struct options *o, int argc, char **argv)
{
    static const struct option known[] = {
        {"port", required_argument, NULL, 'p'},    {"path", required_argument, NULL, 'u'},
        {"type", required_argument, NULL, 't'},    {"connections", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'}, {"once", no_argument, NULL, '1'},
        {"first", required_argument, NULL, 'f'},   {NULL, 0, NULL, 0}};
    *o = (struct options){.type = "text/plain", .connections = 16, .seconds = 5};
    for (int c = 0; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            o->port = (uint16_t)number(optarg, "port", 1, 65535);
        else if (c == 'u' && o->path_count < PATHS_MOST)
            o->paths[o->path_count++] = optarg;
        else if (c == 't')
            o->type = optarg;
        else if (c == 'c')
            o->connections = (size_t)number(optarg, "connections", 1, CONNECTIONS_MOST);
        else if (c == 's')
            o->seconds = number(optarg, "seconds", 0.1, SECONDS_MOST);
        else if (c == '1')
            o->once = true;
        else if (c == 'f')
            o->first = (size_t)number(optarg, "first", 0, 1e9);
        else
            exit(2);
    }
    if (o->port == 0 || o->path_count == 0 || optind != argc - 1) {
        fputs("usage: load --port PORT --path PATH [--path PATH ...] [--type MEDIA/TYPE]\n"
              "            [--connections N] [--seconds S] [--once] [--first N] BODIES\n",
              stderr);
        exit(2);
    }
    return argv[optind];
}

int main(int argc, char **argv)
{
    struct options options;
    const char *bodies = read_options(&options, argc, argv);
    struct load l = {.options = &options};
    read_requests(&l.requests, &options, bodies);
    l.connections = calloc(options.connections, sizeof *l.connections);
    l.latencies = calloc(BUCKETS, sizeof *l.latencies);
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l.connections == NULL || l.latencies == NULL || l.epoll < 0)
        fail("starting");
    for (size_t i = 0; i < options.connections; i++)
        open_connection(&l, &l.connections[i]);
    run(&l);
    report(&l);
    for (size_t i = 0; i < options.connections; i++)
        close(l.connections[i].fd);
    close(l.epoll);
    free(l.connections);
    free(l.latencies);
    free(l.requests.starts);
    nb_buffer_deinit(&l.requests.bytes);
    return l.refused == 0 ? 0 : 3;
}
