/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a dump as bytes: written records read back in pieces of any size; other bytes are
 * refused.
 */
#include "core/archive/dump/dump.h"
#include "tests/unit/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char *const labels[] = {"ham", "spam"};

static struct nb_string text(const char *s)
{
    return nb_string_of(s);
}

static void write_all(struct nb_buffer *out, bool has_texts)
{
    const uint64_t ids[] = {UINT64_C(1) << 60, 7, UINT64_MAX};
    const struct nb_string texts[] = {text("one"), text(""), text("three")};
    const uint32_t rows[] = {0, 2};
    const uint32_t counts[] = {1, UINT32_MAX};
    struct nb_dump_header header = {
        .label_count = 2, .labels = labels, .has_texts = has_texts, .stack = text("weights")};
    const struct nb_dump_words words = {5, 3, ids, has_texts ? texts : NULL};
    const struct nb_dump_document document = {.id = text("d"),
                                              .label = NB_DUMP_NO_LABEL,
                                              .learned = INT64_MAX,
                                              .source = text("who"),
                                              .tokens = UINT64_MAX,
                                              .rows = rows,
                                              .counts = counts,
                                              .size = 2,
                                              .score = text("score")};
    const struct nb_dump_totals totals = {1, 3, 1 + (uint64_t)UINT32_MAX};
    memset(header.key, 1, sizeof header.key);
    nb_settings_init(&header.settings, NB_PRESET_MAIL);
    ck_assert_int_eq(nb_dump_write_header(&header, out), 0);
    ck_assert_int_eq(nb_dump_write_words(&words, out), 0);
    ck_assert_int_eq(nb_dump_write_document(&document, out), 0);
    ck_assert_int_eq(nb_dump_write_end(&totals, out), 0);
    nb_settings_deinit(&header.settings);
}

/* Write the records that were read again. */
static int again_header(void *user, const struct nb_dump_header *header)
{
    return nb_dump_write_header(header, user);
}

static int again_words(void *user, const struct nb_dump_words *words)
{
    return nb_dump_write_words(words, user);
}

static int again_document(void *user, const struct nb_dump_document *document)
{
    return nb_dump_write_document(document, user);
}

static int again_end(void *user, const struct nb_dump_totals *totals)
{
    return nb_dump_write_end(totals, user);
}

static int read_in_parts(const struct nb_buffer *bytes, size_t part, struct nb_buffer *out,
                         size_t *rest)
{
    const struct nb_dump_sink sink = {again_header, again_words, again_document, again_end, out};
    struct nb_dump_reading reading = {.rest = {NULL, 0, 0}};
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < bytes->length; at += part) {
        size_t some = bytes->length - at < part ? bytes->length - at : part;
        rc = nb_dump_read(&reading, (struct nb_string){bytes->bytes + at, some}, &sink, NULL);
    }
    *rest = reading.rest.length;
    nb_dump_reading_deinit(&reading);
    return rc;
}

START_TEST(what_is_written_reads_back)
{
    for (int has_texts = 0; has_texts < 2; has_texts++) {
        struct nb_buffer bytes = {0};
        write_all(&bytes, has_texts == 1);
        for (size_t part = 1; part <= bytes.length; part++) {
            struct nb_buffer again = {0};
            size_t rest;
            ck_assert_int_eq(read_in_parts(&bytes, part, &again, &rest), 0);
            ck_assert_uint_eq(rest, 0);
            ck_assert(nb_string_same(nb_buffer_string(&bytes), nb_buffer_string(&again)));
            nb_buffer_deinit(&again);
        }
        nb_buffer_deinit(&bytes);
    }
}
END_TEST

START_TEST(what_is_cut_off_is_no_record)
{
    struct nb_buffer bytes = {0};
    write_all(&bytes, true);
    for (size_t length = 1; length < bytes.length; length++) {
        const struct nb_buffer cut = {bytes.bytes, length, 0};
        struct nb_buffer again = {0};
        size_t rest;
        ck_assert_int_eq(read_in_parts(&cut, length, &again, &rest), 0);
        ck_assert_uint_eq(again.length + rest, length);
        nb_buffer_deinit(&again);
    }
    nb_buffer_deinit(&bytes);
}
END_TEST

/* A byte is another one: it reads back as something else, or it is refused. */
START_TEST(what_was_changed_is_harmless)
{
    struct nb_buffer bytes = {0};
    write_all(&bytes, true);
    size_t refused = 0;
    for (size_t i = 0; i < bytes.length; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            struct nb_buffer again = {0};
            size_t rest;
            bytes.bytes[i] = (char)((unsigned char)bytes.bytes[i] ^ 1u << bit);
            int rc = read_in_parts(&bytes, 64, &again, &rest);
            ck_assert(rc == 0 || rc == NB_INVALID || rc == NB_VERSION);
            refused += rc != 0;
            bytes.bytes[i] = (char)((unsigned char)bytes.bytes[i] ^ 1u << bit);
            nb_buffer_deinit(&again);
        }
    ck_assert_uint_gt(refused, 0);
    nb_buffer_deinit(&bytes);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("records");
    TCase *t = tcase_create("records");
    suite_add_tcase(s, t);
    tcase_add_test(t, what_is_written_reads_back);
    tcase_add_test(t, what_is_cut_off_is_no_record);
    tcase_add_test(t, what_was_changed_is_harmless);
    return test_run(s);
}
