/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes in memory: a reader sees the same as in an array of the changes, up to any number, and
 * also while the writer goes on.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random.h"
#include "core/store/journal.h"
#include "tests/unit/run.h"

enum { CHANGES = 4000, KEYS = 60, TABLES = 3 };

static struct nb_recent *recent;
static struct nb_random random_numbers = {1};

/* ---- what should be seen --------------------------------------------------------------------- */

struct expected {
    unsigned table;
    bool deleted, taken_back;
    char key[8];
    char value[16];
};
static struct expected all[CHANGES + 1]; /* by number */
static uint64_t count;

static void setup(void)
{
    recent = nb_recent_new();
    ck_assert_ptr_nonnull(recent);
    count = 0;
}

static void teardown(void)
{
    nb_recent_unref(&recent);
    ck_assert_ptr_null(recent);
}

static void add_one(void)
{
    struct expected *e = &all[++count];
    uint64_t n = nb_random_below(&random_numbers, KEYS);
    e->table = (unsigned)nb_random_below(&random_numbers, TABLES);
    e->deleted = nb_random_below(&random_numbers, 4) == 0;
    e->taken_back = false;
    snprintf(e->key, sizeof e->key, n % 2 ? "k%02u" : "%02u", (unsigned)n % 100);
    snprintf(e->value, sizeof e->value, "%llu", (unsigned long long)count);
    struct nb_recent_change change = {.table = e->table,
                                      .deleted = e->deleted,
                                      .key = nb_string_of(e->key),
                                      .value = nb_string_of(e->deleted ? "" : e->value)};
    ck_assert_int_eq(nb_recent_add(recent, &change), 0);
    ck_assert_uint_eq(nb_recent_last(recent), count);
}

/* Returns the newest change of the key up to `last`; 0: none. */
static uint64_t newest(uint64_t last, unsigned table, const char *key)
{
    for (uint64_t i = last < count ? last : count; i > 0; i--)
        if (all[i].table == table && !all[i].taken_back && strcmp(all[i].key, key) == 0)
            return i;
    return 0;
}

/* Returns the change with the least key above `key` (NULL: of all), or the greatest below it; 0:
 * none. */
static uint64_t neighbour(uint64_t last, unsigned table, const char *key, int way)
{
    uint64_t best = 0;
    for (uint64_t i = 1; i <= last && i <= count; i++) {
        const struct expected *e = &all[i];
        if (e->table != table || e->taken_back || (key != NULL && strcmp(e->key, key) * way <= 0))
            continue;
        if (best == 0 || strcmp(e->key, all[best].key) * way <= 0)
            best = i;
    }
    return best;
}

static void assert_is(const struct nb_recent_change *change, uint64_t number)
{
    if (number == 0) {
        ck_assert_ptr_null(change);
        return;
    }
    ck_assert_ptr_nonnull(change);
    const struct expected *e = &all[number];
    ck_assert_uint_eq(change->table, e->table);
    ck_assert(nb_string_equals(change->key, e->key));
    ck_assert(change->deleted == e->deleted);
    ck_assert(nb_string_equals(change->value, e->deleted ? "" : e->value));
}

static void assert_seen(uint64_t last)
{
    static const struct nb_string none = {"", 0};
    for (unsigned table = 0; table < TABLES; table++) {
        const struct nb_recent_change *at = nb_recent_from(recent, last, table, none);
        uint64_t number = neighbour(last, table, NULL, 1);
        assert_is(at, number);
        for (; at != NULL; at = nb_recent_after(last, at)) {
            assert_is(at, number);
            assert_is(nb_recent_find(recent, last, table, at->key), number);
            assert_is(nb_recent_from(recent, last, table, at->key), number);
            assert_is(nb_recent_before(recent, last, table, at->key),
                      neighbour(last, table, all[number].key, -1));
            number = neighbour(last, table, all[number].key, 1);
        }
        ck_assert_uint_eq(number, 0);
        assert_is(nb_recent_before(recent, last, table, none), neighbour(last, table, NULL, -1));
        assert_is(nb_recent_find(recent, last, table, nb_string_of("k51")),
                  newest(last, table, "k51"));
    }
}

