/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket on which libmilter waits for mail servers, and what libmilter lacks: a count of the
 * connections, mails that do not wait for each other, and a stop that does not interrupt a check.
 * libmilter trusts whoever connects, so the socket is one of this machine: a file with a mode, or a
 * loopback address. Any thread may call the counters and connect to the socket, only the main
 * thread the other functions.
 */
#ifndef NB_SERVER_MILTER_MILTER_SOCKET_H
#define NB_SERVER_MILTER_MILTER_SOCKET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

/* Texts for libmilter. Pure function; any thread. */
/* Returns `text` for a parameter that libmilter declares as char * and only reads. */
static inline char *nb_milter_text(const char *text)
{
    union {
        const char *given;
        char *taken;
    } both = {.given = text};
    return both.taken;
}

/* Checks the option --socket: "inet:PORT@ADDRESS" (as libmilter writes it) or "inet:ADDRESS:PORT"
 * (as Postfix does), the same with inet6, where the address may be in brackets; "unix:/PATH" or
 * "local:/PATH". An address is a loopback address, or localhost. Returns 0 or NB_INVALID, whose
 * text says what would be right. */
int nb_milter_socket_check(const char *where, struct nb_error *error);

/* Makes libmilter listen on `where`, which nb_milter_socket_check has accepted; nb_milter_register
 * comes before. A Unix socket gets the mode, and the group (a name or a number) unless it is NULL;
 * it replaces a file that a killed program has left. The caller removes the socket in the end.
 * Returns 0, NB_INVALID (no such group) or NB_IO. */
int nb_milter_socket_open(const char *where, mode_t mode, const char *group,
                          struct nb_error *error);

/* Removes the file of a Unix socket. libmilter does so too, but not for root. */
void nb_milter_socket_remove(const char *where);

/* Connects and waits until libmilter has accepted and closed the connection: from then on libmilter
 * serves, and a signal stops it. Returns false if it stops before. A libmilter that a signal
 * stopped early leaves the connection open, so this also returns false soon after *is_ending is
 * set. */
bool nb_milter_socket_await(const char *where, const atomic_bool *is_ending);

/* Connects and closes the connection at once, to wake libmilter, which notices nothing else while
 * it waits for connections. Returns whether a process listens. */
bool nb_milter_socket_knock(const char *where);

/* Adds to libmilter what it lacks: counts connections, keeps mails from waiting for each other, and
 * stops without interrupting a check. Any thread may call the counters, only the main thread the
 * other functions. */
struct nb_listener_settings {
    const char *socket; /* where libmilter listens (milter_socket.h); borrowed until the end */
    size_t connections; /* most connections served at the same time */
};

/* Serves in the calling thread until the process gets SIGTERM, which must be blocked in all
 * threads: libmilter waits for it. nb_milter_register and nb_milter_socket_open come before.
 * Returns 0 or NB_IO. */
int nb_listener_run(const struct nb_listener_settings *settings, struct nb_error *error);

/* Call it after nb_listener_run: waits at most `patience` seconds for the mails that are being
 * checked. Returns whether all connections have ended; if not, threads of libmilter still run. */
bool nb_listener_finish(uint64_t patience);

/* Counts a connection that begins. Returns false when there are too many: then it must not be
 * served. */
bool nb_listener_admit(void);

/* Counts a connection that ends. */
void nb_listener_leave(void);

/* Counts the check of a mail: 1 when it begins, -1 when it ends. */
void nb_listener_count_checks(int change);

#endif
