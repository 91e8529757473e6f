/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/decoder.h"

#define ZLIB_CONST /* makes zlib take its input as const */

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* The largest window that a zstd frame may request. Without a bound one connection could make the
 * daemon allocate 128 MiB. RFC 8878 wants every decoder to support 8 MiB, and RFC 9659 allows no
 * more on the web. */
enum { ZSTD_WINDOW_LOG_MOST = 23, PULL_BYTES = 64 * 1024 };

struct nb_decoder {
    enum nb_coding coding;
    bool is_started; /* some input was taken */
    bool is_ended;   /* the last member or frame is complete */
    z_stream zlib;
    ZSTD_DStream *zstd;
};

static bool uses_zlib(const struct nb_decoder *d)
{
    return d->coding == NB_CODING_GZIP || d->coding == NB_CODING_ZLIB;
}

int nb_decoder_new(enum nb_coding coding, struct nb_decoder **decoder)
{
    struct nb_decoder *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NB_NO_MEMORY;
    made->coding = coding;
    bool is_ready = true;
    /* 16 + 15: with a gzip header, and the largest window */
    if (uses_zlib(made))
        is_ready =
            inflateInit2(&made->zlib, (coding == NB_CODING_GZIP ? 16 : 0) + MAX_WBITS) == Z_OK;
    if (coding == NB_CODING_ZSTD) {
        made->zstd = ZSTD_createDStream();
        is_ready = made->zstd != NULL &&
                   !ZSTD_isError(ZSTD_DCtx_setParameter(made->zstd, ZSTD_d_windowLogMax,
                                                        ZSTD_WINDOW_LOG_MOST));
    }
    if (!is_ready) {
        nb_decoder_free(&made);
        return NB_NO_MEMORY;
    }
    *decoder = made;
    return 0;
}

void nb_decoder_free(struct nb_decoder **decoder)
{
    if (*decoder == NULL)
        return;
    if (uses_zlib(*decoder))
        (void)inflateEnd(&(*decoder)->zlib);  /* only an error code if it is uninitialized */
    (void)ZSTD_freeDStream((*decoder)->zstd); /* NULL is allowed */
    free(*decoder);
    *decoder = NULL;
}

static void take(struct nb_string *input, size_t length)
{
    assert(length <= input->length);
    input->bytes += length;
    input->length -= length;
}

/* Decodes gzip or zlib. gzip may be several members one after the other (RFC 1952, 2.2). */
static int pull_zlib(struct nb_decoder *d, struct nb_string *input, char *out, size_t room,
                     size_t *produced, struct nb_error *error)
{
    assert(room > 0); /* else nothing produced would look like the end of the input */
    z_stream *z = &d->zlib;
    size_t done = 0;
    int rc = Z_OK;
    while (done == 0 && rc == Z_OK) {
        if (d->is_ended && input->length > 0) {
            (void)inflateReset(z); /* cannot fail on a stream that worked */
            d->is_ended = false;
        }
        uInt in = input->length < UINT_MAX ? (uInt)input->length : UINT_MAX;
        uInt space = room < UINT_MAX ? (uInt)room : UINT_MAX;
        z->next_in = (const Bytef *)input->bytes;
        z->avail_in = in;
        z->next_out = (Bytef *)out;
        z->avail_out = space;
        rc = d->is_ended ? Z_BUF_ERROR : inflate(z, Z_NO_FLUSH);
        done = space - z->avail_out;
        take(input, in - z->avail_in);
        d->is_started |= in > 0;
        if (rc == Z_STREAM_END) {
            d->is_ended = true;
            rc = input->length > 0 ? Z_OK : Z_BUF_ERROR;
        }
    }
    *produced = done;
    if (rc == Z_OK || rc == Z_BUF_ERROR) /* Z_BUF_ERROR: nothing more to do for now */
        return 0;
    *produced = 0;
    if (rc == Z_MEM_ERROR)
        return nb_error_no_memory(error);
    return nb_error_set(error, NB_INVALID, "the body is not valid %s: %s",
                        d->coding == NB_CODING_GZIP ? "gzip" : "zlib",
                        z->msg != NULL ? z->msg : "broken stream");
}

