/* SPDX-License-Identifier: Apache-2.0
 *
 * What [nodes] says: streams to follow, databases of streams, the key, the node's name; and the
 * parameters of statements. None of it needs a database.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/nodes/stream_worker.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

static struct nb_config config;

static void set(const char *key, const char *value)
{
    struct nb_error error = {0};
    ck_assert_msg(nb_config_set(&config, "nodes", key, value, "test", &error) == 0, "%s",
                  error.text);
}

static void setup(void)
{
    ck_assert_int_eq(nb_config_init(&config, NULL), 0);
    set("streams", "8");
    set("database", "postgresql://all");
}

static void teardown(void)
{
    nb_config_deinit(&config);
}

START_TEST(streams_to_follow)
{
    static const struct {
        const char *text;
        uint64_t follow; /* 0: it is refused */
    } cases[] = {{"", 0xFF},  {"0", 1},    {"7", 0x80},  {"0,4-7", 0xF1}, {"1 - 3 , 5", 0x2E},
                 {"0,0", 1},  {"2-2,", 4}, {"8", 0},     {"0-8", 0},      {"3-1", 0},
                 {"0,4-", 0}, {"-1", 0},   {"x", 0},     {"1x", 0},       {"1 2", 0},
                 {",1", 0},   {"1,,2", 0}, {"1-2-3", 0}, {"100", 0},      {"1;2", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t follow = 0;
        set("follow", cases[i].text);
        int rc = nb_nodes_read_follow(&config, &follow, NULL);
        ck_assert_msg(rc == (cases[i].follow == 0 ? NB_INVALID : 0), "'%s': %d", cases[i].text, rc);
        ck_assert_msg(rc != 0 || follow == cases[i].follow, "'%s': %llx", cases[i].text,
                      (unsigned long long)follow);
    }
    set("follow", "");
    set("streams", "64");
    uint64_t follow = 0;
    ck_assert_int_eq(nb_nodes_read_follow(&config, &follow, NULL), 0);
    ck_assert_uint_eq(follow, UINT64_MAX);
}
END_TEST

static void expect_database(unsigned stream, const char *expected)
{
    char *conninfo = NULL;
    ck_assert_int_eq(nb_nodes_conninfo(&config, stream, &conninfo, NULL), 0);
    ck_assert_str_eq(conninfo, expected);
    free(conninfo);
}

START_TEST(databases_of_streams)
{
    static const char *const wrong[] = {"8=postgresql://x", "postgresql://x", "=x", "3", "-1=x"};
    char *conninfo = NULL;
    expect_database(3, "postgresql://all");
    set("databases", "3=postgresql://three/x?sslmode=require  7=postgresql://seven");
    expect_database(3, "postgresql://three/x?sslmode=require");
    expect_database(7, "postgresql://seven");
    expect_database(0, "postgresql://all");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        set("databases", wrong[i]);
        ck_assert_int_eq(nb_nodes_conninfo(&config, 3, &conninfo, NULL), NB_INVALID);
    }
}
END_TEST

static int read_key(const char *text, unsigned char key[NB_KEY_BYTES])
{
    char directory[NB_TEST_FOLDER_SIZE], path[NB_TEST_FOLDER_SIZE + 8];
    test_folder_make(directory);
    snprintf(path, sizeof path, "%s/key", directory);
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    int rc = nb_nodes_read_key(path, key, NULL);
    test_folder_remove(directory);
    ck_assert_int_ne(nb_nodes_read_key(path, key, NULL), 0); /* it is gone */
    return rc;
}

START_TEST(keys_in_files)
{
#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
    unsigned char key[NB_KEY_BYTES];
    ck_assert_int_eq(read_key(" " DIGITS "\n\n", key), 0);
    ck_assert(key[0] == 0 && key[1] == 0x11 && key[31] == 0xFF);
    ck_assert_int_eq(read_key("", key), NB_INVALID);
    ck_assert_int_eq(read_key(DIGITS "0", key), NB_INVALID);
    ck_assert_int_eq(read_key("x" DIGITS, key), NB_INVALID);
    ck_assert_int_eq(
        read_key("g0112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF", key),
        NB_INVALID);
}
END_TEST

START_TEST(names_of_nodes)
{
    char name[NB_MEMBER_NAME_MOST + 1];
    struct nb_error error = {0};
    set("name", "mail-1_b");
    nb_member_name(&config, name);
    ck_assert_str_eq(name, "mail-1_b");
    set("name", "");
    ck_assert_int_eq(nb_config_set(&config, "server", "listen", "[::1]:8770", "test", &error), 0);
    nb_member_name(&config, name); /* MACHINE-8770 */
    size_t length = strlen(name);
    ck_assert_uint_gt(length, 5);
    ck_assert_str_eq(name + length - 5, "-8770");
    ck_assert_uint_eq(
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"), length);
}
END_TEST

/* As PostgreSQL reads them: all numbers are big-endian. */
START_TEST(arrays_as_parameters)
{
    static const char expected[] = "\0\0\0\1"
                                   "\0\0\0\0"
                                   "\0\0\0\x19"
                                   "\0\0\0\2"
                                   "\0\0\0\1"
                                   "\0\0\0\1"
                                   "a"
                                   "\0\0\0\0";
    struct nb_sql_array texts = {.type = NB_SQL_TEXT}, numbers = {.type = NB_SQL_NUMBER};
    nb_sql_add(&texts, nb_string_of("a"));
    nb_sql_add(&texts, nb_string_of(""));
    struct nb_sql_value value = nb_sql_array_value(&texts);
    ck_assert_uint_eq(value.type, 1009);
    ck_assert(nb_string_same(value.bytes, (struct nb_string){expected, sizeof expected - 1}));
    nb_sql_add_number(&numbers, 258);
    value = nb_sql_array_value(&numbers);
    ck_assert_uint_eq(value.type, 1016);
    ck_assert_mem_eq(value.bytes.bytes + value.bytes.length - 12, "\0\0\0\x8\0\0\0\0\0\0\1\2", 12);
    ck_assert(texts.code == 0 && numbers.code == 0);
    nb_buffer_deinit(&texts.written);
    nb_buffer_deinit(&numbers.written);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("schema");
    TCase *t = tcase_create("schema");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, streams_to_follow);
    tcase_add_test(t, databases_of_streams);
    tcase_add_test(t, keys_in_files);
    tcase_add_test(t, names_of_nodes);
    tcase_add_test(t, arrays_as_parameters);
    return test_run(s);
}
