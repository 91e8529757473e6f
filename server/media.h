/* SPDX-License-Identifier: Apache-2.0
 *
 * What the header fields of a request say about its body: Content-Type and Content-Encoding. Pure
 * functions; any thread.
 */
#ifndef NB_SERVER_MEDIA_H
#define NB_SERVER_MEDIA_H

#include "core/base/buffer.h"
#include "core/base/error.h"

enum nb_media { NB_MEDIA_JSON, NB_MEDIA_NDJSON, NB_MEDIA_TEXT, NB_MEDIA_MAIL, NB_MEDIA_MBOX };

enum { NB_CHARSET_BYTES = 64 };

struct nb_media_type {
    enum nb_media media;
    char charset[NB_CHARSET_BYTES]; /* "" when none is given, or when it is UTF-8 or a part of it */
};

/* Reads a Content-Type (NULL: there is none). Parameters other than charset are passed over.
 * Returns 0, or NB_UNSUPPORTED naming the types that are known, also for a charset on JSON other
 * than UTF-8 (RFC 8259, 8.1). */
int nb_media_read(const char *content_type, struct nb_media_type *type, struct nb_error *error);

/* ZLIB (RFC 1950) is for SPAMC alone: what HTTP calls "deflate" is read in two ways. */
enum nb_coding { NB_CODING_IDENTITY, NB_CODING_GZIP, NB_CODING_ZLIB, NB_CODING_ZSTD };

/* Reads a Content-Encoding (NULL: there is none): one of gzip, x-gzip, zstd, identity. Returns 0 or
 * NB_UNSUPPORTED, also for two codings one over the other. */
int nb_coding_read(const char *content_encoding, enum nb_coding *coding, struct nb_error *error);

#endif
