/* SPDX-License-Identifier: Apache-2.0
 *
 * With --update, writes config/bayesd.conf, the table of config/README.md and the options of the
 * manual page instead of comparing them (`make config/bayesd.conf`).
 */
#include <check.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/value.h"
#include "core/base/string.h"
#include "tests/unit/run.h"

#define EXAMPLE "config/bayesd.conf"
#define MANUAL "config/README.md"
#define TABLE_BEGIN "<!-- options: written by `make config/bayesd.conf` -->\n"
#define TABLE_END "<!-- end of options -->\n"
#define PAGE "config/bayesd.conf.5"
#define PAGE_BEGIN ".\\\" options: written by `make config/bayesd.conf`\n"
#define PAGE_END ".\\\" end of options\n"

static void ck_assert_has(const char *text, const char *part, int i)
{
    ck_assert_msg(strstr(text, part) != NULL, "row %d: \"%s\" is not in \"%s\"", i, part, text);
}

static struct nb_config defaults(void)
{
    struct nb_config config;
    struct nb_error error = {0};
    ck_assert_msg(nb_config_init(&config, &error) == 0, "%s", error.text);
    return config;
}

static int parse(struct nb_config *config, const char *text, struct nb_error *error)
{
    return nb_config_parse(config, text, strlen(text), "t.conf", error);
}

/* Returns the listing as a string, which the caller frees. */
static char *printed(const struct nb_config *config, bool help)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(nb_config_print(config, help, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* Returns the bytes of a file of the project; the caller frees them. */
static char *contents(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *in = fopen(path, "re");
    ck_assert_msg(in != NULL, "%s cannot be read: run the tests in the project's folder", path);
    FILE *out = open_memstream(&text, &length);
    for (int c = fgetc(in); c != EOF; c = fgetc(in))
        (void)fputc(c, out);
    (void)fclose(in);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* ---- the table ------------------------------------------------------------------------------- */

START_TEST(defaults_are_those_of_the_header)
{
    struct nb_config c = defaults();
    ck_assert_str_eq(c.listen, "127.0.0.1:8763");
    ck_assert(!c.insecure);
    ck_assert_uint_eq(c.threads, 0);
    ck_assert_uint_eq(c.connections, 1000);
    ck_assert_uint_eq(c.connections_per_address, 200);
    ck_assert_uint_eq(c.connections_reserved, 50);
    ck_assert_uint_eq(c.head_seconds, 20);
    ck_assert_uint_eq(c.body_rate, 500);
    ck_assert_uint_eq(c.request_seconds, 3600);
    ck_assert_uint_eq(c.timeout, 30);
    ck_assert_uint_eq(c.body_bytes, NB_MAIL_BYTES);
    ck_assert_uint_eq(c.line_bytes, 16u << 20);
    ck_assert_uint_eq(c.unpack_ratio, 200);
    ck_assert_uint_eq(c.batch_documents, 10000);
    ck_assert_uint_eq(c.classify_models, 100);
    ck_assert_uint_eq(c.listing_rows, 10000);
    ck_assert_uint_eq(c.spool_memory, 1u << 20);
    ck_assert_uint_eq(c.body_memory, 96u << 20);
    ck_assert_uint_eq(c.reply_memory, 64u << 20);
    ck_assert_uint_eq(c.spool_bytes, 1u << 30);
    ck_assert_str_eq(c.spool_directory, "");
    ck_assert_uint_eq(c.queue_changes, 100000);
    ck_assert_uint_eq(c.stop_seconds, 8);
    ck_assert_str_eq(c.data, "/var/lib/bayesd");
    ck_assert_uint_eq(c.map_size, 0);
    ck_assert_uint_eq(c.memory, 0);
    ck_assert(c.keep_words);
    ck_assert_uint_eq(c.replay_features, 20000000);
    ck_assert_uint_eq(c.group_documents, 1024);
    ck_assert(c.auto_create);
    ck_assert_uint_eq(c.labels, 10000);
    ck_assert_uint_eq(c.models, 100000);
    ck_assert_uint_eq(c.tokens, 100000);
    ck_assert_uint_eq(c.mail_bytes, 4u << 20);
    ck_assert_uint_eq(c.mail_parts, 1000);
    ck_assert_uint_eq(c.mail_depth, 32);
    ck_assert_uint_eq(c.header_bytes, 1u << 20);
    ck_assert_uint_eq(c.work, 32);
    ck_assert_str_eq(c.socket, "");
    ck_assert_int_eq(c.socket_mode, 1);
    ck_assert_str_eq(c.hosts, "");
    ck_assert_str_eq(c.tokens_classify, "");
    ck_assert_str_eq(c.tokens_train, "");
    ck_assert_str_eq(c.tokens_admin, "");
    ck_assert_str_eq(c.tokens_trusted, "");
    ck_assert_str_eq(c.tokens_file, "");
    ck_assert_str_eq(c.filter_model, "mail");
    ck_assert_str_eq(c.filter_user_model, "");
    ck_assert_str_eq(c.filter_spam_labels, "spam");
    ck_assert_str_eq(c.filter_ham_label, "ham");
    ck_assert_double_eq(c.filter_unsure, 0.3);
    ck_assert_double_eq(c.filter_add_header, 0.9);
    ck_assert_double_eq(c.filter_rewrite_subject, 1);
    ck_assert_double_eq(c.filter_reject, 0.9999);
    ck_assert_double_eq(c.filter_required_score, 15);
    ck_assert_double_eq(c.filter_spamd_required_score, 5);
    ck_assert_str_eq(c.filter_subject, "***SPAM*** %s");
    ck_assert_uint_eq(c.filter_evidence, 3);
    ck_assert_int_eq(c.log_level, 2);
    ck_assert_int_eq(c.log_format, 0);
    ck_assert(!c.log_verdicts);
    nb_config_deinit(&c);
}
END_TEST

static size_t member_size(const struct nb_option *option)
{
    switch ((int)option->type) {
    case NB_OPTION_BOOL:
        return sizeof(bool);
    case NB_OPTION_ENUM:
        return sizeof(int);
    case NB_OPTION_ADDRESS:
    case NB_OPTION_STRING:
    case NB_OPTION_SECRET:
        return sizeof(char *);
    default:
        return 8;
    }
}

/* A member that was added to the struct and forgotten in the table leaves a hole: only the padding
 * behind a bool or an int may be one. */
START_TEST(every_member_has_one_option)
{
    size_t count, next = 0;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++) {
        size_t size = member_size(&options[i]), at = options[i].offset;
        size_t step = size < alignof(struct nb_config) ? size : alignof(struct nb_config);
        ck_assert_msg(at == (next + step - 1) / step * step, "%s is not where the struct has it",
                      options[i].key);
        next = at + size;
    }
    size_t former = offsetof(struct nb_config, former);
    ck_assert(next <= former && former < next + 8);
    size_t step = alignof(struct nb_config);
    ck_assert_uint_eq((former + NB_CONFIG_FORMER + step - 1) / step * step,
                      sizeof(struct nb_config));
}
END_TEST

static const struct nb_option *find(const char *group, const char *key)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(options[i].group, group) == 0 && strcmp(options[i].key, key) == 0)
            return &options[i];
    return NULL;
}

