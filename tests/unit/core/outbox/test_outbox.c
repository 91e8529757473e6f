/* SPDX-License-Identifier: Apache-2.0
 *
 * The outbox: what was added is there after a start, in its order, whatever became of the end of
 * the file; numbers never come again.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/outbox/outbox.h"
#include "tests/unit/folder.h"

static int failing_syncs;

int fdatasync(int file)
{
    if (failing_syncs > 0) {
        failing_syncs--;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, file);
}

/* Of messages; the head is read. Not static: the headers make pread an inline function. */
extern int failing_reads;
int failing_reads;

ssize_t pread(int file, void *bytes, size_t length, off_t at)
{
    if (failing_reads > 0 && at > 0) {
        failing_reads--;
        errno = EIO;
        return -1;
    }
    return (ssize_t)syscall(SYS_pread64, file, bytes, length, at);
}

static char directory[NB_TEST_FOLDER_SIZE];
static char path[NB_TEST_FOLDER_SIZE + 16];
static struct nb_outbox *outbox;
static const struct nb_outbox_limits limits = {100, 6};

static void again(void)
{
    struct nb_error error = {0};
    nb_outbox_close(&outbox);
    ck_assert_msg(nb_outbox_open(directory, &limits, &outbox, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    failing_syncs = failing_reads = 0;
    test_folder_make(directory);
    (void)snprintf(path, sizeof path, "%s/outbox", directory);
    again();
}

static void teardown(void)
{
    nb_outbox_close(&outbox);
    test_folder_remove(directory);
}

static int add(const char *text)
{
    const struct nb_string message = {text, strlen(text)};
    return nb_outbox_add(outbox, &message, 1, NULL);
}

static uint64_t first(char text[128])
{
    struct nb_buffer message = {0};
    uint64_t entry = 77;
    ck_assert_int_eq(nb_outbox_first(outbox, &entry, &message, NULL), 0);
    (void)snprintf(text, 128, "%.*s", (int)message.length, message.length > 0 ? message.bytes : "");
    nb_buffer_deinit(&message);
    return entry;
}

static void expect_first(uint64_t entry, const char *text)
{
    char found[128];
    ck_assert_uint_eq(first(found), entry);
    ck_assert_str_eq(found, text);
}

static off_t length(void)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_size;
}

START_TEST(what_was_added_is_there_after_a_start)
{
    const struct nb_string two[] = {{"one", 3}, {"", 0}};
    uint64_t identity = nb_outbox_identity(outbox), bytes = 0;
    expect_first(0, "");
    ck_assert_int_eq(nb_outbox_add(outbox, two, 2, NULL), 0);
    ck_assert_int_eq(add("three"), 0);
    for (int i = 0; i < 2; i++, again()) {
        ck_assert_uint_eq(nb_outbox_identity(outbox), identity);
        ck_assert_uint_eq(nb_outbox_entries(outbox, &bytes), 3);
        ck_assert_uint_eq(bytes, 8);
        expect_first(1, "one");
    }
    nb_outbox_remove(outbox, 1);
    expect_first(2, "");
    nb_outbox_remove(outbox, 2);
    expect_first(3, "three");
    again();
    expect_first(1, "one"); /* removed when the last one is */
    nb_outbox_remove(outbox, 2);
    ck_assert_int_eq(add("four"), 0);
    nb_outbox_remove(outbox, 3);
    expect_first(4, "four");
}
END_TEST

START_TEST(an_empty_one_never_gives_a_name_again)
{
    uint64_t identity = nb_outbox_identity(outbox);
    ck_assert_int_eq(add("one"), 0);
    nb_outbox_remove(outbox, 1);
    ck_assert_int_eq(length(), 48);
    ck_assert_int_eq(add("two"), 0);
    expect_first(2, "two");
    again();
    ck_assert_uint_eq(nb_outbox_identity(outbox), identity);
    expect_first(2, "two");
    nb_outbox_remove(outbox, 9);
    again();
    ck_assert_uint_ne(nb_outbox_identity(outbox), identity);
    ck_assert_int_eq(add("three"), 0);
    expect_first(1, "three");
}
END_TEST

START_TEST(an_end_that_was_torn_off)
{
    ck_assert_int_eq(add("one"), 0);
    off_t whole = length();
    ck_assert_int_eq(add("two"), 0);
    for (off_t end = length() - 1; end >= whole; end--) {
        nb_outbox_close(&outbox);
        ck_assert_int_eq(truncate(path, end), 0);
        again();
        ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 1);
        ck_assert_int_eq(length(), whole);
        ck_assert_int_eq(add("two"), 0);
        nb_outbox_remove(outbox, 1);
        expect_first(2, "two");
        again();
    }
}
END_TEST

