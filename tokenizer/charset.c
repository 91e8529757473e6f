/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/charset.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/character.h"

/* Whether two bytes are a character of GB 2312 in seven bits. */
static bool is_pair(const char *at, const char *end)
{
    return end - at >= 2 && at[0] > ' ' && at[0] < '~' && at[1] > ' ' && at[1] <= '~';
}

/* Appends the text as GB 18030: at most `length` bytes. Bytes that are no HZ sequence are copied.
 * Returns 0 or NB_NO_MEMORY. */
static int hz_to_gb(const char *bytes, size_t length, struct nb_buffer *out)
{
    if (length == 0)
        return 0;
    if (nb_buffer_reserve(out, length) != 0)
        return NB_NO_MEMORY;
    const char *at = bytes, *end = bytes + length;
    char *to = out->bytes + out->length;
    bool is_chinese = false;
    while (at < end) {
        char next = *at == '~' && end - at > 1 ? at[1] : '\0';
        if (is_chinese ? next == '}' : next == '{' || next == '~' || next == '\n') {
            is_chinese = next == '{';
            if (next == '~')
                *to++ = '~';
            at += 2;
        } else if (is_chinese && is_pair(at, end)) {
            *to++ = (char)(*at++ | 0x80);
            *to++ = (char)(*at++ | 0x80);
        } else {
            is_chinese = is_chinese && *at != '\n'; /* every line begins in ASCII (RFC 1843) */
            *to++ = *at++;
        }
    }
    out->length = (size_t)(to - out->bytes);
    return 0;
}

enum { REPLACEMENT = 0xFFFD, NO_CHARACTER = 0, BLOCK = 512 };

struct utf7 {
    struct nb_buffer *out;
    size_t most; /* the limit of out->length */
    unsigned char block[BLOCK];
    size_t used;    /* bytes of the block in use */
    uint32_t bits;  /* bits of base64 that do not yet make a whole unit */
    unsigned count; /* number of these bits */
    uint32_t high;  /* the first half of a surrogate pair, or NO_CHARACTER */
};

static int flush(struct utf7 *u)
{
    size_t length = u->used;
    u->used = 0;
    if (length > u->most - u->out->length)
        return NB_TOO_LARGE;
    return nb_buffer_append(u->out, u->block, length);
}

static int put(struct utf7 *u, uint32_t character)
{
    u->used += nb_utf8_encode(character, u->block + u->used);
    assert(u->used <= BLOCK);
    return u->used > BLOCK - 4 ? flush(u) : 0;
}

/* Writes U+FFFD for the first half of a pair whose second half is missing. */
static int put_lone_surrogate(struct utf7 *u)
{
    bool is_alone = u->high != NO_CHARACTER;
    u->high = NO_CHARACTER;
    return is_alone ? put(u, REPLACEMENT) : 0;
}

/* Takes a UTF-16 unit. */
static int take_unit(struct utf7 *u, uint32_t unit)
{
    if (unit >= 0xDC00 && unit <= 0xDFFF && u->high != NO_CHARACTER) {
        uint32_t high = u->high;
        u->high = NO_CHARACTER;
        return put(u, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
    }
    int rc = put_lone_surrogate(u);
    if (rc != 0)
        return rc;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        u->high = unit;
        return 0;
    }
    return put(u, unit >= 0xDC00 && unit <= 0xDFFF ? REPLACEMENT : unit);
}

