/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/formats/enriched.h"

#include <assert.h>
#include <stdbool.h>

#include "core/base/ascii.h"
#include "core/base/error.h"

enum { COMMAND_BYTES = 60 /* of a name (RFC 1896); a longer one is text */ };

/* Returns the name of the command at `at`, which is a '<', including the '/' of an end; of length 0
 * if there is no command. */
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
