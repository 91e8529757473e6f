/* SPDX-License-Identifier: Apache-2.0
 *
 * The sockets that a program listens on: a Unix socket, TCP, and those that bayesd's configuration
 * asks for. Main thread.
 */
#ifndef NB_SERVER_BASE_LISTEN_H
#define NB_SERVER_BASE_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/error.h"

struct nb_config;

/* Makes a Unix socket with this mode and listens on it; the caller must remove the file in the end.
 * Replaces a socket that a killed program has left behind. Returns 0, NB_INVALID (the path is too
 * long) or NB_IO (another process listens there, or the file is not a socket or belongs to another
 * user). */
int nb_listen_unix(const char *path, mode_t mode, int *made, struct nb_error *error);

/* Removes the socket that a killed program has left behind at this path, if there is one. Part of
 * nb_listen_unix; also for sockets that a library makes. */
void nb_listen_unix_clear(const char *path);

enum { NB_ADDRESS_BYTES = 80 };

/* The sockets that the daemon may listen on. */
enum {
    NB_LISTEN_PORT, /* of the option [server] listen */
    NB_LISTEN_FILE, /* of [server] socket */
    NB_LISTEN_TLS,  /* of [tls] listen, or of [server] listen with [tls] only */
    NB_LISTEN_SOCKETS
};

struct nb_listener {
    int socket;                     /* owned by the caller */
    char address[NB_ADDRESS_BYTES]; /* "127.0.0.1:8763" or "[::1]:8763", with the port in use */
};

/* Whether ADDRESS:PORT or [IPv6]:PORT is a loopback address. NB_INVALID if it is not an address. */
int nb_listen_is_loopback(const char *address, bool *is_loopback, struct nb_error *error);

/* Binds and listens; port 0 takes a free one. Returns 0, NB_INVALID (no address) or NB_IO (the
 * address is in use or not available). */
int nb_listen(const char *address, struct nb_listener *listener, struct nb_error *error);

/* Where bayesd is reached over TCP. */
struct nb_addresses {
    struct nb_listener port, tls;
    bool has_port, has_tls;
};

/* Opens the sockets that the configuration asks for, which are the caller's then; -1 stands for
 * none. Returns 0, or what nb_listen and nb_listen_unix return; then none is left open. */
int nb_addresses_listen(const struct nb_config *config, struct nb_addresses *addresses,
                        int sockets[NB_LISTEN_SOCKETS], struct nb_error *error);

/* Prints the ports on standard error, whatever the level of the log is, because tests and scripts
 * read them there. The last line says that the daemon is ready. */
void nb_addresses_print(const struct nb_addresses *addresses);

#endif