/* The value of a character of base64; -1 if it is none. */
static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (nb_ascii_is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Takes a run of base64 after a '+', and the '-' that ends it. Returns the number of bytes
 * taken. */
static size_t take_base64(struct utf7 *u, const char *bytes, size_t length, int *rc)
{
    size_t i = 0;
    u->bits = u->count = 0;
    for (int value; *rc == 0 && i < length && (value = base64_value(bytes[i])) >= 0; i++) {
        u->bits = u->bits << 6 | (uint32_t)value;
        u->count += 6;
        if (u->count < 16)
            continue;
        u->count -= 16;
        *rc = take_unit(u, u->bits >> u->count & 0xFFFF);
    }
    /* Bits left over are padding (RFC 2152, rule 2). */
    if (*rc == 0)
        *rc = put_lone_surrogate(u);
    return i + (i < length && bytes[i] == '-');
}

int nb_utf7_to_utf8(const char *bytes, size_t length, size_t most, struct nb_buffer *out)
{
    struct utf7 u = {.out = out, .most = most};
    int rc = 0;
    assert(out->length <= most);
    for (size_t i = 0; rc == 0 && i < length;) {
        unsigned char c = (unsigned char)bytes[i++];
        if (c != '+') {
            rc = put(&u, c < 0x80 ? c : REPLACEMENT);
            continue;
        }
        size_t taken = take_base64(&u, bytes + i, length - i, &rc);
        bool is_plus = taken == 0 || (taken == 1 && bytes[i] == '-');
        if (rc == 0 && is_plus)
            rc = put(&u, '+');
        i += taken;
    }
    return rc == 0 ? flush(&u) : rc;
}

enum {
    /* iconv gets this many bytes after an error, and twice as many after each call without an
     * error, because a decoder that reads ahead of an error must read the same bytes again. */
    WINDOW = 32,
    /* A text may have ERRORS errors, plus one for every ERROR_BYTES bytes, and still be in its
     * charset. */
    ERRORS = 1000,
    ERROR_BYTES = 32
};

/* Text on its way to UTF-8. */
struct conversion {
    const char *from;
    size_t left;
    size_t unit;   /* bytes that one U+FFFD stands for */
    size_t window; /* bytes that iconv gets in its next call */
    size_t errors; /* number of errors that are still allowed */
    struct nb_buffer *out;
    size_t most; /* the limit of out->length */
    struct nb_bag_work *work;
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

/* Makes room for about as many bytes as are left, not for the largest possible output: memory
 * follows the actual size of the output. */
static int make_room(struct conversion *c, struct nb_error *error)
{
    size_t extra = c->left + c->left / 2;
    if (extra < 64)
        extra = 64;
    if (extra > c->most - c->out->length)
        extra = c->most - c->out->length;
    return nb_buffer_reserve(c->out, extra > 0 ? extra : 1) == 0 ? 0 : nb_error_no_memory(error);
}

/* The result of one call of iconv. */
struct step {
    int reason;    /* errno of iconv; 0: no error */
    bool is_whole; /* iconv got all remaining bytes */
    bool is_full;  /* iconv wrote nothing although it had all room up to the limit */
};

/* Converts the next window; flushes the decoder if no bytes are left. */
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

/* Continues after iconv has stopped. If the window ended within a character or had no error, the
 * next window is larger. */
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

/* Converts a text by iconv. Reads the rest as windows-1252 when the work is spent, or when there
 * are more errors than a text in this charset can have: an error costs as much as a hundred bytes
 * without errors. */
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

/* Returns the charset with its byte order, which a byte order mark decides. Without a mark UTF-16
 * and UTF-32 are read as little-endian, as browsers read UTF-16. */
static const char *choose_byte_order(struct conversion *c, const char *charset)
{
    static const struct mark {
        const char *charset; /* the declared charset, without byte order */
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

/* Opens `charset`, or resets the open one to its first shift state. Returns false if there is no
 * such charset. */
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

static int from_iconv_of(struct nb_charset_state *state, const char *charset, struct conversion *c,
                         struct nb_error *error)
{
    assert(strlen(charset) < NB_CHARSET_NAME);
    return open_charset(state, charset) ? from_iconv(c, state->converter, error) : NB_UNSUPPORTED;
}

static int from_hz(struct nb_charset_state *state, struct conversion *c, struct nb_error *error)
{
    struct nb_buffer gb = {0};
    int rc = hz_to_gb(c->from, c->left, &gb);
    c->from = gb.bytes;
    c->left = gb.length;
    rc = rc != 0 ? nb_error_no_memory(error) : from_iconv_of(state, "GB18030", c, error);
    nb_buffer_deinit(&gb);
    return rc;
}

static int from_charset(struct nb_charset_state *state, const char *charset, struct conversion *c,
                        struct nb_error *error)
{
    if (charset == NB_CHARSET_NONE)
        charset = nb_utf8_is_valid((struct nb_string){c->from, c->left}) ? NB_CHARSET_UTF_8
                                                                         : NB_CHARSET_WINDOWS_1252;
    if (charset == NB_CHARSET_UTF_8) {
        (void)nb_work_spend(c->work, c->left);
        return append(c, c->from, c->left, error);
    }
    if (charset == NB_CHARSET_WINDOWS_1252)
        return from_windows_1252(c, error);
    if (charset == NB_CHARSET_UTF_7)
        return from_utf7(c, error);
    if (charset == NB_CHARSET_HZ)
        return from_hz(state, c, error);
    return from_iconv_of(state, choose_byte_order(c, charset), c, error);
}

int nb_charset_to_utf8(struct nb_charset_state *state, struct nb_string charset, const char *bytes,
                       size_t length, size_t most, struct nb_buffer *out, struct nb_error *error)
{
    char name[NB_CHARSET_NAME];
    struct nb_bag_work unbounded = NB_WORK_UNBOUNDED;
    struct nb_charset_state own = {.work = &unbounded};
    if (state == NULL)
        state = &own;
    const char *chosen = nb_charset_of_label(charset, name);
    if (chosen == NULL)
        return nb_error_set(error, NB_UNSUPPORTED, "charset: not the name of a charset");
    struct conversion c = {.from = bytes,
                           .left = length,
                           .unit = 1,
                           .out = out,
                           .most = most > SIZE_MAX - out->length ? SIZE_MAX : out->length + most,
                           .work = state->work};
    int rc = from_charset(state, chosen, &c, error);
    nb_charset_state_deinit(&own);
    if (rc == NB_UNSUPPORTED)
        return nb_error_set(error, rc, "charset: \"%s\" is not known", name);
    return rc;
}

/* ---- from UTF-8 ------------------------------------------------------------------------------ */

static int not_in(const char *charset, struct nb_error *error)
{
    return nb_error_set(error, NB_INVALID, "a character cannot be written in %s", charset);
}

/* Converts to windows-1252. Restores the five bytes that windows-1252 leaves undefined. */
static int to_windows_1252(struct nb_string text, struct nb_buffer *out, struct nb_error *error)
{
    const unsigned char *at = (const unsigned char *)text.bytes, *end = at + text.length;
    int rc = 0;
    while (at < end && rc == 0) {
        uint32_t c = nb_utf8_decode(&at, end);
        unsigned byte = c < 0x100 ? (unsigned)c : 0x80;
        while (byte < 0x100 && nb_windows_1252((unsigned char)byte) != c)
            byte++;
        if (byte == 0x100)
            return not_in("windows-1252", error);
        char written = (char)byte;
        rc = nb_buffer_append(out, &written, 1);
    }
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int to_iconv(iconv_t converter, const char *charset, struct nb_string text,
                    struct nb_buffer *out, struct nb_error *error)
{
    char *from = (char *)(uintptr_t)text.bytes; /* iconv reads only, but its prototype is older */
    size_t left = text.length;
    while (left > 0) {
        if (nb_buffer_reserve(out, 4 * left + 16) != 0)
            return nb_error_no_memory(error);
        char *to = out->bytes + out->length;
        size_t room = out->capacity - out->length, before = room;
        size_t result = iconv(converter, &from, &left, &to, &room);
        out->length += before - room;
        if (result == (size_t)-1 && errno != E2BIG)
            return not_in(charset, error);
    }
    return 0;
}

int nb_charset_from_utf8(struct nb_string charset, struct nb_string text, struct nb_buffer *out,
                         struct nb_error *error)
{
    char name[NB_CHARSET_NAME];
    const char *to = nb_charset_of_label(charset, name);
    if (to == NULL)
        return nb_error_set(error, NB_UNSUPPORTED, "charset: not the name of a charset");
    if (to == NB_CHARSET_UTF_8 || to == NB_CHARSET_NONE)
        return nb_buffer_append(out, text.bytes, text.length) == 0 ? 0 : nb_error_no_memory(error);
    if (to == NB_CHARSET_WINDOWS_1252)
        return to_windows_1252(text, out, error);
    if (strcasecmp(to, "UTF-16") == 0 || strcasecmp(to, "UTF-32") == 0)
        to = strcasecmp(to, "UTF-16") == 0 ? "UTF-16LE" : "UTF-32LE";
    iconv_t converter = iconv_open(to, "UTF-8");
    if (converter == (iconv_t)-1)
        return nb_error_set(error, NB_UNSUPPORTED, "charset: \"%s\" is not one to write in", to);
    int rc = to_iconv(converter, to, text, out, error);
    (void)iconv_close(converter);
    return rc;
}

const char NB_CHARSET_UTF_8[] = "UTF-8";
const char NB_CHARSET_WINDOWS_1252[] = "CP1252";
const char NB_CHARSET_UTF_7[] = "UTF-7";
const char NB_CHARSET_HZ[] = "HZ";
const char NB_CHARSET_NONE[] = "";

/* The labels of each charset as keys: only their letters, in lower case, and digits. The most
 * frequent charsets come first. Name NULL: no text arrives in this charset. */
static const struct charset {
    const char *charset;
    const char *keys; /* with a blank before and after each key */
} charsets[] = {
    {NB_CHARSET_UTF_8,
     " utf8 65001 al32utf8 cesu8 cp65001 csutf8 iso10646utf8 u8 unicode11utf8 unicode20utf8 "
     "unicodeutf8 utf utf8bom utf8mac utf8mb3 utf8mb4 utf8sig utf8strict windows65001 "
     "xunicode20utf8 "},
    {NB_CHARSET_NONE,
     " usascii 646 7bit 8bit ansi ansix34 ansix341968 ansix341986 any asci ascii ascii7 auto "
     "autodetect autodetectall autoselect base64 binary charset charsetcharset cp367 csascii "
     "csunknown8bit default defaultcharset ibm367 iso2022jpesc iso646 iso646irv1991 iso646us "
     "isoir6 locale mime mycharset native nil no none null other quotedprintable replacement "
     "system text undefined unknown unknown7bit unknown8bit unknowncharset unknownencoding "
     "unspecified us usaascii usacsii usascii7 userdefined x8bit xascii xdefault xundefined "
     "xunknown xunknown8bit xunspecified xusascii xuserdefined "},
    {NB_CHARSET_WINDOWS_1252,
     " iso88591 windows1252 1252 819 8859 88591 cp1252 cp819 csisolatin1 cswindows1252 "
     "ibm819 iso8859 iso885911987 isoir100 isolatin1 l1 latin latin1 msansi western win1252 "
     "xcp1252 "},
    {"GB18030",
     " 54936 936 chinese chinesesimplified cngb cp1386 cp54936 cp936 csgb18030 csgb2312 "
     "csgbk csiso58gb231280 euccn eucgb2312 eucgb2312cn gb gb18030 gb180302000 gb180302005 "
     "gb180302022 gb2312 gb23121980 gb231219800 gb231280 gbk gbk0 hp15cn isoir58 ms936 "
     "windows936 xeuccn xgbk xmswin936 zhcneuc "},
    {"ISO-2022-JP-3",
     " 50220 50221 50222 cp50220 cp50221 cp50222 csiso2022jp csiso2022jp1 csjisencoding "
     "iso20227bit iso2022jp iso2022jp1 iso2022jp2004 iso2022jp3 iso2022jpext iso2022jpms jis "
     "jis7 jis8 jisautodetect jisencoding xwindows50220 xwindows50221 xwindowsiso2022jp "},
    {"BIG5-HKSCS",
     " 950 big5 big50 big5eten big5hkscs big5hkscs2001 big5hkscs2004 big5solaris big5tw "
     "big5uao bigfive chinesetraditional cnbig5 cp950 cp951 csbig5 csbig5hkscs hkscs ms950 "
     "ms950hkscs windows950 xbig5 xwindows950 xxbig5 "},
    {"CP949",
     " 51949 5601 949 949c cp51949 cp949 cseuckr csksc56011987 euckr euckrms isoir149 korean "
     "ksc5601 ksc56011987 ksc56011989 ksc56011992 ksx1001 ksx10011992 ms949 mscp949 uhc "
     "windows949 xwindows949 "},
    {"CP932", " 932 cp932 cp943c csshiftjis cswindows31j japanese ms932 mskanji pck shiftjis "
              "shiftjisms sjis sjisopen sjiswin windows31j windows932 xmscp932 xsjis "},
    {"EUC-JP-MS",
     " 51932 cp51932 cseucpkdfmtjapanese euc eucj eucjp eucjplinux eucjpms eucjpopen "
     "eucjpsolaris eucjpwin extendedunixcodepackedformatforjapanese japaneseeuc ujis xeucjp "},
    {"CP874", " 874 885911 cp874 cstis620 dos874 iso885911 iso8859112001 isoir166 ms874 thai thai8 "
              "tis620 tis6200 tis62025291 windows874 "},
    {"UTF-16",
     " 1200 cp1200 csiso10646ucs2 csunicode csutf16 iso10646 iso10646ucs2 u16 ucs2 unicode "
     "unicodebig unicodelittle utf16 utf16bom "},
    {"ISO-8859-6",
     " 88596 arabic asmo708 csiso88596e csiso88596i csisolatinarabic ecma114 iso88596 "
     "iso885961987 iso88596e iso88596i isoir127 "},
    {"ISO-8859-8",
     " 88598 csiso88598e csiso88598i csisolatinhebrew hebrew iso88598 iso885981988 iso88598e "
     "iso88598i isoir138 logical visual "},
    {"CP1254",
     " 88599 cp1254 csisolatin5 cswindows1254 iso88599 iso885991989 iso88599windowslatin5 "
     "isoir148 l5 latin5 msturk windows1254 "},
    {"ISO-8859-7",
     " 88597 csisolatingreek ecma118 elot928 greek greek8 iso88597 iso885971987 iso885972003 "
     "isoir126 suneugreek "},
    {NB_CHARSET_UTF_7,
     " 65000 cp65000 csunicode11utf7 csutf7 u7 unicode11utf7 unicode20utf7 utf7 utf7imap "
     "xunicode20utf7 "},
    {"ISO-8859-15",
     " 885915 csiso885915 csisolatin9 iso885915 iso8859151998 iso885915fdis isoir203 l9 "
     "latin0 latin9 "},
    {"ISO-8859-14", " 885914 csiso885914 iso885914 iso8859141998 isoceltic isoir199 l8 latin8 "},
    {"MAC-CYRILLIC",
     " 10007 maccyrillic macuk macukraine macukrainian xmaccyrillic xmacukrainian "},
    {"UTF-16BE", " 1201 cp1201 csutf16be ucs2be unicodebigunmarked unicodefffe utf16be "},
    {"ISO-8859-10", " 885910 csisolatin6 iso885910 iso8859101992 isoir157 l6 latin6 "},
    {"ISO-8859-16", " 885916 csiso885916 iso885916 iso8859162001 isoir226 l10 latin10 "},
    {"ISO-8859-2", " 88592 csisolatin2 iso88592 iso885921987 isoir101 l2 latin2 "},
    {"ISO-8859-3", " 88593 csisolatin3 iso88593 iso885931988 isoir109 l3 latin3 "},
    {"ISO-8859-4", " 88594 csisolatin4 iso88594 iso885941988 isoir110 l4 latin4 "},
    {"UTF-16LE", " cp1202 csutf16le ucs2le unicodefeff unicodelittleunmarked utf16le utf16lebom "},
    {"MACINTOSH", " 10000 csmacintosh mac macintosh macroman xmacroman "},
    {NB_CHARSET_HZ, " 52936 cp52936 hz hz2312 hzgb hzgb2312 "},
    {"ISO-8859-13", " 885913 csiso885913 iso885913 isoir179 l7 latin7 "},
    {"ISO-8859-5", " 88595 csisolatincyrillic cyrillic iso88595 iso885951988 isoir144 "},
    {"UTF-32", " csucs4 csutf32 iso10646ucs4 u32 ucs4 utf32 "},
    {"MAC-CENTRALEUROPE", " 10029 macce maccentraleurope maclatin2 xmacce "},
    {"JOHAB", " 1361 cp1361 johab ksc56011992johab ms1361 "},
    {"KOI8-R", " 20866 cskoi8r koi koi8 koi8r "},
    {"ISO-2022-CN", " 50227 cp50227 csiso2022cn iso2022cn iso2022cngb "},
    {"IBM866", " 866 cp866 csibm866 dos866 ibm866 "},
    {"UTF-32LE", " cp12000 csutf32le ucs4le utf32le utf32lebom "},
    {"UTF-32BE", " cp12001 csutf32be ucs4be utf32be utf32bebom "},
    {"PT154", " cp154 csptcp154 cyrillicasian pt154 ptcp154 "},
    {"SHIFT_JISX0213", " shiftjis2004 shiftjisx0213 sjis0213 sjis2004 sjisx0213 "},
    {"KOI8-U", " 21866 cskoi8u koi8ru koi8u "},
    {"ISO-2022-KR", " 50225 cp50225 csiso2022kr iso2022kr "},
    {"CP1250", " cp1250 cswindows1250 msee windows1250 "},
    {"CP1251", " cp1251 cswindows1251 mscyrl windows1251 "},
    {"CP1253", " cp1253 cswindows1253 msgreek windows1253 "},
    {"CP1255", " cp1255 cswindows1255 mshebr windows1255 "},
    {"CP1256", " cp1256 cswindows1256 msarab windows1256 "},
    {"CP1257", " cp1257 cswindows1257 winbaltrim windows1257 "},
    {"ROMAN8", " cshproman8 hproman8 r8 roman8 "},
    {"TCVN5712-1", " tcvn tcvn5712 tcvn57121 tcvn571211993 "},
    {"EUC-TW", " cns11643 euctw xeuctw "},
    {"CP1258", " cp1258 cswindows1258 windows1258 "},
    {"EUC-JISX0213", " eucjis2004 eucjisx0213 jisx0213 "},
    {"RK1048", " kz1048 rk1048 strk10482002 "},
    {"MAC-IS", " maciceland macis xmacicelandic "},
    {"ARMSCII-8", " armscii armscii8 "},
    {"ISO-2022-JP-2", " csiso2022jp2 iso2022jp2 "},
    {"ISO-2022-CN-EXT", " iso2022cncns iso2022cnext "},
    {"GEORGIAN-ACADEMY", " georgianacademy "},
    {"GEORGIAN-PS", " georgianps "},
    {"KOI8-T", " koi8t "},
    {NULL, " char internal wchart "},
};

/* Copies a label to `name` without the blanks and quotes that some mail programs put around it.
 * Returns false for a text that cannot name a charset (RFC 2978, 2.3), so that no options reach
 * iconv. */
static bool clean_name(struct nb_string label, char name[NB_CHARSET_NAME])
{
    static const char around[] = " \t\r\n\"';,";
    label = nb_string_trim_end(nb_string_trim_start(label, around), around);
    if (label.length == 0 || label.length >= NB_CHARSET_NAME)
        return false;
    for (size_t i = 0; i < label.length; i++) {
        char c = label.bytes[i];
        if (!nb_ascii_is_alphanumeric(c) && (c == '\0' || strchr("-_.:()+$", c) == NULL))
            return false;
        name[i] = c;
    }
    name[label.length] = '\0';
    return true;
}

static void make_key(const char *name, char key[NB_CHARSET_NAME])
{
    size_t length = 0;
    for (; *name != '\0'; name++)
        if (nb_ascii_is_alphanumeric(*name))
            key[length++] = nb_ascii_lower(*name);
    key[length] = '\0';
}

static const struct charset *find(const char *key)
{
    char wanted[NB_CHARSET_NAME + 2];
    (void)snprintf(wanted, sizeof wanted, " %s ", key);
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++)
        if (strstr(charsets[i].keys, wanted) != NULL)
            return &charsets[i];
    return NULL;
}

/* Returns the number after a name for code pages, "windows1251", "win1251", "cp1251", "ibm1251";
 * NULL if the key is none of these. */
static const char *code_page(const char *key)
{
    static const char *const names[] = {"windows", "win", "wincp", "codepage", "cp",
                                        "ms",      "ibm", "dos",   "oem",      ""};
    const char *number = key + strcspn(key, "0123456789");
    size_t digits = strspn(number, "0123456789");
    if (digits < 3 || digits > 5 || number[digits] != '\0')
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == (size_t)(number - key) &&
            strncmp(key, names[i], strlen(names[i])) == 0)
            return number;
    return NULL;
}

/* Like `find`; also finds a code page by its number, whatever prefix stands before it. */
static const struct charset *find_or_number(const char *key)
{
    const struct charset *label = find(key);
    const char *number = label == NULL ? code_page(key) : NULL;
    return number != NULL ? find(number) : label;
}

const char *nb_charset_of_label(struct nb_string label, char name[NB_CHARSET_NAME])
{
    char key[NB_CHARSET_NAME];
    if (!clean_name(label, name))
        return NULL;
    make_key(name, key);
    bool is_private = key[0] == 'x' && key[1] != '\0';
    const struct charset *found = find_or_number(key);
    if (found == NULL && is_private)
        found = find_or_number(key + 1);
    if (found != NULL)
        return found->charset;
    const char *number = code_page(is_private ? key + 1 : key);
    if (number != NULL)
        (void)snprintf(name, NB_CHARSET_NAME, "CP%s", number); /* at most five digits */
    return name;
}
