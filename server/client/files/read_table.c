/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/client/files/file_rows.h"
#include "server/client/files/mapping.h"
#include "server/client/files/reading.h"

/* Decides whether the first line of a table names the columns, and what the columns are. Pure
 * functions; any thread. */
enum nb_file_column {
    NB_COLUMN_NONE,
    NB_COLUMN_TEXT,
    NB_COLUMN_MAIL,
    NB_COLUMN_LABEL,
    NB_COLUMN_ID,
    NB_COLUMN_COUNT /* number of the kinds above */
};

/* The first names are bayesc's own. The others are from the headers of published corpora and of
 * exports from help desks. */
static const char *const OF_TEXT[] = {"text",        "message", "messages", "body",   "content",
                                      "description", "sms",     "comment",  "review", "v2"};
static const char *const OF_LABEL[] = {"label",  "labels", "category", "class",
                                       "target", "tag",    "queue",    "v1"};

#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool is_one_of(struct nb_string name, const char *const *names, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || nb_string_equals_nocase(name, names[i]);
    return found;
}

/* Returns the column for one of bayesc's own names: text, mail, label, id, in upper or lower case.
 * Returns NB_COLUMN_NONE for any other name. */
static enum nb_file_column file_column_of(struct nb_string name)
{
    static const char *const NAMES[] = {"-", "text", "mail", "label", "id"};
    for (size_t i = 0; i < COUNT(NAMES); i++)
        if (nb_string_equals_nocase(name, NAMES[i]))
            return (enum nb_file_column)i;
    return NB_COLUMN_NONE;
}

static enum nb_file_column usual_column_of(struct nb_string name)
{
    if (is_one_of(name, OF_TEXT, COUNT(OF_TEXT)))
        return NB_COLUMN_TEXT;
    return is_one_of(name, OF_LABEL, COUNT(OF_LABEL)) ? NB_COLUMN_LABEL : file_column_of(name);
}

static size_t count_of(const enum nb_file_column *columns, size_t count, enum nb_file_column column)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += columns[i] == column;
    return found;
}

/* For a table with a column text or mail: takes the column with a usual name of a label, if there
 * is exactly one. */
static void take_usual_label(const struct nb_string *cells, size_t count,
                             enum nb_file_column *columns)
{
    size_t found = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        if (columns[i] == NB_COLUMN_NONE &&
            is_one_of(nb_string_trim(cells[i]), OF_LABEL, COUNT(OF_LABEL))) {
            found++;
            at = i;
        }
    if (found == 1)
        columns[at] = NB_COLUMN_LABEL;
}

/* Returns whether the cells of a first line name columns, and then sets columns[i] for each. They
 * do when a cell is "text" or "mail"; the label is then the column "label", or the only one with
 * another usual name of a label. They also do when exactly one cell has another usual name of a
 * text (message, body, description ...) and another cell has a name of a label (category, class
 * ...) or an id. */
