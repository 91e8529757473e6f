/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_file.h"

#include <string.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/charset.h"

/* ---- the header ------------------------------------------------------------------------------ */

/* Returns the length of the name of the header field that begins at `line`; 0: no field begins
 * there. */
static size_t field_name(const char *line, const char *end)
{
    const char *p = line;
    while (p<end && * p> ' ' && *p < 127 && *p != ':')
        p++;
    return p < end && *p == ':' ? (size_t)(p - line) : 0;
}

static bool is_one_of(struct nb_string name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nb_string_equals_nocase(name, names[i]))
            return true;
    return false;
}

static bool is_well_known(struct nb_string name)
{
    static const char *const NAMES[] = {"from",         "to",       "cc",           "subject",
                                        "date",         "received", "return-path",  "message-id",
                                        "mime-version", "reply-to", "delivered-to", "sender"};
    return is_one_of(name, NAMES, sizeof NAMES / sizeof *NAMES);
}

/* Whether the field is a trace field: programs write these, and people do not copy them when they
 * quote a header. */
static bool is_trace(struct nb_string name)
{
    static const char *const NAMES[] = {"received", "return-path", "message-id", "mime-version"};
    return is_one_of(name, NAMES, sizeof NAMES / sizeof *NAMES);
}

/* Whether there are at least `wanted` well-known fields and, if required, a trace field before the
 * first line that is no field. */
static bool has_head(struct nb_string bytes, size_t wanted, bool needs_trace)
{
    size_t most = bytes.length < NB_MAIL_FILE_HEAD ? bytes.length : NB_MAIL_FILE_HEAD;
    const char *line = bytes.bytes, *end = line + most;
    size_t known = 0;
    bool has_trace = !needs_trace;
    while (line < end && *line != '\n' && *line != '\r' && (known < wanted || !has_trace)) {
        const char *next = nb_lines_next(line, end);
        bool is_continued = line > bytes.bytes && (*line == ' ' || *line == '\t');
        struct nb_string name = {line, is_continued ? 0 : field_name(line, next)};
        if (name.length == 0 && !is_continued)
            return false;
        known += name.length > 0 && is_well_known(name);
        has_trace = has_trace || is_trace(name);
        line = next;
    }
    return known >= wanted && has_trace;
}

bool nb_mail_file_has_head(struct nb_string bytes)
{
    return has_head(bytes, 2, false);
}

/* ---- lines that may stand before it ---------------------------------------------------------- */

static const char blanks[] = " \t\v\f\r\n";

/* Returns a line without the blanks at its beginning, including no-break spaces and byte order
 * marks. */
static struct nb_string without_blanks(struct nb_string line)
{
    for (size_t before = 0; line.length != before;) {
        before = line.length;
        line = nb_string_trim_start(line, blanks);
        if (nb_string_starts(line, "\xC2\xA0"))
            line = nb_string_from(line, 2);
        else if (nb_string_starts(line, "\xEF\xBB\xBF") || nb_string_starts(line, "\xE2\x80\x8B"))
            line = nb_string_from(line, 3);
    }
    return line;
}

/* Whether a line is a reply of SMTP: "250-SIZE", "354 go on", "220". */
static bool is_reply(struct nb_string line)
{
    if (line.length < 3 || line.bytes[0] < '2' || line.bytes[0] > '5' ||
        !nb_ascii_is_digit(line.bytes[1]) || !nb_ascii_is_digit(line.bytes[2]))
        return false;
    return line.length == 3 || line.bytes[3] == ' ' || line.bytes[3] == '-';
}

/* Whether a line is from a session with a server: SMTP (RFC 5321), POP3 (RFC 1939), IMAP or
 * telnet. */
