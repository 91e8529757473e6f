/* SPDX-License-Identifier: Apache-2.0
 *
 * A base64 body is read line by line. Most bodies consist of long lines of the alphabet, which are
 * decoded at once. A short line may be the end of the encoding, or a word of text: it is decoded if
 * the encoding can continue there and the result is text.
 */
#include "tokenizer/transfer_encoding.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/string.h"

enum {
    LONG_RUN = 40,          /* a run of this many characters of the alphabet is no text */
    SURE_PIECE = 16,        /* a line with this many is base64 if it decodes to text */
    SHORT_PIECE = 8,        /* a line with this many may continue base64 before it */
    MOST_STRAYS = 8,        /* one character in this many may be outside the alphabet */
    MOST_STRAYS_INSIDE = 3, /* the same, if the body was base64 so far */
    UTF8_TAIL = 3           /* most bytes of a character that was cut off */
};

/* ---- base64 ---------------------------------------------------------------------------------- */

/* Maps a character to its value plus 1; 0: it is not in the alphabet. */
static const unsigned char VALUES[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};

/* Bits that do not yet make a whole byte. */
struct bits {
    unsigned value;
    unsigned characters; /* characters of the present group of four: 0 to 3 */
};

/* Writes the whole bytes of a group that ends early. */
static char *flush(struct bits *bits, char *to)
{
    if (bits->characters >= 2)
        *to++ = (char)(bits->value >> (bits->characters == 2 ? 4 : 10));
    if (bits->characters == 3)
        *to++ = (char)(bits->value >> 2);
    *bits = (struct bits){0, 0};
    return to;
}

/* Writes at most 3 bytes for 4 characters, including the pending ones. */
static char *decode(struct bits *bits, struct nb_string text, char *to)
{
    const unsigned char *at = (const unsigned char *)text.bytes;
    const unsigned char *end = at + text.length;
    while (at < end) {
        while (bits->characters == 0 && end - at >= 4) {
            unsigned a = VALUES[at[0]], b = VALUES[at[1]], c = VALUES[at[2]], d = VALUES[at[3]];
            if (a == 0 || b == 0 || c == 0 || d == 0)
                break;
            unsigned group = (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1);
            *to++ = (char)(group >> 16);
            *to++ = (char)(group >> 8);
            *to++ = (char)group;
            at += 4;
        }
        if (at == end)
            break;
        unsigned value = VALUES[*at];
        if (value != 0) {
            bits->value = bits->value << 6 | (value - 1);
            if (++bits->characters == 4) {
                *to++ = (char)(bits->value >> 16);
                *to++ = (char)(bits->value >> 8);
                *to++ = (char)bits->value;
                *bits = (struct bits){0, 0};
            }
        } else if (*at == '=') {
            to = flush(bits, to);
        }
        at++;
    }
    return to;
}

/* Returns the most bytes that `length` characters and the pending ones can give. */
static size_t room_for(size_t length)
{
    return length / 4 * 3 + 6;
}

static int append_decoded(struct bits *bits, struct nb_string text, struct nb_buffer *out)
{
    size_t most = room_for(text.length);
    if (nb_buffer_reserve(out, most) != 0)
        return NB_NO_MEMORY;
    char *from = out->bytes + out->length;
    size_t written = (size_t)(decode(bits, text, from) - from);
    assert(written <= most);
    out->length += written;
    return 0;
}

static int append_flushed(struct bits *bits, struct nb_buffer *out)
{
    return append_decoded(bits, (struct nb_string){"=", 1}, out);
}

int nb_transfer_base64(struct nb_string piece, struct nb_buffer *out)
{
    struct bits bits = {0, 0};
    int rc = append_decoded(&bits, piece, out);
    return rc == 0 ? append_flushed(&bits, out) : rc;
}

/* ---- lines of it ----------------------------------------------------------------------------- */

/* Properties of a line, without the blanks at both ends. */
struct line {
    struct nb_string text;
    size_t letters;   /* characters of the alphabet */
    size_t run;       /* characters of the alphabet at the beginning of the line */
    size_t strays;    /* characters that are not of the alphabet, blanks, or '=' at the end */
    bool has_blanks;  /* there are blanks between words */
    bool is_padded;   /* the line ends with '=' */
    bool is_of_marks; /* the line has marks of text or of addresses: ":<>@" */
};

