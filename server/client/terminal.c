/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { REDRAW_NS = 200 * 1000 * 1000, BAR_COLUMNS = 24, COLUMNS_MOST = 16 };
static const double NS = 1e9;

/* ---- text --------------------------------------------------------------------------------------
 */

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

size_t nb_text_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += begins_sequence(*text);
    return width;
}

/* C0 and DEL; and C1, which some terminals obey, in its UTF-8 form c2 80 to c2 9f. */
static size_t control_at(const char *p)
{
    unsigned char c = (unsigned char)p[0], next = (unsigned char)p[1];
    if (c == 0xc2 && next >= 0x80 && next <= 0x9f)
        return 2;
    return c < 32 || c == 127;
}

void nb_text_safe(const char *text, size_t most, struct nb_buffer *out)
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

/* ---- tables ------------------------------------------------------------------------------------
 */

void nb_table_head(struct nb_table *table, const char *const *names, size_t count)
{
    *table = (struct nb_table){.columns = count};
    for (size_t i = 0; i < count; i++) {
        table->is_right[i] = names[i][0] == '>';
        nb_table_cell(table, "%s", names[i] + table->is_right[i]);
    }
}

void nb_table_cell(struct nb_table *table, const char *format, ...)
{
    char text[512];
    struct nb_buffer safe = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* a long cell is cut */
    va_end(arguments);
    nb_text_safe(text, 60, &safe);
    table->is_broken = table->is_broken || safe.bytes == NULL ||
                       nb_buffer_append(&table->cells, safe.bytes, strlen(safe.bytes) + 1) != 0;
    table->count += !table->is_broken;
    nb_buffer_deinit(&safe);
}

static void print_cell(const struct nb_table *table, size_t column, const char *text, size_t width,
                       FILE *out)
{
    int space = (int)(width - nb_text_width(text));
    bool is_last = column + 1 == table->columns;
    if (table->is_right[column])
        (void)fprintf(out, "%*s%s%s", space, "", text, is_last ? "\n" : "  ");
    else
        (void)fprintf(out, "%s%*s%s", text, is_last ? 0 : space, "", is_last ? "\n" : "  ");
}

void nb_table_print(struct nb_table *table, FILE *out)
{
    size_t widths[COLUMNS_MOST] = {0};
    const char *cell = table->cells.bytes;
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        size_t width = nb_text_width(cell), column = i % table->columns;
        widths[column] = width > widths[column] ? width : widths[column];
    }
    cell = table->cells.bytes;
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        if (i == 0)
            (void)fputs(nb_colour(out, NB_BOLD), out);
        if (i == table->columns)
            (void)fputs(nb_colour(out, NB_PLAIN), out);
        print_cell(table, i % table->columns, cell, widths[i % table->columns], out);
    }
    if (table->count == table->columns)
        (void)fputs(nb_colour(out, NB_PLAIN), out);
}

void nb_table_deinit(struct nb_table *table)
{
    nb_buffer_deinit(&table->cells);
}

/* ---- progress ----------------------------------------------------------------------------------
 */

void nb_progress_start(struct nb_progress *progress, const char *verb, uint64_t total)
{
    *progress = (struct nb_progress){.verb = verb, .total = total, .start = nb_clock_monotonic()};
    progress->is_shown = isatty(STDERR_FILENO);
}

double nb_progress_seconds(const struct nb_progress *progress)
{
    return (double)(nb_clock_monotonic() - progress->start) / NS;
}

/* "\r" and "erase to the end of the line" go first, so that a line that got shorter leaves nothing.
 */
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
