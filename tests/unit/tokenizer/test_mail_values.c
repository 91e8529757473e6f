/* SPDX-License-Identifier: Apache-2.0
 *
 * The values that a mail's own server knows, from the header fields and from the envelope.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "tests/unit/run.h"
#include "tokenizer/document.h"

#define OWN "Received: from mail.foo.example (dsl-7.foo.example [203.0.113.7])\r\n"
#define BY "\tby MX.example.org (Postfix) with ESMTP id 4XyZ\r\n"
#define FOR "\tfor <Bob@example.org>; Mon, 2 Nov 2026 10:00:00 +0000\r\n"
#define OTHERS "Received: from pc ([198.51.100.9]) by mail.foo.example; Mon, 2 Nov 2026\r\n"
#define RESULTS "Authentication-Results: mx.example.org; "

static struct nb_key key;

static void set_up(void)
{
    const unsigned char bytes[NB_KEY_BYTES] = {7};
    nb_key_restore(&key, bytes);
    ck_assert_int_eq(nb_tokenizer_setup(NULL), 0);
}

static void tear_down(void)
{
    nb_tokenizer_teardown();
}

/* The features of values, each behind a blank. */
static void values_of(const struct nb_document *mail, struct nb_attributes attributes,
                      const char *server, struct nb_buffer *out)
{
    struct nb_bag bag = {0};
    const struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    const struct nb_tokenizer_settings settings = {
        .fields = 1u << NB_FIELD_BODY, .attributes = attributes, .mail_server = server};
    ck_assert_int_eq(nb_document_tokenize(mail, &key, &settings, &limits, &bag), 0);
    out->length = 0;
    for (size_t i = 0; i < bag.size; i++) {
        if (nb_feature_field(bag.features[i].id) != NB_FIELD_VALUE)
            continue;
        nb_buffer_puts(out, " ");
        nb_buffer_append(out, bag.texts[i].bytes, bag.texts[i].length);
    }
    nb_buffer_append(out, "", 1);
    nb_bag_deinit(&bag);
}

static const struct nb_attribute all[] = {
    {(char[]){"spf"}, NB_FIELD_KIND_CATEGORY},      {(char[]){"dkim"}, NB_FIELD_KIND_CATEGORY},
    {(char[]){"dmarc"}, NB_FIELD_KIND_CATEGORY},    {(char[]){"client"}, NB_FIELD_KIND_CATEGORY},
    {(char[]){"helo"}, NB_FIELD_KIND_CATEGORY},     {(char[]){"sender"}, NB_FIELD_KIND_CATEGORY},
    {(char[]){"recipient"}, NB_FIELD_KIND_CATEGORY}};
static const struct nb_attributes seven = {all, 7, false};

static struct nb_document mail_of(const char *header)
{
    return (struct nb_document){
        .kind = NB_DOCUMENT_MAIL, .bytes = header, .length = strlen(header)};
}

