/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/number.h"
#include "core/base/string.h"
#include "tokenizer/character.h"
#include "tokenizer/html_entity_table.h"

static size_t put_utf8(uint32_t c, char *to)
{
    return nb_utf8_encode(c, (unsigned char *)to);
}

static int digit_value(char c, bool hexadecimal)
{
    if (hexadecimal)
        return nb_hex_digit(c);
    return nb_ascii_is_digit(c) ? c - '0' : -1;
}

static size_t read_number(const char *text, size_t length, char *utf8, size_t *written)
{
    size_t at = 2;
    bool hexadecimal = at < length && (text[at] | 0x20) == 'x';
    at += hexadecimal;
    size_t first = at;
    uint32_t code = 0;
    for (int digit; at < length && (digit = digit_value(text[at], hexadecimal)) >= 0; at++) {
        if (code <
            0x110000) /* above this, digits are ignored, so that the number cannot wrap around */
            code = code * (hexadecimal ? 16 : 10) + (uint32_t)digit;
    }
    if (at == first)
        return 0;
    if (code >= 0x80 && code < 0xa0)
        code = nb_windows_1252((unsigned char)code);
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    *written = put_utf8(code, utf8);
    return at + (at < length && text[at] == ';');
}

/* Finds a name in a text of nb_html_entity_names. Returns the position after the name; NULL: it is
 * not there. */
