/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of users: which names belong to the same user.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/http/user_map.h"
#include "tests/unit/run.h"

static const char text[] = "# names\n"
                           "\n"
                           "bob@example.org    gbob\n"
                           "SALES@Example.org\tgbob\r\n"
                           "  carol+private@example.org  secret  \n"
                           "carol@example.org  carol\n"
                           "@example.org       %l\n"
                           "@lists.example     All\n"
                           "@odd.example       x-%l-y\n"
                           "@                  %l@example.net\n"
                           "root               admin";

static const struct {
    const char *name, *user;
} FOUND[] = {
    {"bob@example.org", "gbob"},
    {" <Bob@EXAMPLE.org> ", "gbob"},
    {"sales@example.org", "gbob"},
    {"bob+lists@example.org", "gbob"},
    {"carol+private@example.org", "secret"},
    {"carol+other@example.org", "carol"},
    {"dan@example.org", "dan"},
    {"dan+x+y@example.org", "dan"},
    {"+dan@example.org", "+dan"},
    {"\"a@b\"@example.org", "\"a@b\""},
    {"any@lists.example", "all"},
    {"fay@odd.example", "x-fay-y"},
    {"gbob", "gbob@example.net"},
    {"root", "admin"},
    {"root+x", "admin"},
    {"@example.org", ""}, /* no name before the @ */
    {"Eve@Other.example", "Eve@Other.example"},
    {"<eve@other.example>", "eve@other.example"},
    {"", ""},
    {"<>", ""},
};

START_TEST(names_are_found)
{
    struct nb_user_map *map;
    struct nb_error error = {0};
    char user[NB_USER_NAME];
    ck_assert_msg(nb_user_map_parse(nb_string_of(text), "map", &map, &error) == 0, "%s",
                  error.text);
    nb_user_map_find(map, nb_string_of(FOUND[_i].name), user);
    ck_assert_str_eq(user, FOUND[_i].user);
    nb_user_map_free(&map);
    ck_assert_ptr_null(map);
}
END_TEST

START_TEST(without_a_map_a_name_is_a_user)
{
    char user[NB_USER_NAME], name[400];
    nb_user_map_find(NULL, nb_string_of("<Bob+x@Example.org>"), user);
    ck_assert_str_eq(user, "Bob+x@Example.org");
    memset(name, 'a', sizeof name);
    nb_user_map_find(NULL, (struct nb_string){name, sizeof name}, user);
    ck_assert_uint_eq(strlen(user), NB_USER_NAME - 1);
    nb_user_map_find(NULL, (struct nb_string){NULL, 0}, user);
    ck_assert_str_eq(user, "");
}
END_TEST

START_TEST(long_names_are_cut)
{
    struct nb_user_map *map;
    char user[NB_USER_NAME], name[400];
    memset(name, 'a', sizeof name);
    memcpy(name + 250, "@x.y", 4);
    ck_assert_int_eq(nb_user_map_parse(nb_string_of("@x.y %l@a.long.domain"), "map", &map, NULL),
                     0);
    nb_user_map_find(map, (struct nb_string){name, 254}, user);
    ck_assert_uint_eq(strlen(user), NB_USER_NAME - 1);
    nb_user_map_find(map, (struct nb_string){name, sizeof name}, user);
    ck_assert_uint_eq(strlen(user), NB_USER_NAME - 1);
    nb_user_map_free(&map);
}
END_TEST

static const struct {
    const char *text, *fault;
} FAULTY[] = {
    {"a b\nbob\n", "map:2: a line must be: NAME USER"},
    {"a b c\n", "map:1: a line must be: NAME USER"},
    {"a b\n\nA c\n", "map:3: the name 'a' has a line already"},
    {"bob %l\n", "map:1: %l is for lines of a domain: @example.org"},
};

START_TEST(faults_are_told)
{
    struct nb_user_map *map;
    struct nb_error error = {0};
    int rc = nb_user_map_parse(nb_string_of(FAULTY[_i].text), "map", &map, &error);
    ck_assert_int_eq(rc, NB_INVALID);
    ck_assert_str_eq(error.text, FAULTY[_i].fault);
    ck_assert_ptr_null(map);
}
END_TEST

START_TEST(texts_that_are_no_maps)
{
    static char line[600] = "a ";
    struct nb_user_map *map;
    ck_assert_int_eq(nb_user_map_parse((struct nb_string){"a b\0c", 5}, "map", &map, NULL),
                     NB_INVALID);
    memset(line + 2, 'x', sizeof line - 3);
    ck_assert_int_eq(nb_user_map_parse(nb_string_of(line), "map", &map, NULL), NB_INVALID);
    ck_assert_int_eq(nb_user_map_parse((struct nb_string){"", 0}, "map", &map, NULL), 0);
    char user[NB_USER_NAME];
    nb_user_map_find(map, nb_string_of("Bob"), user);
    ck_assert_str_eq(user, "Bob");
    nb_user_map_free(&map);
}
END_TEST

START_TEST(files)
{
    char path[] = "/tmp/user-map-XXXXXX";
    struct nb_user_map *map;
    struct nb_error error = {0};
    char user[NB_USER_NAME];
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq((int)write(file, "a b\n", 4), 4);
    close(file);
    ck_assert_int_eq(nb_user_map_read(path, &map, &error), 0);
    nb_user_map_find(map, nb_string_of("A"), user);
    ck_assert_str_eq(user, "b");
    nb_user_map_free(&map);
    unlink(path);
    ck_assert_int_eq(nb_user_map_read(path, &map, &error), NB_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "[filter] user_map: /tmp/user-map-"));
    ck_assert_int_eq(nb_user_map_read("/tmp", &map, &error), NB_INVALID);
    ck_assert_int_eq(nb_user_map_read("", &map, &error), 0);
    ck_assert_ptr_null(map);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("user_map");
    TCase *tests = tcase_create("user_map");
    tcase_add_loop_test(tests, names_are_found, 0, sizeof FOUND / sizeof *FOUND);
    tcase_add_test(tests, without_a_map_a_name_is_a_user);
    tcase_add_test(tests, long_names_are_cut);
    tcase_add_loop_test(tests, faults_are_told, 0, sizeof FAULTY / sizeof *FAULTY);
    tcase_add_test(tests, texts_that_are_no_maps);
    tcase_add_test(tests, files);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
