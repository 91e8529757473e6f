/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/relay_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/base/log.h"
#include "server/milter/packet.h"

enum {
    PIECE = 16 * 1024, /* bytes that are read at a time */
    ROUNDS = 16        /* pieces of a link before others have their turn */
};

/* What became of a step. */
enum step { STEP_DONE, STEP_WAIT, STEP_END };

/* ---- sockets --------------------------------------------------------------------------------- */

/* Appends a piece. STEP_END: there is no more to come, or it failed. */
static enum step receive(int file, struct nb_buffer *in)
{
    if (nb_buffer_reserve(in, PIECE) != 0)
        return STEP_END;
    ssize_t got = recv(file, in->bytes + in->length, PIECE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return STEP_WAIT;
    in->length += got > 0 ? (size_t)got : 0;
    return got > 0 ? STEP_DONE : STEP_END;
}

/* Sends bytes from the beginning of the buffer and takes them out. */
static enum step give(int file, struct nb_buffer *out, size_t length)
{
    ssize_t sent = send(file, out->bytes, length, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR ? STEP_WAIT : STEP_END;
    out->length -= (size_t)sent;
    memmove(out->bytes, out->bytes + sent, out->length);
    if (out->length == 0)
        nb_buffer_deinit(out); /* idle connections keep no memory */
    return STEP_DONE;
}

/* ---- to libmilter ---------------------------------------------------------------------------- */

/* Looks at the packets that have become complete. Returns false after one that is none. */
static bool check(struct nb_relay_link *link)
{
    struct nb_error error;
    size_t size, before = link->checked;
    int rc;
    while ((rc = nb_packet_check(
                (struct nb_string){link->up.bytes + link->checked, link->up.length - link->checked},
                &size, &error)) == 0)
        link->checked += size;
    if (link->checked == link->up.length)
        link->partial_since = 0;
    else if (link->checked > before || link->partial_since == 0)
        link->partial_since = nb_clock_monotonic();
    if (rc == NB_PACKET_MORE)
        return true;
    nb_log(NB_LOG_WARNING, "a mail server's connection is closed: it sent %s", error.text);
    return false;
}

/* libmilter may have closed its side, but its last words are still to be passed on. */
static enum step pass_up(struct nb_relay_link *link)
{
    size_t before = link->up.length;
    enum step step = give(link->inner.file, &link->up, link->checked);
    link->checked -= before - link->up.length;
    if (step != STEP_END)
        return step;
    nb_buffer_deinit(&link->up);
    link->checked = 0;
    link->has_ended = true;
    return STEP_WAIT;
}

/* Passes whole packets on before it reads more. */
static enum step step_up(struct nb_relay_link *link)
{
    if (link->checked > 0)
        return pass_up(link);
    if (link->has_ended)
        return STEP_WAIT; /* until libmilter has closed its side */
    enum step step = receive(link->outer.file, &link->up);
    if (step == STEP_DONE)
        return check(link) ? STEP_DONE : STEP_END;
    if (step == STEP_END) {
        link->has_ended = true;
        link->partial_since = 0;
        (void)shutdown(link->inner.file, SHUT_WR); /* fails when libmilter has gone */
        return STEP_WAIT;
    }
    if (link->up.length == 0)
        nb_buffer_deinit(&link->up);
    return step;
}

/* ---- to the mail server ---------------------------------------------------------------------- */

static enum step step_down(struct nb_relay_link *link)
{
    if (link->down.length > 0)
        return give(link->outer.file, &link->down, link->down.length);
    enum step step = receive(link->inner.file, &link->down);
    if (link->down.length == 0)
        nb_buffer_deinit(&link->down);
    return step;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* An end for which nothing is wanted leaves the set: epoll reports a hang-up without being asked.
 */
static bool want(struct nb_relay_link *link, struct nb_link_end *end, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = link};
    if (events == end->wanted)
        return true;
    int operation = events == 0 ? EPOLL_CTL_DEL : end->wanted == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    end->wanted = events;
    return epoll_ctl(link->epoll, operation, end->file, &event) == 0;
}

static bool want_both(struct nb_relay_link *link)
{
    bool reads_outer = !link->has_ended && link->checked == 0;
    uint32_t outer = (reads_outer ? EPOLLIN : 0U) | (link->down.length > 0 ? EPOLLOUT : 0U);
    uint32_t inner = (link->down.length == 0 ? EPOLLIN : 0U) | (link->checked > 0 ? EPOLLOUT : 0U);
    return want(link, &link->outer, outer) && want(link, &link->inner, inner);
}

bool nb_link_move(struct nb_relay_link *link)
{
    enum step step = STEP_DONE;
    for (int i = 0; i < ROUNDS && step == STEP_DONE; i++)
        step = step_up(link);
    if (step == STEP_END)
        return false;
    step = STEP_DONE;
    for (int i = 0; i < ROUNDS && step == STEP_DONE; i++)
        step = step_down(link);
    return step != STEP_END && want_both(link);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file >= 0 &&
        connect(file, (const struct sockaddr *)(const void *)&address, sizeof address) == 0)
        return file;
    int failure = errno;
    if (file >= 0)
        (void)close(file);
    errno = failure;
    return -1;
}

int nb_link_open(int epoll, int outer, const char *inner, struct nb_relay_link **link,
                 struct nb_error *error)
{
    struct nb_relay_link *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)close(outer);
        return nb_error_no_memory(error);
    }
    made->epoll = epoll;
    made->outer.file = outer;
    made->inner.file = connect_to(inner);
    if (made->inner.file >= 0 && want_both(made)) {
        *link = made;
        return 0;
    }
    int rc = nb_error_errno(error, errno, "a connection to libmilter");
    nb_link_close(made);
    free(made);
    return rc;
}

void nb_link_close(struct nb_relay_link *link)
{
    (void)close(link->outer.file); /* it leaves the set with that */
    if (link->inner.file >= 0)
        (void)close(link->inner.file);
    nb_buffer_deinit(&link->up);
    nb_buffer_deinit(&link->down);
    link->is_closed = true;
}
