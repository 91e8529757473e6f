/* SPDX-License-Identifier: Apache-2.0
 *
 * Mails to tokens. Every folder of tests/fixtures/mail holds a mail, input.eml, and what it gives:
 * `expected`, the tokens of a model of body and subject, and, where it is there, `features`, what a
 * model of all fields gets besides. `test_mail --update` writes them anew, to be read before they
 * are committed.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/run.h"
#include "tests/unit/tokenizer/cpu_time.h"
#include "tokenizer/document.h"
#include "tokenizer/mail.h"
#include "tokenizer/mail_header.h"

#define FIXTURES "tests/fixtures/mail"

enum {
    TOKENS = 1u << NB_FIELD_BODY | 1u << NB_FIELD_SUBJECT,
    OTHERS = 1u << NB_FIELD_ADDRESS | 1u << NB_FIELD_RECEIVED | 1u << NB_FIELD_HEADER |
             1u << NB_FIELD_STRUCTURE | 1u << NB_FIELD_URL | 1u << NB_FIELD_HIDDEN,
    ALL = (1u << NB_FIELDS) - 1,
    MEGABYTE = 1 << 20
};

static struct nb_key key;
static struct nb_bag bag;
static struct nb_tokenizer_limits limits;

static void tokenize(const char *bytes, size_t length, uint32_t fields)
{
    struct nb_document mail = {.kind = NB_DOCUMENT_MAIL, .bytes = bytes, .length = length};
    struct nb_tokenizer_settings settings = {.fields = fields};
    ck_assert_int_eq(nb_document_tokenize(&mail, &key, &settings, &limits, &bag), 0);
}

static void tokenize_text(const char *mail, uint32_t fields)
{
    tokenize(mail, strlen(mail), fields);
}

/* Returns how often the bag has a feature. */
static uint32_t count(const char *text)
{
    for (size_t i = 0; i < bag.size; i++) {
        if (bag.texts[i].length == strlen(text) &&
            memcmp(bag.texts[i].bytes, text, strlen(text)) == 0)
            return bag.features[i].count;
    }
    return 0;
}

static void print_bag(struct nb_buffer *out)
{
    int rc = 0;
    out->length = 0;
    for (size_t i = 0; i < bag.size; i++) {
        rc |= nb_buffer_append(out, bag.texts[i].bytes, bag.texts[i].length);
        rc |= nb_buffer_puts(out, "\n");
    }
    ck_assert_int_eq(rc, 0);
}

/* ---- fixtures -------------------------------------------------------------------------------- */

static bool update;

