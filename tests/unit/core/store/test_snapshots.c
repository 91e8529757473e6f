/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot shows one state while transactions are committed, in the journal and in LMDB by
 * turns.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/store.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

#ifdef __SANITIZE_THREAD__
enum { COMMITS = 500 };
#else
enum { COMMITS = 3000 };
#endif

enum { READERS = 3, MAP = 1 << 20, LARGE = 1 << 20, KEPT = 40 };

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;
static atomic_bool stops;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

/* Commits the entry of this number and the count of all in one transaction, and deletes old
 * entries. Each third entry is so large that LMDB gets it, with the changes that wait in the
 * journal. */
static void commit(unsigned number)
{
    struct nb_view view;
    char text[16], key[16], old[16];
    snprintf(text, sizeof text, "%u", number);
    snprintf(key, sizeof key, "e%08u", number);
    snprintf(old, sizeof old, "e%08u", number < KEPT ? 0 : number - KEPT);
    ck_assert_int_eq(nb_store_begin(store, number % 3 == 0 ? LARGE : 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_put(&view, NB_TABLE_META, str("count"), str(text), NULL), 0);
    ck_assert_int_eq(nb_store_put(&view, NB_TABLE_LEDGER, str(key), str(text), NULL), 0);
    ck_assert_int_eq(nb_store_delete(&view, NB_TABLE_LEDGER, str(old), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
}

static unsigned number_of(struct nb_string value)
{
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)value.length, value.bytes);
    return (unsigned)strtoul(text, NULL, 10);
}

/* The contents of a snapshot. A failing check cannot leave a thread, so readers only return
 * this. */
struct found {
    int code;
    unsigned count, newest;
};

static struct found look(void)
{
    struct nb_view view;
    struct nb_string key, value;
    struct found found = {.code = nb_store_snapshot(store, &view, NULL)};
    if (found.code != 0)
        return found;
    found.code = nb_store_get(&view, NB_TABLE_META, str("count"), &value, NULL);
    if (found.code == 0)
        found.count = number_of(value);
    if (found.code == 0)
        found.code =
            nb_store_floor(&view, NB_TABLE_LEDGER, str("e99999999"), 1, &key, &value, NULL);
    if (found.code == 0)
        found.newest = number_of(value);
    nb_store_snapshot_end(&view);
    return found;
}

/* Reads snapshots until the end or until a fault; `user` is the last result. */
static void *look_again(void *user)
{
    struct found *found = user;
    unsigned before = 0;
    do {
        before = found->count;
        *found = look();
    } while (!atomic_load(&stops) && found->code == 0 && found->count == found->newest &&
             found->count >= before);
    if (found->count < before)
        found->code = NB_CORRUPT;
    return NULL;
}

START_TEST(all_of_it_is_of_one_commit)
{
    pthread_t readers[READERS];
    struct found found[READERS] = {{0}};
    test_folder_make(directory);
    ck_assert_int_eq(nb_store_open(directory, MAP, &store, NULL), 0);
    nb_store_limit_journal(store, NB_STORE_JOURNAL_BYTES);
    commit(1);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, look_again, &found[i]), 0);
    for (unsigned i = 2; i < COMMITS; i++)
        commit(i);
    atomic_store(&stops, true);
    for (int i = 0; i < READERS; i++) {
        ck_assert_int_eq(pthread_join(readers[i], NULL), 0);
        ck_assert_int_eq(found[i].code, 0);
        ck_assert_uint_eq(found[i].count, found[i].newest);
    }
    ck_assert_uint_eq(look().count, COMMITS - 1);
    nb_store_close(&store);
    test_folder_remove(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snapshots");
    TCase *t = tcase_create("snapshots");
    suite_add_tcase(suite, t);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, all_of_it_is_of_one_commit);
    return test_run(suite);
}
