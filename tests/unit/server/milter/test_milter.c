/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of bayesd-milter that need no mail server: its command line, the mail put together from
 * its parts, the reply of bayesd. Mails and replies may be hostile.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/http/call/call.h"
#include "server/milter/command_line.h"
#include "server/milter/milter_ask.h"
#include "server/milter/milter_mail.h"
#include "tests/unit/run.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

/* ---- the command line ------------------------------------------------------------------------ */

/* `words` ends in NULL. */
static int read_words(const char *const *words, struct nb_milter_options *options,
                      struct nb_error *error)
{
    static char *argv[40];
    int argc = 0;
    for (char **old = argv; *old != NULL; old++)
        free(*old);
    argv[argc++] = strdup("bayesd-milter");
    for (; *words != NULL; words++)
        argv[argc++] = strdup(*words);
    argv[argc] = NULL;
    *error = (struct nb_error){0};
    return nb_milter_options_read(argc, argv, options, error);
}

#define READ(options, error, ...)                                                                  \
    read_words((const char *const[]){__VA_ARGS__, NULL}, options, error)

START_TEST(options_have_defaults)
{
    struct nb_milter_options options;
    struct nb_error error;
    ck_assert_int_eq(read_words((const char *const[]){NULL}, &options, &error), 0);
    ck_assert_int_eq(options.command, NB_MILTER_SERVE);
    ck_assert_str_eq(options.socket, "inet:8764@127.0.0.1");
    ck_assert_uint_eq(options.socket_mode, 0660);
    ck_assert_ptr_null(options.socket_group);
    ck_assert_ptr_null(options.pid_file);
    ck_assert_int_eq(options.on_reject, NB_MILTER_REJECT);
    ck_assert_int_eq(options.on_failure, NB_MILTER_ACCEPT);
    ck_assert_uint_eq(options.max_bytes, 4 << 20);
    ck_assert_uint_eq(options.max_connections, 1000);
    ck_assert(!options.skip_authenticated && !options.is_quiet);
    ck_assert_str_eq(options.target.url, "http://127.0.0.1:8763");
    ck_assert_uint_eq(options.target.timeout, 10);
    ck_assert_uint_eq(options.pause, 5);
    ck_assert(options.target.has_deadline);
    ck_assert_uint_eq(options.target.patience, 0);
}
END_TEST

START_TEST(options_are_read)
{
    struct nb_milter_options options;
    struct nb_error error;
    ck_assert_msg(READ(&options, &error, "--socket", "unix:/run/x", "--socket-mode=600",
                       "--socket-group", "mail", "--url", "unix:/run/bayesd", "--token-file", "/t",
                       "--ca-file", "/a", "--cert", "/c", "--key", "/k", "--timeout", "240",
                       "--pause", "0", "--max-bytes", "2m", "--max-connections", "7", "--on-reject",
                       "quarantine", "--on-failure", "tempfail", "--skip-authenticated",
                       "--pid-file", "/p", "--quiet") == 0,
                  "%s", error.text);
    ck_assert_str_eq(options.socket, "unix:/run/x");
    ck_assert_uint_eq(options.socket_mode, 0600);
    ck_assert_str_eq(options.socket_group, "mail");
    ck_assert_str_eq(options.target.url, "unix:/run/bayesd");
    ck_assert_str_eq(options.target.token_file, "/t");
    ck_assert_str_eq(options.target.ca_file, "/a");
    ck_assert_str_eq(options.target.certificate, "/c");
    ck_assert_str_eq(options.target.key, "/k");
    ck_assert_uint_eq(options.target.timeout, 240);
    ck_assert_uint_eq(options.pause, 0);
    ck_assert_uint_eq(options.max_bytes, 2 << 20);
    ck_assert_uint_eq(options.max_connections, 7);
    ck_assert_int_eq(options.on_reject, NB_MILTER_QUARANTINE);
    ck_assert_int_eq(options.on_failure, NB_MILTER_TEMPFAIL);
    ck_assert(options.skip_authenticated && options.is_quiet);
    ck_assert_str_eq(options.pid_file, "/p");
    ck_assert_int_eq(READ(&options, &error, "--version", "--help"), 0);
    ck_assert_int_eq(options.command, NB_MILTER_HELP);
    ck_assert_int_eq(READ(&options, &error, "--help", "--version"), 0);
    ck_assert_int_eq(options.command, NB_MILTER_HELP);
}
END_TEST