static struct line look(struct nb_string text)
{
    struct line line = {.text = text};
    size_t end = text.length;
    while (end > 0 && text.bytes[end - 1] == '=')
        end--;
    line.is_padded = end > 0 && end < text.length;
    while (line.run < end && VALUES[(unsigned char)text.bytes[line.run]] != 0)
        line.run++;
    line.letters = line.run;
    for (size_t i = line.run; i < end; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (VALUES[c] != 0) {
            line.letters++;
        } else if (nb_ascii_is_space(c)) {
            line.has_blanks = true;
        } else {
            line.strays++;
            line.is_of_marks |= memchr(":<>@", c, 4) != NULL;
        }
    }
    return line;
}

static bool is_pure(const struct line *line)
{
    return line->letters > 0 && line->strays == 0 && !line->has_blanks;
}

/* Whether a line is surely base64, wherever it stands. */
static bool is_long(const struct line *line)
{
    return line->run >= LONG_RUN ||
           (line->letters >= LONG_RUN && !line->has_blanks && !line->is_of_marks &&
            line->strays <= line->letters / MOST_STRAYS);
}

/* Whether bytes are text: UTF-8, perhaps with the last character cut off, without control
 * characters except white space and those of ISO 2022. */
static bool is_text(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if ((c < ' ' && !nb_ascii_is_space(c) && c != 0x1b) || c == 0x7f)
            return false;
    }
    for (size_t cut = 0; cut <= UTF8_TAIL && cut < length; cut++) {
        if (nb_utf8_is_valid((struct nb_string){bytes, length - cut}))
            return true;
    }
    return false;
}

/* The reader's state within a body. */
enum state {
    UNSURE, /* all lines so far were short and may be text */
    INSIDE, /* inside base64 */
    BEHIND, /* after a padded, a shorter or an empty line: the encoding may have ended */
    TEXT
};

struct reader {
    struct nb_buffer *out;
    size_t began; /* length of `out` before this body */
    enum state state;
    struct bits bits;
    size_t width;            /* length of the first line */
    size_t letters;          /* characters of the alphabet in all lines so far */
    struct nb_string so_far; /* the lines still undecided */
};

/* Whether the lines so far decode to text. */
static bool gives_text(const struct reader *r)
{
    return is_text(r->out->bytes + r->began, r->out->length - r->began);
}

/* Treats the undecided lines as text. */
static int give_up(struct reader *r)
{
    r->out->length = r->began;
    r->bits = (struct bits){0, 0};
    r->state = TEXT;
    return nb_buffer_append(r->out, r->so_far.bytes, r->so_far.length);
}

/* Whether the undecided lines are base64 if the body ends after them. They are if their length
 * allows it and they decode to text, or if their length and width are multiples of four; then they
 * may decode to any bytes, in any charset. */
static bool is_base64(const struct reader *r)
{
    return r->letters % 4 != 1 && (gives_text(r) || (r->letters % 4 == 0 && r->width % 4 == 0));
}

/* Whether the undecided lines are base64 if text follows them. */
static bool is_base64_before_text(const struct reader *r)
{
    bool may_end = r->letters % 4 == 0 || (r->letters % 4 != 1 && r->letters >= SURE_PIECE);
    return may_end && gives_text(r);
}

static int take_text(struct reader *r, struct nb_string whole)
{
    int rc = 0;
    if (r->state == UNSURE && r->letters > 0 && !is_base64_before_text(r))
        rc = give_up(r);
    else
        rc = append_flushed(&r->bits, r->out);
    if (rc == 0 && r->out->length > r->began && r->state != TEXT)
        rc = nb_buffer_append(r->out, "\n", 1);
    r->state = TEXT;
    return rc == 0 ? nb_buffer_append(r->out, whole.bytes, whole.length) : rc;
}

static int take_encoded(struct reader *r, const struct line *line)
{
    int rc = append_decoded(&r->bits, line->text, r->out);
    r->letters += line->letters;
    if (r->width == 0)
        r->width = line->text.length;
    bool is_end = line->is_padded || line->text.length < r->width;
    if (is_long(line) || line->is_padded || r->state != UNSURE)
        r->state = is_end ? BEHIND : INSIDE;
    return rc;
}

