/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents read from files of all formats, also from files that no program would write.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/client/files/files.h"
#include "server/client/files/read_file.h"
#include "tests/unit/run.h"

static char folder[64];

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void setup(void)
{
    strcpy(folder, "/tmp/bayesd-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    ck_assert_int_eq(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Returns the path of a name in the folder; valid until the eighth call after this one. */
static char *path_of(const char *name)
{
    static char paths[8][4096];
    static size_t next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static char *write_bytes(const char *name, const void *bytes, size_t length)
{
    char *path = path_of(name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The result of a reading as text: each document as "kind label id name: content|", with names
 * relative to the folder; and each file that was skipped as "! name: reason|". */
struct heard {
    struct nb_buffer text;
    size_t documents, skipped;
    size_t most; /* `take` ends the reading after this many documents; 0: never */
};

static const char *short_name(const char *name)
{
    size_t length = strlen(folder);
    return strncmp(name, folder, length) == 0 ? name + length + 1 : name;
}

static int take(void *user, const struct nb_item *item, struct nb_error *error)
{
    struct heard *heard = user;
    static const char *const parts[] = {"", "train ", "test "};
    ck_assert_int_eq(
        nb_buffer_printf(&heard->text, "%s%s %.*s %.*s %s: ", parts[item->part],
                         item->is_mail ? "mail" : "text", (int)item->label.length,
                         item->label.length > 0 ? item->label.bytes : "", (int)item->id.length,
                         item->id.length > 0 ? item->id.bytes : "", short_name(item->name)),
        0);
    ck_assert(!item->has_no_content || item->content.length == 0);
    ck_assert_int_eq(nb_buffer_append(&heard->text, item->content.bytes, item->content.length), 0);
    ck_assert_int_eq(nb_buffer_append(&heard->text, item->values.bytes, item->values.length), 0);
    ck_assert_int_eq(nb_buffer_puts(&heard->text, "|"), 0);
    heard->documents++;
    return heard->documents == heard->most ? nb_error_set(error, NB_STOPPING, "enough") : 0;
}

static void hear(void *user, enum nb_file_news news, const char *name, const char *reason)
{
    struct heard *heard = user;
    if (news == NB_FILE_REMARK)
        return;
    heard->skipped++;
    ck_assert_int_eq(nb_buffer_printf(&heard->text, "! %s: %s|", short_name(name), reason), 0);
}

static int read_path(const struct nb_files_options *options, char *path, struct heard *heard,
                     struct nb_error *error)
{
    const struct nb_files files = {.options = options, .take = take, .tell = hear, .user = heard};
    char *paths[] = {path};
    int rc = nb_files_read(&files, paths, 1, error);
    ck_assert_int_eq(nb_buffer_append(&heard->text, "", 1), 0);
    return rc;
}

static void expect_with(const struct nb_files_options *options, char *path, const char *wanted)
{
    struct heard heard = {.documents = 0};
    struct nb_error error = {0};
    ck_assert_int_eq(read_path(options, path, &heard, &error), 0);
    ck_assert_str_eq(heard.text.bytes, wanted);
    nb_buffer_deinit(&heard.text);
}

static void expect(char *path, const char *wanted)
{
    const struct nb_files_options options = {.label = NULL};
    expect_with(&options, path, wanted);
}

#define OR_NO_HEADER                                                                               \
    "; if the first line is a document, say what stands where, as in --columns id,-,text,label"
#define MAIL "From: a@b\nTo: c@d\n\nhello\n"
#define SEPARATOR "From a@b Thu Jan  1 00:00:00 1970\n"

/* ---- single files ---------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    bool is_mail;
} looks[] = {
    {MAIL, true},
    {"Subject: a\r\nDate: b\r\n\r\nc", true},
    {"SUBJECT: a\nDATE: b", true},
    {"Received: a\n by b\n\tfor c\nFrom: d\n", true},
    {"From: a@b\n\nTo: c@d\n", false},
    {"From: only one\nX-Other: a\n\n", false},
    {"From : a\nTo : b\n\n", false},
    {"Dear From: Sir,\nTo: c\n", false},
    {" From: a\nTo: b\n", true}, /* like text that was copied from a screen */
    {"\n\nFrom: a\nTo: b\n", true},
    {"\xEF\xBB\xBF"
     "From: a\nTo: b\n",
     true},
    {"From: a\rTo: b\r\rx", true},
    {"Hi,\nFrom: a\nTo: b\n", false},
    {"", false},
    {"\n", false},
    {":\n:\n", false},
    {"From\nTo\n", false},
    {"Fr\xC3\xB6m: a\nTo: b\nCc: c\n", false},
};

START_TEST(mails_are_recognized)
{
    size_t length = strlen(looks[_i].bytes);
    char *bytes = malloc(length); /* no spare byte, so that a read beyond the end is found */
    memcpy(bytes, looks[_i].bytes, length);
    ck_assert(nb_looks_like_mail(bytes, length) == looks[_i].is_mail);
    free(bytes);
}
END_TEST

#define TIMES_8(text) text text text text text text text text

static const struct {
    struct nb_string bytes;
    bool is_binary;
} neither[] = {
    {{"", 0}, false},
    {{"\0", 1}, true},
    {{"a short one\n\0", 13}, true},
    {{"a line of sixty\0", 16}, false},
    {{"a line of sixty\x7f", 16}, false},
    {{"a line of fif\x01\x02\n", 16}, true},
    {{"\b\t\n\v\f\r\x0e\x0f\x1b", 9}, false},
    {{TIMES_8("\xe4\xf6\x80\xff"), 32}, false},
    {{TIMES_8("h\0i\0"), 32}, true},
    {{"\xff\xfe-N", 4}, false},
    {{"\xfe\xffN-", 4}, false},
    {{"\xff", 1}, false},
};

START_TEST(what_is_no_text_is_recognized)
{
    size_t length = neither[_i].bytes.length;
    char *bytes = malloc(length); /* no spare byte, as above */
    memcpy(bytes, neither[_i].bytes.bytes, length);
    ck_assert(nb_looks_binary(bytes, length) == neither[_i].is_binary);
    free(bytes);
}
END_TEST

static size_t documents(const struct nb_files_options *options, char *path)
{
    struct heard heard = {.documents = 0};
    struct nb_error error = {0};
    ck_assert_int_eq(read_path(options, path, &heard, &error), 0);
    nb_buffer_deinit(&heard.text);
    return heard.documents;
}

/* Binary data is accepted in a mail, and in a file that the options call a text or a mail. */
START_TEST(binary_files_are_no_documents)
{
    static const char zeros[40];
    static const struct nb_files_options any = {.label = NULL}, text = {.is_text = true},
                                         mail = {.is_mail = true}, file = {.format = "file"};
    struct nb_buffer with_header = {NULL, 0, 0};
    ck_assert_int_eq(nb_buffer_puts(&with_header, MAIL), 0);
    ck_assert_int_eq(nb_buffer_append(&with_header, zeros, sizeof zeros), 0);
    const char *binary =
        "! a: is binary, neither a text nor a mail (--text reads it all the same)|";
    expect(write_bytes("a", zeros, sizeof zeros), binary);
    expect_with(&file, write_bytes("a", zeros, sizeof zeros), binary);
    expect(write_bytes("b", "\xff\xfeh\0i\0", 6), "text   b: hi|");
    ck_assert_uint_eq(documents(&any, write_bytes("c", with_header.bytes, with_header.length)), 1);
    ck_assert_uint_eq(documents(&text, write_bytes("d", zeros, sizeof zeros)), 1);
    ck_assert_uint_eq(documents(&mail, write_bytes("e", zeros, sizeof zeros)), 1);
    nb_buffer_deinit(&with_header);
}
END_TEST

START_TEST(a_single_file_is_a_document)
{
    expect(write_text("a", MAIL), "mail   a: " MAIL "|");
    expect(write_text("b", SEPARATOR "x"), "text   b: " SEPARATOR "x|");
    expect(write_text("c", "just words"), "text   c: just words|");
    expect(write_text("empty", ""), "! empty: is empty|");
    expect(path_of("gone"), "! gone: No such file or directory|");
    const struct nb_files_options text = {.is_text = true, .label = "ham"};
    expect_with(&text, write_text("d", SEPARATOR MAIL), "text ham  d: " SEPARATOR MAIL "|");
    const struct nb_files_options mail = {.is_mail = true};
    expect_with(&mail, write_text("e", "no header"), "mail   e: no header|");
    expect_with(&mail, write_text("f", SEPARATOR), "! f: is empty|");
    const struct nb_files_options file = {.format = "file"};
    expect_with(&file, write_text("g", SEPARATOR MAIL), "mail   g: " MAIL "|");
}
END_TEST

/* Bytes that are not UTF-8 are read as windows-1252. */
START_TEST(bytes_above_127_are_windows_1252)
{
    struct heard heard = {.documents = 0};
    const struct nb_files_options options = {.is_text = true};
    struct nb_error error = {0};
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    ck_assert_int_eq(read_path(&options, write_bytes("a", bytes, sizeof bytes), &heard, &error), 0);
    size_t head = strlen("text   a: ");
    ck_assert_mem_eq(heard.text.bytes + head, bytes, 128);
    ck_assert_mem_eq(heard.text.bytes + head + 128, "\xE2\x82\xAC\xC2\x81\xE2\x80\x9A", 8);
    ck_assert_mem_eq(heard.text.bytes + heard.text.length - 6, "\xC3\xBE\xC3\xBF|", 6);
    nb_buffer_deinit(&heard.text);
}
END_TEST

START_TEST(a_file_that_is_too_large_is_skipped)
{
    char *path = write_text("large", "");
    ck_assert_int_eq(truncate(path, (off_t)NB_ITEM_MOST + 1), 0);
    expect(path, "! large: is larger than 67108864 bytes|");
    const struct nb_files_options mbox = {.format = "mbox"};
    expect_with(&mbox, path, "! large: mail 1 is larger than 67108864 bytes|");
    static const char *const formats[] = {"csv", "tsv", "ndjson", "lines", "index"};
    char *spaces = malloc(NB_ITEM_MOST + 1);
    ck_assert_ptr_nonnull(spaces);
    memset(spaces, ' ', NB_ITEM_MOST + 1);
    path = write_bytes("large", spaces, NB_ITEM_MOST + 1);
    free(spaces);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct nb_files_options options = {.format = formats[i]};
        expect_with(&options, path, "! large: a line is longer than 67108864 bytes|");
    }
}
END_TEST

START_TEST(an_unknown_format_ends_the_run)
{
    const struct nb_files_options options = {.format = "zip"};
    struct heard heard = {.documents = 0};
    struct nb_error error = {0};
    ck_assert_int_eq(read_path(&options, write_text("a", "x"), &heard, &error), NB_CLIENT_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "--format 'zip'"));
    nb_buffer_deinit(&heard.text);
}
END_TEST

START_TEST(take_ends_the_run)
{
    struct heard heard = {.most = 2};
    const struct nb_files_options options = {.label = NULL};
    struct nb_error error = {0};
    char *path = write_text("a", SEPARATOR MAIL "\n" SEPARATOR MAIL "\n" SEPARATOR MAIL);
    ck_assert_int_eq(read_path(&options, path, &heard, &error), NB_STOPPING);
    ck_assert_uint_eq(heard.documents, 2);
    ck_assert_uint_eq(heard.skipped, 0);
    ck_assert_str_eq(error.text, "enough");
    nb_buffer_deinit(&heard.text);
}
END_TEST

/* ---- mbox ------------------------------------------------------------------------------------ */

START_TEST(an_mbox_is_split)
{
    expect(write_text("a", SEPARATOR MAIL "\n" SEPARATOR MAIL),
           "mail   a:1: " MAIL "|mail   a:2: " MAIL "|");
    expect(
        write_text("crlf", "From a\r\nFrom: b\r\nTo: c\r\n\r\nd\r\n\r\nFrom e\r\nTo: f\r\n\r\ng"),
        "mail   crlf:1: From: b\r\nTo: c\r\n\r\nd\r\n|mail   crlf:2: To: f\r\n\r\ng|");
    expect(write_text("quoted", SEPARATOR "From: a\nTo: b\n\n>From c\n"),
           "mail   quoted:1: From: a\nTo: b\n\nFrom c\n|");
    expect(write_text("inside", SEPARATOR "From: a\nTo: b\n\nc\nFrom here on\n"),
           "mail   inside:1: From: a\nTo: b\n\nc\nFrom here on\n|");
}
END_TEST

START_TEST(what_is_not_an_mbox_is_skipped)
{
    const struct nb_files_options options = {.format = "mbox"};
    expect_with(&options, write_text("a", "hello\n"),
                "! a: is not an mbox: it does not begin with 'From '|");
    expect_with(&options, write_text("empty", ""), "");
    expect_with(&options, write_text("b", "From"),
                "! b: is not an mbox: it does not begin with 'From '|");
    expect_with(&options, write_text("c", SEPARATOR), "");
    expect_with(&options, write_text("d", SEPARATOR "\n" SEPARATOR "\n" SEPARATOR "To: a\n"),
                "mail   d:3: To: a\n|");
}
END_TEST

/* Mails of all sizes around the size of a read (64 KiB), so that the separator lies across its end.
 */
START_TEST(an_mbox_is_split_wherever_a_read_ends)
{
    const struct nb_files_options options = {.format = "mbox"};
    struct nb_error error = {0};
    for (size_t length = 65536 - 60; length < 65536 + 20; length++) {
        struct heard heard = {.documents = 0};
        struct nb_buffer mbox = {0};
        ck_assert_int_eq(nb_buffer_puts(&mbox, SEPARATOR), 0);
        ck_assert_int_eq(nb_buffer_reserve(&mbox, length - mbox.length), 0);
        memset(mbox.bytes + mbox.length, 'x', length - mbox.length);
        mbox.length = length;
        ck_assert_int_eq(nb_buffer_puts(&mbox, "\r\n\r\n" SEPARATOR "last"), 0);
        char *path = write_bytes("a", mbox.bytes, mbox.length);
        ck_assert_int_eq(read_path(&options, path, &heard, &error), 0);
        ck_assert_msg(heard.documents == 2, "%zu bytes: %zu mails", length, heard.documents);
        nb_buffer_deinit(&mbox);
        nb_buffer_deinit(&heard.text);
    }
}
END_TEST

/* ---- folders --------------------------------------------------------------------------------- */

START_TEST(folders_are_walked_in_order)
{
    write_text("top/b", "2");
    write_text("top/a/y", "1");
    write_text("top/.hidden", "no");
    write_text("top/.dir/x", "no");
    write_text("top/c/d/e", "3");
    ck_assert_int_eq(symlink("../b", path_of("top/a/z")), 0);
    ck_assert_int_eq(symlink("../../top", path_of("top/c/circle")), 0);
    ck_assert_int_eq(symlink("nowhere", path_of("top/broken")), 0);
    ck_assert_int_eq(mkfifo(path_of("top/fifo"), 0600), 0);
    expect(path_of("top"), "text   top/a/y: 1|text   top/a/z: 2|text   top/b: 2|"
                           "text   top/c/d/e: 3|");
    const struct nb_files_options options = {.by_folder = true, .label = "none"};
    expect_with(&options, path_of("top"),
                "text a  top/a/y: 1|text a  top/a/z: 2|text none  top/b: 2|text c  top/c/d/e: 3|");
}
END_TEST

START_TEST(folders_have_a_deepest_one)
{
    char name[600] = "d";
    for (int i = 0; i < 70; i++)
        strcat(name, "/d");
    strcat(name, "/file");
    write_text(name, "x");
    struct heard heard = {.documents = 0};
    const struct nb_files_options options = {.label = NULL};
    struct nb_error error = {0};
    ck_assert_int_eq(read_path(&options, path_of("d"), &heard, &error), 0);
    ck_assert_uint_eq(heard.documents, 0);
    ck_assert_uint_eq(heard.skipped, 1);
    ck_assert_ptr_nonnull(strstr(heard.text.bytes, "nested too deeply"));
    nb_buffer_deinit(&heard.text);
}
END_TEST

START_TEST(labels_stand_before_a_path)
{
    const struct nb_files_options options = {.label = "ham"};
    char given[200];
    (void)snprintf(given, sizeof given, "spam=%s", write_text("x", "1"));
    expect_with(&options, given, "text spam  x: 1|");
    /* A file whose whole name is a=b gives no label. */
    expect_with(&options, write_text("a=b", "2"), "text ham  a=b: 2|");
}
END_TEST

static void make_maildir(const char *name, const char *content)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/cur/1.host:2,S", name);
    write_text(path, content);
    (void)snprintf(path, sizeof path, "%s/cur/2.host:2,ST", name);
    write_text(path, "trashed");
    (void)snprintf(path, sizeof path, "%s/cur/3.host:2,D", name);
    write_text(path, "draft");
    (void)snprintf(path, sizeof path, "%s/new/4.host", name);
    write_text(path, "new");
    (void)snprintf(path, sizeof path, "%s/tmp/5.host", name);
    write_text(path, "tmp");
}

START_TEST(a_maildir_is_its_mails)
{
    make_maildir("M", "read");
    make_maildir("M/.Junk", "junk");
    make_maildir("M/.Trash", "bin");
    make_maildir("M/.Work", "work");
    expect(path_of("M"), "text   M/cur/1.host:2,S: read|text   M/new/4.host: new|");
    const struct nb_files_options all = {.label = "ham", .is_recursive = true};
    expect_with(&all, path_of("M"),
                "text ham  M/cur/1.host:2,S: read|text ham  M/new/4.host: new|"
                "text ham  M/.Junk/cur/1.host:2,S: junk|text ham  M/.Junk/new/4.host: new|"
                "text ham  M/.Work/cur/1.host:2,S: work|text ham  M/.Work/new/4.host: new|");
    const struct nb_files_options junk = {.folders = {.items = {"Junk=spam"}, .count = 1}};
    expect_with(&junk, path_of("M"),
                "text spam  M/.Junk/cur/1.host:2,S: junk|text spam  M/.Junk/new/4.host: new|");
    const struct nb_files_options both = {
        .label = "ham", .is_recursive = true, .folders = {{"Work=", "Trash=spam"}, 2}};
    expect_with(&both, path_of("M"),
                "text ham  M/cur/1.host:2,S: read|text ham  M/new/4.host: new|"
                "text ham  M/.Junk/cur/1.host:2,S: junk|text ham  M/.Junk/new/4.host: new|"
                "text spam  M/.Trash/cur/1.host:2,S: bin|text spam  M/.Trash/new/4.host: new|");
}
END_TEST

START_TEST(bytes_are_added_up)
{
    const struct nb_files_options options = {.label = NULL};
    const struct nb_files_options index = {.format = "index"};
    write_text("top/a", "12345");
    write_text("top/b/c", "123");
    char *paths[] = {path_of("top"), path_of("top/a")};
    char *with_stdin[] = {path_of("top"), strdup("-")};
    ck_assert_uint_eq(nb_files_bytes(&options, paths, 2), 13);
    ck_assert_uint_eq(nb_files_bytes(&options, with_stdin, 2), 0);
    ck_assert_uint_eq(nb_files_bytes(&options, paths, 0), 0);
    ck_assert_uint_eq(nb_files_bytes(&index, paths, 2), 0);
    free(with_stdin[1]);
}
END_TEST

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct {
    const char *name, *columns, *bytes, *wanted;
} tables[] = {
    {"a.csv", NULL, "label,text\nham,hello\nspam,buy\n",
     "text ham  a.csv:2: hello|text spam  a.csv:3: buy|"},
    {"a.csv", NULL, "ID,Text,Label\r\n7,hello,ham\r\n", "text ham 7 a.csv:2: hello|"},
    {"a.csv", NULL, "ham,hello\n\nspam,buy", "text ham  a.csv:1: hello|text spam  a.csv:3: buy|"},
    {"a.csv", NULL, "ham,\"a \"\"b\"\", c\"\n", "text ham  a.csv:1: a \"b\", c|"},
    {"a.csv", NULL, "ham,\"two\nlines\"\nham,x\n",
     "text ham  a.csv:1: two\nlines|text ham  a.csv:2: x|"},
    {"a.csv", NULL, "ham,\"closed\"rest\n", "text ham  a.csv:1: closedrest|"},
    {"a.csv", NULL, "ham,a\"b\n", "text ham  a.csv:1: a\"b|"},
    {"a.csv", NULL, "ham,\"\"\n", "text ham  a.csv:1: |"},
    {"a.csv", NULL, "ham,\"not closed\n", "! a.csv: row 1: a quote is not closed|"},
    {"a.csv", NULL, "ham,x\nham,\"not\nclosed\n",
     "text ham  a.csv:1: x|! a.csv: row 2: a quote is not closed|"},
    {"a.csv", NULL, "a,b,c\n",
     "! a.csv: the first line names no column text or mail: say which it is, as in --columns "
     "text=COLUMN,label=COLUMN (there are: a, b, c)" OR_NO_HEADER "|"},
    {"a.csv", NULL, "only\n",
     "! a.csv: the first line names no column text or mail: say which it is, as in --columns "
     "text=COLUMN,label=COLUMN (there are: only)" OR_NO_HEADER "|"},
    /* Names of columns that other programs use. */
    {"a.csv", NULL, "Category,Message\nham,hello\n", "text ham  a.csv:2: hello|"},
    {"a.csv", NULL, "message,category\nhello,ham\n", "text ham  a.csv:2: hello|"},
    {"a.csv", NULL, "ID,Queue,Priority,Description\n7,ham,high,hello\n",
     "text ham 7 a.csv:2: hello|"},
    {"a.csv", NULL, "body,message,class\nx,y,ham\n",
     "! a.csv: the first line names no column text or mail: say which it is, as in --columns "
     "text=COLUMN,label=COLUMN (there are: body, message, class)" OR_NO_HEADER "|"},
    {"a.csv", "label,text", "Category,Message\nham,hello\n", "text ham  a.csv:2: hello|"},
    {"a.csv", NULL, "category,text\nham,hello\n", "text ham  a.csv:2: hello|"},
    {"a.csv", NULL, "tag,Text,label\nx,hello,ham\n", "text ham  a.csv:2: hello|"},
    {"a.csv", NULL, "tag,text,class\nx,hello,ham\n", "text   a.csv:2: hello|"},
    {"a.csv", NULL, "Category;Message\nham;hello, you\n", "text ham  a.csv:2: hello, you|"},
    {"a.csv", NULL, "ham;hello\nspam;\"buy; now\"\n",
     "text ham  a.csv:1: hello|text spam  a.csv:2: buy; now|"},
    {"a.csv", NULL, "ham,hello; you\n", "text ham  a.csv:1: hello; you|"},
    {"a.csv", "text", "hello; you\n", "text   a.csv:1: hello; you|"},
    {"a.tsv", NULL, "ham\thello; you, too\n", "text ham  a.tsv:1: hello; you, too|"},
    {"a.csv", "id,text,label", "id,text,label\n7,hello,ham\n", "text ham 7 a.csv:2: hello|"},
    {"a.csv", "label,text", "ham,message\nham,hello\n",
     "text ham  a.csv:1: message|text ham  a.csv:2: hello|"},
    /* Columns with unknown names: the label of the first line does not occur again, other labels
     * do. */
    {"a.csv", NULL, "Sorte,Nachricht\nham,a b\nspam,c\nham,d\n",
     "text ham  a.csv:2: a b|text spam  a.csv:3: c|text ham  a.csv:4: d|"},
    {"a.csv", NULL, "Sorte,zwei Worte\nham,a\nham,b\n",
     "text Sorte  a.csv:1: zwei Worte|text ham  a.csv:2: a|text ham  a.csv:3: b|"},
    {"a.csv", NULL, "x,one\ny,two\nz,three\n",
     "text x  a.csv:1: one|text y  a.csv:2: two|text z  a.csv:3: three|"},
    {"a.csv", "label,text", "Sorte,Nachricht\nham,a\nham,b\n",
     "text Sorte  a.csv:1: Nachricht|text ham  a.csv:2: a|text ham  a.csv:3: b|"},
    {"a.csv", NULL, "label,text\nham\n", "! a.csv: row 2 has too few columns|"},
    {"a.csv", NULL, "text,label\nhello\n", "text   a.csv:2: hello|"},
    {"a.csv", NULL, "label,mail\nham,hi\n", "mail ham  a.csv:2: hi|"},
    {"a.csv", "text,label", "hello,ham\n", "text ham  a.csv:1: hello|"},
    {"a.csv", "-,text,-", "1,hello,2,3\n", "text   a.csv:1: hello|"},
    {"a.csv", NULL, "", "! a.csv: is empty|"},
    {"a.csv", NULL, "\n\n\r\n", "! a.csv: is empty|"},
    {"a.tsv", NULL, "ham\t\"quoted\"\nspam\tx\n",
     "text ham  a.tsv:1: \"quoted\"|text spam  a.tsv:2: x|"},
    {"a.TSV", NULL, "text\tlabel\na,b\tham\n", "text ham  a.TSV:2: a,b|"},
    {"a.csv", NULL,
     "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33\n",
     "! a.csv: row 1 has more than 32 columns|"},
};

START_TEST(tables_are_read)
{
    const struct nb_files_options options = {.columns = tables[_i].columns};
    expect_with(&options, write_text(tables[_i].name, tables[_i].bytes), tables[_i].wanted);
}
END_TEST

/* A list of 33 columns. */
#define LONG_LIST "text,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-,-"

/* ---- columns that a header names ------------------------------------------------------------- */

static const struct {
    const char *columns, *bytes, *wanted;
} mapped[] = {
    {"text=description+title,label=category,id=ticket",
     "ticket,title,description,category\n7,Refund,\"my money,\nnow\",billing\n8,No line,,network\n",
     "text billing 7 a.csv:2: my money,\nnow\nRefund|text network 8 a.csv:3: No line|"},
    {"text=text,label=label", "label,text\nlabel,text\n", "text label  a.csv:2: text|"},
    {"text=t", "\xEF\xBB\xBFt,u\nhello,x\n", "text   a.csv:2: hello|"},
    {"text=t", "\xEF\xBB\xBF\"t\"\nhello\n", "text   a.csv:2: hello|"},
    {"mail=m", "m\nhi\n", "mail   a.csv:2: hi|"},
    {"text=t", "t,u\n,x\n", "text   a.csv:2: |"},
    {"text=a=b", "a=b\nx\n", "text   a.csv:2: x|"},
    {"country=c,amount=n,label=l", "l,c,n\nyes,DE,12.50\nno,\"say \"\"hi\"\"\",\nno,,\n",
     "text yes  a.csv:2: {\"country\":\"DE\",\"amount\":12.50}|"
     "text no  a.csv:3: {\"country\":\"say \\\"hi\\\"\"}|text no  a.csv:4: {}|"},
    {"text=t,amount=n", "t,n\nhello,-1e3\n,5\n",
     "text   a.csv:2: hello{\"amount\":-1e3}|text   a.csv:3: {\"amount\":5}|"},
    {"amount=n", "n\n007\n+5\n.5\n 3 \n",
     "text   a.csv:2: {\"amount\":7}|text   a.csv:3: {\"amount\":5}|"
     "text   a.csv:4: {\"amount\":0.5}|text   a.csv:5: {\"amount\":3}|"},
    {"tags=t", "t,x\nvip; urgent ,1\n;,1\n,1\na;;b,1\nDE,1\n",
     "text   a.csv:2: {\"tags\":[\"vip\",\"urgent\"]}|text   a.csv:3: {\"tags\":[]}|"
     "text   a.csv:4: {}|text   a.csv:5: {\"tags\":[\"a\",\"b\"]}|text   a.csv:6: "
     "{\"tags\":[\"DE\"]}|"},
    {"title=a+b", "a,b\nx,y\n,z\n",
     "text   a.csv:2: {\"title\":\"x\\ny\"}|text   a.csv:3: {\"title\":\"z\"}|"},
    {"other=a", "a\n12;13\n\xFF\n",
     "text   a.csv:2: {\"other\":\"12;13\"}|text   a.csv:3: {\"other\":\"\xC3\xBF\"}|"},
    {"amount=n", "n,x\n1,\"a\nb\"\n\n\"12.5 EUR\",c\n2,d\n",
     "text   a.csv:2: {\"amount\":1}|! a.csv: line 5, column 'n': '12.5 EUR' is not a number|"
     "text   a.csv:5: {\"amount\":2}|"},
    {"amount=n", "n,x\n\"12,5\",c\n\"-,5\",d\n",
     "text   a.csv:2: {\"amount\":12.5}|text   a.csv:3: {\"amount\":-0.5}|"},
    {"amount=n", "n;x\n1,234;c\n", "text   a.csv:2: {\"amount\":1.234}|"},
    {"amount=n", "n\n0x10\n", "! a.csv: line 2, column 'n': '0x10' is not a number|"},
    {"amount=n", "n\ninf\n", "! a.csv: line 2, column 'n': 'inf' is not a number|"},
    {"amount=n", "n\n1e999\n", "! a.csv: line 2, column 'n': '1e999' is not a number|"},
    {"amount=n,text=t", "t,n\n\na,1\nb\n",
     "text   a.csv:3: a{\"amount\":1}|! a.csv: line 4 has too few columns: 'n' is not there|"},
    {"text=t", "\na,b\nx,y\n", "! a.csv: line 2, the header, has no column 't' (there are: a, b)|"},
    {"text=t,label=l", "no;l;t\r\n1;ham;\"a; \"\"b\"\"\r\nc, d\"\r\n\r\n2;spam;e\r\n",
     "text ham  a.csv:2: a; \"b\"\nc, d|text spam  a.csv:4: e|"},
    {"text=t,label=l", "\"t;x\"; l ; t\n1,5;ham;a\n", "text ham  a.csv:2: a|"},
    {"text=t,label=l", "l\tt\nham\t\"a\tb\"\n", "text ham  a.csv:2: a\tb|"},
    {"text=t", "t\na;b\n", "text   a.csv:2: a;b|"},
    {"text=t", "t,T,t\nx,y,z\n", "! a.csv: line 1, the header, has more than one column 't'|"},
    {"text=t", "", "! a.csv: is empty|"},
};

START_TEST(columns_of_a_header_are_values_of_fields)
{
    json_t *fields = json_pack("{s:s, s:s, s:s, s:s}", "title", "text", "country", "category",
                               "tags", "set", "amount", "number");
    const struct nb_files_options options = {.columns = mapped[_i].columns, .fields = fields};
    expect_with(&options, write_text("a.csv", mapped[_i].bytes), mapped[_i].wanted);
    json_decref(fields);
}
END_TEST

START_TEST(wrong_columns_end_the_run)
{
    static const char *const wrong[] = {"label",
                                        "text,name",
                                        "text,,label",
                                        "-",
                                        LONG_LIST,
                                        "text=",
                                        "=a",
                                        "text=a,b",
                                        "text=a+",
                                        "text=+a",
                                        "text=a+b+c+d+e+f+g+h+i",
                                        "label=a",
                                        "label=a+b,text=c",
                                        "text=a,mail=b",
                                        "text=a,text=b",
                                        "amount=a+b",
                                        "text=a,,id=b"};
    char *path = write_text("a.csv", "a,b\n");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct nb_files_options options = {.columns = wrong[i]};
        struct heard heard = {.documents = 0};
        struct nb_error error = {0};
        ck_assert_msg(read_path(&options, path, &heard, &error) == NB_CLIENT_USAGE, "row %zu", i);
        ck_assert_ptr_nonnull(strstr(error.text, "--columns"));
        nb_buffer_deinit(&heard.text);
    }
}
END_TEST

