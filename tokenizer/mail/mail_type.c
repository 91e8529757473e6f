/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_type.h"

#include <string.h>

#include "core/base/ascii.h"

enum {
    PLAIN_BYTES = 256 /* longer ones may be cut (mail_decode.c) */
};

/* The parameters that count, by their index in `names`. */
enum { CHARSET, BOUNDARY, NAME, FILENAME, FORMAT, DELSP, COUNTING };
static const char *const names[COUNTING] = {"charset",  "boundary", "name",
                                            "filename", "format",   "delsp"};

/* Whether a character is a letter, a digit or a mark without special meaning (RFC 2045, 5.1). */
static bool is_plain(char c)
{
    return nb_ascii_is_alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '+';
}

/* Takes a token off the beginning of *rest; of no length: there is none. */
static struct nb_string take_token(struct nb_string *rest)
{
    size_t length = 0;
    while (length < rest->length && is_plain(rest->bytes[length]))
        length++;
    struct nb_string token = {rest->bytes, length};
    *rest = nb_string_from(*rest, length);
    return token;
}

static bool take_byte(struct nb_string *rest, char c)
{
    if (rest->length == 0 || rest->bytes[0] != c)
        return false;
    *rest = nb_string_from(*rest, 1);
    return true;
}

static void skip_blanks(struct nb_string *rest)
{
    *rest = nb_string_trim_start(*rest, " \t\r\n");
}

/* Takes the text between quotes; of length 0 if it is not plain. "=?" may begin an encoded word. */
static struct nb_string take_quoted(struct nb_string *rest)
{
    size_t length = 0;
    for (; length < rest->length && rest->bytes[length] != '"'; length++) {
        char c = rest->bytes[length];
        bool encodes = c == '?' && length > 0 && rest->bytes[length - 1] == '=';
        if (c < ' ' || c > '~' || c == '\\' || encodes)
            return (struct nb_string){NULL, 0};
    }
    struct nb_string text = {rest->bytes, length};
    *rest = nb_string_from(*rest, length);
    return take_byte(rest, '"') ? text : (struct nb_string){NULL, 0};
}

/* Takes one parameter after its semicolon. */
static bool take_parameter(struct nb_string *rest, struct nb_string values[COUNTING])
{
    skip_blanks(rest);
    struct nb_string name = take_token(rest);
    if (name.length == 0 || !take_byte(rest, '='))
        return false;
    struct nb_string value = take_byte(rest, '"') ? take_quoted(rest) : take_token(rest);
    if (value.length == 0 || (rest->length > 0 && rest->bytes[0] != ';'))
        return false;
    for (size_t i = 0; i < COUNTING; i++) {
        if (!nb_string_equals_nocase(name, names[i]))
            continue;
        if (values[i].length != 0)
            return false;
        values[i] = value;
    }
    return true;
}

/* Copies as much of a text as fits, in lower case if `lower`. */
static void copy(char *to, size_t size, struct nb_string from, bool lower)
{
    size_t length = from.length < size - 1 ? from.length : size - 1;
    for (size_t i = 0; i < length; i++)
        to[i] = lower ? nb_ascii_lower(from.bytes[i]) : from.bytes[i];
    to[length] = '\0';
}

bool nb_mail_plain_type(struct nb_mail_type *type, struct nb_string value)
{
    struct nb_string values[COUNTING] = {{NULL, 0}};
    if (value.length > PLAIN_BYTES)
        return false;
    skip_blanks(&value);
    struct nb_string media = {value.bytes, 0};
    size_t first = take_token(&value).length;
    if (first == 0 || !take_byte(&value, '/'))
        return false;
    size_t second = take_token(&value).length;
    media.length = first + 1 + second;
    if (second == 0)
        return false;
    while (value.length > 0) {
        if (!take_byte(&value, ';') || !take_parameter(&value, values))
            return false;
    }
    copy(type->media, NB_MAIL_MEDIA, media, true);
    copy(type->charset, NB_MAIL_CHARSET, values[CHARSET], true);
    copy(type->boundary, NB_MAIL_BOUNDARY, values[BOUNDARY], false);
    nb_mail_read_flowed(type, values[FORMAT], values[DELSP]);
    for (size_t i = NAME; i <= FILENAME; i++) {
        if (values[i].length != 0)
            copy(type->file_name, NB_MAIL_FILE_NAME, values[i], false);
    }
    return true;
}