static const char *find_name(struct nb_string names, const char *name, size_t length)
{
    const char *low = names.bytes, *high = names.bytes + names.length;
    while (low < high) {
        const char *middle = low + (high - low) / 2;
        while (middle > low && middle[-1] != ' ')
            middle--;
        int order = strncmp(name, middle, length);
        if (order == 0 && (middle[length] == '#' || middle[length] == '*'))
            return middle + length;
        if (order > 0)
            low = strchr(middle, ' ') + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Writes the characters of the code points that follow a name. Returns their length. */
static size_t put_name(const char *at, char *utf8)
{
    size_t length = 0;
    do {
        char *end;
        length += put_utf8((uint32_t)strtoul(at + 1, &end, 16), utf8 + length);
        at = end;
    } while (*at == '+');
    return length;
}

static size_t read_name(const char *text, size_t length, char *utf8, size_t *written)
{
    const char *name = text + 1, *found = NULL;
    size_t size = 0;
    while (size < length - 1 && size < NB_HTML_ENTITY_NAME && nb_ascii_is_alphanumeric(name[size]))
        size++;
    if (size < 2 || !nb_ascii_is_letter(*name))
        return 0;
    struct nb_string names = nb_html_entity_names[*name - 'A'];
    bool is_closed = size < length - 1 && name[size] == ';';
    if (is_closed)
        found = find_name(names, name + 1, size - 1);
    if (found != NULL) {
        *written = put_name(found, utf8);
        return size + 2;
    }
    /* Look for the longest name that needs no ';' and with which the word begins. */
    for (size_t n = size < NB_HTML_LEGACY_NAME ? size : NB_HTML_LEGACY_NAME; n >= 2; n--) {
        found = find_name(names, name + 1, n - 1);
        if (found != NULL && *found == '*') {
            *written = put_name(found, utf8);
            return n + 1;
        }
    }
    return 0;
}

size_t nb_html_entity(const char *text, size_t length, char utf8[NB_HTML_ENTITY_BYTES],
                      size_t *written)
{
    if (length < 3 || text[0] != '&')
        return 0;
    return text[1] == '#' ? read_number(text, length, utf8, written)
                          : read_name(text, length, utf8, written);
}

static struct nb_string between(const char *from, const char *to)
{
    return (struct nb_string){from, (size_t)(to - from)};
}

/* The position of the first `c` at or behind `at`; `end` if there is none. */
static const char *find_byte(const char *at, const char *end, char c)
{
    const char *found = at < end ? memchr(at, c, (size_t)(end - at)) : NULL;
    return found != NULL ? found : end;
}

static bool begins_with(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

struct nb_html_lexer nb_html_lexer_of(const char *html, size_t length)
{
    static const char nothing[] = "";
    const char *at = html != NULL ? html : nothing;
    return (struct nb_html_lexer){.at = at, .end = at + length};
}

static const char *skip_before_attribute(const char *at, const char *end)
{
    while (at < end && (nb_html_is_space(*at) || *at == '/'))
        at++;
    return at;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && nb_html_is_space(*at))
        at++;
    return at;
}

/* Reads one value. Returns its end, or NULL if its quote is never closed. */
static const char *read_value(const char *at, const char *end, struct nb_string *value)
{
    if (at < end && (*at == '"' || *at == '\'')) {
        const char *closing = find_byte(at + 1, end, *at);
        *value = between(at + 1, closing);
        return closing < end ? closing + 1 : NULL;
    }
    const char *from = at;
    while (at < end && !nb_html_is_space(*at) && *at != '>')
        at++;
    *value = between(from, at);
    return at;
}

/* Reads the attribute at `at`, which is neither white space nor '/' nor '>'. Returns its end, or
 * NULL if a quote is never closed. */
static const char *read_attribute(const char *at, const char *end, struct nb_string *name,
                                  struct nb_string *value)
{
    const char *from = at;
    at = nb_html_name_end(at + 1, end, '='); /* if the first byte is '=', it is part of the name */
    *name = between(from, at);
    *value = (struct nb_string){NULL, 0};
    const char *equals = skip_space(at, end);
    if (equals == end || *equals != '=')
        return equals;
    return read_value(skip_space(equals + 1, end), end, value);
}

/* Reads the next attribute and moves *at behind it, or to `end` if a quote is never closed. If
 * there is no attribute, returns false, and *at is at the '>' or at `end`. */
static bool next_attribute(const char **at, const char *end, struct nb_html_attribute *attribute)
{
    *at = skip_before_attribute(*at, end);
    if (*at == end || **at == '>')
        return false;
    const char *behind = read_attribute(*at, end, &attribute->name, &attribute->value);
    *at = behind != NULL ? behind : end;
    return true;
}

struct nb_html_attributes nb_html_attributes_of(const struct nb_html_token *start_tag)
{
    return (struct nb_html_attributes){start_tag, 0, start_tag->rest};
}

bool nb_html_attribute(struct nb_html_attributes *attributes, struct nb_html_attribute *attribute)
{
    const struct nb_html_token *tag = attributes->tag;
    if (attributes->next < tag->known) {
        *attribute = tag->attributes[attributes->next++];
        return true;
    }
    return next_attribute(&attributes->rest, tag->text.bytes + tag->text.length, attribute);
}

/* Reads the attributes of a tag, which begin at `at`, and keeps the first of them in `token`.
 * Returns the position of the '>' that ends the tag; `end` if there is none. */
static const char *tag_end(const char *at, const char *end, struct nb_html_token *token)
{
    struct nb_html_attribute unkept;
    while (token->known < NB_HTML_KNOWN &&
           next_attribute(&at, end, &token->attributes[token->known]))
        token->known++;
    token->rest = at;
    while (next_attribute(&at, end, &unkept))
        ;
    return at;
}

/* Whether the content of an element is text without markup. */
static bool is_raw(struct nb_string name)
{
    return nb_string_equals_nocase(name, "script") || nb_string_equals_nocase(name, "style") ||
           nb_string_equals_nocase(name, "title") || nb_string_equals_nocase(name, "textarea");
}

/* Reads a tag. `at` is after the '<' of a start tag or the '</' of an end tag. */
static enum nb_html_kind read_tag(struct nb_html_lexer *lexer, const char *at,
                                  enum nb_html_kind kind, struct nb_html_token *token)
{
    const char *from = at;
    at = nb_html_name_end(from, lexer->end, '>');
    token->name = between(from, at);
    const char *closing = tag_end(at, lexer->end, token);
    token->text = between(at, closing);
    if (closing == lexer->end) { /* a tag without an end is left out */
        lexer->at = lexer->end;
        return token->kind = NB_HTML_FINISHED;
    }
    lexer->at = closing + 1;
    if (kind == NB_HTML_START && is_raw(token->name))
        lexer->raw = token->name;
    return token->kind = kind;
}

static enum nb_html_kind comment(struct nb_html_lexer *lexer, struct nb_html_token *token,
                                 const char *from, const char *to, const char *next)
{
    token->text = between(from, to);
    lexer->at = next < lexer->end ? next : lexer->end;
    return token->kind = NB_HTML_COMMENT;
}

/* Reads a comment. `at` is after "<!--". */
static enum nb_html_kind read_comment(struct nb_html_lexer *lexer, const char *at,
                                      struct nb_html_token *token)
{
    if (begins_with(at, lexer->end, ">"))
        return comment(lexer, token, at, at, at + 1);
    if (begins_with(at, lexer->end, "->"))
        return comment(lexer, token, at, at, at + 2);
    for (const char *dash = find_byte(at, lexer->end, '-'); dash < lexer->end;
         dash = find_byte(dash + 1, lexer->end, '-')) {
        if (begins_with(dash, lexer->end, "-->"))
            return comment(lexer, token, at, dash, dash + 3);
        if (begins_with(dash, lexer->end, "--!>"))
            return comment(lexer, token, at, dash, dash + 4);
    }
    return comment(lexer, token, at, lexer->end, lexer->end);
}

/* Reads the content of an element like <script>, to its end tag. */
static enum nb_html_kind read_raw(struct nb_html_lexer *lexer, struct nb_html_token *token)
{
    size_t length = lexer->raw.length;
    const char *at = find_byte(lexer->at, lexer->end, '<');
    for (; at < lexer->end; at = find_byte(at + 1, lexer->end, '<')) {
        if ((size_t)(lexer->end - at) < length + 3 || at[1] != '/')
            continue;
        char after = at[2 + length];
        if (strncasecmp(at + 2, lexer->raw.bytes, length) == 0 &&
            (nb_html_is_space(after) || after == '/' || after == '>'))
            break;
    }
    token->text = between(lexer->at, at);
    token->name = lexer->raw;
    lexer->raw = (struct nb_string){NULL, 0};
    lexer->at = at;
    return token->kind = NB_HTML_RAW;
}

/* Reads the tag or comment at a '<'. Returns false if the '<' is an ordinary character. */
static bool read_markup(struct nb_html_lexer *lexer, struct nb_html_token *token)
{
    const char *at = lexer->at + 1;
    if (at == lexer->end)
        return false;
    if (nb_ascii_is_letter(*at)) {
        read_tag(lexer, at, NB_HTML_START, token);
    } else if (*at == '/' && at + 1 < lexer->end && nb_ascii_is_letter(at[1])) {
        read_tag(lexer, at + 1, NB_HTML_END, token);
    } else if (begins_with(at, lexer->end, "!--")) {
        read_comment(lexer, at + 3, token);
    } else if (*at == '!' || *at == '?' || (*at == '/' && at + 1 < lexer->end)) {
        const char *closing = find_byte(at, lexer->end, '>');
        comment(lexer, token, at, closing, closing + (closing < lexer->end));
    } else {
        return false;
    }
    return true;
}

enum nb_html_kind nb_html_next(struct nb_html_lexer *lexer, struct nb_html_token *token)
{
    assert(lexer->at <= lexer->end);
    token->kind = NB_HTML_FINISHED; /* the attributes are left as they are */
    token->name = token->text = (struct nb_string){NULL, 0};
    token->known = 0;
    token->rest = NULL;
    if (lexer->at == lexer->end)
        return NB_HTML_FINISHED;
    if (lexer->raw.length > 0)
        return read_raw(lexer, token);
    const char *from = lexer->at;
    if (*from == '<' && read_markup(lexer, token))
        return token->kind;
    lexer->at = find_byte(from + 1, lexer->end, '<');
    token->text = between(from, lexer->at);
    return token->kind = NB_HTML_TEXT;
}

int nb_html_decode(struct nb_buffer *out, const char *text, size_t length)
{
    const char *end = text + length;
    int rc = 0;
    for (const char *at = text; at < end && rc == 0;) {
        const char *special = nb_html_special(at, end);
        rc = nb_buffer_append(out, at, (size_t)(special - at));
        at = special;
        if (at == end || rc != 0)
            break;
        char utf8[NB_HTML_ENTITY_BYTES];
        size_t written = 0;
        size_t taken = nb_html_entity(at, (size_t)(end - at), utf8, &written);
        if (taken > 0)
            rc = nb_buffer_append(out, utf8, written);
        else if (*at == '&')
            rc = nb_buffer_append(out, at, 1);
        at += taken > 0 ? taken : 1;
    }
    return rc;
}
