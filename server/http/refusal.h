/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems (RFC 9457) that are written to a socket as they are, because no request has come to a
 * route yet. Any thread.
 */
#ifndef NB_SERVER_HTTP_REFUSAL_H
#define NB_SERVER_HTTP_REFUSAL_H

#include <stddef.h>

enum { NB_REFUSAL_BYTES = 1024 };

/* Writes a whole reply with "Connection: close". `detail` is plain text that needs no
 * escapes in JSON, of at most 400 bytes. Returns its length. */
size_t nb_refusal_write(unsigned status, const char *detail, char to[NB_REFUSAL_BYTES]);

/* Writes it to a socket without TLS, and that nothing follows; never waits. A client that does not
 * take it has gone. Returns its length. */
size_t nb_refusal_send(int file, unsigned status, const char *detail);

#endif