/* An option is read under each former name, and no option has a former name again. */
START_TEST(former_names_are_those_of_options)
{
    size_t count;
    const struct nb_former_option *former = nb_option_former_table(&count);
    ck_assert_uint_gt(count, 0);
    for (size_t i = 0; i < count; i++) {
        struct nb_config config = defaults();
        struct nb_error error = {0};
        ck_assert(find(former[i].group, former[i].key) == NULL);
        const struct nb_option *now = find(former[i].now_group, former[i].now_key);
        ck_assert_ptr_nonnull(now);
        ck_assert_msg(nb_config_set(&config, former[i].group, former[i].key, now->default_text, "t",
                                    &error) == 0,
                      "%s", error.text);
        ck_assert_has(config.former, former[i].now_key, (int)i);
        nb_config_deinit(&config);
    }
}
END_TEST

START_TEST(rows_are_complete)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    for (size_t i = 0; i < count; i++) {
        const struct nb_option *o = &options[i];
        ck_assert_msg(strlen(o->help) > 20 && o->help[strlen(o->help) - 1] == '.', "%s: help",
                      o->key);
        ck_assert_msg(o->minimum <= o->maximum, "%s: range", o->key);
        ck_assert_msg((o->names != NULL) == (o->type == NB_OPTION_ENUM), "%s: names", o->key);
        for (size_t j = 0; j < i; j++) {
            bool same_group = strcmp(options[j].group, o->group) == 0;
            ck_assert_msg(!same_group || strcmp(options[j].key, o->key) != 0, "%s twice", o->key);
            ck_assert_msg(!same_group || strcmp(options[i - 1].group, o->group) == 0,
                          "[%s] is not in one run", o->group);
        }
    }
}
END_TEST

/* ---- values ---------------------------------------------------------------------------------- */

