/* SPDX-License-Identifier: Apache-2.0
 *
 * Word lists of bogofilter: their lines, the features of their tokens, and the dump made from a
 * list.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/feature.h"
#include "server/client/bogofilter/bogofilter.h"
#include "server/client/commands/command_dump.h"
#include "tests/unit/run.h"
#include "tokenizer/text.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

static FILE *file_of(const char *bytes, size_t length)
{
    FILE *file =
        length > 0 ? fmemopen((void *)(uintptr_t)bytes, length, "r") : fopen("/dev/null", "r");
    ck_assert_ptr_nonnull(file);
    return file;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    enum nb_wordlist_kind kind;
    const char *token;
    uint32_t spam, ham, date;
} lines[] = {
    {"word 3 4 20240131\n", NB_WORDLIST_COUNTS, "word", 3, 4, 20240131},
    {"word 3 4\n", NB_WORDLIST_COUNTS, "word", 3, 4, 0},
    {"word 3 4", NB_WORDLIST_COUNTS, "word", 3, 4, 0},
    {"word\t3  4 \r\n", NB_WORDLIST_COUNTS, "word", 3, 4, 0},
    {"\n\r\nword 3 4\n", NB_WORDLIST_COUNTS, "word", 3, 4, 0},
    {"w\xFF\x80 0 4294967295\n", NB_WORDLIST_COUNTS, "w\xFF\x80", 0, UINT32_MAX, 0},
    {"word 3 4294967296\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"word 99999999999999999999999999 1\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"word -3 4\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"word 3\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"word\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"word 3 4 5 6\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"word 3 4x\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {" 3 4\n", NB_WORDLIST_MALFORMED, NULL, 0, 0, 0},
    {"", NB_WORDLIST_END, NULL, 0, 0, 0},
    {"\n\n", NB_WORDLIST_END, NULL, 0, 0, 0},
};

START_TEST(lines_are_told_apart)
{
    FILE *in = file_of(lines[_i].bytes, strlen(lines[_i].bytes));
    struct nb_wordlist_reader reader = {.in = in};
    struct nb_wordlist_line line;
    ck_assert_int_eq(nb_wordlist_read(&reader, &line), lines[_i].kind);
    if (lines[_i].kind == NB_WORDLIST_COUNTS) {
        ck_assert(nb_string_equals(line.token, lines[_i].token));
        ck_assert_uint_eq(line.spam, lines[_i].spam);
        ck_assert_uint_eq(line.ham, lines[_i].ham);
        ck_assert_uint_eq(line.date, lines[_i].date);
    }
    ck_assert_int_eq(fclose(in), 0);
}
END_TEST

START_TEST(a_long_line_takes_no_memory)
{
    static char bytes[3 * NB_WORDLIST_LINE];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes + sizeof bytes - 11, "\nword 1 2\n", 10);
    FILE *in = file_of(bytes, sizeof bytes - 1);
    struct nb_wordlist_reader reader = {.in = in};
    struct nb_wordlist_line line;
    ck_assert_int_eq(nb_wordlist_read(&reader, &line), NB_WORDLIST_MALFORMED);
    ck_assert_int_eq(nb_wordlist_read(&reader, &line), NB_WORDLIST_COUNTS);
    ck_assert(nb_string_equals(line.token, "word"));
    ck_assert_uint_eq(reader.number, 2);
    ck_assert_int_eq(nb_wordlist_read(&reader, &line), NB_WORDLIST_END);
    ck_assert_int_eq(fclose(in), 0);
}
END_TEST

START_TEST(a_line_may_fill_the_room)
{
    /* The longest line that is read whole, and a line that is one byte longer. */
    for (size_t more = 0; more < 2; more++) {
        char bytes[NB_WORDLIST_LINE + 2];
        memset(bytes, 'x', sizeof bytes);
        memcpy(bytes + NB_WORDLIST_LINE + more - 4, " 1 2\n", 5);
        FILE *in = file_of(bytes, NB_WORDLIST_LINE + more + (more == 0));
        struct nb_wordlist_reader reader = {.in = in};
        struct nb_wordlist_line line;
        ck_assert_int_eq(nb_wordlist_read(&reader, &line),
                         more == 0 ? NB_WORDLIST_COUNTS : NB_WORDLIST_MALFORMED);
        ck_assert_int_eq(fclose(in), 0);
    }
}
END_TEST

