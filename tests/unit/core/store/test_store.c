/* SPDX-License-Identifier: Apache-2.0
 *
 * The store: transactions, order of keys, growth, checksums, and files that are not what they
 * should be.
 */
#include <check.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/store/lease.h"
#include "core/store/store.h"
#include "core/store/store_private.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    test_folder_make(directory);
    ck_assert_int_eq(nb_store_open(directory, 1 << 20, &store, NULL), 0);
}

static void teardown(void)
{
    nb_store_close(&store);
    test_folder_remove(directory);
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

START_TEST(a_commit_of_nothing_is_no_transaction)
{
    struct nb_view view;
    put("a", "1");
    uint64_t number = nb_store_committed(store);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_delete(&view, NB_TABLE_LEDGER, str("none"), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    ck_assert_uint_eq(nb_store_committed(store), number);
    put("a", "2");
    ck_assert_uint_eq(nb_store_committed(store), number + 1);
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

/* What the map can grow for: a quarter of a GiB in an address space of 32 bits. */
static const uint64_t LARGE = SIZE_MAX > UINT32_MAX ? (uint64_t)1 << 32 : (uint64_t)1 << 28;

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
        for (uint64_t expected = 1 << 20; expected < LARGE; expected *= 2) {
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

/* ---- growing --------------------------------------------------------------------------------- */

START_TEST(a_large_map_is_reserved)
{
    uint64_t used;
    uint64_t map;
    nb_store_close(&store);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    nb_store_sizes(store, &used, &map);
    ck_assert_uint_ge(map, (uint64_t)1 << 30);
    ck_assert_uint_lt(used, 1 << 20);
    put("a", "1");
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

START_TEST(growing_asks_long_snapshots_to_end)
{
    struct nb_view view;
    struct nb_view snapshot;
    pthread_t reader;
    ck_assert_int_eq(nb_store_snapshot(store, &snapshot, NULL), 0);
    ck_assert(!nb_store_wanted(&snapshot));
    ck_assert_int_eq(pthread_create(&reader, NULL, end_when_wanted, &snapshot), 0);
    ck_assert_int_eq(nb_store_begin(store, LARGE / 4, &view, NULL), 0);
    nb_store_abort(&view);
    pthread_join(reader, NULL);
    ck_assert_int_eq(nb_store_snapshot(store, &snapshot, NULL), 0);
    ck_assert(!nb_store_wanted(&snapshot));
    nb_store_snapshot_end(&snapshot);
}
END_TEST

static atomic_bool is_reading;

/* Always holds a snapshot: the next one begins before the last one ends. */
static void *overlap_snapshots(void *argument)
{
    struct nb_view views[2] = {{0}, {0}};
    (void)argument;
    for (int i = 0; atomic_load(&is_reading); i = !i) {
        if (nb_store_snapshot(store, &views[i], NULL) != 0)
            views[i].transaction = NULL;
        nb_store_snapshot_end(&views[!i]);
    }
    nb_store_snapshot_end(&views[0]);
    nb_store_snapshot_end(&views[1]);
    return NULL;
}

/* One reader after the other must not keep the writer out. */
START_TEST(growing_is_not_starved_by_snapshots)
{
    pthread_t readers[4];
    struct nb_view view;
    atomic_store(&is_reading, true);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, overlap_snapshots, NULL), 0);
    for (uint64_t expected = 1 << 26; expected <= LARGE; expected *= 2) {
        int rc = NB_IO;
        /* Two snapshots of one thread: the second may have to wait in vain for the writer. */
        for (int i = 0; rc == NB_IO && i < 3; i++)
            rc = nb_store_begin(store, expected, &view, NULL);
        ck_assert_int_eq(rc, 0);
        nb_store_abort(&view);
    }
    atomic_store(&is_reading, false);
    for (int i = 0; i < 4; i++)
        pthread_join(readers[i], NULL);
}
END_TEST

/* ---- keys that only ascend ------------------------------------------------------------------- */

static uint64_t used_by(int (*verb)(const struct nb_view *view, enum nb_table table,
                                    struct nb_string key, struct nb_string value,
                                    struct nb_error *error),
                        enum nb_table table)
{
    static char value[1000];
    uint64_t before;
    uint64_t after;
    uint64_t map;
    struct nb_view view;
    nb_store_sizes(store, &before, &map);
    ck_assert_int_eq(nb_store_begin(store, 16 << 20, &view, NULL), 0);
    for (uint32_t i = 0; i < 4000; i++) {
        struct nb_store_key key = nb_store_key_number(1, i);
        ck_assert_int_eq(verb(&view, table, nb_store_key_string(&key),
                              (struct nb_string){value, sizeof value}, NULL),
                         0);
    }
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_sizes(store, &after, &map);
    return after - before;
}

START_TEST(appending_fills_pages)
{
    struct nb_view view;
    struct nb_error error = {0};
    uint64_t appended = used_by(nb_store_append, NB_TABLE_LEDGER);
    ck_assert_uint_le(appended * 2, used_by(nb_store_put, NB_TABLE_SCORES) * 3);
    struct nb_store_key key = nb_store_key_number(1, 3999);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(
        nb_store_append(&view, NB_TABLE_LEDGER, nb_store_key_string(&key), str("x"), &error),
        NB_EXISTS);
    ck_assert_ptr_nonnull(strstr(error.text, "ledger"));
    key = nb_store_key_number(1, 4000);
    ck_assert_int_eq(
        nb_store_append(&view, NB_TABLE_LEDGER, nb_store_key_string(&key), str("x"), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
}
END_TEST

START_TEST(inline_values_take_no_page_of_their_own)
{
    static char value[NB_STORE_INLINE_MOST];
    struct nb_view view;
    uint64_t before;
    uint64_t after;
    uint64_t map;
    nb_store_sizes(store, &before, &map);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    for (uint32_t i = 0; i < 100; i++) {
        struct nb_store_key key = nb_store_key_number(1, i);
        struct nb_string most = {value, sizeof value - key.length};
        ck_assert_int_eq(
            nb_store_append(&view, NB_TABLE_LEDGER, nb_store_key_string(&key), most, NULL), 0);
    }
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_sizes(store, &after, &map);
    ck_assert_uint_le(after - before, 60 * 4096); /* two in a page */
}
END_TEST

/* ---- locks ----------------------------------------------------------------------------------- */

enum { LARGE_VALUES = 64, LARGE_BYTES = 1 << 20 };

static void put_large_values(void)
{
    struct nb_view view;
    char *bytes = malloc(LARGE_BYTES);
    memset(bytes, 'x', LARGE_BYTES);
    ck_assert_int_eq(nb_store_begin(store, LARGE_VALUES * (uint64_t)LARGE_BYTES, &view, NULL), 0);
    for (uint32_t i = 0; i < LARGE_VALUES; i++) {
        struct nb_store_key key = nb_store_key_number(1, i);
        ck_assert_int_eq(nb_store_put(&view, NB_TABLE_ROWS, nb_store_key_string(&key),
                                      (struct nb_string){bytes, LARGE_BYTES}, NULL),
                         0);
    }
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    free(bytes);
}

static int sum_lengths(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    (void)key;
    (void)error;
    *(uint64_t *)user += value.length;
    return 0;
}

/* Reads all of them, and so verifies their checksums. */
static void read_large_values(void)
{
    struct nb_view view;
    struct nb_store_key from = nb_store_key_model(1);
    uint64_t bytes = 0;
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    ck_assert_int_eq(nb_store_scan(&view, NB_TABLE_ROWS, nb_store_key_string(&from), from.length,
                                   sum_lengths, &bytes, NULL),
                     0);
    nb_store_snapshot_end(&view);
    ck_assert_uint_eq(bytes, LARGE_VALUES * (uint64_t)LARGE_BYTES);
}

/* Returns the MiB of files mapped into the process. */
static long mapped(void)
{
    long size, resident, shared;
    FILE *file = fopen("/proc/self/statm", "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%ld %ld %ld", &size, &resident, &shared), 3);
    fclose(file);
    return shared * sysconf(_SC_PAGESIZE) >> 20;
}

START_TEST(pages_that_were_read_are_given_back)
{
    char value[16];
    struct nb_view view;
    struct nb_string borrowed;
    put("a", "1");
    put_large_values();
    read_large_values();
    ck_assert_int_ge(mapped(), LARGE_VALUES);
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    ck_assert_int_eq(nb_store_get(&view, NB_TABLE_LEDGER, str("a"), &borrowed, NULL), 0);
    nb_store_unmap_pages(store);
    ck_assert_int_lt(mapped(), LARGE_VALUES / 2);
    ck_assert_int_eq(memcmp(borrowed.bytes, "1", 1), 0);
    nb_store_snapshot_end(&view);
    read_large_values();
    put("a", "2");
    ck_assert_int_eq(get("a", value, sizeof value), 0);
    ck_assert_str_eq(value, "2");
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

START_TEST(a_deleted_lock_file_lets_nobody_in)
{
    char path[128];
    struct nb_store *second;
    struct nb_error error = {0};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, i == 0 ? "lock" : "lock.mdb");
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(nb_store_open(directory, 1 << 20, &second, &error), NB_LOCKED);
        ck_assert_ptr_nonnull(strstr(error.text, "in use"));
    }
    put("a", "1");
}
END_TEST

static void path_of_data(char *path, size_t room);

START_TEST(a_deleted_or_replaced_data_file_is_noticed)
{
    char path[128];
    char other[140];
    struct nb_view view;
    struct nb_error error = {0};
    put("a", "1");
    path_of_data(path, sizeof path);
    snprintf(other, sizeof other, "%s.away", path);
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "deleted or replaced"));
    FILE *f = fopen(path, "w");
    fclose(f);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "deleted or replaced"));
    ck_assert_int_eq(rename(other, path), 0);
    put("b", "2");
}
END_TEST