static const struct {
    const char *group, *key, *text;
    const char *want; /* as listed, or NULL: refused */
    const char *part; /* of the message */
} values[] = {
    {"server", "insecure", "yes", "yes", NULL},
    {"server", "insecure", "TRUE", "yes", NULL},
    {"server", "insecure", "on", "yes", NULL},
    {"server", "insecure", "1", "yes", NULL},
    {"server", "insecure", "Off", "no", NULL},
    {"server", "insecure", "0", "no", NULL},
    {"server", "insecure", "", NULL, "write yes or no"},
    {"server", "insecure", "maybe", NULL, "\"maybe\" is neither yes nor no"},
    {"server", "threads", "0", "0", NULL},
    {"server", "threads", "1024", "1024", NULL},
    {"server", "threads", "007", "7", NULL},
    {"server", "threads", "1025", NULL, "too large; write 0 to 1024"},
    {"server", "threads", "-1", NULL, "no whole number"},
    {"server", "threads", "+1", NULL, "no whole number"},
    {"server", "threads", "1.5", NULL, "no whole number"},
    {"server", "threads", "0x10", NULL, "no whole number"},
    {"server", "threads", "1K", NULL, "no whole number"},
    {"server", "threads", "1 # one", NULL, "no whole number"},
    {"server", "threads", "", NULL, "no whole number"},
    {"server", "threads", "18446744073709551616", NULL, "too large"},
    {"server", "threads", "99999999999999999999999999", NULL, "too large"},
    {"server", "timeout", "0", NULL, "too small; write 1 to 86400"},
    {"server", "body_bytes", "1024", "1K", NULL},
    {"server", "body_bytes", "1k", "1K", NULL},
    {"server", "body_bytes", "1025", "1025", NULL},
    {"server", "body_bytes", "64G", "64G", NULL},
    {"server", "body_bytes", "2048K", "2M", NULL},
    {"server", "body_bytes", "65G", NULL, "write 1K to 64G"},
    {"server", "body_bytes", "1T", NULL, "too large"},
    {"server", "body_bytes", "64MB", NULL, "no size"},
    {"server", "body_bytes", "64 M", NULL, "no size"},
    {"server", "body_bytes", "M", NULL, "no whole number"},
    {"server", "body_bytes", "64P", NULL, "no size"},
    {"server", "body_bytes", "18014398509481984K", NULL, "too large"},
    {"store", "memory", "0", "0", NULL},
    {"store", "data", "/srv/bayes d", "/srv/bayes d", NULL},
    {"store", "data", "/srv/b\xc3\xa4yes#1", "/srv/b\xc3\xa4yes#1", NULL},
    {"store", "data", "/srv\\x", "/srv\\x", NULL},
    {"store", "data", "", NULL, "is empty"},
    {"store", "data", " /srv", NULL, "begins or ends with a blank"},
    {"store", "data", "/srv ", NULL, "begins or ends with a blank"},
    {"store", "data", "/srv # here", NULL, "comments stand on lines of their own"},
    {"store", "data", "/srv\n/x", NULL, "control character"},
    {"store", "data", "/srv\x7f", NULL, "control character"},
    {"store", "data", "/srv\xff", NULL, "not UTF-8"},
    {"server", "spool_directory", "", "", NULL},
    {"server", "spool_directory", "/var/tmp", "/var/tmp", NULL},
    {"server", "listen", "0.0.0.0:0", "0.0.0.0:0", NULL},
    {"server", "listen", "[::1]:8763", "[::1]:8763", NULL},
    {"server", "listen", "[::ffff:127.0.0.1]:65535", "[::ffff:127.0.0.1]:65535", NULL},
    {"server", "listen", "127.0.0.1", NULL, "has no port"},
    {"server", "listen", "127.0.0.1:", NULL, "has no port from 0 to 65535"},
    {"server", "listen", "127.0.0.1:65536", NULL, "has no port from 0 to 65535"},
    {"server", "listen", "127.0.0.1:80x", NULL, "has no port from 0 to 65535"},
    {"server", "listen", "127.0.0.1:-1", NULL, "has no port from 0 to 65535"},
    {"server", "listen", "localhost:80", NULL, "no address in digits"},
    {"server", "listen", "::1:80", NULL, "no address in digits"},
    {"server", "listen", "[::1:80", NULL, "no address in digits"},
    {"server", "listen", "[]:80", NULL, "no address in digits"},
    {"server", "listen", "[127.0.0.1]:80", NULL, "no address in digits"},
    {"server", "listen", ":80", NULL, "no address in digits"},
    {"server", "listen", "1.2.3:80", NULL, "no address in digits"},
    {"server", "listen", "[1111:2222:3333:4444:5555:6666:7777:8888:9999:a]:80", NULL,
     "no address in digits"},
    {"server", "listen", "", NULL, "is empty"},
    {"log", "level", "debug", "debug", NULL},
    {"log", "level", "Debug", NULL, "error, warning, info or debug"},
    {"log", "level", "2", NULL, "none of the choices"},
    {"log", "level", "", NULL, "none of the choices"},
    {"server", "nosuch", "1", NULL, "[server] has no key \"nosuch\""},
    {"server", "data", "/x", NULL, "[server] has no key \"data\"; it is in [store]"},
    {"nosuch", "data", "/x", NULL, "[nosuch] has no key"},
    {"", "", "", NULL, "has no key"},
};

static void listing_has(const struct nb_config *config, const char *key, const char *value, int i)
{
    char line[200];
    char *listing = printed(config, false);
    (void)snprintf(line, sizeof line, "\n%s =%s%s\n", key, *value == '\0' ? "" : " ", value);
    ck_assert_has(listing, line, i);
    free(listing);
}

START_TEST(a_value_is_set_or_refused)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char *before = printed(&config, false);
    int rc =
        nb_config_set(&config, values[_i].group, values[_i].key, values[_i].text, "--flag", &error);
    if (values[_i].want != NULL) {
        ck_assert_msg(rc == 0, "row %d: %s", _i, error.text);
        listing_has(&config, values[_i].key, values[_i].want, _i);
    } else {
        char *after = printed(&config, false);
        ck_assert_msg(rc == NB_INVALID && error.code == NB_INVALID, "row %d: %d", _i, rc);
        ck_assert_has(error.text, values[_i].part, _i);
        ck_assert_msg(strncmp(error.text, "--flag: [", 9) == 0, "row %d: %s", _i, error.text);
        ck_assert_str_eq(after, before);
        free(after);
    }
    free(before);
    nb_config_deinit(&config);
}
END_TEST

