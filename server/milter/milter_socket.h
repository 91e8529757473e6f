/* SPDX-License-Identifier: Apache-2.0
 *
 * The two sockets of bayesd-milter: the one for mail servers, and libmilter's own behind the relay.
 * Main thread.
 */
#ifndef NB_MILTER_MILTER_SOCKET_H
#define NB_MILTER_MILTER_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "core/base/string.h"

enum { NB_INNER_BYTES = 108 /* of a path, as sockaddr_un has them */ };

/* Takes "inet:PORT@ADDRESS" (as libmilter writes it) or "inet:ADDRESS:PORT" (as Postfix does, with
 * an address of IPv6 in brackets), with inet6 alike, apart. Returns whether it is one of these,
 * with an address and a port of 1 to 65535. */
bool nb_milter_socket_read(const char *where, struct nb_string *address, struct nb_string *port);

/* Listens where mail servers connect: on what nb_milter_socket_read takes, unix:/PATH or
 * local:/PATH. `mode` is for a Unix socket. Returns 0, NB_INVALID (no
 * such address) or NB_IO. */
int nb_milter_listen(const char *where, mode_t mode, int *made, struct nb_error *error);

/* Removes the file of a Unix socket that nb_milter_listen made. */
void nb_milter_unlisten(const char *where);

/* Makes a folder that no other user can enter, in $RUNTIME_DIRECTORY, $TMPDIR or /tmp, and puts the
 * path of a socket in it into `path`, "" after a failure. Returns 0 or NB_IO. */
int nb_milter_inner_make(char path[NB_INNER_BYTES], struct nb_error *error);

/* Removes the socket and its folder. */
void nb_milter_inner_remove(char path[NB_INNER_BYTES]);

#endif
