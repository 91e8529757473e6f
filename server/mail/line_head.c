/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/line_head.h"

#include <assert.h>
#include <string.h>

#include "core/base/string.h"
#include "server/mail/line_routes.h"

/* ---- whose it is ----------------------------------------------------------------------------- */

/* Compares the beginning of `text` with `wanted` and moves `text` behind it. NB_SNIFF_LINE: `text`
 * begins with all of it. */
static enum nb_line_sniff take(struct nb_string *text, const char *wanted)
{
    size_t length = strlen(wanted);
    size_t known = text->length < length ? text->length : length;
    if (memcmp(text->bytes, wanted, known) != 0)
        return NB_SNIFF_HTTP;
    *text = nb_string_from(*text, known);
    return known == length ? NB_SNIFF_LINE : NB_SNIFF_MORE;
}

static enum nb_line_sniff matches(const struct nb_line_route *route, struct nb_string text)
{
    enum nb_line_sniff verb = take(&text, route->route.method);
    return verb == NB_SNIFF_LINE ? take(&text, route->protocol->greeting) : verb;
}

enum nb_line_sniff nb_line_sniff(const char *bytes, size_t length)
{
    size_t count;
    const struct nb_line_route *routes = nb_line_route_table(&count);
    enum nb_line_sniff best = length > 0 ? NB_SNIFF_HTTP : NB_SNIFF_MORE;
    for (size_t i = 0; i < count && length > 0; i++) {
        enum nb_line_sniff one = matches(&routes[i], (struct nb_string){bytes, length});
        if (one == NB_SNIFF_LINE)
            return one;
        if (one == NB_SNIFF_MORE)
            best = one;
    }
    return best;
}

/* ---- the first line -------------------------------------------------------------------------- */

void nb_line_head_begin(struct nb_line_head *head, struct nb_string bytes)
{
    *head = (struct nb_line_head){.route = NULL};
    size_t count;
    const struct nb_line_route *routes = nb_line_route_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (matches(&routes[i], bytes) == NB_SNIFF_LINE) {
            head->route = &routes[i];
            head->index = i;
        }
    }
}

/* Reads a number of at most `digits` digits and moves `text` behind it. */
static bool take_number(struct nb_string *text, size_t digits, uint64_t *number)
{
    assert(digits <= 19); /* so it does not overflow */
    size_t i = 0;
    *number = 0;
    while (i < text->length && i < digits && nb_ascii_is_digit(text->bytes[i]))
        *number = *number * 10 + (uint64_t)(text->bytes[i++] - '0');
    *text = nb_string_from(*text, i);
    return i > 0;
}

/* Reads the version, which follows the verb and the greeting. */
static int read_version(struct nb_line_head *head, struct nb_string line, struct nb_error *error)
{
    const struct nb_line_route *route = head->route;
    assert(route != NULL); /* nb_line_sniff has found it in the table */
    size_t before = strlen(route->route.method) + strlen(route->protocol->greeting);
    struct nb_string text = nb_string_trim(nb_string_from(line, before));
    uint64_t major, minor = 0;
    bool is_good = take_number(&text, 2, &major);
    if (is_good && text.length > 0 && text.bytes[0] == '.') {
        text = nb_string_from(text, 1);
        is_good = take_number(&text, 2, &minor);
    }
    if (!is_good || text.length > 0)
        return nb_error_set(error, NB_INVALID,
                            "the first line must end with the protocol's version, such as 1.3");
    head->version = (unsigned)(major * 100 + minor);
    return 0;
}

/* ---- the fields ------------------------------------------------------------------------------ */

static bool is_named(struct nb_string line, const char *name)
{
    size_t length = strlen(name);
    return line.length > length && line.bytes[length] == ':' && nb_string_starts_nocase(line, name);
}

static struct nb_string text_of(struct nb_string line)
{
    const char *colon = memchr(line.bytes, ':', line.length);
    assert(colon != NULL); /* the caller has checked it */
    size_t before = (size_t)(colon - line.bytes) + 1;
    return nb_string_trim(nb_string_from(line, before));
}