/* ---- files that are not what they should be -------------------------------------------------- */

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

/* Replaces every `from` in the data file by `to`, of the same length; returns their number. */
static int replace_bytes(const char *from, const char *to)
{
    char path[128];
    static char file[1 << 20];
    size_t size = strlen(from);
    int found = 0;
    path_of_data(path, sizeof path);
    int fd = open(path, O_RDWR);
    ssize_t length = read(fd, file, sizeof file);
    for (ssize_t i = 0; i + (ssize_t)size < length; i++)
        if (memcmp(file + i, from, size) == 0 && pwrite(fd, to, size, i) == (ssize_t)size)
            found++;
    close(fd);
    return found;
}

/* One byte that changed on the disk is found by the value's checksum, also when the store is
 * opened.
 */
START_TEST(a_changed_byte_is_found)
{
    char value[64];
    struct nb_error what;
    put("key", "a value to be damaged");
    nb_store_close(&store);
    ck_assert_int_gt(replace_bytes("to be da", "To be da"), 0);
    ck_assert_int_eq(reopen(NULL), 0);
    ck_assert_int_eq(get("key", value, sizeof value), NB_CORRUPT);
    ck_assert(nb_store_met_damage(store, &what));
    ck_assert_ptr_nonnull(strstr(what.text,
                                 "entries with a wrong checksum: 1; keys that were out of "
                                 "order and were replaced: 0"));
}
END_TEST

