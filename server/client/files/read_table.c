/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "server/client/files/formats.h"
#include "server/client/files/header.h"
#include "server/client/files/mapping.h"
#include "server/client/files/write_csv.h"

enum { COLUMNS_MOST = 32 };

/* Spreadsheets put it before the header. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* A first line of a label and a word may name columns by words that are not known as such. */
enum { HEADER_WORD_MOST = 32 /* bytes */ };

struct table {
    struct nb_reading *reading;
    char separator;
    enum nb_column columns[COLUMNS_MOST];
    size_t column_count;
    struct nb_buffer row; /* owned: the text of the cells, one behind the other */
    struct {
        size_t begin, length;
    } cells[COLUMNS_MOST];
    size_t cell_count;
    uint64_t number;           /* of the row, from 1 */
    uint64_t line, next_line;  /* of the file, from 1: where the row begins, and what comes next */
    struct nb_mapping mapping; /* owned; used when --columns has one */
    struct nb_buffer csv;      /* owned: the row as CSV */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int end_cell(struct table *t, size_t begin, struct nb_error *error)
{
    if (t->cell_count == COLUMNS_MOST)
        return nb_error_set(error, NB_INVALID, "row %ju has more than %d columns",
                            (uintmax_t)t->number, COLUMNS_MOST);
    t->cells[t->cell_count].begin = begin;
    t->cells[t->cell_count++].length = t->row.length - begin;
    return 0;
}

/* Copies the text of a quoted cell, which begins at `at`; a doubled quote stands for one. Returns
 * the place behind the closing quote, or line.length + 1 when the line does not close it. */
static size_t copy_quoted(struct table *t, struct nb_string line, size_t at)
{
    while (at < line.length) {
        const char *quote = memchr(line.bytes + at, '"', line.length - at);
        size_t end = quote != NULL ? (size_t)(quote - line.bytes) : line.length;
        (void)nb_buffer_append(&t->row, line.bytes + at, end - at); /* has room: reserved */
        if (quote == NULL)
            break;
        if (end + 1 == line.length || line.bytes[end + 1] != '"')
            return end + 1;
        (void)nb_buffer_append(&t->row, "\"", 1);
        at = end + 2;
    }
    return line.length + 1;
}

static int next_line(struct table *t, struct nb_string *line, struct nb_error *error)
{
    t->next_line++;
    return nb_input_line(&t->reading->input, NB_ITEM_MOST, line, error);
}

/* Reads a quoted cell behind its opening quote; it may go on over several lines. *at is the place
 * in `line` where it begins, and then the place behind its end in the last line. */
static int read_quoted(struct table *t, struct nb_string *line, size_t *at, struct nb_error *error)
{
    for (;;) {
        if (nb_buffer_reserve(&t->row, line->length + 2) != 0)
            return nb_error_no_memory(error);
        *at = copy_quoted(t, *line, *at);
        if (*at <= line->length)
            return 0;
        if (t->row.length > NB_ITEM_MOST)
            return nb_error_set(error, NB_TOO_LARGE, "row %ju is larger than %d bytes",
                                (uintmax_t)t->number, NB_ITEM_MOST);
        (void)nb_buffer_append(&t->row, "\n", 1); /* has room: reserved */
        int rc = next_line(t, line, error);
        if (rc < 0)
            return rc;
        if (rc == 0)
            return nb_error_set(error, NB_INVALID, "row %ju: a quote is not closed",
                                (uintmax_t)t->number);
        *at = 0;
    }
}

static int read_cell(struct table *t, struct nb_string *line, size_t *at, struct nb_error *error)
{
    size_t begin = t->row.length;
    if (t->separator == ',' && *at < line->length && line->bytes[*at] == '"') {
        ++*at;
        int rc = read_quoted(t, line, at, error);
        if (rc != 0)
            return rc;
    }
    const char *end =
        *at < line->length ? memchr(line->bytes + *at, t->separator, line->length - *at) : NULL;
    size_t length = end != NULL ? (size_t)(end - line->bytes) - *at : line->length - *at;
    if (nb_buffer_append(&t->row, line->bytes + *at, length) != 0)
        return nb_error_no_memory(error);
    *at += length + 1;
    return end_cell(t, begin, error);
}

/* Reads the next row into `cells`; empty lines are skipped. Returns 1, 0 at the end, or a code. */
static int read_row(struct table *t, struct nb_error *error)
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
    t->line = t->next_line;
    t->row.length = 0;
    t->cell_count = 0;
    for (size_t at = 0; at <= line.length;) {
        int rc = read_cell(t, &line, &at, error);
        if (rc != 0)
            return rc;
    }
    return 1;
}