static int read_length(struct nb_line_head *head, struct nb_string text, struct nb_error *error)
{
    uint64_t length;
    if (!take_number(&text, 18, &length) || text.length > 0)
        return nb_error_set(error, NB_INVALID, "Content-length must be a whole number");
    if (head->has_length && head->length != length)
        return nb_error_set(error, NB_INVALID, "there are two different fields Content-length");
    head->has_length = true;
    head->length = length;
    return 0;
}

static int read_field(struct nb_line_head *head, struct nb_string line, struct nb_error *error)
{
    if (memchr(line.bytes, ':', line.length) == NULL)
        return nb_error_set(error, NB_INVALID, "a header field is not of the form 'Name: value'");
    if (is_named(line, "Content-length"))
        return read_length(head, text_of(line), error);
    if (head->route->protocol->takes_zlib && is_named(line, "Compress")) {
        struct nb_string text = text_of(line);
        head->is_zlib = nb_string_equals_nocase(text, "zlib");
        if (!head->is_zlib)
            return nb_error_set(error, NB_INVALID, "the only compression that is known is zlib");
    }
    return 0;
}

static int check_bytes(struct nb_string line, struct nb_error *error)
{
    for (size_t i = 0; i < line.length; i++) {
        unsigned char c = (unsigned char)line.bytes[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return nb_error_set(error, NB_INVALID, "the head holds control characters");
    }
    return 0;
}

/* Takes one line without its line end. Returns 0 when this line completes the head. */
static int take_line(struct nb_line_head *head, struct nb_string line, struct nb_error *error)
{
    int rc = check_bytes(line, error);
    if (rc != 0)
        return rc;
    if (head->first == 0) {
        rc = read_version(head, line, error);
        bool has_fields = head->route->route.body != NB_BODY_NONE &&
                          head->version >= head->route->protocol->first_with_fields;
        return rc != 0 || !has_fields ? rc : NB_LINE_MORE;
    }
    if (line.length == 0)
        return 0;
    rc = read_field(head, line, error);
    return rc != 0 ? rc : NB_LINE_MORE;
}

int nb_line_head_read(struct nb_line_head *head, struct nb_string bytes, struct nb_error *error)
{
    size_t known = bytes.length < NB_LINE_HEAD_BYTES ? bytes.length : NB_LINE_HEAD_BYTES;
    assert(head->scanned <= head->searched && head->searched <= known);
    for (;;) {
        const char *start = bytes.bytes + head->scanned;
        const char *end = memchr(bytes.bytes + head->searched, '\n', known - head->searched);
        head->searched = known;
        if (end == NULL)
            break;
        size_t length = (size_t)(end - start);
        struct nb_string line = {start, length > 0 && end[-1] == '\r' ? length - 1 : length};
        int rc = take_line(head, line, error);
        head->searched = head->scanned += length + 1;
        if (head->first == 0)
            head->first = head->scanned;
        if (rc != NB_LINE_MORE)
            return rc;
    }
    if (known < NB_LINE_HEAD_BYTES)
        return NB_LINE_MORE;
    return nb_error_set(error, NB_TOO_LARGE, "the head has more than %d bytes", NB_LINE_HEAD_BYTES);
}

struct nb_string nb_line_head_next(const struct nb_line_head *head, struct nb_string bytes,
                                   const char *name, size_t *at)
{
    assert(head->first <= head->scanned && head->scanned <= bytes.length);
    if (*at < head->first)
        *at = head->first;
    while (*at < head->scanned) {
        const char *start = bytes.bytes + *at;
        const char *end = memchr(start, '\n', head->scanned - *at);
        assert(end != NULL); /* only whole lines were scanned */
        struct nb_string line = {start, (size_t)(end - start)};
        *at += line.length + 1;
        if (is_named(line, name))
            return text_of(line);
    }
    return (struct nb_string){NULL, 0};
}

struct nb_string nb_line_head_field(const struct nb_line_head *head, struct nb_string bytes,
                                    const char *name)
{
    size_t at = 0;
    return nb_line_head_next(head, bytes, name, &at);
}