static bool is_protocol(struct nb_string line)
{
    static const char *const beginnings[] = {"EHLO ",
                                             "HELO ",
                                             "LHLO ",
                                             "MAIL FROM:",
                                             "RCPT TO:",
                                             "MAIL FROM :",
                                             "AUTH ",
                                             "XCLIENT ",
                                             "+OK",
                                             "-ERR",
                                             "RETR ",
                                             "TOP ",
                                             "USER ",
                                             "PASS ",
                                             "LIST",
                                             "STAT",
                                             "* ",
                                             "+ ",
                                             "Trying ",
                                             "Connected to ",
                                             "Escape character is "};
    static const char *const words[] = {"DATA", "RSET", "NOOP", "STARTTLS", "QUIT", "."};
    line = nb_string_trim_end(line, blanks);
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (nb_string_starts_nocase(line, beginnings[i]))
            return true;
    return is_reply(line) || is_one_of(line, words, sizeof words / sizeof *words);
}

/* Takes a line before the header. Counts it as garbage if it is of no known kind. Returns whether a
 * header may follow: not if there was garbage before. */
static bool take_line(struct nb_string line, size_t *garbage)
{
    bool is_mbox = nb_lines_is_separator(line.bytes, line.bytes + line.length) ||
                   nb_string_starts(line, ">From ");
    bool is_known = line.length == 0 || is_mbox || is_protocol(line);
    bool goes_on = *garbage == 0;
    *garbage += !is_known;
    return goes_on;
}