static struct nb_string cell(const struct table *t, size_t i)
{
    return (struct nb_string){t->row.bytes + t->cells[i].begin, t->cells[i].length};
}

/* ---- columns --------------------------------------------------------------------------------- */

static bool has_content(const struct table *t)
{
    bool found = false;
    for (size_t i = 0; i < t->column_count; i++)
        found = found || t->columns[i] == NB_COLUMN_TEXT || t->columns[i] == NB_COLUMN_MAIL;
    return found;
}

static int columns_of_option(struct table *t, const char *names, struct nb_error *error)
{
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        struct nb_string name = {names, length};
        if (t->column_count == COLUMNS_MOST ||
            (nb_column_of(name) == NB_COLUMN_NONE && !(length == 1 && *names == '-')))
            return nb_error_set(error, NB_CLIENT_USAGE,
                                "--columns '%s': names are text, mail, label, id and -", names);
        t->columns[t->column_count++] = nb_column_of(name);
        names += length + (names[length] == ',');
    }
    return has_content(t)
               ? 0
               : nb_error_set(error, NB_CLIENT_USAGE, "--columns: one must be text or mail");
}

/* Whether no other row of the file has the label of the first one, though labels come again: as a
 * header would. A fault in the file is found when it is read in earnest. */
static bool is_lonely(struct table *t, struct nb_string first)
{
    struct nb_buffer second = {0};
    struct nb_error ignored;
    size_t rows = 0;
    bool comes_again = false;
    int rc;
    while ((rc = read_row(t, &ignored)) == 1) {
        struct nb_string label = cell(t, 0);
        rows++;
        if (rows > 1 && nb_string_same(label, first))
            break;
        if (rows == 2 && nb_buffer_append(&second, label.bytes, label.length) != 0)
            break;
        comes_again =
            comes_again ||
            (rows > 2 && nb_string_same(label, (struct nb_string){second.bytes, second.length}));
    }
    nb_buffer_deinit(&second);
    return rc == 0 && comes_again;
}

/* Reads the file a first time, if it can be read twice. */
static int look_for_header(struct table *t, bool *is_header, struct nb_error *error)
{
    struct nb_reading reading = *t->reading;
    off_t at = lseek(t->reading->input.file, 0, SEEK_CUR);
    struct nb_string word = cell(t, 1);
    if (at < 0 || word.length > HEADER_WORD_MOST ||
        (word.length > 0 && memchr(word.bytes, ' ', word.length) != NULL))
        return 0;
    reading.input = (struct nb_input){.file = t->reading->input.file};
    struct table other = {.reading = &reading, .separator = t->separator};
    *is_header = lseek(reading.input.file, 0, SEEK_SET) == 0 && is_lonely(&other, cell(t, 0));
    nb_input_deinit(&reading.input);
    nb_buffer_deinit(&other.row);
    if (lseek(t->reading->input.file, at, SEEK_SET) != at)
        return nb_error_set(error, NB_IO, "cannot be read a second time");
    if (*is_header && t->reading->files->note != NULL)
        t->reading->files->note(t->reading->files->user, t->reading->name,
                                "the first line is taken for a header, because no other has its "
                                "label; with --columns label,text it is a document");
    return 0;
}

static int ask_for_columns(const struct table *t, struct nb_error *error)
{
    struct nb_buffer names = {0};
    int rc = nb_buffer_append(&names, "", 1);
    names.length = 0;
    for (size_t i = 0; rc == 0 && i < t->cell_count; i++)
        rc = nb_buffer_printf(
            &names, "%s%.*s", i > 0 ? ", " : "",
            (int)(cell(t, i).length < HEADER_WORD_MOST ? cell(t, i).length : HEADER_WORD_MOST),
            cell(t, i).bytes);
    rc = nb_error_set(error, NB_INVALID,
                      "the first line names no column text or mail: say which it is, as in "
                      "--columns text=COLUMN,label=COLUMN (there are: %.200s)",
                      rc == 0 ? names.bytes : "");
    nb_buffer_deinit(&names);
    return rc;
}

/* Learns the columns from the first row: it names them (*is_header), or the row has two cells, a
 * label and a text. */
static int columns_of_row(struct table *t, bool *is_header, struct nb_error *error)
{
    struct nb_string cells[COLUMNS_MOST];
    for (size_t i = 0; i < t->cell_count; i++)
        cells[i] = cell(t, i);
    t->column_count = t->cell_count;
    *is_header = nb_header_read(cells, t->cell_count, t->columns);
    if (*is_header)
        return 0;
    if (t->cell_count != 2)
        return ask_for_columns(t, error);
    t->columns[0] = NB_COLUMN_LABEL;
    t->columns[1] = NB_COLUMN_TEXT;
    return look_for_header(t, is_header, error);
}

