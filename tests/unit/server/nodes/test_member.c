/* SPDX-License-Identifier: Apache-2.0
 *
 * What nodes tell of themselves, and which changes nobody needs any more.
 */
#include <check.h>
#include <string.h>

#include "server/nodes/member.h"

START_TEST(reads_what_it_has_written)
{
    const struct nb_member told = {
        .streams = 3,
        .places = {{UINT64_MAX, {7, UINT64_MAX}, {0, 0}}, {0, {0, 0}, {0, 0}}, {9, {8, 1}, {0, 0}}},
        .tokenizer = 12,
        .apply = UINT32_MAX,
        .kinds = 5,
        .url = "https://mail1:8764",
        .version = "1.2.3"};
    const size_t of_older_nodes = 1 + 10 + 1 + 5 + 1;
    const size_t of_one_stream = of_older_nodes + 1 + 18 + 1 + 5 + 1 + 8;
    struct nb_member read = {.heard = 7};
    struct nb_buffer written = {0};
    ck_assert_int_eq(nb_member_write(&told, &written), 0);
    ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
    ck_assert_uint_eq(read.streams, 3);
    ck_assert(nb_member_applied(&read) == UINT64_MAX + UINT64_C(9));
    ck_assert(read.places[2].applied == 9 && read.places[2].told.position == 8);
    ck_assert_uint_eq(read.tokenizer, 12);
    ck_assert_uint_eq(read.apply, UINT32_MAX);
    ck_assert_uint_eq(read.kinds, 5);
    ck_assert(read.heard == 7);
    ck_assert_str_eq(read.url, told.url);
    ck_assert_str_eq(read.version, told.version);
    ck_assert(read.places[0].told.position == 7 && read.places[0].told.chain == UINT64_MAX);
    for (size_t i = 0; i < written.length; i++)
        ck_assert((i == of_older_nodes || i == of_one_stream) ==
                  nb_member_read(&read, (struct nb_string){written.bytes, i}));
    /* Of a newer node, behind the patterns of its models, which are none. */
    ck_assert_int_eq(nb_buffer_append(&written, "\0more", 5), 0);
    ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
    written.bytes[0]++;
    ck_assert(!nb_member_read(&read, nb_buffer_string(&written)));
    nb_buffer_deinit(&written);
}
END_TEST

/* A node of one stream tells that there are no more, so that older ones read the word as well. */
START_TEST(tells_which_models_it_has)
{
    for (unsigned streams = 1; streams <= 3; streams++) {
        const struct nb_member told = {
            .streams = streams, .version = "1", .follow = "user-a*,shared"};
        struct nb_member read = {.heard = 0};
        struct nb_buffer written = {0};
        ck_assert_int_eq(nb_member_write(&told, &written), 0);
        ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
        ck_assert_uint_eq(read.streams, streams);
        ck_assert_str_eq(read.follow, "user-a*,shared");
        written.length -= 1 + strlen(told.follow);
        ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
        ck_assert_str_eq(read.follow, "");
        nb_buffer_deinit(&written);
    }
}
END_TEST

/* What it has learned stands behind all else; of a word that ends before it is unknown. */
START_TEST(tells_digests)
{
    for (unsigned streams = 1; streams <= 2; streams++) {
        struct nb_member told = {.streams = streams, .version = "1"};
        struct nb_member read = {.heard = 0};
        struct nb_buffer written = {0};
        told.places[streams - 1].digested = (struct nb_chained){300, UINT64_MAX - 1};
        ck_assert_int_eq(nb_member_write(&told, &written), 0);
        ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
        ck_assert_uint_eq(read.streams, streams);
        ck_assert_str_eq(read.follow, "");
        ck_assert_uint_eq(read.places[streams - 1].digested.position, 300);
        ck_assert(read.places[streams - 1].digested.chain == UINT64_MAX - 1);
        ck_assert(read.places[0].digested.position == (streams == 1 ? 300 : 0));
        written.length--;
        ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
        ck_assert_uint_eq(read.places[streams - 1].digested.position, 0);
        nb_buffer_deinit(&written);
    }
}
END_TEST

/* What others write is shown: of an address that is none, nothing is. */
START_TEST(passes_over_addresses_that_are_none)
{
    static const char *const urls[] = {"ftp://x",         "javascript:alert(1)", "http://a b",
                                       "https://\x1b[0m", "https://\xC3\xA4",    ""};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct nb_member told = {.streams = 1, .places = {{3, {7, 8}, {0, 0}}}, .version = "a\nb"},
                         read;
        struct nb_buffer written = {0};
        strcpy(told.url, urls[i]);
        ck_assert_int_eq(nb_member_write(&told, &written), 0);
        ck_assert(nb_member_read(&read, nb_buffer_string(&written)));
        ck_assert_str_eq(read.url, "");
        ck_assert_str_eq(read.version, "");
        ck_assert(read.streams == 1 && read.places[0].told.chain == 8);
        nb_buffer_deinit(&written);
    }
}
END_TEST

START_TEST(a_name_is_one_word_of_a_subject)
{
    char name[NB_MEMBER_NAME_MOST + 1];
    char longest[NB_MEMBER_NAME_MOST + 2];
    nb_member_name(name, nb_string_of("mail1.example_org-8763*>"));
    ck_assert_str_eq(name, "mail1-example_org-8763--");
    memset(longest, 'x', sizeof longest);
    nb_member_name(name, (struct nb_string){longest, sizeof longest});
    ck_assert_uint_eq(strlen(name), NB_MEMBER_NAME_MOST);
}
END_TEST

