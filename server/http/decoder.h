/* SPDX-License-Identifier: Apache-2.0
 *
 * Removes the content coding of a request's body (gzip, RFC 1952; zstd, RFC 8878) piece by piece. A
 * decoder belongs to one thread at a time.
 *
 * The caller pulls: input goes in as it arrives, output comes out at most a buffer at a time, so a
 * small body that unpacks to gigabytes never needs more memory than that buffer.
 */
#ifndef NB_SERVER_HTTP_DECODER_H
#define NB_SERVER_HTTP_DECODER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_decoder;

/* The kind of a request's body: its media type and its content coding. Only types. */
enum nb_media {
    NB_MEDIA_JSON,
    NB_MEDIA_NDJSON,
    NB_MEDIA_TEXT,
    NB_MEDIA_HTML,
    NB_MEDIA_MAIL,
    NB_MEDIA_MBOX,
    NB_MEDIA_CSV /* rows: documents, or a table for learning a network */
};

enum { NB_CHARSET_BYTES = 64 };

struct nb_media_type {
    enum nb_media media;
    char charset[NB_CHARSET_BYTES]; /* "" when none is given, or for UTF-8 and its subsets */
};

/* ZLIB (RFC 1950) is for SPAMC alone: implementations disagree on what HTTP calls "deflate". */
enum nb_coding { NB_CODING_IDENTITY, NB_CODING_GZIP, NB_CODING_ZLIB, NB_CODING_ZSTD };

/* Makes a decoder. The only error is NB_NO_MEMORY. */
int nb_decoder_new(enum nb_coding coding, struct nb_decoder **decoder);
void nb_decoder_free(struct nb_decoder **decoder);

/* Decodes a part of `input` into `out`, moves `input` behind that part, and sets *produced. When
 * *produced is 0, all input was taken and no output is pending. Returns 0, NB_INVALID (the input is
 * not in this coding, or continues after its end) or NB_NO_MEMORY (also for a zstd window above 8
 * MiB, RFC 8878, 3.1.1.1.2). */
int nb_decoder_pull(struct nb_decoder *decoder, struct nb_string *input, char *out, size_t room,
                    size_t *produced, struct nb_error *error);

/* Call it after the last input. Returns 0, or NB_INVALID when the body was cut off. */
int nb_decoder_finish(const struct nb_decoder *decoder, struct nb_error *error);

/* Decodes all of `input` and appends the result to `out`. Returns NB_TOO_LARGE as soon as `out`
 * would exceed `most` bytes. */
int nb_decoder_append(struct nb_decoder *decoder, struct nb_string input, size_t most,
                      struct nb_buffer *out, struct nb_error *error);

/* Decodes a part of `input`, appends it to `out`, and moves `input` behind that part. Sets *is_all
 * when all input was taken and no output is pending. Returns as nb_decoder_append. */
int nb_decoder_append_some(struct nb_decoder *decoder, struct nb_string *input, size_t most,
                           struct nb_buffer *out, bool *is_all, struct nb_error *error);

/* Sets the error for a body over its limit. Returns NB_TOO_LARGE. */
int nb_body_too_large(size_t most, struct nb_error *error);

#endif