static const struct {
    const char *option, *value;
    bool is_right;
} values[] = {
    {"--socket", "inet:1@localhost", true},
    {"--socket", "inet:65535@127.0.0.1", true},
    {"--socket", "inet:8764@[127.255.255.254]", true},
    {"--socket", "inet:127.0.0.1:8764", true},
    {"--socket", "inet6:8764@::1", true},
    {"--socket", "inet6:[::1]:8764", true},
    {"--socket", "inet6:8764@LOCALHOST", true},
    {"--socket", "local:/x", true},
    {"--socket", "inet:8764", false}, /* would listen on all addresses */
    {"--socket", "inet:8764@", false},
    {"--socket", "inet:8764@0.0.0.0", false}, /* other machines reach these addresses */
    {"--socket", "inet:8764@192.0.2.1", false},
    {"--socket", "inet:8764@128.0.0.1", false},
    {"--socket", "inet:8764@127.1", false},
    {"--socket", "inet:8764@mx.example.net", false},
    {"--socket", "inet:8764@127.0.0.1.example.net", false},
    {"--socket", "inet6:8764@::", false},
    {"--socket", "inet6:8764@::ffff:127.0.0.1", false},
    {"--socket", "inet6:8764@127.0.0.1", false},
    {"--socket", "inet:8764@::1", false},
    {"--socket", "inet:8764@[127.0.0.1", false},
    {"--socket", "inet:0@localhost", false},
    {"--socket", "inet:65536@localhost", false},
    {"--socket", "inet:-1@localhost", false},
    {"--socket", "inet: 1@localhost", false},
    {"--socket", "inet:@localhost", false},
    {"--socket", "unix:x", false},
    {"--socket", "unix:", false},
    {"--socket", "/x", false},
    {"--socket", "", false},
    {"--socket-mode", "0", true},
    {"--socket-mode", "0777", true},
    {"--socket-mode", "1000", false},
    {"--socket-mode", "8", false},
    {"--socket-mode", "", false},
    {"--socket-mode", "-1", false},
    {"--url", "http://h", true},
    {"--url", "https://h:1/", true},
    {"--url", "unix:/x", true},
    {"--url", "http://", false},
    {"--url", "http:///x", false},
    {"--url", "unix:x", false},
    {"--url", "ftp://h", false},
    {"--url", "h:8763", false},
    {"--timeout", "1", true},
    {"--timeout", "0", false},
    {"--timeout", "241", false},
    {"--timeout", "10s", false},
    {"--timeout", " 10", false},
    {"--timeout", "+10", false},
    {"--timeout", "99999999999999999999999", false},
    {"--pause", "600", true},
    {"--pause", "601", false},
    {"--pause", "x", false},
    {"--max-connections", "1", true},
    {"--max-connections", "0", false},
    {"--max-connections", "10000", true},
    {"--max-connections", "10001", false},
    {"--max-bytes", "1024", true},
    {"--max-bytes", "1K", true},
    {"--max-bytes", "1024M", true},
    {"--max-bytes", "1025M", false},
    {"--max-bytes", "1023", false},
    {"--max-bytes", "1KK", false},
    {"--max-bytes", "M", false},
    {"--max-bytes", "18446744073709551615", false},
    {"--max-bytes", "18014398509481984K", false},
    {"--on-reject", "tag", true},
    {"--on-reject", "discard", true},
    {"--on-reject", "Reject", false},
    {"--on-reject", "", false},
    {"--on-failure", "accept", true},
    {"--on-failure", "reject", false},
};

