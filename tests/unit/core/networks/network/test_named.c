/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/named.h"

#include <check.h>
#include <string.h>

#include "core/model/model_transaction.h"
#include "core/writer/writer.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_engine *engine;

static void open_engine(void)
{
    struct nb_error error = {0};
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    open_engine();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static struct nb_named_key key(const char *name)
{
    return (struct nb_named_key){"network", nb_string_of(name)};
}

static int put(const char *name, const char *value, bool only_new, bool *created)
{
    struct nb_named_key k = key(name);
    return nb_named_put(engine, &k, nb_string_of(value), only_new, nb_string_of("ann"), created,
                        NULL);
}

static void ck_assert_has(const char *name, const char *value)
{
    struct nb_named_key k = key(name);
    struct nb_named got;
    ck_assert_int_eq(nb_named_get(engine, &k, &got, NULL), 0);
    ck_assert(nb_string_equals((struct nb_string){got.value.bytes, got.value.length}, value));
    ck_assert(nb_string_equals((struct nb_string){got.source.bytes, got.source.length}, "ann"));
    ck_assert_int_gt(got.time, INT64_C(1500000000000));
    nb_named_deinit(&got);
}

static int remove_one(const char *name)
{
    struct nb_named_key k = key(name);
    return nb_named_delete(engine, &k, NULL);
}

static int add_name(void *user, struct nb_string name, bool is_damaged)
{
    char *all = user;
    strncat(all, name.bytes, name.length);
    strcat(all, is_damaged ? "! " : " ");
    return strlen(all) > 40 ? 7 : 0;
}

static void ck_assert_list(const char *after, const char *want)
{
    char all[200] = "";
    ck_assert_int_eq(nb_named_list(engine, "network", nb_string_of(after), add_name, all, NULL), 0);
    ck_assert_str_eq(all, want);
}

START_TEST(put_get_delete)
{
    bool created = false;
    ck_assert_int_eq(put("b", "one", false, &created), 0);
    ck_assert(created);
    ck_assert_int_eq(put("b", "two", false, &created), 0);
    ck_assert(!created);
    ck_assert_int_eq(put("b", "three", true, &created), NB_CONFLICT);
    ck_assert_has("b", "two");
    ck_assert_int_eq(put("a", "", true, &created), 0);
    ck_assert_has("a", "");
    ck_assert_list("", "a b ");
    ck_assert_list("a", "b ");
    ck_assert_int_eq(remove_one("a"), 0);
    ck_assert_int_eq(remove_one("a"), NB_NOT_FOUND);
    struct nb_named_key k = key("a");
    struct nb_named got;
    ck_assert_int_eq(nb_named_get(engine, &k, &got, NULL), NB_NOT_FOUND);
    nb_engine_close(&engine);
    open_engine();
    ck_assert_has("b", "two");
    ck_assert_list("", "b ");
}
END_TEST

/* Another kind of the same name is another value, also where one kind begins as the other does. */
START_TEST(kinds)
{
    struct nb_named_key other = {"net", nb_string_of("a")};
    bool created = false;
    ck_assert_int_eq(put("a", "one", false, &created), 0);
    ck_assert_int_eq(nb_named_put(engine, &other, nb_string_of("two"), true, nb_string_of("ann"),
                                  &created, NULL),
                     0);
    ck_assert_has("a", "one");
    ck_assert_list("", "a ");
    ck_assert_int_eq(nb_named_delete(engine, &other, NULL), 0);
    ck_assert_has("a", "one");
}
END_TEST

/* Values of many pages. */
START_TEST(long_values)
{
    static char value[3 << 20];
    bool created = false;
    memset(value, 'x', sizeof value - 1);
    ck_assert_int_eq(put("long", value, false, &created), 0);
    nb_engine_close(&engine);
    open_engine();
    ck_assert_has("long", value);
}
END_TEST

static int write_bytes(struct nb_engine *e, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    const struct nb_string *bytes = argument;
    (void)e;
    return nb_store_put(view, NB_TABLE_META, nb_string_of("named/network/a"), *bytes, error);
}

static int write_task(struct nb_engine *e, void *argument, struct nb_error *error)
{
    return nb_transaction(e, 100, write_bytes, argument, error);
}

static int damage(struct nb_string bytes)
{
    return nb_writer_run(engine, write_task, &bytes, NULL);
}

START_TEST(damaged_values)
{
    static const struct {
        struct nb_string bytes;
        int code;
    } rows[] = {{{"", 0}, NB_DAMAGED},
                {{"\0", 1}, NB_DAMAGED},
                {{"\1abc", 4}, NB_DAMAGED},
                {{"\1\0\0\0\0\0\0\0\0\5ann", 13}, NB_DAMAGED},
                {{"\0\0\0\0\0\0\0\0\0\3ann", 13}, NB_DAMAGED},
                {{"\2\0\0\0\0\0\0\0\0\3ann", 13}, NB_VERSION}};
    bool created = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nb_named_key k = key("a");
        struct nb_named got;
        struct nb_error error = {0};
        ck_assert_int_eq(damage(rows[i].bytes), 0);
        ck_assert_msg(nb_named_get(engine, &k, &got, &error) == rows[i].code, "row %zu", i);
        ck_assert_ptr_nonnull(strstr(error.text, "'a'"));
        ck_assert_int_eq(put("a", "new", false, &created), 0);
        ck_assert(!created);
        ck_assert_has("a", "new");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("named");
    TCase *tests = tcase_create("named");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, put_get_delete);
    tcase_add_test(tests, kinds);
    tcase_add_test(tests, long_values);
    tcase_add_test(tests, damaged_values);
    return test_run(suite);
}