/* ---- lists ----------------------------------------------------------------------------------- */

static int read_list(const char *bytes, size_t length, struct nb_bogofilter_list *list,
                     struct nb_error *error)
{
    FILE *in = file_of(bytes, length);
    *error = (struct nb_error){0};
    int rc = nb_bogofilter_read(in, list, error);
    ck_assert_int_eq(fclose(in), 0);
    return rc;
}

/* Returns how many documents of a label have a word of the body; 0 when the list does not have the
 * word. */
static uint32_t documents_of(const struct nb_bogofilter_list *list, enum nb_field field,
                             const char *text, enum nb_bogofilter_label label)
{
    uint64_t hash = nb_feature_hash(&list->key, text, strlen(text));
    uint32_t row = nb_model_find(list->rows, nb_feature_id(field, hash));
    return row == NB_NO_ROW ? 0 : list->documents[row][label];
}

#define LIST                                                                                       \
    "!first 1 0 20240101\n"                                                                        \
    ".MSG_COUNT 4 6 20240201\n"                                                                    \
    ".ROBX 1 2 20240101\n"                                                                         \
    "Viagra 3 0 20240101\n"                                                                        \
    "viagra 2 1 20240101\n"                                                                        \
    "garden 0 5 20240101\n"                                                                        \
    "subj:lunch 1 2 20240101\n"                                                                    \
    "from:anna 1 2 20240101\n"                                                                     \
    "url:example 1 2 20240101\n"                                                                   \
    "unused 0 0 20240101\n"                                                                        \
    "often 5 0 20240101\n"                                                                         \
    "--- 1 0 20240101\n"                                                                           \
    "malformed\n"                                                                                  \
    ".MSG_COUNT 7 7\n"

