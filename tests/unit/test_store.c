/* SPDX-License-Identifier: Apache-2.0
 *
 * The store: transactions, order of keys, growth, checksums, and files that are not what they
 * should be.
 */
#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store.h"

static char directory[64];
static struct nb_store *store;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    snprintf(directory, sizeof directory, "/tmp/bayesd-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(nb_store_open(directory, 1 << 20, &store, NULL), 0);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *where)
{
    (void)status;
    (void)flag;
    (void)where;
    return remove(path);
}

static void teardown(void)
{
    nb_store_close(&store);
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *key, const char *value)
{
    struct nb_view view;
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_put(&view, NB_TABLE_LEDGER, str(key), str(value), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
}

static int get(const char *key, char *out, size_t room)
{
    struct nb_view view;
    struct nb_string value;
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    int rc = nb_store_get(&view, NB_TABLE_LEDGER, str(key), &value, NULL);
    if (rc == 0)
        snprintf(out, room, "%.*s", (int)value.length, value.bytes);
    nb_store_snapshot_end(&view);
    return rc;
}

START_TEST(commits_stay_and_aborts_do_not)
{
    char value[16];
    struct nb_view view;
    put("a", "1");
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_put(&view, NB_TABLE_LEDGER, str("b"), str("2"), NULL), 0);
    nb_store_abort(&view);
    nb_store_close(&store);
    ck_assert_int_eq(nb_store_open(directory, 1 << 20, &store, NULL), 0);
    ck_assert_int_eq(get("a", value, sizeof value), 0);
    ck_assert_str_eq(value, "1");
    ck_assert_int_eq(get("b", value, sizeof value), NB_NOT_FOUND);
}
END_TEST

START_TEST(a_snapshot_does_not_move)
{
    struct nb_view view;
    struct nb_string value;
    char now[16];
    put("a", "old");
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    put("a", "new");
    ck_assert_int_eq(nb_store_get(&view, NB_TABLE_LEDGER, str("a"), &value, NULL), 0);
    ck_assert_int_eq(memcmp(value.bytes, "old", 3), 0);
    nb_store_snapshot_end(&view);
    ck_assert_int_eq(get("a", now, sizeof now), 0);
    ck_assert_str_eq(now, "new");
}
END_TEST

static int join(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    char *all = user;
    (void)error;
    snprintf(all + strlen(all), 64 - strlen(all), "%.*s=%.*s ", (int)key.length, key.bytes,
             (int)value.length, value.bytes);
    return 0;
}

START_TEST(scan_floor_clear)
{
    struct nb_view view;
    struct nb_string key;
    struct nb_string value;
    char all[64] = "";
    size_t deleted;
    put("a1", "1");
    put("a3", "3");
    put("b2", "2");
    put("a2", "2");
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_scan(&view, NB_TABLE_LEDGER, str("a2"), 1, join, all, NULL), 0);
    ck_assert_str_eq(all, "a2=2 a3=3 ");
    ck_assert_int_eq(nb_store_floor(&view, NB_TABLE_LEDGER, str("a25"), 1, &key, &value, NULL), 0);
    ck_assert_int_eq(memcmp(key.bytes, "a2", 2), 0);
    ck_assert_int_eq(nb_store_floor(&view, NB_TABLE_LEDGER, str("a3"), 1, &key, &value, NULL), 0);
    ck_assert_int_eq(memcmp(key.bytes, "a3", 2), 0);
    ck_assert_int_eq(nb_store_floor(&view, NB_TABLE_LEDGER, str("b9"), 1, &key, &value, NULL), 0);
    ck_assert_int_eq(memcmp(key.bytes, "b2", 2), 0);
    ck_assert_int_eq(nb_store_floor(&view, NB_TABLE_LEDGER, str("b1"), 1, &key, &value, NULL),
                     NB_NOT_FOUND);
    ck_assert_int_eq(nb_store_clear(&view, NB_TABLE_LEDGER, str("a"), 2, &deleted, NULL), 0);
    ck_assert_uint_eq(deleted, 2);
    all[0] = '\0';
    ck_assert_int_eq(nb_store_scan(&view, NB_TABLE_LEDGER, str(""), 0, join, all, NULL), 0);
    ck_assert_str_eq(all, "a3=3 b2=2 ");
    ck_assert_int_eq(nb_store_delete(&view, NB_TABLE_LEDGER, str("none"), NULL), 0);
    nb_store_abort(&view);
}
END_TEST

START_TEST(a_full_map_is_said_and_grows)
{
    static char big[100000];
    struct nb_view view;
    char key[16];
    int rc = 0;
    int tries = 0;
    memset(big, 'x', sizeof big);
    do {
        rc = nb_store_begin(store, 0, &view, NULL);
        for (int i = 0; rc == 0 && i < 2000; i++) {
            snprintf(key, sizeof key, "%d", i);
            rc = nb_store_put(&view, NB_TABLE_LEDGER, str(key), (struct nb_string){big, sizeof big},
                              NULL);
        }
        if (rc == 0)
            rc = nb_store_commit(&view, NULL);
        else
            nb_store_abort(&view);
    } while (rc == NB_STORE_MAP_FULL && ++tries < 20);
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(tries, 0);
    uint64_t used;
    uint64_t map;
    nb_store_sizes(store, &used, &map);
    ck_assert_uint_ge(used, 200000000);
    ck_assert_uint_ge(map, used);
}
END_TEST

