/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder that a test works in. It is made in /tmp, and removed with all its files.
 */
#ifndef NB_TESTS_UNIT_FOLDER_H
#define NB_TESTS_UNIT_FOLDER_H

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

enum { NB_TEST_FOLDER_SIZE = 64 }; /* of its path, in bytes, with the NUL */

/* Makes a new folder and writes its path to `path`. */
static inline void test_folder_make(char path[NB_TEST_FOLDER_SIZE])
{
    (void)snprintf(path, NB_TEST_FOLDER_SIZE, "/tmp/bayesd-test-XXXXXX"); /* it fits */
    ck_assert_ptr_nonnull(mkdtemp(path));
}

static inline int test_folder_remove_one(const char *path, const struct stat *status, int flag,
                                         struct FTW *where)
{
    (void)status;
    (void)flag;
    (void)where;
    return remove(path);
}

/* Removes the folder. Files that are already gone do not matter. */
static inline void test_folder_remove(const char *path)
{
    (void)nftw(path, test_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
