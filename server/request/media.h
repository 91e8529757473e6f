/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request's body is: its media type and its content coding. Types alone.
 */
#ifndef NB_SERVER_REQUEST_MEDIA_H
#define NB_SERVER_REQUEST_MEDIA_H

enum nb_media {
    NB_MEDIA_JSON,
    NB_MEDIA_NDJSON,
    NB_MEDIA_TEXT,
    NB_MEDIA_HTML,
    NB_MEDIA_MAIL,
    NB_MEDIA_MBOX,
    NB_MEDIA_CSV /* rows: documents, or a table to learn a network from */
};

enum { NB_CHARSET_BYTES = 64 };

struct nb_media_type {
    enum nb_media media;
    char charset[NB_CHARSET_BYTES]; /* "" when none is given, or when it is UTF-8 or a part of it */
};

/* ZLIB (RFC 1950) is for SPAMC alone: what HTTP calls "deflate" is read in two ways. */
enum nb_coding { NB_CODING_IDENTITY, NB_CODING_GZIP, NB_CODING_ZLIB, NB_CODING_ZSTD };

#endif
