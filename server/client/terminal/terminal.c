/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/terminal.h"

#include <stdlib.h>
#include <unistd.h>

const char *nb_colour(FILE *out, enum nb_colour colour)
{
    static const char *const SEQUENCES[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                            "\033[31m", "\033[32m", "\033[33m"};
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_wanted = isatty(fileno(out)) && (no_colour == NULL || *no_colour == '\0') &&
                     (term == NULL || strcmp(term, "dumb") != 0);
    return is_wanted ? SEQUENCES[colour] : "";
}

static bool begins_sequence(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

size_t nb_terminal_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += begins_sequence(*text);
    return width;
}

/* The length of the control character at `p`, or 0: C0, DEL, and C1 in its UTF-8 form c2 80 to c2
 * 9f, which some terminals obey. A byte 80 to 9f outside of a UTF-8 sequence is C1 to a terminal
 * that does not use UTF-8, but such a byte is also a part of every other sequence. */
static size_t control_at(const char *p)
{
    unsigned char c = (unsigned char)p[0], next = (unsigned char)p[1];
    if (c == 0xc2 && next >= 0x80 && next <= 0x9f)
        return 2;
    return c < 32 || c == 127;
}

void nb_terminal_safe(const char *text, size_t most, struct nb_buffer *out)
{
    out->length = 0;
    size_t width = 0;
    int rc = nb_buffer_reserve(out, 1);
    while (*text != '\0' && rc == 0) {
        width += begins_sequence(*text);
        if (width > most)
            break;
        size_t control = control_at(text);
        rc = nb_buffer_append(out, control > 0 ? " " : text, 1);
        text += control > 0 ? control : 1;
    }
    if (rc == 0 && nb_buffer_append(out, "", 1) == 0)
        out->length--;
    else if (out->capacity > 0)
        out->bytes[0] = '\0';
}