static void turn_byte(off_t at)
{
    char byte;
    int file = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(lseek(file, at, SEEK_SET), at);
    ck_assert_int_eq(read(file, &byte, 1), 1);
    byte = (char)(byte ^ 0x10);
    ck_assert_int_eq(lseek(file, at, SEEK_SET), at);
    ck_assert_int_eq(write(file, &byte, 1), 1);
    (void)close(file);
}

/* Two that were added together, and two more; one byte of the first two is not what it was. */
static void damage(off_t at)
{
    const struct nb_string two[] = {{"one", 3}, {"two", 3}};
    teardown();
    setup();
    ck_assert_int_eq(nb_outbox_add(outbox, two, 2, NULL), 0);
    ck_assert_int_eq(add("three"), 0);
    ck_assert_int_eq(add("four"), 0);
    nb_outbox_close(&outbox);
    turn_byte(at);
}

START_TEST(a_byte_that_the_disk_has_changed)
{
    struct nb_error error = {0};
    enum { HEAD = 48, LAST = HEAD + 2 * 43 + 45 };
    for (off_t at = 0; at < LAST; at++) {
        struct nb_outbox_mended mended;
        damage(at);
        bool is_head = at < HEAD; /* which is there twice */
        ck_assert_int_eq(nb_outbox_open(directory, &limits, &outbox, &error),
                         is_head ? 0 : NB_CORRUPT);
        if (is_head) {
            ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 4);
            continue;
        }
        ck_assert_msg(strstr(error.text, "--rebuild") != NULL, "%s", error.text);
        ck_assert_int_eq(length(), LAST + 44);
        ck_assert_int_eq(nb_outbox_mend(directory, &mended, &error), 0);
        ck_assert(mended.is_damaged);
        ck_assert_uint_eq(mended.kept, 3);
        ck_assert_uint_eq(mended.lost, 1);
        again();
        ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 3);
        if (at < HEAD + 43)
            expect_first(2, "two");
        else
            expect_first(1, "one");
        nb_outbox_remove(outbox, 3);
        expect_first(4, "four");
        ck_assert_int_eq(add("five"), 0);
        nb_outbox_remove(outbox, 4);
        expect_first(5, "five");
    }
}
END_TEST

/* What is removed is what was named, whatever the disk has made of those behind it. */
START_TEST(a_block_that_the_disk_has_emptied_meanwhile)
{
    static const char NOTHING[2 * 43] = "";
    enum { SECOND = 48 + 43 };
    struct nb_error error = {0};
    struct nb_buffer message = {0};
    uint64_t entry;
    ck_assert_int_eq(add("one"), 0);
    ck_assert_int_eq(add("two"), 0);
    ck_assert_int_eq(add("six"), 0);
    int file = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(pwrite(file, NOTHING, sizeof NOTHING, SECOND), sizeof NOTHING);
    (void)close(file);
    expect_first(1, "one");
    nb_outbox_remove(outbox, 1);
    ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 2);
    ck_assert_int_eq(nb_outbox_first(outbox, &entry, &message, &error), NB_IO);
    ck_assert_msg(strstr(error.text, "damaged at byte 91") != NULL, "%s", error.text);
    nb_buffer_deinit(&message);
}
END_TEST

START_TEST(what_is_whole_is_not_mended)
{
    struct nb_outbox_mended mended;
    nb_outbox_close(&outbox);
    ck_assert(!nb_outbox_is_left(directory));
    again();
    ck_assert_int_eq(add("one"), 0);
    ck_assert_int_eq(add("two"), 0);
    nb_outbox_close(&outbox);
    ck_assert(nb_outbox_is_left(directory));
    ck_assert_int_eq(truncate(path, length() - 1), 0);
    ck_assert_int_eq(nb_outbox_mend(directory, &mended, NULL), 0);
    ck_assert(!mended.is_damaged);
    again();
    ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 1);
}
END_TEST