START_TEST(a_long_value_is_refused_and_shortened)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char text[5001];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 40; i < 80; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    ck_assert_int_eq(nb_config_set(&config, "store", "data", text, "w", &error), NB_INVALID);
    ck_assert_has(error.text, "too long; write text of 1 to 4095 bytes", 0);
    ck_assert_uint_eq(nb_value_bad_byte(error.text, strlen(error.text)), strlen(error.text));
    /* 60 bytes would end inside a character: 58 are shown. */
    memset(text, 'a', 80);
    memcpy(text + 58, "\xe2\x82\xac", 3);
    ck_assert_int_eq(nb_config_set(&config, "server", "threads", text, "w", &error), NB_INVALID);
    ck_assert_has(error.text, "aaaa\" is no whole number", 0);
    ck_assert_int_eq(nb_config_set(&config, "server", text, "1", "w", &error), NB_INVALID);
    ck_assert_has(error.text, "aaaa\"; bayesd", 0);
    text[4095] = '\0';
    ck_assert_int_eq(nb_config_set(&config, "store", "data", text, "w", &error), 0);
    ck_assert_int_eq(nb_config_set(&config, "store", text, "x", "w", &error), NB_INVALID);
    nb_config_deinit(&config);
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

static const struct {
    const char *text, *part; /* of the message; NULL: accepted */
} files[] = {
    {"", NULL},
    {"\n\n# only\n  # comments\n", NULL},
    {"[server]\n", NULL},
    {"[server]\nthreads=4", NULL},
    {"  [server]  \r\n\t threads \t=\t 4  \r\n", NULL},
    {"# c\n[log]\nlevel = debug\n\n[server]\nthreads = 4\n", NULL},
    {"[store]\ndata = /a = b\n", NULL},
    {"threads = 4\n", "t.conf:1: \"threads\" stands before the first [group]"},
    {"\n[server]\nthreads = x\n", "t.conf:3: [server] threads: \"x\" is no whole number"},
    {"[server]\nthreads = 4 # four\n", "t.conf:2: [server] threads:"},
    {"[server]\nthreads\n", "t.conf:2: \"threads\" is neither"},
    {"[server]\nthreads: 4\n", "t.conf:2: \"threads: 4\" is neither"},
    {"[server]\n; comment\n", "t.conf:2: \"; comment\" is neither"},
    {"[server]\n= 4\n", "t.conf:2: [server] has no key \"\""},
    {"[server]\nthread = 4\n",
     "t.conf:2: [server] has no key \"thread\": did you mean \"threads\"?"},
    {"[server]\nThreads = 4\n", "t.conf:2: [server] has no key \"Threads\""},
    {"[server]\nthreads[de] = 4\n", "t.conf:2: [server] has no key \"threads[de]\""},
    {"[log]\nthreads = 4\n", "t.conf:2: [log] has no key \"threads\"; it is in [server]"},
    {"[sever]\nthreads = 4\n", "t.conf:1: no group [sever]"},
    {"[ server ]\n", "t.conf:1: no group [ server ]"},
    {"[]\n", "t.conf:1: no group []"},
    {"[\n", "t.conf:1: a line that begins with \"[\" must be [group]"},
    {"[server\n", "t.conf:1: a line that begins with \"[\" must be [group]"},
    {"[server] # x\n", "t.conf:1: a line that begins with"},
    {"[server]\nthreads=1\n\nthreads=1\n", "t.conf:4: [server] threads is set in line 2"},
    {"[server]\n[log]\n[server]\n", "t.conf:3: group [server] stands in line 1 already"},
    {"[server]\n# \xff\n", "t.conf:2: a byte that is not UTF-8"},
    {"[server]\n# a\x01\n", "t.conf:2: a byte that is not UTF-8, or a control character"},
    {"[server]\nthreads = 4\rtimeout = 3\n", "t.conf:2: a byte"},
    {"\xef\xbb\xbf[server]\n", "t.conf:1: "},
    {"[store]\ndata =\n", "t.conf:2: [store] data: \"\" is empty"},
    {"[store]\ndata = /x # y\n", "t.conf:2: [store] data:"},
};

START_TEST(a_file_is_read_or_refused_with_its_line)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    int rc = parse(&config, files[_i].text, &error);
    if (files[_i].part == NULL) {
        ck_assert_msg(rc == 0, "row %d: %s", _i, error.text);
        ck_assert_uint_eq(config.threads, strstr(files[_i].text, "threads") != NULL ? 4 : 0);
    } else {
        ck_assert_msg(rc == NB_INVALID, "row %d: %d", _i, rc);
        ck_assert_has(error.text, files[_i].part, _i);
    }
    nb_config_deinit(&config);
}
END_TEST

START_TEST(an_end_without_newline_and_a_nul_are_seen)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    static const char text[] = "[server]\nthreads = 4\0\ntimeout = 3\n";
    ck_assert_int_eq(nb_config_parse(&config, text, sizeof text - 1, "t.conf", &error), NB_INVALID);
    ck_assert_has(error.text, "t.conf:2:", 0);
    /* Nothing behind `length` is read. */
    ck_assert_int_eq(nb_config_parse(&config, text, 20, "t.conf", &error), 0);
    ck_assert_uint_eq(config.threads, 4);
    ck_assert_uint_eq(config.timeout, 30);
    nb_config_deinit(&config);
}
END_TEST

