/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/input.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/string.h"
#include "server/client/files/files.h"

enum {
    STEP = 64 * 1024,
    LOOKED_AT = 64 * 1024 /* most bytes of a pipe that decide on its charset */
};

/* ---- decoding -------------------------------------------------------------------------------- */

static bool is_of(const struct nb_input *input, const char *charset)
{
    return strncmp(input->charset.name, charset, strlen(charset)) == 0;
}

/* Returns the number of bytes of an incomplete UTF-8 character at the end. */
static size_t tail_of_utf8(const unsigned char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = bytes[length - back];
        if (nb_utf8_is_continuation(byte))
            continue;
        size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return wanted > back ? back : 0;
    }
    return 0;
}

/* Returns how many bytes of `raw` can be decoded by themselves. In charsets other than
 * windows-1252, UTF-8, UTF-16 and UTF-32 these are whole lines: no character contains the byte of a
 * line end, and shifts end with the line. */
static size_t whole_of(const struct nb_input *input)
{
    const unsigned char *bytes = (const unsigned char *)input->raw.bytes;
    size_t length = input->raw.length;
    if (input->has_ended || length == 0 || is_of(input, "windows-1252"))
        return length;
    if (is_of(input, "utf-8"))
        return length - tail_of_utf8(bytes, length);
    if (strncasecmp(input->charset.name, "utf-32", 6) == 0)
        return length - length % 4;
    if (strncasecmp(input->charset.name, "utf-16", 6) == 0) {
        length -= length % 2;
        bool is_big = strcasecmp(input->charset.name, "utf-16be") == 0;
        unsigned char high = length == 0 ? 0 : bytes[is_big ? length - 2 : length - 1];
        return high >= 0xD8 && high < 0xDC ? length - 2 : length;
    }
    while (length > 0 && bytes[length - 1] != '\n' && bytes[length - 1] != '\r')
        length--;
    return length > 0 || input->raw.length < NB_ITEM_MOST ? length : input->raw.length;
}

