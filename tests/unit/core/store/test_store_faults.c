/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk and an address space that refuse: nothing that was committed is lost, nothing that was
 * refused comes back, and the store works again without a new process. The system functions that
 * the store and LMDB call are replaced by ones that fail on request.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/store/store.h"
#include "tests/unit/folder.h"
#include "tests/unit/pwrite.h"
#include "tests/unit/run.h"

/* ---- the calls that fail --------------------------------------------------------------------- */

enum call { PWRITE, WRITEV, FDATASYNC, MMAP, CALLS };

static struct {
    enum call call;
    int after;   /* calls that go through before */
    int span;    /* calls that fail then */
    int error;   /* their errno; 0: half of the bytes are written */
    int written; /* so many of them write all bytes before they fail, as a failed sync does */
    int fired;
} fault = {.call = CALLS};

static bool is_due(enum call call)
{
    if (fault.call != call || fault.after-- > 0 || fault.span <= 0)
        return false;
    fault.span--;
    fault.fired++;
    errno = fault.error;
    return true;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    if (is_due(PWRITE)) {
        if (fault.written-- > 0 && test_pwrite(file, bytes, size, at) >= 0)
            errno = fault.error;
        if (fault.error != 0)
            return -1;
        size /= 2;
    }
    return test_pwrite(file, bytes, size, at);
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    if (is_due(WRITEV)) {
        if (fault.error != 0)
            return -1;
        count /= 2;
    }
    return syscall(SYS_writev, file, parts, count);
}

int fdatasync(int file)
{
    return is_due(FDATASYNC) ? -1 : (int)syscall(SYS_fdatasync, file);
}

#ifndef __SANITIZE_THREAD__
/* An address space for maps alone; limit 0: it has no end. An emulator takes the limit of a process
 * and does not apply it. */
static struct {
    size_t limit;
    size_t mapped;
} space;

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    if (space.limit == 0 || resource != RLIMIT_AS)
        return prlimit(0, resource, NULL, limit);
    *limit = (struct rlimit){.rlim_cur = space.limit, .rlim_max = RLIM_INFINITY};
    return 0;
}

typedef void *mmap_function(void *address, size_t length, int protection, int flags, int file,
                            off_t at);

/* The C library's: the system call takes its arguments in other ways on i386 and s390x. The thread
 * sanitizer needs its own mmap. */
void *mmap(void *address, size_t length, int protection, int flags, int file, off_t at)
{
    if ((flags & MAP_SHARED) != 0 && file >= 0 && is_due(MMAP))
        return MAP_FAILED;
    if (space.limit != 0 && length > space.limit - space.mapped) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    mmap_function *next;
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "mmap64"); /* with an offset of 64 bits everywhere */
    void *got = next(address, length, protection, flags, file, at);
    if (space.limit != 0 && got != MAP_FAILED)
        space.mapped += length;
    return got;
}

#if SIZE_MAX == UINT32_MAX
/* There the name mmap means mmap64 in this source; LMDB calls the one with an offset of 32 bits. */
void *mmap_of_lmdb(void *address, size_t length, int protection, int flags, int file,
                   long at) __asm__("mmap");
void *mmap_of_lmdb(void *address, size_t length, int protection, int flags, int file, long at)
{
    return mmap(address, length, protection, flags, file, at);
}
#endif

int munmap(void *address, size_t length)
{
    if (space.limit != 0)
        space.mapped -= length;
    return (int)syscall(SYS_munmap, address, length);
}
#endif

static void arm(enum call call, int after, int span, int error)
{
    fault.written = 0;
    fault.fired = 0;
    fault.after = after;
    fault.span = span;
    fault.error = error;
    fault.call = call;
}

static void disarm(void)
{
    fault.call = CALLS;
}

/* ---- the store ------------------------------------------------------------------------------- */

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;

static bool uses_journal;

/* Without a journal every transaction is one of LMDB's. */
static void limit_journal(void)
{
    nb_store_limit_journal(store, uses_journal ? NB_STORE_JOURNAL_BYTES : 0);
}

static void setup(void)
{
    test_folder_make(directory);
    ck_assert_int_eq(nb_store_open(directory, 1 << 20, &store, NULL), 0);
    uses_journal = false;
    limit_journal();
}

