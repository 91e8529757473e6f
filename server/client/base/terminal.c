/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/string.h"

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

enum { REDRAW_NS = 200 * 1000 * 1000, BAR_COLUMNS = 24 };
static const double NS = 1e9;

void nb_progress_start(struct nb_progress *progress, const char *verb, uint64_t total)
{
    *progress = (struct nb_progress){.verb = verb, .total = total, .start = nb_clock_monotonic()};
    progress->is_shown = isatty(STDERR_FILENO);
}

double nb_progress_seconds(const struct nb_progress *progress)
{
    return (double)(nb_clock_monotonic() - progress->start) / NS;
}

/* Draws the bar. Erases the line first: a shorter line would leave the end of the old one. */
static void draw(const struct nb_progress *p)
{
    double seconds = nb_progress_seconds(p);
    double rate = seconds > 0 ? (double)p->documents / seconds : 0;
    (void)fputs("\r\033[K", stderr);
    if (p->total > 0) {
        double share = p->bytes < p->total ? (double)p->bytes / (double)p->total : 1.0;
        int full = (int)(share * BAR_COLUMNS);
        (void)fputc('[', stderr);
        for (int i = 0; i < BAR_COLUMNS; i++)
            (void)fputc(i < full ? '#' : '.', stderr);
        (void)fprintf(stderr, "] %3.0f %%  ", share * 100);
        if (share > 0.005)
            (void)fprintf(stderr, "%s left  ",
                          nb_figure_of_seconds(seconds * (1 - share) / share).text);
    }
    (void)fprintf(stderr, "%s documents %s, %.0f/s", nb_figure_of(p->documents).text, p->verb,
                  rate);
    (void)fflush(stderr);
}

void nb_progress_add(struct nb_progress *progress, uint64_t bytes)
{
    progress->documents++;
    progress->bytes += bytes;
    if (!progress->is_shown)
        return;
    uint64_t now = nb_clock_monotonic();
    if (now - progress->drawn < REDRAW_NS)
        return;
    progress->drawn = now;
    draw(progress);
}

void nb_progress_end(struct nb_progress *progress)
{
    if (progress->is_shown && progress->drawn > 0)
        (void)fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
