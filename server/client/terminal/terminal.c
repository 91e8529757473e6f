/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/utf8.h"

const char *nb_colour(FILE *out, enum nb_colour colour)
{
    static const char *const SEQUENCES[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                            "\033[31m", "\033[32m", "\033[33m"};
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_wanted = isatty(fileno(out)) && (no_colour == NULL || *no_colour == '\0') &&
                     (term == NULL || strcmp(term, "dumb") != 0);
    return is_wanted ? SEQUENCES[colour] : "";
}

size_t nb_terminal_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += !nb_utf8_is_continuation((unsigned char)*text);
    return width;
}

void nb_terminal_safe(const char *text, size_t most, struct nb_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    size_t width = 0;
    out->length = 0;
    int rc = nb_buffer_reserve(out, 1);
    while (at < end && rc == 0) {
        width += !nb_utf8_is_continuation(*at);
        if (width > most)
            break;
        size_t control = nb_utf8_control(at, end);
        rc = nb_buffer_append(out, control > 0 ? " " : (const char *)at, 1);
        at += control > 0 ? control : 1;
    }
    if (rc == 0 && nb_buffer_append(out, "", 1) == 0)
        out->length--;
    else if (out->capacity > 0)
        out->bytes[0] = '\0';
}

struct nb_shown nb_shown(const char *text)
{
    struct nb_shown shown = {""};
    struct nb_string given = nb_utf8_cut(nb_string_of(text), sizeof shown.text - 1);
    const unsigned char *at = (const unsigned char *)given.bytes, *end = at + given.length;
    for (size_t i = 0; at < end; i++) {
        size_t control = nb_utf8_control(at, end);
        shown.text[i] = control > 0 ? ' ' : (char)*at;
        at += control > 0 ? control : 1;
    }
    return shown;
}