/* In the order of nb_mail_value_names. */
static const struct {
    const char *header, *values;
} STORED[] = {
    {"Subject: hi\r\n", ""},
    {"Return-Path: <Ann@Foo.example>\r\n" OWN BY FOR OTHERS,
     " client=203.0.113.0/24 helo=mail.foo.example sender=foo.example recipient=bob@example.org"},
    {"Return-Path: <>\r\n" OWN BY OTHERS, " client=203.0.113.0/24 helo=mail.foo.example sender=<>"},
    /* Filters and delivery of the machine itself stand above; so may another machine's. */
    {"Received: from imap ([10.0.0.2]) by imap.example.org with LMTP\r\n"
     "Received: from localhost (localhost [127.0.0.1]) by mx.example.org (amavis)\r\n"
     "Received: by mx.example.org (Postfix, from userid 1000)\r\n" OWN BY,
     " client=203.0.113.0/24 helo=mail.foo.example"},
    /* Exim, with and without a name of the client's address; a literal of IPv6. */
    {"Received: from [203.0.113.7] (helo=Foo.example)\r\n\tby mx.example.org with smtp (Exim)\r\n",
     " client=203.0.113.0/24 helo=foo.example"},
    {"Received: from h.example ([2001:db8:1:2::7] helo=foo)\r\n\tby mx.example.org with esmtp\r\n",
     " client=2001:db8:1::/48 helo=foo"},
    {"Received: from foo (h.example [IPv6:2001:db8:1:2::7]) by mx.example.org\r\n",
     " client=2001:db8:1::/48 helo=foo"},
    /* Fields of others, and those below the first of them. */
    {OTHERS, ""},
    {"Received: from a (b [203.0.113.7]) by mx.example.org.evil.example\r\n", ""},
    {OWN BY OTHERS RESULTS "spf=pass; dkim=pass; dmarc=pass\r\n",
     " client=203.0.113.0/24 helo=mail.foo.example"},
    {OWN BY "Received: from x (y [192.0.2.1]) by mx.example.org\r\n" RESULTS "dmarc=pass\r\n",
     " client=203.0.113.0/24 helo=mail.foo.example"},
    {"Authentication-Results: mx.foo.example; spf=pass\r\n", ""},
    {"Authentication-Results: example.org; spf=pass\r\n", ""},
    {RESULTS "spf=fail; dkim=fail\r\n" RESULTS "dkim=pass; dmarc=fail\r\n" OTHERS,
     " spf=fail dkim=fail dmarc=fail"},
    /* The grammar of RFC 8601, 2.2. */
    {RESULTS "none\r\n", ""},
    {RESULTS "spf=Pass smtp.mailfrom=foo.example; dkim=none; dmarc=pass\r\n",
     " spf=pass dkim=none dmarc=pass"},
    {"Authentication-Results: (a (b\\)) c) mx.example.org (dkim=pass) 1;\r\n"
     "\tdkim/1 = fail reason=\"bad; dkim=pass\" header.d=a (spf=pass;) ; spf=softfail\r\n",
     " spf=softfail dkim=fail"},
    {RESULTS "dkim=fail header.d=a; dkim=pass header.d=b; dkim=neutral\r\n", " dkim=pass"},
    {RESULTS "spf=; dkim; =pass; dmarc=12; iprev=pass;;;\r\n", ""},
    {RESULTS "spf==pass; dkim=(\r\n", ""},
    {"Authentication-Results:\r\nAuthentication-Results: ;spf=pass\r\n", ""},
    /* RFC 7208, 9.1. */
    {"Received-SPF: Fail (no) receiver=mx.example.org; client-ip=203.0.113.7\r\n", " spf=fail"},
    {"Received-SPF: pass (mx.example.org: good) client-ip=1.2.3.4; receiver=other.example;\r\n",
     ""},
    {"Received-SPF: pass\r\n", ""},
    {"Received-SPF: fail receiver=mx.example.org\r\nReceived-SPF: pass receiver=mx.example.org\r\n",
     " spf=fail"},
};

START_TEST(the_header_of_a_stored_mail)
{
    struct nb_buffer got = {0};
    const struct nb_document mail = mail_of(STORED[_i].header);
    values_of(&mail, seven, "mx.example.org", &got);
    ck_assert_msg(strcmp(got.bytes, STORED[_i].values) == 0, "%s gives%s", STORED[_i].header,
                  got.bytes);
    nb_buffer_deinit(&got);
}
END_TEST

static struct nb_string str(const char *text)
{
    return nb_string_of(text);
}

static const struct {
    const char *address, *helo, *sender, *recipient, *header, *values;
} ASKED[] = {
    {"203.0.113.7", "mail.foo.example", "<ann@foo.example>", "<bob@example.org>", "",
     " client=203.0.113.0/24 helo=mail.foo.example sender=foo.example recipient=bob@example.org"},
    {"[2001:db8:1:2::7]:25", " Foo ", "ann@FOO.example", "", "",
     " client=2001:db8:1::/48 helo=foo sender=foo.example"},
    {"203.0.113.7:42136", "a b", "<>", "", "", " client=203.0.113.0/24 sender=<>"},
    {"::ffff:203.0.113.7", "", "postmaster", "", "", " client=203.0.113.0/24"},
    {"127.0.0.1", "localhost", "", "", "", ""},
    {"::1", "localhost", "", "", "", ""},
    {"999.0.0.1", "foo", "", "", "", ""},
    /* What the sender wrote: the own field is not there yet, or stands above it. */
    {"203.0.113.7", "foo", "", "", "Received: from a (b [192.0.2.1]) by mx.example.org\r\n",
     " client=203.0.113.0/24 helo=foo"},
    {"203.0.113.7", "foo", "<a@b>", "", "Return-Path: <c@d>\r\n",
     " client=203.0.113.0/24 helo=foo sender=b"},
    {"203.0.113.7", "foo", "", "", OTHERS RESULTS "spf=pass\r\n",
     " client=203.0.113.0/24 helo=foo"},
    {"203.0.113.7", "foo", "", "", RESULTS "spf=fail\r\n" OTHERS RESULTS "dkim=pass\r\n",
     " spf=fail client=203.0.113.0/24 helo=foo"},
    {"203.0.113.7", "foo", "", "", OWN BY RESULTS "spf=fail\r\n" OTHERS,
     " spf=fail client=203.0.113.0/24 helo=foo"},
};