static void teardown(void)
{
    disarm();
    nb_store_close(&store);
    test_folder_remove(directory);
}

/* Sets all of some values in several tables to `number`, in one transaction. */
static int set_all(uint32_t number, struct nb_error *error)
{
    static char bytes[6000];
    struct nb_view view;
    int rc = nb_store_begin(store, 0, &view, error);
    if (rc != 0)
        return rc;
    memset(bytes, (int)number, sizeof bytes);
    for (uint32_t i = 0; rc == 0 && i < 12; i++) {
        struct nb_store_key key = nb_store_key_number(1, i);
        struct nb_string value = {bytes, 1 + i % 4 * 1900};
        rc = nb_store_put(&view, (enum nb_table)(NB_TABLE_STATE + i % 3), nb_store_key_string(&key),
                          value, error);
    }
    if (rc == 0)
        return nb_store_commit(&view, error);
    nb_store_abort(&view);
    return rc;
}

static void assert_all(uint32_t number)
{
    struct nb_view view;
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    for (uint32_t i = 0; i < 12; i++) {
        struct nb_store_key key = nb_store_key_number(1, i);
        struct nb_string value;
        ck_assert_int_eq(nb_store_get(&view, (enum nb_table)(NB_TABLE_STATE + i % 3),
                                      nb_store_key_string(&key), &value, NULL),
                         0);
        ck_assert_uint_eq(value.length, 1 + i % 4 * 1900);
        ck_assert_int_eq(value.bytes[value.length - 1], (char)number);
    }
    nb_store_snapshot_end(&view);
}

static void reopen_from_disk(void)
{
    struct nb_error error = {0};
    nb_store_close(&store);
    ck_assert_msg(nb_store_open(directory, 1 << 20, &store, &error) == 0, "%s", error.text);
    limit_journal();
}

/* ---- commits --------------------------------------------------------------------------------- */

static const struct {
    enum call call;
    int span;
    int error;
    int written;
} commits[] = {
    {PWRITE, 1, EIO, 0},       {PWRITE, 1, EIO, 1},    {PWRITE, 2, EIO, 0},
    {PWRITE, 2, EIO, 1},       {PWRITE, 1000, EIO, 0}, {PWRITE, 1000, EIO, 1},
    {PWRITE, 1, 0, 0},         {PWRITE, 2, 0, 0},      {PWRITE, 1000, 0, 0},
    {PWRITE, 1, ENOSPC, 0},    {PWRITE, 2, ENOSPC, 1}, {PWRITE, 1000, ENOSPC, 0},
    {WRITEV, 1, EIO, 0},       {WRITEV, 1, 0, 0},      {WRITEV, 1000, EIO, 0},
    {WRITEV, 1, ENOSPC, 0},    {FDATASYNC, 1, EIO, 0}, {FDATASYNC, 1000, EIO, 0},
    {FDATASYNC, 1, ENOSPC, 0},
};

/* The n-th call of a commit fails, n = 0, 1, 2 ... until the commit has no more. First with the
 * journal, then without. */
START_TEST(a_commit_that_fails)
{
    uint32_t number = 1;
    uses_journal = _i % 2 == 0;
    limit_journal();
    ck_assert_int_eq(set_all(number, NULL), 0);
    for (int after = 0;; after++) {
        struct nb_error error = {0};
        struct nb_error reason = {0};
        arm(commits[_i / 2].call, after, commits[_i / 2].span, commits[_i / 2].error);
        fault.written = commits[_i / 2].written;
        int rc = set_all(number + 1, &error);
        int fired = fault.fired;
        if (rc != 0 && nb_store_failed(store, &reason)) {
            ck_assert_int_gt(strlen(reason.text) > 0, 0);
            ck_assert_int_eq(set_all(number + 2, &error), NB_IO);
            ck_assert_str_eq(error.text, reason.text);
            (void)nb_store_reopen(store, NULL); /* the fault may still be there */
        }
        disarm();
        if (rc == 0)
            number++;
        if (after % 2 == 0) {
            ck_assert_msg(nb_store_reopen(store, &error) == 0, "%s", error.text);
            ck_assert(!nb_store_failed(store, NULL));
            assert_all(number);
            number++;
            ck_assert_int_eq(set_all(number, &error), 0);
            assert_all(number);
        }
        reopen_from_disk();
        assert_all(number);
        if (fired == 0)
            break;
        ck_assert_int_lt(after, 100);
    }
    ck_assert_uint_gt(number, 2);
}
END_TEST