static bool read_file(const char *folder, const char *name, struct nb_buffer *out)
{
    char path[512];
    char block[4096];
    size_t n;
    snprintf(path, sizeof path, FIXTURES "/%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    out->length = 0;
    if (file == NULL)
        return false;
    while ((n = fread(block, 1, sizeof block, file)) > 0)
        ck_assert_int_eq(nb_buffer_append(out, block, n), 0);
    fclose(file);
    return true;
}

static void write_file(const char *folder, const char *name, const struct nb_buffer *text)
{
    char path[512];
    snprintf(path, sizeof path, FIXTURES "/%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    if (text->length > 0)
        ck_assert_uint_eq(fwrite(text->bytes, 1, text->length, file), text->length);
    fclose(file);
}

static void compare(const char *folder, const char *name, const struct nb_buffer *mail,
                    uint32_t fields)
{
    struct nb_buffer expected = {0};
    struct nb_buffer got = {0};
    tokenize(mail->bytes, mail->length, fields);
    print_bag(&got);
    bool there = read_file(folder, name, &expected);
    if (update && (there || fields == TOKENS))
        write_file(folder, name, &got);
    else if (there || fields == TOKENS)
        ck_assert_msg(there && got.length == expected.length &&
                          (got.length == 0 || memcmp(got.bytes, expected.bytes, got.length) == 0),
                      "%s/%s: expected\n%.*s\ngot\n%.*s", folder, name, (int)expected.length,
                      expected.bytes, (int)got.length, got.bytes);
    nb_buffer_deinit(&expected);
    nb_buffer_deinit(&got);
}

START_TEST(test_fixtures)
{
    struct nb_buffer mail = {0};
    DIR *directory = opendir(FIXTURES);
    size_t cases = 0;
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        ck_assert(read_file(entry->d_name, "input.eml", &mail));
        compare(entry->d_name, "expected", &mail, TOKENS);
        compare(entry->d_name, "features", &mail, OTHERS);
        cases++;
    }
    closedir(directory);
    nb_buffer_deinit(&mail);
    ck_assert_uint_ge(cases, 30);
}
END_TEST

/* The name of a file is decoded from its charset. A long field that names UTF-7 is cut early. */
START_TEST(test_charset_of_a_file_name)
{
#define LONG                                                                                       \
    "; aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=b"
    static const struct {
        const char *field, *feature;
        uint32_t count;
    } cases[] = {
        {"filename*=iso-8859-1''caf%E9.exe", "file:café.exe", 1},
        {"filename=\"=?iso-8859-1?q?caf=E9.exe?=\"", "file:café.exe", 1},
        {"filename=\"=?iso-8859-1?b?Y2Fm6Q?=.exe\"", "file:café.exe", 1},
        {"filename=\"=?utf-8?b?YQ==?= =?utf-8?b?Yi5leGU=?=\"", "file:ab.exe", 1},
        {"x==?utf-8?b?YQ?; filename==?utf-8?b?Yi5leGU?=", "file:b.exe", 1},
        {"filename=\"=?utf-8?b?w6k=?= =?iso-8859-1?q?=E9?=.exe\"", "file:éé.exe", 1},
        {"filename==?; filename*=utf-8''=?utf-8?q?a?=.exe", "file:a", 0},
        {"filename=?=a.exe", "file:a.exe", 1},
        {"filename*=utf-7''+AGEAYgBj-.exe", "file:abc.exe", 1},
        {"filename=\"=?utf-7?q?+AGEAYgBj-.exe?=\"", "file:abc.exe", 1},
        {"x=utf-8" LONG LONG LONG LONG "; filename=a.exe", "file:a.exe", 1},
        {"x=utf-7" LONG LONG LONG LONG "; filename=a.exe", "file:a.exe", 0},
        {"x=UTF7" LONG LONG LONG LONG "; filename=a.exe", "file:a.exe", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_buffer mail = {0};
        ck_assert_int_eq(nb_buffer_printf(&mail,
                                          "Content-Type: application/x\n"
                                          "Content-Disposition: attachment; %s\n\nx\n",
                                          cases[i].field),
                         0);
        tokenize(mail.bytes, mail.length, ALL);
        ck_assert_msg(count(cases[i].feature) == cases[i].count, "case %zu: %s", i,
                      cases[i].feature);
        nb_buffer_deinit(&mail);
    }
}
END_TEST

/* The names of charset and boundary stay what they are. */
START_TEST(test_utf7_body)
{
    tokenize_text("Content-Type: multipart/mixed; boundary=\"utf-7'x\"\n\n--utf-7'x\n"
                  "Content-Type: text/plain; charset=unicode-1-1-utf-7\n\ncaf+AOk- +2AA-buy\n",
                  ALL);
    ck_assert_uint_eq(count("café"), 1);
    ck_assert_uint_eq(count("buy"), 1);
    ck_assert_uint_eq(count("mime:charset=unicode-1-1-utf-7"), 1);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

static void repeat(struct nb_buffer *out, const char *text, size_t times)
{
    int rc = 0;
    for (size_t i = 0; i < times; i++)
        rc |= nb_buffer_puts(out, text);
    ck_assert_int_eq(rc, 0); /* once: every assertion is a message to the parent process */
}

START_TEST(test_parts)
{
    struct nb_buffer mail = {0};
    repeat(&mail, "Content-Type: multipart/mixed; boundary=b\n\n", 1);
    repeat(&mail, "--b\n\nword\n", 10000);
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("word"), limits.mail_parts - 1); /* the multipart is one too */
    ck_assert(bag.truncated);
    limits.mail_parts = 20000;
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("word"), 10000);
    ck_assert(!bag.truncated);
    nb_buffer_deinit(&mail);
}
END_TEST

/* A mail that takes more work than it may is read up to there, every time up to the same place. */
START_TEST(test_work)
{
    struct nb_buffer mail = {0};
    struct nb_buffer first = {0};
    struct nb_buffer second = {0};
    repeat(&mail, "Content-Type: multipart/mixed; boundary=b\nSubject: early\n", 1);
    repeat(&mail, "X-A: =?big5?q?=a1?= =?euc-kr?q?=a1?=\n", 1000);
    repeat(&mail, "X-Last: last\n\n--b\n\nbottom\n", 1);
    tokenize(mail.bytes, mail.length, ALL);
    ck_assert(bag.truncated);
    ck_assert_uint_eq(count("subject:early"), 1);
    ck_assert_uint_eq(count("x-last:last"), 0);
    ck_assert_uint_eq(count("bottom"), 0);
    print_bag(&first);
    tokenize(mail.bytes, mail.length, ALL);
    print_bag(&second);
    ck_assert(first.length == second.length &&
              memcmp(first.bytes, second.bytes, first.length) == 0);
    limits.work = 0;
    tokenize(mail.bytes, mail.length, ALL);
    ck_assert(!bag.truncated);
    ck_assert_uint_eq(count("bottom"), 1);
    nb_buffer_deinit(&mail);
    nb_buffer_deinit(&first);
    nb_buffer_deinit(&second);
}
END_TEST

START_TEST(test_levels)
{
    struct nb_buffer mail = {0};
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(
            nb_buffer_printf(
                &mail, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n\nlevel%d\n--b%d\n",
                i, i, i, i),
            0);
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("level31"), 1);
    ck_assert_uint_eq(count("level32"), 0);
    ck_assert(bag.truncated);
    mail.length = 0;
    repeat(&mail, "Content-Type: message/rfc822\nSubject: again\n\n", 1000);
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("subject:again"), limits.mail_depth + 1);
    ck_assert(bag.truncated);
    nb_buffer_deinit(&mail);
}
END_TEST