START_TEST(values_are_checked)
{
    struct nb_milter_options options;
    struct nb_error error;
    int rc = READ(&options, &error, values[_i].option, values[_i].value);
    ck_assert_msg(rc == (values[_i].is_right ? 0 : NB_INVALID), "%s %s: %d %s", values[_i].option,
                  values[_i].value, rc, error.text);
    if (rc != 0)
        ck_assert_ptr_nonnull(strstr(error.text, values[_i].option));
}
END_TEST

static char *write_options(const char *text, size_t length)
{
    static char path[] = "/tmp/test_milter-XXXXXX";
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, text, length), (ssize_t)length);
    (void)close(file);
    return path;
}

START_TEST(a_file_has_options_too)
{
    static const char text[] =
        "# a = b\r\n\r\n url = http://a=b:1/ \nskip-authenticated\nquiet=no\n"
        "timeout\t=\t7\non-reject = tag";
    char *path = write_options(text, sizeof text - 1);
    struct nb_milter_options options;
    struct nb_error error;
    ck_assert_msg(READ(&options, &error, "--timeout", "8", "--config", path) == 0, "%s",
                  error.text);
    ck_assert_str_eq(options.file, path);
    ck_assert_str_eq(options.target.url, "http://a=b:1/");
    ck_assert(options.skip_authenticated && !options.is_quiet);
    ck_assert_uint_eq(options.target.timeout, 8); /* the command line overrides the file */
    ck_assert_int_eq(options.on_reject, NB_MILTER_TAG);
    nb_milter_options_deinit(&options);
    (void)unlink(path);
}
END_TEST

static const struct {
    const char *text;
    size_t length;
    const char *error;
} bad_files[] = {
    {"timeout = 1\n\ntimeout = 0\n", 25, ":3: --timeout '0': write 1 to 240"},
    {"timeout =\n", 10, ":1: 'timeout' needs a value"},
    {"version\n", 8, ":1: 'version' is not an option of a file"},
    {"--quiet\n", 8, ":1: '--quiet' is not an option of a file"},
    {"quiet = 1", 9, ":1: '1': write quiet = yes, or no"},
    {"quiet\0", 6, "NUL bytes"},
    {NULL, NB_OPTION_LINES_MOST + 1, "has over 65536 bytes"},
};

START_TEST(a_bad_file_is_refused)
{
    static char large[NB_OPTION_LINES_MOST + 1];
    memset(large, '#', sizeof large);
    char *path = write_options(bad_files[_i].text != NULL ? bad_files[_i].text : large,
                               bad_files[_i].length);
    struct nb_milter_options options;
    struct nb_error error;
    ck_assert_int_lt(READ(&options, &error, "--config", path), 0);
    ck_assert_msg(strstr(error.text, bad_files[_i].error) != NULL, "%s", error.text);
    (void)unlink(path);
}
END_TEST

START_TEST(what_is_not_an_option_is_named)
{
    struct nb_milter_options options;
    struct nb_error error;
    ck_assert_int_eq(READ(&options, &error, "--nonsense"), NB_INVALID);
    ck_assert_str_eq(error.text, "--nonsense is not an option");
    ck_assert_int_eq(READ(&options, &error, "-x"), NB_INVALID);
    ck_assert_str_eq(error.text, "-x is not an option");
    ck_assert_int_eq(READ(&options, &error, "word"), NB_INVALID);
    ck_assert_str_eq(error.text, "word is not an option");
    ck_assert_int_eq(READ(&options, &error, "--url"), NB_INVALID);
    ck_assert_str_eq(error.text, "--url needs a value");
}
END_TEST

START_TEST(help_fits_a_terminal)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    nb_milter_options_help(out);
    ck_assert_int_eq(fclose(out), 0);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        ck_assert_msg(strlen(line) <= 90, "%s", line);
    free(text);
}
END_TEST

/* ---- the mail -------------------------------------------------------------------------------- */

static struct nb_string message_of(const struct nb_milter_mail *mail)
{
    return (struct nb_string){mail->message.bytes, mail->message.length};
}

