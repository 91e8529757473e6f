/* SPDX-License-Identifier: Apache-2.0
 *
 * Output for people: colours, text that is safe to print on a terminal and numbers as people read
 * them, from any thread; messages, a progress bar and questions to the person on standard error,
 * from the main thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_TERMINAL_H
#define NB_SERVER_CLIENT_BASE_TERMINAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"

enum nb_colour {
    NB_COLOUR_PLAIN,
    NB_COLOUR_BOLD,
    NB_COLOUR_RED,
    NB_COLOUR_GREEN,
    NB_COLOUR_YELLOW
};

/* Returns the escape sequence that begins a colour; NB_COLOUR_PLAIN ends colours. Returns "" when
 * `out` is not a terminal, NO_COLOR is set (no-color.org) or TERM is dumb. Static. */
const char *nb_colour(FILE *out, enum nb_colour colour);

/* The colour of a verdict: that of spam, of ham, and of none; other labels are bold. */
enum nb_colour nb_colour_of(const char *label);

/* Returns the number of columns that a text takes: one for each UTF-8 sequence. */
size_t nb_terminal_width(const char *text);

/* Returns how wide texts for people are: as the terminal, from 40 to 100 columns; 80 without one.
 */
size_t nb_terminal_columns(FILE *out);

/* Prints the words of a text in lines of that width, which begin at column `indent`. `column` is
 * where the first line already is. Control characters become spaces. Ends with a line feed. */
void nb_terminal_wrap(const char *text, size_t column, size_t indent, FILE *out);

/* Copies at most `most` columns of a text into `out`, which is emptied first and ends in a NUL that
 * `length` does not count. Control characters become spaces: the words of a document must not
 * control the terminal. Without memory `out` is empty, and its bytes may be NULL. */
void nb_terminal_safe(const char *text, size_t most, struct nb_buffer *out);

enum { NB_SHOWN_BYTES = 512 };

/* A text that is safe to print; a struct so that it can be used within one expression. */
struct nb_shown {
    char text[NB_SHOWN_BYTES];
};

/* Returns the text with its control characters replaced by spaces, and cut after a whole character
 * if it is too long. Every text from a daemon, a mail or a file must be printed with this function,
 * nb_terminal_safe, nb_message or nb_table_cell; only JSON and exports are printed as they are.
 * NULL counts as "". */
struct nb_shown nb_shown(const char *text);

/* A number as text; a struct so that it can be used within one expression. */
struct nb_figure {
    char text[80];
};

/* Formats 1234567 as "1,234,567". */
struct nb_figure nb_figure_of(uint64_t number);

/* Formats a count with its noun, whose plural has an s: "1 document", "1,234 documents". */
struct nb_figure nb_counted(uint64_t number, const char *noun);

/* Formats seconds as "3.2 s", "45 s", "2 min 5 s" or "1 h 4 min". */
struct nb_figure nb_figure_of_seconds(double seconds);

/* Prints "bayesc: ", the printf-formatted text and a line feed. Control characters in the text, for
 * example in the name of a file, become spaces. On a terminal the line of a progress bar is erased
 * first. */
void nb_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether a person can be asked: standard input and standard error are terminals. */
bool nb_ask_is_possible(void);

/* Prints a printf-formatted question and " [y/N] " on standard error, with spaces for control
 * characters, and reads a line. Returns whether the line begins with y or Y. */
bool nb_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A progress bar on standard error, redrawn five times a second. One thread. */
struct nb_progress {
    bool is_shown; /* the caller may set it to false */
    const char *verb;
    uint64_t total, bytes, documents;
    uint64_t start, drawn; /* ns of the monotonic clock */
};

/* Starts the clock and, when standard error is a terminal, the bar. `verb`, borrowed, says what is
 * done to the documents ("trained"); `total` is in bytes, 0 if unknown. */
void nb_progress_start(struct nb_progress *progress, const char *verb, uint64_t total);

/* Counts one more finished document of this many bytes. */
void nb_progress_add(struct nb_progress *progress, uint64_t bytes);

/* Erases the bar. */
void nb_progress_end(struct nb_progress *progress);

/* Seconds since the start. */
double nb_progress_seconds(const struct nb_progress *progress);

/* A table for people: rows are gathered, then printed with columns as wide as their widest cell.
 * One thread. */
enum { NB_TABLE_COLUMNS = 20, NB_TABLE_CELL = 60 /* columns of the terminal for one cell */ };

/* Private to the functions below. */
struct nb_text_table {
    struct nb_buffer cells; /* each ends in a NUL, row after row */
    size_t columns;
    size_t count; /* number of cells */
    bool is_right[NB_TABLE_COLUMNS];
    bool is_broken; /* memory ran out: later cells are not kept */
};

/* Sets up the table and adds its first row: `count` names of columns, at most NB_TABLE_COLUMNS. A
 * name that begins with '>' marks a column of numbers, which is aligned to the right. */
void nb_table_head(struct nb_text_table *table, const char *const *names, size_t count);

/* Adds a cell. Control characters become spaces; a text longer than NB_TABLE_CELL is cut,
 * and ends in "...". */
void nb_table_cell(struct nb_text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void nb_table_print(const struct nb_text_table *table, FILE *out);
void nb_table_deinit(struct nb_text_table *table);

/* Tables of rows that are JSON, described by their columns: "id|>P(label)=probability:.4f". A
 * column is its head, as nb_table_head takes it; "=" and the path of its member in the row
 * (nb_answer_member), unless that is the head; ":" and a format. Paths of their own are "@", the
 * name of the row, and "#", its number from 1 on; none at all is the whole row. The formats of
 * numbers are ".Nf", ".Ng" and ".Np", percent with N decimals; "t" is a text; "j" shows any value
 * as JSON. Without a format integers have commas, true is yes and false no. A missing, null or
 * empty value is "-"; with the formats "f" and "t" it is an empty cell. */

/* Sets up the table and adds the row of heads. */
void nb_table_begin(struct nb_text_table *table, const char *columns);

/* Adds a row. `name` is "" in an array; `index` counts from 0. */
void nb_table_row(struct nb_text_table *table, const char *columns, const char *name, size_t index,
                  const json_t *row);

/* Prints a table with a row for each element of an array or member of an object; none for NULL. */
void nb_table_print_rows(const char *columns, const json_t *rows, FILE *out);

#endif