/* A level that is closed gives its depth back. */
START_TEST(test_depth_is_given_back)
{
    struct nb_buffer mail = {0};
    limits.mail_depth = 2;
    repeat(&mail, "Content-Type: multipart/mixed; boundary=a\n\n", 1);
    repeat(&mail, "--a\nContent-Type: message/rfc822\n\nSubject: s\n\nword\n", 50);
    repeat(&mail, "--a\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\nword\n--c--\n", 50);
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("word"), 100);
    ck_assert_uint_eq(count("subject:s"), 50);
    ck_assert(!bag.truncated);
    nb_buffer_deinit(&mail);
}
END_TEST

/* A message that is encoded as a whole is opened, in one that is, and so on four times. */
START_TEST(test_encoded_levels)
{
    for (size_t levels = 0; levels < 7; levels++) {
        struct nb_buffer mail = {0};
        repeat(&mail,
               "Content-Type: message/rfc822\nContent-Transfer-Encoding: quoted-printable\n\n",
               levels);
        repeat(&mail, "Subject: innermost\n\nword\n", 1);
        tokenize(mail.bytes, mail.length, TOKENS);
        ck_assert_uint_eq(count("subject:innermost"), levels <= 4);
        ck_assert_int_eq(bag.truncated, levels > 4);
        nb_buffer_deinit(&mail);
    }
}
END_TEST

START_TEST(test_large_mail)
{
    struct nb_buffer mail = {0};
    limits.mail_bytes = 10000;
    repeat(&mail, "Subject: large\n\nhead\n", 1);
    repeat(&mail, "middle of nothing\n", 5000);
    repeat(&mail, "tail\n", 1);
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("subject:large"), 1);
    ck_assert_uint_eq(count("head"), 1);
    ck_assert_uint_eq(count("tail"), 1);
    ck_assert_uint_gt(count("middle"), 500);
    ck_assert_uint_lt(count("middle"), 10000 / 18);
    ck_assert_uint_eq(count("middle"), count("nothing")); /* cut between lines */
    ck_assert(bag.truncated);
    for (limits.mail_bytes = 0; limits.mail_bytes < 100; limits.mail_bytes++) {
        tokenize(mail.bytes, mail.length, ALL);
        ck_assert(bag.truncated);
    }
    nb_buffer_deinit(&mail);
}
END_TEST