static bool header_read(const struct nb_string *cells, size_t count, enum nb_file_column *columns)
{
    for (size_t i = 0; i < count; i++)
        columns[i] = file_column_of(nb_string_trim(cells[i]));
    if (count_of(columns, count, NB_COLUMN_TEXT) + count_of(columns, count, NB_COLUMN_MAIL) > 0) {
        if (count_of(columns, count, NB_COLUMN_LABEL) == 0)
            take_usual_label(cells, count, columns);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        columns[i] = usual_column_of(nb_string_trim(cells[i]));
    size_t labels = count_of(columns, count, NB_COLUMN_LABEL),
           ids = count_of(columns, count, NB_COLUMN_ID);
    return count_of(columns, count, NB_COLUMN_TEXT) == 1 && labels <= 1 && ids <= 1 &&
           labels + ids > 0;
}

/* Returns whether the cells of a first line name the given columns: the column of the text or mail
 * has a usual name of a text, and the column of the label, if any, a usual name of a label. */
static bool header_fits(const struct nb_string *cells, size_t count,
                        const enum nb_file_column *columns, size_t column_count)
{
    bool fits = true;
    for (size_t i = 0; i < column_count; i++) {
        struct nb_string name = i < count ? nb_string_trim(cells[i]) : nb_string_of("");
        if (columns[i] == NB_COLUMN_TEXT || columns[i] == NB_COLUMN_MAIL)
            fits = fits && (is_one_of(name, OF_TEXT, COUNT(OF_TEXT)) ||
                            file_column_of(name) == NB_COLUMN_MAIL);
        else if (columns[i] == NB_COLUMN_LABEL)
            fits = fits && is_one_of(name, OF_LABEL, COUNT(OF_LABEL));
    }
    return fits;
}

/* A first line with a label and a word this short may name columns by unknown names. */
enum { HEADER_WORD_MOST = 32 /* bytes */ };

struct table {
    struct nb_file_reading *reading;
    struct nb_file_rows rows; /* owned, like the mapping and the buffers below */
    enum nb_file_column columns[NB_ROWS_CELLS];
    size_t column_count;
    struct nb_mapping mapping; /* used if --columns is a mapping */
    struct nb_buffer csv;      /* the row as CSV, if the file has it in another form */
    uint64_t row_count;        /* documents, valid or not */
};

/* ---- columns --------------------------------------------------------------------------------- */

static bool has(const struct table *t, enum nb_file_column column)
{
    return count_of(t->columns, t->column_count, column) > 0;
}

static int columns_of_option(struct table *t, const char *names, struct nb_error *error)
{
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        struct nb_string name = {names, length};
        if (t->column_count == NB_ROWS_CELLS ||
            (file_column_of(name) == NB_COLUMN_NONE && !(length == 1 && *names == '-')))
            return nb_error_set(error, NB_CLIENT_USAGE,
                                "--columns '%s': names are text, mail, label, id and -", names);
        t->columns[t->column_count++] = file_column_of(name);
        names += length + (names[length] == ',');
    }
    return has(t, NB_COLUMN_TEXT) || has(t, NB_COLUMN_MAIL)
               ? 0
               : nb_error_set(error, NB_CLIENT_USAGE, "--columns: one must be text or mail");
}

/* Returns whether the first row looks like a header: no other row has its label, though other
 * labels repeat. Faults in the file are reported later, when the file is actually read. */
