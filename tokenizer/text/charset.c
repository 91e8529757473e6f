/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/charset.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/ascii.h"
#include "tokenizer/text/utf7.h"
#include "tokenizer/text/utf8_decode.h"

enum {
    /* iconv gets this many bytes behind an error, and twice as many each time that they have none:
     * a decoder that reads ahead of an error must read again what it had read. */
    WINDOW = 32,
    /* So many errors, and one in so many bytes, may be in a text that is in its charset. */
    ERRORS = 1000,
    ERROR_BYTES = 32
};

/* Charsets that are decoded here, without iconv: most mail has one of them, and a small container
 * has no tables for iconv. */
static const char UTF_8[] = "UTF-8";
static const char WINDOWS_1252[] = "CP1252";
static const char UTF_7[] = "UTF-7";

/* Names that iconv does not know, and names of small charsets, which are read as the larger charset
 * that contains them, as browsers do (WHATWG Encoding, "Names and labels"): much text is declared
 * as the small one and uses the large one. */
static const struct alias {
    const char *name;
    const char *charset;
} aliases[] = {
    {"utf8", UTF_8},
    {"utf-8", UTF_8},
    {"unicode-1-1-utf-8", UTF_8},
    {"us-ascii", WINDOWS_1252},
    {"ascii", WINDOWS_1252},
    {"ansi_x3.4-1968", WINDOWS_1252},
    {"ansi", WINDOWS_1252},
    {"iso-8859-1", WINDOWS_1252},
    {"iso8859-1", WINDOWS_1252},
    {"iso88591", WINDOWS_1252},
    {"iso_8859-1", WINDOWS_1252},
    {"iso_8859-1:1987", WINDOWS_1252},
    {"iso-ir-100", WINDOWS_1252},
    {"latin1", WINDOWS_1252},
    {"latin-1", WINDOWS_1252},
    {"l1", WINDOWS_1252},
    {"windows-1252", WINDOWS_1252},
    {"cp1252", WINDOWS_1252},
    {"cp-1252", WINDOWS_1252},
    {"x-cp1252", WINDOWS_1252},
    {"8bit", WINDOWS_1252},
    {"x-unknown", WINDOWS_1252},
    {"unknown-8bit", WINDOWS_1252},
    {"iso-8859-8-i", "ISO-8859-8"},
    {"iso-8859-8-e", "ISO-8859-8"},
    {"iso-8859-9", "CP1254"},
    {"latin5", "CP1254"},
    {"iso-8859-11", "CP874"},
    {"tis-620", "CP874"},
    {"windows-874", "CP874"},
    {"gb2312", "GB18030"},
    {"gb_2312-80", "GB18030"},
    {"csgb2312", "GB18030"},
    {"euc-cn", "GB18030"},
    {"gbk", "GB18030"},
    {"x-gbk", "GB18030"},
    {"cp936", "GB18030"},
    {"windows-936", "GB18030"},
    {"big5", "BIG5-HKSCS"},
    {"cn-big5", "BIG5-HKSCS"},
    {"x-x-big5", "BIG5-HKSCS"},
    {"cp950", "BIG5-HKSCS"},
    {"ks_c_5601-1987", "CP949"},
    {"ks_c_5601-1989", "CP949"},
    {"ksc5601", "CP949"},
    {"ksc_5601", "CP949"},
    {"korean", "CP949"},
    {"euc-kr", "CP949"},
    {"euckr", "CP949"},
    {"windows-949", "CP949"},
    {"uhc", "CP949"},
    {"x-windows-949", "CP949"},
    {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},
    {"sjis", "CP932"},
    {"x-sjis", "CP932"},
    {"ms_kanji", "CP932"},
    {"windows-31j", "CP932"},
    {"x-euc-jp", "EUC-JP"},
    {"iso-2022-jp", "ISO-2022-JP-3"}, /* a superset: half-width Katakana and more */
    {"macintosh", "MACINTOSH"},
    {"x-mac-roman", "MACINTOSH"},
    {"x-mac-cyrillic", "MAC-CYRILLIC"},
    {"koi8r", "KOI8-R"},
    {"koi", "KOI8-R"},
    {"koi8u", "KOI8-U"},
    {"x-cp1250", "CP1250"},
    {"x-cp1251", "CP1251"},
    {"utf-7", UTF_7},
    {"utf7", UTF_7},
    {"unicode-1-1-utf-7", UTF_7},
    {"x-unicode-2-0-utf-7", UTF_7},
    {"csunicode11utf7", UTF_7},
    {"unicode", "UTF-16"},
    {"ucs-2", "UTF-16"},
    {"iso-10646-ucs-2", "UTF-16"},
    {"ucs-4", "UTF-32"},
    /* Names of iconv for its forms in memory: no text arrives in them. */
    {"char", ""},
    {"wchar_t", ""},
    {"internal", ""},
};

/* Copies a MIME name to `name` without white space and quotes around it, which some mail programs
 * leave. False for what cannot be the name of a charset (RFC 2978, 2.3), so that no options reach
 * iconv. */
