/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mime.h"

#include <assert.h>
#include <string.h>

#include "core/base/string.h"
#include "tokenizer/ascii_window.h"

static struct nb_string between(const char *from, const char *to)
{
    return (struct nb_string){from, (size_t)(to - from)};
}

static bool is_of_name(char c)
{
    return c > ' ' && c < 0x7f && c != ':';
}

/* Returns the first byte from `at` on that cannot be in a name; `end` if there is none. */
static const char *name_end(const char *at, const char *end)
{
    while (at < end && is_of_name(*at))
        at++;
    return at;
}

/* Returns the length of the name of the field that begins at `at`; 0 if no field begins there. A
 * name is printable ASCII before a colon (RFC 5322, 2.2); old mail has blanks before the colon. */
static size_t field_name(const char *at, const char *end)
{
    const char *c = name_end(at, end - at < NB_MIME_FIELD_NAME ? end : at + NB_MIME_FIELD_NAME);
    size_t length = (size_t)(c - at);
    while (c < end && c - at < NB_MIME_FIELD_NAME && (*c == ' ' || *c == '\t'))
        c++;
    return c < end && *c == ':' ? length : 0;
}

static bool is_folded_line(const char *at, const char *end)
{
    return at < end && (*at == ' ' || *at == '\t');
}

/* Whether a line begins with "From " or ">From ", which mailboxes leave in headers. */
static bool is_mbox_line(const char *at, const char *end)
{
    if (at < end && *at == '>')
        at++;
    return nb_lines_is_separator(at, end);
}

void nb_mime_scan(struct nb_mime_scanner *scanner, const char *bytes, size_t length)
{
    static const char nothing[] = "";
    assert(bytes != NULL || length == 0);
    scanner->at = bytes != NULL ? bytes : nothing;
    scanner->end = scanner->at + length;
    scanner->open = 0;
}

struct nb_mime_level *nb_mime_innermost(struct nb_mime_scanner *scanner)
{
    return scanner->open > 0 ? &scanner->levels[scanner->open - 1] : NULL;
}

bool nb_mime_open(struct nb_mime_scanner *scanner, struct nb_string boundary, size_t depth)
{
    if (boundary.length == 0 || boundary.length >= NB_MIME_BOUNDARY ||
        scanner->open == NB_MIME_LEVELS)
        return false;
    assert(scanner->open < NB_MIME_LEVELS);
    struct nb_mime_level *level = &scanner->levels[scanner->open++];
    memcpy(level->boundary, boundary.bytes, boundary.length);
    level->length = boundary.length;
    level->depth = depth;
    level->digest = false;
    level->parts = 0;
    return true;
}

/* Returns a line without the blanks and the line break at its end; mail programs add blanks to
 * boundaries. */
static struct nb_string trim_line(const char *at, const char *next)
{
    return nb_string_trim_end(between(at, next), " \t\r\n");
}

/* Returns the number (from 1) of the innermost open level whose boundary this line is; 0 if there
 * is none. Sets *closing to whether the line is the closing boundary. */
static size_t find_level(const struct nb_mime_scanner *scanner, struct nb_string line,
                         bool *closing)
{
    for (size_t i = scanner->open; i > 0; i--) {
        const struct nb_mime_level *level = &scanner->levels[i - 1];
        size_t length = level->length + 2;
        bool opens = line.length == length;
        *closing = line.length == length + 2 && memcmp(line.bytes + length, "--", 2) == 0;
        if ((opens || *closing) && memcmp(line.bytes + 2, level->boundary, level->length) == 0)
            return i;
    }
    return 0;
}

static size_t boundary_at(const struct nb_mime_scanner *scanner, const char *at, const char *next,
                          bool *closing)
{
    if (scanner->open == 0 || next - at < 3 || at[0] != '-' || at[1] != '-')
        return 0;
    return find_level(scanner, trim_line(at, next), closing);
}

/* Whether the line at `at` belongs to a header; `began`: earlier lines belong to it. A line that is
 * no field still belongs to the header if a field follows: gateways break long header lines that
 * way. */
static bool continues_head(const char *at, const char *end, bool began)
{
    if (field_name(at, end) > 0 || is_mbox_line(at, end))
        return true;
    if (!began)
        return false;
    const char *next = nb_lines_next(at, end);
    return is_folded_line(at, end) || field_name(next, end) > 0 || nb_lines_is_empty(next, end);
}

struct nb_string nb_mime_head(struct nb_mime_scanner *scanner)
{
    const char *from = scanner->at;
    const char *at = from;
    const char *end = scanner->end;
    while (at < end && !nb_lines_is_empty(at, end)) {
        const char *next = nb_lines_next(at, end);
        bool closing;
        if (boundary_at(scanner, at, next, &closing) > 0 || !continues_head(at, end, at > from))
            break;
        at = next;
    }
    scanner->at = nb_lines_is_empty(at, end) ? nb_lines_next(at, end) : at;
    return between(from, at);
}

enum nb_mime_next nb_mime_body(struct nb_mime_scanner *scanner, struct nb_string *body)
{
    assert(scanner->at <= scanner->end && scanner->open <= NB_MIME_LEVELS);
    const char *from = scanner->at;
    const char *at = scanner->open > 0 ? from : scanner->end;
    while (at < scanner->end) {
        const char *next = nb_lines_next(at, scanner->end);
        bool closing = false;
        size_t level = boundary_at(scanner, at, next, &closing);
        if (level > 0) {
            *body = between(from, at);
            scanner->at = next;
            scanner->open = closing ? level - 1 : level;
            if (closing)
                return NB_MIME_TAIL;
            scanner->levels[level - 1].parts++;
            return NB_MIME_PART;
        }
        at = next;
    }
    *body = between(from, scanner->end);
    scanner->at = scanner->end;
    return NB_MIME_END;
}

bool nb_mime_field(struct nb_string *head, struct nb_string *name, struct nb_string *value)
{
    const char *end = head->bytes + head->length;
    const char *at = head->bytes;
    size_t length = 0;
    while (at < end && (length = field_name(at, end)) == 0)
        at = nb_lines_next(at, end);
    if (at == end)
        return false;
    *name = between(at, at + length);
    const char *colon = memchr(at + length, ':', (size_t)(end - at) - length);
    const char *next = nb_lines_next(at, end);
    while (is_folded_line(next, end))
        next = nb_lines_next(next, end);
    *value = trim_line(colon + 1, next);
    *head = between(next, end);
    return true;
}

struct nb_string nb_mime_find_field(struct nb_string mail, size_t most, const char *wanted)
{
    struct nb_mime_scanner scanner;
    struct nb_string name, value;
    nb_mime_scan(&scanner, mail.bytes, mail.length < most ? mail.length : most);
    struct nb_string head = nb_mime_head(&scanner);
    while (nb_mime_field(&head, &name, &value)) {
        if (nb_string_equals_nocase(name, wanted))
            return value;
    }
    return (struct nb_string){"", 0};
}