static bool is_lonely(struct table *t, struct nb_string first)
{
    struct nb_buffer second = {0};
    struct nb_error ignored;
    size_t rows = 0;
    bool comes_again = false;
    int rc;
    while ((rc = nb_file_rows_next(&t->rows, &ignored)) == 1) {
        struct nb_string label = t->rows.cells[0];
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

/* Reads the file in advance to look for a header, if it can be read twice. */
static int look_for_header(struct table *t, bool *is_header, struct nb_error *error)
{
    struct nb_file_reading reading = *t->reading;
    off_t at = lseek(t->reading->input.file, 0, SEEK_CUR);
    struct nb_string word = t->rows.cells[1];
    if (at < 0 || word.length > HEADER_WORD_MOST ||
        (word.length > 0 && memchr(word.bytes, ' ', word.length) != NULL))
        return 0;
    bool is_begun = nb_input_again(&t->reading->input, &reading.input);
    struct table other = {.reading = &reading,
                          .rows = {.input = &reading.input,
                                   .is_csv = t->rows.is_csv,
                                   .separator = t->rows.separator}};
    *is_header = is_begun && is_lonely(&other, t->rows.cells[0]);
    nb_input_deinit(&reading.input);
    nb_file_rows_deinit(&other.rows);
    if (lseek(t->reading->input.file, at, SEEK_SET) != at)
        return nb_error_set(error, NB_IO, "cannot be read a second time");
    if (*is_header)
        t->reading->files->tell(t->reading->files->user, NB_FILE_REMARK, t->reading->name,
                                "the first line is taken for a header, because no other has its "
                                "label; with --columns label,text it is a document");
    return 0;
}

/* Appends the names of all columns of this kind, separated by commas; NB_COLUMN_COUNT: of all
 * columns. Returns 0 or NB_NO_MEMORY. */
static int append_names(const struct table *t, enum nb_file_column column, struct nb_buffer *names)
{
    int rc = 0;
    bool is_first = true;
    for (size_t i = 0; rc == 0 && i < t->column_count; i++) {
        struct nb_string name = nb_string_trim(t->rows.cells[i]);
        if (column != NB_COLUMN_COUNT && t->columns[i] != column)
            continue;
        rc = nb_buffer_printf(
            names, "%s%.*s", is_first ? "" : ", ",
            (int)(name.length < HEADER_WORD_MOST ? name.length : HEADER_WORD_MOST), name.bytes);
        is_first = false;
    }
    return rc;
}

static int ask_for_columns(const struct table *t, struct nb_error *error)
{
    struct nb_buffer names = {0};
    int rc = append_names(t, NB_COLUMN_COUNT, &names);
    rc = nb_error_set(error, NB_INVALID,
                      "the first line names no column text or mail: say which it is, as in "
                      "--columns text=COLUMN,label=COLUMN (there are: %.200s); if the first line "
                      "is a document, say what stands where, as in --columns id,-,text,label",
                      rc == 0 && names.length > 0 ? names.bytes : "");
    nb_buffer_deinit(&names);
    return rc;
}

/* Reports the columns that are ignored because their names are unknown: one of them may hold most
 * of the text. */
static int tell_unused(const struct table *t, struct nb_error *error)
{
    const struct nb_files *files = t->reading->files;
    struct nb_buffer told = {0};
    if (!has(t, NB_COLUMN_NONE))
        return 0;
    int rc = nb_buffer_printf(&told, "the text is the column ");
    if (rc == 0)
        rc = append_names(t, has(t, NB_COLUMN_MAIL) ? NB_COLUMN_MAIL : NB_COLUMN_TEXT, &told);
    if (rc == 0)
        rc = nb_buffer_printf(&told, "; not used: ");
    if (rc == 0)
        rc = append_names(t, NB_COLUMN_NONE, &told);
    if (rc == 0)
        rc = nb_buffer_printf(&told, " (with --columns text=A+B,label=C you say otherwise)");
    if (rc == 0)
        files->tell(files->user, NB_FILE_REMARK, t->reading->name, told.bytes);
    nb_buffer_deinit(&told);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Finds the columns from the first row: it either names them (*is_header) or has two cells, a label
 * and a text. */
static int columns_of_row(struct table *t, bool *is_header, struct nb_error *error)
{
    t->column_count = t->rows.cell_count;
    *is_header = header_read(t->rows.cells, t->rows.cell_count, t->columns);
    if (*is_header)
        return tell_unused(t, error);
    if (t->rows.cell_count != 2)
        return ask_for_columns(t, error);
    t->columns[0] = NB_COLUMN_LABEL;
    t->columns[1] = NB_COLUMN_TEXT;
    return look_for_header(t, is_header, error);
}

/* For rows whose columns --columns lists: returns whether the first line names these columns and so
 * is not a document. */
static bool is_named(const struct table *t)
{
    return header_fits(t->rows.cells, t->rows.cell_count, t->columns, t->column_count);
}

/* ---- passing rows on ------------------------------------------------------------------------- */

/* Sets the form in which all rows are written: that of the first table. */
static void set_form(const struct table *t, struct nb_table_form *form)
{
    const struct nb_input *input = &t->reading->input;
    form->is_known = true;
    form->separator = t->rows.separator;
    form->is_quoted = t->rows.is_csv;
    form->line_end = input->line_end == '\r' ? "\r" : input->had_cr ? "\r\n" : "\n";
    form->has_mark = input->charset.mark > 0;
    (void)snprintf(form->charset, sizeof form->charset, "%s", input->charset.name);
    if (t->rows.preface.length > 0)
        (void)snprintf(form->preface, sizeof form->preface, "%.*s", (int)t->rows.preface.length,
                       t->rows.preface.bytes);
}

/* Sets *row to the unchanged row, if rows are wanted. If the table has another form than the first
 * one, the cells are rewritten in the form of the first. */
static int keep_row(struct table *t, struct nb_string *row, struct nb_error *error)
{
    const struct nb_files *files = t->reading->files;
    int rc = 0;
    *row = (struct nb_string){NULL, 0};
    if (!files->options->keeps_rows)
        return 0;
    if (files->form != NULL && !files->form->is_known)
        set_form(t, files->form);
    char separator = files->form != NULL ? files->form->separator : ',';
    *row = (struct nb_string){t->rows.raw.bytes, t->rows.raw.length};
    if (files->form != NULL && separator == t->rows.separator &&
        files->form->is_quoted == t->rows.is_csv)
        return 0;
    t->csv.length = 0;
    for (size_t i = 0; rc == 0 && i < t->rows.cell_count; i++)
        rc = nb_csv_cell(t->rows.cells[i], separator, i == 0, &t->csv);
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
    if (rc == 0)
        rc = nb_file_reading_name_row(t->reading, t->row_count, item, error);
    return rc == 0 ? nb_file_reading_give(t->reading, item, t->rows.number, error) : rc;
}

/* Refuses a row with more cells than the first one: an unquoted text must contain a separator, and
 * would be cut there. */
static int check_count(const struct table *t, struct nb_error *error)
{
    size_t count = t->rows.cell_count;
    while (count > t->column_count && t->rows.cells[count - 1].length == 0)
        count--;
    if (count <= t->column_count || t->reading->files->options->columns != NULL)
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "line %ju has %zu cells, and the first row %zu: a text with the separator "
                        "'%c' in it must stand in double quotes",
                        (uintmax_t)t->rows.line, count, t->column_count, t->rows.separator);
}

static int give_row(struct table *t, struct nb_error *error)
{
    struct nb_item item = {.is_one_of_many = true};
    int rc = check_count(t, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < t->rows.cell_count && i < t->column_count; i++) {
        if (t->columns[i] == NB_COLUMN_LABEL)
            item.label = t->rows.cells[i];
        else if (t->columns[i] == NB_COLUMN_ID)
            item.id = t->rows.cells[i];
        else if (t->columns[i] != NB_COLUMN_NONE)
            item.content = t->rows.cells[i];
        item.is_mail = item.is_mail || t->columns[i] == NB_COLUMN_MAIL;
    }
    if (t->rows.cell_count < t->column_count && item.content.bytes == NULL)
        return nb_error_set(error, NB_INVALID, "row %ju has too few columns",
                            (uintmax_t)t->rows.number);
    return give_item(t, &item, error);
}

/* ---- a mapping ------------------------------------------------------------------------------- */

/* Takes a row of a table with a mapping: finds the columns in the header, and makes a document of
 * each later row. */
static int take_mapped(struct table *t, bool is_header, struct nb_error *error)
{
    struct nb_item item = {.is_one_of_many = true};
    int rc = is_header ? nb_mapping_find(&t->mapping, t->rows.cells, t->rows.cell_count,
                                         t->rows.line, error)
                       : 0;
    if (is_header)
        return rc == 0 ? give_header(t, error) : rc;
    t->row_count++;
    /* Spreadsheets separate cells by semicolons where numbers have decimal commas. */
    t->mapping.has_decimal_commas = t->rows.separator == ';';
    rc = nb_mapping_apply(&t->mapping, t->rows.cells, t->rows.cell_count, t->rows.line, &item,
                          error);
    if (rc == 0 && t->mapping.numbers_rows)
        rc = nb_file_reading_number_row(t->reading, t->rows.number, &item, error);
    if (rc == 0)
        rc = give_item(t, &item, error);
    return nb_file_reading_fault(t->reading, NB_FILE_REFUSED, rc, error);
}

static int read_mapped(struct table *t, struct nb_error *error)
{
    const struct nb_files_options *options = t->reading->files->options;
    int rc = nb_mapping_read(&t->mapping, options->columns, options->fields, error);
    bool is_header = true;
    while (rc == 0 && (rc = nb_file_rows_next(&t->rows, error)) == 1) {
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
    if (t->column_count == 1 && t->rows.is_csv)
        t->rows.separator = ','; /* a semicolon in a column of texts is not a separator */
    while (rc == 0 && (rc = nb_file_rows_next(&t->rows, error)) == 1) {
        is_header = is_first && names != NULL && is_named(t);
        rc = is_first && names == NULL ? columns_of_row(t, &is_header, error) : 0;
        if (rc == 0 && is_header)
            rc = give_header(t, error);
        else if (rc == 0) {
            t->row_count++;
            rc = nb_file_reading_fault(t->reading, NB_FILE_REFUSED, give_row(t, error), error);
        }
        is_first = false;
    }
    return rc;
}

int nb_read_table(struct nb_file_reading *reading, bool is_csv, struct nb_error *error)
{
    struct table table = {
        .reading = reading,
        .rows = {.input = &reading->input, .is_csv = is_csv, .separator = is_csv ? '\0' : '\t'}};
    const struct nb_files_options *options = reading->files->options;
    bool is_mapped = nb_mapping_is(options->columns);
    int rc = nb_file_reading_hash(reading, error);
    if (rc == 0)
        rc = nb_file_reading_decode(reading, is_csv, error);
    if (rc == 0)
        rc = is_mapped ? read_mapped(&table, error) : read_rows(&table, error);
    if (rc == 0 && table.row_count == 0 && table.rows.cell_count == 0)
        rc = nb_error_set(error, NB_INVALID, "is empty");
    else if (rc == 0 && table.row_count == 0 && !options->keeps_rows)
        rc = nb_error_set(error, NB_INVALID,
                          "has a header and no row: there is nothing to read in it");
    nb_mapping_deinit(&table.mapping);
    nb_file_rows_deinit(&table.rows);
    nb_buffer_deinit(&table.csv);
    return rc;
}
