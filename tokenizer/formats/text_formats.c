/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/formats/text_formats.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/string.h"

/* Returns the position after the line break and blank of a fold at `at`; `at` itself if there is
 * none. */
static const char *behind_fold(const char *at, const char *end)
{
    const char *next = at;
    if (next < end && *next == '\r')
        next++;
    if (next < end && *next == '\n')
        next++;
    bool folds = next > at && next < end && (*next == ' ' || *next == '\t');
    return folds ? next + 1 : at;
}

static bool is_escapable(char c)
{
    return c == '\\' || c == ',' || c == ';' || c == ':' || c == '"';
}

int nb_calendar_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *at = text.bytes;
    const char *end = at + text.length;
    bool is_escaped = false;
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    while (at < end) {
        const char *next = behind_fold(at, end);
        if (next > at) { /* a fold may stand between a backslash and its letter */
            at = next;
            continue;
        }
        char c = *at++;
        if (!is_escaped && c == '\\') {
            is_escaped = true;
            continue;
        }
        if (is_escaped && (c == 'n' || c == 'N'))
            c = '\n';
        else if (is_escaped && !is_escapable(c))
            *to++ = '\\';
        *to++ = c;
        is_escaped = false;
    }
    if (is_escaped)
        *to++ = '\\';
    out->length = (size_t)(to - out->bytes);
    assert(out->length <= out->capacity);
    return 0;
}

enum { COMMAND_BYTES = 60 /* bytes of a command's name (RFC 1896); a longer one is text */ };

/* Returns the name of the command at `at`, which is a '<', with the '/' of an end command. The
 * length is 0 if there is no command. */
static struct nb_string command_at(const char *at, const char *end)
{
    const char *name = at + 1;
    const char *c = name;
    c += c < end && *c == '/';
    while (c < end && c - name <= COMMAND_BYTES && (nb_ascii_is_alphanumeric(*c) || *c == '-'))
        c++;
    bool is_command = c < end && *c == '>';
    return (struct nb_string){name, is_command ? (size_t)(c - name) : 0};
}

/* Returns the character that a command of richtext stands for; 0 for other commands. */
static char character_of(struct nb_string command)
{
    if (nb_string_equals_nocase(command, "lt"))
        return '<';
    if (nb_string_equals_nocase(command, "nl") || nb_string_equals_nocase(command, "np") ||
        nb_string_equals_nocase(command, "paragraph") ||
        nb_string_equals_nocase(command, "/paragraph"))
        return '\n';
    return '\0';
}

int nb_enriched_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *at = text.bytes;
    const char *end = at + text.length;
    const char *until = NULL; /* the command that ends the skipped text; NULL: not skipping */
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    while (at < end) {
        struct nb_string command = {at, 0};
        if (*at == '<')
            command = command_at(at, end);
        if (command.length == 0) {
            at += *at == '<' && end - at > 1 && at[1] == '<'; /* "<<" is a '<' */
            if (until == NULL)
                *to++ = *at;
            at++;
            continue;
        }
        at = command.bytes + command.length + 1;
        if (until != NULL) {
            until = nb_string_equals_nocase(command, until) ? NULL : until;
            continue;
        }
        if (nb_string_equals_nocase(command, "param"))
            until = "/param";
        else if (nb_string_equals_nocase(command, "comment"))
            until = "/comment";
        else if (character_of(command) != '\0')
            *to++ = character_of(command);
    }
    out->length = (size_t)(to - out->bytes);
    assert(out->length <= out->capacity);
    return 0;
}

int nb_flowed_to_text(struct nb_string text, struct nb_buffer *out)
{
    const char *end = text.bytes + text.length;
    bool goes_on = false; /* the line before ended with a blank */
    size_t depth = 0;     /* quoting depth of the line before */
    if (text.length == 0)
        return 0;
    if (nb_buffer_reserve(out, text.length) != 0)
        return NB_NO_MEMORY;
    size_t began = out->length;
    for (const char *line = text.bytes, *next; line < end; line = next) {
        next = nb_lines_next(line, end);
        struct nb_string whole = {line, (size_t)(next - line)};
        struct nb_string rest = nb_string_trim_start(whole, ">");
        size_t quotes = whole.length - rest.length;
        if (rest.length > 0 && rest.bytes[0] == ' ') /* space-stuffing (4.4) */
            rest = nb_string_from(rest, 1);
        struct nb_string words = nb_string_trim_end(rest, "\r\n");
        bool is_signature = words.length == 3 && memcmp(words.bytes, "-- ", 3) == 0;
        bool is_joined = goes_on && quotes == depth && !is_signature;
        goes_on = !is_signature && words.length > 0 && words.bytes[words.length - 1] == ' ';
        if (goes_on && words.length < rest.length)
            rest = (struct nb_string){words.bytes, words.length - 1};
        size_t length = out->length;
        if (!is_joined && length > began && out->bytes[length - 1] != '\n')
            out->bytes[out->length++] = '\n'; /* the pending line end of the line before */
        if (!is_joined) {
            memcpy(out->bytes + out->length, line, quotes);
            out->length += quotes;
        }
        memcpy(out->bytes + out->length, rest.bytes, rest.length);
        out->length += rest.length;
        depth = quotes;
    }
    assert(out->length <= out->capacity);
    return 0;
}