START_TEST(a_list_becomes_counts)
{
    struct nb_bogofilter_list list;
    struct nb_error error;
    static const uint64_t lost[NB_LOSSES] = {
        [NB_LOSS_MALFORMED] = 2, [NB_LOSS_TOO_HIGH] = 1, [NB_LOSS_UNUSED] = 1,
        [NB_LOSS_FROM] = 1,      [NB_LOSS_URL] = 1,      [NB_LOSS_NO_WORD] = 1};
    ck_assert_msg(read_list(LIST, strlen(LIST), &list, &error) == 0, "%s", error.text);
    ck_assert_uint_eq(list.messages[NB_BOGOFILTER_SPAM], 4);
    ck_assert_uint_eq(list.messages[NB_BOGOFILTER_HAM], 6);
    ck_assert_int_eq(list.learned, INT64_C(1706788800000)); /* 2024-02-01, noon */
    ck_assert_uint_eq(list.tokens, 5);
    for (int i = 0; i < NB_LOSSES; i++)
        ck_assert_msg(list.losses[i].count == lost[i], "%s: %ju",
                      nb_bogofilter_loss_name((enum nb_bogofilter_loss)i),
                      (uintmax_t)list.losses[i].count);
    ck_assert_uint_eq(list.losses[NB_LOSS_MALFORMED].lines[0], 13);
    ck_assert_uint_eq(list.losses[NB_LOSS_FROM].lines[0], 8);
    /* The counts of two tokens that become one word are added up, to at most the number of
     * messages. */
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_BODY, "viagra", NB_BOGOFILTER_SPAM), 4);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_BODY, "viagra", NB_BOGOFILTER_HAM), 1);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_BODY, "garden", NB_BOGOFILTER_HAM), 5);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_BODY, "first", NB_BOGOFILTER_SPAM), 1);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_SUBJECT, "subject:lunch", NB_BOGOFILTER_HAM), 2);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_BODY, "anna", NB_BOGOFILTER_HAM), 0);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_BODY, "often", NB_BOGOFILTER_SPAM), 0);
    /* Features that bogofilter never counts are equally frequent in both labels. */
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_RECEIVED, "received:by", NB_BOGOFILTER_SPAM), 4);
    ck_assert_uint_eq(documents_of(&list, NB_FIELD_RECEIVED, "received:by", NB_BOGOFILTER_HAM), 6);
    nb_bogofilter_list_deinit(&list);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length; /* 0: length of the string in `bytes` */
    int code;
    const char *text;
} refused[] = {
    {"", 0, NB_INVALID, ".MSG_COUNT"},
    {"word 1 2 20240101\n", 0, NB_INVALID, ".MSG_COUNT"},
    {".MSG_COUNT 0 0\n", 0, NB_INVALID, "the list has no messages"},
    {".MSG_COUNT 9999999 9999999\n", 0, NB_TOO_LARGE, "more than 10000000 cannot be imported"},
    {".MSG_COUNT 4294967295 4294967295\n", 0, NB_TOO_LARGE, "8589934590 messages"},
    {"v\t3\tdb_version\n", 0, NB_UNSUPPORTED, "SpamAssassin"},
    {"REDIS0009\n", 0, NB_UNSUPPORTED, "Redis"},
    {"*2\r\n$6\r\nSELECT\r\n", 0, NB_UNSUPPORTED, "Redis"},
    {"SQLite format 3\0", 16, NB_UNSUPPORTED, "SQLite"},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\x62\x31\x05\0", 16, NB_UNSUPPORTED, "Berkeley"},
    {"\x1F\x8B\x08\0", 4, NB_UNSUPPORTED, "gzip"},
    {"\x28\xB5\x2F\xFD", 4, NB_UNSUPPORTED, "zstd"},
    {"12,3,14970,\"word\"\n", 0, NB_UNSUPPORTED, "spamprobe"},
};

START_TEST(what_is_not_a_list_is_refused)
{
    struct nb_bogofilter_list list;
    struct nb_error error;
    size_t length = refused[_i].length > 0 ? refused[_i].length : strlen(refused[_i].bytes);
    ck_assert_int_eq(read_list(refused[_i].bytes, length, &list, &error), refused[_i].code);
    ck_assert_msg(strstr(error.text, refused[_i].text) != NULL, "%s", error.text);
    nb_bogofilter_list_deinit(&list);
}
END_TEST

/* ---- the dump -------------------------------------------------------------------------------- */

static void check_dump(const struct nb_bogofilter_list *list, size_t piece)
{
    struct nb_dump_check check;
    char bytes[5000];
    size_t got;
    FILE *dump = nb_bogofilter_dump(list);
    ck_assert_ptr_nonnull(dump);
    ck_assert_int_eq(nb_dump_check_init(&check), 0);
    while ((got = fread(bytes, 1, piece, dump)) > 0)
        ck_assert_msg(nb_dump_check_add(&check, bytes, got) == 0, "%s", check.error.text);
    ck_assert_msg(nb_dump_check_end(&check) == 0, "%s", check.error.text);
    ck_assert(!ferror(dump));
    ck_assert_int_eq(fclose(dump), 0);
    nb_dump_check_deinit(&check);
}

START_TEST(a_dump_is_whole)
{
    struct nb_bogofilter_list list;
    struct nb_error error;
    ck_assert_int_eq(read_list(LIST, strlen(LIST), &list, &error), 0);
    check_dump(&list, 1);
    check_dump(&list, 5000);
    nb_bogofilter_list_deinit(&list);
    static const char one[] = ".MSG_COUNT 1 0\n";
    ck_assert_int_eq(read_list(one, strlen(one), &list, &error), 0);
    check_dump(&list, 999);
    nb_bogofilter_list_deinit(&list);
}
END_TEST

