/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the inputs for which the tokenizer needs the most processor time per megabyte: what a
 * hostile mail can cost.
 *
 *     bench_hostile charsets               crafted texts in every charset of `iconv -l`
 *     bench_hostile mails [RUNS [SEED]]    crafted mails, and RUNS changed copies of them
 *     bench_hostile FOLDER [RUNS [SEED]]   every file below a folder, and RUNS changed copies
 *
 * Prints the worst cases, the worst last. The time is the processor time of the thread. An input of
 * less than 16 KiB counts as 16 KiB. An input that seems slow is measured three times, and the
 * least time counts.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "tokenizer/charset.h"
#include "tokenizer/document.h"

enum { CRAFTED = 1 << 20, CHARSET_BYTES = 1 << 14, LEAST = 1 << 14, WORST = 10, MOST = 16 << 20 };

static struct nb_key key;
static struct nb_bag bag;
static uint64_t seed = 1763;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) * below >> 31);
}

/* ---- the time -------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_of(const struct nb_buffer *mail)
{
    const struct nb_tokenizer_settings all = {.fields = (1u << NB_FIELDS) - 1};
    const struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    const struct nb_document document = {
        .kind = NB_DOCUMENT_MAIL, .bytes = mail->bytes, .length = mail->length};
    double begin = cpu_seconds();
    if (nb_document_tokenize(&document, &key, &all, &limits, &bag) != 0)
        exit(EXIT_FAILURE);
    return cpu_seconds() - begin;
}

static double seconds_per_megabyte(const struct nb_buffer *mail)
{
    double least = seconds_of(mail);
    double bytes = mail->length < LEAST ? LEAST : (double)mail->length;
    for (int again = 0; again < 2 && least / bytes > 0.03e-6; again++) {
        double seconds = seconds_of(mail);
        least = seconds < least ? seconds : least;
    }
    return least / bytes * 1e6;
}

static struct worst {
    double seconds; /* per megabyte */
    char name[160];
} worst[WORST]; /* sorted, the worst first */

static uint64_t measured;

static void measure(const char *name, const struct nb_buffer *mail)
{
    double seconds = seconds_per_megabyte(mail);
    size_t at = WORST;
    measured++;
    while (at > 0 && worst[at - 1].seconds < seconds)
        at--;
    if (at == WORST)
        return;
    memmove(worst + at + 1, worst + at, (WORST - 1 - at) * sizeof *worst);
    worst[at].seconds = seconds;
    (void)snprintf(worst[at].name, sizeof worst[at].name, "%s", name);
}

static void report(void)
{
    for (size_t i = WORST; i > 0; i--)
        if (worst[i - 1].seconds > 0)
            printf("%.4f s/MB  %s\n", worst[i - 1].seconds, worst[i - 1].name);
    printf("worst of %llu inputs: %.4f s/MB\n", (unsigned long long)measured, worst[0].seconds);
}

static void check(int rc)
{
    if (rc != 0) {
        (void)fprintf(stderr, "bench_hostile: out of memory\n");
        exit(EXIT_FAILURE);
    }
}

/* ---- charsets -------------------------------------------------------------------------------- */

#define UNIT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* Repeated to make a text, also after "+", which starts base64 in UTF-7: lone surrogates, escape
 * sequences, shifts, characters that are cut off. */
static const struct nb_string units[] = {UNIT("2AA"),
                                         UNIT("2AAA"),
                                         UNIT("+2AA-"),
                                         UNIT("+3AA-"),
                                         UNIT("3Ba3+"),
                                         UNIT("&2AA-"),
                                         UNIT("3AA"),
                                         UNIT("+"),
                                         UNIT("+-"),
                                         UNIT("a+AGE"),
                                         UNIT("\xD8\x00"),
                                         UNIT("\x00\xD8"),
                                         UNIT("\x00\x00\xD8\x00"),
                                         UNIT("\x00\xD8\x00\x00"),
                                         UNIT("\x7F\xFF\xFF\xFF"),
                                         UNIT("\xED\xA0\x80"),
                                         UNIT("\x1B"),
                                         UNIT("\x1B("),
                                         UNIT("\x1B$"),
                                         UNIT("\x1B$B"),
                                         UNIT("\x1B(B"),
                                         UNIT("\x1B$B\x1B(B"),
                                         UNIT("\x1B$B!"),
                                         UNIT("\x1B$B\x7F\x7F"),
                                         UNIT("\x1B$(D"),
                                         UNIT("\x1B$(Q"),
                                         UNIT("\x1B$)C\x0E\x0F"),
                                         UNIT("\x1B$)A\x0E!"),
                                         UNIT("\x1B.A\x1BN"),
                                         UNIT("\x0E"),
                                         UNIT("\x0F"),
                                         UNIT("\x0E\x0F"),
                                         UNIT("\x0E\xFF"),
                                         UNIT("\x8E\xA2"),
                                         UNIT("\x8F\xFF"),
                                         UNIT("\x81"),
                                         UNIT("\x81\x30"),
                                         UNIT("\x81\x30\x81"),
                                         UNIT("\x84\x31\xA5\x30"),
                                         UNIT("\x88\x62"),
                                         UNIT("\xA1\xFF"),
                                         UNIT("\xFF"),
                                         UNIT("\xFE"),
                                         UNIT("\x80"),
                                         UNIT("\xA0"),
                                         UNIT("\xE3"),
                                         UNIT("a\xFF"),
                                         UNIT("~{"),
                                         UNIT("\x00"),
                                         UNIT("e\xCC\x81"),
                                         UNIT("words of text ")};

