/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/http/tokens.h"
#include "tests/unit/run.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])
/* The hash of "abc", an example of FIPS 180-4. */
#define HASH "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

/* ---- patterns of models ---------------------------------------------------------------------- */

static const struct {
    const char *patterns, *name;
    bool matches;
} matching[] = {
    {"*", "mail", true},
    {"*", "", true},
    {"mail", "mail", true},
    {"mail", "Mail", false},
    {"mail", "mails", false},
    {"mail", "mai", false},
    {"mail", "", false},
    {"user-*", "user-", true},
    {"user-*", "user-ann@example.org", true},
    {"user-*", "users-ann", false},
    {"user-*", "xuser-ann", false},
    {"*-ann", "user-ann", true},
    {"*-ann", "user-anna", false},
    {"*-ann", "-ann-ann", true},
    {"u*-*n", "user-ann", true},
    {"u*-*n", "user-anna", false},
    {"u?er", "user", true},
    {"u?er", "uer", false},
    {"?", "", false},
    {"?*", "", false},
    {"?*", "x", true},
    {"**", "", true},
    {"*a*b*c*", "xxaxxbxxcxx", true},
    {"*a*b*c*", "xxaxxcxxbxx", false},
    {"*ab", "aab", true},
    {"a*?b", "ab", false},
    {"a*?b", "axb", true},
    {"mail,user-*", "user-ann", true},
    {"mail,user-*", "mail", true},
    {"mail,user-*", "mail,user-", false},
    {"mail,user-*", "other", false},
};

START_TEST(each_pattern_matches_its_names)
{
    ck_assert_msg(nb_models_match(matching[_i].patterns, nb_string_of(matching[_i].name)) ==
                      matching[_i].matches,
                  "%s: %s", matching[_i].patterns, matching[_i].name);
}
END_TEST

/* A matcher of exponential time would not end. */
START_TEST(many_stars_take_no_time)
{
    char pattern[129], name[129];
    for (int i = 0; i < 128; i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
        name[i] = 'a';
    }
    pattern[127] = 'b';
    pattern[128] = name[128] = '\0';
    ck_assert(!nb_models_match(pattern, nb_string_of(name)));
}
END_TEST

