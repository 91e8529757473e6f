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

/* Makes libmilter listen there; nb_milter_register comes before. `where` is one that
 * nb_milter_socket_check takes. A Unix socket gets the mode, and the group (a name or a number)
 * unless it is NULL; what a program that was killed has left behind is replaced. The caller removes
 * the socket in the end. Returns 0, NB_INVALID (no such group) or NB_IO. */
int nb_milter_socket_open(const char *where, mode_t mode, const char *group,
                          struct nb_error *error);

/* Removes the file of a Unix socket. libmilter does so too, but not for root. */
void nb_milter_socket_remove(const char *where);

/* Connects and waits until libmilter has taken the connection and closed it again: from then on it
 * serves, and a signal stops it. Returns false when it stops first. */
bool nb_milter_socket_await(const char *where);

/* Connects and closes the connection at once: that wakes libmilter up, which waits for connections
 * and looks at nothing else meanwhile. Returns whether somebody listens. */
bool nb_milter_socket_knock(const char *where);

#endif