START_TEST(a_long_path_is_shortened_at_the_front)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char path[1000];
    memset(path, 'p', sizeof path);
    memcpy(path + sizeof path - 8, "/e.conf", 8);
    ck_assert_int_eq(nb_config_parse(&config, "x=1", 3, path, &error), NB_INVALID);
    ck_assert_has(error.text, "/e.conf:1: \"x\" stands", 0);
    nb_config_deinit(&config);
}
END_TEST

/* Loads a file with these bytes; the message, if any, is in `error`. */
static int load(struct nb_config *config, const char *bytes, size_t length, char path[64],
                struct nb_error *error)
{
    (void)snprintf(path, 64, "/tmp/bayesd-test-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    (void)close(fd);
    int rc = nb_config_load(config, path, error);
    (void)unlink(path);
    return rc;
}

START_TEST(files_are_loaded)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char path[64], begin[100];
    ck_assert_int_eq(load(&config, "[server]\ntimeout=7\n", 19, path, &error), 0);
    ck_assert_uint_eq(config.timeout, 7);
    ck_assert_int_eq(load(&config, "[server]\ntimeout=\n", 18, path, &error), NB_INVALID);
    (void)snprintf(begin, sizeof begin, "%s:2: [server] timeout", path);
    ck_assert_has(error.text, begin, 0);
    ck_assert_int_eq(nb_config_load(&config, "/nonexistent/x", &error), NB_NOT_FOUND);
    ck_assert_has(error.text, "/nonexistent/x", 0);
    ck_assert_int_eq(nb_config_load(&config, "/tmp", &error), NB_IO);
    nb_config_deinit(&config);
}
END_TEST

START_TEST(a_file_that_is_no_configuration_is_not_read_to_its_end)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    ck_assert_int_eq(nb_config_load(&config, "/dev/zero", &error), NB_INVALID);
    ck_assert_has(error.text, "/dev/zero: more than 1048576 bytes", 0);
    nb_config_deinit(&config);
}
END_TEST

/* ---- environment ----------------------------------------------------------------------------- */

static const struct {
    const char *variable, *part; /* NULL: accepted */
} variables[] = {
    {"PATH=/bin", NULL},
    {"BAYES=1", NULL},
    {"bayesd_server_threads=x", NULL},
    {"BAYESD_SERVER_THREADS=4", NULL},
    {"BAYESD_STORE_DATA=/a=b", NULL},
    {"BAYESD_SERVER_CONNECTIONS_PER_ADDRESS=3", NULL},
    {"BAYESD_SERVER_THREADS=x", "environment: BAYESD_SERVER_THREADS: [server] threads: \"x\""},
    {"BAYESD_SERVER_THREADS=", "no whole number"},
    {"BAYESD_SERVER_THREADS", "no whole number"},
    {"BAYESD_SERVER_THREAD=4", "environment: BAYESD_SERVER_THREAD is no option"},
    {"BAYESD_SERVER_THREADS_=4", "is no option"},
    {"BAYESD_SERVERTHREADS=4", "is no option"},
    {"BAYESD_server_threads=4", "is no option"},
    {"BAYESD_THREADS=4", "is no option"},
    {"BAYESD_=4", "is no option"},
    {"BAYESD_", "is no option"},
};

START_TEST(environment_is_taken_or_refused)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char copy[80];
    char *environment[] = {copy, NULL};
    (void)snprintf(copy, sizeof copy, "%s", variables[_i].variable);
    int rc = nb_config_environment(&config, environment, &error);
    if (variables[_i].part == NULL) {
        ck_assert_msg(rc == 0, "row %d: %s", _i, error.text);
        ck_assert(config.threads == (strstr(copy, "D_SERVER_THREADS=4") != NULL ? 4 : 0));
        ck_assert(config.connections_per_address == (strstr(copy, "PER") != NULL ? 3 : 200));
        ck_assert_str_eq(config.data, strstr(copy, "DATA") ? "/a=b" : "/var/lib/bayesd");
    } else {
        ck_assert_msg(rc == NB_INVALID, "row %d: %d", _i, rc);
        ck_assert_has(error.text, variables[_i].part, _i);
    }
    nb_config_deinit(&config);
}
END_TEST

START_TEST(later_sources_win)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char variable[] = "BAYESD_SERVER_THREADS=2";
    char *environment[] = {variable, NULL};
    ck_assert_int_eq(parse(&config, "[server]\nthreads=1\ntimeout=5\n", &error), 0);
    ck_assert_int_eq(nb_config_environment(&config, environment, &error), 0);
    ck_assert_uint_eq(config.threads, 2);
    ck_assert_int_eq(nb_config_set(&config, "server", "threads", "3", "--threads", &error), 0);
    ck_assert_uint_eq(config.threads, 3);
    ck_assert_uint_eq(config.timeout, 5);
    nb_config_deinit(&config);
}
END_TEST

/* ---- listings -------------------------------------------------------------------------------- */

static unsigned seed_of_run(void)
{
    const char *text = getenv("SEED");
    return text == NULL ? 1763 : (unsigned)strtoul(text, NULL, 10);
}

