/* SPDX-License-Identifier: Apache-2.0
 *
 * The format of backups: a written backup reads back in pieces of any size; any other bytes are
 * refused.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/backup/format.h"
#include "tests/unit/run.h"

static struct nb_string text(const char *s)
{
    return nb_string_of(s);
}

/* Writes three values in two blocks. */
static void write_backup(struct nb_buffer *out)
{
    size_t at;
    ck_assert_int_eq(nb_backup_put_head(out, 7, 1234), 0);
    ck_assert_int_eq(nb_backup_begin_values(out, "meta", &at), 0);
    ck_assert_int_eq(nb_backup_put_value(out, text("key"), text("value")), 0);
    ck_assert_int_eq(nb_backup_put_value(out, text("other"), text("")), 0);
    ck_assert_int_eq(nb_backup_end_block(out, at, 1, NULL), 0);
    ck_assert_int_eq(nb_backup_begin_values(out, "ledger", &at), 0);
    ck_assert_int_eq(nb_backup_put_value(out, text("k"), text("v")), 0);
    ck_assert_int_eq(nb_backup_end_block(out, at, 2, NULL), 0);
    ck_assert_int_eq(nb_backup_put_end(out, 3, 3), 0);
}

static int note_format(void *user, uint64_t format, struct nb_error *error)
{
    (void)error;
    return nb_buffer_printf(user, "%d:", (int)format);
}

static int note_value(void *user, struct nb_string table, struct nb_string key,
                      struct nb_string value, struct nb_error *error)
{
    (void)error;
    return nb_buffer_printf(user, "%.*s/%.*s=%.*s;", (int)table.length, table.bytes,
                            (int)key.length, key.bytes, (int)value.length, value.bytes);
}

static int read_pieces(const char *bytes, size_t length, size_t piece, struct nb_buffer *seen,
                       struct nb_error *error)
{
    const struct nb_backup_sink sink = {note_format, note_value, seen};
    struct nb_backup_reader reader;
    int rc = 0;
    nb_backup_reader_init(&reader, &sink);
    for (size_t at = 0; rc == 0 && at < length; at += piece)
        rc = nb_backup_read(&reader, bytes + at, length - at < piece ? length - at : piece, error);
    if (rc == 0)
        rc = nb_backup_read_end(&reader, error);
    nb_backup_reader_deinit(&reader);
    return rc;
}

START_TEST(what_is_written_reads_back)
{
    static const char want[] = "7:meta/key=value;meta/other=;ledger/k=v;";
    struct nb_buffer out = {0};
    write_backup(&out);
    for (size_t piece = 1; piece <= out.length; piece++) {
        struct nb_buffer seen = {0};
        ck_assert_int_eq(read_pieces(out.bytes, out.length, piece, &seen, NULL), 0);
        ck_assert_uint_eq(seen.length, strlen(want));
        ck_assert_mem_eq(seen.bytes, want, seen.length);
        nb_buffer_deinit(&seen);
    }
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(every_cut_and_every_flipped_bit_is_noticed)
{
    struct nb_buffer out = {0};
    struct nb_buffer seen = {0};
    struct nb_error error;
    write_backup(&out);
    for (size_t length = 0; length < out.length; length++)
        ck_assert_int_eq(read_pieces(out.bytes, length, 1000, &seen, &error),
                         length < 16 ? NB_INVALID : NB_CORRUPT);
    for (size_t bit = 0; bit < out.length * 8; bit++) {
        out.bytes[bit / 8] = (char)(out.bytes[bit / 8] ^ 1 << bit % 8);
        int rc = read_pieces(out.bytes, out.length, 1000, &seen, &error);
        ck_assert_msg(rc == NB_CORRUPT || rc == NB_INVALID || rc == NB_VERSION, "bit %zu: %d", bit,
                      rc);
        out.bytes[bit / 8] = (char)(out.bytes[bit / 8] ^ 1 << bit % 8);
    }
    nb_buffer_deinit(&seen);
    nb_buffer_deinit(&out);
}
END_TEST

/* Blocks that are whole in themselves, but lost, repeated or in another order. */
START_TEST(blocks_have_their_place)
{
    struct nb_buffer out = {0};
    struct nb_buffer seen = {0};
    size_t at;
    ck_assert_int_eq(nb_backup_put_head(&out, 7, 1234), 0);
    size_t head = out.length;
    ck_assert_int_eq(nb_backup_put_end(&out, 2, 0), 0);
    ck_assert_int_eq(read_pieces(out.bytes, out.length, 1000, &seen, NULL), NB_CORRUPT);
    out.length = head;
    ck_assert_int_eq(nb_backup_put_end(&out, 1, 1), 0); /* counts a value that is not there */
    ck_assert_int_eq(read_pieces(out.bytes, out.length, 1000, &seen, NULL), NB_CORRUPT);
    out.length = 16; /* begins with values */
    ck_assert_int_eq(nb_backup_begin_values(&out, "meta", &at), 0);
    ck_assert_int_eq(nb_backup_end_block(&out, at, 0, NULL), 0);
    ck_assert_int_eq(read_pieces(out.bytes, out.length, 1000, &seen, NULL), NB_CORRUPT);
    nb_buffer_deinit(&seen);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(a_failure_says_why)
{
    struct nb_buffer out = {0};
    struct nb_buffer seen = {0};
    struct nb_error error;
    ck_assert_int_eq(nb_backup_put_head(&out, 7, 1234), 0);
    ck_assert_int_eq(nb_backup_put_failure(&out, 1, "the disk is gone"), 0);
    ck_assert_int_eq(read_pieces(out.bytes, out.length, 1000, &seen, &error), NB_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error.text, "the disk is gone"));
    nb_buffer_deinit(&seen);
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("backup_format");
    TCase *t = tcase_create("backup_format");
    suite_add_tcase(s, t);
    tcase_add_test(t, what_is_written_reads_back);
    tcase_add_test(t, every_cut_and_every_flipped_bit_is_noticed);
    tcase_add_test(t, blocks_have_their_place);
    tcase_add_test(t, a_failure_says_why);
    return test_run(s);
}
