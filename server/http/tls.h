/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS by GnuTLS, for the connections of the HTTP library: the certificate, the key and the other
 * settings of [tls], read from their files once and immutable then. A `session` is a
 * gnutls_session_t, used by the connection's thread alone. A struct nb_tls is for any thread.
 */
#ifndef NB_SERVER_HTTP_TLS_H
#define NB_SERVER_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct nb_config;
struct nb_tls;

enum {
    NB_TLS_NAME = 256
}; /* a certificate's common name has at most 64 characters (RFC 5280, A.1) */

/* Reads the files of [tls]; *tls is NULL when no certificate is configured. Returns 0,
 * NB_NO_MEMORY, or NB_INVALID, which names the option and the fault: files that cannot be read or
 * do not belong together, priorities that GnuTLS does not know, options that need each other. */
int nb_tls_new(const struct nb_config *config, struct nb_tls **tls, struct nb_error *error);

/* Call it after the last session that used it has ended; *tls may be NULL. */
void nb_tls_free(struct nb_tls **tls);

/* The socket below a session. Reads and writes fail like those of a non-blocking socket when it is
 * not ready. During the handshake `wait` is called before that, so that the caller can continue the
 * handshake when the socket is ready. */
struct nb_tls_socket {
    int file;
    bool is_shaken;                        /* the client's whole part of the handshake was read */
    void (*wait)(void *user, bool writes); /* waits to write if `writes`, else to read */
    void *user;
};

/* Gives a session its certificate and its socket before the handshake. `tls` and `socket` are
 * borrowed until the session ends. False: no memory. */
bool nb_tls_begin(const struct nb_tls *tls, void *session, struct nb_tls_socket *socket);

/* Whether the client has shown a certificate that client_ca has signed. Sets `name` to its common
 * name, or to the whole name when it has none. Call it after the handshake. */
bool nb_tls_client(const struct nb_tls *tls, void *session, char name[NB_TLS_NAME]);

/* Sends as many bytes as fit without waiting, then ends the sending direction. */
void nb_tls_send(void *session, const void *bytes, size_t length);
void nb_tls_end(void *session);

#endif
