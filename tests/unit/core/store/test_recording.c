/* SPDX-License-Identifier: Apache-2.0
 *
 * A store with its journal agrees with an array of keys and values, whether a transaction went to
 * the journal or to LMDB, after a crash at any moment, and after the disk has lost any part of the
 * journal that was never acknowledged.
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

#include "core/base/random.h"
#include "core/store/lease.h"
#include "core/store/store.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

enum { KEYS = 120, VALUE_MOST = 900, SMALL_JOURNAL = 6000, MAP = 256 << 20 };

static const enum nb_table tables[] = {NB_TABLE_STATE, NB_TABLE_SCORES, NB_TABLE_HISTORY_IDS};
enum { TABLES = 3 };

static char directory[NB_TEST_FOLDER_SIZE];
static char copy[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;
static struct nb_random numbers;

static size_t draw(size_t n)
{
    return (size_t)nb_random_below(&numbers, n);
}

/* ---- what a power loss leaves: files as they were at their last sync ------------------------- */

static char *durable; /* the journal; NULL: nothing of it was synced */
static off_t durable_length;
static ino_t journal_inode;

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t got;
    ck_assert(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof bytes)) > 0)
        ck_assert_int_eq(write(out, bytes, (size_t)got), got);
    close(in);
    close(out);
}

int fdatasync(int file)
{
    struct stat status, named;
    char path[128];
    int rc = (int)syscall(SYS_fdatasync, file);
    snprintf(path, sizeof path, "%s/journal", directory);
    if (rc != 0 || fstat(file, &status) != 0 || stat(path, &named) != 0 ||
        named.st_ino != status.st_ino)
        return rc;
    journal_inode = status.st_ino;
    durable = realloc(durable, (size_t)status.st_size + 1);
    durable_length = pread(file, durable, (size_t)status.st_size, 0);
    return rc;
}

/* ---- the array ------------------------------------------------------------------------------- */

struct entry {
    bool there;
    uint32_t length;
    char value[VALUE_MOST];
};
struct contents {
    struct entry entries[TABLES][KEYS];
};
static struct contents now, before;

static struct nb_store_key key_of(size_t i)
{
    char name[32];
    snprintf(name, sizeof name, i % 7 == 0 ? "%zu" : "longer %zu", i);
    return nb_store_key_id((uint32_t)(1 + i % 3), nb_string_of(name));
}

/* Keys in their order, as indexes. */
static size_t order[KEYS];
static int compare(const void *a, const void *b)
{
    struct nb_store_key x = key_of(*(const size_t *)a), y = key_of(*(const size_t *)b);
    return nb_string_compare(nb_store_key_string(&x), nb_store_key_string(&y));
}

static void setup(void)
{
    numbers = nb_random_of(7, 0);
    memset(&now, 0, sizeof now);
    test_folder_make(directory);
    test_folder_make(copy);
    ck_assert_int_eq(nb_store_open(directory, MAP, &store, NULL), 0);
    for (size_t i = 0; i < KEYS; i++)
        order[i] = i;
    qsort(order, KEYS, sizeof *order, compare);
}

static void teardown(void)
{
    nb_store_close(&store);
    test_folder_remove(directory);
    test_folder_remove(copy);
    free(durable);
    durable = NULL;
}

struct walk {
    const struct contents *contents;
    int table;
    size_t at, left;
    size_t prefix;
};

/* Returns the next entry of the array at or after order[at]; KEYS: none. */
static size_t next_there(const struct contents *c, int table, size_t at)
{
    while (at < KEYS && !c->entries[table][order[at]].there)
        at++;
    return at;
}

static int expect_next(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct walk *w = user;
    (void)error;
    w->at = next_there(w->contents, w->table, w->at);
    ck_assert_uint_lt(w->at, KEYS);
    const struct entry *e = &w->contents->entries[w->table][order[w->at]];
    struct nb_store_key wanted = key_of(order[w->at]);
    ck_assert(nb_string_same(key, nb_store_key_string(&wanted)));
    ck_assert(nb_string_same(value, (struct nb_string){e->value, e->length}));
    w->at++;
    return --w->left == 0 ? 77 : 0;
}

