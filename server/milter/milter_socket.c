/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_socket.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <libmilter/mfapi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/number.h"
#include "core/base/system.h"
#include "server/base/listen.h"
#include "server/base/log.h"

enum {
    BACKLOG = 1024,
    WHERE_BYTES = 128,
    GRACE_SECONDS = 1, /* time for libmilter to send the last reply */
    LATE_MILLISECONDS = 100
};

/* An address of a socket, in the form of each family. */
union address {
    struct sockaddr any;
    struct sockaddr_un file;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ---- the option ------------------------------------------------------------------------------ */

static bool is_file(const char *where)
{
    return strncmp(where, "unix:/", 6) == 0 || strncmp(where, "local:/", 7) == 0;
}

static const char *path_of(const char *where)
{
    assert(strchr(where, ':') != NULL); /* the caller has looked at the scheme */
    return strchr(where, ':') + 1;
}

static bool read_port(struct nb_string text, in_port_t *port)
{
    uint64_t number;
    if (!nb_number_read_whole(text, &number) || number == 0 || number > 65535)
        return false;
    *port = htons((in_port_t)number);
    return true;
}

/* Copies the host without the brackets of IPv6; localhost becomes the loopback address (RFC 6761,
 * 6.3).
 */
static bool copy_host(struct nb_string s, bool is_v6, char host[INET6_ADDRSTRLEN])
{
    if (s.length >= 2 && s.bytes[0] == '[' && s.bytes[s.length - 1] == ']')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    if (nb_string_equals_nocase(s, "localhost"))
        s = nb_string_of(is_v6 ? "::1" : "127.0.0.1");
    if (s.length >= INET6_ADDRSTRLEN)
        return false;
    memcpy(host, s.bytes, s.length);
    host[s.length] = '\0';
    return true;
}

/* Reads the address and the port of an inet socket. Returns false if they are invalid. */
static bool read_inet(const char *where, union address *address, socklen_t *size)
{
    bool is_v6 = strncmp(where, "inet6:", 6) == 0;
    char host[INET6_ADDRSTRLEN];
    in_port_t port;
    if (!is_v6 && strncmp(where, "inet:", 5) != 0)
        return false;
    struct nb_string rest = nb_string_of(path_of(where));
    const char *at = strchr(rest.bytes, '@'), *colon = strrchr(rest.bytes, ':');
    const char *middle = at != NULL ? at : colon;
    if (middle == NULL)
        return false;
    struct nb_string first = {rest.bytes, (size_t)(middle - rest.bytes)};
    struct nb_string second = nb_string_from(rest, first.length + 1);
    if (!read_port(at != NULL ? first : second, &port) ||
        !copy_host(at != NULL ? second : first, is_v6, host))
        return false;
    *address = (union address){.any = {.sa_family = is_v6 ? AF_INET6 : AF_INET}};
    *size = is_v6 ? sizeof address->v6 : sizeof address->v4;
    if (is_v6)
        address->v6.sin6_port = port;
    else
        address->v4.sin_port = port;
    void *binary = is_v6 ? (void *)&address->v6.sin6_addr : (void *)&address->v4.sin_addr;
    return inet_pton(address->any.sa_family, host, binary) == 1;
}

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127; /* 127.0.0.0/8, RFC 1122, 3.2.1.3 */
}

int nb_milter_socket_check(const char *where, struct nb_error *error)
{
    union address address;
    socklen_t size;
    if (is_file(where))
        return 0;
    if (!read_inet(where, &address, &size))
        return nb_error_set(error, NB_INVALID,
                            "'%.80s' is no socket of this machine: write inet:PORT@127.0.0.1, "
                            "inet:127.0.0.1:PORT or unix:/PATH",
                            where);
    if (!is_loopback(&address))
        return nb_error_set(error, NB_INVALID,
                            "'%.80s' can be reached from other machines, and whoever connects is "
                            "trusted as the mail server: write inet:PORT@127.0.0.1, "
                            "inet6:PORT@::1 or unix:/PATH",
                            where);
    return 0;
}

/* ---- listening ------------------------------------------------------------------------------- */

