/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_socket.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/number.h"
#include "server/base/listen_unix.h"

enum { BACKLOG = 1024, PORT_BYTES = 8, ADDRESS_BYTES = 256 };

/* ---- for mail servers ------------------------------------------------------------------------ */

static bool is_file(const char *where)
{
    return strncmp(where, "inet", 4) != 0;
}

static const char *path_of(const char *where)
{
    return strchr(where, ':') + 1;
}

static int bind_to(const struct addrinfo *address, int *made)
{
    int one = 1;
    int file = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* SO_REUSEADDR: a restart need not wait for the old connections' TIME_WAIT. */
    if (file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(file, address->ai_addr, address->ai_addrlen) == 0 && listen(file, BACKLOG) == 0) {
        *made = file;
        return 0;
    }
    int failure = errno;
    if (file >= 0)
        (void)close(file); /* it was never used */
    errno = failure;
    return NB_IO;
}

static struct nb_string without_brackets(struct nb_string s)
{
    bool has = s.length >= 2 && s.bytes[0] == '[' && s.bytes[s.length - 1] == ']';
    return has ? (struct nb_string){s.bytes + 1, s.length - 2} : s;
}

static bool is_port(struct nb_string text)
{
    uint64_t port;
    return text.length < PORT_BYTES && nb_number_read_whole(text, &port) && port > 0 &&
           port <= 65535;
}

bool nb_milter_socket_read(const char *where, struct nb_string *address, struct nb_string *port)
{
    if (strncmp(where, "inet:", 5) != 0 && strncmp(where, "inet6:", 6) != 0)
        return false;
    struct nb_string rest = nb_string_of(path_of(where));
    const char *at = strchr(rest.bytes, '@'), *colon = strrchr(rest.bytes, ':');
    const char *middle = at != NULL ? at : colon;
    if (middle == NULL)
        return false;
    struct nb_string first = {rest.bytes, (size_t)(middle - rest.bytes)};
    struct nb_string second = nb_string_from(rest, first.length + 1);
    *port = at != NULL ? first : second;
    *address = without_brackets(at != NULL ? second : first);
    return is_port(*port) && address->length > 0 && address->length < ADDRESS_BYTES;
}

/* nb_milter_socket_read takes `where`: command_line.c has checked that. */
static int listen_inet(const char *where, int *made, struct nb_error *error)
{
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_family =
                                       strncmp(where, "inet6", 5) == 0 ? AF_INET6 : AF_INET,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICSERV};
    char host[ADDRESS_BYTES], service[PORT_BYTES];
    struct nb_string address = {"", 0}, port = {"", 0};
    bool is_read = nb_milter_socket_read(where, &address, &port);
    assert(is_read);
    (void)snprintf(host, sizeof host, "%.*s", (int)address.length, address.bytes);
    (void)snprintf(service, sizeof service, "%.*s", (int)port.length, port.bytes);
    int failure = getaddrinfo(host, service, &hints, &list);
    if (failure != 0)
        return nb_error_set(error, NB_INVALID, "%.200s cannot be listened on: %s", where,
                            gai_strerror(failure));
    int rc = bind_to(list, made);
    if (rc != 0)
        (void)nb_error_set(error, rc, "%.200s cannot be listened on: %s", where, strerror(errno));
    freeaddrinfo(list);
    return rc;
}

int nb_milter_listen(const char *where, mode_t mode, int *made, struct nb_error *error)
{
    if (!is_file(where))
        return listen_inet(where, made, error);
    mode_t old = umask(0077); /* nobody can connect before the socket has its mode */
    int rc = nb_listen_unix(path_of(where), mode, made, error);
    (void)umask(old);
    return rc;
}

void nb_milter_unlisten(const char *where)
{
    if (is_file(where))
        (void)unlink(path_of(where)); /* it may be gone already */
}

/* ---- for libmilter --------------------------------------------------------------------------- */

/* Makes the folder in `base`, up to its first colon: systemd may name several. */
static bool make_in(const char *base, char path[NB_INNER_BYTES])
{
    if (base == NULL || base[0] != '/')
        return false;
    int length =
        snprintf(path, NB_INNER_BYTES, "%.*s/bayesd-milter-XXXXXX", (int)strcspn(base, ":"), base);
    if (length < 0 || length + (int)sizeof "/inner" > NB_INNER_BYTES || mkdtemp(path) == NULL)
        return false;
    memcpy(path + length, "/inner", sizeof "/inner");
    return true;
}

int nb_milter_inner_make(char path[NB_INNER_BYTES], struct nb_error *error)
{
    if (make_in(getenv("RUNTIME_DIRECTORY"), path) || make_in(getenv("TMPDIR"), path) ||
        make_in("/tmp", path))
        return 0;
    path[0] = '\0';
    return nb_error_set(
        error, NB_IO,
        "no folder for libmilter's socket can be made in $RUNTIME_DIRECTORY, $TMPDIR "
        "or /tmp, of which one must be writable: %s",
        strerror(errno));
}

void nb_milter_inner_remove(char path[NB_INNER_BYTES])
{
    (void)unlink(path); /* libmilter may have removed it */
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}