/* Makes a random value for the option that nb_value_set accepts. */
static void random_value(const struct nb_option *o, char *text, size_t size)
{
    static const char *const strings[] = {"/a b", "\\s\\n",       "[x]", "k = v",
                                          "#",    "\xe2\x82\xac", "%"};
    uint64_t most = o->maximum - o->minimum;
    uint64_t random = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 10 ^ (uint64_t)rand();
    uint64_t number = o->minimum + (most == UINT64_MAX ? random : random % (most + 1));
    if (o->type == NB_OPTION_ENUM)
        (void)snprintf(text, size, "%s", o->names[random % (o->maximum + 1)]);
    else if (o->type == NB_OPTION_NUMBER)
        (void)snprintf(text, size, "%.17g",
                       (double)o->minimum + (double)most * ((double)random / (double)UINT64_MAX));
    else if (o->type == NB_OPTION_STRING || o->type == NB_OPTION_SECRET)
        (void)snprintf(text, size, "%s", strings[random % (sizeof strings / sizeof strings[0])]);
    else if (o->type == NB_OPTION_ADDRESS)
        (void)snprintf(text, size, "127.0.0.%u:%u", (unsigned)random % 256,
                       (unsigned)(random >> 8) % 65536);
    else
        (void)snprintf(text, size, "%llu", (unsigned long long)number);
}

START_TEST(what_is_listed_reads_back)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    unsigned seed = seed_of_run();
    srand(seed);
    for (int round = 0; round < 200; round++) {
        struct nb_config a = defaults(), b = defaults();
        struct nb_error error = {0};
        for (size_t i = 0; i < count; i++) {
            char text[64];
            random_value(&options[i], text, sizeof text);
            ck_assert_msg(nb_value_set(&a, &options[i], text, "random", &error) == 0,
                          "seed %u round %d: %s", seed, round, error.text);
        }
        char *first = printed(&a, round % 2 == 0);
        ck_assert_msg(parse(&b, first, &error) == 0, "seed %u round %d: %s", seed, round,
                      error.text);
        char *again = printed(&b, round % 2 == 0);
        ck_assert_msg(strcmp(first, again) == 0, "seed %u round %d", seed, round);
        free(first);
        free(again);
        nb_config_deinit(&a);
        nb_config_deinit(&b);
    }
}
END_TEST

/* ---- changes --------------------------------------------------------------------------------- */

enum { UNSET = 100 }; /* is counted so, beside 1 for each call */

static void count_changed(void *user, const struct nb_option *option, bool is_unset)
{
    ((unsigned *)user)[option - nb_option_table(&(size_t){0})] += is_unset ? 1 + UNSET : 1;
}

static bool has_value_of(const struct nb_config *a, const struct nb_config *b,
                         const struct nb_option *option)
{
    struct nb_buffer one = {0}, two = {0};
    ck_assert_int_eq(nb_value_print(a, option, &one), 0);
    ck_assert_int_eq(nb_value_print(b, option, &two), 0);
    bool is_same = one.length == two.length &&
                   (one.length == 0 || memcmp(one.bytes, two.bytes, one.length) == 0);
    nb_buffer_deinit(&one);
    nb_buffer_deinit(&two);
    return is_same;
}

START_TEST(what_needs_a_restart_is_carried_over)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    srand(seed_of_run());
    for (int round = 0; round < 20; round++) {
        struct nb_config running = defaults(), next = defaults(), wanted = defaults();
        struct nb_error error = {0};
        unsigned *told = calloc(count, sizeof *told);
        for (size_t i = 0; i < count; i++) {
            char text[64];
            random_value(&options[i], text, sizeof text);
            ck_assert_int_eq(nb_value_set(&running, &options[i], text, "random", &error), 0);
            random_value(&options[i], text, sizeof text);
            ck_assert_int_eq(nb_value_set(&next, &options[i], text, "random", &error), 0);
            ck_assert_int_eq(nb_value_set(&wanted, &options[i], text, "random", &error), 0);
        }
        ck_assert_int_eq(nb_config_carry_over(&next, &running, count_changed, told, &error), 0);
        for (size_t i = 0; i < count; i++) {
            bool differs = !has_value_of(&wanted, &running, &options[i]);
            ck_assert_msg(told[i] % UNSET == differs, "%s is told %u times", options[i].key,
                          told[i]);
            ck_assert_msg(
                has_value_of(&next, options[i].change == NB_LIVE ? &wanted : &running, &options[i]),
                "%s", options[i].key);
        }
        free(told);
        nb_config_deinit(&running);
        nb_config_deinit(&next);
        nb_config_deinit(&wanted);
    }
}
END_TEST