static void fill(struct nb_buffer *out, struct nb_string unit, size_t bytes)
{
    size_t end = out->length + bytes;
    while (out->length < end)
        check(nb_buffer_append(out, unit.bytes, unit.length));
}

static struct nb_string random_unit(char bytes[8])
{
    size_t length = 1 + draw(6);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(draw(3) == 0 ? draw(128) : 128 + draw(128));
    return (struct nb_string){bytes, length};
}

static void measure_text(const char *charset, struct nb_string unit, const char *before, size_t i)
{
    struct nb_buffer mail = {0};
    char name[160];
    check(nb_buffer_printf(&mail,
                           "Content-Type: text/plain; charset=\"%s\"\n"
                           "Content-Transfer-Encoding: binary\n\n%s",
                           charset, before));
    fill(&mail, unit, CHARSET_BYTES);
    (void)snprintf(name, sizeof name, "%s, unit %zu behind \"%s\"", charset, i, before);
    measure(name, &mail);
    nb_buffer_deinit(&mail);
}

static void measure_file_name(const char *charset, struct nb_string unit, size_t i)
{
    struct nb_buffer mail = {0};
    char name[160];
    while (mail.length < CHARSET_BYTES) {
        check(nb_buffer_printf(&mail, "Content-Disposition: a; filename=\"=?%s?q?+", charset));
        for (size_t n = 0; n < 500; n++)
            check(nb_buffer_printf(&mail, "=%02X", (unsigned char)unit.bytes[n % unit.length]));
        check(nb_buffer_puts(&mail, "?=\"\n"));
    }
    (void)snprintf(name, sizeof name, "%s, unit %zu in a file name", charset, i);
    measure(name, &mail);
    nb_buffer_deinit(&mail);
}

static void measure_charset(const char *charset)
{
    static const char *const before[] = {"", "+", "\x1B$B", "\x1B$)C\x0E", "\x0E"};
    size_t count = sizeof units / sizeof *units;
    for (size_t i = 0; i < count; i++)
        measure_file_name(charset, units[i], i);
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < sizeof before / sizeof *before; b++)
            measure_text(charset, units[i], before[b], i);
    for (size_t i = 0; i < 64; i++) {
        char bytes[8];
        measure_text(charset, random_unit(bytes), before[i % 2], count + i);
    }
}

/* Returns a hash of the text that a charset decodes from all pairs of bytes; 0 if the charset does
 * not exist. */
static uint64_t signature(const char *charset)
{
    static char pairs[2 * 256 * 256];
    struct nb_buffer out = {0};
    for (size_t i = 0; i < sizeof pairs; i++)
        pairs[i] = (char)(i % 2 == 0 ? i / 512 : i / 2 % 256);
    int rc = nb_charset_to_utf8(NULL, (struct nb_string){charset, strlen(charset)}, pairs,
                                sizeof pairs, 8 * sizeof pairs, &out, NULL);
    uint64_t hash = rc == 0 ? nb_key_hash(&key, out.bytes, out.length) : 0;
    nb_buffer_deinit(&out);
    return hash;
}

/* Returns whether the charset differs from all before it: most names of `iconv -l` are aliases. */
static bool is_new(const char *charset)
{
    enum { MOST_CHARSETS = 4096 };
    static uint64_t seen[MOST_CHARSETS];
    static size_t count;
    uint64_t hash = signature(charset);
    for (size_t i = 0; i < count; i++)
        if (seen[i] == hash)
            return false;
    if (hash != 0 && count < MOST_CHARSETS)
        seen[count++] = hash;
    return hash != 0;
}