START_TEST(test_header_bytes)
{
    struct nb_buffer mail = {0};
    repeat(&mail, "Subject: once\n", 1);
    repeat(&mail, "X-Filler: nothing at all\n", 1000);
    repeat(&mail, "Subject: late\n\nbody\n", 1);
    limits.header_bytes = 5000;
    tokenize(mail.bytes, mail.length, TOKENS);
    ck_assert_uint_eq(count("subject:once"), 1);
    ck_assert_uint_eq(count("subject:late"), 0);
    ck_assert_uint_eq(count("body"), 1);
    ck_assert(bag.truncated);
    nb_buffer_deinit(&mail);
}
END_TEST

START_TEST(test_budget)
{
    limits.tokens = 3;
    tokenize_text("Subject: one two\n\nthree four", ALL);
    ck_assert_uint_eq(bag.size, 3);
    ck_assert(bag.truncated);
}
END_TEST

/* ---- fields ---------------------------------------------------------------------------------- */

/* A mail has the same features with the line ends of files and with those of the wire: of the text
 * that is cut into n-grams as many characters count, and its size is the same power of two. */
START_TEST(test_line_ends)
{
    struct nb_buffer mail = {0}, wire = {0}, text = {0};
    ck_assert_int_eq(nb_buffer_puts(&mail, "Subject: line ends\nContent-Type: text/plain\n\n"), 0);
    for (unsigned i = 0; mail.length < 4000; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "line %u of a long mail \r with\n", i * 7919 % 1009);
        ck_assert_int_eq(nb_buffer_puts(&mail, line), 0);
    }
    for (size_t i = 0; i < mail.length; i++) {
        if (mail.bytes[i] == '\n')
            ck_assert_int_eq(nb_buffer_append(&wire, "\r", 1), 0);
        ck_assert_int_eq(nb_buffer_append(&wire, mail.bytes + i, 1), 0);
    }
    ck_assert(mail.length < 4096 && wire.length > 4096);
    tokenize(mail.bytes, mail.length, ALL);
    print_bag(&text);
    nb_buffer_deinit(&mail);
    tokenize(wire.bytes, wire.length, ALL);
    print_bag(&mail);
    ck_assert_uint_eq(text.length, mail.length);
    ck_assert_int_eq(memcmp(text.bytes, mail.bytes, text.length), 0);
    nb_buffer_deinit(&mail);
    nb_buffer_deinit(&wire);
    nb_buffer_deinit(&text);
}
END_TEST

static const char everything[] =
    "Received: from a.example.com by b.example.com; now\nFrom: Ann <ann@example.org>\n"
    "X-Mailer: m\nSubject: s\nContent-Type: text/html\n\n"
    "<a href=http://example.net/>body</a><i hidden>gone</i>";