START_TEST(a_mail_is_put_together)
{
    struct nb_milter_mail mail = {.most = 1000};
    nb_milter_mail_field(&mail, "Subject", "two\n lines");
    nb_milter_mail_field(&mail, "From", "a@b");
    nb_milter_mail_field(&mail, "X-Empty", "");
    nb_milter_mail_header_end(&mail);
    ck_assert(nb_milter_mail_body(&mail, "hello\0\xFF", 7));
    static const char wanted[] =
        "Subject: two\r\n lines\r\nFrom: a@b\r\nX-Empty: \r\n\r\nhello\0\xFF";
    ck_assert_uint_eq(mail.message.length, sizeof wanted - 1);
    ck_assert_mem_eq(mail.message.bytes, wanted, sizeof wanted - 1);
    ck_assert_uint_eq(mail.header_size, sizeof wanted - 1 - 9);
    ck_assert(!mail.is_cut && !mail.is_broken);
    nb_milter_mail_reset(&mail);
    ck_assert_uint_eq(mail.message.length, 0);
    ck_assert_uint_eq(mail.header_size, 0);
}
END_TEST

static const struct {
    const char *value, *line;
} folds[] = {
    {"a\r\n b", "X: a\r\n b\r\n"},
    {"a\n\tb", "X: a\r\n\tb\r\n"},
    {"a\r b", "X: a\r\n b\r\n"},
    {"a\nBcc: x", "X: aBcc: x\r\n"},   /* would begin another field */
    {"a\r\n\r\nbody", "X: abody\r\n"}, /* would begin the body */
    {"a\n", "X: a\r\n"},
    {"\n", "X: \r\n"},
    {"\r\r\n\n", "X: \r\n"},
    {"a\n \n b", "X: a\r\n \r\n b\r\n"},
};

START_TEST(a_field_stays_one_field)
{
    struct nb_milter_mail mail = {.most = 1000};
    nb_milter_mail_field(&mail, "X", folds[_i].value);
    ck_assert_msg(nb_string_equals(message_of(&mail), folds[_i].line), "%.*s",
                  (int)mail.message.length, mail.message.bytes);
    nb_milter_mail_reset(&mail);
}
END_TEST

START_TEST(a_large_mail_is_cut)
{
    for (size_t most = 0; most < 40; most++) {
        struct nb_milter_mail mail = {.most = most};
        nb_milter_mail_field(&mail, "Subject", "a"); /* 12 bytes */
        nb_milter_mail_header_end(&mail);            /* 2 bytes */
        ck_assert(nb_milter_mail_body(&mail, "0123456789", 10) == (most >= 24));
        ck_assert(nb_milter_mail_body(&mail, "0123456789", 10) == (most >= 34));
        ck_assert_uint_eq(mail.message.length, most < 34 ? most : 34);
        ck_assert(mail.is_cut == (most < 34));
        ck_assert_uint_le(mail.header_size, mail.message.length);
        ck_assert_uint_eq(nb_milter_mail_count(&mail, "subject"), most >= 8 ? 1 : 0);
        nb_milter_mail_reset(&mail);
    }
}
END_TEST

START_TEST(fields_are_counted)
{
    struct nb_milter_mail mail = {.most = 1000};
    ck_assert_uint_eq(nb_milter_mail_count(&mail, "Subject"), 0);
    nb_milter_mail_field(&mail, "SUBJECT", "X-Bayes-Status: inside");
    nb_milter_mail_field(&mail, "subject ", "blank before the colon");
    nb_milter_mail_field(&mail, "Subjects", "another name");
    nb_milter_mail_field(&mail, "x-bayes-status", "spam");
    nb_milter_mail_field(&mail, "X-Bayes-Status \t", "ham\n X-Bayes-Status: folded");
    nb_milter_mail_header_end(&mail);
    ck_assert(nb_milter_mail_body(&mail, "Subject: in the body\r\n", 22));
    ck_assert_uint_eq(nb_milter_mail_count(&mail, "Subject"), 2);
    ck_assert_uint_eq(nb_milter_mail_count(&mail, "Subjects"), 1);
    ck_assert_uint_eq(nb_milter_mail_count(&mail, "X-Bayes-Status"), 2);
    ck_assert_uint_eq(nb_milter_mail_count(&mail, ""), 0);
    ck_assert_uint_eq(mail.forged, 2);
    nb_milter_mail_reset(&mail);
    ck_assert_uint_eq(mail.forged, 0);
}
END_TEST

