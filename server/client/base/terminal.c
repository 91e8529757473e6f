/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/terminal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/string.h"
#include "core/base/system.h"
#include "server/client/base/client.h"

enum { COLUMNS_LEAST = 40, COLUMNS_USUAL = 80, COLUMNS_MOST = 100 };

const char *nb_colour(FILE *out, enum nb_colour colour)
{
    static const char *const SEQUENCES[] = {"\033[0m", "\033[1m", "\033[31m", "\033[32m",
                                            "\033[33m"};
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_wanted = isatty(fileno(out)) && (no_colour == NULL || *no_colour == '\0') &&
                     (term == NULL || strcmp(term, "dumb") != 0);
    return is_wanted ? SEQUENCES[colour] : "";
}

enum nb_colour nb_colour_of(const char *label)
{
    static const struct {
        const char *label;
        enum nb_colour colour;
    } COLOURS[] = {{"spam", NB_COLOUR_RED},
                   {"ham", NB_COLOUR_GREEN},
                   {"unsure", NB_COLOUR_YELLOW},
                   {"none", NB_COLOUR_YELLOW}};
    for (size_t i = 0; i < sizeof COLOURS / sizeof COLOURS[0]; i++)
        if (strcmp(label, COLOURS[i].label) == 0)
            return COLOURS[i].colour;
    return NB_COLOUR_BOLD;
}

size_t nb_terminal_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += !nb_utf8_is_continuation((unsigned char)*text);
    return width;
}

static struct nb_shown shown_part(struct nb_string text)
{
    struct nb_shown shown = {""};
    struct nb_string given = nb_utf8_cut(text, sizeof shown.text - 1);
    const unsigned char *at = (const unsigned char *)given.bytes, *end = at + given.length;
    for (size_t i = 0; at < end; i++) {
        size_t control = nb_utf8_control(at, end);
        shown.text[i] = control > 0 ? ' ' : (char)*at;
        at += control > 0 ? control : 1;
    }
    return shown;
}

size_t nb_terminal_columns(FILE *out)
{
    struct winsize size = {0};
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_USUAL;
    return size.ws_col < COLUMNS_LEAST  ? COLUMNS_LEAST
           : size.ws_col > COLUMNS_MOST ? COLUMNS_MOST
                                        : size.ws_col;
}

