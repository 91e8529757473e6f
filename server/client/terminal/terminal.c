/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/utf8.h"

const char *nb_colour(FILE *out, enum nb_colour colour)
{
    static const char *const SEQUENCES[] = {"\033[0m", "\033[1m"};
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

/* ---- numbers --------------------------------------------------------------------------------- */

struct nb_figure nb_figure_of(uint64_t number)
{
    char digits[24];
    struct nb_figure figure = {""};
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            figure.text[at++] = ',';
        figure.text[at++] = digits[i];
    }
    return figure;
}

struct nb_figure nb_figure_of_seconds(double seconds)
{
    struct nb_figure figure;
    unsigned long long whole = seconds > 0 ? (unsigned long long)(seconds + 0.5) : 0;
    if (seconds < 10)
        (void)snprintf(figure.text, sizeof figure.text, "%.1f s", seconds);
    else if (whole < 60)
        (void)snprintf(figure.text, sizeof figure.text, "%llu s", whole);
    else if (whole < 3600)
        (void)snprintf(figure.text, sizeof figure.text, "%llu min %llu s", whole / 60, whole % 60);
    else
        (void)snprintf(figure.text, sizeof figure.text, "%llu h %llu min", whole / 3600,
                       whole / 60 % 60);
    return figure;
}

/* ---- messages -------------------------------------------------------------------------------- */

enum { MESSAGE_MOST = 4096 /* bytes; the rest of a longer message is cut */ };

void nb_message(const char *format, ...)
{
    char text[MESSAGE_MOST];
    struct nb_buffer safe = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    nb_terminal_safe(text, SIZE_MAX, &safe);
    (void)fprintf(stderr, "%sbayesc: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
                  safe.bytes != NULL ? safe.bytes : "");
    nb_buffer_deinit(&safe);
}

/* ---- questions ------------------------------------------------------------------------------- */

bool nb_ask_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool nb_ask(const char *format, ...)
{
    char question[1024], line[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(question, sizeof question, format, arguments);
    va_end(arguments);
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s [y/N] ", nb_shown(question).text);
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    return line[0] == 'y' || line[0] == 'Y';
}
