/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/charset/charset.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/utf8.h"
#include "tokenizer/charset/charset_label.h"
#include "tokenizer/charset/hz.h"
#include "tokenizer/charset/utf7.h"
#include "tokenizer/text/utf8_decode.h"

enum {
    /* iconv gets this many bytes after an error, and twice as many each time that the last ones had
     * no error, because a decoder that reads ahead of an error must read the same bytes again. */
    WINDOW = 32,
    /* A text may have this many errors, and one in this many bytes, and still be in its charset. */
    ERRORS = 1000,
    ERROR_BYTES = 32
};

/* Text on its way to UTF-8. */
struct conversion {
    const char *from;
    size_t left;
    size_t unit;   /* bytes that one U+FFFD stands for */
    size_t window; /* bytes that iconv gets in its next call */
    size_t errors; /* that are still allowed */
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
    int reason;    /* 0, or its errno */
    bool is_whole; /* iconv got all remaining bytes */
    bool is_full;  /* nothing was written although all room up to the limit was given */
};

/* Converts the next window; with nothing left, flushes the decoder. */
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
 * next one is larger. */
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

/* Reads the rest of a text as windows-1252 once it has more errors than a text in its charset can
 * have, because each error costs as much as a hundred bytes without one, or once the work is
 * spent. */
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
    int rc = nb_hz_to_gb(c->from, c->left, &gb);
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

/* The five bytes that windows-1252 leaves undefined are restored. */
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