void nb_terminal_wrap(const char *text, size_t column, size_t indent, FILE *out)
{
    size_t columns = nb_terminal_columns(out);
    bool is_first = true;
    while (*(text += strspn(text, " \n")) != '\0') {
        int bytes = (int)strcspn(text, " \n");
        struct nb_shown word = shown_part((struct nb_string){text, (size_t)bytes});
        size_t width = nb_terminal_width(word.text);
        if (!is_first && column + 1 + width >= columns) {
            (void)fputc('\n', out);
            column = 0;
            is_first = true;
        }
        size_t spaces = !is_first ? 1 : indent > column ? indent - column : 0;
        (void)fprintf(out, "%*s%s", (int)spaces, "", word.text);
        column += spaces + width;
        is_first = false;
        text += bytes;
    }
    (void)fputc('\n', out);
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
    return shown_part(nb_string_of(text));
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

struct nb_figure nb_counted(uint64_t number, const char *noun)
{
    struct nb_figure figure;
    (void)snprintf(figure.text, sizeof figure.text, "%.27s %.48s%s", nb_figure_of(number).text,
                   noun, number == 1 ? "" : "s");
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
    (void)fprintf(stderr, "documents %s: %s, %.0f/s", p->verb, nb_figure_of(p->documents).text,
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

void nb_table_head(struct nb_text_table *table, const char *const *names, size_t count)
{
    *table = (struct nb_text_table){.columns = count};
    assert(count > 0 && count <= NB_TABLE_COLUMNS);
    for (size_t i = 0; i < count; i++) {
        table->is_right[i] = names[i][0] == '>';
        nb_table_cell(table, "%s", names[i] + table->is_right[i]);
    }
}

void nb_table_cell(struct nb_text_table *table, const char *format, ...)
{
    char text[512];
    struct nb_buffer safe = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut if it is longer */
    va_end(arguments);
    bool is_cut = nb_terminal_width(text) > NB_TABLE_CELL;
    nb_terminal_safe(text, is_cut ? NB_TABLE_CELL - 3 : NB_TABLE_CELL, &safe);
    table->is_broken = table->is_broken || safe.bytes == NULL ||
                       (is_cut && nb_buffer_append(&safe, "...", 4) != 0) ||
                       nb_buffer_append(&table->cells, safe.bytes, strlen(safe.bytes) + 1) != 0;
    table->count += !table->is_broken;
    nb_buffer_deinit(&safe);
}

static void print_cell(const struct nb_text_table *table, size_t column, const char *text,
                       size_t width, FILE *out)
{
    int space = (int)(width - nb_terminal_width(text));
    bool is_last = column + 1 == table->columns;
    if (table->is_right[column])
        (void)fprintf(out, "%*s%s%s", space, "", text, is_last ? "\n" : "  ");
    else
        (void)fprintf(out, "%s%*s%s", text, is_last ? 0 : space, "", is_last ? "\n" : "  ");
}

void nb_table_print(const struct nb_text_table *table, FILE *out)
{
    size_t widths[NB_TABLE_COLUMNS] = {0};
    const char *cell = table->cells.bytes;
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        size_t width = nb_terminal_width(cell), column = i % table->columns;
        widths[column] = width > widths[column] ? width : widths[column];
    }
    cell = table->cells.bytes;
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        if (i == 0)
            (void)fputs(nb_colour(out, NB_COLOUR_BOLD), out);
        if (i == table->columns)
            (void)fputs(nb_colour(out, NB_COLOUR_PLAIN), out);
        print_cell(table, i % table->columns, cell, widths[i % table->columns], out);
    }
    if (table->count == table->columns)
        (void)fputs(nb_colour(out, NB_COLOUR_PLAIN), out);
}

void nb_table_deinit(struct nb_text_table *table)
{
    nb_buffer_deinit(&table->cells);
}

/* ---- tables of JSON -------------------------------------------------------------------------- */

struct column {
    char head[NB_TABLE_CELL];
    struct nb_string member;
    char kind; /* of the format: f, g, p, t, j; NUL: none */
    int digits;
};

/* Reads the next column; false: there is none. */
static bool next_column(const char **columns, struct column *column)
{
    struct nb_string text = {*columns, strcspn(*columns, "|")};
    size_t length = strcspn(*columns, "=:|");
    const char *format = memchr(text.bytes, ':', text.length), *end = text.bytes + text.length;
    if (**columns == '\0')
        return false;
    *column = (struct column){.member = {text.bytes, length}};
    (void)snprintf(column->head, sizeof column->head, "%.*s", (int)length, text.bytes);
    if (text.bytes[length] == '=')
        column->member =
            (struct nb_string){text.bytes + length + 1, (size_t)((format != NULL ? format : end) -
                                                                 (text.bytes + length + 1))};
    else if (text.bytes[0] == '>')
        column->member = nb_string_from(column->member, 1);
    if (format != NULL && format[1] == '.')
        column->digits = format[2] - '0';
    column->kind = format != NULL ? end[-1] : '\0';
    *columns = end + (*end == '|');
    return true;
}

void nb_table_begin(struct nb_text_table *table, const char *columns)
{
    struct column column[NB_TABLE_COLUMNS];
    const char *heads[NB_TABLE_COLUMNS];
    size_t count = 0;
    while (count < NB_TABLE_COLUMNS && next_column(&columns, &column[count])) {
        heads[count] = column[count].head;
        count++;
    }
    nb_table_head(table, heads, count);
}

static void add_value(struct nb_text_table *table, const struct column *column, const json_t *value)
{
    const char *text = json_string_value(value);
    double number = json_number_value(value);
    bool is_missing = value == NULL || json_is_null(value) || (text != NULL && *text == '\0');
    if (column->kind != 'j' && is_missing)
        nb_table_cell(table, "%s", column->kind == 'f' || column->kind == 't' ? "" : "-");
    else if (column->kind != 'j' && text != NULL)
        nb_table_cell(table, "%s", text);
    else if (column->kind == 'f')
        nb_table_cell(table, "%.*f", column->digits, number);
    else if (column->kind == 'g')
        nb_table_cell(table, "%.*g", column->digits, number);
    else if (column->kind == 'p')
        nb_table_cell(table, "%.*f %%", column->digits, 100 * number);
    else if (column->kind != 'j' && json_is_integer(value))
        nb_table_cell(table, "%s", nb_figure_of((uint64_t)json_integer_value(value)).text);
    else if (column->kind != 'j' && json_is_boolean(value))
        nb_table_cell(table, json_is_true(value) ? "yes" : "no");
    else {
        char *json = nb_answer_dump(value);
        nb_table_cell(table, "%s", json != NULL ? json : "");
        free(json);
    }
}

void nb_table_row(struct nb_text_table *table, const char *columns, const char *name, size_t index,
                  const json_t *row)
{
    struct column column;
    while (next_column(&columns, &column)) {
        if (nb_string_equals(column.member, "@"))
            nb_table_cell(table, "%s", name);
        else if (nb_string_equals(column.member, "#"))
            nb_table_cell(table, "%zu", index + 1);
        else
            add_value(table, &column, nb_answer_member(row, column.member));
    }
}

void nb_table_print_rows(const char *columns, const json_t *rows, FILE *out)
{
    json_t *object = (json_t *)(uintptr_t)rows; /* its iterators only read it */
    struct nb_text_table table;
    const char *name;
    const json_t *row;
    size_t i = 0;
    nb_table_begin(&table, columns);
    json_object_foreach(object, name, row)
    {
        nb_table_row(&table, columns, name, i++, row);
    }
    json_array_foreach(rows, i, row)
    {
        nb_table_row(&table, columns, "", i, row);
    }
    nb_table_print(&table, out);
    nb_table_deinit(&table);
}
