/* SPDX-License-Identifier: Apache-2.0
 *
 * The socket on which libmilter waits for mail servers. libmilter trusts whoever connects, so the
 * socket is one of this machine: a file with a mode, or a loopback address. The main thread opens
 * and removes it, any thread may connect to it.
 */
#ifndef NB_MILTER_MILTER_SOCKET_H
#define NB_MILTER_MILTER_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/error.h"

/* Checks the option --socket: "inet:PORT@ADDRESS" (as libmilter writes it) or "inet:ADDRESS:PORT"
 * (as Postfix does), inet6 alike, with an address of IPv6 in brackets if wanted; "unix:/PATH" or
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
 * serves, and a signal stops it. Returns false if it stops before. */
bool nb_milter_socket_await(const char *where);

/* Connects and closes the connection at once, to wake libmilter, which notices nothing else while
 * it waits for connections. Returns whether a process listens. */
bool nb_milter_socket_knock(const char *where);

#endif