START_TEST(a_changed_key_is_found)
{
    char value[16];
    put("one-key", "value");
    nb_store_close(&store);
    ck_assert_int_gt(replace_bytes("one-key", "two-key"), 0);
    ck_assert_int_eq(reopen(NULL), 0);
    ck_assert_int_eq(get("two-key", value, sizeof value), NB_CORRUPT);
}
END_TEST

/* Writes bytes past the store's own code: `value` lies in the table as it is given. */
static void put_raw(const char *table, const char *key, const void *value, size_t length)
{
    MDB_env *environment;
    MDB_txn *transaction;
    MDB_dbi dbi;
    MDB_val k = {strlen(key), (void *)(uintptr_t)key};
    MDB_val v = {length, (void *)(uintptr_t)value};
    ck_assert_int_eq(mdb_env_create(&environment), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(environment, 32), 0);
    ck_assert_int_eq(mdb_env_open(environment, directory, 0, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(environment, NULL, 0, &transaction), 0);
    ck_assert_int_eq(mdb_dbi_open(transaction, table, MDB_CREATE, &dbi), 0);
    ck_assert_int_eq(mdb_put(transaction, dbi, &k, &v, 0), 0);
    ck_assert_int_eq(mdb_txn_commit(transaction), 0);
    mdb_env_close(environment);
}

static size_t get_raw(const char *table, const char *key, char *out)
{
    MDB_env *environment;
    MDB_txn *transaction;
    MDB_dbi dbi;
    MDB_val k = {strlen(key), (void *)(uintptr_t)key};
    MDB_val v;
    ck_assert_int_eq(mdb_env_create(&environment), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(environment, 32), 0);
    ck_assert_int_eq(mdb_env_open(environment, directory, 0, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction), 0);
    ck_assert_int_eq(mdb_dbi_open(transaction, table, 0, &dbi), 0);
    ck_assert_int_eq(mdb_get(transaction, dbi, &k, &v), 0);
    memcpy(out, v.mv_data, v.mv_size);
    mdb_txn_abort(transaction);
    mdb_env_close(environment);
    return v.mv_size;
}

START_TEST(a_value_of_another_key_or_table_is_found)
{
    char sealed[64];
    char value[16];
    struct nb_view view;
    struct nb_string got;
    put("a", "of a");
    put("b", "of b");
    nb_store_close(&store);
    size_t length = get_raw("ledger", "a", sealed);
    put_raw("ledger", "b", sealed, length);
    put_raw("labels", "a", sealed, length);
    ck_assert_int_eq(reopen(NULL), 0);
    ck_assert_int_eq(get("a", value, sizeof value), 0);
    ck_assert_int_eq(get("b", value, sizeof value), NB_CORRUPT);
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    ck_assert_int_eq(nb_store_get(&view, NB_TABLE_LABELS, str("a"), &got, NULL), NB_CORRUPT);
    nb_store_snapshot_end(&view);
}
END_TEST

static int note_soundness(void *user, enum nb_table table, struct nb_string key,
                          struct nb_string value, bool sound, struct nb_error *error)
{
    char *all = user;
    (void)value;
    (void)error;
    ck_assert_int_eq(table, NB_TABLE_LEDGER);
    snprintf(all + strlen(all), 64 - strlen(all), "%.*s%c ", (int)key.length, key.bytes,
             sound ? '+' : '-');
    return 0;
}

START_TEST(inspecting_goes_on_after_damage)
{
    struct nb_view view;
    char all[64] = "";
    put("a", "1");
    put("b", "2");
    put("c", "3");
    nb_store_close(&store);
    put_raw("ledger", "b", "short", 5);
    ck_assert_int_eq(reopen(NULL), 0);
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    ck_assert_int_eq(nb_store_inspect(&view, NB_TABLE_LEDGER, note_soundness, all, NULL), 0);
    ck_assert_str_eq(all, "a+ b- c+ ");
    nb_store_snapshot_end(&view);
}
END_TEST

START_TEST(an_older_format_is_refused)
{
    struct nb_error error = {0};
    char first[9] = {1};
    uint64_t checksum = XXH3_64bits(first, 1);
    memcpy(first + 1, &checksum, sizeof checksum);
    nb_store_close(&store);
    put_raw("meta", "format", first, sizeof first);
    ck_assert_int_eq(reopen(&error), NB_VERSION);
    ck_assert_ptr_nonnull(strstr(error.text, "format 1"));
    ck_assert_ptr_nonnull(strstr(error.text, "export every model"));
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
    a = nb_store_key_id(7, (struct nb_string){NULL, 0});
    ck_assert_uint_eq(a.length, 4);
    ck_assert_uint_eq(nb_store_key_head(nb_store_key_string(&a)), 7);
    a = nb_store_key_id(7, str("id"));
    ck_assert_uint_eq(a.length, 6);
}
END_TEST

static void drop_table(const char *name)
{
    MDB_env *environment;
    MDB_txn *transaction;
    MDB_dbi table;
    ck_assert_int_eq(mdb_env_create(&environment), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(environment, NB_TABLES), 0);
    ck_assert_int_eq(mdb_env_open(environment, directory, 0, 0600), 0);
    ck_assert_int_eq(mdb_txn_begin(environment, NULL, 0, &transaction), 0);
    ck_assert_int_eq(mdb_dbi_open(transaction, name, 0, &table), 0);
    ck_assert_int_eq(mdb_drop(transaction, table, 1), 0);
    ck_assert_int_eq(mdb_txn_commit(transaction), 0);
    mdb_env_close(environment);
}

START_TEST(a_missing_table_is_damage)
{
    struct nb_error error;
    put("a", "1");
    nb_store_close(&store);
    drop_table("scores");
    ck_assert_int_eq(nb_store_open(directory, 1 << 20, &store, &error), NB_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error.text, "scores"));
}
END_TEST