static bool clean_name(struct nb_string charset, char name[NB_CHARSET_NAME])
{
    static const char around[] = " \t\"'";
    charset = nb_string_trim_end(nb_string_trim_start(charset, around), around);
    size_t length = charset.length;
    if (length == 0 || length >= NB_CHARSET_NAME)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = charset.bytes[i];
        if (!nb_ascii_is_alphanumeric(c) && (c == '\0' || strchr("-_.:()+", c) == NULL))
            return false;
        name[i] = c;
    }
    name[length] = '\0';
    return true;
}

static const char *charset_of(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcasecmp(name, aliases[i].name) == 0)
            return aliases[i].charset;
    return name;
}

/* Text on its way to UTF-8. */
struct conversion {
    const char *from;
    size_t left;
    size_t unit;   /* bytes that one U+FFFD stands for */
    size_t window; /* bytes that iconv gets in its next call */
    size_t errors; /* that are still allowed */
    struct nb_buffer *out;
    size_t most; /* the limit of out->length */
    struct nb_work *work;
};

static int too_large(const struct conversion *c, struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE, "the text takes more than %zu bytes as UTF-8",
                        c->most);
}

static int append(struct conversion *c, const void *bytes, size_t length, struct nb_error *error)
{
    if (length > c->most - c->out->length)
        return too_large(c, error);
    return nb_buffer_append(c->out, bytes, length) == 0 ? 0 : nb_error_no_memory(error);
}

static int from_windows_1252(struct conversion *c, struct nb_error *error)
{
    (void)nb_work_spend(c->work, c->left);
    while (c->left > 0) {
        unsigned char block[3 * 256]; /* the euro sign takes three bytes, none takes four */
        size_t length = 0;
        size_t n = c->left < 256 ? c->left : 256;
        for (size_t i = 0; i < n; i++)
            length += nb_utf8_encode(nb_windows_1252((unsigned char)c->from[i]), block + length);
        int rc = append(c, block, length, error);
        if (rc != 0)
            return rc;
        c->from += n;
        c->left -= n;
    }
    return 0;
}

/* Appends U+FFFD for the bytes at which iconv stopped, and skips them. */
static int replace(struct conversion *c, struct nb_error *error)
{
    size_t n = c->left < c->unit ? c->left : c->unit;
    c->from += n;
    c->left -= n;
    c->errors -= c->errors > 0;
    c->window = WINDOW;
    return append(c, "\xEF\xBF\xBD", 3, error);
}

/* Makes room for about as much as is left, not for the most that may come out: memory follows the
 * actual size of the output. */
static int make_room(struct conversion *c, struct nb_error *error)
{
    size_t extra = c->left + c->left / 2;
    if (extra < 64)
        extra = 64;
    if (extra > c->most - c->out->length)
        extra = c->most - c->out->length;
    return nb_buffer_reserve(c->out, extra > 0 ? extra : 1) == 0 ? 0 : nb_error_no_memory(error);
}

/* What one call of iconv did. */
struct step {
    int reason;    /* 0, or its errno */
    bool is_whole; /* it had all bytes that are left */
    bool is_full;  /* nothing was written although all room up to the limit was given */
};

/* Converts the next window; with nothing left, writes what the decoder still holds. */
static int convert(struct conversion *c, iconv_t cd, struct step *step, struct nb_error *error)
{
    assert(c->out->length <= c->most && c->window > 0);
    int rc = make_room(c, error);
    if (rc != 0)
        return rc;
    size_t allowed = c->most - c->out->length;
    size_t room = c->out->capacity - c->out->length;
    room = room < allowed ? room : allowed;
    size_t before = room;
    char *to = c->out->bytes + c->out->length;
    char *from = (char *)(uintptr_t)c->from; /* iconv reads only, but its prototype is older */
    size_t given = c->left < c->window ? c->left : c->window;
    size_t left = given;
    step->is_whole = given == c->left;
    size_t result = iconv(cd, given == 0 ? NULL : &from, &left, &to, &room);
    step->reason = result == (size_t)-1 ? errno : 0;
    step->is_full = before == room && before == allowed;
    c->from = from;
    c->left -= given - left;
    c->out->length += before - room;
    return 0;
}

/* Goes on behind what stopped iconv. A window that ends within a character, or has no error, is
 * followed by a larger one. */
static int go_on(struct conversion *c, const struct step *step, struct nb_error *error)
{
    if (step->reason == E2BIG) /* one character takes at most 6 bytes in any decoder */
        return step->is_full ? too_large(c, error) : 0;
    bool is_cut = step->reason == EINVAL && !step->is_whole;
    if (step->reason != 0 && !is_cut)
        return replace(c, error);
    c->window = c->window > SIZE_MAX / 2 ? SIZE_MAX : 2 * c->window;
    return 0;
}

/* A text with more errors than a text in its charset can have is read as windows-1252 from there,
 * because each error costs as much as a hundred bytes without one; so is a text behind the last of
 * the work. */
