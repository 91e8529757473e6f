/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "server/http/decoder.h"
#include "tests/unit/run.h"

enum { MOST = 1 << 20, SEED = 1763 };

/* ---- making bodies --------------------------------------------------------------------------- */

/* `window` is zlib's windowBits; with 16 added, zlib writes gzip. */
static void pack_zlib(int window, const void *bytes, size_t length, struct nb_buffer *out)
{
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(nb_buffer_reserve(out, deflateBound(&z, length) + 64), 0);
    char *copy = malloc(length + 1); /* zlib's input is not const */
    if (length > 0)
        memcpy(copy, bytes, length);
    z.next_in = (Bytef *)copy;
    z.avail_in = (uInt)length;
    z.next_out = (Bytef *)out->bytes + out->length;
    z.avail_out = (uInt)(out->capacity - out->length);
    ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->length += z.total_out;
    deflateEnd(&z);
    free(copy);
}

static void pack_zstd(const void *bytes, size_t length, struct nb_buffer *out)
{
    ck_assert_int_eq(nb_buffer_reserve(out, ZSTD_compressBound(length)), 0);
    size_t n =
        ZSTD_compress(out->bytes + out->length, out->capacity - out->length, bytes, length, 3);
    ck_assert(!ZSTD_isError(n));
    out->length += n;
}

static void pack(enum nb_coding coding, const void *bytes, size_t length, struct nb_buffer *out)
{
    if (coding == NB_CODING_GZIP || coding == NB_CODING_ZLIB)
        pack_zlib(coding == NB_CODING_GZIP ? 16 + MAX_WBITS : MAX_WBITS, bytes, length, out);
    else if (coding == NB_CODING_ZSTD)
        pack_zstd(bytes, length, out);
    else
        ck_assert_int_eq(nb_buffer_append(out, bytes, length), 0);
}

/* Decodes `packed` in pieces of `piece` bytes. Returns the first failure, or the code of
 * nb_decoder_finish. */
static int unpack(enum nb_coding coding, const struct nb_buffer *packed, size_t piece, size_t most,
                  struct nb_buffer *out)
{
    struct nb_decoder *decoder = NULL;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_decoder_new(coding, &decoder), 0);
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < packed->length; at += piece) {
        size_t length = packed->length - at < piece ? packed->length - at : piece;
        rc = nb_decoder_append(decoder, (struct nb_string){packed->bytes + at, length}, most, out,
                               &error);
    }
    if (rc == 0)
        rc = nb_decoder_finish(decoder, &error);
    ck_assert_int_eq(error.code, rc);
    nb_decoder_free(&decoder);
    ck_assert_ptr_null(decoder);
    return rc;
}

static void check_same(const struct nb_buffer *got, const void *bytes, size_t length)
{
    ck_assert_uint_eq(got->length, length);
    ck_assert(length == 0 || memcmp(got->bytes, bytes, length) == 0);
}

/* ---- valid bodies ---------------------------------------------------------------------------- */

START_TEST(unpacks_whatever_the_pieces)
{
    enum nb_coding coding = (enum nb_coding)_i;
    srand48(SEED + _i);
    for (int round = 0; round < 60; round++) {
        struct nb_buffer text = {0}, packed = {0}, got = {0};
        size_t length = round < 3 ? (size_t)round : (size_t)(lrand48() % 300000);
        for (size_t i = 0; i < length; i++)
            nb_buffer_append(&text, &"abcdefgh\n"[lrand48() % 9], 1);
        pack(coding, text.bytes, text.length, &packed);
        size_t piece =
            round % 4 == 0 ? 1 + (size_t)(lrand48() % 40) : 1 + (size_t)(lrand48() % 70000);
        ck_assert_msg(unpack(coding, &packed, piece, MOST, &got) == 0, "seed %d round %d",
                      SEED + _i, round);
        check_same(&got, text.bytes, text.length);
        nb_buffer_deinit(&text);
        nb_buffer_deinit(&packed);
        nb_buffer_deinit(&got);
    }
}
END_TEST

/* RFC 1952, 2.2, and RFC 8878, 3: several members or frames are one body. */
START_TEST(unpacks_several_members)
{
    enum nb_coding coding = (enum nb_coding)_i;
    for (size_t piece = 1; piece < 40; piece++) {
        struct nb_buffer packed = {0}, got = {0};
        pack(coding, "one ", 4, &packed);
        pack(coding, "", 0, &packed);
        pack(coding, "two", 3, &packed);
        ck_assert_int_eq(unpack(coding, &packed, piece, MOST, &got), 0);
        check_same(&got, "one two", 7);
        nb_buffer_deinit(&packed);
        nb_buffer_deinit(&got);
    }
}
END_TEST

/* ---- broken bodies --------------------------------------------------------------------------- */

START_TEST(refuses_every_cut)
{
    enum nb_coding coding = (enum nb_coding)_i;
    struct nb_buffer packed = {0};
    pack(coding, "a text that is cut off everywhere", 33, &packed);
    size_t whole = packed.length;
    for (packed.length = 0; packed.length < whole; packed.length++) {
        struct nb_buffer got = {0};
        ck_assert_msg(unpack(coding, &packed, 5, MOST, &got) == NB_INVALID, "cut at %zu",
                      packed.length);
        nb_buffer_deinit(&got);
    }
    nb_buffer_deinit(&packed);
}
END_TEST

