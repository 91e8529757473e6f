/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/config.h"
#include "core/base/number.h"

enum { BACKLOG = 1024 };

/* Whether the file is a socket on which no process listens any more. */
static bool is_left_behind(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return false;
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0)
        return false;
    bool is_refused =
        connect(file, (const struct sockaddr *)(const void *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED;
    (void)close(file); /* it was never used */
    return is_refused;
}

void nb_listen_unix_clear(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_left_behind(&address))
        (void)unlink(path); /* if this fails, bind fails too */
}

int nb_listen_unix(const char *path, mode_t mode, int *made, struct nb_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct sockaddr *any = (const struct sockaddr *)(const void *)&address;
    if (strlen(path) >= sizeof address.sun_path)
        return nb_error_set(error, NB_INVALID, "the path of a socket has at most %zu bytes: %s",
                            sizeof address.sun_path - 1, path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    nb_listen_unix_clear(path);
    /* Until chmod the program's umask lets only the owner use the socket. */
    if (file >= 0 && bind(file, any, sizeof address) == 0 && chmod(path, mode) == 0 &&
        listen(file, BACKLOG) == 0) {
        *made = file;
        return 0;
    }
    int rc = nb_error_set(error, NB_IO, "cannot listen on %s: %s", path, strerror(errno));
    if (file >= 0)
        (void)close(file); /* it was never used */
    return rc;
}

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

int nb_addresses_listen(const struct nb_config *config, struct nb_addresses *addresses,
                        int sockets[NB_LISTEN_SOCKETS], struct nb_error *error)
{
    static const mode_t modes[] = {0600, 0660, 0666}; /* as the option table names them */
    const char *tls = config->tls_only ? config->listen : config->tls_listen;
    int rc = 0;
    *addresses = (struct nb_addresses){.port.socket = -1,
                                       .tls.socket = -1,
                                       .has_port = !config->tls_only,
                                       .has_tls = tls[0] != '\0'};
    sockets[NB_LISTEN_FILE] = -1;
    if (addresses->has_port) {
        struct nb_error why = {0};
        rc = nb_listen(config->listen, &addresses->port, &why);
        if (rc != 0)
            (void)nb_error_set(error, rc, "%s%s", why.text,
                               rc == NB_IO ? " (--listen names another one)" : "");
    }
    if (rc == 0 && addresses->has_tls)
        rc = nb_listen(tls, &addresses->tls, error);
    if (rc == 0 && config->socket[0] != '\0')
        rc = nb_listen_unix(config->socket, modes[config->socket_mode], &sockets[NB_LISTEN_FILE],
                            error);
    sockets[NB_LISTEN_PORT] = addresses->port.socket;
    sockets[NB_LISTEN_TLS] = addresses->tls.socket;
    for (int i = 0; rc != 0 && i < NB_LISTEN_SOCKETS; i++) {
        if (sockets[i] >= 0)
            (void)close(sockets[i]); /* it was never used */
    }
    return rc;
}

void nb_addresses_print(const struct nb_addresses *addresses)
{
    if (addresses->has_tls && addresses->has_port)
        (void)fprintf(stderr, "bayesd: with TLS on https://%s\n", addresses->tls.address);
    if (addresses->has_port)
        (void)fprintf(stderr, "bayesd: ready on http://%s\n", addresses->port.address);
    else
        (void)fprintf(stderr, "bayesd: ready on https://%s\n", addresses->tls.address);
}
