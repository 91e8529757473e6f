/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy of a running store's files, as a crash would leave them.
 */
#ifndef NB_TESTS_UNIT_CRASH_H
#define NB_TESTS_UNIT_CRASH_H

#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "tests/unit/folder.h"

/* Both files are needed: the journal has the changes that are not in data.mdb yet. */
static const char *const test_crash_names[] = {"journal", "data.mdb"};
enum { TEST_CRASH_FILES = 2 };

struct test_crash {
    struct nb_buffer files[TEST_CRASH_FILES];
    int there[TEST_CRASH_FILES];
};

static inline void test_crash_path(char path[160], const char *folder, int i)
{
    (void)snprintf(path, 160, "%s/%s", folder, test_crash_names[i]); /* it fits */
}

static inline void test_crash_read(const char *folder, struct test_crash *crash)
{
    static char bytes[1 << 16];
    for (int i = 0; i < TEST_CRASH_FILES; i++) {
        char path[160];
        test_crash_path(path, folder, i);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        crash->files[i] = (struct nb_buffer){0};
        crash->there[i] = file >= 0;
        for (ssize_t n; file >= 0 && (n = read(file, bytes, sizeof bytes)) > 0;)
            ck_assert_int_eq(nb_buffer_append(&crash->files[i], bytes, (size_t)n), 0);
        if (file >= 0)
            ck_assert_int_eq(close(file), 0);
    }
}

static inline void test_crash_free(struct test_crash *crash)
{
    for (int i = 0; i < TEST_CRASH_FILES; i++)
        nb_buffer_deinit(&crash->files[i]);
}

static inline int test_crash_same(const struct test_crash *a, const struct test_crash *b)
{
    int same = 1;
    for (int i = 0; i < TEST_CRASH_FILES; i++)
        same = same && a->there[i] == b->there[i] &&
               nb_string_same(nb_buffer_string(&a->files[i]), nb_buffer_string(&b->files[i]));
    return same;
}

/* Copies the files into a new folder `to`. An idle writer may commit while the files are read; then
 * they are read again. */
static inline void test_crash_copy(const char *from, const char *to)
{
    struct test_crash crash, again;
    test_crash_read(from, &crash);
    for (test_crash_read(from, &again); !test_crash_same(&crash, &again);
         test_crash_read(from, &again)) {
        test_crash_free(&crash);
        crash = again;
    }
    test_folder_remove(to);
    ck_assert_int_eq(mkdir(to, 0700), 0);
    for (int i = 0; i < TEST_CRASH_FILES; i++) {
        char path[160];
        test_crash_path(path, to, i);
        int file = crash.there[i] ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
        if (file < 0)
            continue;
        struct nb_string bytes = nb_buffer_string(&crash.files[i]);
        ck_assert_int_eq(write(file, bytes.bytes, bytes.length), (ssize_t)bytes.length);
        ck_assert_int_eq(close(file), 0);
    }
    ck_assert(crash.there[1]);
    test_crash_free(&crash);
    test_crash_free(&again);
}

#endif