/* Writes the address as libmilter does: in brackets, so that it looks up no name. */
static void write_inet(const union address *address, char out[WHERE_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool is_v6 = address->any.sa_family == AF_INET6;
    const void *binary =
        is_v6 ? (const void *)&address->v6.sin6_addr : (const void *)&address->v4.sin_addr;
    (void)inet_ntop(address->any.sa_family, binary, host, sizeof host); /* there is room */
    (void)snprintf(out, WHERE_BYTES, "%s:%u@[%s]", is_v6 ? "inet6" : "inet",
                   (unsigned)ntohs(is_v6 ? address->v6.sin6_port : address->v4.sin_port), host);
}

static int find_group(const char *name, gid_t *group, struct nb_error *error)
{
    uint64_t number;
    const struct group *found = getgrnam(name);
    if (found != NULL) {
        *group = found->gr_gid;
        return 0;
    }
    if (!nb_number_read_whole(nb_string_of(name), &number) || number > INT32_MAX)
        return nb_error_set(error, NB_INVALID, "--socket-group '%.80s': there is no such group",
                            name);
    *group = (gid_t)number;
    return 0;
}

/* Sets the group and then the mode of the file, which only its owner can use until then. */
static int open_up(const char *path, mode_t mode, bool has_group, gid_t group,
                   struct nb_error *error)
{
    if (has_group && chown(path, (uid_t)-1, group) != 0)
        return nb_error_set(error, NB_IO, "%.200s cannot have the group of --socket-group: %s",
                            path, strerror(errno));
    if (chmod(path, mode) != 0)
        return nb_error_set(error, NB_IO, "%.200s cannot have the mode of --socket-mode: %s", path,
                            strerror(errno));
    return 0;
}

static int listen_on(const char *where, struct nb_error *error)
{
    mode_t old = umask(0177); /* nobody else can connect before the file has its mode */
    bool is_open = smfi_setconn(nb_milter_text(where)) == MI_SUCCESS &&
                   smfi_setbacklog(BACKLOG) == MI_SUCCESS && smfi_opensocket(false) == MI_SUCCESS;
    (void)umask(old);
    return is_open ? 0 : nb_error_set(error, NB_IO, "libmilter cannot listen on %.200s", where);
}

int nb_milter_socket_open(const char *where, mode_t mode, const char *group, struct nb_error *error)
{
    union address address;
    socklen_t size;
    gid_t id = 0;
    if (!is_file(where)) {
        char text[WHERE_BYTES];
        bool is_read = read_inet(where, &address, &size);
        assert(is_read && is_loopback(&address));
        write_inet(&address, text);
        return listen_on(text, error);
    }
    int rc = group != NULL ? find_group(group, &id, error) : 0;
    if (rc != 0)
        return rc;
    nb_listen_unix_clear(path_of(where));
    rc = listen_on(where, error);
    if (rc != 0)
        return rc;
    rc = open_up(path_of(where), mode, group != NULL, id, error);
    if (rc != 0)
        nb_milter_socket_remove(where);
    return rc;
}

void nb_milter_socket_remove(const char *where)
{
    if (is_file(where))
        (void)unlink(path_of(where)); /* it may be gone already */
}

/* ---- visiting -------------------------------------------------------------------------------- */

/* Connects to libmilter. `flags` are those of socket(2). Returns a descriptor, or -1. */
static int visit(const char *where, int flags)
{
    union address address = {.file = {.sun_family = AF_UNIX}};
    socklen_t size = sizeof address.file;
    if (is_file(where))
        (void)snprintf(address.file.sun_path, sizeof address.file.sun_path, "%s", path_of(where));
    else if (!read_inet(where, &address, &size))
        return -1;
    int visitor = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (visitor < 0 || connect(visitor, &address.any, size) == 0 || errno == EINPROGRESS)
        return visitor;
    (void)close(visitor);
    return -1;
}

bool nb_milter_socket_await(const char *where, const atomic_bool *is_ending)
{
    char byte;
    int visitor = visit(where, 0);
    if (visitor < 0)
        return false;
    struct pollfd end = {.fd = visitor, .events = POLLIN};
    bool is_sent = shutdown(visitor, SHUT_WR) == 0;
    while (is_sent && !atomic_load(is_ending) && poll(&end, 1, LATE_MILLISECONDS) == 0)
        ;
    bool is_served = is_sent && recv(visitor, &byte, 1, MSG_DONTWAIT) == 0;
    (void)close(visitor);
    return is_served;
}

bool nb_milter_socket_knock(const char *where)
{
    int visitor = visit(where, SOCK_NONBLOCK);
    if (visitor < 0)
        return false;
    (void)close(visitor);
    return true;
}

/* libmilter has one socket for the process and no handle for it. */
static struct {
    struct nb_listener_settings settings;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t change;
    bool is_closed; /* libmilter takes no more connections */
    bool is_full;   /* the log has reported too many connections */
    size_t sessions;
    size_t checks;      /* mails that bayesd is being asked about */
    uint64_t last_done; /* when the last check ended, or the stop began */
} serving = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

/* ---- counting -------------------------------------------------------------------------------- */

bool nb_listener_admit(void)
{
    (void)pthread_mutex_lock(&serving.lock);
    size_t count = serving.sessions;
    bool is_full = count >= serving.settings.connections;
    bool is_news = is_full && !serving.is_full;
    serving.is_full = is_full;
    serving.sessions += !is_full;
    (void)pthread_mutex_unlock(&serving.lock);
    if (is_news)
        nb_log(NB_LOG_WARNING, "a mail server is turned away: %zu connections are open", count);
    return !is_full;
}

void nb_listener_leave(void)
{
    (void)pthread_mutex_lock(&serving.lock);
    assert(serving.sessions > 0);
    serving.sessions--;
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
}

void nb_listener_count_checks(int change)
{
    (void)pthread_mutex_lock(&serving.lock);
    assert(change > 0 || serving.checks > 0);
    serving.checks += (size_t)change;
    serving.last_done = nb_clock_monotonic();
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Makes a connection now and then while answers of bayesd are slow. A libmilter with a pool of
 * threads (worker.c, as in Debian) counts a thread as idle until it has run again. So of two mails
 * that come at the same moment one may be given to a thread that then waits for bayesd's answer
 * about the other one. The next thread that has served something finds such a mail: a connection is
 * enough for that. */
static void *call_workers(void *unused)
{
    (void)unused;
    const struct timespec late = {.tv_nsec = LATE_MILLISECONDS * 1000000L};
    (void)pthread_mutex_lock(&serving.lock);
    while (!serving.is_closed) {
        if (serving.checks == 0) {
            (void)pthread_cond_wait(&serving.change, &serving.lock);
            continue;
        }
        (void)pthread_mutex_unlock(&serving.lock);
        (void)nanosleep(&late, NULL);
        (void)pthread_mutex_lock(&serving.lock);
        if (serving.checks > 0 && !serving.is_closed)
            (void)nb_milter_socket_knock(serving.settings.socket);
    }
    (void)pthread_mutex_unlock(&serving.lock);
    return NULL;
}

int nb_listener_run(const struct nb_listener_settings *settings, struct nb_error *error)
{
    pthread_t thread;
    serving.settings = *settings;
    int rc = pthread_create(&thread, NULL, call_workers, NULL);
    if (rc != 0)
        return nb_error_errno(error, rc, "a thread");
    if (smfi_main() != MI_SUCCESS)
        rc = nb_error_set(error, NB_IO, "libmilter gave up");
    (void)pthread_mutex_lock(&serving.lock);
    serving.is_closed = true;
    (void)pthread_cond_broadcast(&serving.change);
    (void)pthread_mutex_unlock(&serving.lock);
    (void)pthread_join(thread, NULL);
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Waits until something changes, at most a second. The caller holds `lock`. */
static void wait_for_change(void)
{
    struct timespec wake;
    (void)clock_gettime(CLOCK_REALTIME, &wake);
    wake.tv_sec += 1;
    (void)pthread_cond_timedwait(&serving.change, &serving.lock, &wake);
}

static bool is_time_over(uint64_t deadline)
{
    uint64_t now = nb_clock_monotonic();
    return now >= deadline ||
           (serving.checks == 0 && now >= serving.last_done + GRACE_SECONDS * UINT64_C(1000000000));
}

bool nb_listener_finish(uint64_t patience)
{
    uint64_t most = (patience + GRACE_SECONDS) * UINT64_C(1000000000);
    (void)pthread_mutex_lock(&serving.lock);
    serving.last_done = nb_clock_monotonic();
    uint64_t deadline = serving.last_done + most;
    while (serving.sessions > 0 && !is_time_over(deadline))
        wait_for_change();
    bool is_over = serving.sessions == 0;
    (void)pthread_mutex_unlock(&serving.lock);
    return is_over;
}