/* Returns the file from its header on, or all of it if there is no header. */
static struct nb_string from_head(struct nb_string file)
{
    const char *end = file.bytes + file.length;
    size_t garbage = 0;
    const char *line = file.bytes;
    for (size_t i = 0; i < NB_MAIL_FILE_LINES && line < end; i++) {
        const char *next = nb_lines_next(line, end);
        struct nb_string text = without_blanks((struct nb_string){line, (size_t)(next - line)});
        struct nb_string rest = {text.bytes, (size_t)(end - text.bytes)};
        bool is_field = text.length > 0 && field_name(text.bytes, next) > 0;
        if (is_field && text.bytes == file.bytes)
            break;
        if (is_field && has_head(rest, garbage > 0 ? 3 : 2, garbage > 0))
            return rest;
        if (!take_line(text, &garbage) || next - file.bytes > NB_MAIL_FILE_BYTES)
            break;
        line = next;
    }
    return file;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Whether a CR ends a line by itself: it is not followed by LF, nor by further CRs and LF, which
 * broken gateways write instead of CR LF. */
static bool is_line_end(const char *cr, const char *end)
{
    while (cr < end && *cr == '\r')
        cr++;
    return cr == end || *cr != '\n';
}

/* Whether the first line, or every line of the body, ends with CR alone. */
static bool has_lines_of_cr(struct nb_string file)
{
    const char *end = file.bytes + file.length;
    const char *feed = memchr(file.bytes, '\n', file.length);
    const char *cr =
        memchr(file.bytes, '\r', feed != NULL ? (size_t)(feed - file.bytes) : file.length);
    if (cr != NULL && is_line_end(cr, end))
        return true;
    const char *line = file.bytes;
    while (line < end && !nb_lines_is_empty(line, end))
        line = nb_lines_next(line, end);
    struct nb_string body = {nb_lines_next(line, end), 0};
    body.length = (size_t)(end - body.bytes);
    return body.length > 0 && memchr(body.bytes, '\n', body.length) == NULL &&
           memchr(body.bytes, '\r', body.length) != NULL;
}

/* Appends the text with LF for each CR that ends a line. */
static int convert_lines(struct nb_string text, struct nb_buffer *out)
{
    size_t before = out->length;
    if (nb_buffer_append(out, text.bytes, text.length) != 0)
        return NB_NO_MEMORY;
    char *at = out->bytes + before, *end = out->bytes + out->length;
    while ((at = memchr(at, '\r', (size_t)(end - at))) != NULL) {
        bool is_end = is_line_end(at, end);
        while (at < end && *at == '\r')
            *at++ = is_end ? '\n' : '\r';
    }
    return 0;
}

/* Returns the UTF-16 charset of a file; "" if it is not UTF-16. Without a byte order mark, the file
 * must begin with two ASCII characters. */
static const char *utf16_of(struct nb_string file)
{
    if (nb_string_starts(file, "\xFF\xFE") || nb_string_starts(file, "\xFE\xFF"))
        return "utf-16";
    if (file.length < 4)
        return "";
    if (file.bytes[0] != '\0' && file.bytes[1] == '\0' && file.bytes[2] != '\0' &&
        file.bytes[3] == '\0')
        return "utf-16le";
    return file.bytes[0] == '\0' && file.bytes[1] != '\0' && file.bytes[2] == '\0' &&
                   file.bytes[3] != '\0'
               ? "utf-16be"
               : "";
}

static int from_utf16(struct nb_string *file, struct nb_buffer *out)
{
    const char *charset = utf16_of(*file);
    if (*charset == '\0')
        return 0;
    int rc = nb_charset_to_utf8(NULL, nb_string_of(charset), file->bytes, file->length,
                                2 * file->length, out, NULL);
    if (rc == NB_NO_MEMORY)
        return rc;
    if (rc == 0)
        *file = (struct nb_string){out->length > 0 ? out->bytes : "", out->length};
    return 0;
}

int nb_mail_file_lines(struct nb_string file, struct nb_buffer *out, struct nb_string *lines)
{
    out->length = 0;
    *lines = file;
    if (file.length == 0)
        return 0;
    int rc = from_utf16(&file, out);
    if (nb_string_starts(file, "\xEF\xBB\xBF"))
        file = nb_string_from(file, 3);
    *lines = file;
    if (rc != 0 || file.length == 0 || !has_lines_of_cr(file))
        return rc;
    struct nb_buffer converted = {0};
    rc = convert_lines(file, &converted);
    nb_buffer_deinit(out);
    *out = converted;
    *lines = (struct nb_string){out->length > 0 ? out->bytes : "", out->length};
    return rc;
}

int nb_mail_of_file(struct nb_string file, struct nb_buffer *out, struct nb_string *mail)
{
    int rc = nb_mail_file_lines(file, out, mail);
    if (rc == 0 && mail->length > 0)
        *mail = from_head(*mail);
    return rc;
}

struct nb_mbox nb_mbox_of(const char *bytes, size_t length)
{
    return (struct nb_mbox){.at = bytes, .end = length == 0 ? bytes : bytes + length};
}

/* Whether a line is quoted: ">From " was "From " (mboxo), ">>From " was ">From " (mboxrd). */
static bool is_quoted(const char *line, const char *next)
{
    const char *p = line;
    while (p < next && *p == '>')
        p++;
    return p > line && nb_lines_is_separator(p, next);
}

int nb_mbox_next(struct nb_mbox *mbox, struct nb_buffer *mail)
{
    mail->length = 0;
    const char *line = mbox->at;
    const char *next = line;
    while (line < mbox->end && nb_lines_is_empty(line, next = nb_lines_next(line, mbox->end)))
        line = next;
    if (line == mbox->end) {
        mbox->at = mbox->end;
        return 0;
    }
    if (!nb_lines_is_separator(line, next))
        return NB_INVALID;
    /* Lines are copied in runs: the bytes from `begin` to `line` are still to be copied. An empty
     * line is copied only when it is clear that no "From " line follows. */
    const char *begin = line = next;
    const char *blank = NULL;
    for (; line < mbox->end; line = next) {
        next = nb_lines_next(line, mbox->end);
        if (blank != NULL && nb_lines_is_separator(line, next))
            break;
        blank = nb_lines_is_empty(line, next) ? line : NULL;
        if (!is_quoted(line, next))
            continue;
        if (nb_buffer_append(mail, begin, (size_t)(line - begin)) != 0)
            return NB_NO_MEMORY;
        begin = line + 1;
    }
    const char *end = blank != NULL ? blank : line;
    if (nb_buffer_append(mail, begin, (size_t)(end - begin)) != 0)
        return NB_NO_MEMORY;
    mbox->at = line;
    return 1;
}