START_TEST(what_is_set_no_more_is_told)
{
    size_t count;
    (void)nb_option_table(&count);
    struct nb_config running = defaults(), next = defaults();
    struct nb_error error = {0};
    unsigned *told = calloc(count, sizeof *told);
    ck_assert_int_eq(nb_config_set(&running, "server", "timeout", "31", "w", &error), 0);
    ck_assert_int_eq(nb_config_set(&running, "server", "hosts", "a.example", "w", &error), 0);
    ck_assert_int_eq(nb_config_set(&running, "server", "body_bytes", "2K", "w", &error), 0);
    ck_assert_int_eq(nb_config_set(&next, "server", "body_bytes", "3K", "w", &error), 0);
    ck_assert_int_eq(nb_config_set(&next, "filter", "model", "other", "w", &error), 0);
    ck_assert_int_eq(nb_config_carry_over(&next, &running, count_changed, told, &error), 0);
    unsigned unset = 0, changed = 0;
    for (size_t i = 0; i < count; i++) {
        unset += told[i] / UNSET;
        changed += told[i] % UNSET;
    }
    ck_assert_uint_eq(unset, 2); /* the time-out, which needs a restart, too */
    ck_assert_uint_eq(changed, 4);
    free(told);
    nb_config_deinit(&running);
    nb_config_deinit(&next);
}
END_TEST

START_TEST(defaults_are_commented_out_and_changes_are_not)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    ck_assert_int_eq(nb_config_set(&config, "server", "timeout", "31", "w", &error), 0);
    char *listing = printed(&config, true);
    ck_assert_has(listing, "\ntimeout = 31\n", 0);
    ck_assert_has(listing, "\n#threads = 0\n", 0);
    ck_assert_has(listing, "\n#spool_directory =\n", 0);
    free(listing);
    nb_config_deinit(&config);
}
END_TEST

START_TEST(a_listing_that_cannot_be_written_is_an_error)
{
    struct nb_config config = defaults();
    FILE *full = fopen("/dev/full", "we");
    ck_assert_ptr_nonnull(full);
    ck_assert_int_eq(nb_config_print(&config, true, full), NB_IO);
    (void)fclose(full);
    nb_config_deinit(&config);
}
END_TEST

/* ---- the files that come from the table ------------------------------------------------------ */

/* Returns the table of config/README.md, which the caller frees. */
static char *manual_table(void)
{
    size_t count, length = 0;
    const struct nb_option *options = nb_option_table(&count);
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < count; i++) {
        struct nb_buffer range = {0};
        if (i == 0 || strcmp(options[i].group, options[i - 1].group) != 0)
            (void)fprintf(out,
                          "\n### [%s]\n\n| key | default | values | change | meaning "
                          "|\n|---|---|---|---|---|\n",
                          options[i].group);
        ck_assert_int_eq(nb_value_range(&options[i], &range), 0);
        (void)fprintf(out, "| `%s` | %s%s%s | %.*s | %s | %s |\n", options[i].key,
                      *options[i].default_text == '\0' ? "" : "`", options[i].default_text,
                      *options[i].default_text == '\0' ? "" : "`", (int)range.length, range.bytes,
                      options[i].change == NB_LIVE ? "reload" : "restart", options[i].help);
        nb_buffer_deinit(&range);
    }
    (void)fputs("\n", out);
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* Prints text of the table for roff, which must keep each minus and get no stray backslash. */
static void print_roff(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            (void)fputs("\\e", out);
        else if (*text == '-')
            (void)fputs("\\-", out);
        else
            (void)fputc(*text, out);
    }
}

/* Returns the options section of bayesd.conf(5), which the caller frees. */
static char *page_options(void)
{
    size_t count, length = 0;
    const struct nb_option *options = nb_option_table(&count);
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < count; i++) {
        const struct nb_option *o = &options[i];
        struct nb_buffer range = {0};
        if (i == 0 || strcmp(o->group, options[i - 1].group) != 0)
            (void)fprintf(out, ".SS [%s]\n", o->group);
        ck_assert_int_eq(nb_value_range(o, &range), 0);
        ck_assert_int_eq(nb_buffer_append(&range, "", 1), 0);
        (void)fprintf(out, ".TP\n\\fB%s\\fR", o->key);
        if (*o->default_text != '\0')
            (void)fputs(" = ", out);
        print_roff(o->default_text, out);
        (void)fputs("\n\\&", out); /* a help text that begins with a dot is no request */
        print_roff(o->help, out);
        (void)fputs("\n.br\nValues: ", out);
        print_roff(range.bytes, out);
        (void)fprintf(out, ". Change: %s.\n", o->change == NB_LIVE ? "reload" : "restart");
        nb_buffer_deinit(&range);
    }
    ck_assert_int_eq(fclose(out), 0);
    return text;
}

/* The parts of documents that are generated from the table, between two marks. */
static const struct {
    const char *file, *begin, *end;
    char *(*text)(void); /* freed by the caller */
} parts[] = {
    {MANUAL, TABLE_BEGIN, TABLE_END, manual_table},
    {PAGE, PAGE_BEGIN, PAGE_END, page_options},
};

/* Finds where part i begins and ends in its document. */
static void part_place(int i, const char *document, const char **begin, const char **end)
{
    *begin = strstr(document, parts[i].begin);
    ck_assert_msg(*begin != NULL, "%s has no line %s", parts[i].file, parts[i].begin);
    *begin += strlen(parts[i].begin);
    *end = strstr(*begin, parts[i].end);
    ck_assert_msg(*end != NULL, "%s has no line %s", parts[i].file, parts[i].end);
}

