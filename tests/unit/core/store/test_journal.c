/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal's file: durable records are read whatever happened to later ones, and damage is told
 * from a torn end.
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

#include "core/store/journal.h"
#include "tests/unit/folder.h"
#include "tests/unit/pwrite.h"
#include "tests/unit/run.h"

enum { STORE = 4711, COMMIT = 12, RECORDS = 6 };

/* ---- calls that fail ------------------------------------------------------------------------- */

static struct {
    off_t room; /* bytes that the file may have; 0: any number */
    int syncs;  /* so many fail */
    int error;
} fault;

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    if (fault.room > 0 && at >= fault.room) {
        errno = ENOSPC;
        return -1;
    }
    if (fault.room > 0 && at + (off_t)size > fault.room)
        size = (size_t)(fault.room - at);
    return test_pwrite(file, bytes, size, at);
}

int fdatasync(int file)
{
    if (fault.syncs > 0) {
        fault.syncs--;
        errno = fault.error;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, file);
}

/* ---- a journal ------------------------------------------------------------------------------- */

static char directory[NB_TEST_FOLDER_SIZE];
static char path[NB_TEST_FOLDER_SIZE + 16];
static struct nb_journal journal;
static int file;

static void setup(void)
{
    memset(&fault, 0, sizeof fault);
    test_folder_make(directory);
    snprintf(path, sizeof path, "%s/journal", directory);
    file = open(path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(file, 0);
    nb_journal_init(&journal, file, path, STORE);
    nb_journal_begin(&journal, COMMIT);
}

static void teardown(void)
{
    nb_journal_deinit(&journal);
    close(file);
    test_folder_remove(directory);
}

/* Appends record `number` with `number` changes; the first value has 37 * `number` bytes. */
static int append(unsigned number, struct nb_error *error)
{
    char key[16];
    static char value[4096];
    memset(value, (int)number, sizeof value);
    for (unsigned i = 0; i < number; i++) {
        snprintf(key, sizeof key, "%u.%u", number, i);
        struct nb_recent_change change = {
            .table = i, .deleted = i % 3 == 2, .key = nb_string_of(key)};
        if (!change.deleted)
            change.value = (struct nb_string){value, i == 0 ? (size_t)number * 37 : 0};
        ck_assert_int_eq(nb_journal_add(&journal, &change), 0);
    }
    return nb_journal_append(&journal, error);
}

/* The numbers that were read. */
static struct {
    unsigned record, change, changes;
} seen;

static int note(void *user, const struct nb_recent_change *change)
{
    char key[16];
    (void)user;
    if (seen.change == seen.record) {
        seen.record++;
        seen.change = 0;
    }
    snprintf(key, sizeof key, "%u.%u", seen.record, seen.change);
    ck_assert_msg(nb_string_equals(change->key, key), "%.*s, expected %s", (int)change->key.length,
                  change->key.bytes, key);
    ck_assert_uint_eq(change->table, seen.change);
    ck_assert(change->deleted == (seen.change % 3 == 2));
    ck_assert_uint_eq(change->value.length, seen.change == 0 ? seen.record * 37 : 0);
    for (size_t i = 0; i < change->value.length; i++)
        ck_assert_int_eq(change->value.bytes[i], (char)seen.record);
    seen.change++;
    seen.changes++;
    return 0;
}

static struct nb_journal_found read_again(uint64_t commit, struct nb_journal *again)
{
    struct nb_journal_found found;
    struct nb_error error = {0};
    memset(&seen, 0, sizeof seen);
    nb_journal_init(again, file, path, STORE);
    ck_assert_msg(nb_journal_read(again, commit, note, NULL, &found, &error) == 0, "%s",
                  error.text);
    ck_assert_uint_eq(seen.change, seen.record);
    ck_assert_uint_eq(found.records, seen.record);
    return found;
}

/* Returns how many records are read, and expects nothing else. */
static unsigned records(void)
{
    struct nb_journal again;
    struct nb_journal_found found = read_again(COMMIT, &again);
    ck_assert(!found.is_damaged && !found.is_foreign && !found.is_later);
    return (unsigned)found.records;
}

static void append_all(off_t ends[RECORDS + 1])
{
    ends[0] = 0;
    for (unsigned i = 1; i <= RECORDS; i++) {
        ck_assert_int_eq(append(i, NULL), 0);
        ends[i] = journal.at;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(what_was_appended_is_read)
{
    struct nb_journal again;
    ck_assert_uint_eq(records(), 0);
    for (unsigned i = 1; i <= 40; i++) {
        ck_assert_int_eq(append(i, NULL), 0);
        ck_assert_uint_eq(records(), i);
    }
    (void)read_again(COMMIT, &again);
    ck_assert_int_eq(again.at, journal.at);
    ck_assert_uint_eq(again.number, journal.number);
    ck_assert_uint_eq(again.before, journal.before);
    nb_journal_deinit(&journal);
    journal = again; /* and it goes on */
    ck_assert_int_eq(append(41, NULL), 0);
    ck_assert_uint_eq(records(), 41);
}
END_TEST

/* A file that ends anywhere, or goes on with zeros, has the records that are whole. */
START_TEST(an_end_that_was_torn_off)
{
    off_t ends[RECORDS + 1];
    struct stat status;
    static char bytes[1 << 20];
    append_all(ends);
    ck_assert_int_eq(fstat(file, &status), 0);
    ck_assert_int_eq(pread(file, bytes, sizeof bytes, 0), status.st_size);
    unsigned whole = RECORDS;
    for (off_t cut = ends[RECORDS]; cut >= 0; cut--) {
        /* The padding behind a record is zeros anyway. */
        whole = 0;
        while (whole < RECORDS && ends[whole + 1] <= cut)
            whole++;
        ck_assert_int_eq(ftruncate(file, cut), 0);
        unsigned got = records();
        ck_assert_msg(got == whole || got == whole + 1, "%u of %u at %ld", got, whole, (long)cut);
        ck_assert(got == whole || ends[whole + 1] - cut < 8);
        ck_assert_int_eq(ftruncate(file, status.st_size), 0);
        got = records();
        ck_assert(got == whole || (got == whole + 1 && ends[whole + 1] - cut < 8));
    }
}
END_TEST

/* What is left of the last record may be any of its blocks, not its beginning alone; what lies
 * there instead is what was there before. */
START_TEST(blocks_of_the_last_record_that_are_missing)
{
    off_t ends[RECORDS + 1];
    static char before[8192], after[8192];
    for (unsigned i = 40; i > 0; i--) /* what was there before */
        ck_assert_int_eq(append(i, NULL), 0);
    nb_journal_begin(&journal, COMMIT + 1);
    append_all(ends);
    ck_assert_int_eq(pread(file, before, sizeof before, ends[RECORDS]), sizeof before);
    ck_assert_int_eq(append(RECORDS + 1, NULL), 0);
    size_t length = (size_t)(journal.at - ends[RECORDS]);
    ck_assert_int_eq(pread(file, after, sizeof after, ends[RECORDS]), sizeof after);
    for (size_t at = 0; at + 8 < length; at += 64) {
        size_t part = length - at < 64 ? length - at : 64;
        struct nb_journal again;
        off_t place = ends[RECORDS] + (off_t)at;
        ck_assert_int_ne(memcmp(before + at, after + at, part), 0);
        ck_assert_int_eq(pwrite(file, before + at, part, place), (ssize_t)part);
        struct nb_journal_found found = read_again(COMMIT + 1, &again);
        ck_assert_uint_eq(found.records, RECORDS);
        ck_assert(!found.is_damaged);
        ck_assert_int_eq(pwrite(file, after + at, part, place), (ssize_t)part);
    }
}
END_TEST

/* Any byte of a record that is not the last one: damage, and all before it is read. */
START_TEST(a_byte_that_changed)
{
    off_t ends[RECORDS + 1];
    append_all(ends);
    for (off_t at = 0; at < ends[RECORDS]; at++) {
        struct nb_journal again;
        unsigned hit = 1;
        char was, is;
        while (ends[hit] <= at)
            hit++;
        ck_assert_int_eq(pread(file, &was, 1, at), 1);
        is = (char)(was ^ 1 << at % 8);
        ck_assert_int_eq(pwrite(file, &is, 1, at), 1);
        struct nb_journal_found found = read_again(COMMIT, &again);
        bool is_padding = found.records == RECORDS && ends[hit] - at < 8;
        if (!is_padding) {
            ck_assert_uint_eq(found.records, hit - 1);
            ck_assert_int_eq(again.at, ends[hit - 1]);
            ck_assert_msg(found.is_damaged == (hit < RECORDS), "byte %ld", (long)at);
        }
        ck_assert_int_eq(pwrite(file, &was, 1, at), 1);
    }
    ck_assert_uint_eq(records(), RECORDS);
}
END_TEST

START_TEST(records_of_another_commit_are_none)
{
    struct nb_journal again;
    off_t ends[RECORDS + 1];
    append_all(ends);
    struct nb_journal_found found = read_again(COMMIT + 1, &again); /* the usual case */
    ck_assert(found.records == 0 && !found.is_later && !found.is_foreign && !found.is_damaged);
    found = read_again(COMMIT - 1, &again); /* the store is older than its journal */
    ck_assert(found.records == 0 && found.is_later);
    nb_journal_begin(&journal, COMMIT + 1);
    ck_assert_int_eq(append(1, NULL), 0);
    found = read_again(COMMIT, &again);
    ck_assert(found.records == 0 && found.is_later);
    found = read_again(COMMIT + 1, &again); /* behind it lie those of the commit before */
    ck_assert(found.records == 1 && !found.is_later && !found.is_damaged);
}
END_TEST

START_TEST(records_of_another_store_are_none)
{
    struct nb_journal again;
    struct nb_journal_found found;
    off_t ends[RECORDS + 1];
    append_all(ends);
    nb_journal_init(&again, file, path, STORE + 1);
    ck_assert_int_eq(nb_journal_read(&again, COMMIT, note, NULL, &found, NULL), 0);
    ck_assert(found.records == 0 && found.is_foreign && !found.is_later && !found.is_damaged);
    memset(&seen, 0, sizeof seen);
    nb_journal_init(&again, file, path, 0); /* any */
    ck_assert_int_eq(nb_journal_read(&again, COMMIT, note, NULL, &found, NULL), 0);
    ck_assert(found.records == RECORDS && again.store == STORE);
}
END_TEST

/* ---- a disk that refuses --------------------------------------------------------------------- */

START_TEST(a_disk_that_is_full_at_any_byte)
{
    off_t ends[RECORDS + 1];
    append_all(ends);
    ck_assert_int_eq(ftruncate(file, ends[RECORDS]), 0);
    for (off_t room = ends[RECORDS]; room < ends[RECORDS] + 300; room++) {
        struct nb_error error = {0};
        journal.size = ends[RECORDS];
        fault.room = room;
        if (room > ends[RECORDS]) /* the zeros fit, what comes over them does not */
            journal.size = 1 << 16;
        ck_assert_int_eq(append(RECORDS + 1, &error), NB_DISK_FULL);
        ck_assert_uint_eq(journal.number, RECORDS);
        fault.room = 0;
        ck_assert_uint_eq(records(), RECORDS);
        ck_assert_int_eq(nb_journal_settle(&journal, NULL), 0);
        ck_assert(!journal.unsure);
        ck_assert_uint_eq(records(), RECORDS);
    }
    journal.size = ends[RECORDS];
    ck_assert_int_eq(append(RECORDS + 1, NULL), 0);
    ck_assert_uint_eq(records(), RECORDS + 1);
}
END_TEST

/* What is written and not synced may be on the disk: it is refused, and settled. */
START_TEST(a_sync_that_fails)
{
    struct nb_error error = {0};
    off_t ends[RECORDS + 1];
    append_all(ends);
    fault.syncs = 2;
    fault.error = EIO;
    ck_assert_int_eq(append(RECORDS + 1, &error), NB_IO);
    ck_assert(journal.unsure);
    ck_assert_uint_eq(records(), RECORDS + 1); /* that is why */
    ck_assert_int_eq(nb_journal_settle(&journal, &error), NB_IO);
    ck_assert(journal.unsure);
    ck_assert_int_eq(nb_journal_settle(&journal, &error), 0);
    ck_assert(!journal.unsure);
    ck_assert_uint_eq(records(), RECORDS);
    ck_assert_int_eq(append(RECORDS + 1, NULL), 0);
    ck_assert_uint_eq(records(), RECORDS + 1);
}
END_TEST

/* ---- a file that is not one ------------------------------------------------------------------ */

START_TEST(other_bytes_are_no_records)
{
    static char bytes[4096];
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = round == 0 ? 0 : (char)(rand() >> 7);
        ck_assert_int_eq(pwrite(file, bytes, sizeof bytes, 0), sizeof bytes);
        ck_assert_int_eq(ftruncate(file, rand() % (int)sizeof bytes), 0);
        ck_assert_uint_eq(records(), 0);
    }
}
END_TEST

START_TEST(a_file_that_is_too_large_is_refused)
{
    struct nb_journal again;
    struct nb_journal_found found;
    struct nb_error error = {0};
    ck_assert_int_eq(ftruncate(file, ((off_t)1 << 30) + 1), 0);
    nb_journal_init(&again, file, path, STORE);
    ck_assert_int_eq(nb_journal_read(&again, COMMIT, note, NULL, &found, &error), NB_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error.text, path));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal");
    TCase *tests = tcase_create("journal");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_was_appended_is_read);
    tcase_add_test(tests, an_end_that_was_torn_off);
    tcase_add_test(tests, blocks_of_the_last_record_that_are_missing);
    tcase_add_test(tests, a_byte_that_changed);
    tcase_add_test(tests, records_of_another_commit_are_none);
    tcase_add_test(tests, records_of_another_store_are_none);
    tcase_add_test(tests, a_disk_that_is_full_at_any_byte);
    tcase_add_test(tests, a_sync_that_fails);
    tcase_add_test(tests, other_bytes_are_no_records);
    tcase_add_test(tests, a_file_that_is_too_large_is_refused);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