static void measure_charsets(void)
{
    char line[100]; /* longer than any name */
    FILE *names = popen("iconv -l", "re");
    if (names == NULL) {
        perror("bench_hostile: iconv -l");
        exit(EXIT_FAILURE);
    }
    while (fgets(line, sizeof line, names) != NULL) {
        line[strcspn(line, "/, \n")] = '\0';
        if (is_new(line))
            measure_charset(line);
    }
    (void)pclose(names);
}

/* ---- mails ----------------------------------------------------------------------------------- */

#define TEN(s) s s s s s s s s s s

/* `unit` is repeated up to CRAFTED bytes; '#' in it becomes the number of the copy. */
static const struct crafted {
    const char *name, *before, *unit;
} crafted[] = {
    {"UTF-7 in the body", "Content-Type: text/plain; charset=utf-7\n\n+", "3Ba3+"},
    {"UTF-7 in a Subject", "", "Subject: =?utf-7?q?+2AA2AA2AA2AA2AA2AA2AA2AA2AA2AA2AA2AA?=\n"},
    {"UTF-7 in long words", "", "Subject: =?utf-7?q?" TEN(TEN("+3AA-+3AA-+3AA-")) "?=\n"},
    {"UTF-7 in long file names", "",
     "Content-Disposition: a; filename*=utf-7''" TEN(TEN("%2B3AA-%2B3AA-")) "\n"},
    {"UTF-7 in long words of file names", "",
     "Content-Disposition: a; filename=\"=?utf-7?q?" TEN(TEN("+3AA-+3AA-")) "?=\"\n"},
    {"UTF-7 in long file names of parts", "Content-Type: multipart/mixed; boundary=x\n\n",
     "--x\nContent-Disposition: a; filename*=utf-7''" TEN(TEN("%2B3AA-%2B3AA-")) "\n\n"},
    {"UTF-7 in one long word", "Subject: =?utf-7?q?+", "+3AA-"},
    {"UTF-7 in a folded field", "To: =?utf-7?q?+2AA?=", "\n =?utf-7?q?+3AA-+3AA-+3AA-+3AA-?="},
    {"encoded words in base64", "",
     "X-A: =?utf-7?b?KzJBQTJBQTJBQTJBQTJBQTJBQTJBQTJBQTJBQTJBQQ==?=\n"},
    {"encoded words, many charsets", "",
     "X: =?euc-kr?q?=a1?= =?big5?q?=a1?= =?euc-jp?q?=a1?= =?gb18030?q?=a1?= =?koi8-t?q?=a1?= "
     "=?iso-2022-kr?q?=a1?= =?tscii?q?=a1?= =?johab?q?=a1?= =?ibm037?q?=a1?= "
     "=?ebcdic-us?q?=a1?=\n"},
    {"encoded words, unknown charsets", "", "X: =?x#?q?=a1?= =?y#?q?=a1?= =?z#?q?=a1?=\n"},
    {"encoded words that are none", "", "X: =?=?=?=?=?=?=?=?=?=?=?=?=?=?=?=?=?=?=?=?\n"},
    {"encoded words without an end", "X: ", "=?a?q?"},
    {"8-bit fields", "", "X: \xA1\xFF \xE3\x81 \xD0\xB0 \xFF\xFE\n"},
    {"8-bit words in a field", "Subject: =?utf-8?q?a?= ", "\xA1\xFF "},
    {"8-bit words beside encoded ones", "",
     "Subject: =?utf-8?q?a?= \xA1\xFF \xA1\xFF \xA1\xFF \xA1\xFF\n"},
    {"parameters", "Content-Type: text/plain", "; a#=b"},
    {"Content-Types", "", "Content-Type: a/b; c=d; e=f; g=h; i=j\n"},
    {"Content-Dispositions", "", "Content-Disposition: attachment; a=b; c=d; e=f; g=h; i=j; k=l\n"},
    {"parameters in pieces", "Content-Disposition: a", "; f*#*=utf-7''%2b3AA-"},
    {"parameters in a charset", "",
     "Content-Disposition: a; filename*=utf-7''+3AA-+3AA-+3AA-+3AA-2AA\n"},
    {"parameters in UTF-7 words", "",
     "Content-Disposition: a; filename=\"=?utf-7?q?+3AA-+3AA-+3AA-+3AA-?=\"\n"},
    {"fields of one letter", "", "a:\n"},
    {"fields", "", "x#: y\n"},
    {"addresses", "To: ", "a#@b.c, "},
    {"address fields", "", "To: a@b.c\n"},
    {"Received", "", "Received: from a.b.c ([1.2.3.4]) by d.e.f with g id h; i\n"},
    {"Message-IDs", "References: ", "<a#@b.c> "},
    {"folding", "X: a", "\n b"},
    {"lines that are no field", "X: a\n", "b\nY: c\n"},
    {"parts", "Content-Type: multipart/mixed; boundary=x\n\n", "--x\n\na#\n"},
    {"parts in many charsets", "Content-Type: multipart/mixed; boundary=x\n\n",
     "--x\nContent-Type: text/plain; charset=koi8-t\n\n\xA1\n--x\nContent-Type: text/plain; "
     "charset=tscii\n\n\xA1\n--x\nContent-Type: text/plain; charset=ebcdic-us\n\n\xA1\n--x\n"
     "Content-Type: text/plain; charset=big5\n\n\xA1\n"},
    {"multiparts", "", "Content-Type: multipart/mixed; boundary=x#\n\n--x#\n"},
    {"lines like boundaries",
     "Content-Type: multipart/mixed; boundary=-------------------------------a\n\n",
     "---------------------------------b\n"},
    {"messages", "", "Content-Type: message/rfc822\n\n"},
    {"base64", "Content-Transfer-Encoding: base64\n\n", "YWJj"},
    {"base64 with padding", "Content-Transfer-Encoding: base64\n\n",
     "QQ==QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w"},
    {"quoted-printable", "Content-Transfer-Encoding: quoted-printable\n\n", "=41=\n"},
    {"uuencode", "Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n", "#86%T\n"},
    {"begin lines", "Content-Transfer-Encoding: x-uuencode\n\n", "begin\n"},
    {"HTML: tags", "Content-Type: text/html\n\n", "<b>"},
    {"HTML: open styled elements", "Content-Type: text/html\n\n", "<b hidden>"},
    {"HTML: open elements of many names", "Content-Type: text/html\n\n", "<x# hidden></y>"},
    {"HTML: styles", "Content-Type: text/html\n\n",
     "<p style='color:#fff;display:none;font-size:0'>a"},
    {"HTML: one style", "Content-Type: text/html\n\n<p style='", "color:rgb(1,2,3);"},
    {"HTML: links", "Content-Type: text/html\n\n", "<a href='http://a#.b.c.d/e/f'>g</a>"},
    {"HTML: a long link", "Content-Type: text/html\n\n<a href='http://", "a.b@c/"},
    {"HTML: entities", "Content-Type: text/html\n\n", "&CounterClockwiseContourIntegral"},
    {"HTML: attributes", "Content-Type: text/html\n\n<a ", "b#=c "},
    {"text: URLs", "\n", "http://a#.b.c/d?e "},
    {"text: addresses", "\n", "a.b.c@d.e.f "},
    {"text: '@'", "\n", "a@"},
    {"text: '://'", "\n", "http://"},
    {"text: '.'", "\n", "a."},
    {"text: words of one letter", "\n", "a b c d e f g h "},
    {"text: different words", "\n", "word# "},
    {"text: capitals", "\n", "Word# "},
    {"text: marks", "\n", "!?.,"},
    {"text: Han", "\n", "\xE5\x85\x8D\xE8\xB4\xB9"},
    {"text: Hangul in letters", "\n", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8"},
    {"text: combining marks", "\n", "a\xCC\x81\xCC\xA3"},
    {"text: combining marks in the wrong order", "\n", "\xCC\x81\xCC\xA3\xCC\x96\xCC\x80"},
    {"text: characters that fold to many", "\n", "\xEF\xB7\xBA"},
    {"text: mixed scripts", "\n", "p\xD0\xB0ypal "},
    {"text: no width", "\n", "f\xE2\x80\x8Br\xE2\x80\x8B\x65\xE2\x80\x8B\x65 "},
    {"text: bytes that are not UTF-8", "\n", "\xFF\xFE\xA1"},
    {"text: Thai with marks", "\n", "\xE0\xB8\x9F\xE0\xB8\xA3\xE0\xB8\xB5\xE0\xB9\x88"},
};

static void craft(const struct crafted *c, struct nb_buffer *mail)
{
    size_t plain = strcspn(c->unit, "#");
    check(nb_buffer_puts(mail, c->before));
    for (unsigned i = 0; mail->length < CRAFTED; i++) {
        check(nb_buffer_append(mail, c->unit, plain));
        for (const char *at = c->unit + plain; *at != '\0'; at++)
            check(*at == '#' ? nb_buffer_printf(mail, "%u", i) : nb_buffer_append(mail, at, 1));
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct nb_buffer *files;
static size_t file_count, file_room;

/* Measures a mail, and keeps a copy of it for measure_changed. */
static void add_file(const char *name, const struct nb_buffer *bytes)
{
    check(nb_array_reserve(&files, &file_room, file_count + 1, sizeof *files));
    files[file_count] = (struct nb_buffer){0};
    check(nb_buffer_append(&files[file_count++], bytes->bytes, bytes->length));
    measure(name, bytes);
}

static void read_file(const char *path)
{
    FILE *in = fopen(path, "re");
    struct nb_buffer bytes = {0};
    if (in == NULL)
        return;
    check(nb_buffer_reserve(&bytes, MOST));
    bytes.length = fread(bytes.bytes, 1, MOST, in);
    (void)fclose(in);
    add_file(path, &bytes);
    nb_buffer_deinit(&bytes);
}

static void craft_files(void)
{
    for (size_t i = 0; i < sizeof crafted / sizeof *crafted; i++) {
        struct nb_buffer mail = {0};
        craft(&crafted[i], &mail);
        add_file(crafted[i].name, &mail);
        nb_buffer_deinit(&mail);
    }
}

static void read_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[4096];
        struct stat status;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && lstat(path, &status) == 0) {
            if (S_ISDIR(status.st_mode))
                read_folder(path);
            else if (S_ISREG(status.st_mode))
                read_file(path);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/* Puts a piece of another file into the mail, once or many times, and changes up to three bytes. */
static void change(struct nb_buffer *mail)
{
    const struct nb_buffer *other = &files[draw((uint32_t)file_count)];
    size_t at = mail->length > 0 ? draw((uint32_t)mail->length) : 0;
    size_t from = other->length > 0 ? draw((uint32_t)other->length) : 0;
    size_t piece = draw(64);
    if (piece > other->length - from)
        piece = other->length - from;
    size_t times = draw(4) == 0 ? draw(1000) : 1;
    struct nb_buffer made = {0};
    check(nb_buffer_append(&made, mail->bytes, at));
    for (size_t i = 0; i < times; i++)
        check(nb_buffer_append(&made, other->bytes + from, piece));
    if (draw(2) == 0)
        at += mail->length - at < piece ? mail->length - at : piece;
    check(nb_buffer_append(&made, mail->bytes + at, mail->length - at));
    for (uint32_t bytes = draw(4); bytes > 0 && made.length > 0; bytes--)
        made.bytes[draw((uint32_t)made.length)] = (char)draw(256);
    nb_buffer_deinit(mail);
    *mail = made;
}

static void measure_changed(unsigned long runs)
{
    for (unsigned long run = 0; run < runs && file_count > 0; run++) {
        struct nb_buffer mail = {0};
        char name[64];
        uint64_t begin = seed;
        const struct nb_buffer *file = &files[draw((uint32_t)file_count)];
        check(nb_buffer_append(&mail, file->bytes, file->length));
        for (uint32_t changes = 1 + draw(8); changes > 0; changes--)
            change(&mail);
        (void)snprintf(name, sizeof name, "changed copy %lu (seed %llu)", run,
                       (unsigned long long)begin);
        measure(name, &mail);
        nb_buffer_deinit(&mail);
    }
}

int main(int argc, char **argv)
{
    const unsigned char bytes[NB_KEY_BYTES] = {17, 63};
    nb_key_restore(&key, bytes);
    if (argc < 2 || nb_tokenizer_setup(NULL) != 0) {
        (void)fprintf(
            stderr, "usage: bench_hostile charsets | mails [RUNS [SEED]] | FOLDER [RUNS [SEED]]\n");
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "charsets") == 0) {
        measure_charsets();
    } else {
        seed = argc > 3 ? strtoull(argv[3], NULL, 10) : seed;
        if (strcmp(argv[1], "mails") == 0)
            craft_files();
        else
            read_folder(argv[1]);
        measure_changed(argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
    }
    report();
    for (size_t i = 0; i < file_count; i++)
        nb_buffer_deinit(&files[i]);
    free(files);
    nb_bag_deinit(&bag);
    nb_tokenizer_teardown();
    return EXIT_SUCCESS;
}