/* The lines as one text, each ended by '|'. */
static char *lines_of(const struct nb_milter_mail *mail)
{
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_milter_mail_lines(mail, &out), 0);
    for (size_t i = 0; i < out.length; i++)
        out.bytes[i] = out.bytes[i] == '\0' ? '|' : out.bytes[i];
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    return out.bytes;
}

START_TEST(the_envelope_becomes_header_lines)
{
    struct nb_milter_mail mail = {.most = 1000};
    nb_milter_mail_set(mail.address, "192.0.2.1");
    nb_milter_mail_set(mail.helo, "evil\r\nX-Injected: yes\x7F");
    nb_milter_mail_set(mail.sender, "<a@b>");
    nb_milter_mail_set(mail.queue_id, NULL);
    nb_milter_mail_recipient(&mail, "<c@d>");
    char *lines = lines_of(&mail);
    ck_assert_str_eq(lines, "Rcpt: <c@d>|From: <a@b>|IP: 192.0.2.1|Helo: evil??X-Injected: yes?|"
                            "Deliver-To: <c@d>|");
    free(lines);
    nb_milter_mail_recipient(&mail, "<e@f>");
    lines = lines_of(&mail);
    ck_assert_str_eq(lines, "Rcpt: <c@d>|Rcpt: <e@f>|From: <a@b>|IP: 192.0.2.1|"
                            "Helo: evil??X-Injected: yes?|");
    free(lines);
    nb_milter_mail_reset(&mail);
    lines = lines_of(&mail);
    ck_assert_str_eq(lines, "IP: 192.0.2.1|Helo: evil??X-Injected: yes?|");
    free(lines);
}
END_TEST

START_TEST(a_long_name_is_left_out)
{
    char name[2 * NB_MILTER_FIELD];
    struct nb_milter_mail mail = {.most = 1000};
    memset(name, 'x', sizeof name);
    name[NB_MILTER_FIELD] = '\0';
    nb_milter_mail_set(mail.helo, name);
    ck_assert_str_eq(mail.helo, "");
    name[NB_MILTER_FIELD - 1] = '\0';
    nb_milter_mail_set(mail.helo, name);
    ck_assert_str_eq(mail.helo, name);
}
END_TEST

/* A name that is too long cannot be sent. Then no recipient is sent: the others must not decide for
 * this one. */
START_TEST(beside_a_long_recipient_none_is_told)
{
    char name[NB_MILTER_FIELD + 1];
    struct nb_milter_mail mail = {.most = 1000};
    memset(name, 'x', sizeof name);
    name[NB_MILTER_FIELD] = '\0';
    nb_milter_mail_recipient(&mail, "<c@d>");
    nb_milter_mail_recipient(&mail, name);
    char *lines = lines_of(&mail);
    ck_assert_str_eq(lines, "");
    free(lines);
    nb_milter_mail_reset(&mail);
}
END_TEST

START_TEST(thousands_of_recipients_are_bounded)
{
    struct nb_milter_mail mail = {.most = 1000};
    char name[NB_MILTER_FIELD];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 5000; i++)
        nb_milter_mail_recipient(&mail, i % 2 == 0 ? "<someone@example.org>" : name);
    ck_assert_uint_eq(mail.recipient_count, 5000);
    ck_assert_uint_le(mail.recipients.length, NB_MILTER_RECIPIENTS + 64);
    ck_assert_uint_gt(mail.recipients.length, NB_MILTER_RECIPIENTS / 2);
    ck_assert(!mail.is_broken);
    nb_milter_mail_reset(&mail);
}
END_TEST

/* ---- the reply ------------------------------------------------------------------------------- */

