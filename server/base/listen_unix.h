/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening on a Unix socket. Main thread.
 */
#ifndef NB_SERVER_BASE_LISTEN_UNIX_H
#define NB_SERVER_BASE_LISTEN_UNIX_H

#include <sys/types.h>

#include "core/base/error.h"

/* Makes a Unix socket with this mode and listens on it; the caller must remove the file in the end.
 * Replaces a socket that a killed program has left behind. Returns 0, NB_INVALID (the path is too
 * long) or NB_IO (another process listens there, or the file is not a socket or belongs to another
 * user). */
int nb_listen_unix(const char *path, mode_t mode, int *made, struct nb_error *error);

/* Removes the socket that a killed program has left behind at this path, if there is one. Part of
 * nb_listen_unix; also for sockets that a library makes. */
void nb_listen_unix_clear(const char *path);

#endif