/* As long as nothing can be written, it is not sure that the refused transaction is gone. */
START_TEST(a_commit_that_may_come_back_says_so)
{
    struct nb_error error = {0};
    ck_assert_int_eq(set_all(1, NULL), 0);
    arm(FDATASYNC, 0, 1, EIO); /* the meta page is put back at once */
    ck_assert_int_eq(set_all(2, &error), NB_IO);
    ck_assert_ptr_null(strstr(error.text, "next start"));
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    arm(FDATASYNC, 0, 2, EIO);
    ck_assert_int_eq(set_all(2, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "next start"));
    disarm();
    ck_assert_int_eq(set_all(2, &error), NB_IO); /* was not tried */
    ck_assert_ptr_null(strstr(error.text, "next start"));
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    assert_all(1);
}
END_TEST

/* The same with the journal: its record is overwritten instead, and LMDB gets the transaction. */
START_TEST(a_record_that_may_come_back_says_so)
{
    struct nb_error error = {0};
    uses_journal = true;
    limit_journal();
    ck_assert_int_eq(set_all(1, NULL), 0);
    arm(FDATASYNC, 0, 1, EIO);
    ck_assert_int_eq(set_all(2, &error), 0);
    ck_assert_int_eq(fault.fired, 1);
    disarm();
    ck_assert_int_eq(set_all(3, &error), 0);
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    arm(FDATASYNC, 0, 2, EIO); /* it is overwritten at the second try */
    ck_assert_int_eq(set_all(4, &error), NB_IO);
    ck_assert_ptr_null(strstr(error.text, "next start"));
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    assert_all(3);
    ck_assert_int_eq(set_all(5, &error), 0); /* LMDB's: the journal is not trusted */
    ck_assert_int_eq(set_all(6, &error), 0);
    arm(FDATASYNC, 0, 3, EIO);
    ck_assert_int_eq(set_all(7, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "next start"));
    ck_assert_int_eq(set_all(7, &error), NB_IO); /* was not tried */
    disarm();
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    assert_all(6);
    reopen_from_disk();
    assert_all(6);
}
END_TEST

/* While it has failed, what was committed can be read as long as LMDB can. */
START_TEST(a_failed_sync_leaves_snapshots)
{
    ck_assert_int_eq(set_all(1, NULL), 0);
    arm(FDATASYNC, 0, 1000, EIO);
    ck_assert_int_ne(set_all(2, NULL), 0);
    ck_assert(nb_store_failed(store, NULL));
    assert_all(1);
    ck_assert_int_ne(nb_store_reopen(store, NULL), 0);
    ck_assert(nb_store_failed(store, NULL));
    assert_all(1);
    disarm();
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    assert_all(1);
}
END_TEST

START_TEST(reopening_what_has_not_failed_does_nothing)
{
    struct nb_view view;
    ck_assert_int_eq(set_all(1, NULL), 0);
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    nb_store_snapshot_end(&view);
}
END_TEST

static void *end_when_wanted(void *argument)
{
    struct nb_view *view = argument;
    while (!nb_store_wanted(view))
        usleep(100);
    nb_store_snapshot_end(view);
    return NULL;
}

START_TEST(reopening_asks_snapshots_to_end)
{
    struct nb_view view;
    pthread_t reader;
    ck_assert_int_eq(set_all(1, NULL), 0);
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    arm(FDATASYNC, 0, 1, EIO);
    ck_assert_int_ne(set_all(2, NULL), 0);
    disarm();
    ck_assert_int_eq(pthread_create(&reader, NULL, end_when_wanted, &view), 0);
    ck_assert_int_eq(nb_store_reopen(store, NULL), 0);
    pthread_join(reader, NULL);
    assert_all(1);
}
END_TEST

/* ---- growing --------------------------------------------------------------------------------- */

