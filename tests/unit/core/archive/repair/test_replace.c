/* SPDX-License-Identifier: Apache-2.0
 *
 * A new store replaces the one beside it: the files that are moved, and those that stay when this
 * is refused.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/archive/repair/repair.h"
#include "core/archive/repair/restore.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

static char directory[NB_TEST_FOLDER_SIZE];
static char fresh[NB_TEST_FOLDER_SIZE + 8];

static void setup(void)
{
    test_folder_make(directory);
    (void)snprintf(fresh, sizeof fresh, "%s/fresh", directory);
    ck_assert_int_eq(mkdir(fresh, 0700), 0);
}

static void teardown(void)
{
    test_folder_remove(directory);
}

static const char *path_of(const char *folder, const char *name)
{
    static char path[NB_FOLDER_PATH];
    nb_folder_join(path, folder, name);
    return path;
}

static void put(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(path_of(folder, name), "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Returns the text of a file of the directory; "" if there is no such file. */
static const char *text_of(const char *name)
{
    static char text[32];
    FILE *file = fopen(path_of(directory, name), "re");
    if (file == NULL)
        return "";
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file); /* was only read */
    return text;
}

static int replace(bool *replaced)
{
    struct nb_error error = {0};
    int rc = nb_engine_replace(directory, fresh, replaced, &error);
    ck_assert_int_eq(rc, error.code);
    return rc;
}

START_TEST(without_a_fresh_store_nothing_is_done)
{
    bool replaced = true;
    put(directory, "data.mdb", "old");
    ck_assert_int_eq(replace(&replaced), 0);
    ck_assert(!replaced);
    ck_assert_str_eq(text_of("data.mdb"), "old");
    ck_assert_str_eq(text_of("data.mdb.old"), "");
}
END_TEST

START_TEST(the_first_store_of_a_directory)
{
    bool replaced = false;
    put(fresh, "data.mdb", "new");
    ck_assert_int_eq(replace(&replaced), 0); /* nor is there a lock */
    ck_assert(replaced);
    ck_assert_str_eq(text_of("data.mdb"), "new");
    ck_assert_str_eq(text_of("data.mdb.old"), "");
    ck_assert_int_ne(access(fresh, F_OK), 0);
}
END_TEST

START_TEST(the_store_of_before_stays_beside_it)
{
    bool replaced = false;
    put(directory, "data.mdb", "old");
    put(directory, "data.mdb.old", "older");
    put(directory, "journal", "changes");
    put(directory, "lock", "");
    put(fresh, "data.mdb", "new");
    put(fresh, "lock.mdb", "");
    ck_assert_int_eq(replace(&replaced), 0);
    ck_assert(replaced);
    ck_assert_str_eq(text_of("data.mdb"), "new");
    ck_assert_str_eq(text_of("data.mdb.old"), "old");
    ck_assert_str_eq(text_of("journal.old"), "changes");
    ck_assert_int_ne(access(path_of(directory, "journal"), F_OK), 0);
    ck_assert_int_ne(access(fresh, F_OK), 0);
    ck_assert_int_eq(replace(&replaced), 0); /* the lock was given back; there is no fresh one */
    ck_assert(!replaced);
}
END_TEST

static void expect_untouched(int code)
{
    bool replaced = true;
    ck_assert_int_eq(replace(&replaced), code);
    ck_assert(!replaced);
    ck_assert_str_eq(text_of("data.mdb"), "old");
    ck_assert_str_eq(text_of("fresh/data.mdb"), "new");
    ck_assert_str_eq(text_of("data.mdb.old"), "");
}

START_TEST(a_store_in_use_is_left_alone)
{
    put(directory, "data.mdb", "old");
    put(fresh, "data.mdb", "new");
    put(directory, "lock", "");
    int lock = open(path_of(directory, "lock"), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
    expect_untouched(NB_LOCKED);
    ck_assert_int_eq(close(lock), 0);
}
END_TEST

/* Whether a daemon has it open cannot be found out. */
START_TEST(a_lock_that_cannot_be_opened_is_no_leave)
{
    put(directory, "data.mdb", "old");
    put(fresh, "data.mdb", "new");
    ck_assert_int_eq(mkdir(path_of(directory, "lock"), 0700), 0);
    expect_untouched(NB_IO);
}
END_TEST

START_TEST(a_path_that_leaves_no_room_for_names_is_refused)
{
    char path[NB_FOLDER_PATH] = "/tmp/";
    struct nb_error error = {0};
    bool replaced = true;
    memset(path + strlen(path), 'a', sizeof path - 1 - strlen(path));
    ck_assert_int_eq(nb_engine_replace(directory, path, &replaced, &error), NB_UNUSABLE);
    ck_assert(!replaced);
    path[NB_FOLDER_PATH - 2 * NB_FOLDER_NAME] = '\0';
    ck_assert_int_eq(nb_folder_check_path(path, &error), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replace");
    TCase *tcase = tcase_create("folders");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, without_a_fresh_store_nothing_is_done);
    tcase_add_test(tcase, the_first_store_of_a_directory);
    tcase_add_test(tcase, the_store_of_before_stays_beside_it);
    tcase_add_test(tcase, a_store_in_use_is_left_alone);
    tcase_add_test(tcase, a_lock_that_cannot_be_opened_is_no_leave);
    tcase_add_test(tcase, a_path_that_leaves_no_room_for_names_is_refused);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