static int inspect_next(void *user, enum nb_table table, struct nb_string key,
                        struct nb_string value, bool sound, struct nb_error *error)
{
    ck_assert(sound && table == tables[((struct walk *)user)->table]);
    return expect_next(user, key, value, error);
}

static void assert_one(const struct nb_view *view, const struct contents *c, int t, size_t place)
{
    struct nb_store_key key = key_of(order[place]), floor;
    struct nb_string value, found;
    const struct entry *e = &c->entries[t][order[place]];
    int rc = nb_store_get(view, tables[t], nb_store_key_string(&key), &value, NULL);
    ck_assert_int_eq(rc, e->there ? 0 : NB_NOT_FOUND);
    if (e->there)
        ck_assert(nb_string_same(value, (struct nb_string){e->value, e->length}));
    size_t below = place + 1;
    while (below > 0 && !c->entries[t][order[below - 1]].there)
        below--;
    if (below > 0)
        floor = key_of(order[below - 1]);
    size_t prefix = draw(2) * sizeof(uint32_t);
    bool has = below > 0 && memcmp(floor.bytes, key.bytes, prefix) == 0;
    rc = nb_store_floor(view, tables[t], nb_store_key_string(&key), prefix, &found, &value, NULL);
    ck_assert_int_eq(rc, has ? 0 : NB_NOT_FOUND);
    if (has)
        ck_assert(nb_string_same(found, nb_store_key_string(&floor)));
}

static void assert_contents(const struct nb_view *view, const struct contents *c)
{
    for (int t = 0; t < TABLES; t++) {
        struct walk w = {.contents = c, .table = t, .left = SIZE_MAX};
        ck_assert_int_eq(nb_store_inspect(view, tables[t], inspect_next, &w, NULL), 0);
        ck_assert_uint_eq(next_there(c, t, w.at), KEYS);
        size_t from = draw(KEYS);
        struct nb_store_key key = key_of(order[from]);
        w = (struct walk){.contents = c, .table = t, .at = from, .left = 1 + draw(20)};
        int rc =
            nb_store_scan(view, tables[t], nb_store_key_string(&key), 0, expect_next, &w, NULL);
        ck_assert(rc == 77 || next_there(c, t, w.at) == KEYS);
        for (int i = 0; i < 12; i++)
            assert_one(view, c, t, draw(KEYS));
    }
}