/* ---- leases ---------------------------------------------------------------------------------- */

static int read_lease(struct nb_lease *lease, struct nb_error *error)
{
    const struct nb_view *view;
    struct nb_string value;
    int rc = nb_lease_enter(lease, &view, error);
    if (rc != 0)
        return rc;
    ck_assert_int_eq(nb_store_get(view, NB_TABLE_LEDGER, str("a"), &value, NULL), 0);
    ck_assert(nb_string_equals(value, "1"));
    nb_lease_leave(lease);
    return 0;
}

/* It shows one state while others write, until its time is over and somebody writes. */
START_TEST(a_lease_ends_with_its_time)
{
    struct nb_lease *lease;
    struct nb_lease *other;
    struct nb_error error;
    put("a", "1");
    ck_assert_int_eq(nb_lease_take(store, 0, &lease, NULL), 0);
    ck_assert_int_eq(nb_lease_take(store, 1000, &other, NULL), 0);
    usleep(1000); /* later than the deadline, whatever the clock's step */
    ck_assert_int_eq(read_lease(lease, NULL), 0);
    put("a", "2");
    ck_assert_int_eq(read_lease(lease, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "too long"));
    ck_assert_int_eq(read_lease(other, NULL), 0);
    nb_lease_end(&lease);
    ck_assert_ptr_null(lease);
    nb_lease_end(&lease);
    nb_lease_end(&other);
}
END_TEST