static json_t *parse(const char *text)
{
    char *copy = strdup(text);
    for (char *quote = copy; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    json_t *value = json_loads(copy, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    ck_assert_msg(value != NULL, "%s", text);
    free(copy);
    return value;
}

START_TEST(a_reply_is_read)
{
    struct nb_milter_reply reply;
    struct nb_error error = {0};
    json_t *json = parse("{'action': 'rewrite subject', 'score': 7.5, 'subject': '*** a',"
                         " 'messages': {'smtp_message': 'go away'},"
                         " 'milter': {'add_headers': {'X-A': 'b\\n\\tc'},"
                         " 'remove_headers': {'X-B': 0, 'X-C': 3}}}");
    ck_assert_msg(nb_milter_reply_read(json, &reply, &error) == 0, "%s", error.text);
    ck_assert_int_eq(reply.action, NB_MILTER_DO_REWRITE_SUBJECT);
    ck_assert_str_eq(reply.name, "rewrite subject");
    ck_assert_double_eq(reply.score, 7.5);
    ck_assert_str_eq(reply.subject, "*** a");
    ck_assert_str_eq(reply.text, "go away");
    ck_assert_uint_eq(json_object_size(reply.add), 1);
    ck_assert_uint_eq(json_object_size(reply.remove), 2);
    nb_milter_reply_deinit(&reply);
    ck_assert_ptr_null(reply.json);
}
END_TEST

static const struct {
    const char *json;
    int action;       /* -1: refused */
    const char *text; /* part of the error text of a refused reply */
} replies[] = {
    {"{'action': 'no action'}", NB_MILTER_DO_PASS, NULL},
    {"{'action': 'add header', 'milter': {}}", NB_MILTER_DO_PASS, NULL},
    {"{'action': 'soft reject'}", NB_MILTER_DO_SOFT_REJECT, NULL},
    {"{'action': 'reject', 'more': [1, 2]}", NB_MILTER_DO_REJECT, NULL},
    {"{}", -1, "action"},
    {"[]", -1, "action"},
    {"'reject'", -1, "action"},
    {"{'action': 'Reject'}", -1, "action"},
    {"{'action': 'reject '}", -1, "action"},
    {"{'action': 7}", -1, "action"},
    {"{'action': 'rewrite subject'}", -1, "subject"},
    {"{'action': 'rewrite subject', 'subject': null}", -1, "subject"},
    {"{'action': 'no action', 'subject': 'a\\nBcc: x'}", -1, "subject"},
    {"{'action': 'no action', 'subject': 'a\\u0000b'}", -1, "subject"},
    {"{'action': 'no action', 'subject': 'a\\r b'}", -1, "subject"},
    {"{'action': 'no action', 'subject': 'a\\u007f'}", -1, "subject"},
    {"{'action': 'no action', 'subject': 'a\\n'}", -1, "subject"},
    {"{'action': 'no action', 'subject': 7}", -1, "subject"},
    {"{'action': 'reject', 'messages': {'smtp_message': 'a\\nb'}}", -1, "smtp_message"},
    {"{'action': 'reject', 'messages': []}", NB_MILTER_DO_REJECT, NULL},
    {"{'action': 'no action', 'milter': 7}", -1, "milter"},
    {"{'action': 'no action', 'milter': {'add_headers': []}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'': 'x'}}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'a b': 'x'}}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'a:': 'x'}}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'a\\n': 'x'}}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'a': 'x\\n\\nbody'}}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'a': {}}}}", -1, "add_headers"},
    {"{'action': 'no action', 'milter': {'add_headers': {'a': 'x\\n y'}}}", NB_MILTER_DO_PASS,
     NULL},
    {"{'action': 'no action', 'milter': {'remove_headers': {'a': -1}}}", -1, "remove_headers"},
    {"{'action': 'no action', 'milter': {'remove_headers': {'a': 1.5}}}", -1, "remove_headers"},
    {"{'action': 'no action', 'milter': {'remove_headers': {'a': 2147483648}}}", -1,
     "remove_headers"},
    {"{'action': 'no action', 'milter': {'remove_headers': {'a': '1'}}}", -1, "remove_headers"},
    {"{'action': 'no action', 'milter': {'remove_headers': {'a': 2147483647}}}", NB_MILTER_DO_PASS,
     NULL},
};

START_TEST(a_reply_is_checked)
{
    struct nb_milter_reply reply;
    struct nb_error error = {0};
    int rc = nb_milter_reply_read(parse(replies[_i].json), &reply, &error);
    ck_assert_msg(rc == (replies[_i].action >= 0 ? 0 : NB_CALL_PROTOCOL), "%s: %s",
                  replies[_i].json, error.text);
    if (rc == 0)
        ck_assert_int_eq((int)reply.action, replies[_i].action);
    else
        ck_assert_ptr_nonnull(strstr(error.text, replies[_i].text));
    nb_milter_reply_deinit(&reply);
}
END_TEST

START_TEST(a_reply_has_bounds)
{
    struct nb_milter_reply reply;
    struct nb_error error = {0};
    for (int more = 0; more < 2; more++) {
        char name[NB_MILTER_REPLY_NAME_BYTES + 2], *value = malloc(NB_MILTER_REPLY_VALUE_BYTES + 2);
        size_t name_length = NB_MILTER_REPLY_NAME_BYTES + (size_t)more;
        size_t value_length = NB_MILTER_REPLY_VALUE_BYTES + (size_t)more;
        memset(name, 'n', name_length);
        name[name_length] = '\0';
        memset(value, 'v', value_length);
        value[value_length] = '\0';
        json_t *json = json_pack("{s:s, s:{s:{s:s}}}", "action", "no action", "milter",
                                 "add_headers", name, "x");
        ck_assert_int_eq(nb_milter_reply_read(json, &reply, &error), more * NB_CALL_PROTOCOL);
        nb_milter_reply_deinit(&reply);
        json = json_pack("{s:s, s:s}", "action", "no action", "subject", value);
        ck_assert_int_eq(nb_milter_reply_read(json, &reply, &error), more * NB_CALL_PROTOCOL);
        nb_milter_reply_deinit(&reply);
        json_t *headers = json_object();
        for (int i = 0; i < NB_MILTER_REPLY_HEADERS + more; i++) {
            (void)snprintf(name, sizeof name, "X-%d", i);
            ck_assert_int_eq(json_object_set_new(headers, name, json_string("x")), 0);
        }
        json = json_pack("{s:s, s:{s:o}}", "action", "no action", "milter", "add_headers", headers);
        ck_assert_int_eq(nb_milter_reply_read(json, &reply, &error), more * NB_CALL_PROTOCOL);
        nb_milter_reply_deinit(&reply);
        free(value);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("milter");
    TCase *all = tcase_create("all");
    tcase_add_test(all, options_have_defaults);
    tcase_add_test(all, options_are_read);
    tcase_add_loop_test(all, values_are_checked, 0, COUNT(values));
    tcase_add_test(all, a_file_has_options_too);
    tcase_add_loop_test(all, a_bad_file_is_refused, 0, COUNT(bad_files));
    tcase_add_test(all, what_is_not_an_option_is_named);
    tcase_add_test(all, help_fits_a_terminal);
    tcase_add_test(all, a_mail_is_put_together);
    tcase_add_loop_test(all, a_field_stays_one_field, 0, COUNT(folds));
    tcase_add_test(all, a_large_mail_is_cut);
    tcase_add_test(all, fields_are_counted);
    tcase_add_test(all, the_envelope_becomes_header_lines);
    tcase_add_test(all, a_long_name_is_left_out);
    tcase_add_test(all, beside_a_long_recipient_none_is_told);
    tcase_add_test(all, thousands_of_recipients_are_bounded);
    tcase_add_test(all, a_reply_is_read);
    tcase_add_loop_test(all, a_reply_is_checked, 0, COUNT(replies));
    tcase_add_test(all, a_reply_has_bounds);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
