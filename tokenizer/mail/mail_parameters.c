/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail/mail_parameters.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/ascii.h"

static const char blanks[] = " \t\r\n";

/* Whether a parameter of a well-known name begins here: "charset=", "name*0=", "boundary =". */
static bool begins_parameter(struct nb_string rest)
{
    static const char *const names[] = {"charset", "boundary", "name",   "filename",
                                        "format",  "delsp",    "method", "report-type",
                                        "type",    "protocol", "micalg"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!nb_string_starts_nocase(rest, names[i]))
            continue;
        struct nb_string behind = nb_string_from(rest, strlen(names[i]));
        behind = nb_string_trim_start(behind, "*0123456789");
        behind = nb_string_trim_start(behind, blanks);
        if (behind.length > 0 && behind.bytes[0] == '=')
            return true;
    }
    return false;
}

/* The length of a quoted string or a comment at the beginning; 0 if it does not end. */
static size_t quoted_length(struct nb_string rest, char end)
{
    for (size_t i = 1; i < rest.length; i++) {
        if (rest.bytes[i] == '\\')
            i++;
        else if (rest.bytes[i] == end)
            return i + 1;
    }
    return 0;
}

/* Whether a byte ends the text before a parameter. */
static bool separates(char c)
{
    return nb_string_is_one_of(c, " \t\r\n,\")");
}

/* Returns the length of the next piece that is copied unchanged: a quoted string, a comment or a
 * byte. is_open[], for quotes and comments, notes that one without an end was found: then no later
 * one ends either. */
static size_t piece_length(struct nb_string rest, bool is_open[2])
{
    char c = rest.bytes[0];
    if (c != '"' && c != '(')
        return 1;
    size_t length = is_open[c == '('] ? 0 : quoted_length(rest, c == '(' ? ')' : '"');
    is_open[c == '('] = length == 0;
    return length > 0 ? length : 1;
}

/* Appends the semicolon; it replaces a comma. */
static size_t put_semicolon(char *to, size_t used, char last)
{
    if (last == ',')
        while (to[--used] != ',')
            ;
    to[used] = ';';
    return used + 1;
}

size_t nb_mail_mend_parameters(struct nb_string value, char *to)
{
    size_t used = 0;
    char last = ';'; /* the last non-blank byte */
    bool is_open[2] = {false, false};
    for (size_t i = 0, length; i < value.length; i += length) {
        struct nb_string rest = nb_string_from(value, i);
        bool is_behind = i > 0 && separates(value.bytes[i - 1]);
        if (is_behind && last != ';' && last != '=' && begins_parameter(rest))
            used = put_semicolon(to, used, last);
        length = piece_length(rest, is_open);
        memcpy(to + used, rest.bytes, length);
        used += length;
        if (!nb_string_is_one_of(rest.bytes[0], blanks) && (rest.bytes[0] != '(' || length == 1))
            last = rest.bytes[0];
    }
    return used;
}