START_TEST(what_is_a_pattern)
{
    static const char *const good[] = {"*", "user-*", "a,b,c?", "A.b_c@d+e-9"};
    static const char *const bad[] = {"",    ",",   "a,",  ",a",  "a,,b",
                                      "a b", "a/b", "[a]", "a\\", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(nb_models_are_patterns(nb_string_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!nb_models_are_patterns(nb_string_of(bad[i])), "%s", bad[i]);
    ck_assert(!nb_models_are_patterns((struct nb_string){"a\0b", 3}));
    char longest[130];
    memset(longest, 'a', sizeof longest);
    ck_assert(nb_models_are_patterns((struct nb_string){longest, 128}));
    ck_assert(!nb_models_are_patterns((struct nb_string){longest, 129}));
    ck_assert(nb_models_are_all("a,*") && !nb_models_are_all("a*,**"));
}
END_TEST

/* ---- the file -------------------------------------------------------------------------------- */

static const struct {
    const char *text, *said; /* NULL: the file is valid */
} files[] = {
    {"", NULL},
    {"# nothing\n\n   \n", NULL},
    {"a train 2026-01-31T12:00:00Z * " HASH "\n", NULL},
    {"a train 2026-01-31T12:00:00Z * " HASH, NULL},
    {"\ta\ttrain  2026 *  " HASH " \r\n", NULL},
    {"a train 2026 *\n", "fuzz:1: a line must be"},
    {"\n\na train 2026 * " HASH " more\n", "fuzz:3: a line must be"},
    {"a/b train 2026 * " HASH "\n", "fuzz:1: a name"},
    {"a boss 2026 * " HASH "\n", "the role must be"},
    {"a Train 2026 * " HASH "\n", "the role must be"},
    {"a train today * " HASH "\n", "must be a date"},
    {"a train 2026 a/b " HASH "\n", "patterns of models"},
    {"a train 2026 * a-token-0123456789\n", "must be sha256:"},
    {"a train 2026 * " HASH "0\n", "must be sha256:"},
    {"a train 2026 * sha256:ba78\n", "must be sha256:"},
    {"a train 2026 * " HASH "\na admin 2026 * " HASH "\n", "fuzz:2: another token has this name"},
};

START_TEST(each_file_is_read_or_refused)
{
    struct nb_tokens tokens = {.all = NULL};
    struct nb_error error = {0};
    int rc = nb_token_file_parse(nb_string_of(files[_i].text), "fuzz", &tokens, &error);
    if (files[_i].said == NULL)
        ck_assert_msg(rc == 0, "%s", error.text);
    else
        ck_assert_msg(rc == NB_INVALID && strstr(error.text, files[_i].said) != NULL, "%s",
                      error.text);
    ck_assert_ptr_null(strstr(error.text, "0123456789")); /* never a token itself */
    nb_tokens_deinit(&tokens);
}
END_TEST

START_TEST(a_file_has_a_limit)
{
    struct nb_buffer text = {0};
    struct nb_tokens tokens = {.all = NULL};
    struct nb_error error = {0};
    for (int i = 0; i < NB_TOKEN_FILE_MOST; i++)
        nb_buffer_printf(&text, "t%d train 2026 * " HASH "\n", i);
    ck_assert_int_eq(
        nb_token_file_parse((struct nb_string){text.bytes, text.length}, "f", &tokens, &error), 0);
    nb_tokens_deinit(&tokens);
    nb_buffer_puts(&text, "more train 2026 * " HASH "\n");
    ck_assert_int_eq(
        nb_token_file_parse((struct nb_string){text.bytes, text.length}, "f", &tokens, &error),
        NB_INVALID);
    nb_tokens_deinit(&tokens);
    nb_buffer_deinit(&text);
}
END_TEST

/* ---- changing the file ----------------------------------------------------------------------- */

static char folder[] = "/tmp/bayesd-test-XXXXXX";
static char path[sizeof folder + 16];

static void make_folder(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tokens", folder);
}

static void remove_folder(void)
{
    char part[sizeof path + 8];
    snprintf(part, sizeof part, "%s.part", path);
    unlink(part);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* the folder has no other files */
}

static int add_one(void *user, struct nb_tokens *tokens, struct nb_error *error)
{
    struct nb_token token = {.role = NB_ROLE_TRAIN, .models = "*", .created = "2026"};
    snprintf(token.name, sizeof token.name, "%s", (const char *)user);
    return nb_tokens_add(tokens, &token, error);
}

static int refuse_it(void *user, struct nb_tokens *tokens, struct nb_error *error)
{
    add_one(user, tokens, error);
    return nb_error_set(error, NB_EXISTS, "no");
}

static size_t names_in_file(void)
{
    struct nb_tokens tokens = {.all = NULL};
    struct nb_error error = {0};
    ck_assert_msg(nb_token_file_read(path, &tokens, &error) == 0, "%s", error.text);
    size_t count = tokens.count;
    nb_tokens_deinit(&tokens);
    return count;
}

START_TEST(a_file_is_changed_whole_or_not_at_all)
{
    struct nb_error error = {0};
    struct stat status;
    make_folder();
    umask(0);
    ck_assert_int_eq(nb_token_file_update(path, refuse_it, (char[]){"a"}, &error), NB_EXISTS);
    ck_assert_int_ne(access(path, F_OK), 0);
    for (char name[2] = "a"; name[0] < 'e'; name[0]++)
        ck_assert_msg(nb_token_file_update(path, add_one, name, &error) == 0, "%s", error.text);
    ck_assert_uint_eq(names_in_file(), 4);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(nb_token_file_update(path, refuse_it, (char[]){"x"}, &error), NB_EXISTS);
    ck_assert_uint_eq(names_in_file(), 4);
    remove_folder();
}
END_TEST

START_TEST(a_file_with_a_mistake_is_not_changed)
{
    static const char TEXT[] = "nonsense\n";
    struct nb_error error = {0};
    char got[64];
    make_folder();
    FILE *file = fopen(path, "w");
    fputs(TEXT, file);
    fclose(file);
    ck_assert_int_eq(nb_token_file_update(path, add_one, (char[]){"a"}, &error), NB_INVALID);
    file = fopen(path, "r");
    ck_assert_str_eq(fgets(got, sizeof got, file), TEXT);
    fclose(file);
    remove_folder();
}
END_TEST

/* A file that a killed process left behind is replaced; if it is a link, it is not followed. */
START_TEST(what_is_left_behind_is_replaced)
{
    char part[sizeof path + 8], victim[sizeof path + 8];
    struct nb_error error = {0};
    make_folder();
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(victim, sizeof victim, "%s/victim", folder);
    ck_assert_int_eq(symlink(victim, part), 0);
    ck_assert_msg(nb_token_file_update(path, add_one, (char[]){"a"}, &error) == 0, "%s",
                  error.text);
    ck_assert_int_ne(access(victim, F_OK), 0);
    ck_assert_uint_eq(names_in_file(), 1);
    remove_folder();
}
END_TEST

START_TEST(folders_that_are_not_there)
{
    struct nb_error error = {0};
    ck_assert_int_eq(nb_token_file_update("/no/such/folder/tokens", add_one, (char[]){"a"}, &error),
                     NB_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/no/such/folder"));
}
END_TEST

START_TEST(new_tokens_are_all_different)
{
    struct nb_token one = {.role = NB_ROLE_TRAIN}, other = one, read = one;
    char text[NB_TOKEN_TEXT], text_other[NB_TOKEN_TEXT];
    nb_token_make(&one, text);
    nb_token_make(&other, text_other);
    ck_assert_str_ne(text, text_other);
    ck_assert_uint_ge(strlen(text), 43); /* 256 bits in base64 */
    ck_assert(nb_token_read_hash(nb_string_of(text), &read));
    ck_assert_mem_eq(read.hash, one.hash, sizeof one.hash);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tokens");
    TCase *tests = tcase_create("tokens");
    tcase_add_loop_test(tests, each_pattern_matches_its_names, 0, COUNT(matching));
    tcase_add_test(tests, many_stars_take_no_time);
    tcase_add_test(tests, what_is_a_pattern);
    tcase_add_loop_test(tests, each_file_is_read_or_refused, 0, COUNT(files));
    tcase_add_test(tests, a_file_has_a_limit);
    tcase_add_test(tests, a_file_is_changed_whole_or_not_at_all);
    tcase_add_test(tests, a_file_with_a_mistake_is_not_changed);
    tcase_add_test(tests, what_is_left_behind_is_replaced);
    tcase_add_test(tests, folders_that_are_not_there);
    tcase_add_test(tests, new_tokens_are_all_different);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