START_TEST(readers_see_what_they_may)
{
    assert_seen(UINT64_MAX);
    while (count < 600) {
        nb_recent_mark(recent);
        uint64_t before = count;
        for (uint64_t i = nb_random_below(&random_numbers, 8); i > 0; i--)
            add_one();
        ck_assert(nb_recent_is_marked(recent) == (count > before));
        if (nb_random_below(&random_numbers, 3) == 0) {
            nb_recent_take_back(recent);
            ck_assert(!nb_recent_is_marked(recent));
            for (uint64_t i = before + 1; i <= count; i++)
                all[i].taken_back = true;
        }
        if (count % 20 == 0) {
            assert_seen(UINT64_MAX);
            assert_seen(count);
            assert_seen(nb_random_below(&random_numbers, count + 1));
        }
    }
    assert_seen(0);
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------- */

static int note(void *user, const struct nb_recent_change *change)
{
    uint64_t *number = user;
    assert_is(change, ++*number);
    return *number == 30 ? -77 : 0;
}

START_TEST(a_group_comes_in_its_order)
{
    for (int i = 0; i < 10; i++)
        add_one();
    nb_recent_mark(recent);
    for (int i = 0; i < 10; i++)
        add_one();
    uint64_t number = 10;
    ck_assert_int_eq(nb_recent_each(recent, note, &number), 0);
    ck_assert_uint_eq(number, 20);
    for (int i = 0; i < 20; i++)
        add_one();
    number = 10;
    ck_assert_int_eq(nb_recent_each(recent, note, &number), -77);
    ck_assert_uint_eq(number, 30);
}
END_TEST

START_TEST(large_values_have_room)
{
    char *bytes = calloc(1, 1 << 20);
    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < 3; i++) {
        bytes[0] = (char)i;
        struct nb_recent_change change = {.key = nb_string_of("key"), .value = {bytes, 1 << 20}};
        ck_assert_int_eq(nb_recent_add(recent, &change), 0);
    }
    for (uint64_t i = 1; i <= 3; i++)
        ck_assert_int_eq(nb_recent_find(recent, i, 0, nb_string_of("key"))->value.bytes[0],
                         (int)i - 1);
    ck_assert_uint_gt(nb_recent_bytes(recent), 3 << 20);
    free(bytes);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    uint64_t last;
    bool over;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Reads while each key is set to growing numbers in all tables at once, and expects as many keys in
 * each table. */
static void *read_all(void *argument)
{
    struct nb_recent *mine = argument;
    for (bool over = false; !over;) {
        pthread_mutex_lock(&told.lock);
        uint64_t last = told.last;
        over = told.over;
        pthread_mutex_unlock(&told.lock);
        size_t seen[TABLES] = {0};
        for (unsigned table = 0; table < TABLES; table++)
            for (const struct nb_recent_change *at =
                     nb_recent_from(mine, last, table, (struct nb_string){"", 0});
                 at != NULL; at = nb_recent_after(last, at)) {
                ck_assert_ptr_eq(nb_recent_find(mine, last, table, at->key), at);
                seen[table]++;
            }
        for (unsigned table = 1; table < TABLES; table++)
            ck_assert_uint_eq(seen[table], seen[0]);
    }
    nb_recent_unref(&mine);
    return NULL;
}

static void add_to_all_tables(uint64_t number)
{
    char key[16];
    snprintf(key, sizeof key, "%llu", (unsigned long long)(number * 7919 % 1000));
    for (unsigned table = 0; table < TABLES; table++) {
        struct nb_recent_change change = {
            .table = table, .key = nb_string_of(key), .value = nb_string_of(key)};
        ck_assert_int_eq(nb_recent_add(recent, &change), 0);
    }
}

START_TEST(readers_need_no_lock)
{
    pthread_t readers[2];
    told.last = 0;
    told.over = false;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_all, nb_recent_ref(recent)), 0);
    for (uint64_t i = 0; i < 3000; i++) {
        nb_recent_mark(recent);
        add_to_all_tables(i);
        if (i % 5 == 0)
            nb_recent_take_back(recent);
        pthread_mutex_lock(&told.lock);
        told.last = nb_recent_last(recent);
        told.over = i == 2999;
        pthread_mutex_unlock(&told.lock);
    }
    nb_recent_unref(&recent); /* the readers' references last */
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recent");
    TCase *tests = tcase_create("recent");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, readers_see_what_they_may);
    tcase_add_test(tests, a_group_comes_in_its_order);
    tcase_add_test(tests, large_values_have_room);
    tcase_add_test(tests, readers_need_no_lock);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
