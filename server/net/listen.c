/* SPDX-License-Identifier: Apache-2.0 */
#include "server/net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/number.h"

enum { BACKLOG = 1024 };

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

static bool read_port(const char *text, in_port_t *port)
{
    uint64_t number;
    if (!nb_number_read_whole(nb_string_of(text), &number) || number > 65535)
        return false;
    *port = htons((uint16_t)number);
    return true;
}

static int read_address(const char *text, struct address *address, struct nb_error *error)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    bool is_v6 = text[0] == '[' && colon != NULL && colon > text && colon[-1] == ']';
    const char *start = is_v6 ? text + 1 : text;
    size_t length = colon == NULL ? 0 : (size_t)(colon - start) - (is_v6 ? 1 : 0);
    in_port_t port;
    *address = (struct address){.size = 0};
    if (length == 0 || length >= sizeof host || !read_port(colon + 1, &port))
        goto invalid;
    memcpy(host, start, length);
    host[length] = '\0';
    if (is_v6 && inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = port;
        address->size = sizeof address->v6;
        return 0;
    }
    if (!is_v6 && inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = port;
        address->size = sizeof address->v4;
        return 0;
    }
invalid:
    return nb_error_set(error, NB_INVALID,
                        "'%s' is no address to listen on: 127.0.0.1:8763 or [::1]:8763 would be",
                        text);
}

int nb_listen_is_loopback(const char *address, bool *is_loopback, struct nb_error *error)
{
    struct address a;
    int rc = read_address(address, &a, error);
    if (rc != 0)
        return rc;
    if (a.any.sa_family == AF_INET6)
        *is_loopback = IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
    else
        *is_loopback =
            ntohl(a.v4.sin_addr.s_addr) >> 24 == 127; /* 127.0.0.0/8, RFC 1122, 3.2.1.3 */
    return 0;
}

static void name_socket(int socket, struct nb_listener *listener)
{
    struct address a = {.size = sizeof a.v6};
    char host[INET6_ADDRSTRLEN] = "?";
    (void)getsockname(socket, &a.any, &a.size); /* cannot fail on a bound socket */
    bool is_v6 = a.any.sa_family == AF_INET6;
    if (is_v6)
        (void)inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof host);
    else
        (void)inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof host);
    (void)snprintf(listener->address, sizeof listener->address, is_v6 ? "[%s]:%u" : "%s:%u", host,
                   (unsigned)ntohs(is_v6 ? a.v6.sin6_port : a.v4.sin_port));
}

int nb_listen(const char *address, struct nb_listener *listener, struct nb_error *error)
{
    struct address a;
    int rc = read_address(address, &a, error);
    if (rc != 0)
        return rc;
    int one = 1;
    int made = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* SO_REUSEADDR: a restart need not wait for the old connections' TIME_WAIT. */
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(made, &a.any, a.size) != 0 || listen(made, BACKLOG) != 0) {
        rc = nb_error_set(error, NB_IO, "cannot listen on %s: %s", address, strerror(errno));
        if (made >= 0)
            (void)close(made); /* it was never used */
        return rc;
    }
    listener->socket = made;
    name_socket(made, listener);
    return 0;
}