static int pull_zstd(struct nb_decoder *d, struct nb_string *input, char *out, size_t room,
                     size_t *produced, struct nb_error *error)
{
    assert(room > 0 && d->zstd != NULL);
    ZSTD_inBuffer in = {input->bytes, input->length, 0};
    ZSTD_outBuffer to = {out, room, 0};
    *produced = 0;
    size_t before = SIZE_MAX;
    /* A call may take input without giving output. A call that does neither has nothing left to
     * do. */
    while (to.pos == 0 && in.pos != before) {
        before = in.pos;
        if (d->is_ended && in.pos == in.size)
            break;
        size_t rc = ZSTD_decompressStream(d->zstd, &to, &in);
        if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
            return nb_error_no_memory(error);
        if (ZSTD_isError(rc))
            return nb_error_set(error, NB_INVALID, "the body is not valid zstd: %s",
                                ZSTD_getErrorName(rc));
        d->is_ended = rc == 0;
    }
    d->is_started |= input->length > 0;
    take(input, in.pos);
    *produced = to.pos;
    return 0;
}

int nb_decoder_pull(struct nb_decoder *decoder, struct nb_string *input, char *out, size_t room,
                    size_t *produced, struct nb_error *error)
{
    switch (decoder->coding) {
    case NB_CODING_GZIP:
    case NB_CODING_ZLIB:
        return pull_zlib(decoder, input, out, room, produced, error);
    case NB_CODING_ZSTD:
        return pull_zstd(decoder, input, out, room, produced, error);
    case NB_CODING_IDENTITY:
    default:
        *produced = input->length < room ? input->length : room;
        if (*produced > 0)
            memcpy(out, input->bytes, *produced);
        take(input, *produced);
        return 0;
    }
}

int nb_decoder_finish(const struct nb_decoder *decoder, struct nb_error *error)
{
    if (decoder->coding == NB_CODING_IDENTITY || decoder->is_ended)
        return 0;
    return nb_error_set(error, NB_INVALID, "the compressed body %s",
                        decoder->is_started ? "ends before its end mark" : "is empty");
}

int nb_body_too_large(size_t most, struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE,
                        "the body is larger than the limit of %zu bytes (body_bytes)", most);
}

int nb_decoder_append_some(struct nb_decoder *decoder, struct nb_string *input, size_t most,
                           struct nb_buffer *out, bool *is_all, struct nb_error *error)
{
    size_t produced;
    *is_all = true;
    bool is_plain = decoder->coding == NB_CODING_IDENTITY;
    if (out->length > most || (is_plain && input->length > most - out->length))
        return nb_body_too_large(most, error);
    if (is_plain) {
        if (nb_buffer_append(out, input->bytes, input->length) != 0)
            return nb_error_no_memory(error);
        take(input, input->length);
        return 0;
    }
    if (nb_buffer_reserve(out, PULL_BYTES) != 0)
        return nb_error_no_memory(error);
    int rc =
        nb_decoder_pull(decoder, input, out->bytes + out->length, PULL_BYTES, &produced, error);
    if (rc != 0)
        return rc;
    if (produced > most - out->length)
        return nb_body_too_large(most, error);
    assert(produced <= PULL_BYTES && out->length + produced <= out->capacity);
    out->length += produced;
    *is_all = produced == 0;
    return 0;
}

int nb_decoder_append(struct nb_decoder *decoder, struct nb_string input, size_t most,
                      struct nb_buffer *out, struct nb_error *error)
{
    bool is_all = false;
    int rc = 0;
    while (rc == 0 && !is_all)
        rc = nb_decoder_append_some(decoder, &input, most, out, &is_all, error);
    return rc;
}