START_TEST(nul_bytes_are_no_table)
{
    static const char bytes[] = "ham,a\0b\n";
    expect(write_bytes("a.csv", bytes, 8),
           "! a.csv: line 1 has NUL bytes, so it is no text; if it is UTF-16, --charset utf-16le "
           "(or utf-16be) reads it|");
}
END_TEST

/* ---- charsets and forms of tables ------------------------------------------------------------ */

#define ROWS "text ham  a.csv:2: M\xC3\xBCll|text spam  a.csv:3: 5 \xE2\x82\xAC|"
#define OF(bytes) bytes, sizeof(bytes) - 1

static const struct {
    const char *bytes;
    size_t length;
    const char *charset, *wanted;
} charsets[] = {
    {OF("label,text\nham,M\xC3\xBCll\nspam,5 \xE2\x82\xAC\n"), NULL, ROWS},
    {OF("\xEF\xBB\xBFlabel,text\r\nham,M\xC3\xBCll\r\nspam,5 \xE2\x82\xAC\r\n"), NULL, ROWS},
    {OF("label,text\r\nham,M\xFCll\r\nspam,5 \x80\r\n"), NULL, ROWS},
    {OF("label,text\rham,M\xFCll\rspam,5 \x80\r"), NULL, ROWS},
    {OF("label,text\rham,M\xC3\xBCll\rspam,5 \xE2\x82\xAC"), NULL, ROWS},
    {OF("label,text\nham,M\xFCll\nspam,5 \x80\n"), "windows-1252", ROWS},
    {OF("label,text\nham,M\x81ll\nspam,5 \xD5\n"), "cp858", ROWS},
    {OF("\xFF\xFEl\0a\0b\0e\0l\0\t\0t\0e\0x\0t\0\r\0\n\0h\0a\0m\0\t\0M\0\xFC\0l\0l\0\r\0\n\0"
        "s\0p\0a\0m\0\t\0005\0 \0\xAC\x20\r\0\n\0"),
     NULL, ROWS},
    {OF("l\0a\0b\0e\0l\0,\0t\0e\0x\0t\0\n\0h\0a\0m\0,\0M\0\xFC\0l\0l\0\n\0s\0p\0a\0m\0,\0005\0 \0"
        "\xAC\x20\n\0"),
     NULL, ROWS},
    {OF("\xFE\xFF\0l\0a\0b\0e\0l\0,\0t\0e\0x\0t\0\n\0h\0a\0m\0,\0M\0\xFC\0l\0l\0\n\0s\0p\0a\0m\0,"
        "\0005\0 \x20\xAC"),
     NULL, ROWS},
    /* A file that is neither UTF-8 nor windows-1252 is refused as a whole. */
    {OF("label,text\nham,good\nspam,M\x81ll\n"), NULL,
     "! a.csv: is neither UTF-8 nor windows-1252 (line 3 is the first with bytes above 127): say "
     "its charset, as in --charset cp850|"},
    {OF("label,text\nham,M\xC3\xBCll\nspam,5 \xFC\n"), NULL,
     "! a.csv: is UTF-8, but line 3 has bytes that are not: mend it, or use --charset utf-8, which "
     "reads those bytes as windows-1252|"},
    {OF("label,text\nham,M\xC3\xBCll\nspam,5 \x80\n"), "utf-8", ROWS},
    {OF("label,text\nham,\xFF\xFF\n"), "euc-jp",
     "! a.csv: line 2 has bytes that are no characters of euc-jp: name another one with "
     "--charset|"},
    {OF("label,text\nham,M\xFCll\n"), "nonsense", "! a.csv: charset: \"nonsense\" is not known|"},
    {OF("label,text\nham,M\xEF\xBF\xBDll\nM\xEF\xBF\xBDll,x\n"), NULL,
     "text ham  a.csv:2: M\xEF\xBF\xBDll|! a.csv: a.csv:3: the label 'M\xEF\xBF\xBDll' has U+FFFD, "
     "which stands for bytes that were lost in a wrong charset: write the file anew from its "
     "source|"},
};

