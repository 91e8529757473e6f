/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/file_rows.h"

#include <assert.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "server/client/files/files.h"
#include "tokenizer/charset.h"

/* Spreadsheets write it before the header. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

static const char SEPARATORS[] = {',', ';', '\t', '|'};
enum { SEPARATORS_COUNT = sizeof SEPARATORS, ROWS_LOOKED_AT = 50 };

/* How often each separator occurs in the first rows. */
struct look {
    size_t first[SEPARATORS_COUNT],
        now[SEPARATORS_COUNT];         /* in the first row, and in the present row */
    size_t agreeing[SEPARATORS_COUNT]; /* rows that have as many as the first row */
    size_t rows;
};

static void end_row(struct look *look)
{
    for (size_t k = 0; k < SEPARATORS_COUNT; k++) {
        if (look->rows == 0)
            look->first[k] = look->now[k];
        look->agreeing[k] += look->now[k] == look->first[k];
        look->now[k] = 0;
    }
    look->rows++;
}

/* Counts the separators outside of quotes. */
static void look_at(struct look *look, struct nb_string text, char line_end, bool *is_quoted)
{
    bool has_some = false;
    for (size_t i = 0; i < text.length && look->rows < ROWS_LOOKED_AT; i++) {
        char c = text.bytes[i];
        *is_quoted = *is_quoted != (c == '"');
        if (!*is_quoted && c == line_end) {
            if (has_some)
                end_row(look);
            has_some = false;
            continue;
        }
        has_some = has_some || (c != '\r' && c != '\n');
        for (size_t k = 0; k < SEPARATORS_COUNT; k++)
            look->now[k] += !*is_quoted && c == SEPARATORS[k];
    }
}

/* Returns the separator of a CSV: the one that every row has as often as the first row. If several
 * qualify, the first in SEPARATORS wins, so a semicolon is found even if unquoted cells have
 * commas. If none does, the first row decides: a comma, unless it has only semicolons or tabs. */
static char separator_of(const struct nb_file_rows *t, struct nb_string line)
{
    struct look look = {.rows = 0};
    bool is_quoted = false;
    char line_end = t->input->line_end == '\0' ? '\n' : t->input->line_end;
    look_at(&look, line, line_end, &is_quoted);
    if (!is_quoted)
        end_row(&look);
    look_at(&look, nb_input_unused(t->input), line_end, &is_quoted);
    for (size_t k = 0; look.rows > 1 && k < SEPARATORS_COUNT; k++)
        if (look.first[k] > 0 && look.agreeing[k] == look.rows)
            return SEPARATORS[k];
    for (size_t k = 0; k + 1 < SEPARATORS_COUNT; k++)
        if (look.first[k] > 0)
            return SEPARATORS[k];
    return ',';
}

/* Recognizes Excel's first line "sep=;", which is not a row. */
static bool is_preface(struct nb_file_rows *t, struct nb_string line)
{
    if (line.length != 5 || !nb_string_starts_nocase(line, "sep="))
        return false;
    memcpy(t->preface_text, line.bytes, line.length);
    t->preface = (struct nb_string){t->preface_text, line.length};
    t->separator = line.bytes[4];
    return true;
}

static int end_cell(struct nb_file_rows *t, size_t begin, struct nb_error *error)
{
    if (t->cell_count == NB_ROWS_CELLS)
        return nb_error_set(error, NB_INVALID, "row %ju has more than %d columns",
                            (uintmax_t)t->number, NB_ROWS_CELLS);
    t->begins[t->cell_count++] = begin;
    return 0;
}

/* Copies the text of a quoted cell, which begins at `at`; a doubled quote stands for one. Returns
 * the place after the closing quote, or line.length + 1 when the line does not close the cell. */
static size_t copy_quoted(struct nb_file_rows *t, struct nb_string line, size_t at)
{
    while (at < line.length) {
        const char *quote = memchr(line.bytes + at, '"', line.length - at);
        size_t end = quote != NULL ? (size_t)(quote - line.bytes) : line.length;
        assert(t->text.capacity - t->text.length > end - at); /* read_quoted has reserved room */
        (void)nb_buffer_append(&t->text, line.bytes + at, end - at); /* room is reserved */
        if (quote == NULL)
            break;
        if (end + 1 == line.length || line.bytes[end + 1] != '"')
            return end + 1;
        (void)nb_buffer_append(&t->text, "\"", 1);
        at = end + 2;
    }
    return line.length + 1;
}

static int next_line(struct nb_file_rows *t, struct nb_string *line, struct nb_error *error)
{
    t->next_line++;
    return nb_input_line(t->input, NB_ITEM_MOST, line, error);
}

/* Appends a line to the raw row, after the line end of the line before. */
static int keep_raw(struct nb_file_rows *t, struct nb_string line, const char *before,
                    struct nb_error *error)
{
    int rc = nb_buffer_puts(&t->raw, before);
    if (rc == 0)
        rc = nb_buffer_append(&t->raw, line.bytes, line.length);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Reads a quoted cell after its opening quote; the cell may span several lines. *at is the place in
 * `line` where the cell begins; on return the place after its end in the last line. */
static int read_quoted(struct nb_file_rows *t, struct nb_string *line, size_t *at,
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
        (void)nb_buffer_append(&t->text, "\n", 1); /* room is reserved */
        const char *before = t->input->line_end == '\r' ? "\r" : t->input->had_cr ? "\r\n" : "\n";
        int rc = next_line(t, line, error);
        if (rc == 1)
            rc = keep_raw(t, *line, before, error) == 0 ? 1 : NB_NO_MEMORY;
        if (rc < 0)
            return rc;
        if (rc == 0)
            return nb_error_set(error, NB_INVALID, "row %ju: a quote is not closed",
                                (uintmax_t)t->number);
        *at = 0;
    }
}