START_TEST(test_fields_are_switches)
{
    static const struct {
        enum nb_field field;
        const char *feature;
    } cases[] = {{NB_FIELD_BODY, "body"},
                 {NB_FIELD_SUBJECT, "subject:s"},
                 {NB_FIELD_ADDRESS, "from:ann@example.org"},
                 {NB_FIELD_RECEIVED, "received:a.example.com"},
                 {NB_FIELD_HEADER, "x-mailer:m"},
                 {NB_FIELD_STRUCTURE, "html:a.href"},
                 {NB_FIELD_URL, "url:example.net"},
                 {NB_FIELD_HIDDEN, "hidden:gone"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tokenize_text(everything, 1u << cases[i].field);
        ck_assert_msg(count(cases[i].feature) == 1, "case %zu: %s missing", i, cases[i].feature);
        for (size_t j = 0; j < bag.size; j++)
            ck_assert_int_eq(nb_feature_field(bag.features[j].id), cases[i].field);
        tokenize_text(everything, ALL & ~(1u << cases[i].field));
        ck_assert_msg(count(cases[i].feature) == 0, "case %zu: %s there", i, cases[i].feature);
    }
}
END_TEST

/* The same words whatever the other fields are. */
START_TEST(test_tokens_do_not_depend_on_other_fields)
{
    struct nb_buffer alone = {0};
    struct nb_buffer among = {0};
    tokenize_text(everything, TOKENS);
    print_bag(&alone);
    tokenize_text(everything, ALL);
    for (size_t i = 0; i < bag.size; i++) {
        enum nb_field field = nb_feature_field(bag.features[i].id);
        if (field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT)
            ck_assert_int_eq(
                nb_buffer_printf(&among, "%.*s\n", (int)bag.texts[i].length, bag.texts[i].bytes),
                0);
    }
    ck_assert_uint_eq(alone.length, among.length);
    ck_assert_mem_eq(alone.bytes, among.bytes, alone.length);
    nb_buffer_deinit(&alone);
    nb_buffer_deinit(&among);
}
END_TEST

START_TEST(test_ignored_headers)
{
    static const struct {
        const char *name;
        bool ignored;
    } cases[] = {{"X-Spam-Status", true},
                 {"x-spam-flag", true},
                 {"X-Bogosity", true},
                 {"X-Rspamd-Queue-Id", true},
                 {"X-Pyzor", true},
                 {"X-Virus-Scanned", true},
                 {"X-Amavis-Alert", true},
                 {"X-Bayesd-Verdict", true},
                 {"Authentication-Results", true},
                 {"ARC-Seal", true},
                 {"Status", true},
                 {"X-Status", true},
                 {"X-UID", true},
                 {"X-Keywords", true},
                 {"Lines", true},
                 {"Content-Length", true},
                 {"X-Envelope-From", true},
                 {"X-Envelope-To", true},
                 {"X-TM-AS-Product-Ver", true},
                 {"X-TMASE-Result", true},
                 {"X-KSE-AntiSpam-Info", true},
                 {"X-KLMS-Rule-ID", true},
                 {"X-ME-SpamScore", true},
                 {"X-Yahoo-Filtered-Bulk", true},
                 {"X-YahooFilteredBulk", true},
                 {"X-Suspected-Spam", true},
                 {"X-Stalwart-Report", true},
                 {"X-Apple-MoveToFolder", true},
                 {"X-Apple-Action", true},
                 {"X-CLX-Score", true},
                 {"X-MS-Exchange-Organization-SCL", true},
                 {"X-Forefront-Antispam-Report-Untrusted", true},
                 {"X-Microsoft-Antispam-Mailbox-Delivery", true},
                 {"X-Proofpoint-Virus-Version", true},
                 {"X-Mimecast-Spam-Score", true},
                 {"X-Sophos-SPXP", true},
                 {"IronPort-SDR", true},
                 {"X-GMX-Antispam", true},
                 {"X-OVH-SPAMCAUSE", true},
                 {"X-VR-SPAMSTATE", true},
                 {"X-CMAE-Analysis", true},
                 {"X-CNFS-Analysis", true},
                 {"X-Cloudmark-SP-Result", true},
                 {"X-Policyd-Weight", true},
                 {"X-Fuglu-Suspect", true},
                 {"X-Acme-MailScanner-From", true},
                 {"X-Acme-AntiVirus", true},
                 {"X-Coremail-Antispam", true},
                 {"X-PMX-Version", true},
                 {"X-FEAS-DKIM", true},
                 {"X-Priority", false},
                 {"X-Report-Abuse", false},
                 {"X-Campaign-ID", false},
                 {"X-Apple-Mail-Remote-Attachments", false},
                 {"X-MS-Has-Attach", false},
                 {"X-Yahoo-Newman-Property", false},
                 {"List-Unsubscribe", false},
                 {"Precedence", false},
                 {"X-Mailer", false},
                 {"Statuses", false},
                 {"X-UIDX", false},
                 {"Subject", false},
                 {"X", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_string name = {cases[i].name, strlen(cases[i].name)};
        ck_assert_msg(nb_mail_header_ignored(name) == cases[i].ignored, "case %zu: %s", i,
                      cases[i].name);
    }
}
END_TEST

/* ---- any bytes ------------------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13; /* xorshift, Marsaglia 2003 */
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Pieces of mails in any order: a bag comes out, the same one twice. */
START_TEST(test_random_mails)
{
    static const char *const pieces[] = {"Subject: ",
                                         "=?utf-8?q?a_b?= ",
                                         "\n",
                                         "\r\n",
                                         "\n\n",
                                         "Content-Type: multipart/mixed; ",
                                         "boundary=b",
                                         "boundary=\"",
                                         "--b",
                                         "--b--",
                                         "--",
                                         "text/html",
                                         "Content-Type: ",
                                         "<b>",
                                         "message/rfc822",
                                         "Content-Transfer-Encoding: base64\n",
                                         "YWJj",
                                         "=",
                                         "<!--",
                                         "-->",
                                         "&lt;",
                                         "<a href=\"http://x.example/\">",
                                         "\xff\xfe",
                                         "name*0*=utf-8''%C3",
                                         ";",
                                         ":",
                                         "From ",
                                         "Received: from a.b [1.2.3.4] ; x",
                                         "To: a@b.c",
                                         "style=\"display:none\"",
                                         " ",
                                         "word",
                                         "charset=utf-7",
                                         "quoted-printable",
                                         "=?iso-2022-jp?B?GyRC?=",
                                         "begin 644 x\n",
                                         "format=flowed; delsp=yes",
                                         "text/rtf",
                                         "text/enriched",
                                         "text/calendar",
                                         "application/octet-stream",
                                         "name=a.html",
                                         "name=a.eml",
                                         "{\\rtf1",
                                         "\\u955?",
                                         "\\'e9",
                                         "}",
                                         "<param>",
                                         "\\n",
                                         "\x1b$B"};
    struct nb_buffer first = {0};
    struct nb_buffer again = {0};
    struct nb_buffer mail = {0};
    const char *given = getenv("NB_SEED");
    seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 2 + 1;
    printf("random mails: NB_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < 3000; i++) {
        mail.length = 0;
        for (uint64_t n = next_random() % 60; n > 0; n--) {
            const char *piece = pieces[next_random() % (sizeof pieces / sizeof *pieces)];
            size_t cut = next_random() % 8 == 0 ? (size_t)(next_random() % (strlen(piece) + 1)) : 0;
            ck_assert_int_eq(nb_buffer_append(&mail, piece + cut, strlen(piece + cut) + (cut != 0)),
                             0);
        }
        tokenize(mail.bytes, mail.length, ALL);
        print_bag(&first);
        tokenize(mail.bytes, mail.length, ALL);
        print_bag(&again);
        ck_assert_uint_eq(first.length, again.length);
        ck_assert(first.length == 0 || memcmp(first.bytes, again.bytes, first.length) == 0);
    }
    nb_buffer_deinit(&first);
    nb_buffer_deinit(&again);
    nb_buffer_deinit(&mail);
}
END_TEST

static double seconds_for(struct nb_buffer *mail, const char *head, const char *unit, size_t size)
{
    mail->length = 0;
    repeat(mail, head, 1);
    repeat(mail, unit, size / strlen(unit));
    uint64_t begin = cpu_time();
    tokenize(mail->bytes, mail->length, ALL);
    return (double)(cpu_time() - begin) / 1e9;
}

/* Much of what would be slow for a parser that goes back. Sixteen times the size may take 64 times
 * as long, however busy the machine is; time that grows with the square would take 256. */
START_TEST(test_linear_time)
{
    static const struct {
        const char *head, *unit;
    } traps[] = {
        {"Subject: ", "=?utf-8?q?a?= "},
        {"Subject: ", "=?"},
        {"Subject: ", "=?utf-8?b?"},
        {"To: ", "a@b.c, "},
        {"To: ", "@"},
        {"To: ", "a."},
        {"References: ", "<a@b> "},
        {"", "Content-Type: message/rfc822\n\n"},
        {"", "X: y\n"},
        {"", "X: y\nno field\n"},
        {"", "Content-Disposition: a; b=c\n"},
        {"Content-Type: text/plain; ", "a=b; "},
        {"Content-Type: text/plain; ", "("},
        {"Content-Type: text/plain; name=", "=?utf-8?q?a?= "},
        {"Content-Type: multipart/mixed; boundary=b\n\n", "--b\n"},
        {"Content-Type: multipart/mixed; boundary=b\n\n", "--"},
        {"Content-Type: multipart/mixed; boundary=b\n\n", "--\n"},
        {"Content-Type: multipart/mixed; boundary=b\n\n--b\n",
         "Content-Type: multipart/mixed; boundary=c\n\n--c\n"},
        {"Content-Transfer-Encoding: base64\n\n", "="},
        {"Content-Transfer-Encoding: quoted-printable\n\n", "="},
        {"Content-Transfer-Encoding: base64\n\n", "YWJj\n"},
        {"Content-Transfer-Encoding: base64\n\n", "YWJj\nno * base64 at all\n"},
        {"Content-Transfer-Encoding: base64\n\n", "YWJjYWJjYWJjYWJj YWJj\n\n"},
        {"Content-Transfer-Encoding: quoted-printable\n\n", "=    "},
        {"Content-Transfer-Encoding: uuencode\n\n", "begin 644 x\n"},
        {"Content-Type: text/rtf\n\n", "{\\f1\\'e9"},
        {"Content-Type: text/rtf\n\n", "\\u1087?}"},
        {"Content-Type: text/rtf\n\n", "{\\field{\\*\\fldinst \"x\""},
        {"Content-Type: text/rtf\n\n", "\\fcharset"},
        {"Content-Type: text/rtf\n\n", "\xe9 "},
        {"Content-Type: text/enriched\n\n", "<"},
        {"Content-Type: text/enriched\n\n", "<param>"},
        {"Content-Type: text/calendar\n\n", "\n \\"},
        {"Content-Type: text/plain; format=flowed; delsp=yes\n\n", "> \n"},
        {"Content-Type: multipart/mixed; boundary=b\n\n",
         "--b\nContent-Type: application/x; name=a.html\n\n<a>"},
        {"Content-Type: multipart/mixed; boundary=b\n\n",
         "--b\nContent-Type: application/x\n\n<b>"},
        {"Content-Type: text/plain; name=", "=?utf-8?b?YQ?= "},
        {"Content-Type: text/html\n\n", "<a href=http://a.b.c.d/x/y>"},
        {"Content-Type: text/html\n\n<a ", "x=y "},
        {"Content-Type: text/html\n\n", "<x hidden>"},
    };
    struct nb_buffer mail = {0};
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++) {
        double small = seconds_for(&mail, traps[i].head, traps[i].unit, MEGABYTE / 16);
        double large = seconds_for(&mail, traps[i].head, traps[i].unit, MEGABYTE);
        ck_assert_msg(large < 64 * small + 0.05, "trap %zu: %.4f s, then %.4f s", i, small, large);
    }
    nb_buffer_deinit(&mail);
}
END_TEST

/* -------------------------------------------------------------------------------------------------
 */

static void reset_limits(void)
{
    limits = NB_TOKENIZER_LIMITS_DEFAULT;
}

static void setup(void)
{
    nb_key_restore(&key, (const unsigned char[NB_KEY_BYTES]){1});
    ck_assert_int_eq(nb_tokenizer_setup(NULL), 0);
}

static void teardown(void)
{
    nb_bag_deinit(&bag);
    nb_tokenizer_teardown();
}

int main(int argc, char **argv)
{
    update = argc > 1 && strcmp(argv[1], "--update") == 0;
    Suite *suite = suite_create("mail");
    TCase *tcase = tcase_create("mail");
    /* Once: the MIME library cannot be set up again after it was shut down in the same process. */
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_add_checked_fixture(tcase, reset_limits, NULL);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_fixtures);
    tcase_add_test(tcase, test_charset_of_a_file_name);
    tcase_add_test(tcase, test_utf7_body);
    tcase_add_test(tcase, test_parts);
    tcase_add_test(tcase, test_work);
    tcase_add_test(tcase, test_levels);
    tcase_add_test(tcase, test_depth_is_given_back);
    tcase_add_test(tcase, test_encoded_levels);
    tcase_add_test(tcase, test_large_mail);
    tcase_add_test(tcase, test_header_bytes);
    tcase_add_test(tcase, test_line_ends);
    tcase_add_test(tcase, test_budget);
    tcase_add_test(tcase, test_fields_are_switches);
    tcase_add_test(tcase, test_tokens_do_not_depend_on_other_fields);
    tcase_add_test(tcase, test_ignored_headers);
    tcase_add_test(tcase, test_random_mails);
    tcase_add_test(tcase, test_linear_time);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