static atomic_bool is_asking;

static void *ask_sizes(void *argument)
{
    uint64_t used;
    uint64_t map;
    (void)argument;
    while (atomic_load(&is_asking))
        nb_store_sizes(store, &used, &map);
    return NULL;
}

/* The map is taken away and made anew when it grows: who asks at that moment must wait. */
START_TEST(sizes_may_be_asked_while_the_map_grows)
{
    pthread_t asking;
    atomic_store(&is_asking, true);
    ck_assert_int_eq(pthread_create(&asking, NULL, ask_sizes, NULL), 0);
    for (int round = 0; round < 300; round++) {
        struct nb_view view;
        for (uint64_t expected = 1 << 20; expected < (uint64_t)1 << 32; expected *= 2) {
            ck_assert_int_eq(nb_store_begin(store, expected, &view, NULL), 0);
            nb_store_abort(&view);
        }
        atomic_store(&is_asking, false);
        pthread_join(asking, NULL);
        nb_store_close(&store);
        ck_assert_int_eq(nb_store_open(directory, 1 << 20, &store, NULL), 0);
        atomic_store(&is_asking, true);
        ck_assert_int_eq(pthread_create(&asking, NULL, ask_sizes, NULL), 0);
    }
    atomic_store(&is_asking, false);
    pthread_join(asking, NULL);
}
END_TEST

START_TEST(a_locked_directory_is_refused)
{
    struct nb_store *second;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_store_open(directory, 1 << 20, &second, &error), NB_LOCKED);
    ck_assert_ptr_nonnull(strstr(error.text, "in use"));
}
END_TEST

static void path_of_data(char *path, size_t room)
{
    snprintf(path, room, "%s/data.mdb", directory);
}

static int reopen(struct nb_error *error)
{
    return nb_store_open(directory, 1 << 20, &store, error);
}

START_TEST(a_cut_file_is_refused)
{
    char path[128];
    struct nb_error error = {0};
    put("a", "1");
    nb_store_close(&store);
    path_of_data(path, sizeof path);
    ck_assert_int_eq(truncate(path, 12288), 0);
    ck_assert_int_eq(reopen(&error), NB_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error.text, "data.mdb"));
}
END_TEST

START_TEST(a_file_of_something_else_is_refused)
{
    char path[128];
    struct nb_error error = {0};
    nb_store_close(&store);
    path_of_data(path, sizeof path);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 20000; i++)
        fputs("not a store\n", f);
    fclose(f);
    ck_assert_int_eq(reopen(&error), NB_CORRUPT);
}
END_TEST

/* A bit that flips on the disk is found by the value's checksum. */
START_TEST(a_changed_byte_is_found)
{
    char path[128];
    char value[16];
    static char file[1 << 20];
    put("key", "a value to be damaged");
    nb_store_close(&store);
    path_of_data(path, sizeof path);
    int fd = open(path, O_RDWR);
    ssize_t length = read(fd, file, sizeof file);
    int found = 0;
    for (ssize_t i = 0; i + 8 < length; i++)
        if (memcmp(file + i, "to be da", 8) == 0 && pwrite(fd, "T", 1, i) == 1)
            found++;
    close(fd);
    ck_assert_int_gt(found, 0);
    ck_assert_int_eq(reopen(NULL), 0);
    ck_assert_int_eq(get("key", value, sizeof value), NB_CORRUPT);
}
END_TEST

START_TEST(a_newer_format_is_refused)
{
    struct nb_view view;
    struct nb_error error = {0};
    static const char newer[] = {NB_STORE_FORMAT + 1};
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(
        nb_store_put(&view, NB_TABLE_META, str("format"), (struct nb_string){newer, 1}, NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
    ck_assert_int_eq(reopen(&error), NB_VERSION);
    ck_assert_ptr_nonnull(strstr(error.text, "newer"));
}
END_TEST

START_TEST(keys_sort_as_numbers)
{
    struct nb_store_key a = nb_store_key_sequence(1, 255);
    struct nb_store_key b = nb_store_key_sequence(1, 256);
    struct nb_store_key c = nb_store_key_sequence(2, 0);
    ck_assert_int_lt(memcmp(a.bytes, b.bytes, a.length), 0);
    ck_assert_int_lt(memcmp(b.bytes, c.bytes, b.length), 0);
    ck_assert_uint_eq(nb_store_key_tail(nb_store_key_string(&b)), 256);
    a = nb_store_key_number(7, 65536);
    ck_assert_uint_eq(nb_store_key_tail(nb_store_key_string(&a)), 65536);
    a = nb_store_key_id(7, str("id"));
    ck_assert_uint_eq(a.length, 6);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("store");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, commits_stay_and_aborts_do_not);
    tcase_add_test(t, a_snapshot_does_not_move);
    tcase_add_test(t, scan_floor_clear);
    tcase_add_test(t, a_full_map_is_said_and_grows);
    tcase_add_test(t, sizes_may_be_asked_while_the_map_grows);
    tcase_add_test(t, a_locked_directory_is_refused);
    tcase_add_test(t, a_cut_file_is_refused);
    tcase_add_test(t, a_file_of_something_else_is_refused);
    tcase_add_test(t, a_changed_byte_is_found);
    tcase_add_test(t, a_newer_format_is_refused);
    tcase_add_test(t, keys_sort_as_numbers);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