START_TEST(the_envelope_of_a_mail_on_its_way)
{
    struct nb_buffer got = {0};
    struct nb_document mail = mail_of(ASKED[_i].header);
    mail.envelope = (struct nb_envelope){.address = str(ASKED[_i].address),
                                         .helo = str(ASKED[_i].helo),
                                         .sender = str(ASKED[_i].sender),
                                         .recipient = str(ASKED[_i].recipient)};
    values_of(&mail, seven, "mx.example.org", &got);
    ck_assert_msg(strcmp(got.bytes, ASKED[_i].values) == 0, "%s gives%s", ASKED[_i].header,
                  got.bytes);
    nb_buffer_deinit(&got);
}
END_TEST

/* A field of another kind takes none, one that the document has a value of keeps that, and without
 * a server's name, or in a text, there is none. */
START_TEST(the_settings_say_which)
{
    const struct nb_attribute some[] = {{(char[]){"client"}, NB_FIELD_KIND_TEXT},
                                        {(char[]){"sender"}, NB_FIELD_KIND_CATEGORY},
                                        {(char[]){"helo"}, NB_FIELD_KIND_CATEGORY}};
    const struct nb_attributes three = {some, 3, false};
    const struct nb_string own = {"mine", 4};
    const struct nb_value value = {{"sender", 6}, false, &own, 1, NB_VALUE_TEXT};
    struct nb_buffer got = {0};
    struct nb_document mail = mail_of("Return-Path: <a@b>\r\n" OWN BY "\r\nhi");
    values_of(&mail, three, "mx.example.org", &got);
    ck_assert_str_eq(got.bytes, " helo=mail.foo.example sender=b");
    mail.values = (struct nb_values){&value, 1};
    values_of(&mail, three, "mx.example.org", &got);
    ck_assert_str_eq(got.bytes, " helo=mail.foo.example sender=mine");
    mail.values.count = 0;
    values_of(&mail, three, NULL, &got);
    ck_assert_str_eq(got.bytes, "");
    values_of(&mail, (struct nb_attributes){NULL, 0, true}, "mx.example.org", &got);
    ck_assert_str_eq(got.bytes, "");
    mail.kind = NB_DOCUMENT_TEXT;
    values_of(&mail, three, "mx.example.org", &got);
    ck_assert_str_eq(got.bytes, "");
    nb_buffer_deinit(&got);
}
END_TEST

/* A name that is longer than a category may be is none. */
START_TEST(long_names_are_no_values)
{
    struct nb_buffer got = {0};
    char name[NB_CATEGORY_MOST + 2];
    struct nb_document mail = mail_of("");
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    mail.envelope.address = str("203.0.113.7");
    mail.envelope.helo = str(name);
    values_of(&mail, seven, "mx.example.org", &got);
    ck_assert_str_eq(got.bytes, " client=203.0.113.0/24");
    mail.envelope.helo.length = NB_CATEGORY_MOST;
    values_of(&mail, seven, "mx.example.org", &got);
    ck_assert_uint_eq(got.length, strlen(" client=203.0.113.0/24 helo=") + NB_CATEGORY_MOST + 1);
    nb_buffer_deinit(&got);
}
END_TEST

/* The nested message and the body are not the mail's header. */
START_TEST(only_the_header_of_the_mail)
{
    struct nb_buffer got = {0};
    const struct nb_document mail =
        mail_of("Content-Type: message/rfc822\r\n\r\n" OWN BY RESULTS "spf=pass\r\n\r\nhi\r\n");
    values_of(&mail, seven, "mx.example.org", &got);
    ck_assert_str_eq(got.bytes, "");
    nb_buffer_deinit(&got);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mail_values");
    TCase *tests = tcase_create("mail_values");
    tcase_add_unchecked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, the_header_of_a_stored_mail, 0, sizeof STORED / sizeof *STORED);
    tcase_add_loop_test(tests, the_envelope_of_a_mail_on_its_way, 0, sizeof ASKED / sizeof *ASKED);
    tcase_add_test(tests, the_settings_say_which);
    tcase_add_test(tests, long_names_are_no_values);
    tcase_add_test(tests, only_the_header_of_the_mail);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