/* Of rows whose columns --columns lists: a first line that names them is no document. */
static bool is_named(const struct table *t)
{
    struct nb_string cells[COLUMNS_MOST];
    for (size_t i = 0; i < t->cell_count; i++)
        cells[i] = cell(t, i);
    return nb_header_fits(cells, t->cell_count, t->columns, t->column_count);
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Sets *row to the cells as CSV, if they are asked for. */
static int keep_row(struct table *t, struct nb_string *row, struct nb_error *error)
{
    int rc = 0;
    t->csv.length = 0;
    for (size_t i = 0; rc == 0 && t->reading->files->options->keeps_rows && i < t->cell_count; i++)
        rc = nb_csv_cell(cell(t, i), i == 0, &t->csv);
    *row = (struct nb_string){t->csv.bytes, t->csv.length};
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int give_header(struct table *t, struct nb_error *error)
{
    const struct nb_files *files = t->reading->files;
    struct nb_string row;
    int rc = keep_row(t, &row, error);
    if (rc == 0 && row.length > 0 && files->head != NULL)
        rc = files->head(files->user, row, error);
    t->reading->is_over = rc != 0;
    return rc;
}

static int give_item(struct table *t, struct nb_item *item, struct nb_error *error)
{
    int rc = keep_row(t, &item->row, error);
    return rc == 0 ? nb_reading_give(t->reading, item, t->number, error) : rc;
}

static int give_row(struct table *t, struct nb_error *error)
{
    struct nb_item item = {0};
    for (size_t i = 0; i < t->cell_count && i < t->column_count; i++) {
        if (t->columns[i] == NB_COLUMN_LABEL)
            item.label = cell(t, i);
        else if (t->columns[i] == NB_COLUMN_ID)
            item.id = cell(t, i);
        else if (t->columns[i] != NB_COLUMN_NONE)
            item.content = cell(t, i);
        item.is_mail = item.is_mail || t->columns[i] == NB_COLUMN_MAIL;
    }
    if (t->cell_count < t->column_count && item.content.bytes == NULL)
        return nb_error_set(error, NB_INVALID, "row %ju has too few columns", (uintmax_t)t->number);
    return give_item(t, &item, error);
}

/* ---- a mapping ------------------------------------------------------------------------------- */

/* The header is bound to the mapping, each row after it is a document. */
static int take_mapped(struct table *t, bool is_header, struct nb_error *error)
{
    struct nb_item item = {0};
    struct nb_string cells[COLUMNS_MOST];
    for (size_t i = 0; i < t->cell_count; i++)
        cells[i] = cell(t, i);
    int rc = is_header ? nb_mapping_find(&t->mapping, cells, t->cell_count, t->line, error) : 0;
    if (is_header)
        return rc == 0 ? give_header(t, error) : rc;
    rc = nb_mapping_apply(&t->mapping, cells, t->cell_count, t->line, &item, error);
    return rc == 0 ? give_item(t, &item, error) : rc;
}

static int read_mapped(struct table *t, struct nb_error *error)
{
    const struct nb_files_options *options = t->reading->files->options;
    int rc = nb_mapping_read(&t->mapping, options->columns, options->fields, error);
    bool is_header = true;
    while (rc == 0 && (rc = read_row(t, error)) == 1) {
        rc = take_mapped(t, is_header, error);
        is_header = false;
    }
    return rc;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static int read_rows(struct table *t, struct nb_error *error)
{
    const char *names = t->reading->files->options->columns;
    bool is_first = true, is_header = false;
    int rc = names != NULL ? columns_of_option(t, names, error) : 0;
    while (rc == 0 && (rc = read_row(t, error)) == 1) {
        is_header = is_first && names != NULL && is_named(t);
        rc = is_first && names == NULL ? columns_of_row(t, &is_header, error) : 0;
        if (rc == 0)
            rc = is_header ? give_header(t, error) : give_row(t, error);
        is_first = false;
    }
    return rc;
}

int nb_read_table(struct nb_reading *reading, char separator, struct nb_error *error)
{
    struct table table = {.reading = reading, .separator = separator};
    bool is_mapped = nb_mapping_is(reading->files->options->columns);
    int rc = is_mapped ? read_mapped(&table, error) : read_rows(&table, error);
    nb_mapping_deinit(&table.mapping);
    nb_buffer_deinit(&table.row);
    nb_buffer_deinit(&table.csv);
    return rc;
}