/* Decodes as much of `raw` as possible and appends it to the bytes. */
static int decode_raw(struct nb_input *input, struct nb_error *error)
{
    size_t length = whole_of(input);
    struct nb_string text = {input->raw.bytes, length};
    int rc = nb_text_decode(&input->charset, text, SIZE_MAX / 4, &input->bytes, error);
    if (rc != 0 || length == 0)
        return rc;
    memmove(input->raw.bytes, input->raw.bytes + length, input->raw.length - length);
    input->raw.length -= length;
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

int nb_input_fill(struct nb_input *input, size_t most, struct nb_error *error)
{
    if (input->at > 0) {
        memmove(input->bytes.bytes, input->bytes.bytes + input->at,
                input->bytes.length - input->at);
        input->bytes.length -= input->at;
        input->at = 0;
    }
    if (input->has_ended || input->bytes.length >= most)
        return 0;
    struct nb_buffer *to = input->is_decoded ? &input->raw : &input->bytes;
    if (nb_buffer_reserve(to, STEP) != 0)
        return nb_error_no_memory(error);
    size_t room = to->capacity - to->length;
    if (room > most - input->bytes.length)
        room = most - input->bytes.length;
    ssize_t got;
    do
        got = read(input->file, to->bytes + to->length, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return nb_error_errno(error, errno, "cannot be read");
    input->has_ended = got == 0;
    to->length += (size_t)got;
    size_t before = input->bytes.length;
    int rc = input->is_decoded ? decode_raw(input, error) : 0;
    return rc != 0 ? rc : got > 0 || input->bytes.length > before;
}

struct nb_string nb_input_unused(const struct nb_input *input)
{
    const char *bytes = input->bytes.bytes != NULL ? input->bytes.bytes + input->at : "";
    return (struct nb_string){bytes, input->bytes.length - input->at};
}

int nb_input_line(struct nb_input *input, size_t most, struct nb_string *line,
                  struct nb_error *error)
{
    size_t searched = 0;
    for (;;) {
        const char *begin = nb_input_unused(input).bytes;
        size_t left = nb_input_unused(input).length;
        int end = input->line_end == '\0' ? '\n' : input->line_end;
        const char *newline =
            left > searched ? memchr(begin + searched, end, left - searched) : NULL;
        if (newline != NULL || (input->has_ended && left > 0)) {
            size_t length = newline != NULL ? (size_t)(newline - begin) : left;
            input->at += length + (newline != NULL);
            *line = (struct nb_string){begin, length};
            input->had_cr = length > 0 && begin[length - 1] == '\r';
            line->length -= input->had_cr;
            return 1;
        }
        searched = left;
        int rc = nb_input_fill(input, most, error);
        if (rc < 0)
            return rc;
        if (rc == 0 && !input->has_ended)
            return nb_error_set(error, NB_TOO_LARGE, "a line is longer than %zu bytes", most);
        if (rc == 0 && left == 0)
            return 0;
    }
}

/* ---- the charset ----------------------------------------------------------------------------- */

/* Returns the place where the file begins, while none of it has been used; -1: it is a pipe. */
static off_t begin_of(const struct nb_input *input)
{
    off_t at = lseek(input->file, 0, SEEK_CUR);
    return at < 0 || input->is_decoded ? -1 : at - (off_t)input->bytes.length;
}

/* Adds the rest of the file to the census. */
static int count_rest(struct nb_input *input, struct nb_census *census, bool *has_replacement,
                      struct nb_error *error)
{
    int rc = 1;
    *has_replacement = false;
    while (rc > 0) {
        struct nb_string piece = nb_input_unused(input);
        const char *lost = memmem(piece.bytes, piece.length, "\xEF\xBF\xBD", 3);
        nb_census_add(census, piece.bytes,
                      lost == NULL ? piece.length : (size_t)(lost - piece.bytes));
        *has_replacement = lost != NULL && input->is_decoded;
        if (*has_replacement)
            return 0;
        if (lost != NULL)
            nb_census_add(census, lost, piece.length - (size_t)(lost - piece.bytes));
        input->at = input->bytes.length;
        rc = nb_input_fill(input, STEP, error);
    }
    nb_census_end(census);
    return rc;
}

/* Reports what is wrong with a text that was read completely. */
static int judge(const struct nb_census *c, const struct nb_text_charset *charset,
                 struct nb_error *error)
{
    bool is_wide = strncasecmp(charset->name, "utf-16", 6) == 0 ||
                   strncasecmp(charset->name, "utf-32", 6) == 0;
    if (!is_wide && c->nuls[0] + c->nuls[1] + c->nuls[2] + c->nuls[3] > 0)
        return nb_error_set(error, NB_INVALID,
                            "line %ju has NUL bytes, so it is no text; if it is UTF-16, "
                            "--charset utf-16le (or utf-16be) reads it",
                            (uintmax_t)c->first_nul);
    if (charset->is_damaged)
        return nb_error_set(error, NB_INVALID,
                            "is UTF-8, but line %ju has bytes that are not: mend it, or use "
                            "--charset utf-8, which reads those bytes as windows-1252",
                            (uintmax_t)c->first_stray);
    if (charset->is_unlikely)
        return nb_error_set(error, NB_INVALID,
                            "is neither UTF-8 nor windows-1252 (line %ju is the first with bytes "
                            "above 127): say its charset, as in --charset cp850",
                            (uintmax_t)c->first_stray);
    return 0;
}

/* Returns the line end. Lines of old Mac files end with CR; Excel for these Macs writes LF within
 * cells. */
static char line_end_of(const struct nb_census *c, bool is_quoted)
{
    uint64_t feeds = c->lone_lf + c->crlf + (is_quoted ? 0 : c->quoted_lf);
    uint64_t returns = c->lone_cr + (is_quoted ? 0 : c->quoted_cr);
    return feeds == 0 && returns > 0 ? '\r' : '\0';
}

/* Goes back to the beginning of the text. */
static int rewind_to(struct nb_input *input, off_t begin, struct nb_error *error)
{
    input->bytes.length = input->raw.length = input->at = 0;
    input->has_ended = false;
    if (lseek(input->file, begin + (off_t)input->charset.mark, SEEK_SET) < 0)
        return nb_error_errno(error, errno, "cannot be read a second time");
    return 0;
}

/* Reads the whole file, twice if it is not UTF-8. */
static int decode_file(struct nb_input *input, struct nb_string charset, off_t begin,
                       bool is_quoted, bool is_lenient, struct nb_error *error)
{
    struct nb_census raw = {0}, text = {0};
    bool is_lost;
    int rc = count_rest(input, &raw, &is_lost, error);
    if (rc != 0)
        return rc;
    input->charset = nb_text_charset_of(&raw, charset);
    rc = is_lenient ? 0 : judge(&raw, &input->charset, error);
    if (rc == 0)
        rc = rewind_to(input, begin, error);
    input->line_end = line_end_of(&raw, is_quoted);
    input->is_decoded = !is_of(input, "utf-8") || raw.strays > 0;
    if (rc != 0 || !input->is_decoded)
        return rc;
    rc = count_rest(input, &text, &is_lost, error);
    if (rc == 0 && is_lost && !is_lenient && !is_of(input, "utf-8"))
        return nb_error_set(error, NB_INVALID, "line %ju has bytes that are no characters of %s%s",
                            (uintmax_t)text.line + 1, input->charset.name,
                            charset.length > 0 ? ": name another one with --charset"
                                               : ": say its charset with --charset");
    input->line_end = line_end_of(&text, is_quoted);
    return rc == 0 ? rewind_to(input, begin, error) : rc;
}

/* Detects the charset from the bytes that have arrived, and decodes these; later bytes are decoded
 * in the same charset. */
static int decode_pipe(struct nb_input *input, struct nb_string charset, bool is_quoted,
                       bool is_lenient, struct nb_error *error)
{
    struct nb_census seen = {0}, text = {0};
    int rc = 1;
    while (rc > 0 && input->bytes.length < LOOKED_AT &&
           (input->bytes.length < sizeof seen.head ||
            memchr(input->bytes.bytes, '\n', input->bytes.length) == NULL))
        rc = nb_input_fill(input, LOOKED_AT, error);
    if (rc < 0)
        return rc;
    size_t cut = input->has_ended
                     ? 0
                     : tail_of_utf8((const unsigned char *)input->bytes.bytes, input->bytes.length);
    nb_census_add(&seen, input->bytes.bytes, input->bytes.length - cut);
    nb_census_end(&seen);
    input->charset = nb_text_charset_of(&seen, charset);
    rc = is_lenient ? 0 : judge(&seen, &input->charset, error);
    if (rc != 0)
        return rc;
    struct nb_buffer bytes = input->bytes;
    input->bytes = input->raw;
    input->raw = bytes;
    input->is_decoded = true;
    size_t mark = input->charset.mark;
    if (mark > 0)
        memmove(input->raw.bytes, input->raw.bytes + mark, input->raw.length - mark);
    input->raw.length -= mark;
    rc = decode_raw(input, error);
    if (rc == 0)
        nb_census_add(&text, input->bytes.bytes, input->bytes.length);
    input->line_end = line_end_of(&text, is_quoted);
    return rc;
}

int nb_input_decode(struct nb_input *input, struct nb_string charset, bool is_quoted,
                    bool is_lenient, struct nb_error *error)
{
    off_t begin = begin_of(input);
    return begin < 0 ? decode_pipe(input, charset, is_quoted, is_lenient, error)
                     : decode_file(input, charset, begin, is_quoted, is_lenient, error);
}

bool nb_input_again(const struct nb_input *input, struct nb_input *other)
{
    *other = (struct nb_input){.file = input->file,
                               .is_decoded = input->is_decoded,
                               .charset = input->charset,
                               .line_end = input->line_end};
    return lseek(other->file, (off_t)input->charset.mark, SEEK_SET) >= 0;
}

void nb_input_deinit(struct nb_input *input)
{
    nb_buffer_deinit(&input->raw);
    if (input->is_owned)
        (void)close(input->file); /* only read from: no data is lost */
    nb_buffer_deinit(&input->bytes);
}
