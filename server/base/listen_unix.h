/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening on a Unix socket. Main thread.
 */
#ifndef NB_SERVER_BASE_LISTEN_UNIX_H
#define NB_SERVER_BASE_LISTEN_UNIX_H

#include <sys/types.h>

#include "core/base/error.h"

/* Makes a Unix socket of this mode and listens on it; the caller removes the file in the end. What
 * was left behind there by a program that was killed is replaced. NB_INVALID (the path is too long)
 * or NB_IO (another process listens there, or the file is not a socket or belongs to another user).
 */
int nb_listen_unix(const char *path, mode_t mode, int *made, struct nb_error *error);

/* Removes the socket that a program which was killed has left behind at this path, if there is one.
 * Part of nb_listen_unix; for sockets that a library makes. */
void nb_listen_unix_clear(const char *path);

#endif
