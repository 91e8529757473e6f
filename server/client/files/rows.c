/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/rows.h"

#include <string.h>

#include "server/client/files/item.h"

/* Spreadsheets put it before the header. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* What stands between the cells of a CSV, by its first line outside of quotes: a comma, unless
 * there is none but a semicolon, or else a tab. */
static char separator_of(struct nb_string line)
{
    static const char SEPARATORS[] = {',', ';', '\t'};
    bool is_quoted = false, has[sizeof SEPARATORS] = {false};
    for (size_t i = 0; i < line.length; i++) {
        is_quoted = is_quoted != (line.bytes[i] == '"');
        for (size_t k = 0; k < sizeof SEPARATORS; k++)
            has[k] = has[k] || (!is_quoted && line.bytes[i] == SEPARATORS[k]);
    }
    size_t first = 0;
    while (first < sizeof SEPARATORS && !has[first])
        first++;
    return first < sizeof SEPARATORS ? SEPARATORS[first] : ',';
}

static int end_cell(struct nb_rows *t, size_t begin, struct nb_error *error)
{
    if (t->cell_count == NB_ROWS_CELLS)
        return nb_error_set(error, NB_INVALID, "row %ju has more than %d columns",
                            (uintmax_t)t->number, NB_ROWS_CELLS);
    t->begins[t->cell_count++] = begin;
    return 0;
}

/* Copies the text of a quoted cell, which begins at `at`; a doubled quote stands for one. Returns
 * the place behind the closing quote, or line.length + 1 when the line does not close it. */
static size_t copy_quoted(struct nb_rows *t, struct nb_string line, size_t at)
{
    while (at < line.length) {
        const char *quote = memchr(line.bytes + at, '"', line.length - at);
        size_t end = quote != NULL ? (size_t)(quote - line.bytes) : line.length;
        (void)nb_buffer_append(&t->text, line.bytes + at, end - at); /* has room: reserved */
        if (quote == NULL)
            break;
        if (end + 1 == line.length || line.bytes[end + 1] != '"')
            return end + 1;
        (void)nb_buffer_append(&t->text, "\"", 1);
        at = end + 2;
    }
    return line.length + 1;
}

static int next_line(struct nb_rows *t, struct nb_string *line, struct nb_error *error)
{
    t->next_line++;
    return nb_input_line(t->input, NB_ITEM_MOST, line, error);
}

/* Reads a quoted cell behind its opening quote; it may go on over several lines. *at is the place
 * in `line` where it begins, and then the place behind its end in the last line. */
static int read_quoted(struct nb_rows *t, struct nb_string *line, size_t *at,
                       struct nb_error *error)
{
    for (;;) {
        if (nb_buffer_reserve(&t->text, line->length + 2) != 0)
            return nb_error_no_memory(error);
        *at = copy_quoted(t, *line, *at);
        if (*at <= line->length)
            return 0;
        if (t->text.length > NB_ITEM_MOST)
            return nb_error_set(error, NB_TOO_LARGE, "row %ju is larger than %d bytes",
                                (uintmax_t)t->number, NB_ITEM_MOST);
        (void)nb_buffer_append(&t->text, "\n", 1); /* has room: reserved */
        int rc = next_line(t, line, error);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return nb_error_set(error, NB_INVALID, "row %ju: a quote is not closed",
                                (uintmax_t)t->number);
        *at = 0;
    }
}

static int read_cell(struct nb_rows *t, struct nb_string *line, size_t *at, struct nb_error *error)
{
    size_t begin = t->text.length;
    if (t->is_csv && *at < line->length && line->bytes[*at] == '"') {
        ++*at;
        int rc = read_quoted(t, line, at, error);
        if (rc != 0)
            return rc;
    }
    const char *end =
        *at < line->length ? memchr(line->bytes + *at, t->separator, line->length - *at) : NULL;
    size_t length = end != NULL ? (size_t)(end - line->bytes) - *at : line->length - *at;
    if (nb_buffer_append(&t->text, line->bytes + *at, length) != 0)
        return nb_error_no_memory(error);
    *at += length + 1;
    return end_cell(t, begin, error);
}

/* The text does not move any more. */
static void fill_cells(struct nb_rows *t)
{
    for (size_t i = 0; i < t->cell_count; i++) {
        size_t end = i + 1 < t->cell_count ? t->begins[i + 1] : t->text.length;
        t->cells[i] = (struct nb_string){t->text.bytes + t->begins[i], end - t->begins[i]};
    }
}

int nb_rows_next(struct nb_rows *t, struct nb_error *error)
{
    struct nb_string line = {0};
    do {
        int rc = next_line(t, &line, error);
        if (rc != 1)
            return rc;
        t->number++;
        if (t->number == 1 && nb_string_starts(line, BYTE_ORDER_MARK))
            line = nb_string_from(line, strlen(BYTE_ORDER_MARK));
    } while (line.length == 0);
    if (t->separator == '\0')
        t->separator = separator_of(line);
    t->line = t->next_line;
    t->text.length = 0;
    t->cell_count = 0;
    for (size_t at = 0; at <= line.length;) {
        int rc = read_cell(t, &line, &at, error);
        if (rc != 0)
            return rc;
    }
    fill_cells(t);
    return 1;
}

void nb_rows_deinit(struct nb_rows *t)
{
    nb_buffer_deinit(&t->text);
}
