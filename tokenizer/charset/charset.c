/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/charset/charset.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/charset/charset_label.h"
#include "tokenizer/text/character.h"

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