static int from_iconv(struct conversion *c, iconv_t cd, struct nb_error *error)
{
    c->window = SIZE_MAX;
    c->errors = ERRORS + c->left / ERROR_BYTES;
    for (bool flushed = false; !flushed && c->errors > 0;) {
        struct step step;
        size_t given = c->left < c->window ? c->left : c->window;
        if (!nb_work_spend(c->work, NB_CHARSET_CALL + given))
            break;
        bool is_end = c->left == 0;
        int rc = convert(c, cd, &step, error);
        if (rc == 0)
            rc = go_on(c, &step, error);
        if (rc != 0)
            return rc;
        flushed = is_end && step.reason == 0;
    }
    return from_windows_1252(c, error);
}

/* The charset with its byte order, which a byte order mark decides. Without a mark UTF-16 and
 * UTF-32 are little-endian; browsers read UTF-16 so. */
static const char *choose_byte_order(struct conversion *c, const char *charset)
{
    static const struct mark {
        const char *charset; /* what is declared, without byte order */
        const char *bytes;
        size_t length;
        const char *chosen;
    } marks[] = {{"UTF-16", "\xFF\xFE", 2, "UTF-16LE"},
                 {"UTF-16", "\xFE\xFF", 2, "UTF-16BE"},
                 {"UTF-32", "\xFF\xFE\0\0", 4, "UTF-32LE"},
                 {"UTF-32", "\0\0\xFE\xFF", 4, "UTF-32BE"}};
    size_t length = strlen("UTF-16");
    if (strncasecmp(charset, "UTF-16", length) != 0 && strncasecmp(charset, "UTF-32", length) != 0)
        return charset;
    c->unit = strncasecmp(charset, "UTF-16", length) == 0 ? 2 : 4;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncasecmp(charset, marks[i].charset, length) == 0 && c->left >= marks[i].length &&
            memcmp(c->from, marks[i].bytes, marks[i].length) == 0) {
            c->from += marks[i].length;
            c->left -= marks[i].length;
            return marks[i].chosen;
        }
    if (charset[length] != '\0')
        return charset;
    return c->unit == 2 ? "UTF-16LE" : "UTF-32LE";
}

static int from_utf7(struct conversion *c, struct nb_error *error)
{
    (void)nb_work_spend(c->work, c->left);
    int rc = nb_utf7_to_utf8(c->from, c->left, c->most, c->out);
    if (rc == NB_TOO_LARGE)
        return too_large(c, error);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

void nb_charset_state_deinit(struct nb_charset_state *state)
{
    if (state->name[0] != '\0' && state->converter != (iconv_t)-1)
        (void)iconv_close(state->converter);
    state->name[0] = '\0';
}

/* Opens `charset`, or takes the one that is open already, in its first shift state. False: there is
 * no such charset. */
static bool open_charset(struct nb_charset_state *state, const char *charset)
{
    if (strcmp(state->name, charset) != 0) {
        if (!nb_work_spend(state->work, NB_CHARSET_OPEN))
            return false;
        nb_charset_state_deinit(state);
        state->converter = iconv_open("UTF-8", charset);
        memcpy(state->name, charset, strlen(charset) + 1);
    }
    if (state->converter == (iconv_t)-1)
        return false;
    (void)iconv(state->converter, NULL, NULL, NULL, NULL);
    return true;
}

static int from_charset(struct nb_charset_state *state, const char *charset, struct conversion *c,
                        struct nb_error *error)
{
    if (charset == UTF_8) {
        (void)nb_work_spend(c->work, c->left);
        return append(c, c->from, c->left, error);
    }
    if (charset == WINDOWS_1252)
        return from_windows_1252(c, error);
    if (charset == UTF_7)
        return from_utf7(c, error);
    charset = choose_byte_order(c, charset);
    assert(strlen(charset) < NB_CHARSET_NAME);
    if (charset[0] == '\0' || !open_charset(state, charset))
        return NB_UNSUPPORTED;
    return from_iconv(c, state->converter, error);
}

int nb_charset_to_utf8(struct nb_charset_state *state, struct nb_string charset, const char *bytes,
                       size_t length, size_t most, struct nb_buffer *out, struct nb_error *error)
{
    char name[NB_CHARSET_NAME];
    struct nb_work unbounded = NB_WORK_UNBOUNDED;
    struct nb_charset_state own = {.work = &unbounded};
    if (state == NULL)
        state = &own;
    if (!clean_name(charset, name))
        return nb_error_set(error, NB_UNSUPPORTED, "charset: not the name of a charset");
    struct conversion c = {.from = bytes,
                           .left = length,
                           .unit = 1,
                           .out = out,
                           .most = most > SIZE_MAX - out->length ? SIZE_MAX : out->length + most,
                           .work = state->work};
    int rc = from_charset(state, charset_of(name), &c, error);
    nb_charset_state_deinit(&own);
    if (rc == NB_UNSUPPORTED)
        return nb_error_set(error, rc, "charset: \"%s\" is not known", name);
    return rc;
}