START_TEST(the_example_file_is_the_table)
{
    struct nb_config config = defaults();
    char *want = printed(&config, true), *is = contents(EXAMPLE);
    ck_assert_msg(strcmp(want, is) == 0, EXAMPLE " differs: run `make " EXAMPLE "`");
    free(want);
    free(is);
    nb_config_deinit(&config);
}
END_TEST

START_TEST(the_example_file_changes_nothing_when_loaded)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char *before = printed(&config, false);
    ck_assert_msg(nb_config_load(&config, EXAMPLE, &error) == 0, "%s", error.text);
    char *after = printed(&config, false);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    nb_config_deinit(&config);
}
END_TEST

/* What an administrator does: take the # away in front of the settings. */
START_TEST(the_example_file_loads_with_every_setting_uncommented)
{
    struct nb_config config = defaults();
    struct nb_error error = {0};
    char *before = printed(&config, false), *text = contents(EXAMPLE);
    for (char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line[0] == '#' && line[1] >= 'a' && line[1] <= 'z')
            memmove(line, line + 1, strlen(line));
    }
    ck_assert_ptr_nonnull(strstr(text, "\nthreads = 0\n"));
    ck_assert_msg(parse(&config, text, &error) == 0, "%s", error.text);
    char *after = printed(&config, false);
    ck_assert_str_eq(after, before);
    free(before);
    free(after);
    free(text);
    nb_config_deinit(&config);
}
END_TEST

START_TEST(the_documents_have_the_table)
{
    const char *begin, *end;
    char *document = contents(parts[_i].file), *want = parts[_i].text();
    part_place(_i, document, &begin, &end);
    ck_assert_msg((size_t)(end - begin) == strlen(want) && memcmp(begin, want, strlen(want)) == 0,
                  "%s differs: run `make " EXAMPLE "`", parts[_i].file);
    free(document);
    free(want);
}
END_TEST

static void update_part(int i)
{
    const char *begin, *end;
    char *document = contents(parts[i].file), *text = parts[i].text();
    part_place(i, document, &begin, &end);
    FILE *out = fopen(parts[i].file, "we");
    ck_assert_ptr_nonnull(out);
    (void)fprintf(out, "%.*s%s%s", (int)(begin - document), document, text, end);
    ck_assert_int_eq(fclose(out), 0);
    free(document);
    free(text);
}

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* Not a test of anything: the way to write the files (see above). */
START_TEST(update_files)
{
    struct nb_config config = defaults();
    FILE *out = fopen(EXAMPLE, "we");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(nb_config_print(&config, true, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    for (int i = 0; i < ROWS(parts); i++)
        update_part(i);
    nb_config_deinit(&config);
}
END_TEST

static Suite *config_suite(void)
{
    Suite *suite = suite_create("config");
    TCase *table = tcase_create("table");
    tcase_add_test(table, defaults_are_those_of_the_header);
    tcase_add_test(table, every_member_has_one_option);
    tcase_add_test(table, former_names_are_those_of_options);
    tcase_add_test(table, rows_are_complete);
    suite_add_tcase(suite, table);
    TCase *value = tcase_create("values");
    tcase_add_loop_test(value, a_value_is_set_or_refused, 0, ROWS(values));
    tcase_add_test(value, a_long_value_is_refused_and_shortened);
    suite_add_tcase(suite, value);
    TCase *file = tcase_create("files");
    tcase_add_loop_test(file, a_file_is_read_or_refused_with_its_line, 0, ROWS(files));
    tcase_add_test(file, an_end_without_newline_and_a_nul_are_seen);
    tcase_add_test(file, a_long_path_is_shortened_at_the_front);
    tcase_add_test(file, files_are_loaded);
    tcase_add_test(file, a_file_that_is_no_configuration_is_not_read_to_its_end);
    suite_add_tcase(suite, file);
    TCase *environment = tcase_create("environment");
    tcase_add_loop_test(environment, environment_is_taken_or_refused, 0, ROWS(variables));
    tcase_add_test(environment, later_sources_win);
    suite_add_tcase(suite, environment);
    TCase *listing = tcase_create("listing");
    tcase_add_test(listing, what_is_listed_reads_back);
    tcase_add_test(listing, what_needs_a_restart_is_carried_over);
    tcase_add_test(listing, what_is_set_no_more_is_told);
    tcase_add_test(listing, defaults_are_commented_out_and_changes_are_not);
    tcase_add_test(listing, a_listing_that_cannot_be_written_is_an_error);
    suite_add_tcase(suite, listing);
    TCase *documents = tcase_create("example and manual");
    tcase_add_test(documents, the_example_file_is_the_table);
    tcase_add_test(documents, the_example_file_changes_nothing_when_loaded);
    tcase_add_test(documents, the_example_file_loads_with_every_setting_uncommented);
    tcase_add_loop_test(documents, the_documents_have_the_table, 0, ROWS(parts));
    suite_add_tcase(suite, documents);
    return suite;
}

static Suite *update_suite(void)
{
    Suite *suite = suite_create("update");
    TCase *files_case = tcase_create("files");
    tcase_add_test(files_case, update_files);
    suite_add_tcase(suite, files_case);
    return suite;
}

int main(int argc, char **argv)
{
    bool is_update = argc > 1 && strcmp(argv[1], "--update") == 0;
    return test_run(is_update ? update_suite() : config_suite());
}