static int read_cell(struct nb_file_rows *t, struct nb_string *line, size_t *at,
                     struct nb_error *error)
{
    assert(*at <= line->length);
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

/* Fills in the pointers of the cells once the text does not move any more. */
static void fill_cells(struct nb_file_rows *t)
{
    for (size_t i = 0; i < t->cell_count; i++) {
        size_t end = i + 1 < t->cell_count ? t->begins[i + 1] : t->text.length;
        assert(t->begins[i] <= end && end <= t->text.length);
        t->cells[i] = (struct nb_string){t->text.bytes + t->begins[i], end - t->begins[i]};
    }
}

int nb_file_rows_next(struct nb_file_rows *t, struct nb_error *error)
{
    struct nb_string line = {0};
    do {
        int rc = next_line(t, &line, error);
        if (rc != 1)
            return rc;
        t->number++;
        if (t->number == 1 && nb_string_starts(line, BYTE_ORDER_MARK))
            line = nb_string_from(line, strlen(BYTE_ORDER_MARK));
        if (t->number == 1 && is_preface(t, line))
            line.length = 0;
    } while (line.length == 0);
    if (t->separator == '\0')
        t->separator = separator_of(t, line);
    t->line = t->next_line;
    t->text.length = t->raw.length = 0;
    t->cell_count = 0;
    if (keep_raw(t, line, "", error) != 0)
        return NB_NO_MEMORY;
    for (size_t at = 0; at <= line.length;) {
        int rc = read_cell(t, &line, &at, error);
        if (rc != 0)
            return rc;
    }
    fill_cells(t);
    return 1;
}

void nb_file_rows_deinit(struct nb_file_rows *t)
{
    nb_buffer_deinit(&t->text);
    nb_buffer_deinit(&t->raw);
}

static bool needs_quotes(struct nb_string text, char separator)
{
    bool needs = text.length > 0 && (text.bytes[0] == ' ' || text.bytes[text.length - 1] == ' ');
    for (size_t i = 0; i < text.length; i++)
        needs = needs || text.bytes[i] == separator || strchr("\"\r\n", text.bytes[i]) != NULL;
    return needs;
}

int nb_csv_cell(struct nb_string text, char separator, bool is_first, struct nb_buffer *out)
{
    int rc = is_first ? 0 : nb_buffer_append(out, &separator, 1);
    if (!needs_quotes(text, separator))
        return rc == 0 ? nb_buffer_append(out, text.bytes, text.length) : rc;
    if (rc == 0)
        rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0; i++)
        rc = nb_buffer_append(out, text.bytes[i] == '"' ? "\"\"" : &text.bytes[i],
                              text.bytes[i] == '"' ? 2 : 1);
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}

/* Appends the text, with a question mark in place of each character that is not in the charset. */
static int replace_missing(struct nb_string charset, struct nb_string text, uint64_t *lost,
                           struct nb_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text.bytes, *end = at + text.length;
    struct nb_buffer bytes = {0};
    int rc = 0;
    while (at < end && rc == 0) {
        size_t length = nb_utf8_sequence(at, end);
        struct nb_string one = {(const char *)at, length > 0 ? length : 1};
        bytes.length = 0;
        int code = *at < 0x80 ? 0 : nb_charset_from_utf8(charset, one, &bytes, NULL);
        *lost += code == NB_INVALID;
        rc = code == NB_INVALID ? nb_buffer_puts(out, "?")
             : code == 0        ? nb_buffer_append(out, one.bytes, one.length)
                                : code;
        at += one.length;
    }
    nb_buffer_deinit(&bytes);
    return rc;
}

/* Makes the row as it will be written, in UTF-8; with `lost`, added characters outside the charset
 * are replaced. */
static int join(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                struct nb_buffer *text)
{
    int rc = 0;
    text->length = 0;
    if (row->is_first && form->has_mark)
        rc = nb_buffer_puts(text, "\xEF\xBB\xBF");
    if (rc == 0 && row->is_first && form->preface[0] != '\0')
        rc = nb_buffer_printf(text, "%s%s", form->preface, form->line_end);
    if (rc == 0)
        rc = nb_buffer_append(text, row->own.bytes, row->own.length);
    if (rc == 0)
        rc = lost == NULL ? nb_buffer_append(text, row->added.bytes, row->added.length)
                          : replace_missing(nb_string_of(form->charset), row->added, lost, text);
    return rc == 0 ? nb_buffer_puts(text, form->is_known ? form->line_end : "\n") : rc;
}

static int encode(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                  struct nb_buffer *bytes, struct nb_error *error)
{
    struct nb_string charset = nb_string_of(form->is_known ? form->charset : "utf-8");
    struct nb_buffer text = {0};
    int rc = NB_INVALID;
    for (int turn = 0; turn < 2 && rc == NB_INVALID; turn++) {
        bytes->length = 0;
        rc = join(form, row, turn == 0 ? NULL : lost, &text);
        struct nb_string all = {text.bytes, text.length};
        rc = rc != 0 ? nb_error_no_memory(error) : nb_charset_from_utf8(charset, all, bytes, error);
    }
    nb_buffer_deinit(&text);
    return rc;
}

int nb_csv_write_row(const struct nb_table_form *form, const struct nb_csv_row *row, uint64_t *lost,
                     FILE *out, struct nb_error *error)
{
    struct nb_buffer bytes = {0};
    int rc = encode(form, row, lost, &bytes, error);
    if (rc == 0 && fwrite(bytes.bytes, 1, bytes.length, out) != bytes.length)
        rc = nb_error_set(error, NB_IO, "standard output cannot be written");
    nb_buffer_deinit(&bytes);
    return rc;
}