START_TEST(tables_of_all_charsets_are_read_or_refused)
{
    const struct nb_files_options options = {.charset = charsets[_i].charset};
    ck_assert_int_eq(chdir(folder), 0);
    (void)write_bytes("a.csv", charsets[_i].bytes, charsets[_i].length);
    char name[] = "a.csv";
    expect_with(&options, name, charsets[_i].wanted);
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

static const struct {
    const char *bytes, *wanted;
} forms[] = {
    {"sep=;\r\nlabel;text\r\nham;a, b\r\nspam;c\r\n",
     "text ham  a.csv:3: a, b|text spam  a.csv:4: c|"},
    {"SEP=,\nlabel,text\nham,a\n", "text ham  a.csv:3: a|"},
    {"sep=|\nlabel|text\nham|a;b,c\n", "text ham  a.csv:3: a;b,c|"},
    {"id;text;label\n1;a, b;ham\n2;c;spam\n", "text ham 1 a.csv:2: a, b|text spam 2 a.csv:3: c|"},
    {"ham;a, b\nspam;c\n", "text ham  a.csv:1: a, b|text spam  a.csv:2: c|"},
    {"label|text\nham|a\nspam|b\n", "text ham  a.csv:2: a|text spam  a.csv:3: b|"},
    {"label,text\rham,\"a\nb\"\rspam,c\r", "text ham  a.csv:2: a\nb|text spam  a.csv:3: c|"},
    {"label,text\n", "! a.csv: has a header and no row: there is nothing to read in it|"},
    {"\xEF\xBB\xBF", "! a.csv: is empty|"},
    {"\n\r\n", "! a.csv: is empty|"},
    {"label,text\nham,a, b\nspam,c\n",
     "! a.csv: line 2 has 3 cells, and the first row 2: a text with the separator ',' in it must "
     "stand in double quotes|text spam  a.csv:3: c|"},
    {"label,text,,\nham,a,,\n", "text ham  a.csv:2: a|"},
};

START_TEST(tables_of_all_forms_are_read_or_refused)
{
    expect(write_text("a.csv", forms[_i].bytes), forms[_i].wanted);
}
END_TEST

START_TEST(lines_are_documents)
{
    const struct nb_files_options options = {.format = "lines", .label = "ham"};
    expect_with(&options, write_text("a.txt", "one, two\r\n\n \n\"three\"\n"),
                "text ham  a.txt:1: one, two|text ham  a.txt:4: \"three\"|");
    expect_with(&options, write_text("b.txt", "M\xFCll\rzwei\r"),
                "text ham  b.txt:1: M\xC3\xBCll|text ham  b.txt:2: zwei|");
    expect_with(&options, write_text("c.txt", "\n"), "! c.txt: is empty|");
}
END_TEST

START_TEST(columns_name_members_of_json_lines)
{
    const struct nb_files_options options = {.columns = "text=subject+body,label=queue,id=no"};
    expect_with(&options,
                write_text("a.jsonl",
                           "{\"subject\": \"s\", \"body\": \"b\", \"queue\": 3, \"no\": 7}\n"
                           "{\"body\": \"c\", \"queue\": \"x\"}\n"
                           "{\"title\": \"d\", \"queue\": \"x\"}\n"
                           "{\"subject\": {}, \"queue\": \"x\"}\n"),
                "text 3 7 a.jsonl:1: s\nb|text x  a.jsonl:2: c|"
                "! a.jsonl: line 3 has no member 'body' (there are: title, queue)|"
                "! a.jsonl: line 4: the member \"subject\" is an object; a string or a number is "
                "needed|");
    const struct nb_files_options list = {.columns = "label,text"};
    struct heard heard = {.documents = 0};
    struct nb_error error = {0};
    ck_assert_int_eq(read_path(&list, write_text("b.jsonl", "{}\n"), &heard, &error),
                     NB_CLIENT_USAGE);
    nb_buffer_deinit(&heard.text);
}
END_TEST

/* ---- NDJSON ---------------------------------------------------------------------------------- */

static const struct {
    const char *bytes, *wanted;
} lines[] = {
    {"{\"text\": \"a\\nb\", \"label\": \"ham\", \"id\": \"7\"}\n", "text ham 7 a.ndjson:1: a\nb|"},
    {"\n\r\n{\"mail\": \"x\"}", "mail   a.ndjson:3: x|"},
    {"{\"mail_base64\": \"aGVsbG8=\"}\n", "mail   a.ndjson:1: hello|"},
    {"{\"mail_base64\": \"aGVs bG8\"}\n", "mail   a.ndjson:1: hello|"},
    {"{\"mail_base64\": \"aGVsbG8=aGVs\"}\n", "! a.ndjson: line 1: mail_base64 is not base64|"},
    {"{\"mail_base64\": \"a\"}\n", "! a.ndjson: line 1: mail_base64 is not base64|"},
    {"{\"mail_base64\": \"aGVs*G8=\"}\n", "! a.ndjson: line 1: mail_base64 is not base64|"},
    {"{\"mail_base64\": 7}\n",
     "! a.ndjson: line 1: the member \"mail_base64\" is no string, which it must be|"},
    {"{\"text\": null}\n",
     "! a.ndjson: line 1 has no text, mail, mail_base64 or values: it has text "
     "(--columns text=NAME,label=NAME says what they are)|"},
    {"{\"values\": {\"a\": [1, \"b\"]}, \"label\": \"ham\"}\n",
     "text ham  a.ndjson:1: {\"a\":[1,\"b\"]}|"},
    {"{\"text\": \"t\", \"values\": {\"n\": 0.5}}\n{\"mail\": \"m\", \"values\": {}}\n",
     "text   a.ndjson:1: t{\"n\":0.5}|mail   a.ndjson:2: m{}|"},
    {"{\"text\": \"t\", \"values\": 7}\n", "! a.ndjson: line 1: values is not an object|"},
    {"{\"values\": [\"\"]}\n", "! a.ndjson: line 1: values is not an object|"},
    {"{}\n", "! a.ndjson: line 1 has no text, mail, mail_base64 or values|"},
    {"[]\n",
     "! a.ndjson: line 1 is not a JSON object, as in {\"text\": \"...\", \"label\": \"...\"}|"},
    {"\"text\"\n",
     "! a.ndjson: line 1 is not valid JSON: byte 6: '[' or '{' expected near '\"text\"'|"},
    {"{\"text\": \"a\", \"text\": \"b\"}\n",
     "! a.ndjson: line 1 is not valid JSON: byte 20: duplicate object key near '\"text\"'|"},
    {"{\"text\": \"a\"}\n{\"text\": \"b", "text   a.ndjson:1: a|! a.ndjson: line 2 is not valid "
                                          "JSON: byte 11: premature end of input near "
                                          "'\"b'|"},
    {"{\"text\": \"a\"} {\"text\": \"b\"}\n{\"text\": \"c\"}\n",
     "! a.ndjson: line 1 is not valid JSON: byte 15: end of file expected near '{'|"
     "text   a.ndjson:2: c|"},
    {"{\"text\": \"\xFF\"}\n", "text   a.ndjson:1: \xC3\xBF|"},
    {"{\"text\": \"a\", \"label\": 7, \"id\": 12.5}\n", "text 7 12.5 a.ndjson:1: a|"},
    {"{\"text\": \"a\", \"label\": [7]}\n{\"text\": \"b\", \"label\": \"x\"}\n",
     "! a.ndjson: line 1: the member \"label\" is a list; a string or a number is needed|"
     "text x  a.ndjson:2: b|"},
    {"{\"text\": \"a\", \"label\": \" ham\xC2\xA0\"}\n", "text ham  a.ndjson:1: a|"},
    {"{\"text\": \"a\", \"label\": \"Mu\xCC\x88ll\"}\n", "text M\xC3\xBCll  a.ndjson:1: a|"},
};

START_TEST(json_lines_are_read)
{
    expect(write_text("a.ndjson", lines[_i].bytes), lines[_i].wanted);
}
END_TEST

/* ---- index ----------------------------------------------------------------------------------- */

START_TEST(an_index_lists_files)
{
    const struct nb_files_options options = {.format = "index", .label = "not used"};
    write_text("data/1", "one");
    write_text("data/2", MAIL);
    char list[600];
    (void)snprintf(list, sizeof list,
                   "# a comment\n\nham ../data/1 train\r\nspam\t../data/2\ttest\nham ../data/3\n"
                   "spam %s other\n",
                   path_of("data/1"));
    expect_with(&options, write_text("full/index", list),
                "train text ham  full/../data/1: one|test mail spam  full/../data/2: " MAIL
                "|! full/../data/3: cannot be opened: No such file or directory|"
                "text spam  data/1: one|");
    expect_with(&options, write_text("index", "ham data/1\nham\n"),
                "text ham  data/1: one|! index: is not an index: a line is LABEL FILE|");
    expect_with(&options, write_bytes("index", "ham a\0b\n", 8),
                "! index: is not an index: a line is LABEL FILE|");
}
END_TEST

START_TEST(an_index_may_name_a_long_path)
{
    const struct nb_files_options options = {.format = "index"};
    char list[6000];
    memset(list, 'x', sizeof list);
    memcpy(list, "ham ", 4);
    list[sizeof list - 1] = '\n';
    expect_with(&options, write_bytes("index", list, sizeof list),
                "! index: names a path that is too long|");
}
END_TEST

/* ---- any bytes ------------------------------------------------------------------------------- */

START_TEST(random_files_do_no_harm)
{
    static const char *const formats[] = {"file", "mbox", "csv", "tsv", "ndjson", "index", NULL};
    static const char *const pieces[] = {
        "From ", "\n",   "\r\n",        "\"", ",", "\t", "{\"text\":\"", "\"}", "From: a\nTo: b\n",
        "\0",    "\xFF", "label,text\n"};
    unsigned seed = 1763;
    for (int round = 0; round < 700; round++) {
        struct nb_buffer bytes = {0};
        struct heard heard = {.documents = 0};
        struct nb_error error = {0};
        size_t count = (size_t)rand_r(&seed) % 60;
        for (size_t i = 0; i < count; i++) {
            const char *piece = pieces[(size_t)rand_r(&seed) % (sizeof pieces / sizeof *pieces)];
            size_t length = *piece == '\0' ? 1 : strlen(piece);
            ck_assert_int_eq(nb_buffer_append(&bytes, piece, length), 0);
        }
        const struct nb_files_options options = {.format = formats[round % 7]};
        char *path = write_bytes("any", bytes.length > 0 ? bytes.bytes : "", bytes.length);
        ck_assert_int_eq(read_path(&options, path, &heard, &error), 0);
        nb_buffer_deinit(&bytes);
        nb_buffer_deinit(&heard.text);
    }
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
    Suite *suite = suite_create("files");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, mails_are_recognized, 0, COUNT(looks));
    tcase_add_loop_test(all, what_is_no_text_is_recognized, 0, COUNT(neither));
    tcase_add_test(all, binary_files_are_no_documents);
    tcase_add_test(all, a_single_file_is_a_document);
    tcase_add_test(all, bytes_above_127_are_windows_1252);
    tcase_add_test(all, a_file_that_is_too_large_is_skipped);
    tcase_add_test(all, an_unknown_format_ends_the_run);
    tcase_add_test(all, take_ends_the_run);
    tcase_add_test(all, an_mbox_is_split);
    tcase_add_test(all, what_is_not_an_mbox_is_skipped);
    tcase_add_test(all, an_mbox_is_split_wherever_a_read_ends);
    tcase_add_test(all, folders_are_walked_in_order);
    tcase_add_test(all, folders_have_a_deepest_one);
    tcase_add_test(all, labels_stand_before_a_path);
    tcase_add_test(all, a_maildir_is_its_mails);
    tcase_add_test(all, bytes_are_added_up);
    tcase_add_loop_test(all, tables_are_read, 0, COUNT(tables));
    tcase_add_loop_test(all, columns_of_a_header_are_values_of_fields, 0, COUNT(mapped));
    tcase_add_test(all, wrong_columns_end_the_run);
    tcase_add_test(all, nul_bytes_are_no_table);
    tcase_add_loop_test(all, tables_of_all_charsets_are_read_or_refused, 0, COUNT(charsets));
    tcase_add_loop_test(all, tables_of_all_forms_are_read_or_refused, 0, COUNT(forms));
    tcase_add_test(all, lines_are_documents);
    tcase_add_test(all, columns_name_members_of_json_lines);
    tcase_add_loop_test(all, json_lines_are_read, 0, COUNT(lines));
    tcase_add_test(all, an_index_lists_files);
    tcase_add_test(all, an_index_may_name_a_long_path);
    tcase_add_test(all, random_files_do_no_harm);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