/* Takes a line that may be text: it is base64 if it decodes to text. */
static int try_line(struct reader *r, const struct line *line, struct nb_string whole)
{
    size_t length = r->out->length;
    struct bits bits = r->bits;
    int rc = append_decoded(&r->bits, line->text, r->out);
    if (rc != 0)
        return rc;
    if (is_text(r->out->bytes + length, r->out->length - length)) {
        r->letters += line->letters;
        r->state = line->is_padded ? BEHIND : r->state == UNSURE ? INSIDE : r->state;
        return 0;
    }
    r->out->length = length;
    r->bits = bits;
    return take_text(r, whole);
}

static bool is_worth_trying(const struct reader *r, const struct line *line)
{
    size_t most_strays = line->letters / (r->state == TEXT ? MOST_STRAYS : MOST_STRAYS_INSIDE);
    if (line->strays > most_strays || line->is_of_marks)
        return false;
    if (line->letters >= SURE_PIECE || (r->state != TEXT && line->letters >= SHORT_PIECE))
        return true;
    return is_pure(line) &&
           (line->is_padded || (r->state == BEHIND && line->letters >= SHORT_PIECE &&
                                (r->bits.characters + line->letters) % 4 == 0));
}

/* Takes a line; `whole` includes its blanks and its line break. */
static int take_line(struct reader *r, struct nb_string whole)
{
    struct line line = look(nb_string_trim(whole));
    if (line.text.length == 0) {
        r->state = r->state == INSIDE ? BEHIND : r->state;
        return r->state == TEXT ? nb_buffer_append(r->out, whole.bytes, whole.length) : 0;
    }
    if (is_long(&line))
        return take_encoded(r, &line);
    if (is_pure(&line) && (r->state == INSIDE || r->state == UNSURE))
        return take_encoded(r, &line);
    if (is_worth_trying(r, &line))
        return try_line(r, &line, whole);
    return take_text(r, whole);
}

int nb_transfer_base64_body(struct nb_string body, struct nb_buffer *out)
{
    struct reader r = {.out = out, .began = out->length, .so_far = {body.bytes, 0}};
    const char *end = body.bytes + body.length;
    int rc = nb_buffer_reserve(out, room_for(body.length));
    for (const char *at = body.bytes, *next; rc == 0 && at < end; at = next) {
        next = nb_lines_next(at, end);
        rc = take_line(&r, (struct nb_string){at, (size_t)(next - at)});
        r.so_far.length = (size_t)(next - body.bytes);
    }
    if (rc != 0)
        return rc;
    if (r.state == UNSURE && r.letters > 0 && !is_base64(&r))
        return give_up(&r);
    return append_flushed(&r.bits, out);
}

/* ---- quoted-printable ------------------------------------------------------------------------ */

/* Returns the position after a soft line break whose '=' is before `at`; NULL if there is none. */
static const char *soft_break(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (at < end && *at == '\r')
        return at + 1 < end && at[1] == '\n' ? at + 2 : at + 1;
    if (at < end)
        return *at == '\n' ? at + 1 : NULL;
    return end;
}

int nb_transfer_quoted_printable(struct nb_string body, struct nb_buffer *out)
{
    const char *at = body.bytes;
    const char *end = at + body.length;
    if (body.length == 0)
        return 0;
    if (nb_buffer_reserve(out, body.length) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    while (at < end) {
        const char *mark = memchr(at, '=', (size_t)(end - at));
        size_t plain = (size_t)((mark != NULL ? mark : end) - at);
        memcpy(to, at, plain);
        to += plain;
        if (mark == NULL)
            break;
        at = mark + 1;
        const char *behind;
        if (end - at >= 2 && nb_hex_digit(at[0]) >= 0 && nb_hex_digit(at[1]) >= 0) {
            *to++ = (char)(nb_hex_digit(at[0]) << 4 | nb_hex_digit(at[1]));
            at += 2;
        } else if ((behind = soft_break(at, end)) != NULL) {
            at = behind;
        } else {
            *to++ = '=';
        }
    }
    out->length = (size_t)(to - out->bytes);
    assert(out->length <= out->capacity);
    return 0;
}