/* A map that has to grow does not wait for it. */
START_TEST(a_lease_gives_way_to_growth)
{
    struct nb_lease *lease;
    struct nb_view view;
    struct nb_error error;
    uint64_t used, before, map;
    put("a", "1");
    nb_store_sizes(store, &used, &before);
    ck_assert_int_eq(nb_lease_take(store, 1000, &lease, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, before, &view, NULL), 0);
    nb_store_abort(&view);
    nb_store_sizes(store, &used, &map);
    ck_assert_uint_gt(map, before);
    ck_assert_int_eq(read_lease(lease, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "grow"));
    nb_lease_end(&lease);
    ck_assert_int_eq(nb_lease_take(store, 1000, &lease, NULL), 0);
    ck_assert_int_eq(read_lease(lease, NULL), 0);
    nb_lease_end(&lease);
}
END_TEST

static void *take_and_read(void *argument)
{
    struct nb_lease *lease;
    struct nb_error error = {.text = ""};
    int rc = nb_lease_take(store, 1000, &lease, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    ck_assert_int_eq(read_lease(lease, NULL), 0);
    nb_lease_end(&lease);
    atomic_store((atomic_bool *)argument, true);
    return NULL;
}

/* The writer has taken all leases back, and the gate is not closed yet, or the map is moved: who
 * wants a lease gets it when that is done. */
START_TEST(a_lease_waits_for_growth)
{
    pthread_t reader;
    atomic_bool is_done = false;
    put("a", "1");
    nb_leases_close(store);
    ck_assert_int_eq(pthread_create(&reader, NULL, take_and_read, &is_done), 0);
    usleep(20000);
    ck_assert(!atomic_load(&is_done));
    ck_assert(nb_gate_close(&store->gate, 10)); /* it holds no snapshot meanwhile */
    nb_leases_open(store);
    usleep(1000);
    nb_gate_open(&store->gate);
    ck_assert_int_eq(pthread_join(reader, NULL), 0);
    ck_assert(atomic_load(&is_done));
}
END_TEST

/* Not for ever. */
START_TEST(a_lease_gives_up)
{
    struct nb_lease *lease;
    struct nb_error error;
    nb_leases_close(store);
    ck_assert_int_eq(nb_lease_take(store, 1000, &lease, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "busy growing"));
    nb_leases_open(store);
}
END_TEST

static void *take_many(void *argument)
{
    const atomic_bool *stops = argument;
    while (!atomic_load(stops)) {
        struct nb_lease *leases[3] = {NULL};
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(nb_lease_take(store, 1000, &leases[i], NULL), 0);
        for (size_t i = 0; i < 3; i++)
            nb_lease_end(&leases[i]);
    }
    return NULL;
}

/* The writer takes leases back at any moment, also when they were just given. */
START_TEST(leases_are_taken_and_taken_back)
{
    pthread_t takers[3];
    atomic_bool stops = false;
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&takers[i], NULL, take_many, &stops), 0);
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(nb_store_enter_alone(store, NULL), 0);
        nb_gate_open(&store->gate);
    }
    atomic_store(&stops, true);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(takers[i], NULL), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("store");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, commits_stay_and_aborts_do_not);
    tcase_add_test(t, a_commit_of_nothing_is_no_transaction);
    tcase_add_test(t, a_snapshot_does_not_move);
    tcase_add_test(t, scan_floor_clear);
    tcase_add_test(t, a_full_map_is_said_and_grows);
    tcase_add_test(t, sizes_may_be_asked_while_the_map_grows);
    tcase_add_test(t, a_large_map_is_reserved);
    tcase_add_test(t, growing_asks_long_snapshots_to_end);
    tcase_add_test(t, growing_is_not_starved_by_snapshots);
    tcase_add_test(t, appending_fills_pages);
    tcase_add_test(t, inline_values_take_no_page_of_their_own);
    tcase_add_test(t, pages_that_were_read_are_given_back);
    tcase_add_test(t, a_locked_directory_is_refused);
    tcase_add_test(t, a_deleted_lock_file_lets_nobody_in);
    tcase_add_test(t, a_deleted_or_replaced_data_file_is_noticed);
    tcase_add_test(t, a_cut_file_is_refused);
    tcase_add_test(t, a_file_of_something_else_is_refused);
    tcase_add_test(t, a_changed_byte_is_found);
    tcase_add_test(t, a_changed_key_is_found);
    tcase_add_test(t, a_value_of_another_key_or_table_is_found);
    tcase_add_test(t, inspecting_goes_on_after_damage);
    tcase_add_test(t, a_newer_format_is_refused);
    tcase_add_test(t, an_older_format_is_refused);
    tcase_add_test(t, keys_sort_as_numbers);
    tcase_add_test(t, a_missing_table_is_damage);
    tcase_add_test(t, a_lease_ends_with_its_time);
    tcase_add_test(t, a_lease_gives_way_to_growth);
    tcase_add_test(t, a_lease_waits_for_growth);
    tcase_add_test(t, a_lease_gives_up);
    tcase_add_test(t, leases_are_taken_and_taken_back);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
