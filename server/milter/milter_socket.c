/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_socket.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/listen_unix.h"

enum { BACKLOG = 1024, PORT_BYTES = 8 };

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

/* `where` is inet:PORT@ADDRESS or inet6:PORT@ADDRESS: command_line.c has checked that. */
static int listen_inet(const char *where, int *made, struct nb_error *error)
{
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_family =
                                       strncmp(where, "inet6", 5) == 0 ? AF_INET6 : AF_INET,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICSERV};
    char port[PORT_BYTES];
    const char *at = strchr(where, '@');
    (void)snprintf(port, sizeof port, "%.*s", (int)(at - path_of(where)), path_of(where));
    int failure = getaddrinfo(at + 1, port, &hints, &list);
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
    return nb_error_set(error, NB_IO, "no folder for libmilter's socket can be made: %s",
                        strerror(errno));
}

void nb_milter_inner_remove(char path[NB_INNER_BYTES])
{
    (void)unlink(path); /* libmilter may have removed it */
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}