enum { NOW = 1000, KNOWN = 100, ALIVE = 10 };
#define MEMBER(name_, applied_, kinds_, heard_)                                                    \
    {                                                                                              \
        .name = name_, .streams = 2, .places = {{.applied = 7}, {.applied = (applied_)}},          \
        .kinds = (kinds_), .heard = (heard_)                                                       \
    }

static const struct {
    struct nb_member members[4];
    size_t count;
    uint64_t cut;
} cuts[] = {
    {{MEMBER("", 0, 8, 0)}, 0, 0},
    {{MEMBER("a", 9, 8, NOW)}, 1, 0},                         /* alone: nobody has its store */
    {{MEMBER("b", 9, 8, NOW), MEMBER("c", 9, 8, NOW)}, 2, 0}, /* without itself */
    {{MEMBER("a", 9, 8, NOW), MEMBER("b", 7, 8, NOW)}, 2, 6}, /* the slower one */
    {{MEMBER("a", 5, 8, NOW), MEMBER("b", 7, 8, NOW)}, 2, 4}, /* which may be itself */
    {{MEMBER("a", 5, 8, NOW - 999), MEMBER("b", 7, 8, NOW)}, 2, 4} /* however long ago */,
    {{MEMBER("a", 9, 8, NOW), MEMBER("b", 8, 8, NOW), MEMBER("c", 2, 8, NOW - KNOWN)}, 3, 1},
    {{MEMBER("a", 9, 8, NOW), MEMBER("b", 8, 8, NOW), MEMBER("c", 2, 8, NOW - KNOWN - 1)}, 3, 7},
    {{MEMBER("a", 9, 8, NOW), MEMBER("b", 8, 8, NOW - ALIVE)}, 2, 7},
    {{MEMBER("a", 9, 8, NOW), MEMBER("b", 8, 8, NOW - ALIVE - 1)}, 2, 0}, /* nobody is alive */
    {{MEMBER("a", 9, 8, NOW), MEMBER("b", 0, 8, NOW)}, 2, 0},
};

START_TEST(cuts_what_nobody_needs)
{
    const struct nb_member_ages ages = {NOW, KNOWN, ALIVE};
    ck_assert_msg(nb_members_cut(cuts[_i].members, cuts[_i].count, "a", &ages, 1) == cuts[_i].cut,
                  "case %d", _i);
}
END_TEST

START_TEST(finds_who_knows_the_least)
{
    const struct nb_member_ages ages = {NOW, KNOWN, ALIVE};
    const struct nb_member members[] = {MEMBER("a", 9, 3, NOW), MEMBER("b", 9, 2, NOW - KNOWN),
                                        MEMBER("c", 9, 1, NOW - KNOWN - 1)};
    ck_assert_ptr_null(nb_members_oldest(members, 0, &ages));
    ck_assert_ptr_eq(nb_members_oldest(members, 1, &ages), &members[0]);
    ck_assert_ptr_eq(nb_members_oldest(members, 3, &ages), &members[1]);
}
END_TEST

START_TEST(many_members_speak_less_often)
{
    const uint64_t second = 1000000000;
    ck_assert(nb_members_round(0) == 5 * second);
    ck_assert(nb_members_round(100) == 5 * second);
    ck_assert(nb_members_round(250) == 10 * second);
    ck_assert(nb_members_round(NB_MEMBERS_MOST) == 40 * second); /* less than makes one silent */
}
END_TEST

/* A digest is of one position: what was found holds until both have one of the same again. Of each
 * stream by itself, since digests of all streams are seldom of the same positions at once. */
START_TEST(nodes_have_learned_the_same)
{
    const struct nb_chained none = {0, 0}, first = {7, 1}, second = {9, 1}, other = {9, 2};
    for (int before = -1; before <= 1; before++) {
        ck_assert_int_eq(nb_member_same(first, none, before), -1);
        ck_assert_int_eq(nb_member_same(none, first, before), -1);
        ck_assert_int_eq(nb_member_same(first, second, before), before);
        ck_assert_int_eq(nb_member_same(second, other, before), 0);
        ck_assert_int_eq(nb_member_same(second, second, before), 1);
    }
    ck_assert_int_eq(nb_member_same_of_all((const int8_t[]){-1, -1}, 2), -1);
    ck_assert_int_eq(nb_member_same_of_all((const int8_t[]){-1, 1, -1}, 3), 1);
    ck_assert_int_eq(nb_member_same_of_all((const int8_t[]){1, 0, -1}, 3), 0);
    ck_assert_int_eq(nb_member_same_of_all((const int8_t[]){1, 0}, 1), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("member");
    TCase *tcase = tcase_create("member");
    tcase_add_test(tcase, reads_what_it_has_written);
    tcase_add_test(tcase, passes_over_addresses_that_are_none);
    tcase_add_test(tcase, tells_which_models_it_has);
    tcase_add_test(tcase, tells_digests);
    tcase_add_test(tcase, a_name_is_one_word_of_a_subject);
    tcase_add_loop_test(tcase, cuts_what_nobody_needs, 0, (int)(sizeof cuts / sizeof cuts[0]));
    tcase_add_test(tcase, finds_who_knows_the_least);
    tcase_add_test(tcase, many_members_speak_less_often);
    tcase_add_test(tcase, nodes_have_learned_the_same);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
