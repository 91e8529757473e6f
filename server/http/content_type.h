/* SPDX-License-Identifier: Apache-2.0
 *
 * What the header fields of a request say about its body: Content-Type and Content-Encoding. Pure
 * functions; any thread.
 */
#ifndef NB_SERVER_HTTP_CONTENT_TYPE_H
#define NB_SERVER_HTTP_CONTENT_TYPE_H

#include "core/base/error.h"
#include "server/request/media.h"

/* Reads a Content-Type (NULL: there is none). Parameters other than charset are ignored.
 * Returns 0, or NB_UNSUPPORTED naming the types that are known, also for a charset on JSON other
 * than UTF-8 (RFC 8259, 8.1). */
int nb_media_read(const char *content_type, struct nb_media_type *type, struct nb_error *error);

/* Reads a Content-Encoding (NULL: there is none): one of gzip, x-gzip, zstd, identity. Returns 0 or
 * NB_UNSUPPORTED, also for two codings one over the other. */
int nb_coding_read(const char *content_encoding, enum nb_coding *coding, struct nb_error *error);

#endif