/* Each feature is in as many documents of a label as the list says. */
START_TEST(a_dump_has_the_counts_of_the_list)
{
    struct nb_bogofilter_list list;
    struct nb_error error;
    struct nb_json_dump_reader *reader;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    ck_assert_int_eq(read_list(LIST, strlen(LIST), &list, &error), 0);
    uint32_t rows = nb_model_rows(list.rows);
    uint32_t(*counts)[NB_BOGOFILTER_LABELS] = calloc(rows, sizeof *counts);
    uint64_t documents[NB_BOGOFILTER_LABELS] = {0};
    ck_assert_ptr_nonnull(counts);
    ck_assert_int_eq(nb_json_dump_reader_new(&reader), 0);
    FILE *dump = nb_bogofilter_dump(&list);
    while ((length = getline(&line, &room, dump)) > 0) {
        struct nb_json_record record;
        struct nb_string text = {line, (size_t)length};
        ck_assert_msg(nb_json_dump_read(reader, 1, text, &record, &error) == 0, "%s", error.text);
        if (record.kind != NB_JSON_RECORD_DOCUMENT)
            continue;
        documents[record.document.label]++;
        for (size_t i = 0; i < record.document.size; i++)
            counts[record.document.rows[i]][record.document.label] += record.document.counts[i];
    }
    for (uint32_t row = 0; row < rows; row++)
        for (size_t label = 0; label < NB_BOGOFILTER_LABELS; label++)
            ck_assert_uint_eq(counts[row][label], list.documents[row][label]);
    ck_assert_uint_eq(documents[NB_BOGOFILTER_SPAM], 4);
    ck_assert_uint_eq(documents[NB_BOGOFILTER_HAM], 6);
    ck_assert_int_eq(fclose(dump), 0);
    free(line);
    free(counts);
    nb_json_dump_reader_free(&reader);
    nb_bogofilter_list_deinit(&list);
}
END_TEST

/* A dump is not whole if it is cut anywhere or if any byte of its totals is changed. */
START_TEST(a_cut_dump_is_not_whole)
{
    struct nb_bogofilter_list list;
    struct nb_error error;
    struct nb_buffer whole = {0};
    char bytes[5000];
    size_t got;
    ck_assert_int_eq(read_list(LIST, strlen(LIST), &list, &error), 0);
    FILE *dump = nb_bogofilter_dump(&list);
    while ((got = fread(bytes, 1, sizeof bytes, dump)) > 0)
        ck_assert_int_eq(nb_buffer_append(&whole, bytes, got), 0);
    ck_assert_int_eq(fclose(dump), 0);
    unsigned seed = 1763;
    for (int round = 0; round < 60; round++) {
        struct nb_dump_check check;
        size_t length = round < 30 ? whole.length - 2 - (size_t)round
                                   : (size_t)rand_r(&seed) % (whole.length - 1);
        ck_assert_int_eq(nb_dump_check_init(&check), 0);
        (void)nb_dump_check_add(&check, whole.bytes, length);
        ck_assert_msg(nb_dump_check_end(&check) == NB_INVALID, "%zu of %zu bytes", length,
                      whole.length);
        ck_assert_msg(check.error.text[0] != '\0', "a reason");
        nb_dump_check_deinit(&check);
    }
    nb_buffer_deinit(&whole);
    nb_bogofilter_list_deinit(&list);
}
END_TEST

static void setup(void)
{
    ck_assert_int_eq(nb_text_setup(), 0);
}

int main(void)
{
    Suite *suite = suite_create("bogofilter");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, nb_text_teardown);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, lines_are_told_apart, 0, COUNT(lines));
    tcase_add_test(all, a_long_line_takes_no_memory);
    tcase_add_test(all, a_line_may_fill_the_room);
    tcase_add_test(all, a_list_becomes_counts);
    tcase_add_loop_test(all, what_is_not_a_list_is_refused, 0, COUNT(refused));
    tcase_add_test(all, a_dump_is_whole);
    tcase_add_test(all, a_dump_has_the_counts_of_the_list);
    tcase_add_test(all, a_cut_dump_is_not_whole);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