START_TEST(refuses_what_follows_the_end)
{
    enum nb_coding coding = (enum nb_coding)_i;
    for (size_t piece = 1; piece < 80; piece += 13) {
        struct nb_buffer packed = {0}, got = {0};
        pack(coding, "text", 4, &packed);
        nb_buffer_puts(&packed, "and something that is none");
        ck_assert_int_eq(unpack(coding, &packed, piece, MOST, &got), NB_INVALID);
        nb_buffer_deinit(&packed);
        nb_buffer_deinit(&got);
    }
}
END_TEST

START_TEST(refuses_another_coding)
{
    enum nb_coding other = _i == NB_CODING_GZIP ? NB_CODING_ZSTD : NB_CODING_GZIP;
    struct nb_buffer packed = {0}, got = {0};
    pack(other, "text", 4, &packed);
    ck_assert_int_eq(unpack((enum nb_coding)_i, &packed, 100, MOST, &got), NB_INVALID);
    nb_buffer_deinit(&packed);
    nb_buffer_deinit(&got);
}
END_TEST

/* Changed bytes lead to an error or to some text, but never to more text than is allowed. */
START_TEST(survives_changed_bytes)
{
    enum nb_coding coding = (enum nb_coding)_i;
    srand48(SEED + _i);
    struct nb_buffer packed = {0};
    char text[2000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)lrand48();
    pack(coding, text, sizeof text, &packed);
    for (int round = 0; round < 500; round++) {
        struct nb_buffer got = {0};
        size_t at = (size_t)lrand48() % packed.length;
        char before = packed.bytes[at];
        packed.bytes[at] = (char)lrand48();
        (void)unpack(coding, &packed, 1 + (size_t)lrand48() % 3000, 5000, &got);
        ck_assert_msg(got.length <= 5000, "seed %d round %d: %zu bytes", SEED + _i, round,
                      got.length);
        packed.bytes[at] = before;
        nb_buffer_deinit(&got);
    }
    nb_buffer_deinit(&packed);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

START_TEST(stops_at_the_limit)
{
    enum nb_coding coding = (enum nb_coding)_i;
    static const struct {
        size_t length, most;
        int rc;
    } cases[] = {{10, 10, 0},          {11, 10, NB_TOO_LARGE}, {0, 0, 0},
                 {1, 0, NB_TOO_LARGE}, {65536, 65536, 0},      {65537, 65536, NB_TOO_LARGE}};
    char *zeros = calloc(1, 65537);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nb_buffer packed = {0}, got = {0};
        pack(coding, zeros, cases[i].length, &packed);
        ck_assert_msg(unpack(coding, &packed, 50, cases[i].most, &got) == cases[i].rc, "case %zu",
                      i);
        ck_assert_uint_le(got.length, cases[i].most);
        nb_buffer_deinit(&packed);
        nb_buffer_deinit(&got);
    }
    free(zeros);
}
END_TEST

/* 64 MiB of zeros, packed into some kilobytes, with a limit of 1 MiB: memory stays near the limit.
 */
START_TEST(stops_a_bomb)
{
    enum nb_coding coding = (enum nb_coding)_i;
    size_t size = (size_t)64 << 20;
    char *zeros = calloc(1, size);
    struct nb_buffer packed = {0}, got = {0};
    pack(coding, zeros, size, &packed);
    free(zeros);
    ck_assert_uint_lt(packed.length, 100000);
    ck_assert_int_eq(unpack(coding, &packed, packed.length, MOST, &got), NB_TOO_LARGE);
    ck_assert_uint_le(got.capacity, 2 * MOST + 200000);
    nb_buffer_deinit(&packed);
    nb_buffer_deinit(&got);
}
END_TEST

START_TEST(refuses_a_large_zstd_window)
{
    /* A frame header (RFC 8878, 3.1.1) that asks for a window of 1 GiB, and an empty last block. */
    static char frame[] = "\x28\xB5\x2F\xFD\x00\xA0\x01\x00\x00";
    struct nb_buffer packed = {frame, sizeof frame - 1, sizeof frame}, got = {0};
    int rc = unpack(NB_CODING_ZSTD, &packed, 100, MOST, &got);
    ck_assert_int_ne(rc, 0);
    nb_buffer_deinit(&got);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("body");
    TCase *tcase = tcase_create("body");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, unpacks_whatever_the_pieces, NB_CODING_IDENTITY, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, unpacks_several_members, NB_CODING_GZIP, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, refuses_every_cut, NB_CODING_GZIP, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, refuses_what_follows_the_end, NB_CODING_GZIP, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, refuses_another_coding, NB_CODING_GZIP, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, survives_changed_bytes, NB_CODING_GZIP, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, stops_at_the_limit, NB_CODING_IDENTITY, NB_CODING_ZSTD + 1);
    tcase_add_loop_test(tcase, stops_a_bomb, NB_CODING_GZIP, NB_CODING_ZSTD + 1);
    tcase_add_test(tcase, refuses_a_large_zstd_window);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