/* Both copies of the head: nothing can be read, and nothing is removed. */
START_TEST(a_head_that_is_gone)
{
    struct nb_outbox_mended mended;
    damage(0);
    turn_byte(24);
    off_t before = length();
    ck_assert_int_eq(nb_outbox_open(directory, &limits, &outbox, NULL), NB_CORRUPT);
    ck_assert_int_eq(nb_outbox_mend(directory, &mended, NULL), NB_CORRUPT);
    ck_assert_int_eq(length(), before);
}
END_TEST

START_TEST(it_is_bounded)
{
    char long_one[102];
    memset(long_one, 'x', 101);
    long_one[101] = '\0';
    ck_assert_int_eq(add(long_one), NB_STOPPING);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(add("x"), 0);
    ck_assert_int_eq(add("x"), NB_STOPPING);
    nb_outbox_remove(outbox, 1);
    ck_assert_int_eq(add("x"), 0);
    /* What is removed while others wait takes room of the file, up to a bound. */
    uint64_t entry = 1;
    while (add("x") == 0 || (nb_outbox_remove(outbox, ++entry), add("x") == 0))
        ck_assert_int_lt(length(), 1000);
    nb_outbox_remove(outbox, entry + 6);
    ck_assert_int_eq(add("x"), 0);
}
END_TEST

START_TEST(a_sync_that_fails)
{
    ck_assert_int_eq(add("one"), 0);
    failing_syncs = 1;
    ck_assert_int_eq(add("two"), NB_IO);
    ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 1);
    ck_assert_int_eq(add("three"), 0);
    again();
    ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 2);
    nb_outbox_remove(outbox, 1);
    expect_first(2, "three");
}
END_TEST

/* It is no end that was torn off: all is there when the disk can be read again. */
START_TEST(a_read_that_fails)
{
    struct nb_error error = {0};
    ck_assert_int_eq(add("kept"), 0);
    nb_outbox_close(&outbox);
    failing_reads = 1;
    ck_assert_int_eq(nb_outbox_open(directory, &limits, &outbox, &error), NB_IO);
    again();
    ck_assert_uint_eq(nb_outbox_entries(outbox, NULL), 1);
}
END_TEST

/* Nothing is closed that was not opened. */
START_TEST(a_folder_that_is_not_there)
{
    struct nb_outbox *none = NULL;
    ck_assert_int_ne(fcntl(STDIN_FILENO, F_GETFD), -1);
    ck_assert_int_ne(nb_outbox_open("/nowhere/at/all", &limits, &none, NULL), 0);
    ck_assert_int_ne(fcntl(STDIN_FILENO, F_GETFD), -1);
}
END_TEST

START_TEST(other_files_are_none)
{
    nb_outbox_close(&outbox);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    (void)fputs("something else entirely", file);
    (void)fclose(file);
    struct nb_error error = {0};
    ck_assert_int_eq(nb_outbox_open(directory, &limits, &outbox, &error), NB_CORRUPT);
    ck_assert_int_eq(nb_outbox_open("/no/such", &limits, &outbox, &error), NB_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox");
    TCase *tests = tcase_create("outbox");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_was_added_is_there_after_a_start);
    tcase_add_test(tests, an_empty_one_never_gives_a_name_again);
    tcase_add_test(tests, an_end_that_was_torn_off);
    tcase_add_test(tests, a_byte_that_the_disk_has_changed);
    tcase_add_test(tests, a_block_that_the_disk_has_emptied_meanwhile);
    tcase_add_test(tests, what_is_whole_is_not_mended);
    tcase_add_test(tests, a_head_that_is_gone);
    tcase_add_test(tests, it_is_bounded);
    tcase_add_test(tests, a_sync_that_fails);
    tcase_add_test(tests, a_read_that_fails);
    tcase_add_test(tests, a_folder_that_is_not_there);
    tcase_add_test(tests, other_files_are_none);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