#ifndef __SANITIZE_THREAD__
START_TEST(a_map_that_cannot_be_made)
{
    struct nb_view view;
    struct nb_error error = {0};
    uint64_t used;
    uint64_t map;
    ck_assert_int_eq(set_all(1, NULL), 0);
    arm(MMAP, 0, 1, ENOMEM);
    ck_assert_int_eq(nb_store_begin(store, (uint64_t)1 << 28, &view, &error), NB_IO);
    ck_assert_int_eq(fault.fired, 1);
    ck_assert(nb_store_failed(store, NULL));
    nb_store_sizes(store, &used, &map); /* there is no map now */
    ck_assert_uint_gt(used, 0);
    ck_assert_int_eq(nb_store_snapshot(store, &view, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "growing"));
    arm(MMAP, 0, 1000, ENOMEM);
    ck_assert_int_ne(nb_store_reopen(store, &error), 0);
    ck_assert(nb_store_failed(store, NULL));
    nb_store_sizes(store, &used, &map);
    disarm();
    ck_assert_int_eq(nb_store_reopen(store, &error), 0);
    assert_all(1);
    ck_assert_int_eq(nb_store_begin(store, (uint64_t)1 << 28, &view, &error), 0);
    nb_store_abort(&view);
    ck_assert_int_eq(set_all(2, NULL), 0);
}
END_TEST

START_TEST(little_address_space_is_enough)
{
    struct nb_view view;
    struct nb_error error = {0};
    uint64_t used;
    uint64_t map;
    nb_store_close(&store);
    space.limit = (size_t)1 << 30;
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    limit_journal();
    nb_store_sizes(store, &used, &map);
    ck_assert_uint_eq(map, (uint64_t)1 << 28); /* a quarter */
    ck_assert_int_eq(set_all(1, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, (uint64_t)1 << 34, &view, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "address space"));
    ck_assert(!nb_store_failed(store, NULL));
    assert_all(1); /* it works as before */
    ck_assert_int_eq(set_all(2, NULL), 0);
    assert_all(2);
    /* The double of the double does not fit, what is asked for does. */
    ck_assert_int_eq(nb_store_begin(store, (uint64_t)140 << 20, &view, &error), 0);
    nb_store_abort(&view);
    nb_store_sizes(store, &used, &map);
    ck_assert_uint_gt(map, (uint64_t)560 << 20);
    ck_assert_uint_lt(map, (uint64_t)1 << 30);
    nb_store_close(&store);
    ck_assert_uint_eq(space.mapped, 0);
    space.limit = 0;
}
END_TEST
#endif

/* ---- opening --------------------------------------------------------------------------------- */

/* The first opening of a store fails at the n-th call; the next one makes it. */
START_TEST(a_new_store_that_fails)
{
    int fired = 1;
    for (int after = 0; fired > 0 && after < 100; after++) {
        char path[128];
        struct nb_error error = {0};
        nb_store_close(&store);
        snprintf(path, sizeof path, "%s/data.mdb", directory);
        ck_assert_int_eq(unlink(path), 0);
        arm(commits[_i].call, after, 1, commits[_i].error);
        int rc = nb_store_open(directory, 1 << 20, &store, &error);
        fired = fault.fired;
        ck_assert(rc != 0 || fired == 0);
        disarm();
        if (rc == 0)
            break;
        ck_assert_int_gt(strlen(error.text) > 0, 0);
        rc = nb_store_open(directory, 1 << 20, &store, &error);
        ck_assert_msg(rc == 0, "%s", error.text);
        ck_assert_int_eq(set_all(1, NULL), 0);
    }
    ck_assert_int_eq(fired, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_faults");
    TCase *t = tcase_create("store_faults");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_commit_that_fails, 0, 2 * (int)(sizeof commits / sizeof *commits));
    tcase_add_test(t, a_commit_that_may_come_back_says_so);
    tcase_add_test(t, a_record_that_may_come_back_says_so);
    tcase_add_test(t, a_failed_sync_leaves_snapshots);
    tcase_add_test(t, reopening_what_has_not_failed_does_nothing);
    tcase_add_test(t, reopening_asks_snapshots_to_end);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(t, a_map_that_cannot_be_made);
    tcase_add_test(t, little_address_space_is_enough);
#endif
    tcase_add_loop_test(t, a_new_store_that_fails, 0, (int)(sizeof commits / sizeof *commits));
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
