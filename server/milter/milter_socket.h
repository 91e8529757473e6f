/* SPDX-License-Identifier: Apache-2.0
 *
 * The two sockets of bayesd-milter: the one for mail servers, and libmilter's own behind the relay.
 * Main thread.
 */
#ifndef NB_MILTER_MILTER_SOCKET_H
#define NB_MILTER_MILTER_SOCKET_H

#include <sys/types.h>

#include "core/base/error.h"

enum { NB_INNER_BYTES = 108 /* of a path, as sockaddr_un has them */ };

/* Listens where mail servers connect: inet:PORT@ADDRESS, inet6:PORT@ADDRESS, unix:/PATH or
 * local:/PATH, as libmilter writes them. `mode` is for a Unix socket. Returns 0, NB_INVALID (no
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