static void assert_store(struct nb_store *s, const struct contents *c)
{
    struct nb_view view;
    struct nb_error error = {0};
    ck_assert_msg(nb_store_snapshot(s, &view, &error) == 0, "%s", error.text);
    assert_contents(&view, c);
    nb_store_snapshot_end(&view);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void put_one(const struct nb_view *view)
{
    int t = (int)draw(TABLES);
    size_t i = draw(KEYS);
    struct entry *e = &now.entries[t][i];
    struct nb_store_key key = key_of(i);
    e->there = true;
    e->length = (uint32_t)draw(draw(5) == 0 ? VALUE_MOST : 40);
    memset(e->value, (int)draw(256), e->length);
    ck_assert_int_eq(nb_store_put(view, tables[t], nb_store_key_string(&key),
                                  (struct nb_string){e->value, e->length}, NULL),
                     0);
}

static void append_one(const struct nb_view *view)
{
    int t = (int)draw(TABLES);
    size_t place = draw(KEYS);
    struct entry *e = &now.entries[t][order[place]];
    struct nb_store_key key = key_of(order[place]);
    bool is_last = next_there(&now, t, place) == KEYS;
    int rc =
        nb_store_append(view, tables[t], nb_store_key_string(&key), nb_string_of("appended"), NULL);
    ck_assert_int_eq(rc, is_last ? 0 : NB_EXISTS);
    if (!is_last)
        return;
    *e = (struct entry){.there = true, .length = 8};
    memcpy(e->value, "appended", 8);
}

static void delete_one(const struct nb_view *view)
{
    int t = (int)draw(TABLES);
    size_t i = draw(KEYS);
    struct nb_store_key key = key_of(i);
    now.entries[t][i].there = false;
    ck_assert_int_eq(nb_store_delete(view, tables[t], nb_store_key_string(&key), NULL), 0);
}

static void clear_some(const struct nb_view *view)
{
    int t = (int)draw(TABLES);
    uint32_t model = 1 + (uint32_t)draw(3);
    struct nb_store_key key = nb_store_key_model(model);
    size_t most = draw(40), deleted, wanted = 0;
    for (size_t place = 0; place < KEYS; place++) {
        struct nb_store_key other = key_of(order[place]);
        struct entry *e = &now.entries[t][order[place]];
        if (!e->there || nb_store_key_head(nb_store_key_string(&other)) != model || wanted == most)
            continue;
        e->there = false;
        wanted++;
    }
    ck_assert_int_eq(
        nb_store_clear(view, tables[t], nb_store_key_string(&key), most, &deleted, NULL), 0);
    ck_assert_uint_eq(deleted, wanted);
}

/* Makes a transaction of few or many changes, which may be aborted. Returns whether it was
 * committed. */
static bool change(uint64_t expected)
{
    struct nb_view view;
    uint64_t changes = draw(draw(9) == 0 ? 200 : 6);
    before = now;
    ck_assert_int_eq(nb_store_begin(store, expected, &view, NULL), 0);
    for (uint64_t i = 0; i < changes; i++) {
        uint64_t what = draw(40);
        (what == 0 ? clear_some : what < 4 ? append_one : what < 16 ? delete_one : put_one)(&view);
        if (draw(30) == 0)
            assert_contents(&view, &now);
    }
    if (draw(6) != 0) {
        struct nb_error error = {0};
        int rc = nb_store_commit(&view, &error);
        if (rc == NB_STORE_MAP_FULL) { /* as the engine: begins again */
            now = before;
            return false;
        }
        ck_assert_msg(rc == 0, "%s", error.text);
        return true;
    }
    nb_store_abort(&view);
    now = before;
    return false;
}

/* Makes this many commits. */
static void fill(int transactions, uint64_t expected)
{
    uint64_t wanted = nb_store_committed(store) + (uint64_t)transactions;
    while (nb_store_committed(store) < wanted)
        change(expected);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void join(char path[128], const char *folder, const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

/* Crashes: keeps the files as they are or, after a power failure, only the synced part of the
 * journal. */
static void crash(bool power)
{
    char from[128], to[128];
    join(from, directory, "data.mdb");
    join(to, copy, "data.mdb");
    copy_file(from, to);
    join(from, directory, "journal");
    join(to, copy, "journal");
    unlink(to);
    if (access(from, F_OK) != 0)
        return;
    copy_file(from, to);
    struct stat status;
    ck_assert_int_eq(stat(from, &status), 0);
    if (!power || status.st_ino != journal_inode)
        return;
    int file = open(to, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(pwrite(file, durable, (size_t)durable_length, 0), durable_length);
    close(file);
}

static struct nb_store *open_copy(void)
{
    struct nb_error error = {0};
    struct nb_store *other = NULL;
    int rc = nb_store_open(copy, MAP, &other, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    return other;
}

static bool has_journal(const char *folder)
{
    char path[128];
    join(path, folder, "journal");
    return access(path, F_OK) == 0;
}

static void assert_survives(bool power)
{
    crash(power);
    struct nb_store *other = open_copy();
    assert_store(other, &now);
    nb_store_close(&other);
    ck_assert(!has_journal(copy));
    other = open_copy(); /* all of it is in data.mdb */
    assert_store(other, &now);
    nb_store_close(&other);
}

/* Goes on with the files that the crash has left. */
static void go_on_after_crash(void)
{
    char from[128], to[128];
    crash(draw(2) == 0);
    nb_store_close(&store);
    for (int i = 0; i < 2; i++) {
        join(from, copy, i ? "journal" : "data.mdb");
        join(to, directory, i ? "journal" : "data.mdb");
        if (access(from, F_OK) == 0)
            copy_file(from, to);
        else
            unlink(to);
    }
    ck_assert_int_eq(nb_store_open(directory, MAP, &store, NULL), 0);
}

START_TEST(random_histories)
{
    struct nb_view held = {0};
    static struct contents seen;
    numbers = nb_random_of(11, (uint64_t)_i);
    nb_store_limit_journal(store, _i % 3 == 2 ? 0 : _i % 3 == 1 ? SMALL_JOURNAL : 1 << 20);
    for (int i = 0; i < 250; i++) {
        change(draw(12) == 0 ? 1 << 20 : 0);
        if (held.transaction != NULL && draw(3) == 0) {
            assert_contents(&held, &seen); /* it has not moved */
            if (draw(2) == 0)
                nb_store_snapshot_end(&held);
        } else if (held.transaction == NULL && draw(3) == 0) {
            ck_assert_int_eq(nb_store_snapshot(store, &held, NULL), 0);
            seen = now;
        }
        if (draw(10) == 0)
            assert_store(store, &now);
        if (draw(25) == 0)
            assert_survives(draw(2) == 0);
        if (draw(60) == 0) {
            nb_store_snapshot_end(&held);
            go_on_after_crash();
            nb_store_limit_journal(store, _i % 3 == 2 ? 0 : _i % 3 == 1 ? SMALL_JOURNAL : 1 << 20);
        }
    }
    nb_store_snapshot_end(&held);
    assert_survives(true);
}
END_TEST

/* ---- the journal cut at each byte ------------------------------------------------------------ */

enum { STEPS = 12 };

START_TEST(a_journal_cut_anywhere_has_what_came_before)
{
    static struct contents states[STEPS + 1];
    off_t ends[STEPS + 1] = {0};
    char path[128];
    size_t step = 0;
    fill(40, 1 << 20); /* in LMDB */
    states[0] = now;
    while (step < STEPS) {
        uint64_t commits = nb_store_committed(store);
        change(0);
        if (nb_store_committed(store) == commits)
            continue;
        off_t end = durable_length;
        while (end > 0 && durable[end - 1] == 0)
            end--;
        ends[++step] = end;
        states[step] = now;
    }
    crash(true);
    join(path, copy, "data.mdb");
    char kept[128];
    join(kept, copy, "kept");
    copy_file(path, kept);
    for (off_t cut = ends[STEPS]; cut >= 0; cut -= cut > 40 ? (off_t)draw(40) : 1) {
        size_t whole = 0;
        while (whole < STEPS && ends[whole + 1] <= cut)
            whole++;
        copy_file(kept, path);
        char journal[128];
        join(journal, copy, "journal");
        int file = open(journal, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ck_assert_int_eq(pwrite(file, durable, (size_t)cut, 0), cut);
        ck_assert_int_eq(ftruncate(file, cut + (off_t)draw(2) * 4096), 0);
        close(file);
        struct nb_store *other = open_copy();
        assert_store(other, &states[whole]);
        nb_store_close(&other);
    }
}
END_TEST

/* ---- files that do not belong together ------------------------------------------------------- */

static int open_copy_fails(struct nb_error *error)
{
    struct nb_store *other = NULL;
    int rc = nb_store_open(copy, MAP, &other, error);
    if (rc == 0)
        nb_store_close(&other);
    return rc;
}

START_TEST(an_older_file_beside_the_journal_is_refused)
{
    struct nb_error error = {0};
    char from[128], to[128];
    fill(5, 1 << 20);
    crash(false); /* the older file */
    fill(5, 1 << 20);
    fill(5, 0);
    join(from, directory, "journal");
    join(to, copy, "journal");
    copy_file(from, to);
    ck_assert_int_eq(open_copy_fails(&error), NB_CORRUPT);
    ck_assert_msg(strstr(error.text, "later state") != NULL, "%s", error.text);
    ck_assert(has_journal(copy)); /* nothing was thrown away */
    ck_assert_int_eq(open_copy_fails(&error), NB_CORRUPT);
    unlink(to);
    ck_assert_int_eq(open_copy_fails(&error), 0);
}
END_TEST

START_TEST(the_journal_of_another_store_is_kept_aside)
{
    char from[128], to[128], kept[128];
    struct nb_store *other;
    fill(5, 0);
    join(from, directory, "journal");
    join(to, copy, "journal");
    join(kept, copy, "journal.old");
    copy_file(from, to);
    other = open_copy(); /* a new store */
    struct nb_view view;
    ck_assert_int_eq(nb_store_begin(other, 0, &view, NULL), 0);
    ck_assert_int_eq(
        nb_store_put(&view, NB_TABLE_STATE, nb_string_of("a"), nb_string_of("b"), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    ck_assert_int_eq(access(kept, F_OK), 0);
    nb_store_close(&other);
    ck_assert(!has_journal(copy));
}
END_TEST

START_TEST(damage_with_records_behind_it_is_told)
{
    struct nb_error error = {0};
    struct nb_store *other = NULL;
    uint32_t damaged;
    char path[128];
    fill(5, 1 << 20);
    fill(1, 0);
    crash(true); /* what comes before the damage */
    other = open_copy();
    static struct contents first;
    first = now;
    nb_store_close(&other);
    off_t at = durable_length;
    while (at > 0 && durable[at - 1] == 0)
        at--;
    at = (at + 7) / 8 * 8;
    fill(3, 0);
    crash(true);
    join(path, copy, "journal");
    int file = open(path, O_RDWR);
    ck_assert_int_eq(pwrite(file, "damage", 6, at + 20), 6);
    close(file);
    ck_assert_int_eq(open_copy_fails(&error), NB_CORRUPT);
    ck_assert_msg(strstr(error.text, "--rebuild") != NULL, "%s", error.text);
    ck_assert(has_journal(copy));
    ck_assert_int_eq(nb_store_open_reading(copy, &other, &damaged, &error), 0);
    assert_store(other, &first);
    nb_store_close(&other);
    ck_assert(has_journal(copy));
}
END_TEST

/* The journal is removed, or replaced, under a store that runs: LMDB gets everything. */
START_TEST(a_journal_that_is_removed)
{
    char path[128];
    join(path, directory, "journal");
    for (int i = 0; i < 6; i++) {
        fill(3, 0);
        ck_assert_int_eq(unlink(path), 0);
        if (i % 2 == 0) {
            int file = open(path, O_RDWR | O_CREAT, 0600);
            close(file);
        }
        fill(3, 0);
        ck_assert(has_journal(directory));
        assert_store(store, &now);
        assert_survives(false);
    }
}
END_TEST

START_TEST(a_store_that_is_closed_has_no_journal)
{
    ck_assert(!has_journal(directory));
    fill(3, 0);
    ck_assert(has_journal(directory));
    nb_store_close(&store);
    ck_assert(!has_journal(directory));
    ck_assert_int_eq(nb_store_open(directory, MAP, &store, NULL), 0);
    assert_store(store, &now);
    ck_assert(!has_journal(directory));
}
END_TEST

/* A slow reader keeps what it began with, whatever goes into LMDB meanwhile. */
START_TEST(a_lease_does_not_move)
{
    struct nb_lease *lease;
    const struct nb_view *view;
    static struct contents seen;
    fill(3, 0);
    seen = now;
    ck_assert_int_eq(nb_lease_take(store, 1000, &lease, NULL), 0);
    for (int i = 0; i < 5; i++) {
        fill(3, i % 2 ? 1 << 20 : 0);
        ck_assert_int_eq(nb_lease_enter(lease, &view, NULL), 0);
        assert_contents(view, &seen);
        nb_lease_leave(lease);
    }
    nb_lease_end(&lease);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("recording");
    TCase *t = tcase_create("recording");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, random_histories, 0, 12);
    tcase_add_test(t, a_journal_cut_anywhere_has_what_came_before);
    tcase_add_test(t, an_older_file_beside_the_journal_is_refused);
    tcase_add_test(t, the_journal_of_another_store_is_kept_aside);
    tcase_add_test(t, damage_with_records_behind_it_is_told);
    tcase_add_test(t, a_journal_that_is_removed);
    tcase_add_test(t, a_store_that_is_closed_has_no_journal);
    tcase_add_test(t, a_lease_does_not_move);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
